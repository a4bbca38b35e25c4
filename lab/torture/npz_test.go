//go:build linux

package torture

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// array is one array of an .npz file. It is written as it stands: nothing says that
// the data fit the shape.
type array struct {
	name  string
	descr string // <i4, <i8, <u8, <f4, <f8
	shape []int
	data  []float64
}

// npy is the file of one array.
func (a *array) npy() []byte {
	dims := make([]string, len(a.shape))
	for i, n := range a.shape {
		dims[i] = fmt.Sprint(n) + ","
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", a.descr, strings.Join(dims, " "))
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var out bytes.Buffer
	out.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&out, binary.LittleEndian, uint16(len(header)))
	out.WriteString(header)
	for _, x := range a.data {
		var value any = x
		switch a.descr {
		case "<f4":
			value = float32(x)
		case "<i4":
			value = int32(clampTo(x, math.MaxInt32))
		case "<i8":
			value = int64(clampTo(x, 1<<62))
		case "<u8":
			value = uint64(math.MaxUint64)
			if x = clampTo(x, math.MaxFloat64); x < math.MaxUint64 {
				value = uint64(max(x, 0))
			}
		}
		_ = binary.Write(&out, binary.LittleEndian, value)
	}
	return out.Bytes()
}

// clampTo is x with the magnitude cut, and 0 for what is no number.
func clampTo(x, most float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return max(-most, min(most, x))
}

// npz is an archive of arrays.
func npz(arrays ...array) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, a := range arrays {
		// A buffer takes all that is written to it.
		w, _ := archive.CreateHeader(&zip.FileHeader{Name: a.name + ".npy", Method: zip.Store})
		_, _ = w.Write(a.npy())
	}
	_ = archive.Close()
	return out.Bytes()
}

// ints and floats make arrays.
func ints(name string, shape []int, data []int) array {
	a := array{name: name, descr: "<i4", shape: shape, data: make([]float64, len(data))}
	for i, x := range data {
		a.data[i] = float64(x)
	}
	return a
}

func floats(name string, shape []int, data []float64) array {
	return array{name: name, descr: "<f8", shape: shape, data: data}
}
