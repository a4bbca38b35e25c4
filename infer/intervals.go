package infer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/mrf"
)

const walking Method = "walks"

// walk bounds the probabilities of Options.Query where Exact does not suit.
func (o *Options) walk(ctx context.Context, n *mrf.Network) (*Result, error) {
	reduced, err := reduce(n, o.Evidence, func(left *mrf.Network) error {
		z := sizesOf(left)
		return tooMuch("bounds by walks", z.network(), o.Memory, z.reason())
	})
	if err != nil {
		return nil, err
	}
	if err := searchZero(reduced.pairwise, o.Seed); err != nil {
		return nil, reduced.locate(err)
	}
	none, p := math.NaN(), reduced.pairwise
	r := &Result{Method: walking, LogZ: none, Gap: none, Bound: counting.None, Outcome: Outcome{Converged: true}}
	w := &walks{Pairwise: p, ctx: ctx, onPath: make([]bool, len(p.Card)), seen: make([]int, len(p.Card)),
		copied: make([]int32, 2*p.Graph.NumEdges())}
	for _, v := range o.Query {
		lower, upper := make([]float64, n.Card[v]), make([]float64, n.Card[v])
		if state := reduced.conditioned.Observed[v]; state >= 0 {
			lower[state], upper[state] = 1, 1
		} else {
			at, _ := slices.BinarySearch(reduced.conditioned.Variable, v)
			w.left = cmp.Or(o.operations, mostWork)
			w.bound(int32(at), lower, upper)
		}
		r.Lower, r.Upper = append(r.Lower, lower), append(r.Upper, upper)
	}
	return r, ctx.Err()
}

// walks bound how much more probable one state of a node is than another, by the tree of self-avoiding walks (Weitz
// 2006; Ihler 2007; Mooij and Kappen 2008). Take a node out of the network, and give each of its neighbours a copy of
// it. To go from state b to state a turns the copies over one by one, and each turn is a ratio that a neighbour tells:
//
//	p(a)/p(b) = θ(a)/θ(b) Π_v [Σ_x θ_v(a,x) p_v(x)] / [Σ_x θ_v(b,x) p_v(x)],
//
// where p_v is the marginal of neighbour v in the network without the node, whose copies are in state a for the
// neighbours before v and in state b for those after it. That network is smaller, and so p_v is found in the same way:
// the calls are walks that come to no node twice. Where a walk ends before it has to, p_v may be anything, and the
// ratio lies between the smallest and the largest θ_v(a,x)/θ_v(b,x); what is known of p_v narrows that.
//
// Each zero stands for the same ε > 0, and numbers for what they are in the limit ε → 0: see limit.
type walks struct {
	*mrf.Pairwise
	ctx    context.Context
	onPath []bool  // [nodes]
	seen   []int   // [nodes] how often a copy of it was looked at
	copied []int32 // [directed edges] state of the copy of the source, which is on the path; −1: there is none
	left   float64 // how many entries of tables may still be looked at
	cut    bool    // some walk ended before it had to
}

// mostWork is how many entries of tables may be looked at for a variable; rounding widens bounds by walkSlack.
const mostWork, walkSlack = 3e7, 1e-9

// bound writes bounds of the marginal of a node: of ever longer walks, as far as they go.
func (w *walks) bound(s int32, lower, upper []float64) {
	numeric.Fill(upper, 1)
	for length := 1; ; length++ {
		w.cut = false
		for x := range upper {
			lo, hi := w.ratios(s, int32(x), length)
			if w.left < 0 || w.ctx.Err() != nil {
				return
			}
			lower[x] = max(lower[x], probability(hi)-walkSlack)
			upper[x] = min(upper[x], probability(lo)+walkSlack)
		}
		if !w.cut {
			return
		}
	}
}

// probability of a state is the limit of 1 over the sum of what each state is as probable as.
func probability(ratios []limit) float64 {
	sum := zero
	for _, r := range ratios {
		sum = sum.plus(r)
	}
	if sum.zeros < 0 {
		return 0
	}
	return math.Exp(-sum.log)
}

