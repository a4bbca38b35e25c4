package job

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// classWeights reads Options.ClassWeights as learn.Problem wants them, [node type][state].
func classWeights(o *Options, types []crf.NodeType, data []*crf.Instance) ([][]float64, error) {
	spec := o.ClassWeights
	switch spec {
	case "":
		return nil, nil
	case "balanced":
		return balancedWeights(types, data), nil
	}
	return stateNumbers("class-weights", spec, types, "want balanced, or STATE=WEIGHT,… with positive weights",
		func(x float64) bool { return x > 0 })
}

// stateNumbers reads STATE=NUMBER,… or, of names that have commas in them, a JSON object, as [node type][state], with
// 1 for states that are not named.
func stateNumbers(field, spec string, types []crf.NodeType, want string, valid func(float64) bool) ([][]float64,
	error) {
	given := map[string]float64{}
	if strings.HasPrefix(spec, "{") {
		if err := fileio.JSON([]byte(spec), &given); err != nil {
			return nil, usagef("{%s} %q: %v", field, spec, err)
		}
	} else {
		for part := range strings.SplitSeq(spec, ",") {
			name, text, ok := strings.Cut(part, "=")
			number, err := numeric.ParseDecimal(text)
			if !ok || err != nil {
				return nil, usagef("{%s} %q: %s, not %q", field, spec, want, part)
			}
			if _, twice := given[name]; twice {
				return nil, usagef("{%s} %q: state %q is there twice, want it once", field, spec, name)
			}
			given[name] = number
		}
	}
	var known []string
	numbers := make([][]float64, len(types))
	for a, t := range types {
		for _, state := range t.States {
			if !slices.Contains(known, state) {
				known = append(known, state)
			}
			number, ok := given[state]
			if !ok {
				number = 1
			}
			numbers[a] = append(numbers[a], number)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return nil, usagef("{%s} %q: there is no state %q; %s", field, spec, name, option.Suggestion(name, known, ""))
		}
		if x := given[name]; !valid(x) || math.IsInf(x, 0) {
			return nil, usagef("{%s} %q: %s, not %v for %q", field, spec, want, x, name)
		}
	}
	return numbers, nil
}

// balancedWeights returns n/(K n_c): every state that occurs has the same weight in
// all, and the mean over the labels is one. States without labels get 1.
func balancedWeights(types []crf.NodeType, data []*crf.Instance) [][]float64 {
	known, weights := labelsOf(types, data), make([][]float64, len(types))
	for a, t := range types {
		weights[a] = numeric.Map(known.ofStates(a, t), func(n int) float64 { return float64(n) })
	}
	for _, counts := range weights {
		total, occurring := 0.0, 0.0
		for _, n := range counts {
			total += n
			if n > 0 {
				occurring++
			}
		}
		for i, n := range counts {
			counts[i] = 1
			if n > 0 {
				counts[i] = total / (occurring * n)
			}
		}
	}
	return weights
}

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
