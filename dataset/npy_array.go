package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
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

// matrix is an array of floating-point numbers of any shape in row-major order,
// in the precision it was saved in: one of data and data32 is used.
type matrix struct {
	shape  []int
	data   []float64
	data32 []float32
	owner  *infile.Mapping // of the memory that they lie in; nil: it is Go's
	later  bool            // it is filled in later: see addParts
}

// readFloats reads the data of an array as floating-point numbers. Integers of
// at most 16 bits, truth values and float16 become float32, others float64.
func readFloats(r io.Reader, h *npyHeader) (m matrix, err error) {
	m.shape = h.shape
	switch {
	case h.code() == "f8":
		m.data, err = readElements[float64](r, h)
	case h.code() == "f4":
		m.data32, err = readElements[float32](r, h)
	case h.code() == "f2":
		m.data32, err = readIntegers(r, h, func(_ int, v int64) (float32, error) { return npy.Half(v).Float32(), nil })
	case h.size <= 2:
		m.data32, err = readIntegers(r, h, func(_ int, v int64) (float32, error) { return float32(v), nil })
	case h.code() == "u8":
		m.data, err = readIntegers(r, h, func(_ int, v int64) (float64, error) { return float64(uint64(v)), nil })
	default:
		m.data, err = readIntegers(r, h, func(_ int, v int64) (float64, error) { return float64(v), nil })
	}
	return m, err
}

// readInts reads the data of an array of integers or truth values. A value that
// does not fit into 32 bits is an *indexError.
func readInts(r io.Reader, h *npyHeader) ([]int32, error) {
	if h.floating() {
		return nil, fmt.Errorf("dtype is %s, want integers; convert it with astype(numpy.int32)", h.descr)
	}
	unsigned := h.code() == "u8"
	return readIntegers(r, h, func(i int, v int64) (int32, error) {
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
}

// indexError is a problem with one element of an array.
type indexError struct {
	index   string // such as "[3, 1]"
	problem string
}

func (e *indexError) Error() string { return e.index + " " + e.problem }

// chunks goes through the bytes of the elements, in the order of the file; a chunk is gone
// with the next.
func (h *npyHeader) chunks(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		raw := make([]byte, min(h.count, npyChunk)*h.size)
		for left := h.count * h.size; left > 0; left -= len(raw) {
			raw = raw[:min(left, len(raw))]
			_, err := io.ReadFull(r, raw)
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				err = fmt.Errorf("the data end before %d elements of shape %s: the file was cut short", h.count, shapeText(h.shape))
			}
			if !yield(raw, err) || err != nil {
				return
			}
		}
	}
}

// readElements reads data that are kept in the type of the file.
func readElements[T float32 | float64](r io.Reader, h *npyHeader) ([]T, error) {
	data, at := make([]T, h.count), 0
	for raw, err := range h.chunks(r) {
		if err != nil {
			return nil, err
		}
		if _, err := binary.Decode(raw, h.order, data[at:at+len(raw)/h.size]); err != nil {
			return nil, err
		}
		at += len(raw) / h.size
	}
	return rowMajor(data, h), nil
}

// readIntegers converts every element, given its index in file order.
func readIntegers[T any](r io.Reader, h *npyHeader, convert func(i int, v int64) (T, error)) ([]T, error) {
	data, signed := make([]T, 0, h.count), h.code()[0] == 'i'
	for raw, err := range h.chunks(r) {
		if err != nil {
			return nil, err
		}
		for ; len(raw) > 0; raw = raw[h.size:] {
			x, err := convert(len(data), h.integer(raw, signed))
			if err != nil {
				return nil, err
			}
			data = append(data, x)
		}
	}
	return rowMajor(data, h), nil
}

// integer returns the integer or truth value that raw begins with; of an unsigned one of 64
// bits these bits.
func (h *npyHeader) integer(raw []byte, signed bool) int64 {
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
	if signed {
		above := 64 - 8*h.size // bits above the sign
		return int64(v<<above) >> above
	}
	return int64(v)
}

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

// at returns the i-th number.
func (m *matrix) at(i int) float64 {
	if m.data32 != nil {
		return float64(m.data32[i])
	}
	return m.data[i]
}

// rows returns the first length of the shape.
func (m *matrix) rows() int { return m.shape[0] }

// columns returns the second length of the shape.
func (m *matrix) columns() int { return m.shape[1] }

// features freezes a matrix of two dimensions; a value that is not finite, or too
// large, is reported as *crf.Error. Single precision ends long before the limit.
func (m *matrix) features() (crf.Features, error) {
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
