package learn

import (
	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/partition"
)

// Chains are visited node after node: of one sentence there is nothing to be done at the same
// time. So many small forests become one network, of which the first nodes are visited
// together, then the second ones. The objective (8) is the same, as log Z of a network is the
// sum over its components where counting numbers are exact, and so are objectives of local terms.

// joinedNodes is how many nodes networks are joined up to: as many as are sorted into runs together.
const joinedNodes = partition.WindowNodes

// joined returns the problem with small forests joined, or the problem itself where there is
// nothing to join. Small models stay as they are: the exact Hessian takes each network by itself.
func (p *Problem) joined(s *Settings) *Problem {
	whole := s.Method != BBPL || s.Assign == nil && s.Cut.Blocks == 1
	if !whole || s.Method == Truncated || p.ClassWeights != nil || len(p.Data) < 2 || s.ProofFile != "" ||
		p.Model.Layout.Size <= linear.MaxDense || p.Model.Layout.UntiedSize > 0 {
		return p
	}
	exact := map[*graph.Graph]bool{}
	isExact := func(g *graph.Graph) bool {
		if s.Method.Local() {
			return g.IsForest()
		}
		if _, known := exact[g]; !known {
			exact[g] = p.isExact(g)
		}
		return exact[g]
	}
	result := *p
	if result.Data, result.apart = instances.JoinAll(p.Data, joinedNodes, isExact), p; len(result.Data) == len(p.Data) {
		return p
	}
	return &result
}

// isExact reports whether the counting numbers of a graph make F the free energy.
func (p *Problem) isExact(g *graph.Graph) bool {
	numbers, err := p.Counting.Of(g)
	return err == nil && numbers.Facts.Bound == counting.Exact
}

// given is the problem as Fit was given it.
func (p *Problem) given() *Problem {
	if p.apart != nil {
		return p.apart
	}
	return p
}
