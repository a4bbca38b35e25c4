package npy

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

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/option"
)

// mostHeaderBytes bounds the header of an array: NumPy's own limit for headers it did not write itself is 10,000.
const mostHeaderBytes = 1 << 16

// Header describes an array whose data follow.
type Header struct {
	Descr   string // NumPy's name of the type, such as "<f4"
	Size    int    // bytes of an element
	Fortran bool   // the first index runs fastest
	Shape   []int
	Count   int   // product of Shape
	bytes   int64 // of the header itself, with magic

	// Number makes a floating-point number of an element's bytes; truth values are 0 and 1.
	Number func(raw []byte) float64
}

// numbers are, for each type of elements without its byte order, what makes a number of an element's bytes.
func numbers(order binary.ByteOrder) map[string]func(raw []byte) float64 {
	return map[string]func(raw []byte) float64{
		"b1": func(raw []byte) float64 { return float64(raw[0]) },
		"u1": func(raw []byte) float64 { return float64(raw[0]) },
		"i1": func(raw []byte) float64 { return float64(int8(raw[0])) },
		"u2": func(raw []byte) float64 { return float64(order.Uint16(raw)) },
		"i2": func(raw []byte) float64 { return float64(int16(order.Uint16(raw))) },
		"f2": func(raw []byte) float64 { return half(order.Uint16(raw)) },
		"u4": func(raw []byte) float64 { return float64(order.Uint32(raw)) },
		"i4": func(raw []byte) float64 { return float64(int32(order.Uint32(raw))) },
		"f4": func(raw []byte) float64 { return float64(math.Float32frombits(order.Uint32(raw))) },
		"u8": func(raw []byte) float64 { return float64(order.Uint64(raw)) },
		"i8": func(raw []byte) float64 { return float64(int64(order.Uint64(raw))) },
		"f8": func(raw []byte) float64 { return math.Float64frombits(order.Uint64(raw)) },
	}
}

// half is the number of 16 bits, as in IEEE 754: one of 32 has the same with another bias of the exponent.
func half(h uint16) float64 {
	bits := uint32(h&0x7fff) << 13
	x := math.Float32frombits(bits) * (1 << (127 - 15))
	if bits >= 31<<23 { // infinite, or no number
		x = math.Float32frombits(bits | 255<<23)
	}
	return math.Copysign(float64(x), float64(int16(h)))
}

// DataBytes is the number of bytes the data take.
func (h *Header) DataBytes() int64 { return int64(h.Count) * int64(h.Size) }

// Code is the type of the elements without their byte order.
func (h *Header) Code() string { return h.Descr[1:] }

// Floating reports whether the elements are floating-point numbers.
func (h *Header) Floating() bool { return h.Code()[0] == 'f' }

// ReadHeader reads up to the first byte of data. Errors say what is wrong with the array, not where it is.
func ReadHeader(r io.Reader) (*Header, error) {
	start := make([]byte, len(Magic)+2) // and the version of the format
	if _, err := io.ReadFull(r, start); err != nil || string(start[:len(Magic)]) != Magic {
		return nil, fmt.Errorf("it does not begin like a NumPy array")
	}
	length, known := map[byte]int{1: 2, 2: 4, 3: 4}[start[len(Magic)]]
	if !known {
		return nil, fmt.Errorf("NumPy format version is %d, want 1, 2 or 3", start[len(Magic)])
	}
	bytes := make([]byte, 4)
	_, err := io.ReadFull(r, bytes[:length])
	size := binary.LittleEndian.Uint32(bytes)
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
	h, err := parseHeader(string(text))
	if err == nil {
		h.bytes = int64(len(start) + length + len(text))
	}
	return h, err
}

// Open reads the header of an array that lies in memory, as all of a file, and returns the bytes of its elements.
func Open(data []byte) (h *Header, raw []byte, err error) {
	if h, err = ReadHeader(bytes.NewReader(data)); err == nil {
		err = h.checkSize(int64(len(data)))
	}
	if err != nil {
		return nil, nil, err
	}
	return h, data[h.bytes:], nil
}

