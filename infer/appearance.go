package infer

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/spanning"
	"github.com/blockbp/blockbp/mrf"
)

// The steps of optimizeAppearance.
const (
	// longestStep is the first fraction of the way to a new forest that is tried.
	longestStep = 0.5
	// shortestStep ends the search along one direction.
	shortestStep = 1.0 / 256
	// searchTolerance is the residual at which two bounds are compared. The bound
	// holds at any messages and is flat near the best ones, so that its error is of
	// second order.
	searchTolerance = 1e-5
	// keptWeight is that of the starting appearances in a target, so that no
	// appearance vanishes: potentials are divided by them.
	keptWeight = 0.1
	// flatSlope, as a share of 1 + |bound|, is not worth a step.
	flatSlope = 1e-7
)

// optimizeAppearance lowers the tree-reweighted bound on log Z by moving the edge
// appearances μ (Wainwright, Jaakkola and Willsky 2005). The bound B is convex in μ,
// and its derivative is
//
//	∂B/∂μ_e = −I_e,
//
// I_e the mutual information of the belief of edge e. So a step goes towards the
// spanning forest of largest Σ I_e (conditional gradient), as far as it lowers the
// bound. counting are the numbers to begin with, with their Forests. At most the
// given number of steps are made; the last inference is by limits. The answer is an
// upper bound like that with counting itself, and not above it but for the tolerance
// of the limits. p and errors are as in propagate.
func optimizeAppearance(ctx context.Context, p *mrf.Pairwise, counting *counting.Numbers, limits Limits, most int) (*fixedPoint, error) {
	search := limits
	search.Tolerance = max(limits.resolved().Tolerance, searchTolerance)
	best, err := propagate(ctx, p, counting, search, nil)
	if err != nil {
		return nil, err
	}
	steps := 0
	for longest := longestStep; steps < most && ctx.Err() == nil; steps++ {
		information, err := best.mutualInformation()
		if err != nil {
			return nil, err
		}
		forest := spanning.Maximum(p.Graph, information)
		if best.slope(information, forest) <= flatSlope*(1+math.Abs(best.LogZ)) {
			break
		}
		next, fraction, err := best.stepTowards(ctx, counting, forest, search, longest)
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		best, longest = next, min(longestStep, 2*fraction)
	}
	if best, err = propagate(ctx, p, best.Counting, limits, best.scaledTo(best.Counting)); err != nil {
		return nil, err
	}
	best.AppearanceSteps = steps
	return best, nil
}

// mutualInformation returns I_e of the belief of every edge.
func (r *fixedPoint) mutualInformation() ([]float64, error) {
	edges, err := r.edgeMarginals()
	if err != nil {
		return nil, err
	}
	information := make([]float64, len(edges))
	for e, joint := range edges {
		columns := int(r.network.Card[r.network.Graph.V(int32(e))])
		information[e] = mutualInformation(joint, columns)
	}
	return information, nil
}

// mutualInformation returns Σ p_ij log p_ij / (p_i p_j) of a joint distribution,
// row-major.
func mutualInformation(joint []float64, columns int) float64 {
	row, column := make([]float64, len(joint)/columns), make([]float64, columns)
	for i, p := range joint {
		row[i/columns] += p
		column[i%columns] += p
	}
	sum := 0.0
	for i, p := range joint {
		if p > 0 {
			sum += p * math.Log(p/(row[i/columns]*column[i%columns]))
		}
	}
	return max(0, sum)
}

// slope returns by how much the bound would fall at first on the way to a forest.
func (r *fixedPoint) slope(information []float64, forest []int32) float64 {
	slope := 0.0
	for _, e := range forest {
		slope += information[e]
	}
	for e, mu := range r.Counting.Edge {
		slope -= mu * information[e]
	}
	return slope
}

// stepTowards tries shorter and shorter steps towards a forest, with a little of
// the start, until one lowers the bound. It returns nil if none does.
func (r *fixedPoint) stepTowards(ctx context.Context, start *counting.Numbers, forest []int32, limits Limits, step float64) (lower *fixedPoint, fraction float64, err error) {
	forests := append(append([][]int32(nil), r.Counting.Forests...), forest)
	for fraction = step; fraction >= shortestStep && ctx.Err() == nil; fraction /= 2 {
		weights := make([]float64, len(forests))
		for i := range r.Counting.Forests {
			weights[i] = (1 - fraction) * r.Counting.ForestWeights[i]
		}
		for i := range start.Forests { // they come first
			weights[i] += fraction * keptWeight * start.ForestWeights[i]
		}
		weights[len(forests)-1] = fraction * (1 - keptWeight)
		counting, err := weightedForests(r.network.Graph, forests, weights)
		if err != nil {
			return nil, 0, err
		}
		next, err := propagate(ctx, r.network, counting, limits, r.scaledTo(counting))
		if err != nil {
			return nil, 0, err
		}
		if next.LogZ < r.LogZ {
			return next, fraction, nil
		}
	}
	return nil, 0, nil
}

// weightedForests returns the tree-reweighted numbers whose edge appearances are the
// weighted average of spanning forests, and keeps these.
func weightedForests(g *graph.Graph, forests [][]int32, weights []float64) (*counting.Numbers, error) {
	appearance := make([]float64, g.NumEdges())
	for i, forest := range forests {
		for _, e := range forest {
			appearance[e] += weights[i]
		}
	}
	c, err := counting.TreeReweighted(g, appearance)
	if err != nil {
		return nil, err
	}
	c.Forests, c.ForestWeights = forests, weights
	return c, nil
}

// scaledTo starts from the messages λ and beliefs of r: states hold λ/ρ, and ρ may
// have changed.
func (r *fixedPoint) scaledTo(counting *counting.Numbers) func(*bp.State) {
	return func(st *bp.State) {
		copy(st.LogBelief, r.state.LogBelief)
		at := 0
		for d := range int32(2 * r.network.Graph.NumEdges()) {
			scale := r.Counting.Edge[d>>1] / counting.Edge[d>>1]
			for range r.network.Card[r.network.Graph.Target(d)] {
				st.LogMessage[at] = scale * r.state.LogMessage[at]
				at++
			}
		}
	}
}
