//go:build !purego

package simd

import "unsafe"

var uniform512 = uniform{
	states:     16,
	edgeStates: 8,

	products: func(u *Uniform, lo, hi int) bool { return uniformProducts512(first(u), lo, hi) },
	absorb:   func(u *Uniform, lo, hi int) float64 { return uniformAbsorb512(first(u), lo, hi) },
	shift:    func(u *Uniform, lo, hi int) int { return uniformShift512(first(u), lo, hi) },
	settle:   func(u *Uniform, lo, hi int) float64 { return uniformSettle512(first(u), lo, hi) },
	nodes: func(u *Uniform, dst, sum []float64, lo, hi int) float64 {
		return uniformNodes512(first(u), dst, sum, lo, hi)
	},
	edges: func(u *Uniform, dst, sum []float64, lo, hi int) (float64, bool) {
		return uniformEdges512(first(u), dst, sum, lo, hi)
	},
	list: func(u *Uniform, list []Edge, lo, hi int) {
		uniformList(first(u), (*int)(unsafe.Pointer(unsafe.SliceData(list))), lo, hi)
	},
}

// first is how the generator, which knows no types of ours, is given a Uniform.
func first(u *Uniform) *int { return (*int)(unsafe.Pointer(u)) }
