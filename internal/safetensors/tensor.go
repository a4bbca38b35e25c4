package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"unsafe"

	"github.com/blockbp/blockbp/internal/numeric"
)

// DType is the name of an element type in the header.
type DType string

// The element types that can be written and read. Files with tensors of other
// types open; only reading such a tensor is an error.
const (
	F64 DType = "F64"
	F32 DType = "F32"
)

// sizes gives the bytes of one element for all types of the format.
var sizes = map[DType]int{
	F64: 8, "I64": 8, "U64": 8, F32: 4, "I32": 4, "U32": 4,
	"F16": 2, "BF16": 2, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1,
}

// Number is an element type that can be written and read.
type Number interface{ float64 | float32 }

func typeOf[T Number]() DType {
	if _, double := any(T(0)).(float64); double {
		return F64
	}
	return F32
}

// chunkElements is the number of elements converted at a time: the buffer of at most 256 KiB stays in the cache.
const chunkElements = 1 << 15

// Tensor is one array to be written; New and NewChunks make it.
type Tensor struct {
	Name  string
	Shape []int // nil or empty: a scalar
	dtype DType
	emit  func(w io.Writer) (elements int, err error)
}

// New returns the tensor with the given elements in row-major order. data is
// kept without copying until the file is written.
func New[T Number](name string, shape []int, data []T) Tensor {
	return NewChunks(name, shape, func(yield func([]T) bool) { yield(data) })
}

// NewChunks returns the tensor whose elements, in row-major order, are the concatenation of the chunks: for data that
// do not lie in memory as the file has them. chunks may be gone through more than once; a chunk is used only until
// the next one is asked for.
func NewChunks[T Number](name string, shape []int, chunks iter.Seq[[]T]) Tensor {
	emit := func(w io.Writer) (elements int, err error) {
		var buffer []byte
		if !numeric.LittleEndian {
			buffer = make([]byte, 0, chunkElements*sizes[typeOf[T]()])
		}
		for chunk := range chunks {
			elements += len(chunk)
			for part := range slices.Chunk(chunk, chunkElements) {
				if _, err := w.Write(littleBytes(buffer, part)); err != nil {
					return elements, err
				}
			}
		}
		return elements, nil
	}
	return Tensor{Name: name, Shape: shape, dtype: typeOf[T](), emit: emit}
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

// littleBytes returns the bytes of data: data itself where it can be, else a copy in buffer.
func littleBytes[T Number](buffer []byte, data []T) []byte {
	if !numeric.LittleEndian {
		return appendLittle(buffer, data)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*sizes[typeOf[T]()])
}

// appendLittle appends the bytes of data. Loops for each type are several times as fast
// as binary.Append, which calls a ByteOrder.
func appendLittle[T Number](dst []byte, data []T) []byte {
	switch data := any(data).(type) {
	case []float64:
		for _, x := range data {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	case []float32:
		for _, x := range data {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	}
	return dst
}

// decodeLittle fills data from bytes, which has as many as data needs.
func decodeLittle[T Number](data []T, bytes []byte) {
	switch data := any(data).(type) {
	case []float64:
		for i := range data {
			data[i] = math.Float64frombits(binary.LittleEndian.Uint64(bytes[8*i:]))
		}
	case []float32:
		for i := range data {
			data[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		}
	}
}
