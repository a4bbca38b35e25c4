package learn

import (
	"slices"

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
func (j *unitSet) alone() bool { return len(j.units) == 1 }

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
				j.work += float64(1 + u.partition.Blocks[block].Work())
			}
			all = append(all, j)
		}
	}
	deal(all)
	for _, schedule := range [][]blockSet{l.schedule, l.whole} {
		for _, blocks := range schedule {
			l.parts.begin(&l.unitSet, blocks)
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
func (p *parts) begin(j *unitSet, blocks []int) {
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
func (j *unitSet) partOf(block int) int32 {
	if j.alone() {
		return j.part[block]
	}
	return 0
}

// addParts adds the sums of a visit to the totals.
func (l *learner) addParts(v *visit) {
	p := &l.parts
	p.own = p.own[:0]
	for i, part := range p.touched {
		if l.ranks.has(part) {
			p.own = append(p.own, p.sums[i])
		}
	}
	if l.alone() {
		l.ranks.sumParts(p)
	} else {
		copy(p.total, p.own[0])
	}
	l.addChange(p.total)
	if v.kind != sumVisit {
		l.model.Layout.Symmetrise(l.total)
	}
}
