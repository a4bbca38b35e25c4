package learn

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/simd"
)

// unitsPerChunk bounds how many units' shares are kept before they are added
// up. Shares are added in the order of the units, whatever the chunks.
const unitsPerChunk = 256

// worker is the scratch of one goroutine.
type worker struct {
	space   bp.Workspace
	adjoint *crf.Adjoint
	belief  []float64 // of one node, or of edges computed together
}

// share is what one unit adds to the contributions of the groups that a block
// touches, and how its inference went.
type share struct {
	tied    []float64 // [touched groups][stride]
	untied  []float64 // changes of untied beliefs, in the order of the block's nodes and edges
	outcome bp.Outcome
	values  bp.Values
	err     error
}

// visit is one visit of a block in all units of a bundle.
type visit struct {
	bundle *bundle
	block  int
	limits bp.Limits
	// contribute: replace the gradient contributions after the sweeps.
	contribute bool
	// certify: also compute primal and dual values.
	certify bool
	chunk   int // first unit of the chunk at work
}

// visitReport is how a visit went.
type visitReport struct {
	sweeps    int     // largest number over the units
	residual  float64 // largest of the last sweeps
	first     float64 // largest of the first sweeps
	converged bool    // in every unit
	values    bp.Values
}

// visitBlock grounds a block in every unit of the bundle, sweeps over it, and
// replaces its share of the gradient in place:
//
//	(9)  g ← g + Σ_{entries of F_i} M (τ_new − τ_old)
func (l *learner) visitBlock(v visit) (visitReport, error) {
	l.visit = v
	groups := v.bundle.touched[v.block]
	l.fresh = resize(l.fresh, len(groups)*l.stride)
	clear(l.fresh)
	report := visitReport{converged: true}
	for lo := 0; lo < len(v.bundle.units); lo += unitsPerChunk {
		l.visit.chunk = lo
		units := v.bundle.units[lo:min(lo+unitsPerChunk, len(v.bundle.units))]
		l.pool.run(len(units))
		for i, u := range units {
			s := &l.shares[i]
			if s.err != nil {
				return report, l.locate(s.err, u, v.block)
			}
			l.count(&report, s, u)
			if v.contribute {
				l.addShare(s, u)
			}
		}
	}
	if v.contribute {
		l.replaceContributions(v.bundle, groups)
	}
	return report, nil
}

// visitUnit is the part of a visit that one goroutine does for one unit.
func (l *learner) visitUnit(workerIndex, i int) {
	w, s, v := l.workers[workerIndex], &l.shares[i], &l.visit
	u := v.bundle.units[v.chunk+i]
	block := &u.part.Blocks[v.block]
	s.outcome, s.values, s.err = bp.Outcome{}, bp.Values{}, nil
	if len(block.Nodes) == 0 && len(block.Edges) == 0 {
		s.tied, s.untied, s.outcome.Converged = s.tied[:0], s.untied[:0], true
		return
	}
	l.model.Ground(&w.space.Potentials, u.in, block)
	if s.err = w.space.Prepare(u.net, block); s.err != nil {
		return
	}
	// A block is always finished: a state between two sweeps could not be resumed
	// to the same bytes.
	s.outcome, s.err = w.space.Iterate(context.Background(), u.net, u.state, block, v.limits)
	if s.err != nil {
		return
	}
	if v.certify {
		if s.values, s.err = w.space.Evaluate(u.net, u.state, block, u.part.Of, int32(v.block)); s.err != nil {
			return
		}
	}
	if v.contribute {
		s.err = l.contribute(w, s, u, v.block)
	}
}