// checkSize compares the bytes of an array, with its header, with its shape.
func (h *Header) checkSize(bytes int64) error {
	if want := h.bytes + h.DataBytes(); bytes != want {
		return fmt.Errorf("the array has %d bytes, shape %s of %s wants %d; it was cut short or damaged: write it again",
			bytes, ShapeText(h.Shape), h.Descr, want)
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

func parseHeader(text string) (*Header, error) {
	var fields [3]string
	for i, f := range headerFields {
		found := f.is.FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("header has no %q, want {'descr': …, 'fortran_order': …, 'shape': …}", f.name)
		}
		fields[i] = found[1]
	}
	descr := fields[0]
	orders := map[string]binary.ByteOrder{"<": binary.LittleEndian, "|": binary.LittleEndian, ">": binary.BigEndian,
		"=": binary.NativeEndian}
	order := orders[descr[:min(1, len(descr))]]
	switch {
	case descr == "":
		return nil, fmt.Errorf("its elements are records; save a plain array of numbers")
	case strings.HasPrefix(descr, "|O"):
		return nil, fmt.Errorf("dtype is %q, Python objects, which are not read; rows of unequal length are the usual cause",
			descr)
	case len(descr) < 3 || order == nil:
		return nil, fmt.Errorf("dtype %q is unknown", descr)
	}
	h := &Header{Descr: descr, Size: int(descr[2] - '0'), Number: numbers(order)[descr[1:]], Shape: []int{}, Count: 1,
		Fortran: fields[1] == "True"}
	if h.Number == nil {
		return nil, fmt.Errorf("dtype is %q, want integers, bool or float16 to float64; of texts, numpy.unique(x, "+
			"return_inverse=True) has the different ones and their numbers", descr)
	}
	for size := range strings.FieldsFuncSeq(fields[2], func(c rune) bool { return !unicode.IsDigit(c) }) {
		n, err := strconv.Atoi(size)
		if err != nil || n > 0 && h.Count > math.MaxInt/16/n {
			return nil, fmt.Errorf("shape (%s) is too large", fields[2])
		}
		h.Shape, h.Count = append(h.Shape, n), h.Count*n
	}
	return h, nil
}

// IndexText writes the index of the i-th element in row-major order; "" of an array that is one number.
func IndexText(shape []int, i int) string {
	if len(shape) == 0 {
		return ""
	}
	index := make([]int, len(shape))
	for d, n := range slices.Backward(shape) {
		index[d], i = i%n, i/n
	}
	return strings.ReplaceAll(ShapeText(index), " ", "")
}

// ShapeText writes a shape as NumPy does.
func ShapeText(shape []int) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ") }

// Values is an array of any shape in row-major order: of integers, or of floating-point numbers in the precision they
// were saved in. One of Ints, Double and Single is used.
type Values struct {
	Shape  []int
	Ints   []int32
	Double []float64
	Single []float32
	Owner  *fileio.Mapping // of the memory that they lie in; nil: it is Go's
}

// Len is the number of elements that are there.
func (a *Values) Len() int { return len(a.Ints) + len(a.Double) + len(a.Single) }

// At returns the i-th number.
func (a *Values) At(i int) float64 {
	switch {
	case a.Ints != nil:
		return float64(a.Ints[i])
	case a.Single != nil:
		return float64(a.Single[i])
	}
	return a.Double[i]
}

// Width is the number of elements of a row, which is all but the first index.
func (a *Values) Width() int {
	width := 1
	for _, n := range a.Shape[min(1, len(a.Shape)):] {
		width *= n
	}
	return width
}

// Cut returns some rows one after the other, in the same memory.
func (a Values) Cut(from, to int) Values {
	width := a.Width()
	a.Shape = append([]int{to - from}, a.Shape[1:]...)
	a.Ints, a.Double = cutRows(a.Ints, width, from, to), cutRows(a.Double, width, from, to)
	a.Single = cutRows(a.Single, width, from, to)
	return a
}

func cutRows[T any](values []T, width, from, to int) []T {
	if values == nil {
		return nil
	}
	return values[from*width : to*width : to*width]
}

// Floats reads an array as floating-point numbers. Those that lie there as they are used stay where they are. Integers
// of at most 16 bits, truth values and float16 become float32, others float64.
func (h *Header) Floats(raw []byte) Values {
	a := Values{Shape: h.Shape}
	switch {
	case h.InPlace(raw) && h.Size == 8:
		a.Double = unsafe.Slice((*float64)(unsafe.Pointer(&raw[0])), h.Count)
	case h.InPlace(raw):
		a.Single = unsafe.Slice((*float32)(unsafe.Pointer(&raw[0])), h.Count)
	case h.Size <= 2 || h.Code() == "f4":
		a.Single = made(h, raw, func(x []byte) float32 { return float32(h.Number(x)) })
	default:
		a.Double = made(h, raw, h.Number)
	}
	return a
}

// asUsed reports whether elements lie in a file as they are used: in single or double precision, in the order of
// bytes and of rows of this program.
func (h *Header) asUsed() bool {
	return h.Descr[0] == '<' && h.Floating() && h.Size > 2 && !(h.Fortran && len(h.Shape) > 1)
}

// InPlace reports whether elements are used where they lie.
func (h *Header) InPlace(raw []byte) bool {
	return h.asUsed() && h.Count > 0 && uintptr(unsafe.Pointer(&raw[0]))%uintptr(h.Size) == 0
}

// Integers reads an array of integers or truth values. A value beyond 32 bits is an
// *option.Error at its index.
func (h *Header) Integers(raw []byte) (Values, error) {
	if h.Floating() && h.Count > 0 { // numpy.array([]) is an empty array of floats
		return Values{}, fmt.Errorf("dtype is %s, want integers; convert it with astype(numpy.int32); of labels write -1 in "+
			"the place of NaN before, and divide what was measured into classes, as by numpy.digitize", h.Descr)
	}
	a := Values{Shape: h.Shape, Ints: made(h, raw, func(x []byte) int32 { return int32(h.Number(x)) })}
	for i := 0; h.Size >= 4 && i < h.Count; i++ {
		if v := h.Number(raw[h.Place(i)*h.Size:]); v != float64(a.Ints[i]) {
			return a, &option.Error{Place: IndexText(h.Shape, i), Problem: fmt.Sprintf("is %.17g, want at most 31 bits", v)}
		}
	}
	return a, nil
}

// made makes every element of an array of its bytes, in row-major order.
func made[T any](h *Header, raw []byte, of func(raw []byte) T) []T {
	data := make([]T, h.Count)
	for i := range data {
		data[i] = of(raw[h.Place(i)*h.Size:])
	}
	return data
}

// Place returns where the i-th element in row-major order stands.
func (h *Header) Place(i int) int {
	if !h.Fortran || len(h.Shape) < 2 {
		return i
	}
	at, stride := 0, h.Count
	for _, n := range slices.Backward(h.Shape) {
		stride /= n
		at, i = at+i%n*stride, i/n
	}
	return at
}
