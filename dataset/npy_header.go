package dataset

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/strictjson"
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

// The header is a Python dictionary, {'descr': '<f4', 'fortran_order': False, 'shape': (60, 80, 20), }. It is JSON
// but for its quotes, truth values and tuples; Python 2 wrote 60L.
var (
	pythonToJSON  = strings.NewReplacer("'", `"`, "(", "[", ")", "]", "True", "true", "False", "false")
	trailingComma = regexp.MustCompile(`,\s*([\]}])`)
	longNumber    = regexp.MustCompile(`\b(\d+)L\b`)
)

func parseNPYHeader(text string) (*npyHeader, error) {
	var fields struct {
		Descr   *string `json:"descr"`
		Fortran *bool   `json:"fortran_order"`
		Shape   *[]int  `json:"shape"`
	}
	text = longNumber.ReplaceAllString(trailingComma.ReplaceAllString(pythonToJSON.Replace(text), "$1"), "$1")
	err := cmp.Or(strictjson.Check([]byte(text)), strictJSON([]byte(text), &fields))
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field == "descr":
		return nil, fmt.Errorf("its elements are records; save a plain array of numbers")
	case err != nil:
		return nil, fmt.Errorf("header is not {'descr': …, 'fortran_order': …, 'shape': …}: %w", err)
	case fields.Descr == nil:
		return nil, fmt.Errorf(`header has no "descr"`)
	case fields.Fortran == nil:
		return nil, fmt.Errorf(`header has no "fortran_order"`)
	case fields.Shape == nil:
		return nil, fmt.Errorf(`header has no "shape"`)
	}
	h := &npyHeader{fortran: *fields.Fortran, shape: *fields.Shape, count: 1}
	if err := h.parseDescr(*fields.Descr); err != nil {
		return nil, err
	}
	for _, n := range h.shape {
		if n < 0 || n > 0 && h.count > math.MaxInt/16/n {
			return nil, fmt.Errorf("shape %s is too large", shapeText(h.shape))
		}
		h.count *= n
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
