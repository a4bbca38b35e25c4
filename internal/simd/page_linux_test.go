package simd

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/blockbp/blockbp/internal/oracle"
)

// pages hands out slices that end where memory that cannot be read begins, or begin where it ends.
type pages struct {
	memory []byte
	size   int
}

// newPages maps some pages with one that is forbidden on either side.
func newPages(t *testing.T, count int) *pages {
	t.Helper()
	size := syscall.Getpagesize()
	memory := oracle.Must(syscall.Mmap(-1, 0, (count+2)*size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE))(t)
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	for _, page := range [][]byte{memory[:size], memory[(count+1)*size:]} {
		oracle.OK(t, syscall.Mprotect(page, syscall.PROT_NONE))
	}
	return &pages{memory, size}
}

// slice returns n numbers at the end of the pages, or at their beginning.
func (p *pages) slice(n int, atEnd bool) []float64 {
	if n == 0 {
		return nil
	}
	at := p.size
	if atEnd {
		at = len(p.memory) - p.size - 8*n
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&p.memory[at])), n)
}

// TestPageEnds runs every kernel on slices that touch forbidden memory: a read or
// write outside of one ends the test with a fault.
func TestPageEnds(t *testing.T) {
	oracle.Long(t)
	const slices = 6
	var maps [slices]*pages
	for i := range maps {
		maps[i] = newPages(t, 10) // 70×70 numbers
	}
	r := rand.New(rand.NewPCG(31, 32))
	each(t, func(t *testing.T, with implementation) {
		for _, shape := range shapes() {
			n, k := shape[0], shape[1]
			if n > longest || k > longest {
				continue
			}
			for _, atEnd := range []bool{true, false} {
				t.Logf("%d×%d at the end: %v", n, k, atEnd)
				get := func(i, n int) []float64 {
					x := maps[i].slice(n, atEnd)
					fillUniform(x, r)
					return x
				}
				everyKernel(with, get, n, k)
			}
		}
	})
}

// everyKernel calls each kernel with slices of a shape: get returns one of six.
func everyKernel(with implementation, get func(i, n int) []float64, n, k int) {
	with.exp(get(0, n), get(1, n))
	with.log(get(0, n), get(1, n))
	with.dot(get(0, n), get(1, n))
	with.addScaled(get(0, n), get(1, n), 2)
	everyStep(with, get, n, k)
	for _, rows := range []int{1, 3, 7, 13} {
		if rows*n <= longest*longest && rows*k <= longest*longest {
			with.multiplyMatrix(get(0, rows*k), get(1, rows*n), get(2, n*k), rows, n, k, 0)
			with.scatterMatrix(get(0, n*k), get(1, rows*n), get(2, rows*k), rows, n, k)
		}
	}
}

// everyStep updates a node of k states with messages from nodes of n states, as many as fit. What belongs to the state
// of inference fills its slice; scratch is followed by padding.
func everyStep(with implementation, get func(i, n int) []float64, n, k int) {
	if n == 0 || k == 0 {
		return
	}
	count := min(7, longest*longest/(n*k))
	nodes, edges := make([]Node, count), make([]Edge, count)
	var list, forth []int32
	var reverse, old, at []int
	for i := range count {
		edges[i] = Edge{i * n, i * n, count*n + i*k, count*n + i*k, i * n * k}
		nodes[i] = Node{Belief: i * k, Inverse: 1, Potential: i * k, Sum: int32(i * k), States: int32(k), Messages: 1}
		list, forth, at = append(list, int32(i)), append(forth, int32(2*i+i%2)), append(at, i*n*k)
		reverse, old = append(reverse, i*n, i*n), append(old, i*k, i*k)
	}
	scratch := func(i, n int) []float64 { return get(i, n+Padding) }
	with.cavities(scratch(0, count*n), get(1, count*n), nil, list, list, nil, nil, n, nil)
	with.cavities(scratch(0, count*n), get(1, count*n), get(2, count*n), list, forth, nil, reverse, n, nil)
	with.products(scratch(0, count*k), scratch(1, count*n), get(2, count*n*k), forth, list, at, n, k, nil, nil)
	with.absorb(get(0, count*k), scratch(1, count*k), get(2, count*k), scratch(3, count*k), forth, old, get(4, count), 1, nodes, 0.1)
	with.totals(get(0, count), scratch(1, count*k), nodes)
	with.settle(get(0, count*k), scratch(1, count*k), get(2, count), nodes)
	with.multiplyMatrix(get(0, count*n*k), one[:], get(1, count*n*k), 1, 1, count*n*k, 0.5)
	with.consistent(get(0, count*n*k), get(1, count), get(2, count*n), get(3, count*k), make([]float64, ConsistentRoom(n, k)), n, k, how(10))
	before := active
	active = with
	defer func() { active = before }()
	var e Edges
	put(&e, edges, n, k)
	e.WriteBeliefs(get(0, count*n*k), get(1, count), get(2, count), get(3, count*(n+k)), get(4, count*(n+k)), get(5, count*n*k), at)
}

// TestPagesFault checks that the pages are what they are said to be.
func TestPagesFault(t *testing.T) {
	p := newPages(t, 1)
	for _, atEnd := range []bool{true, false} {
		x := p.slice(p.size/8, atEnd)
		if x[0] != 0 || x[len(x)-1] != 0 {
			t.Error(fmt.Sprint("new memory is not zero: ", x[0]))
		}
	}
}
