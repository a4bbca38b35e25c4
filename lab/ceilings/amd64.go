//go:build amd64 && !purego

package ceilings

// vectorized are the kernels in assembly. The entries are those of the generator's
// accumulators, vectors times width. The last words are those of the vectors that a step reads.
var vectorized = []kernels{
	{"avx512", multiplyAdd512, 24 * 8, readAll512, 8 * 8},
	{"avx2", multiplyAdd256, 12 * 4, readAll256, 8 * 4},
}
