package ceilings

import (
	"slices"

	"github.com/blockbp/blockbp/internal/simd"
)

// kernels is one complete set of what the ceilings are measured with.
type kernels struct {
	name string
	// multiplyAdd makes rounds multiply-adds acc = acc·x + y, from 0, in each of so
	// many entries, all independent, and returns their sum.
	multiplyAdd func(rounds int, x, y float64) (total float64)
	entries     int
	// readAll reads x, whose length is a multiple of readStep, and returns the
	// exclusive or of its last words, so many; 0 stands for all of them.
	readAll func(x []float64) (parity uint64)
	last    int
}

// readStep divides the lengths that readAll takes.
const readStep = 64

// active is chosen once, when the package is initialised.
var active = supported()[0]

// supported returns the kernels this machine can run, the best first: those whose
// namesakes in internal/simd it can.
func supported() []kernels {
	all := append(slices.Clone(vectorized), plain)
	return slices.DeleteFunc(all, func(k kernels) bool { return !slices.Contains(simd.Names(), k.name) })
}
