// Package npy writes arrays in the format of numpy.save.
package npy

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
)

// Magic begins every .npy file.
const Magic = "\x93NUMPY"

// chunk is the number of elements converted at a time.
const chunk = 1 << 14

// Number are the types of elements that are written.
type Number interface {
	int32 | uint64 | float32 | float64
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
	sizes := strings.Trim(ShapeText(shape), "[]")
	if len(shape) == 1 {
		sizes += ","
	}
	kind := reflect.TypeFor[T]().Name()[0] // as NumPy has it
	header := fmt.Sprintf("{'descr': '<%c%d', 'fortran_order': False, 'shape': (%s), }", kind, binary.Size(T(0)), sizes)
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n"
	start := append([]byte(Magic), 1, 0)
	start = binary.LittleEndian.AppendUint16(start, uint16(len(header)))
	_, err := w.Write(append(start, header...))
	return err
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

// Array is an array on its way into a file.
type Array struct {
	Name  string
	Write func(io.Writer) error
}

// WriteArchive writes an npz file, uncompressed, whole or not at all.
func WriteArchive(path string, arrays ...Array) error {
	return fileio.Write(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		for _, a := range arrays {
			entry, err := archive.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
			if err != nil {
				return err
			}
			if err := a.Write(entry); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// ArrayOf is an array of the given shape; data are its elements in C order.
func ArrayOf[T Number](name string, data []T, shape ...int) Array {
	return Array{name, func(w io.Writer) error { return Write(w, shape, data) }}
}

// RowsOf is an array that is made row by row, a row being all but the first index: as
// a whole it could be far more than what it is made of takes in memory.
func RowsOf[T Number](name string, fill func(row []T, i int), shape ...int) Array {
	return Array{name, func(w io.Writer) error {
		if err := WriteHeader[T](w, shape); err != nil || shape[0] == 0 { // a row may be large even so
			return err
		}
		row := make([]T, (&Values{Shape: shape}).Width())
		for i := range shape[0] {
			fill(row, i)
			if err := WriteData(w, row); err != nil {
				return err
			}
		}
		return nil
	}}
}
