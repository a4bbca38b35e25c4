package dataset

import (
	"archive/zip"
	"io"

	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/npy"
)

// arrayWriter is an array on its way into an npz file.
type arrayWriter struct {
	name  string
	write func(io.Writer) error
}

// writeArchive writes an npz file, uncompressed, whole or not at all.
func writeArchive(path string, arrays ...arrayWriter) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		for _, a := range arrays {
			entry, err := archive.CreateHeader(&zip.FileHeader{Name: a.name + ".npy", Method: zip.Store})
			if err != nil {
				return err
			}
			if err := a.write(entry); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

func arrayOf[T npy.Number](name string, data []T, shape ...int) arrayWriter {
	return arrayWriter{name, func(w io.Writer) error { return npy.Write(w, shape, data) }}
}

// rowsOf is an array that is made row by row, a row being all but the first index: as
// a whole it could be far more than what it is made of takes in memory.
func rowsOf[T npy.Number](name string, fill func(row []T, i int), shape ...int) arrayWriter {
	return arrayWriter{name, func(w io.Writer) error {
		if err := npy.WriteHeader[T](w, shape); err != nil {
			return err
		}
		if shape[0] == 0 {
			return nil // a row may be large even so
		}
		size := 1
		for _, n := range shape[1:] {
			size *= n
		}
		row := make([]T, size)
		for i := range shape[0] {
			fill(row, i)
			if err := npy.WriteData(w, row); err != nil {
				return err
			}
		}
		return nil
	}}
}
