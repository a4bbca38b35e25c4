//go:build !purego

package simd

import "unsafe"

var regular512 = regular{
	states:     16,
	edgeStates: 8,

	products: func(u *Regular, lo, hi int) bool { return regularProducts512(first(u), lo, hi) },
	absorb:   func(u *Regular, lo, hi int) float64 { return regularAbsorb512(first(u), lo, hi) },
	shift:    func(u *Regular, lo, hi int) int { return regularShift512(first(u), lo, hi) },
	settle:   func(u *Regular, lo, hi int) float64 { return regularSettle512(first(u), lo, hi) },
	nodes: func(u *Regular, dst, sum []float64, lo, hi int) float64 {
		return regularNodes512(first(u), dst, sum, lo, hi)
	},
	edges: func(u *Regular, dst, sum []float64, lo, hi int) (float64, bool) {
		return regularEdges512(first(u), dst, sum, lo, hi)
	},
	list: func(u *Regular, list []Edge, lo, hi int) {
		regularList(first(u), (*int)(unsafe.Pointer(unsafe.SliceData(list))), lo, hi)
	},
	products32: func(u *Regular, lo, hi int) bool { return regularProducts32x512(first(u), lo, hi) },
	absorb32:   func(u *Regular, lo, hi int) float64 { return regularAbsorb32x512(first(u), lo, hi) },
}

// first is how the generator, which knows no types of ours, is given a Regular.
func first(u *Regular) *int { return (*int)(unsafe.Pointer(u)) }
