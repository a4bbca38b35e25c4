package dataset

import (
	"archive/zip"
	"io"

	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/npy"
)

// WritePrediction writes what a model says of one instance as a file that
// numpy.load reads, whole or not at all:
//
//	labels   [n] int32           the most likely state of every node
//	beliefs  [n, k] float64      the belief of every state; k is the largest number
//	                             of states of any node, and rows are filled with 0
//	states   [n] int32           the number of states of every node
//
// beliefs of node s are given as belief[at[s]:at[s+1]].
func WritePrediction(path string, labels []int32, belief []float64, at []int) error {
	states := make([]int32, len(labels))
	most := 0
	for s := range labels {
		states[s] = int32(at[s+1] - at[s])
		most = max(most, at[s+1]-at[s])
	}
	filled := make([]float64, len(labels)*most)
	for s := range labels {
		copy(filled[s*most:], belief[at[s]:at[s+1]])
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		for _, write := range []func() error{
			func() error { return writeEntry(archive, "labels", []int{len(labels)}, labels) },
			func() error { return writeEntry(archive, "beliefs", []int{len(labels), most}, filled) },
			func() error { return writeEntry(archive, "states", []int{len(labels)}, states) },
		} {
			if err := write(); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// writeEntry writes one array of an npz file, uncompressed.
func writeEntry[T npy.Number](archive *zip.Writer, name string, shape []int, data []T) error {
	w, err := newEntry(archive, name)
	if err != nil {
		return err
	}
	return npy.Write(w, shape, data)
}

// newEntry begins an array of an npz file, uncompressed.
func newEntry(archive *zip.Writer, name string) (io.Writer, error) {
	return archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
}
