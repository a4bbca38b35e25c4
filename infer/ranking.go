package infer

import (
	"cmp"
	"math"
	"slices"
)

// ranking ranks nodes by their belief in one class, to say how well the belief tells the
// nodes of the class from the others, whatever the threshold.
type ranking struct {
	// counts has the nodes of each belief. The first settled of them are sorted by it, with no belief twice.
	counts  []ranked
	settled int
	// coarse says that beliefs are rounded: there are more different ones than mostBeliefs.
	coarse bool
}

// ranked counts the nodes with a belief: those of the class, and the others.
type ranked struct {
	belief  float64
	in, out int64
}

// mostBeliefs bounds the memory of a ranking, at 6 MiB. Beliefs have coarseBeliefs values after rounding, less than
// half of it, so that room is made at a cost of O(log n) for a node.
const mostBeliefs = 1 << 18

// coarseBits is to how many binary digits odds are rounded where there are too many different
// ones: by 0.1 %, which no ranking that people look at can show. Odds below 2^−leastOdds
// are 0; those above 2^53 are no numbers beside 1 anyway.
const (
	coarseBits    = 10
	leastOdds     = 64
	coarseBeliefs = (leastOdds + 53) << coarseBits
)

const _ = uint(mostBeliefs/2 - coarseBeliefs) // it is not negative

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
	if r.coarse {
		belief = coarse(belief)
	}
	t := ranked{belief: belief, out: 1}
	if in {
		t.in, t.out = 1, 0
	}
	r.counts = append(r.counts, t)
	if len(r.counts) < mostBeliefs {
		return
	}
	r.settle()
	if len(r.counts) > mostBeliefs/2 && !r.coarse {
		r.coarse, r.settled = true, 0
		for i := range r.counts {
			r.counts[i].belief = coarse(r.counts[i].belief)
		}
		r.settle()
	}
}

// settle sorts the counts and adds up those of equal beliefs.
func (r *ranking) settle() {
	if r.settled == len(r.counts) {
		return
	}
	slices.SortFunc(r.counts, func(a, b ranked) int { return cmp.Compare(a.belief, b.belief) })
	kept := r.counts[:0]
	for _, t := range r.counts {
		if last := len(kept) - 1; last >= 0 && kept[last].belief == t.belief {
			kept[last].in += t.in
			kept[last].out += t.out
			continue
		}
		kept = append(kept, t)
	}
	r.counts, r.settled = kept, len(kept)
}

// measures returns the area under the ROC curve, which is the share of the pairs of a node in the class and one
// outside in which the former has the larger belief, ties counting half, and the average precision Σ_t (R_t −
// R_{t−1}) P_t over the thresholds from the largest belief down, R and P being recall and precision of the nodes from
// there up. Both are NaN where all nodes are in the class, or none is.
func (r *ranking) measures() (rocAUC, averagePrecision float64) {
	r.settle()
	var in, out float64
	for _, t := range r.counts {
		in += float64(t.in)
		out += float64(t.out)
	}
	if in == 0 || out == 0 {
		return math.NaN(), math.NaN()
	}
	above, all := 0.0, 0.0 // nodes of the class, and all, with a larger belief
	for _, t := range slices.Backward(r.counts) {
		hit, miss := float64(t.in), float64(t.out)
		rocAUC += miss * (above + hit/2)
		above += hit
		all += hit + miss
		averagePrecision += hit * above / all
	}
	return rocAUC / (in * out), averagePrecision / in
}
