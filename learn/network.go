package learn

import (
	"slices"
	"sync"

	"github.com/blockbp/blockbp/internal/ground"
)

// mostPartNumbers bounds the numbers that each part of a network has a sum of: those of all parts are 32 MB.
const mostPartNumbers = 1 << 16

// network returns the bundle of the one network of a run, if it is cut; sums over the data go by its parts.
func (l *learner) network() *bundle {
	if len(l.problem.Data) != 1 || l.blocks == 1 {
		return nil
	}
	return l.bundles[0]
}

// usedParts are the parts that have blocks of the first unit, ascending.
func (b *bundle) usedParts() (used []int32) {
	for at := 0; at < len(b.part); at += len(b.units) {
		used = append(used, b.part[at])
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// rangeOf sets r to the nodes of a part of the first unit, and the edges that begin at them, block by block.
func (b *bundle) rangeOf(part int32, r *ground.Range) {
	u := b.units[0]
	r.Nodes, r.Edges = r.Nodes[:0], r.Edges[:0]
	first, _ := u.in.Graph.Ends()
	for x := range u.part.Blocks {
		if b.part[x*len(b.units)] != part {
			continue
		}
		for _, s := range u.part.Blocks[x].Nodes {
			r.Nodes = r.Nodes.With(s)
		}
		for _, e := range u.part.Blocks[x].Edges {
			if int(u.part.Of[first[e]]) == x {
				r.Edges = r.Edges.With(e)
			}
		}
	}
}

// ranges are used again: those of all parts would be as much garbage, in every sum, as lists of blocks.
var ranges = sync.Pool{New: func() any { return &ground.Range{} }}

// sumOfParts is sumOver for the parts of one network.
func (a adder) sumOfParts(size int, add func(sum []float64, worker, i int, r ground.Range)) []float64 {
	p, own := parts{total: make([]float64, size), touched: a.network.usedParts()}, []int32(nil)
	for _, part := range p.touched {
		if a.executor.owns(part) {
			own = append(own, part)
		}
	}
	sums := make([]float64, len(own)*size)
	for i := range own {
		p.own = append(p.own, sums[i*size:][:size:size])
	}
	a.each(len(own), func(worker, i int) {
		r := ranges.Get().(*ground.Range)
		a.network.rangeOf(own[i], r)
		add(p.own[i], worker, 0, *r)
		ranges.Put(r)
	})
	a.executor.sumParts(&p)
	return p.total
}
