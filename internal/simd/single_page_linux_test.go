package simd

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// slice32 is slice for single precision.
func (p *pages) slice32(n int, atEnd bool) []float32 {
	if n == 0 {
		return nil
	}
	at := p.size
	if atEnd {
		at = len(p.memory) - p.size - 4*n
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&p.memory[at])), n)
}

// TestPageEnds32 is TestPageEnds for the kernels in single precision.
func TestPageEnds32(t *testing.T) {
	var maps [8]*pages
	for i := range maps {
		maps[i] = newPages(t, 12)
	}
	r := rand.New(rand.NewPCG(75, 76))
	each(t, func(t *testing.T, with implementation) {
		for _, n := range []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64} {
			for _, atEnd := range []bool{true, false} {
				t.Logf("%d at the end: %v", n, atEnd)
				get := func(i, n int) []float32 {
					x := maps[i].slice32(n, atEnd)
					fillUniform32(x, r)
					return x
				}
				get64 := func(i, n int) []float64 {
					x := maps[i].slice(n, atEnd)
					fillUniform(x, r)
					return x
				}
				with.single.exp(get(0, n), get(1, n))
				with.single.log(get(0, n), get(1, n))
				with.single.allSafe(get(0, n))
				with.single.narrow(get(0, n), get64(1, n))
				for _, k := range []int{1, 4, 8, 9, 16, 17, 64} {
					everyKernel32(with, get, get64, n, k)
				}
			}
		}
	})
}

// everyKernel32 calls the kernels of lists and matrices with slices of a shape.
func everyKernel32(with implementation, get func(i, n int) []float32, get64 func(i, n int) []float64, n, k int) {
	with.single.exponentials(get(0, n*2), n, get64(1, 2))
	with.single.multiplyMatrix(get(0, 3*k), get(1, 3*n), get(2, n*k), 3, n, k)
	with.single.scatterMatrix(get64(0, n*k), get(1, 3*n), get(2, 3*k), 3, n, k)
	count := min(9, 8192/(n*k))
	list, edges := make([]Message, count), make([]Edge, count)
	for i := range list {
		list[i] = Message{
			Belief: i * n, Reverse: i * n, Old: i * k, Table: i * n * k, Rho: 1, Weight: int32(i * n), Out: int32(i * k), Sum: int32(i * k),
			Source: int32(n), Target: int32(k), Backward: int32(i % 2),
		}
		edges[i] = Edge{i * n, i * n, count*n + i*k, count*n + i*k, i * n * k}
	}
	with.single.cavities(get(0, count*n+Padding32), get64(1, count*n), get64(2, count*n), list)
	with.single.products(get(0, count*k+Padding32), get(1, count*n+Padding32), get(2, count*n*k), list)
	with.single.absorbAll(get64(0, count*k), get64(1, count*k), get(2, count*k+Padding32), list, 0.5)
	with.single.edgeBeliefs(get(0, count*n*k), get64(1, count), get64(2, count), get64(3, count*(n+k)), get64(4, count*(n+k)), get(5, count*n*k), edges, n, k)
}
