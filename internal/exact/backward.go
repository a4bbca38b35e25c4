package exact

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// backward passes separator marginals from the roots to the leaves and fills the answer's marginals.
func (r *run) backward(answer *Answer) error {
	if !r.dry {
		answer.Marginals = numeric.Map(r.plan.network.Card, func(card int) []float64 { return make([]float64, card) })
	}
	for i := len(r.plan.buckets) - 1; i >= 0; i-- {
		b := &r.plan.buckets[i]
		if b.parent == noParent {
			r.weights[i] = r.take(b.entries)
			numeric.Fill(r.weights[i].entries, 1)
			r.toWeight(i)
		}
		for _, c := range b.children {
			r.weights[c] = r.take(r.plan.buckets[c].entries)
			clear(r.weights[c].entries)
		}
		if !r.dry {
			if err := r.distribute(i, answer); err != nil {
				return err
			}
		}
		for _, c := range b.children {
			r.toWeight(int(c))
		}
		r.give(&r.weights[i])
	}
	return nil
}

// toWeight turns P_i into P_i / m_i, in the form in which bucket i computes, and gives m_i back. Where m_i is zero
// the bucket's table is as well, and the weight does not matter.
func (r *run) toWeight(i int) {
	w, m, way := &r.weights[i], &r.messages[i], r.ways[i]
	scale := math.Exp(-way.logScale)
	for k, p := range w.entries {
		switch {
		case way.logarithmic:
			w.entries[k] = math.Inf(-1)
			if p > 0 {
				w.entries[k] = numeric.Log(p) - m.logEntry(k) - way.logScale
			}
		case p == 0:
		case m.logarithmic:
			w.entries[k] = p * math.Exp(-m.entries[k]) * scale
		default:
			w.entries[k] = p / m.entries[k] * scale
		}
	}
	r.give(m)
}

// distribute computes P(x_i, S_i) block by block and adds it up into the marginal of i and P_c of all children.
func (r *run) distribute(i int, answer *Answer) error {
	b := &r.plan.buckets[i]
	inputs, scopes := r.inputs(i)
	loop, product := r.multiply(i, append(inputs, &r.weights[i]), append(scopes, b.scope[1:]))
	sums := numeric.Map(b.children, func(c int32) *view {
		return loop.addView(b, r.plan.buckets[c].scope[1:], r.weights[c].entries)
	})
	var joint [][]float64 // [groups of the bucket]
	if answer.Factors != nil {
		for g := range b.groups {
			joint = append(joint, make([]float64, b.groups[g].entries))
			sums = append(sums, loop.addView(b, b.groups[g].scope, joint[g]))
		}
	}
	marginal, block := answer.Marginals[r.plan.order[i]], r.scratch(0, loop.block)
	err := r.eachBlock(loop, func() {
		for own := range loop.own {
			if !product.probability(block, own, r.ways[i].logarithmic) {
				continue
			}
			sum := numeric.Sum(block)
			marginal[own] += sum
			for _, v := range sums {
				v.scatter(block, own, sum)
			}
		}
	})
	if err != nil {
		return err
	}
	normalize(marginal)
	for g := range joint {
		normalize(joint[g])
		r.plan.spread(answer.Factors, &b.groups[g], joint[g])
	}
	r.groups[i] = nil
	return nil
}

// spread adds the distribution of a group's joint state up into those of its factors.
func (p *Plan) spread(factors [][]float64, g *group, joint []float64) {
	for _, f := range g.factors {
		dst := factors[f]
		p.eachEntry(g, &p.network.Factors[f], func(inGroup, inFactor int) { dst[inFactor] += joint[inGroup] })
	}
}

// normalize divides values by their sum.
func normalize(values []float64) {
	sum := numeric.Sum(values)
	for i := range values {
		values[i] /= sum
	}
}
