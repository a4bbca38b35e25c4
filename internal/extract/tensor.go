package extract

// Tensor is an array in C order.
type Tensor struct {
	Type Type
	Dims []int64
	Data []byte // in the byte order of the machine, which is little-endian
}
