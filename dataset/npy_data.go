package dataset

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// npyChunk is the number of elements converted at a time.
const npyChunk = 1 << 14

// matrix is an array of floating-point numbers of any shape in row-major order,
// in the precision it was saved in: one of data and data32 is used.
type matrix struct {
	shape  []int
	data   []float64
	data32 []float32
}

// readFloats reads the data of an array as floating-point numbers. Integers of
// at most 16 bits and truth values become float32, others float64.
func readFloats(r io.Reader, h *npyHeader) (matrix, error) {
	m := matrix{shape: h.shape}
	var err error
	switch {
	case h.floating() && h.size == 8:
		m.data, err = readElements[float64](r, h)
	case h.floating():
		m.data32, err = readElements[float32](r, h)
	case h.size <= 2:
		m.data32 = make([]float32, h.count)
		err = readIntegers(r, h, func(i int, v int64) error { m.data32[i] = float32(v); return nil })
		m.data32 = rowMajor(m.data32, h)
	default:
		m.data = make([]float64, h.count)
		err = readIntegers(r, h, func(i int, v int64) error { m.data[i] = float64(v); return nil })
		m.data = rowMajor(m.data, h)
	}
	return m, err
}

// readInts reads the data of an array of integers or truth values. A value that
// does not fit into 32 bits is an *indexError.
func readInts(r io.Reader, h *npyHeader) ([]int32, error) {
	if h.floating() {
		return nil, fmt.Errorf("dtype is %s, want integers; convert it with astype(numpy.int32)", h.descr)
	}
	ints := make([]int32, h.count)
	err := readIntegers(r, h, func(i int, v int64) error {
		if v < math.MinInt32 || v > math.MaxInt32 {
			return &indexError{index: indexText(h.shape, i, h.fortran), problem: fmt.Sprintf("is %d, want at most 31 bits", v)}
		}
		ints[i] = int32(v)
		return nil
	})
	return rowMajor(ints, h), err
}

// indexError is a problem with one element of an array.
type indexError struct {
	index   string // such as "[3, 1]"
	problem string
}

func (e *indexError) Error() string { return e.index + " " + e.problem }

type element interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// readElements reads data that are kept in the type of the file.
func readElements[T element](r io.Reader, h *npyHeader) ([]T, error) {
	data := make([]T, h.count)
	buffer := make([]byte, min(h.count, npyChunk)*h.size)
	for at := 0; at < len(data); at += npyChunk {
		part := data[at:min(at+npyChunk, len(data))]
		if err := readPart(r, h, buffer, part); err != nil {
			return nil, err
		}
	}
	return rowMajor(data, h), nil
}

func readPart[T element](r io.Reader, h *npyHeader, buffer []byte, part []T) error {
	bytes := buffer[:len(part)*h.size]
	if _, err := io.ReadFull(r, bytes); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return fmt.Errorf("the data end before %d elements of shape %s: the file was cut short", h.count, shapeText(h.shape))
		}
		return err
	}
	_, err := binary.Decode(bytes, h.order, part)
	return err
}

// readIntegers hands every element to store with its index in file order.
func readIntegers(r io.Reader, h *npyHeader, store func(i int, v int64) error) error {
	switch string(h.kind) + strconv.Itoa(h.size) {
	case "b1", "u1":
		return convertIntegers[uint8](r, h, store)
	case "i1":
		return convertIntegers[int8](r, h, store)
	case "i2":
		return convertIntegers[int16](r, h, store)
	case "u2":
		return convertIntegers[uint16](r, h, store)
	case "i4":
		return convertIntegers[int32](r, h, store)
	case "u4":
		return convertIntegers[uint32](r, h, store)
	case "u8":
		return convertIntegers[uint64](r, h, store)
	}
	return convertIntegers[int64](r, h, store)
}

func convertIntegers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](r io.Reader, h *npyHeader, store func(i int, v int64) error) error {
	part := make([]T, min(h.count, npyChunk))
	buffer := make([]byte, len(part)*h.size)
	for at := 0; at < h.count; at += npyChunk {
		part = part[:min(npyChunk, h.count-at)]
		if err := readPart(r, h, buffer, part); err != nil {
			return err
		}
		for i, v := range part {
			wide := int64(v)
			if wide < 0 && v > 0 {
				wide = math.MaxInt64 // a uint64 beyond it: too large for any caller
			}
			if err := store(at+i, wide); err != nil {
				return err
			}
		}
	}
	return nil
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