// contribute computes M τ, the sums of τ and the entropies of the groups that
// the block touches, from the beliefs as they are now.
func (l *learner) contribute(w *worker, s *share, u *unit, blockIndex int) error {
	block := &u.part.Blocks[blockIndex]
	s.tied = resize(s.tied, len(l.visit.bundle.touched[blockIndex])*l.stride)
	clear(s.tied)
	s.untied = s.untied[:0]
	for g, group := range block.Groups {
		at := int(u.slots[blockIndex][g]) * l.stride
		share := s.tied[at:][:l.stride]
		entropy := &share[l.stride-1]
		if g == 0 {
			for p, node := range block.Nodes {
				l.contributeNode(w, s, u, share, blockIndex, p, node)
			}
		}
		for q, hi := int(group.Lo), int(group.Hi); q < hi; {
			end := l.edgeRun(u.in, block.Edges, q, hi)
			if err := l.contributeEdges(w, s, u, share, blockIndex, q, end); err != nil {
				return err
			}
			q = end
		}
		w.adjoint.Flush()
		// The free energies summed so far hold ⟨θ,τ⟩ as well: for tied weights it is
		// the product with their gradient.
		*entropy -= l.tiedProduct(share)
	}
	return nil
}

func (l *learner) contributeNode(w *worker, s *share, u *unit, share []float64, blockIndex, p int, node int32) {
	t := u.in.NodeType(node)
	span := &l.model.Layout.Node[t]
	belief := w.belief[:span.States]
	free := w.space.NodeBelief(belief, u.net, u.state, &u.part.Blocks[blockIndex], p)
	share[l.stride-1] += free
	if span.Untied {
		share[l.stride-1] -= l.untiedChange(s, u, span, u.in.NodeRow(node), belief)
		return
	}
	w.adjoint.ScatterNode(share[span.Part:][:span.Len], u.in, node, belief)
	simd.AddScaled(share[l.nodeMoment[t]:][:span.States], belief, 1)
}

// contributeEdges adds the edges lo ≤ q < hi of the block, all of one type.
func (l *learner) contributeEdges(w *worker, s *share, u *unit, share []float64, blockIndex, lo, hi int) error {
	block := &u.part.Blocks[blockIndex]
	t := u.in.EdgeType(block.Edges[lo])
	span := &l.model.Layout.Edge[t]
	free, err := w.space.EdgeBeliefs(w.belief, u.net, u.state, block, lo, hi)
	if err != nil {
		return err
	}
	share[l.stride-1] += free
	for i, e := range block.Edges[lo:hi] {
		belief := w.belief[i*span.States:][:span.States]
		if span.Untied {
			share[l.stride-1] -= l.untiedChange(s, u, span, u.in.EdgeRow(e), belief)
			continue
		}
		w.adjoint.ScatterEdge(share[span.Part:][:span.Len], u.in, e, belief)
		simd.AddScaled(share[l.edgeMoment[t]:][:span.States], belief, 1)
	}
	return nil
}

const (
	// edgesTogether bounds how many edges' beliefs are computed in one call, and
	// beliefsTogether how many numbers these are: they stay in the nearest cache.
	edgesTogether   = 24
	beliefsTogether = 2048
)

// edgeRun returns the end of the run of edges of one type that begins at lo.
func (l *learner) edgeRun(in *crf.Instance, edges []int32, lo, hi int) int {
	t := in.EdgeType(edges[lo])
	hi = min(hi, lo+edgesOf(&l.model.Layout.Edge[t]))
	end := lo + 1
	for end < hi && in.EdgeType(edges[end]) == t {
		end++
	}
	return end
}

// edgesOf returns how many edges of a type are computed in one call.
func edgesOf(span *crf.Span) int {
	return max(1, min(edgesTogether, beliefsTogether/max(1, span.States)))
}

// untiedChange appends belief − (belief at the last visit) for every feature of
// an entry with its own weights, remembers belief, and returns its ⟨θ,τ⟩.
// Untied types have constant features, so M τ = τ for each.
func (l *learner) untiedChange(s *share, u *unit, span *crf.Span, row int, belief []float64) (product float64) {
	old := u.untied[span.Part+row*span.Copy():][:span.Copy()]
	theta := l.model.Weights[span.At+row*span.Copy():][:span.Copy()]
	for j := range old {
		x := belief[j%span.States]
		s.untied = append(s.untied, x-old[j])
		old[j] = x
		product += theta[j] * x
	}
	return product
}

