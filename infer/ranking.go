package infer

import (
	"maps"
	"math"
	"slices"
)

// ranking ranks nodes by their belief in one class, to say how well the belief tells the
// nodes of the class from the others, whatever the threshold.
type ranking struct {
	// counts has, by belief, how many nodes are not of the class, and how many are.
	counts map[float64][2]int64
	// coarse says that beliefs are rounded: there are more different ones than mostBeliefs.
	coarse bool
}

// mostBeliefs bounds the memory of a ranking, to some 6 MiB.
const mostBeliefs = 1 << 17

// coarseBits is to how many binary digits odds are rounded where there are too many different ones: by 0.1 %, which no
// ranking that people look at can show. Odds below 2^−leastOdds are 0; those above 2^53 are no numbers beside 1 anyway.
const (
	coarseBits = 10
	leastOdds  = 64
	_          = uint(mostBeliefs - (leastOdds+53)<<coarseBits) // so many there are at most: it is not negative
)

// coarse rounds a belief, or what is left of one, the smaller of the two.
func coarse(belief float64) float64 {
	round := func(x float64) float64 {
		if x < 1.0/(1<<leastOdds) {
			return 0
		}
		return math.Float64frombits(math.Float64bits(x) &^ (1<<(52-coarseBits) - 1))
	}
	if belief > 0.5 {
		return 1 - round(1-belief)
	}
	return round(belief)
}

// add counts a node.
func (r *ranking) add(belief float64, in bool) {
	one := [2]int64{1, 0}
	if in {
		one = [2]int64{0, 1}
	}
	if r.count(belief, one); len(r.counts) > mostBeliefs && !r.coarse {
		fine := r.counts
		r.counts, r.coarse = nil, true
		for belief, n := range fine {
			r.count(belief, n)
		}
	}
}

func (r *ranking) count(belief float64, more [2]int64) {
	if r.coarse {
		belief = coarse(belief)
	}
	if r.counts == nil {
		r.counts = map[float64][2]int64{}
	}
	n := r.counts[belief]
	r.counts[belief] = [2]int64{n[0] + more[0], n[1] + more[1]}
}

// measures returns the area under the ROC curve, which is the share of the pairs of a node in the class and one
// outside in which the former has the larger belief, ties counting half, and the average precision Σ_t (R_t −
// R_{t−1}) P_t over the thresholds from the largest belief down, R and P being recall and precision of the nodes from
// there up. Both are NaN where all nodes are in the class, or none is.
func (r *ranking) measures() (rocAUC, averagePrecision float64) {
	above, all := 0.0, 0.0 // nodes of the class, and all, with a larger belief
	for _, belief := range slices.Backward(slices.Sorted(maps.Keys(r.counts))) {
		miss, hit := float64(r.counts[belief][0]), float64(r.counts[belief][1])
		rocAUC += miss * (above + hit/2)
		if above, all = above+hit, all+hit+miss; hit > 0 {
			averagePrecision += hit * above / all
		}
	}
	if above == all {
		return math.NaN(), math.NaN()
	}
	return rocAUC / (above * (all - above)), averagePrecision / above
}
