package safetensors

import (
	"fmt"
	"io"
	"iter"
	"math"
	"unsafe"
)

// DType is the name of an element type in the header.
type DType string

// F64 is the element type that can be written and read. Files with tensors of other
// types open; only reading such a tensor is an error.
const F64 DType = "F64"

// sizes gives the bytes of one element for all types of the format.
var sizes = map[DType]int{
	F64: 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4,
	"F16": 2, "BF16": 2, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1,
}

// Tensor is one array to be written; New and NewChunks make it.
type Tensor struct {
	Name  string
	Shape []int // nil or empty: a scalar
	emit  func(w io.Writer) (elements int, err error)
}

// New returns the tensor with the given elements in row-major order. data is
// kept without copying until the file is written.
func New(name string, shape []int, data []float64) Tensor {
	return NewChunks(name, shape, func(yield func([]float64) bool) { yield(data) })
}

// NewChunks returns the tensor whose elements, in row-major order, are the concatenation of the chunks: for data that
// do not lie in memory as the file has them. chunks may be gone through more than once; a chunk is used only until
// the next one is asked for.
func NewChunks(name string, shape []int, chunks iter.Seq[[]float64]) Tensor {
	emit := func(w io.Writer) (elements int, err error) {
		for chunk := range chunks {
			elements += len(chunk)
			if _, err := w.Write(bytesOf(chunk)); err != nil {
				return elements, err
			}
		}
		return elements, nil
	}
	return Tensor{Name: name, Shape: shape, emit: emit}
}

// elements multiplies a shape out. The result is small enough that the number of bytes does not overflow either.
func elements(shape []int) (int, error) {
	product := 1
	for _, n := range shape {
		switch {
		case n < 0:
			return 0, fmt.Errorf("shape %v has a negative length", shape)
		case n > 0 && product > math.MaxInt>>4/n:
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		product *= n
	}
	return product, nil
}

// bytesOf is the memory of data, which is as files have it: package numeric is for little-endian processors.
func bytesOf(data []float64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*sizes[F64])
}
