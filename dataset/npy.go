package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unsafe"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
)

// mostHeaderBytes bounds the header of an array: NumPy's own limit for headers it did not write itself is 10,000.
const mostHeaderBytes = 1 << 16

// npyHeader describes an array whose data follow.
type npyHeader struct {
	descr   string // NumPy's name of the type, such as "<f4"
	size    int    // bytes of an element
	order   binary.ByteOrder
	fortran bool
	shape   []int
	count   int   // product of shape
	bytes   int64 // of the header itself, with magic
}

// elementSizes are the types of elements that are read, without their byte order.
var elementSizes = map[string]int{
	"b1": 1, "i1": 1, "u1": 1, "i2": 2, "u2": 2, "f2": 2, "i4": 4, "u4": 4, "f4": 4, "i8": 8, "u8": 8, "f8": 8,
}

// dataBytes is the number of bytes the data take.
func (h *npyHeader) dataBytes() int64 { return int64(h.count) * int64(h.size) }

// code is the type of the elements without their byte order.
func (h *npyHeader) code() string { return h.descr[1:] }

// floating reports whether the elements are floating-point numbers.
func (h *npyHeader) floating() bool { return h.code()[0] == 'f' }

// readNPYHeader reads up to the first byte of data. Errors say what is wrong with the array, not where it is.
func readNPYHeader(r io.Reader) (*npyHeader, error) {
	start := make([]byte, len(npy.Magic)+2) // and the version of the format
	if _, err := io.ReadFull(r, start); err != nil || string(start[:len(npy.Magic)]) != npy.Magic {
		return nil, fmt.Errorf("it does not begin like a NumPy array")
	}
	length := make([]byte, 4)
	switch version := start[len(npy.Magic)]; version {
	case 1:
		length = length[:2]
	case 2, 3:
	default:
		return nil, fmt.Errorf("NumPy format version is %d, want 1, 2 or 3", version)
	}
	_, err := io.ReadFull(r, length)
	size := binary.LittleEndian.Uint32(length[:4])
	if size > mostHeaderBytes {
		return nil, fmt.Errorf("header has %d bytes, at most %d are allowed", size, mostHeaderBytes)
	}
	text := make([]byte, size)
	if err == nil {
		_, err = io.ReadFull(r, text)
	}
	if err != nil {
		return nil, fmt.Errorf("it ends within the header: the file was cut short")
	}
	h, err := parseNPYHeader(string(text))
	if err != nil {
		return nil, err
	}
	h.bytes = int64(len(start) + len(length) + len(text))
	return h, nil
}

// openNPY reads the header of an array that lies in memory, as all of a file, and returns the bytes of its elements.
func openNPY(data []byte) (h *npyHeader, raw []byte, err error) {
	if h, err = readNPYHeader(bytes.NewReader(data)); err == nil {
		err = h.checkSize(int64(len(data)))
	}
	if err != nil {
		return nil, nil, err
	}
	return h, data[h.bytes:], nil
}

// checkSize compares the bytes of an array, with its header, with its shape.
func (h *npyHeader) checkSize(bytes int64) error {
	if want := h.bytes + h.dataBytes(); bytes != want {
		return fmt.Errorf("the array has %d bytes, shape %s of %s wants %d; it was cut short or damaged: write it again",
			bytes, shapeText(h.shape), h.descr, want)
	}
	return nil
}

// The header is a Python dictionary, {'descr': '<f4', 'fortran_order': False, 'shape': (60, 80, 20), }. Python 2
// wrote 60L.
var headerFields = []struct {
	name string
	is   *regexp.Regexp
}{
	{"descr", regexp.MustCompile(`['"]descr['"]\s*:\s*(?:['"]([^'"]*)['"]|\[)`)},
	{"fortran_order", regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)},
	{"shape", regexp.MustCompile(`['"]shape['"]\s*:\s*\(([\dL,\s]*)\)`)},
}

func parseNPYHeader(text string) (*npyHeader, error) {
	var fields [3]string
	for i, f := range headerFields {
		found := f.is.FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("header has no %q, want {'descr': …, 'fortran_order': …, 'shape': …}", f.name)
		}
		fields[i] = found[1]
	}
	if fields[0] == "" {
		return nil, fmt.Errorf("its elements are records; save a plain array of numbers")
	}
	h := &npyHeader{fortran: fields[1] == "True", shape: []int{}, count: 1}
	if err := h.parseDescr(fields[0]); err != nil {
		return nil, err
	}
	for size := range strings.FieldsFuncSeq(fields[2], func(c rune) bool { return !unicode.IsDigit(c) }) {
		n, err := strconv.Atoi(size)
		if err != nil || n > 0 && h.count > math.MaxInt/16/n {
			return nil, fmt.Errorf("shape (%s) is too large", fields[2])
		}
		h.shape, h.count = append(h.shape, n), h.count*n
	}
	return h, nil
}

