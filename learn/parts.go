package learn

import (
	"slices"
	"sync"

	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
)

// The change that a visit makes to the totals is added up in parts, and these in the order of a
// binary tree: so that whoever has some of the parts can add them up, with the same bits. Jobs of a
// part are done by one process. A part has its sum in the order of the jobs.
//
// Jobs of several units, which share contributions, are all of one sum: of each
// block everybody has all results. Parts say only who does the work.

// mostParts bounds the parts, and with them the processes.
const mostParts = instances.Parts

// parts are the sums of a visit.
type parts struct {
	most    int         // parts that one visit has, at most
	sums    [][]float64 // [most][stride], in the order of touched
	touched []int32     // parts with a sum in this visit, ascending
	own     [][]float64 // sums of this process
	total   []float64   // [stride]
}

// alone reports whether there is one unit: each process then keeps the contributions of its own blocks.
func (j *jobs) alone() bool { return len(j.units) == 1 }

// dealtJob is a job of visits, of some units in one block.
type dealtJob struct {
	parts []int32 // of the units
	work  float64 // of a sweep
}

// planParts deals jobs to parts, by their work, unit by unit, and block by block. A set of blocks stands for the whole
// network, so that a visit has jobs in all parts, and a process has blocks, and units, that follow each other.
func (l *learner) planParts() {
	var all []dealtJob
	l.part = make([]int32, l.blocks*len(l.units))
	for share := range l.perBlock() {
		for block := range l.blocks {
			lo, hi := l.shares[share], l.shares[share+1]
			j := dealtJob{parts: l.part[block*len(l.units):][lo:hi]}
			for _, u := range l.units[lo:hi] {
				j.work += float64(1 + u.part.Blocks[block].Work())
			}
			all = append(all, j)
		}
	}
	deal(all)
	for _, schedule := range [][]blockSet{l.schedule, l.whole} {
		for _, blocks := range schedule {
			l.parts.begin(&l.jobs, blocks)
			l.parts.most = max(l.parts.most, len(l.parts.touched))
		}
	}
}

// deal divides jobs, which follow each other, evenly.
func deal(jobs []dealtJob) {
	total, done := 0.0, 0.0
	for _, j := range jobs {
		total += j.work
	}
	for _, j := range jobs {
		for i := range j.parts {
			j.parts[i] = int32((done + j.work/2) / total * mostParts)
		}
		done += j.work
	}
}

// allocate makes room for the sums.
func (p *parts) allocate(stride int) {
	p.total = make([]float64, stride)
	for range p.most {
		p.sums = append(p.sums, make([]float64, stride))
	}
	p.own = make([][]float64, 0, p.most)
}

// begin finds the parts of a visit, and makes their sums zeros.
func (p *parts) begin(j *jobs, blocks []int) {
	p.touched = p.touched[:0]
	for _, block := range blocks {
		if part := j.partOf(block); !slices.Contains(p.touched, part) {
			p.touched = append(p.touched, part)
		}
	}
	slices.Sort(p.touched)
	for i := range min(len(p.touched), len(p.sums)) {
		clear(p.sums[i])
	}
}

// partOf returns the part in whose sum a block is.
func (j *jobs) partOf(block int) int32 {
	if j.alone() {
		return j.part[block]
	}
	return 0
}

// sumOf returns the sum of a part.
func (p *parts) sumOf(part int32) []float64 {
	i, _ := slices.BinarySearch(p.touched, part)
	return p.sums[i]
}

// addParts adds the sums of a visit to the totals.
func (l *learner) addParts(v *visit) {
	p := &l.parts
	p.own = p.own[:0]
	for i, part := range p.touched {
		if l.executor.has(part) {
			p.own = append(p.own, p.sums[i])
		}
	}
	if l.alone() {
		l.executor.sumParts(p)
	} else {
		copy(p.total, p.own[0])
	}
	l.addChange(p.total)
	if !v.resum {
		l.model.Layout.Symmetrise(l.total)
	}
}

// network reports that a run is of one network, which is cut; sums over the data go by its parts.
func (l *learner) network() bool { return len(l.problem.Data) == 1 && l.blocks > 1 }

// usedParts are the parts that have blocks of the first unit, ascending.
func (j *jobs) usedParts() (used []int32) {
	for at := 0; at < len(j.part); at += len(j.units) {
		used = append(used, j.part[at])
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// rangeOf sets r to the nodes of a part of the first unit, and the edges that begin at them, block by block.
func (j *jobs) rangeOf(part int32, r *ground.Range) {
	u := j.units[0]
	r.Nodes, r.Edges = r.Nodes[:0], r.Edges[:0]
	first, _ := u.in.Graph.Ends()
	for x := range u.part.Blocks {
		if j.part[x*len(j.units)] != part {
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

// sumOfParts adds up over the parts of one network.
func (l *learner) sumOfParts(size int, add instances.Add) []float64 {
	p, own := parts{total: make([]float64, size), touched: l.usedParts()}, []int32(nil)
	for _, part := range p.touched {
		if l.executor.Owns(part) {
			own = append(own, part)
		}
	}
	sums := make([]float64, len(own)*size)
	for i := range own {
		p.own = append(p.own, sums[i*size:][:size:size])
	}
	l.each(len(own), func(worker, i int) {
		r := ranges.Get().(*ground.Range)
		l.rangeOf(own[i], r)
		add(p.own[i], worker, 0, *r)
		ranges.Put(r)
	})
	l.executor.sumParts(&p)
	return p.total
}
