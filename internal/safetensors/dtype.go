package safetensors

// DType is the name of an element type in the header.
type DType string

// The element types that can be written and read. Files with tensors of other
// types open; only reading such a tensor is an error.
const (
	F64 DType = "F64"
	F32 DType = "F32"
	I64 DType = "I64"
	I32 DType = "I32"
	U8  DType = "U8"
)

// Number is an element type that can be written and read.
type Number interface {
	float64 | float32 | int64 | int32 | uint8
}

// size returns the bytes of one element, or 0 for a type that is not part of
// the format.
func (d DType) size() int {
	switch d {
	case F64, I64, "U64":
		return 8
	case F32, I32, "U32":
		return 4
	case "F16", "BF16", "I16", "U16":
		return 2
	case U8, "I8", "BOOL":
		return 1
	}
	return 0
}

func typeOf[T Number]() DType {
	var zero T
	switch any(zero).(type) {
	case float64:
		return F64
	case float32:
		return F32
	case int64:
		return I64
	case int32:
		return I32
	}
	return U8
}
