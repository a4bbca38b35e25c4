package learn

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Every block keeps its contribution to the gradient, that of its nodes and of the edges inside it, and every cut edge
// keeps its belief of the last visit (cutedges.go). A contribution has stride numbers: the tied weights' part of
// Σ weight · M τ, then the sums of the beliefs of every tied type, and then the parts of the upper bound and of
// Σ weight · c H(τ). A visit puts new ones in the place of the old, and adds the difference to the totals.

// contribute adds what a unit contributes in a block to the result of a job, from the beliefs as they are now.
func (l *learner) contribute(w *worker, s *jobResult, u *unit, blockIndex int) error {
	block := &u.partition.Blocks[blockIndex]
	if w.split {
		w.space.BeginSplit(u.net, block)
	}
	for lo, n := 0, len(block.Nodes); lo < n; {
		hi := ground.NodeRun(u.in, block.Nodes, lo, min(lo+ground.RowsPerBatch, n))
		l.contributeNodes(w, s, u, block, lo, hi)
		lo = hi
	}
	for t := range l.model.Layout.Node {
		if span := &l.model.Layout.Node[t]; !span.Untied {
			w.adjoint.Release(s.inside[span.Part:][:span.Len], u.in, t)
		}
	}
	inside := int(block.Groups[0].Hi)
	if l.keepsCut() {
		w.findPlaces(u, block)
	}
	for lo, n := 0, len(block.Edges); lo < n; {
		end, outside := n, lo >= inside
		if !outside {
			end = inside
		}
		hi := ground.EdgeRun(u.in, block.Edges, lo, min(lo+l.edgesTogether, end))
		if err := l.contributeEdges(w, s, u, block, lo, hi, outside); err != nil {
			return err
		}
		lo = hi
	}
	if w.split {
		s.inside[l.boundAt()] += w.scale * w.space.SplitNodes(u.net, u.state, block, u.labels)
	}
	return nil
}

// takeEntropy contributes what the free energies of a result have beside ⟨θ,τ⟩: for tied weights that is the product
// with their gradient. Consistent beliefs of edges have their entropy in it already.
func (l *learner) takeEntropy(s *jobResult, kind visitKind) {
	tied := l.tied
	if kind == consistentVisit {
		tied = tied[:l.tiedNodes]
	}
	for _, span := range tied {
		s.freeEnergy -= simd.Dot(l.model.Weights[span.At:][:span.Len], s.inside[span.Part:])
	}
	s.inside[l.entropyAt()] = s.freeEnergy
}

// contributeNodes adds the nodes lo ≤ p < hi of the block, all of one type.
func (l *learner) contributeNodes(w *worker, s *jobResult, u *unit, block *partition.Block, lo, hi int) {
	nodes := block.Nodes[lo:hi]
	t := u.in.NodeType(nodes[0])
	span := &l.model.Layout.Node[t]
	beliefs, sum := w.belief[:len(nodes)*span.States], moments(s.inside, l.nodeMoment[t], span)
	w.adjoint.PrefetchNodes(u.in, nodes)
	free := w.space.NodeBeliefs(w.belief, w.ifUnscaled(sum), u.net, u.state, block, lo, hi)
	s.freeEnergy += w.scale * free
	if w.visit.kind.bounds() {
		s.inside[l.boundAt()] += w.scale * u.crossNodes(nodes, free)
	}
	if span.Untied {
		for i, node := range nodes {
			s.freeEnergy -= w.scale * l.takeUntied(w, s, span, u.in.NodeFeatures(t), u.in.NodeRow(node),
				beliefs[i*span.States:][:span.States])
		}
		return
	}
	w.rescale(beliefs, sum)
	w.adjoint.ScatterNodes(s.inside[span.Part:][:span.Len], u.in, nodes, beliefs)
}

