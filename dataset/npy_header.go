package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/blockbp/blockbp/internal/npy"
)

// mostHeaderBytes bounds the header of an array: NumPy's own limit for headers
// it did not write itself is 10,000.
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

// readNPYHeader reads up to the first byte of data. Errors say what is wrong
// with the array, not where it is.
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
