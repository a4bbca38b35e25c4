// Package numeric holds the small functions on slices of numbers that several rooms need.
package numeric

import (
	"encoding/binary"
	"math"
	"slices"
)

// LittleEndian says that the bytes of numbers in memory are in the order of files.
var LittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Resize returns a slice of n entries in the memory of s, or in new memory where that
// is too short. The first min(len(s), n) entries are those of s, the others have any
// value. Memory grows in proportion, so that a slice may be lengthened step by step.
func Resize[T any](s []T, n int) []T {
	return slices.Grow(s, max(0, n-len(s)))[:n]
}

// RelativeDistance returns ‖x − y‖/‖y‖: 0 where the two are equal, zero vectors too,
// +Inf where only y is zero, and NaN where their lengths differ.
func RelativeDistance(x, y []float64) float64 {
	if len(x) != len(y) {
		return math.NaN()
	}
	difference, square := 0.0, 0.0
	for i := range x {
		difference += (x[i] - y[i]) * (x[i] - y[i])
		square += y[i] * y[i]
	}
	if difference == 0 {
		return 0
	}
	return math.Sqrt(difference / square)
}

// Norm returns ‖x‖₂.
func Norm(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v * v
	}
	return math.Sqrt(total)
}
