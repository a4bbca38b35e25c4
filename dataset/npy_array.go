package dataset

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
)

// npyChunk is the number of elements converted at a time.
const npyChunk = 1 << 14

// array is an array of any shape in row-major order: of integers, or of floating-point
// numbers in the precision they were saved in. One of ints, data and data32 is used.
type array struct {
	shape  []int
	ints   []int32
	data   []float64
	data32 []float32
	owner  *infile.Mapping // of the memory that they lie in; nil: it is Go's
	later  bool            // it is filled in later: see addParts
}

// length is the number of elements that are there.
func (a *array) length() int { return len(a.ints) + len(a.data) + len(a.data32) }

// at returns the i-th number.
func (a *array) at(i int) float64 {
	switch {
	case a.ints != nil:
		return float64(a.ints[i])
	case a.data32 != nil:
		return float64(a.data32[i])
	}
	return a.data[i]
}

// rows returns the first length of the shape, and columns the second.
func (a *array) rows() int    { return a.shape[0] }
func (a *array) columns() int { return a.shape[1] }

// width is the number of elements of a row, which is all but the first index.
func (a *array) width() int {
	width := 1
	for _, n := range a.shape[min(1, len(a.shape)):] {
		width *= n
	}
	return width
}

// cut returns some rows one after the other, in the same memory.
func (a array) cut(from, to int) array {
	width := a.width()
	a.shape = append([]int{to - from}, a.shape[1:]...)
	a.ints, a.data = cutRows(a.ints, width, from, to), cutRows(a.data, width, from, to)
	a.data32 = cutRows(a.data32, width, from, to)
	return a
}

func cutRows[T any](values []T, width, from, to int) []T {
	if values == nil {
		return nil
	}
	return values[from*width : to*width : to*width]
}

// take returns a copy of rows, in this order.
func (a *array) take(rows []int32) array {
	width := a.width()
	return array{shape: []int{len(rows), width}, ints: takeRows(a.ints, width, rows),
		data: takeRows(a.data, width, rows), data32: takeRows(a.data32, width, rows)}
}

// takeRows returns rows of the given width.
func takeRows[T any](values []T, width int, rows []int32) []T {
	if values == nil {
		return nil
	}
	taken := make([]T, 0, len(rows)*width)
	for _, r := range rows {
		taken = append(taken, values[int(r)*width:][:width]...)
	}
	return taken
}

// readFloats reads the data of an array as floating-point numbers. Integers of
// at most 16 bits, truth values and float16 become float32, others float64.
func readFloats(r io.Reader, h *npyHeader) (a array, err error) {
	a.shape = h.shape
	number := h.number()
	if h.size <= 2 || h.code() == "f4" {
		a.data32, err = readElements(r, h, func(_ int, raw []byte) (float32, error) { return float32(number(raw)), nil })
	} else {
		a.data, err = readElements(r, h, func(_ int, raw []byte) (float64, error) { return number(raw), nil })
	}
	return a, err
}

// number returns what makes a floating-point number of an element's bytes.
func (h *npyHeader) number() func(raw []byte) float64 {
	order := h.order
	switch h.code() {
	case "f8":
		return func(raw []byte) float64 { return math.Float64frombits(order.Uint64(raw)) }
	case "f4":
		return func(raw []byte) float64 { return float64(math.Float32frombits(order.Uint32(raw))) }
	case "f2":
		return func(raw []byte) float64 { return float64(npy.Half(order.Uint16(raw)).Float32()) }
	case "u8":
		return func(raw []byte) float64 { return float64(order.Uint64(raw)) }
	}
	return func(raw []byte) float64 { return float64(h.integer(raw)) }
}

// readInts reads the data of an array of integers or truth values. A value that
// does not fit into 32 bits is an *indexError.
func readInts(r io.Reader, h *npyHeader) (a array, err error) {
	if h.floating() {
		return a, fmt.Errorf("dtype is %s, want integers; convert it with astype(numpy.int32)", h.descr)
	}
	unsigned := h.code() == "u8"
	a.shape = h.shape
	a.ints, err = readElements(r, h, func(i int, raw []byte) (int32, error) {
		v := h.integer(raw)
		if v < math.MinInt32 || v > math.MaxInt32 || unsigned && v < 0 {
			text := strconv.FormatInt(v, 10)
			if unsigned {
				text = strconv.FormatUint(uint64(v), 10)
			}
			problem := fmt.Sprintf("is %s, want at most 31 bits", text)
			return 0, &indexError{index: indexText(h.shape, i, h.fortran), problem: problem}
		}
		return int32(v), nil
	})
	return a, err
}

