package learn

import (
	"cmp"
	"slices"

	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/parallel"
)

// The matrices that automatic steps are divided by (internal/linear): Kronecker products at first, and then, where the
// data are large beside the weights, a Hessian of stars; of small problems the Hessian itself. They know of a run what
// is told here.

// newFisher sums the second moments of everything in the data.
func (l *learner) newFisher() (*linear.Fisher, error) {
	data := l.statistics()
	return linear.NewFisher(&l.model.Layout, l.problem.L2, func(kind int) []float64 {
		return data.Moments(kind, linear.MaxRotated)
	})
}

// denseProblem is what the Hessian of all weights together is of.
func (l *learner) denseProblem(squares [][]float64) linear.DenseProblem {
	nodes := 0
	for _, in := range l.problem.Data {
		nodes += in.Graph.NumNodes()
	}
	return linear.DenseProblem{
		Model: l.model, L2: l.problem.L2, Data: l.data, Convex: l.convex, Each: l.each, Nodes: nodes,
		PerPass: l.perPass(), PassWork: l.passWork(), Response: l.response, Squares: squares, Sample: l.newSample,
		In: l.units[0].in,
	}
}

// newSample draws from the blocks of this process, in the order of their parts.
func (l *learner) newSample() *linear.Sample {
	type owned struct {
		part int32
		linear.SampleBlock
	}
	var all []owned
	for at, part := range l.part {
		u, block := l.jobAt(at)
		if !u.isFree() || !l.ranks.Owns(part) {
			continue
		}
		all = append(all, owned{part, linear.SampleBlock{
			Unit: u.linear(), Block: &u.partition.Blocks[block], Number: uint64(at + 1),
			NodeCurvature: u.nodeCurvature, EdgeCurvature: u.edgeCurvature,
		}})
	}
	slices.SortStableFunc(all, func(a, b owned) int { return cmp.Compare(a.part, b.part) })
	blocks := make([]linear.SampleBlock, len(all))
	for i := range all {
		blocks[i] = all[i].SampleBlock
	}
	return linear.NewSample(l.model, blocks, l.ranks, l.each, l.settings.Threads)
}

// linear is a unit as linear systems know it.
func (u *unit) linear() linear.Unit {
	return linear.Unit{In: u.in, Net: u.net, State: u.state, Weight: u.weight}
}

// newResponse returns nil where that takes too much.
func (l *learner) newResponse() *linear.Response {
	if l.model.Layout.Size > linear.MaxDense {
		return nil
	}
	var units []linear.Unit
	for _, u := range l.units {
		units = append(units, u.linear())
	}
	return linear.NewResponse(l.model, units, l.passWork())
}

// each calls do for all i < n, on all threads where there are any yet.
func (l *learner) each(n int, do func(worker, i int)) {
	if l.pool != nil {
		l.pool.Run(visit{task: do}, n)
		return
	}
	parallel.Serially(n, do)
}