// contributeEdges adds the edges lo ≤ q < hi of the block, all of one type.
func (l *learner) contributeEdges(
	w *worker, s *jobResult, u *unit, block *partition.Block, lo, hi int, outside bool,
) error {
	edges, v := block.Edges[lo:hi], w.visit
	t := u.in.EdgeType(edges[0])
	span := &l.model.Layout.Edge[t]
	w.adjoint.PrefetchEdges(u.in, edges)
	if outside { // what is kept lies anywhere in memory, and so do features
		simd.PrefetchRows(u.cutBeliefs, w.placesOf(block, lo, hi), l.cutStride)
	}
	beliefs, sum := w.belief[:len(edges)*span.States], moments(s.inside, l.edgeMoment[t], span)
	whileMade := w.ifUnscaled(sum) // where beliefs stay as they are made, they are added up at once
	if outside || v.kind == consistentVisit {
		whileMade = nil
	}
	free, err := w.space.EdgeBeliefs(w.belief, whileMade, u.net, u.state, block, lo, hi)
	if err == nil && w.split {
		err = w.space.AddSplit(beliefs, u.net, u.state, block, lo, hi)
	}
	if err != nil {
		return err
	}
	cross, free, err := l.edgeValues(w, s, u, block, lo, hi, beliefs, free)
	if err != nil {
		return err
	}
	if outside {
		l.changeEdges(w, s, u, block, lo, hi, beliefs)
		return nil
	}
	s.inside[l.boundAt()] += w.scale * cross
	s.freeEnergy += w.scale * free
	if span.Untied {
		for i, e := range edges {
			product := l.takeUntied(w, s, span, u.in.EdgeFeatures(t), u.in.EdgeRow(e),
				beliefs[i*span.States:][:span.States])
			if v.kind != consistentVisit {
				s.freeEnergy -= w.scale * product
			}
		}
		return nil
	}
	w.rescale(beliefs, nil)
	if whileMade == nil {
		bp.AddRows(sum, beliefs)
	}
	w.adjoint.ScatterEdges(s.inside[span.Part:][:span.Len], u.in, edges, beliefs)
	return nil
}

// ifUnscaled returns where beliefs are added up as they are made: where they are as those of the result.
func (w *worker) ifUnscaled(sum []float64) []float64 {
	if w.scale != 1 {
		return nil
	}
	return sum
}

// rescale makes beliefs those of the result, and adds rows that this changes to sum.
func (w *worker) rescale(beliefs, sum []float64) {
	if w.scale != 1 {
		for i := range beliefs {
			beliefs[i] *= w.scale
		}
		bp.AddRows(sum, beliefs)
	}
}

// edgeValues makes beliefs of edges consistent, where the visit asks for it, and returns what they add to the upper
// bound, which it leaves for each edge in w.logs, and their free energy, or of consistent ones Σ ρ H(τ). messages is
// the free energy of the beliefs as messages give them.
func (l *learner) edgeValues(
	w *worker, s *jobResult, u *unit, block *partition.Block, lo, hi int, beliefs []float64, messages float64,
) (cross, free float64, err error) {
	v, masked := w.visit, l.model.Layout.Masked
	free = messages
	if cross, err = w.crossEdges(u, block, lo, hi, beliefs, free); err != nil {
		return 0, 0, err
	}
	if inside := int(block.Groups[0].Hi); v.kind.bounds() && u.labels == nil && !u.byConsistent() && lo >= inside {
		cross = w.freeEnergies(u, block, lo, beliefs)
	}
	feasible := true
	if v.kind == consistentVisit {
		free, feasible = w.space.Consistent(beliefs, u.net, u.state, block, lo, hi, masked, v.remainder)
	}
	s.infeasible = s.infeasible || !feasible
	if v.kind.bounds() && u.byConsistent() {
		cross = w.freeEnergies(u, block, lo, beliefs)
	}
	return cross, free, err
}

// moments returns where in a contribution the beliefs of a type are added up, nil for untied types.
func moments(contribution []float64, at int, span *crf.Span) []float64 {
	if span.Untied {
		return nil
	}
	return contribution[at:][:span.States]
}