// integer returns the integer or truth value that raw begins with; of an unsigned one of 64
// bits these bits.
func (h *npyHeader) integer(raw []byte) int64 {
	var v uint64
	switch h.size {
	case 1:
		v = uint64(raw[0])
	case 2:
		v = uint64(h.order.Uint16(raw))
	case 4:
		v = uint64(h.order.Uint32(raw))
	default:
		v = h.order.Uint64(raw)
	}
	if h.descr[1] == 'i' {
		above := 64 - 8*h.size // bits above the sign
		return int64(v<<above) >> above
	}
	return int64(v)
}

// readElements converts every element of an array, given its index in the file and its bytes, and returns them
// in row-major order.
func readElements[T any](r io.Reader, h *npyHeader, convert func(i int, raw []byte) (T, error)) ([]T, error) {
	data, raw := make([]T, 0, h.count), make([]byte, min(h.count, npyChunk)*h.size)
	for left := h.count * h.size; left > 0; left -= len(raw) {
		raw = raw[:min(left, len(raw))]
		_, err := io.ReadFull(r, raw)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("the data end before %d elements of shape %s: the file was cut short", h.count, shapeText(h.shape))
		}
		for at := 0; at < len(raw) && err == nil; at += h.size {
			var x T
			x, err = convert(len(data), raw[at:at+h.size])
			data = append(data, x)
		}
		if err != nil {
			return nil, err
		}
	}
	return rowMajor(data, h), nil
}

// indexError is a problem with one element of an array.
type indexError struct {
	index   string // such as "[3, 1]"
	problem string
}

func (e *indexError) Error() string { return e.index + " " + e.problem }

// rowMajor returns the elements in row-major order.
func rowMajor[T any](data []T, h *npyHeader) []T {
	if !h.fortran || len(h.shape) < 2 || h.count == 0 {
		return data
	}
	// The first index runs fastest in the file: strides grow from the front.
	strides := make([]int, len(h.shape))
	stride := 1
	for d, n := range h.shape {
		strides[d] = stride
		stride *= n
	}
	ordered := make([]T, len(data))
	index := make([]int, len(h.shape))
	from := 0
	for i := range ordered {
		ordered[i] = data[from]
		for d := len(index) - 1; d >= 0; d-- {
			index[d]++
			from += strides[d]
			if index[d] < h.shape[d] {
				break
			}
			from -= index[d] * strides[d]
			index[d] = 0
		}
	}
	return ordered
}

// indexText writes the index of the element at a flat position.
func indexText(shape []int, flat int, fortran bool) string {
	parts := make([]string, len(shape))
	for k := range shape {
		d := len(shape) - 1 - k
		if fortran {
			d = k
		}
		parts[d] = strconv.Itoa(flat % shape[d])
		flat /= shape[d]
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// features freezes a matrix, or bins, of which there are dim; a value that is not finite, or too
// large, is reported as *crf.Error. Single precision ends long before the limit.
func (m *array) features(dim int) (crf.Features, error) {
	if m.ints != nil {
		return crf.Bins(m.ints, dim)
	}
	if m.later { // whoever wrote them has looked at the numbers
		f := crf.Constant(m.rows(), m.columns())
		f.Data().Single, f.Data().Double = m.data32, m.data
		return f, nil
	}
	for i, v := range m.data {
		if problem := tooLarge(v); problem != "" {
			return crf.Features{}, &crf.Error{Index: []int{i / m.columns(), i % m.columns()}, Reason: problem}
		}
	}
	switch {
	case m.columns() == 0:
		return crf.Constant(m.rows(), 0), nil
	case m.data32 != nil:
		return crf.Dense(m.data32, m.columns())
	}
	return crf.Dense(m.data, m.columns())
}

// tooLarge says what is wrong with a feature that is finite and yet too large to
// work with, and what to do; "" for all others.
func tooLarge(v float64) string {
	if math.Abs(v) <= numeric.Largest || math.IsInf(v, 0) || math.IsNaN(v) {
		return ""
	}
	const text = "feature is %v, want 0, or a magnitude of %s; " +
		"rescale the features, for example to a standard deviation of 1"
	return fmt.Sprintf(text, v, numeric.Range)
}
