package simd

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// moveTo moves a slice to an edge of pages, next to memory that can't be touched.
func moveTo[T any](p *pages, s *[]T, atEnd bool) {
	if len(*s) == 0 {
		return
	}
	size := int(unsafe.Sizeof((*s)[0]))
	at := p.size
	if atEnd {
		at = len(p.memory) - p.size - size*len(*s)
	}
	moved := unsafe.Slice((*T)(unsafe.Pointer(&p.memory[at])), len(*s))
	copy(moved, *s)
	*s = moved
}

// TestUniformPageEnds runs the kernels of a Uniform, over parts of its lists, with every
// slice at an edge of what can be touched: another read or write ends the test with a
// fault.
func TestUniformPageEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	var free []*pages
	for range 24 {
		free = append(free, newPages(t, 60))
	}
	for i := range 600 {
		if UniformStates() == 0 {
			return // nothing to run: other processors take lists, see TestPageEnds
		}
		u := newUniform(t, r, 1+r.IntN(UniformStates()), 1+r.IntN(30), 1+r.IntN(6), []float64{0, 0.5}[r.IntN(2)]).u
		atEnd, left := i%4 > 0, free
		page := func() *pages { p := left[0]; left = left[1:]; return p }
		for _, s := range []*[]float64{&u.Beliefs, &u.Messages, &u.Tables, &u.Rho, &u.Potentials, &u.RhoNode, &u.Rows, &u.Sums, &u.Totals, &u.Count} {
			moveTo(page(), s, atEnd)
		}
		for _, s := range []*[]int32{&u.Nodes, &u.Order, &u.InStart, &u.In, &u.InEdge, &u.InSource, &u.Edges, &u.U, &u.V} {
			moveTo(page(), s, atEnd)
		}
		moveTo(page(), &u.At, atEnd)
		lo, hi := some(r, len(u.Order))
		if from, to := int(u.InStart[lo]), int(u.InStart[hi]); from < to {
			u.Products(from, to)
			u.Absorb(from, to)
		}
		if u.Shift(lo, hi) == hi-lo {
			Log(u.Totals[:hi-lo], u.Totals[:hi-lo])
			u.Settle(lo, hi)
		}
		dst, sum := make([]float64, u.Room(hi-lo, u.States)), make([]float64, u.States)
		first, second, third := page(), page(), page()
		moveTo(first, &dst, atEnd)
		moveTo(second, &sum, atEnd)
		u.WriteNodes(dst, sum, lo, hi)
		if len(u.Edges) == 0 {
			continue
		}
		lo, hi = some(r, len(u.Edges))
		if u.States <= UniformEdgeStates() {
			dst, sum = make([]float64, u.Room(hi-lo, u.States*u.States)), make([]float64, u.States*u.States)
			moveTo(first, &dst, atEnd)
			moveTo(second, &sum, atEnd)
			u.WriteEdges(dst, sum, lo, hi)
		}
		list := make([]Edge, hi-lo)
		moveTo(third, &list, atEnd)
		u.List(list, lo, hi)
	}
}

// some returns a part of a list of n, in half of the cases up to its end.
func some(r *rand.Rand, n int) (lo, hi int) {
	lo = r.IntN(n)
	if r.IntN(2) == 0 {
		return lo, n
	}
	return lo, lo + 1 + r.IntN(n-lo)
}
