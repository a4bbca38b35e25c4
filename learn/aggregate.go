package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/simd"
)

// aggregate is the aggregated gradient: the sum of all contributions, with what labels take from it.
type aggregate struct {
	shape     *contributionLayout
	layout    *crf.Layout
	total     []float64 // [weights] (1/N) Σ M τ, of nodes and edges, cut and untied ones too
	moments   []float64 // sums of the beliefs of tied types, the term of F, and Σ c H(τ)
	gradient  []float64 // [weights]
	data      []float64 // [weights] M w̄, with the observed parts of partly observed samples
	reference []float64 // [weights] Σ M w(y) of the labellings of the upper bound; it may be data
	magnitude float64   // norm of M w̄, as if hidden labels were state 0
}

func (a *aggregate) allocate() {
	a.total, a.gradient = make([]float64, a.layout.Size), make([]float64, a.layout.Size)
	a.moments = make([]float64, a.shape.stride-a.layout.TiedSize)
}

// add adds the change of a contribution.
func (a *aggregate) add(change []float64) {
	for _, span := range a.shape.tied {
		simd.AddScaled(a.total[span.At:][:span.Len], change[span.Part:][:span.Len], 1)
	}
	simd.AddScaled(a.moments, change[a.layout.TiedSize:], 1)
}

// addUntied adds what the untied beliefs of units in a block have changed by: next has them in the order of eachUntied.
func (a *aggregate) addUntied(next []float64, units []*unit, block int) {
	for _, u := range units {
		u.eachUntied(a.layout, block, func(span *crf.Span, row int) {
			at, n := row*span.Copy(), span.Copy()
			total, old := a.total[span.At+at:][:n], u.untied[span.Part+at:]
			for j, x := range next[:n] {
				total[j] += u.weight * (x - old[j])
				old[j] = x
			}
			next = next[n:]
		})
	}
}

// bound is the sum of what contributions have of F, in which the regulariser and products with labels are missing.
func (a *aggregate) bound() float64 { return a.moments[len(a.moments)-2] }

// entropy is Σ c H(τ) of all contributions.
func (a *aggregate) entropy() float64 { return a.moments[len(a.moments)-1] }

// estimate computes the aggregated gradient at weights, and returns the saddle value (Event.Objective) and the norm of
// the gradient.
func (a *aggregate) estimate(theta []float64, l2 float64) (objective, norm float64) {
	product, square := 0.0, 0.0
	for i, x := range theta {
		d := a.total[i] - a.data[i]
		product += x * d
		square += x * x
		g := d + l2*x
		a.gradient[i] = g
		norm += g * g
	}
	return product + a.entropy() + l2/2*square, math.Sqrt(norm)
}

// meanBeliefs writes the mean belief of every type: uniform for untied types and for types without elements.
func (a *aggregate) meanBeliefs(dst []float64) {
	moments := slices.Concat(a.shape.nodeMoment, a.shape.edgeMoment)
	for t, span := range allSpans(a.layout) {
		mean, total := dst[:span.States], 0.0
		dst = dst[span.States:]
		for i := range mean {
			mean[i] = 0
			if moments[t] >= 0 {
				mean[i] = max(a.moments[moments[t]-a.layout.TiedSize+i], 0)
			}
			total += mean[i]
		}
		for i := range mean {
			mean[i] /= total
			if !(total > 0) {
				mean[i] = 1 / float64(span.States)
			}
		}
		span.Symmetrise(mean)
	}
}
