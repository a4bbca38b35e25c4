package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/npy"
)

// mostHeaderBytes bounds the header of an array: NumPy's own limit for headers
// it did not write itself is 10,000.
const mostHeaderBytes = 1 << 16

// elementKind is what an array's elements are.
type elementKind byte

const (
	kindBool  elementKind = 'b'
	kindInt   elementKind = 'i'
	kindUint  elementKind = 'u'
	kindFloat elementKind = 'f'
)

// npyHeader describes an array whose data follow.
type npyHeader struct {
	descr   string // NumPy's name of the type, such as "<f4"
	kind    elementKind
	size    int // bytes of an element
	order   binary.ByteOrder
	fortran bool
	shape   []int
	count   int   // product of shape
	bytes   int64 // of the header itself, with magic
}

// dataBytes is the number of bytes the data take.
func (h *npyHeader) dataBytes() int64 { return int64(h.count) * int64(h.size) }

// floating reports whether the elements are floating-point numbers.
func (h *npyHeader) floating() bool { return h.kind == kindFloat }

// readNPYHeader reads up to the first byte of data. Errors say what is wrong
// with the array, not where it is.
func readNPYHeader(r io.Reader) (*npyHeader, error) {
	var start [8]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || string(start[:6]) != npy.Magic {
		return nil, fmt.Errorf("it does not begin like a NumPy array")
	}
	length, lengthBytes, err := readHeaderLength(r, start[6])
	if err != nil {
		return nil, err
	}
	if length > mostHeaderBytes {
		return nil, fmt.Errorf("header has %d bytes, at most %d are allowed", length, mostHeaderBytes)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("it ends within the header: the file was cut short")
	}
	h, err := parseNPYHeader(string(text))
	if err != nil {
		return nil, err
	}
	h.bytes = int64(len(start)+lengthBytes) + int64(length)
	return h, nil
}

func readHeaderLength(r io.Reader, version byte) (length uint32, lengthBytes int, err error) {
	switch version {
	case 1:
		lengthBytes = 2
	case 2, 3:
		lengthBytes = 4
	default:
		return 0, 0, fmt.Errorf("NumPy format version is %d, want 1, 2 or 3", version)
	}
	var field [4]byte
	if _, err := io.ReadFull(r, field[:lengthBytes]); err != nil {
		return 0, 0, fmt.Errorf("it ends within the header: the file was cut short")
	}
	return binary.LittleEndian.Uint32(field[:]), lengthBytes, nil
}

// parseNPYHeader reads the Python dictionary
// {'descr': '<f4', 'fortran_order': False, 'shape': (60, 80, 20), }.
func parseNPYHeader(text string) (*npyHeader, error) {
	h := &npyHeader{}
	s := scanner{text: text}
	seen := map[string]bool{}
	if !s.take("{") {
		return nil, s.failure("{")
	}
	for !s.take("}") {
		key, ok := s.quoted()
		if !ok || !s.take(":") {
			return nil, s.failure("'key':")
		}
		if seen[key] {
			return nil, fmt.Errorf("header gives %q twice", key)
		}
		seen[key] = true
		if err := h.parseValue(&s, key); err != nil {
			return nil, err
		}
		if s.take(",") {
			continue
		}
		if !s.take("}") {
			return nil, s.failure("}")
		}
		break
	}
	if !s.atEnd() {
		return nil, s.failure("the end")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return nil, fmt.Errorf("header has no %q", key)
		}
	}
	return h, h.countElements()
}

func (h *npyHeader) parseValue(s *scanner, key string) error {
	switch key {
	case "descr":
		descr, ok := s.quoted()
		if !ok {
			return fmt.Errorf("its elements are records; save a plain array of numbers")
		}
		return h.parseDescr(descr)
	case "fortran_order":
		switch {
		case s.take("True"):
			h.fortran = true
		case !s.take("False"):
			return s.failure("True or False")
		}
		return nil
	case "shape":
		shape, ok := s.tuple()
		if !ok {
			return s.failure("a shape")
		}
		h.shape = shape
		return nil
	}
	return fmt.Errorf("header has the unknown key %q", key)
}

func (h *npyHeader) parseDescr(descr string) error {
	h.descr = descr
	switch {
	case strings.HasPrefix(descr, "|O"):
		return fmt.Errorf("dtype is %q, Python objects, which are not read; rows of unequal length are the usual cause", descr)
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
	h.kind = elementKind(descr[1])
	switch descr[1:] {
	case "b1", "i1", "u1":
		h.size = 1
	case "i2", "u2":
		h.size = 2
	case "i4", "u4", "f4":
		h.size = 4
	case "i8", "u8", "f8":
		h.size = 8
	case "f2":
		return fmt.Errorf("dtype is float16, want float32 or float64; convert it with astype(numpy.float32)")
	default:
		return fmt.Errorf("dtype is %q, want bool, int8 to int64, uint8 to uint64, float32 or float64", descr)
	}
	return nil
}

func (h *npyHeader) countElements() error {
	h.count = 1
	for _, n := range h.shape {
		if n > 0 && h.count > math.MaxInt/16/n {
			return fmt.Errorf("shape %s is too large", shapeText(h.shape))
		}
		h.count *= n
	}
	return nil
}

// shapeText writes a shape as NumPy does.
func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// scanner reads the few kinds of Python literals of a header.
type scanner struct {
	text string
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) atEnd() bool {
	s.space()
	return s.at == len(s.text)
}

func (s *scanner) take(token string) bool {
	s.space()
	if !strings.HasPrefix(s.text[s.at:], token) {
		return false
	}
	s.at += len(token)
	return true
}

func (s *scanner) quoted() (string, bool) {
	s.space()
	rest := s.text[s.at:]
	if rest == "" || rest[0] != '\'' && rest[0] != '"' {
		return "", false
	}
	end := strings.IndexByte(rest[1:], rest[0])
	if end < 0 {
		return "", false
	}
	s.at += end + 2
	return rest[1 : end+1], true
}

// tuple reads (), (3,) or (60, 80, 20); Python 2 wrote 60L.
func (s *scanner) tuple() ([]int, bool) {
	if !s.take("(") {
		return nil, false
	}
	shape := []int{}
	for !s.take(")") {
		s.space()
		begin := s.at
		for s.at < len(s.text) && isDigit(s.text[s.at]) {
			s.at++
		}
		n, err := strconv.Atoi(s.text[begin:s.at])
		if err != nil {
			return nil, false
		}
		shape = append(shape, n)
		s.take("L")
		if !s.take(",") {
			return shape, s.take(")")
		}
	}
	return shape, true
}

func (s *scanner) failure(want string) error {
	rest := s.text[min(s.at, len(s.text)):]
	return fmt.Errorf("header has %q where %s should be", rest[:min(len(rest), 20)], want)
}
