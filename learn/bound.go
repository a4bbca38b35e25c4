package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// The upper bound of the objective that weights and messages lower together (docs/explanation/equations.md, section 8):
//
//	F(λ, θ̃) = (1/N) Σ_n [D(λ_n, θ_n) − ⟨θ_n, w_n⟩] + (l2/2)‖θ̃‖²  ≥  L(θ̃)
//
// The beliefs (4) and (6) of messages have c_s log τ_s = θ_s + Σ_v λ'_vs − c_s A_s and ρ log τ_uv = θ_uv − λ'_uv −
// λ'_vu − ρ log Z_uv. At the states y of any labelling the messages cancel when these are added up, so that
//
//	D(λ, θ) = ⟨θ, w(y)⟩ − Σ_s c_s log τ_s(y_s) − Σ_uv ρ_uv log τ_uv(y_u, y_v):
//
// a logarithm for each element in place of a sum over its states. With the labels of the
// only sample for y the products with θ cancel too: F is a sum of cross entropies. Node
// beliefs have to be those of the potentials of the moment, as after a sweep.
//
// A clamped unit, whose elements are those with a hidden label, has the value of its consistent beliefs where no c_s is
// negative (byConsistent), and else its dual value, found in the same way, with hidden labels taken for any. A free
// unit of a masked model has no such labelling that is known to be allowed. It has its free energy there: equal to D
// where its messages have settled, but with an error as large as theirs, not as their square.

// entropyAt and boundAt are where a contribution has its parts of Σ c H(τ), and of the
// bound: −Σ c log τ(y), or the free energy of units without labels.
func (l *learner) entropyAt() int { return l.stride - 1 }
func (l *learner) boundAt() int   { return l.stride - 2 }

// entropy is the sum of the former over all contributions.
func (l *learner) entropy() float64 { return l.moments[len(l.moments)-1] }

// referenceLabels returns the labelling y of an instance: the first sample without hidden labels, or else the first
// with its hidden labels taken for state 0, which does where nothing is forbidden; nil where there is none.
func referenceLabels(in *crf.Instance, masked bool) []int32 {
	samples := in.Samples()
	for _, labels := range samples {
		if !slices.Contains(labels, crf.Unobserved) {
			return labels
		}
	}
	if masked {
		return nil
	}
	return instances.WithoutHidden(samples[0])
}

// Where some c_s is negative that is no bound. A split (counting.Numbers.Split) adds something
// at each node, which the marginals of all its edges enter (internal/bp/value.go).

// splits reports whether the bound of a unit has a part of its split.
func (l *learner) splits(u *unit) bool {
	c := u.net.Counting
	return l.certified && !c.Facts.Dual && c.Split != nil && u.labels != nil
}

// splitAtOnce reports that this part is found as a block is visited, as it has all edges. Else it is found in another
// pass, when all blocks were visited.
func (l *learner) splitAtOnce(u *unit, block int) bool {
	return l.splits(u) && len(u.partition.Blocks[block].Nodes) == u.in.Graph.NumNodes()
}

// upperBound returns F where every block was visited at the weights of the moment, with
// consistent beliefs for the gradient.
func (l *learner) upperBound() (float64, error) {
	theta := l.model.Weights
	value := l.problem.L2/2*simd.Dot(theta, theta) + l.moments[len(l.moments)-2] // and the sum of the latter
	if &l.reference[0] != &l.data[0] {
		for i, x := range theta {
			value += x * (l.reference[i] - l.data[i])
		}
	}
	if len(l.splitOf) == 0 {
		return value, nil
	}
	clear(l.splitOf)
	for _, blocks := range l.whole {
		if _, err := l.visitBlocks(visit{kind: splitVisit, blocks: blocks}); err != nil {
			return 0, err
		}
	}
	for _, x := range l.splitOf { // in the order of blocks, whatever that of visits
		value += x
	}
	return value, nil
}

// splitRoom is how many numbers splitOf has: one for each job; 0 where no pass is for splits.
func (l *learner) splitRoom() int {
	if l.blocks == 1 || !slices.ContainsFunc(l.units, l.splits) {
		return 0
	}
	return l.blocks * l.perBlock()
}

// ownReference reports that the labellings are all there is of labels.
func (l *learner) ownReference() bool {
	return l.problem.Statistics == nil && !slices.ContainsFunc(l.units, func(u *unit) bool {
		return u.weight < 0 || u.labels == nil ||
			len(u.in.Samples()) > 1
	})
}

