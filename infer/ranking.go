package infer

import (
	"cmp"
	"math"
	"slices"
)

// ranking ranks nodes by their belief in one class, to say how well the belief tells the
// nodes of the class from the others, whatever the threshold.
type ranking struct {
	nodes []ranked
	// rounded says of each place how many nodes there are not of the class, and how many are, the least beliefs first;
	// nil where there have never been more than mostRanked.
	rounded [][2]int64
}

// ranked is a node; of is 1 if it is of the class, or else 0.
type ranked struct {
	belief float64
	of     int
}

// mostRanked bounds the memory of a ranking, to some 4 MiB.
const mostRanked = 1 << 17

// coarseBits is to how many binary digits odds are rounded where there are too many nodes: by 0.1 %, which no
// ranking that people look at can show. Odds below 2^−leastOdds are 0; those above 2^53 are no numbers beside 1 anyway.
// evenOdds is the place among them of a belief of a half.
const (
	coarseBits = 10
	leastOdds  = 64
	evenOdds   = (leastOdds-1)<<coarseBits + 1
)

// place is where a belief lies in ranking.rounded, by the odds of the less likely side.
func place(belief float64) (i int) {
	bits := func(x float64) int { return int(math.Float64bits(x) >> (52 - coarseBits)) }
	if odds := min(belief, 1-belief); odds >= 1.0/(1<<leastOdds) {
		i = evenOdds + bits(odds) - bits(0.5)
	}
	if belief > 0.5 {
		return 2*evenOdds - i
	}
	return i
}

// add counts a node.
func (r *ranking) add(belief float64, of int) {
	if r.rounded != nil {
		r.rounded[place(belief)][of]++
		return
	}
	if r.nodes = append(r.nodes, ranked{belief, of}); len(r.nodes) > mostRanked {
		r.rounded = make([][2]int64, 2*evenOdds+1)
		for _, n := range r.nodes {
			r.rounded[place(n.belief)][n.of]++
		}
		r.nodes = nil
	}
}

// counts returns how many nodes are not of the class, and how many are, of each belief, the least first.
func (r *ranking) counts() (counts [][2]int64) {
	if r.rounded != nil {
		return r.rounded
	}
	slices.SortFunc(r.nodes, func(a, b ranked) int { return cmp.Compare(a.belief, b.belief) })
	for i, n := range r.nodes {
		if i == 0 || n.belief != r.nodes[i-1].belief {
			counts = append(counts, [2]int64{})
		}
		counts[len(counts)-1][n.of]++
	}
	return counts
}

// measures returns the area under the ROC curve, which is the share of the pairs of a node in the class and one
// outside in which the former has the larger belief, ties counting half, and the average precision Σ_t (R_t −
// R_{t−1}) P_t over the thresholds from the largest belief down, R and P being recall and precision of the nodes from
// there up. Both are NaN where all nodes are in the class, or none is.
func (r *ranking) measures() (rocAUC, averagePrecision float64) {
	above, all := 0.0, 0.0 // nodes of the class, and all, with a larger belief
	for _, n := range slices.Backward(r.counts()) {
		miss, hit := float64(n[0]), float64(n[1])
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
