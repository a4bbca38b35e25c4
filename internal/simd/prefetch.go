package simd

// PrefetchRows asks the processor to bring rows of a matrix with so many columns into the nearest cache, where it can
// be asked: rows that are needed soon and follow each other in an order that it could not guess. It changes nothing.
func PrefetchRows[T float32 | float64](matrix []T, rows []int32, columns int) {
	if columns > 0 && len(matrix) > 0 {
		prefetch(matrix, rows, columns)
	}
}
