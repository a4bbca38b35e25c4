package learn

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/simd"
)

// incremental is the first passes of automatic steps: the paper's loop, with a step at every visit, as incremental
// methods of Newton's kind make them.
//
// Each term of the aggregated gradient was taken at the weights θ_b of the last visit of its blocks. Modelled to second
// order, with its share of one Hessian P each, the terms have their common minimum at (Rodomanov and Kropotov 2016;
// Mokhtari, Eisen and Ribeiro 2018)
//
//	θ = θ̄ − P⁻¹ḡ,   ḡ = Σ_b g_b + l2 θ̄,
//
// θ̄ being the mean of the θ_b. What P leaves out BFGS learns from the changes of θ̄ and ḡ, pass by pass. That is a
// whole step at every visit: no length has to be chosen, however old the gradient is. With one block θ̄ is θ. Such
// steps know nothing of messages that have not arrived. They are made as long as they lower the gradient enough
// (leads), and then descent on F goes on (descent.go).
type incremental struct {
	incrementalState
	run      *inference
	shares   []float64 // [visits of a pass] the weights of the θ_b in θ̄: see visitShares
	gradient []float64 // ḡ
}

// incrementalState is what a resumed run goes on from.
type incrementalState struct {
	visits    int       // made
	mean      []float64 // θ̄
	weightsAt []float64 // [visits of a pass][tied weights] θ_b
	leastNorm float64   // of the gradient at the end of a pass
	waits     int       // passes since then
}

func newIncremental(run *inference) *incremental {
	layout, visits, e := &run.model.Layout, run.schedule.perPass(), &incremental{run: run}
	if !run.holds.bounded { // no visit has a step
		return e
	}
	e.shares, e.weightsAt = e.visitShares(), make([]float64, visits*layout.TiedSize)
	e.mean, e.gradient = make([]float64, layout.Size), make([]float64, layout.Size)
	return e
}

// Another pass of visits follows where the first one leaves at most firstLeft of the gradient, and later until none of
// mostWaits passes in a row has left less than all before. The first one tells how strong couplings are: where they are
// weak, messages carry little, and blocks that were visited at different times agree. Later passes may well raise the
// gradient once or twice, as BFGS learns in one direction after the other; each takes a third of the time of a pass of
// descent. Fifty photographs are let into 41 passes, many networks into one (results/README.md).
const firstLeft, mostWaits = 0.2, 3

// leads reports, at the end of a pass, that another one follows: none where a pass has one visit. The norm of the
// gradient decides, as F is not known where blocks were visited at different weights.
func (e *incremental) leads() bool {
	perPass, norm := e.run.schedule.perPass(), e.run.progress.GradientNorm
	if e.visits == perPass && !(norm <= firstLeft*e.leastNorm) {
		return false
	}
	if e.waits++; norm < e.leastNorm {
		e.leastNorm, e.waits = norm, 0
	}
	return perPass > 1 && e.waits < mostWaits
}

// begin starts where all terms of the gradient were taken at the same weights, theta.
func (e *incremental) begin(theta []float64) {
	size := e.run.model.Layout.TiedSize
	for at := 0; at < len(e.weightsAt); at += size {
		for _, span := range e.run.shape.tied {
			copy(e.weightsAt[at+span.Part:][:span.Len], theta[span.At:])
		}
	}
	copy(e.mean, theta)
	e.leastNorm, e.waits = e.run.progress.GradientNorm, 0
}

// takeVisit renews θ̄ and ḡ, given the weights of the visit that schedule.pick chose last and the gradient after it. An
// untied weight belongs to one node or edge, so that its mean is what it was at the last visit of that.
func (e *incremental) takeVisit(theta, gradient []float64) {
	layout, visit := &e.run.model.Layout, e.run.schedule.position
	for _, span := range e.run.shape.tied {
		mean, visited := e.mean[span.At:][:span.Len], e.weightsAt[visit*layout.TiedSize+span.Part:][:span.Len]
		simd.AddScaled(mean, theta[span.At:][:span.Len], e.shares[visit])
		simd.AddScaled(mean, visited, -e.shares[visit])
		copy(visited, theta[span.At:])
	}
	for _, x := range e.run.schedule.stepPass[visit] {
		for _, u := range e.run.units {
			u.eachUntied(layout, x, func(span *crf.Span, row int) {
				at := span.At + row*span.Copy()
				copy(e.mean[at:][:span.Copy()], theta[at:])
			})
		}
	}
	e.visits++
	for j, g := range gradient {
		e.gradient[j] = g - e.run.problem.L2*(theta[j]-e.mean[j])
	}
}

// visitShares returns, for every set of blocks of a pass, its share of all nodes and edges. Each block of a cut edge
// has half of it, and networks count by their weights.
func (e *incremental) visitShares() []float64 {
	shares, total := make([]float64, len(e.run.schedule.stepPass)), 0.0
	for i, blocks := range e.run.schedule.stepPass {
		for _, x := range blocks {
			for _, u := range e.run.units {
				block := &u.partition.Blocks[x]
				elements := float64(len(block.Nodes)) + float64(int(block.Groups[0].Hi)+len(block.Edges))/2
				shares[i] += max(0, u.weight) * elements
			}
		}
		total += shares[i]
	}
	for i := range shares {
		shares[i] /= total
	}
	return shares
}