// addShare adds a unit's share to the fresh contributions and its untied
// changes to the total.
func (l *learner) addShare(s *share, u *unit) {
	for i, x := range s.tied {
		l.fresh[i] += u.weight * x
	}
	if len(s.untied) == 0 {
		return
	}
	block, next := &u.part.Blocks[l.visit.block], s.untied
	apply := func(span *crf.Span, row int) {
		if !span.Untied {
			return
		}
		total := l.total[span.At+row*span.Copy():][:span.Copy()]
		for j := range total {
			total[j] += u.weight * next[j]
		}
		next = next[len(total):]
	}
	for g, group := range block.Groups {
		if g == 0 {
			for _, node := range block.Nodes {
				apply(&l.model.Layout.Node[u.in.NodeType(node)], u.in.NodeRow(node))
			}
		}
		for _, e := range block.Edges[group.Lo:group.Hi] {
			apply(&l.model.Layout.Edge[u.in.EdgeType(e)], u.in.EdgeRow(e))
		}
	}
}

// replaceContributions puts the fresh contributions in the place of the old
// ones and the differences into the totals.
func (l *learner) replaceContributions(b *bundle, groups []int32) {
	for i, id := range groups {
		fresh := l.fresh[i*l.stride:][:l.stride]
		old := b.contribution[int(id)*l.stride:][:l.stride]
		l.eachTied(func(total, f, o []float64) {
			for j := range total {
				total[j] += f[j] - o[j]
			}
		}, fresh, old)
		for j := l.model.Layout.TiedSize; j < l.stride; j++ {
			l.moments[j-l.model.Layout.TiedSize] += fresh[j] - old[j]
		}
		copy(old, fresh)
	}
}

// eachTied calls f for the weights of every tied type: their place in the
// totals and in two contribution vectors.
func (l *learner) eachTied(f func(total, x, y []float64), x, y []float64) {
	for _, span := range l.tied {
		f(l.total[span.At:][:span.Len], x[span.Part:][:span.Len], y[span.Part:][:span.Len])
	}
}

// tiedProduct returns ⟨θ, M τ⟩ over the tied weights of a contribution.
func (l *learner) tiedProduct(share []float64) (product float64) {
	for _, span := range l.tied {
		theta := l.model.Weights[span.At:][:span.Len]
		for j, x := range share[span.Part:][:span.Len] {
			product += theta[j] * x
		}
	}
	return product
}

// resum computes the totals anew from the contributions: it takes out the
// rounding errors that replacing them has left.
func (l *learner) resum() {
	clear(l.total)
	clear(l.moments)
	for _, b := range l.bundles {
		for at := 0; at < len(b.contribution); at += l.stride {
			c := b.contribution[at:][:l.stride]
			l.eachTied(func(total, x, _ []float64) { addTo(total, x) }, c, c)
			addTo(l.moments, c[l.model.Layout.TiedSize:])
		}
		for _, u := range b.units {
			l.addUntied(u)
		}
	}
}

func (l *learner) addUntied(u *unit) {
	add := func(spans []crf.Span) {
		for _, span := range spans {
			if span.Untied {
				total := l.total[span.At:][:span.Len]
				for j, x := range u.untied[span.Part:][:span.Len] {
					total[j] += u.weight * x
				}
			}
		}
	}
	add(l.model.Layout.Node)
	add(l.model.Layout.Edge)
}

// estimate computes the aggregated gradient and the saddle value at the current
// weights.
func (l *learner) estimate() (objective, norm float64) {
	theta := l.model.Weights
	product, square := 0.0, 0.0
	for i, x := range theta {
		d := l.total[i] - l.data[i]
		product += x * d
		square += x * x
		g := d + l.problem.L2*x
		l.gradient[i] = g
		norm += g * g
	}
	return product + l.moments[len(l.moments)-1] + l.problem.L2/2*square, math.Sqrt(norm)
}

func addTo(dst, x []float64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += x[i]
	}
}

func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
