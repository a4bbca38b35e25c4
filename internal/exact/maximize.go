package exact

import (
	"context"
	"fmt"
	"math"
)

// Maximize finds a most probable joint state, of several always the same, by the same
// elimination as Run, with the largest instead of the sum (max-product dynamic programming):
//
//	m_i(S_i) = max_{x_i} { θ_i(x_i, S_i) + Σ_{children c} m_c }
//
// in logarithms, and a walk back from the roots along the states that were best.
// Of a message only these are kept until then.
//
// A *TooWideError is returned, before any table is allocated, if the forecast exceeds the limit, ErrZero if every
// joint state has probability zero, and an error if the score overflows. After ctx is cancelled its error is returned
// within milliseconds.
func (p *Plan) Maximize(ctx context.Context) (*Result, error) {
	r, err := p.begin(ctx, p.MaximumBytes)
	if err != nil {
		return nil, err
	}
	choices, err := r.maximize()
	if err != nil {
		return nil, err
	}
	best := &Result{States: p.traceBack(choices), Optimal: true, Converged: true}
	best.Energy = -p.network.LogScore(best.States)
	best.LowerBound = best.Energy
	switch {
	case math.IsInf(best.Energy, 1):
		return nil, ErrZero
	case math.IsInf(best.Energy, 0) || math.IsNaN(best.Energy):
		return nil, fmt.Errorf("exact: the largest score is computed as %v: potentials are too large to be added up; "+
			"subtract a constant from each table", -best.Energy)
	}
	return best, nil
}

// bytesPerState is the size of a state that was best.
const bytesPerState = 4

// maximize computes all messages from the leaves to the roots and returns the
// best state of each bucket's own variable for every state of its separator.
func (r *run) maximize() (all [][]int32, err error) {
	all = make([][]int32, len(r.plan.buckets))
	return all, r.eliminate(false, func(i int) error {
		all[i] = make([]int32, r.plan.buckets[i].entries)
		return r.maximizeMessage(i, all[i])
	})
}

// maximizeMessage fills r.messages[i] and chosen.
func (r *run) maximizeMessage(i int, chosen []int32) error {
	b := &r.plan.buckets[i]
	for g := range b.groups {
		r.groups[i] = append(r.groups[i], r.plan.logGroup(&b.groups[g]))
	}
	inputs, scopes := r.inputs(i)
	loop, product := r.multiply(i, inputs, scopes)
	message := loop.addView(b, b.scope[1:], r.messages[i].entries)
	block := r.scratch(0, loop.block)
	return r.eachBlock(loop, func() {
		best, state := message.block(0), chosen[message.base:]
		for k := range best {
			best[k], state[k] = math.Inf(-1), 0
		}
		for own := range loop.own {
			if product.log(block, own) {
				keepLarger(best, state, block, int32(own))
			}
		}
	})
}

// keepLarger takes over the values that are larger than the best so far, and notes the state that they belong to.
func keepLarger(best []float64, state []int32, values []float64, own int32) {
	best, state = best[:len(values)], state[:len(values)]
	for k, v := range values {
		if v > best[k] {
			best[k], state[k] = v, own
		}
	}
}

// traceBack sets the variables from the roots to the leaves.
func (p *Plan) traceBack(chosen [][]int32) []int {
	states := make([]int, len(p.order))
	for i := len(p.buckets) - 1; i >= 0; i-- {
		b, entry := &p.buckets[i], 0
		for j, position := range b.scope[1:] {
			entry = entry*b.card[j+1] + states[p.order[position]]
		}
		states[p.order[i]] = int(chosen[i][entry])
	}
	return states
}
