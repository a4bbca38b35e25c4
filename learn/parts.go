package learn

import (
	"slices"

	"github.com/blockbp/blockbp/internal/instances"
)

// What a visit changes in the totals is added up in parts, each in the order of its jobs, and the sums of parts in the
// order of a binary tree: so the totals have the same bits however many processes share the parts. One process does the
// jobs of a part. Several units share contributions: there every process is told all results and adds them up in one
// sum, and parts say only who does the work.

// mostParts bounds the parts, and with them the processes.
const mostParts = instances.Parts

// partSums are the sums of a visit, part by part.
type partSums struct {
	perVisit int         // parts that one visit has, at most
	sums     [][]float64 // [perVisit][stride], in the order of touched
	touched  []int32     // parts with a sum in this visit, ascending
	own      [][]float64 // sums of this process
	total    []float64   // [stride]
}

func (p *partSums) allocate(stride int) {
	p.total = make([]float64, stride)
	for range p.perVisit {
		p.sums = append(p.sums, make([]float64, stride))
	}
	p.own = make([][]float64, 0, p.perVisit)
}

// begin finds the parts of a visit, and makes their sums zeros.
func (p *partSums) begin(units *unitSet, blocks []int) {
	p.touched = p.touched[:0]
	for _, block := range blocks {
		if part := units.partOf(block); !slices.Contains(p.touched, part) {
			p.touched = append(p.touched, part)
		}
	}
	slices.Sort(p.touched)
	for i := range min(len(p.touched), len(p.sums)) {
		clear(p.sums[i])
	}
}
