package learn

import (
	"slices"
	"sync"
	"testing"

	"github.com/blockbp/blockbp/internal/distributed"
)

// processes runs a function in so many goroutines that stand for processes.
func processes(_ *testing.T, size int, do func(g Group)) {
	shared := &meeting{size: size}
	shared.met.L = &shared.mutex
	var all sync.WaitGroup
	for rank := range size {
		all.Go(func() { do(&process{meeting: shared, rank: rank}) })
	}
	all.Wait()
}

// meeting is where all processes bring what they have, and get what all have brought.
type meeting struct {
	size, came, round int
	mutex             sync.Mutex
	met               sync.Cond
	brings, brought   []any
}

// process is a Group of goroutines.
type process struct {
	*meeting
	rank int
	tree distributed.Tree
}

func (p *process) share(own any) []any {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	round := p.round
	if p.came == 0 {
		p.brings = make([]any, p.size)
	}
	if p.brings[p.rank], p.came = own, p.came+1; p.came == p.size {
		p.brought, p.came, p.round = p.brings, 0, p.round+1
		p.met.Broadcast()
	}
	for p.round == round {
		p.met.Wait()
	}
	return p.brought
}

// together returns lists of vectors of all processes, one after another.
func (p *process) together(own ...[]float64) (all [][]float64) {
	copied := make([][]float64, len(own))
	for i, x := range own {
		copied[i] = slices.Clone(x)
	}
	for _, list := range p.share(copied) {
		all = append(all, list.([][]float64)...)
	}
	return all
}

func (p *process) Rank() int                                   { return p.rank }
func (p *process) Size() int                                   { return p.size }
func (p *process) Agree(x []float64)                           { copy(x, p.together(x)[0]) }
func (p *process) Any(flag bool) bool                          { return slices.Contains(p.share(flag), any(true)) }
func (p *process) Gather(dst, own []float64, _ []int)          { copy(dst, slices.Concat(p.together(own)...)) }
func (p *process) Sum(dst []float64, own [][]float64, _ []int) { p.tree.Sum(dst, p.together(own...)) }
func (p *process) Exchange(send, recv [][]float64) {
	all := p.together(send...)
	for from := range recv {
		copy(recv[from], all[from*p.size+p.rank])
	}
}
func (p *process) Bytes(own []byte) (all [][]byte) {
	for _, text := range p.share(slices.Clone(own)) {
		all = append(all, text.([]byte))
	}
	return all
}