func (h *npyHeader) parseDescr(descr string) error {
	h.descr = descr
	switch {
	case strings.HasPrefix(descr, "|O"):
		return fmt.Errorf("dtype is %q, Python objects, which are not read; rows of unequal length are the usual cause",
			descr)
	case len(descr) < 3:
		return fmt.Errorf("dtype %q is unknown", descr)
	}
	switch descr[0] {
	case '<', '|':
		h.order = binary.LittleEndian
	case '>':
		h.order = binary.BigEndian
	case '=':
		h.order = binary.NativeEndian
	default:
		return fmt.Errorf("dtype %q is unknown", descr)
	}
	h.size = elementSizes[h.code()]
	if h.size == 0 {
		const text = "dtype is %q, want bool, int8 to int64, uint8 to uint64 or float16 to float64"
		return &dtypeError{descr, fmt.Sprintf(text, descr)}
	}
	return nil
}

// dtypeError is a type of elements that no array is read of.
type dtypeError struct{ descr, text string }

func (e *dtypeError) Error() string { return e.text }

// shapeText writes a shape as NumPy does.
func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// array is an array of any shape in row-major order: of integers, or of floating-point
// numbers in the precision they were saved in. One of ints, data and data32 is used.
type array struct {
	shape  []int
	ints   []int32
	data   []float64
	data32 []float32
	owner  *infile.Mapping // of the memory that they lie in; nil: it is Go's
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

// sameRows reports whether so many numbers from one place on are those from another.
func (a *array) sameRows(i, j, width int) bool {
	for c := range width {
		if a.at(i+c) != a.at(j+c) {
			return false
		}
	}
	return true
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

// floats reads an array as floating-point numbers. Those that lie there as they are used stay where they are. Integers
// of at most 16 bits, truth values and float16 become float32, others float64.
func (h *npyHeader) floats(raw []byte) array {
	if a, ok := h.inPlace(raw); ok {
		return a
	}
	number := h.number()
	if h.size <= 2 || h.code() == "f4" {
		return array{shape: h.shape, data32: made(h, raw, func(x []byte) float32 { return float32(number(x)) })}
	}
	return array{shape: h.shape, data: made(h, raw, number)}
}

// asUsed reports whether elements lie in a file as they are used: in single or double precision, in the order of
// bytes and of rows of this program.
func (h *npyHeader) asUsed() bool {
	return h.descr[0] == '<' && numeric.LittleEndian && h.floating() && h.size > 2 && !(h.fortran && len(h.shape) > 1)
}

// inPlace returns elements that are used where they lie.
func (h *npyHeader) inPlace(raw []byte) (a array, ok bool) {
	if !h.asUsed() || h.count == 0 || uintptr(unsafe.Pointer(&raw[0]))%uintptr(h.size) != 0 {
		return a, false
	}
	if a.shape = h.shape; h.size == 8 {
		a.data = unsafe.Slice((*float64)(unsafe.Pointer(&raw[0])), h.count)
	} else {
		a.data32 = unsafe.Slice((*float32)(unsafe.Pointer(&raw[0])), h.count)
	}
	return a, true
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

// integers reads an array of integers or truth values. A value that does not fit into 32 bits is an *indexError.
func (h *npyHeader) integers(raw []byte) (array, error) {
	if h.floating() {
		return array{}, fmt.Errorf("dtype is %s, want integers; convert it with astype(numpy.int32)", h.descr)
	}
	i, wrong := -1, error(nil)
	ints := made(h, raw, func(x []byte) int32 {
		i++
		v := h.integer(x)
		if unsigned := h.code() == "u8" && v < 0; wrong == nil && (v < math.MinInt32 || v > math.MaxInt32 || unsigned) {
			text := strconv.FormatInt(v, 10)
			if unsigned {
				text = strconv.FormatUint(uint64(v), 10)
			}
			wrong = &indexError{index: indexText(h.shape, i), problem: fmt.Sprintf("is %s, want at most 31 bits", text)}
		}
		return int32(v)
	})
	return array{shape: h.shape, ints: ints}, wrong
}

// integer returns the integer or truth value that raw begins with; of an unsigned one of 64 bits these bits.
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

// made makes every element of an array of its bytes, in row-major order.
func made[T any](h *npyHeader, raw []byte, of func(raw []byte) T) []T {
	data := make([]T, h.count)
	for i := range data {
		data[i] = of(raw[h.place(i)*h.size:])
	}
	return data
}

// place returns where the i-th element in row-major order stands: with Fortran's order the first index runs fastest.
func (h *npyHeader) place(i int) int {
	if !h.fortran || len(h.shape) < 2 {
		return i
	}
	at, stride := 0, h.count
	for _, n := range slices.Backward(h.shape) {
		stride /= n
		at, i = at+i%n*stride, i/n
	}
	return at
}

// indexError is a problem with one element of an array.
type indexError struct {
	index   string // such as "[3, 1]"
	problem string
}

func (e *indexError) Error() string { return e.index + " " + e.problem }

// indexText writes the index of the i-th element in row-major order.
func indexText(shape []int, i int) string {
	parts := make([]string, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		parts[d] = strconv.Itoa(i % shape[d])
		i /= shape[d]
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// features freezes a matrix, or bins, of which there are dim; a value that is not finite, or too
// large, is reported as *crf.Error. Single precision ends long before the limit.
func (m *array) features(dim int) (crf.Features, error) {
	if m.ints != nil {
		return crf.Bins(m.ints, dim)
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
