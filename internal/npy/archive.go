package npy

import (
	"archive/zip"
	"io"

	"github.com/blockbp/blockbp/internal/fileio"
)

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
		size := 1
		for _, n := range shape[1:] {
			size *= n
		}
		row := make([]T, size)
		for i := range shape[0] {
			fill(row, i)
			if err := WriteData(w, row); err != nil {
				return err
			}
		}
		return nil
	}}
}
