// Package npy writes arrays in the format of numpy.save.
package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Magic begins every .npy file.
const Magic = "\x93NUMPY"

// chunk is the number of elements converted at a time.
const chunk = 1 << 14

// Number are the types of elements that are written.
type Number interface {
	int32 | uint64 | float32 | float64
}

// Half is a number in 16 bits, as in IEEE 754.
type Half uint16

// Float32 returns the number: every one of 16 bits has one of 32.
func (h Half) Float32() float32 {
	sign, exponent, mantissa := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	const shift, bias = 23 - 10, 127 - 15
	switch exponent {
	case 0: // a multiple of the least
		x := float32(mantissa) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(x))
	case 31: // infinite, or no number
		return math.Float32frombits(sign | 255<<23 | mantissa<<shift)
	}
	return math.Float32frombits(sign | (exponent+bias)<<23 | mantissa<<shift)
}

// Write writes an array of the given shape; data are its elements in C order.
func Write[T Number](w io.Writer, shape []int, data []T) error {
	if err := WriteHeader[T](w, shape); err != nil {
		return err
	}
	return WriteData(w, data)
}

// WriteHeader writes what stands before the elements in format version 1.0. They
// begin at a multiple of 64 bytes, as the format asks.
func WriteHeader[T Number](w io.Writer, shape []int) error {
	const before = len(Magic) + 4 // version and length of the header
	sizes := ""
	for i, n := range shape {
		if i > 0 {
			sizes += ", "
		}
		sizes += fmt.Sprint(n)
	}
	if len(shape) == 1 {
		sizes += ","
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr[T](), sizes)
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n"
	start := append([]byte(Magic), 1, 0)
	start = binary.LittleEndian.AppendUint16(start, uint16(len(header)))
	_, err := w.Write(append(start, header...))
	return err
}

// descr names a type of elements as numpy does.
func descr[T Number]() string {
	switch any(T(0)).(type) {
	case int32:
		return "<i4"
	case uint64:
		return "<u8"
	case float32:
		return "<f4"
	}
	return "<f8"
}

// WriteData writes the next elements, in C order.
func WriteData[T Number](w io.Writer, data []T) error {
	for part := range slices.Chunk(data, chunk) {
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}
