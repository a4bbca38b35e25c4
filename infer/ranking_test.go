package infer

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// pairsAUC is the area under the ROC curve by its meaning: over all pairs.
func pairsAUC(beliefs []float64, in []bool) float64 {
	won, pairs := 0.0, 0.0
	for i := range beliefs {
		for j := range beliefs {
			if !in[i] || in[j] {
				continue
			}
			pairs++
			switch {
			case beliefs[i] > beliefs[j]:
				won++
			case beliefs[i] == beliefs[j]:
				won += 0.5
			}
		}
	}
	return won / pairs
}

// stepsPrecision is the average precision by its definition, threshold after threshold.
func stepsPrecision(beliefs []float64, in []bool) (sum float64) {
	thresholds := slices.Compact(slices.Sorted(slices.Values(beliefs)))
	slices.Reverse(thresholds)
	before := 0.0
	for _, t := range thresholds {
		hit, found, all := 0.0, 0.0, 0.0
		for i, b := range beliefs {
			if in[i] {
				all++
			}
			if b >= t {
				found++
				if in[i] {
					hit++
				}
			}
		}
		sum += (hit/all - before) * hit / found
		before = hit / all
	}
	return sum
}

func rankingOf(beliefs []float64, in []bool) *ranking {
	r := &ranking{}
	for i, b := range beliefs {
		r.add(b, in[i])
	}
	return r
}

// TestRankingByDefinition: both measures are those of their definitions, with ties, in any
// order, and asked for on the way.
func TestRankingByDefinition(t *testing.T) {
	rng := source(5)
	for _, levels := range []int{1, 2, 5, 1000} {
		for _, share := range []float64{0.02, 0.5, 0.9} {
			var beliefs []float64
			var in []bool
			for len(beliefs) < 200 {
				beliefs = append(beliefs, float64(rng.IntN(levels))/float64(levels))
				in = append(in, len(in) > 1 && rng.Float64() < share || len(in) == 1)
			}
			r := &ranking{}
			for i, b := range beliefs {
				r.add(b, in[i])
				if i%50 == 0 {
					r.measures()
				}
			}
			auc, precision := r.measures()
			oracle.Near(t, auc, pairsAUC(beliefs, in), 1e-12, "%d levels, %v in the class: area", levels, share)
			oracle.Near(t, precision, stepsPrecision(beliefs, in), 1e-12,
				"%d levels, %v in the class: average precision", levels, share)
		}
	}
}

// TestRankingOfMany: where beliefs are rounded, the memory is bounded and the measures stay
// as they are, whatever the order; also of a rare class.
func TestRankingOfMany(t *testing.T) {
	oracle.Long(t)
	rng := source(6)
	const nodes = 6 * mostBeliefs
	for _, rate := range []float64{0.5, 0.001} {
		beliefs, in, exact := make([]float64, nodes), make([]bool, nodes), &ranking{}
		for i := range beliefs {
			in[i] = rng.Float64() < rate
			one := 0.0
			if in[i] {
				one = 1
			}
			logit := 3*rng.NormFloat64() + 4*one
			beliefs[i] = 1 / (1 + math.Exp(-logit))
			exact.count(beliefs[i], [2]int64{1 - int64(one), int64(one)})
		}
		wantAUC, wantPrecision := exact.measures()
		r := rankingOf(beliefs, in)
		auc, precision := r.measures()
		if !r.coarse || len(r.counts) > mostBeliefs {
			t.Errorf("%d beliefs, rounded %v", len(r.counts), r.coarse)
		}
		if math.Abs(auc-wantAUC) > 1e-5 || math.Abs(precision-wantPrecision) > 1e-3*wantPrecision {
			t.Errorf("rate %v: area %v, want %v; average precision %v, want %v", rate, auc, wantAUC, precision, wantPrecision)
		}
		slices.Reverse(beliefs)
		slices.Reverse(in)
		if back, backPrecision := rankingOf(beliefs, in).measures(); back != auc || backPrecision != precision {
			t.Errorf("in another order: %v and %v, were %v and %v", back, backPrecision, auc, precision)
		}
	}
}

// TestCoarse: rounding keeps the order, and changes odds by 0.1 % at most.
func TestCoarse(t *testing.T) {
	rng := source(7)
	var beliefs []float64
	for range 100000 {
		beliefs = append(beliefs, 1/(1+math.Exp(30*rng.NormFloat64())))
	}
	slices.Sort(beliefs)
	for i, b := range beliefs {
		rounded := coarse(b)
		if coarse(rounded) != rounded || i > 0 && rounded < coarse(beliefs[i-1]) {
			t.Fatalf("%v is rounded to %v after %v to %v", b, rounded, beliefs[i-1], coarse(beliefs[i-1]))
		}
		least := min(b, 1-b)
		if least > 1e-12 && math.Abs(b-rounded) > least/(1<<coarseBits) {
			t.Fatalf("%v is rounded to %v", b, rounded)
		}
	}
}
