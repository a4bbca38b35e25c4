package safetensors

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"iter"
	"math"
)

// chunkElements is the number of elements converted at a time: the buffer of at
// most 256 KiB stays in the cache.
const chunkElements = 1 << 15

// Tensor is one array to be written; New and NewChunks make it.
type Tensor struct {
	Name  string
	Shape []int // nil or empty: a scalar
	dtype DType
	count func() int // elements given, where known beforehand; nil otherwise
	emit  func(w io.Writer) (elements int, err error)
}

// New returns the tensor with the given elements in row-major order. data is
// kept without copying until the file is written.
func New[T Number](name string, shape []int, data []T) Tensor {
	t := NewChunks(name, shape, func(yield func([]T) bool) { yield(data) })
	t.count = func() int { return len(data) }
	return t
}

// NewChunks returns the tensor whose elements, in row-major order, are the
// concatenation of the chunks: for data that do not lie in memory as the file
// has them. chunks may be gone through more than once; a chunk is used only
// until the next one is asked for.
func NewChunks[T Number](name string, shape []int, chunks iter.Seq[[]T]) Tensor {
	emit := func(w io.Writer) (int, error) {
		elements := 0
		buffer := make([]byte, 0, chunkElements*typeOf[T]().size())
		for chunk := range chunks {
			elements += len(chunk)
			if err := encode(w, buffer, chunk); err != nil {
				return elements, err
			}
		}
		return elements, nil
	}
	return Tensor{Name: name, Shape: shape, dtype: typeOf[T](), emit: emit}
}

// encode writes data little-endian, through buffer.
func encode[T Number](w io.Writer, buffer []byte, data []T) error {
	for len(data) > 0 {
		part := data[:min(len(data), chunkElements)]
		data = data[len(part):]
		bytes, err := appendLittle(buffer[:0], part)
		if err != nil {
			return err
		}
		if _, err := w.Write(bytes); err != nil {
			return err
		}
	}
	return nil
}

// decode fills data from little-endian bytes, in chunks.
func decode[T Number](r io.Reader, data []T) error {
	size := typeOf[T]().size()
	buffer := make([]byte, min(len(data), chunkElements)*size)
	for len(data) > 0 {
		part := data[:min(len(data), chunkElements)]
		data = data[len(part):]
		bytes := buffer[:len(part)*size]
		if _, err := io.ReadFull(r, bytes); err != nil {
			return err
		}
		if err := decodeLittle(part, bytes); err != nil {
			return err
		}
	}
	return nil
}

// appendLittle is binary.Append for the elements of a tensor. Those of a checkpoint are
// encoded in loops of their own, several times as fast as by calls of a ByteOrder.
func appendLittle[T Number](dst []byte, data []T) ([]byte, error) {
	switch data := any(data).(type) {
	case []float64:
		for _, x := range data {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
		return dst, nil
	case []float32:
		for _, x := range data {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
		return dst, nil
	}
	return binary.Append(dst, binary.LittleEndian, data)
}

// decodeLittle is binary.Decode for the elements of a tensor. bytes has as many as
// data needs.
func decodeLittle[T Number](data []T, bytes []byte) error {
	switch data := any(data).(type) {
	case []float64:
		for i := range data {
			data[i] = math.Float64frombits(binary.LittleEndian.Uint64(bytes[8*i:]))
		}
		return nil
	case []float32:
		for i := range data {
			data[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		}
		return nil
	}
	_, err := binary.Decode(bytes, binary.LittleEndian, data)
	return err
}

// castagnoli is the polynomial with hardware support on amd64 and arm64.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)
