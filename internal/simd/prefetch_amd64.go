//go:build !purego

package simd

import "unsafe"

func prefetch[T float32 | float64](matrix []T, rows []int32, columns int) {
	prefetchRows((*byte)(unsafe.Pointer(unsafe.SliceData(matrix))), rows, columns*int(unsafe.Sizeof(matrix[0])))
}