// beliefsTogether bounds how many numbers the beliefs of edges have that are
// computed in one call: 32 KiB stay in the nearest cache, or in the second one.
const beliefsTogether = 4096

// edgesTogether returns how many edges are computed in one call: as many of the type with the largest tables.
func edgesTogether(m *crf.Model) int {
	return max(1, min(ground.RowsPerBatch, beliefsTogether/largestTable(m.Layout.Edge)))
}

// eachUntiedOf calls do for the untied elements that a visit of a block contributes in a unit: nodes, then edges.
func (l *learner) eachUntiedOf(u *unit, blockIndex int, do func(span *crf.Span, row int)) {
	if l.model.Layout.UntiedSize == 0 {
		return
	}
	block := &u.partition.Blocks[blockIndex]
	for _, s := range block.Nodes {
		if span := &l.model.Layout.Node[u.in.NodeType(s)]; span.Untied {
			do(span, u.in.NodeRow(s))
		}
	}
	for _, e := range block.Edges {
		if span := &l.model.Layout.Edge[u.in.EdgeType(e)]; span.Untied {
			do(span, u.in.EdgeRow(e))
		}
	}
}

// untiedNumbers returns how many untied weights the elements of a block have.
func (l *learner) untiedNumbers(units []*unit, block int) (n int) {
	for _, u := range units {
		l.eachUntiedOf(u, block, func(span *crf.Span, _ int) { n += span.Copy() })
	}
	return n
}

// takeUntied appends M τ of an entry with its own weights, and returns its ⟨θ,τ⟩.
func (l *learner) takeUntied(w *worker, s *jobResult, span *crf.Span, f *crf.Features, row int,
	belief []float64) (product float64) {
	w.features = numeric.Resize(w.features, span.Features)
	f.Row(w.features, row)
	theta := l.model.Weights[span.At+row*span.Copy():][:span.Copy()]
	for j, weight := range theta {
		x := w.features[j/span.States] * belief[j%span.States]
		s.untied = append(s.untied, x)
		product += weight * x
	}
	return product
}

// addUntiedChange adds to the total what untied beliefs have changed by.
func (l *learner) addUntiedChange(s *jobResult, units []*unit, block int) {
	next := s.untied
	for _, u := range units {
		l.eachUntiedOf(u, block, func(span *crf.Span, row int) {
			at, n := row*span.Copy(), span.Copy()
			total, old := l.total[span.At+at:][:n], u.untied[span.Part+at:]
			for j, x := range next[:n] {
				total[j] += u.weight * (x - old[j])
				old[j] = x
			}
			next = next[n:]
		})
	}
}

// addChange adds a contribution to the totals.
func (l *learner) addChange(change []float64) {
	for _, span := range l.tied {
		simd.AddScaled(l.total[span.At:][:span.Len], change[span.Part:][:span.Len], 1)
	}
	addTo(l.moments, change[l.model.Layout.TiedSize:])
}

// sumContributions computes the totals anew from all contributions: it takes out what rounding visits have left.
func (l *learner) sumContributions() {
	clear(l.total)
	clear(l.moments)
	for _, blocks := range l.whole {
		_, _ = l.visitBlocks(visit{kind: sumVisit, blocks: blocks}) // sums, which cannot fail
	}
	layout := &l.model.Layout
	for _, u := range l.units {
		for _, spans := range [2][]crf.Span{layout.Node, layout.Edge} {
			for _, span := range spans {
				if span.Untied {
					simd.AddScaled(l.total[span.At:][:span.Len], u.untied[span.Part:][:span.Len], u.weight)
				}
			}
		}
	}
	layout.Symmetrise(l.total)
}

// estimate computes the aggregated gradient and the saddle value at the current weights.
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
	return product + l.entropy() + l.problem.L2/2*square, math.Sqrt(norm)
}

func addTo(dst, x []float64) { simd.AddScaled(dst, x[:len(dst)], 1) }