// crossNodes returns the part of nodes in the bound, given their free energy.
func (u *unit) crossNodes(nodes []int32, free float64) (sum float64) {
	if u.labels == nil {
		return free
	}
	for _, s := range nodes {
		if c := u.net.Counting.Node[s]; c != 0 {
			sum -= c * u.net.LogBelief(u.state, s, u.labels[s])
		}
	}
	return sum
}

// Beliefs below smallestBelief may have underflowed: their logarithms are found without them.
const smallestBelief = 1e-290

// crossEdges returns the part in the bound of the edges lo ≤ q < hi of the block, given their beliefs and free energy.
// It leaves each edge's part in w.logs, where there are labels. Without bounds it is 0.
func (w *worker) crossEdges(u *unit, block *partition.Block, lo, hi int, beliefs []float64,
	free float64) (sum float64, err error) {
	n := hi - lo
	w.logs = numeric.Resize(w.logs, n)
	if !w.visit.kind.bounds() {
		clear(w.logs)
		return 0, nil
	}
	if u.labels == nil {
		return free, nil
	}
	us, vs := u.in.Graph.Ends()
	states := len(beliefs) / n
	small := false
	of := func(i int, e int32) float64 {
		return beliefs[i*states:][int(u.labels[us[e]])*int(u.net.Card[vs[e]])+int(u.labels[vs[e]])]
	}
	for i, e := range block.Edges[lo:hi] {
		w.logs[i] = of(i, e)
		small = small || !(w.logs[i] >= smallestBelief)
	}
	simd.Log(w.logs, w.logs)
	for i, e := range block.Edges[lo:hi] {
		if small && !(of(i, e) >= smallestBelief) {
			if w.logs[i], err = w.space.LogPair(u.net, u.state, block, lo+i, u.labels[us[e]], u.labels[vs[e]]); err != nil {
				return 0, err
			}
		}
		w.logs[i] *= -u.net.Counting.Edge[e]
		sum += w.logs[i]
	}
	return sum, nil
}

// byConsistent reports a clamped unit whose value in F is the free energy of its consistent beliefs, at most
// B(clamped): subtracted from D(free) it leaves an upper bound of L, where the difference of two duals is none.
func (u *unit) byConsistent() bool { return u.labels == nil && u.weight < 0 }

// freeEnergies returns the sum of the free energies of edges at beliefs, and leaves them in w.logs.
func (w *worker) freeEnergies(u *unit, block *partition.Block, lo int, beliefs []float64) (sum float64) {
	states := len(beliefs) / len(w.logs)
	for i := range w.logs {
		w.logs[i] = w.space.PairFreeEnergy(beliefs[i*states:][:states], u.net, block, lo+i)
		sum += w.logs[i]
	}
	return sum
}

// lowerBound returns a lower bound of the smallest objective there is, from consistent
// beliefs τ: given their Σ c H(τ) and the square of ‖Mτ − w̄‖. As
//
//	L* = max_τ Σ c H(τ) − ‖Mτ − w̄‖²/(2 l2)
//
// any τ gives one. So does a mixture of any share β of τ with labels, where all of them are
// known: their entropy and residual are zero, and entropy is concave.
func lowerBound(entropy, square, l2 float64, labels bool) float64 {
	if !labels {
		return entropy - square/(2*l2)
	}
	if !(entropy > 0) {
		return 0
	}
	share := 1.0
	if square > 0 {
		share = min(1, entropy*l2/square)
	}
	if share == 0 {
		return 0
	}
	return share*entropy - share*share*square/(2*l2)
}

// raiseLowerBound takes the bound of consistent beliefs, if it is the highest so far. Where F is above that of the
// start nothing bounds the weights, and with huge ones rounding may leave an entropy that no beliefs have.
func (l *learner) raiseLowerBound() {
	p := &l.progress
	if !l.certified || !math.IsNaN(p.FirstObjective) && !(p.Upper <= p.FirstObjective+l.slack()) {
		return
	}
	square := 0.0
	for i, x := range l.total {
		square += (x - l.data[i]) * (x - l.data[i])
	}
	if bound := lowerBound(l.entropy(), square, l.problem.L2, l.problem.Statistics == nil); bound > p.Lower {
		p.Lower = bound
	}
}

// suboptimality returns how far above the smallest objective the weights of the moment are
// at most, with what rounding leaves unknown of the two bounds; NaN where that is not known, as
// without a regulariser, where nothing but 0 bounds the objective from below.
func (l *learner) suboptimality() float64 {
	if p := &l.progress; l.certified && l.problem.L2 > 0 {
		return max(0, p.Upper-p.Lower) + roundingShare*(math.Abs(p.Upper)+math.Abs(p.Lower))
	}
	return math.NaN()
}
