package job

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
)

// Costs say what it costs to miss a state. Labels are then those of the least expected cost
//
//	argmin_j Σ_{i≠j} τ_s(i) cost(i) = argmax_j τ_s(j) cost(j)
//
// under the beliefs τ_s of a node.
type Costs struct {
	of [][]float64 // [node type][state]
}

// ParseCosts reads costs for the states of a model: STATE=COST,…, what it costs to miss a
// state, 1 for those that are not named.
func ParseCosts(spec string, types []crf.NodeType) (*Costs, error) {
	of, err := stateNumbers("cost", spec, types, "want STATE=COST,… with costs of 0 or more",
		func(x float64) bool { return x >= 0 })
	return &Costs{of}, err
}

// decide labels every node with the state of least expected cost, the first of several. What
// is impossible is never chosen, however cheap: a state of belief 0.
func (c *Costs) decide(in *crf.Instance, b *infer.Beliefs) {
	for s := range b.Labels {
		most := math.Inf(-1)
		for j, p := range b.Of(s) {
			if x := p * c.of[in.NodeType(int32(s))][j]; p > 0 && x > most {
				b.Labels[s], most = int32(j), x
			}
		}
	}
}

// sum returns what labels cost, over what is counted (nil: all) and whose truth is known; node
// returns the node that a label is of.
func (c *Costs) sum(in *crf.Instance, node func(int) int, labels, truth []int32, count []bool) (total float64) {
	for s, y := range truth {
		if y != crf.Unobserved && (count == nil || count[s]) && labels[s] != y {
			total += c.of[in.NodeType(int32(node(s)))][y]
		}
	}
	return total
}