// ratios bounds p(x)/p(of) for all states x of a node, by walks from it of so many edges.
func (w *walks) ratios(s, of int32, length int) (lo, hi []limit) {
	hi = make([]limit, w.Card[s])
	free := make([]int32, 0, 8)
	for x := range hi {
		hi[x] = logarithm(w.Node[w.NodeAt[s]+x])
	}
	for _, d := range w.Graph.Incoming(s) {
		if source := w.Graph.Source(d); !w.onPath[source] {
			free = append(free, d)
		} else if seen := w.copied[d]; seen >= 0 {
			w.seen[source]++
			for x := range hi {
				hi[x] = hi[x].times(w.entry(d, int(seen), x))
			}
		}
	}
	own := hi[of]
	for x := range hi {
		hi[x] = hi[x].over(own)
	}
	lo = slices.Clone(hi)
	type marginal struct {
		least, most []limit
		known       bool // for all x, as no copy of s was seen
	}
	w.onPath[s], w.cut = true, w.cut || length == 1 && len(free) > 0
	marginals := make([]marginal, len(free))
	for x := range hi {
		if int32(x) == of || w.left < 0 { // of what is cut short nobody makes use
			continue
		}
		for _, d := range free {
			w.copied[d^1] = of
		}
		for i, d := range free {
			w.copied[d^1] = -1
			p := &marginals[i]
			if length > 1 && !p.known && w.left >= 0 {
				before := w.seen[s]
				p.least, p.most = w.ratios(w.Graph.Source(d), 0, length-1)
				p.known = w.seen[s] == before
			}
			low, high := w.message(d, x, int(of), p.least, p.most)
			lo[x], hi[x] = lo[x].times(low), hi[x].times(high)
			w.copied[d^1] = int32(x)
		}
	}
	w.onPath[s] = false
	return lo, hi
}

// message bounds Σ_y θ(a,y) p(y) / Σ_y θ(b,y) p(y) for p(y)/p(0) between bounds, or any p. One that is largest has
// the upper bounds where θ(a,y)/θ(b,y) is above some value.
func (w *walks) message(d int32, a, b int, least, most []limit) (lo, hi limit) {
	k := int(w.Card[w.Graph.Source(d)])
	w.left -= float64(k * k)
	lo, hi = limit{math.Inf(-1), 0}, zero
	for y := range k {
		low := w.entry(d, y, a).over(w.entry(d, y, b))
		high := low
		if least != nil {
			low, high = w.average(d, a, b, low, most, least), w.average(d, a, b, low, least, most)
		}
		if low.less(lo) {
			lo = low
		}
		if hi.less(high) {
			hi = high
		}
	}
	return lo, hi
}

// average is Σ_y θ(a,y) p(y) / Σ_y θ(b,y) p(y), p being above where θ(a,y)/θ(b,y) is at least a threshold, and below.
func (w *walks) average(d int32, a, b int, threshold limit, below, above []limit) limit {
	up, down := zero, zero
	for y := range below {
		ta, tb, p := w.entry(d, y, a), w.entry(d, y, b), above[y]
		if ta.over(tb).less(threshold) {
			p = below[y]
		}
		up, down = up.plus(ta.times(p)), down.plus(tb.times(p))
	}
	return up.over(down)
}

// entry is exp θ of a directed edge, at a state of its source and one of its target.
func (w *walks) entry(d int32, source, target int) limit {
	if d&1 == 1 {
		source, target = target, source
	}
	return logarithm(w.Edge[w.EdgeAt[d>>1]+source*int(w.Card[w.Graph.V(d>>1)])+target])
}

// limit is exp(log)·ε^zeros, as ε goes to 0: of a sum the terms with the fewest zeros are left, and where a zero is
// divided by a zero both cancel.
type limit struct{ zeros, log float64 }

var zero = limit{zeros: math.Inf(1)}

func logarithm(x float64) limit {
	if math.IsInf(x, -1) {
		return limit{1, 0}
	}
	return limit{0, x}
}

func (a limit) times(b limit) limit { return limit{a.zeros + b.zeros, a.log + b.log} }
func (a limit) over(b limit) limit  { return limit{a.zeros - b.zeros, a.log - b.log} }
func (a limit) less(b limit) bool   { return a.zeros > b.zeros || a.zeros == b.zeros && a.log < b.log }

func (a limit) plus(b limit) limit {
	if a.less(b) {
		a, b = b, a
	}
	if a.zeros == b.zeros {
		a.log += math.Log1p(math.Exp(b.log - a.log))
	}
	return a
}
