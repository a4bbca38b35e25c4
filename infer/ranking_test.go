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
		r.add(b, map[bool]int{true: 1}[in[i]])
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
				r.add(b, map[bool]int{true: 1}[in[i]])
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
	const nodes = 6 * mostRanked
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
			exact.nodes = append(exact.nodes, ranked{beliefs[i], int(one)})
		}
		wantAUC, wantPrecision := exact.measures()
		r := rankingOf(beliefs, in)
		auc, precision := r.measures()
		if len(r.nodes) > 0 || len(r.rounded) > mostRanked {
			t.Errorf("%d nodes, and %d rounded beliefs", len(r.nodes), len(r.rounded))
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

// TestPlaces: places are in the order of beliefs, and odds of one place differ by 0.1 % at most, or are hardly any.
func TestPlaces(t *testing.T) {
	rng := source(7)
	beliefs := []float64{0, 1e-300, 0.5, 1}
	for range 100000 {
		beliefs = append(beliefs, 1/(1+math.Exp(30*rng.NormFloat64())))
	}
	slices.Sort(beliefs)
	for i, b := range beliefs[1:] {
		before, here, least := place(beliefs[i]), place(b), min(b, 1-b)
		if before < 0 || here < before || here > 2*evenOdds {
			t.Fatalf("%v is at %d after %v at %d", b, here, beliefs[i], before)
		}
		if here == before && least > 1e-12 && b-beliefs[i] > least/(1<<coarseBits-1) {
			t.Fatalf("%v and %v are both at %d", beliefs[i], b, here)
		}
	}
}
