package learn

import (
	"context"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/spill"
)

// worker visits blocks in one goroutine: with potentials, beliefs and scratch of its own, it sweeps over a block in one
// unit and works out what that contributes to the result of the job.
type worker struct {
	shape *contributionLayout
	model *crf.Model
	loss  float64 // Problem.Loss

	visit  *visit     // at work
	result *jobResult // of the job at work
	unit   *unit
	block  *partition.Block // visited in this unit
	number int              // of this block
	scale  float64          // weight of the unit, divided by that of the job
	split  bool             // the visit also finds what a split of counting numbers adds to F: unit.splitAtOnce

	space     *bp.Workspace
	adjoint   *ground.Adjoint
	belief    []float64 // of nodes or edges computed together
	logs      []float64 // [edges] beliefs of labels, then their terms of F
	entropies []float64 // c_uv H(τ_uv) of consistent beliefs of edges, and of those of cut edges
	scratch   []float64 // for an entropy
	features  []float64 // of a node or edge with weights of its own
	places    []int32   // of cut edges
	pages     spill.Pages
}

// visitUnit visits the block in the unit.
func (w *worker) visitUnit() (err error) {
	u, block, kind := w.unit, w.block, w.visit.kind
	if kind == sumVisit {
		w.sumCut()
		return nil
	}
	if kind == splitVisit && (!u.splits || u.splitAtOnce(block)) {
		return nil
	}
	if err := w.space.Ground(w.model, u.in, u.net, u.state, block); err != nil {
		return err
	}
	w.addLoss()
	if kind == splitVisit {
		value, err := w.space.SplitValue(u.net, u.state, block, u.reference)
		w.result.split += u.weight * value
		return err
	}
	if err := w.sweep(); err != nil || w.visit.ended() {
		return err
	}
	w.split = kind == consistentVisit && u.splitAtOnce(block)
	return w.contribute()
}

// addLoss adds Problem.Loss to the potentials of wrong labels.
func (w *worker) addLoss() {
	if w.loss == 0 {
		return
	}
	pot := &w.space.Potentials
	for p, s := range w.block.Nodes {
		own := pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]]
		right := own[w.unit.reference[s]]
		for x := range own {
			own[x] += w.loss
		}
		own[w.unit.reference[s]] = right
	}
}

// sweep makes the sweeps of a visit. They end early where a time limit ends the visit (iterate sums anew, and saves the
// state as it is), and in a run that saves no state: interrupted there, another could not go on to the same bytes.
func (w *worker) sweep() error {
	until := w.visit.until
	if until == nil {
		until = context.Background()
	}
	o, err := w.space.Iterate(until, w.unit.net, w.unit.state, w.block, w.visit.limits)
	all := &w.result.outcome
	all.Sweeps, all.Work, all.Converged = max(all.Sweeps, o.Sweeps), all.Work+o.Work, all.Converged && o.Converged
	all.Residual, all.FirstResidual = max(all.Residual, o.Residual), max(all.FirstResidual, o.FirstResidual)
	return err
}

// contribute adds what the unit contributes in the block to the result, from the beliefs as they are now.
func (w *worker) contribute() error {
	u, block, s := w.unit, w.block, w.result
	if w.split {
		w.space.BeginSplit(block)
	}
	for lo, n := 0, len(block.Nodes); lo < n; {
		hi := ground.NodeRun(u.in, block.Nodes, lo, min(lo+ground.RowsPerBatch, n))
		w.contributeNodes(lo, hi)
		lo = hi
	}
	for t := range w.model.Layout.Node {
		if span := &w.model.Layout.Node[t]; !span.Untied {
			w.adjoint.Release(s.inside[span.Part:][:span.Len], u.in, t)
		}
	}
	w.findPlaces()
	for lo, n := 0, len(block.Edges); lo < n; {
		end := n
		if inside := int(block.Groups[0].Hi); lo < inside {
			end = inside
		}
		hi := ground.EdgeRun(u.in, block.Edges, lo, min(lo+w.shape.edgesTogether, end))
		if err := w.contributeEdges(lo, hi); err != nil {
			return err
		}
		lo = hi
	}
	if w.split {
		s.inside[w.shape.boundAt()] += w.scale * w.space.NodeTerms(u.net, u.state, block, u.reference)
	}
	return nil
}

// takeEntropy contributes Σ c H(τ), the free energy of the result less ⟨θ,τ⟩, which for tied weights is their product
// with what the result has of the gradient. Of consistent edges freeEnergy has the entropies alone.
func (w *worker) takeEntropy() {
	tied, s := w.shape.tied, w.result
	if w.visit.kind == consistentVisit {
		tied = tied[:w.shape.tiedNodes]
	}
	for _, span := range tied {
		s.freeEnergy -= simd.Dot(w.model.Weights[span.At:][:span.Len], s.inside[span.Part:])
	}
	s.inside[w.shape.entropyAt()] = s.freeEnergy
}

// contributeNodes adds the nodes lo ≤ p < hi of the block, all of one type.
func (w *worker) contributeNodes(lo, hi int) {
	u, s, nodes := w.unit, w.result, w.block.Nodes[lo:hi]
	t := u.in.NodeType(nodes[0])
	span := &w.model.Layout.Node[t]
	beliefs, sum := w.belief[:len(nodes)*span.States], moments(s.inside, w.shape.nodeMoment[t], span)
	w.adjoint.PrefetchNodes(u.in, nodes)
	free := w.space.NodeBeliefs(w.belief, u.net, u.state, w.block, lo, hi)
	s.freeEnergy += w.scale * free
	if w.visit.kind.bounds() {
		s.inside[w.shape.boundAt()] += w.scale * u.boundOfNodes(nodes, free)
	}
	if span.Untied {
		for i, node := range nodes {
			s.freeEnergy -= w.scale * w.takeUntied(span, u.in.NodeFeatures(t), u.in.NodeRow(node),
				beliefs[i*span.States:][:span.States])
		}
		return
	}
	w.rescale(beliefs, sum)
	w.adjoint.ScatterNodes(s.inside[span.Part:][:span.Len], u.in, nodes, beliefs)
}

// contributeEdges adds the edges lo ≤ q < hi of the block, all of one type, and all inside it or all cut.
func (w *worker) contributeEdges(lo, hi int) error {
	u, s, edges, consistent := w.unit, w.result, w.block.Edges[lo:hi], w.visit.kind == consistentVisit
	t := u.in.EdgeType(edges[0])
	span := &w.model.Layout.Edge[t]
	w.adjoint.PrefetchEdges(u.in, edges)
	outside := w.isCut(lo)
	if outside { // what is kept lies anywhere in memory, and so do features
		simd.PrefetchRows(u.cutBeliefs, w.placesOf(lo, hi), w.shape.cutStride)
	}
	beliefs, sum := w.belief[:len(edges)*span.States], moments(s.inside, w.shape.edgeMoment[t], span)
	free, err := w.space.EdgeBeliefs(w.belief, u.net, u.state, w.block, lo, hi)
	if err == nil && w.split {
		err = w.space.AddSplit(beliefs, u.net, u.state, w.block, lo, hi)
	}
	if err != nil {
		return err
	}
	bound, free, err := w.edgeValues(lo, hi, beliefs, free)
	if err != nil {
		return err
	}
	if outside {
		w.changeEdges(lo, hi, beliefs)
		return nil
	}
	s.inside[w.shape.boundAt()] += w.scale * bound
	s.freeEnergy += w.scale * free
	if span.Untied {
		for i, e := range edges {
			product := w.takeUntied(span, u.in.EdgeFeatures(t), u.in.EdgeRow(e), beliefs[i*span.States:][:span.States])
			if !consistent {
				s.freeEnergy -= w.scale * product
			}
		}
		return nil
	}
	w.rescale(beliefs, sum)
	w.adjoint.ScatterEdges(s.inside[span.Part:][:span.Len], u.in, edges, beliefs)
	return nil
}

// moments returns where in a contribution the beliefs of a type are added up, nil for untied types.
func moments(contribution []float64, at int, span *crf.Span) []float64 {
	if span.Untied {
		return nil
	}
	return contribution[at:][:span.States]
}

// rescale makes beliefs those of the result, and adds them up in sum.
func (w *worker) rescale(beliefs, sum []float64) {
	if w.scale != 1 {
		for i := range beliefs {
			beliefs[i] *= w.scale
		}
	}
	bp.AddRows(sum, beliefs)
}

// edgeValues makes beliefs of edges consistent, where the visit asks for it, and returns what they add to the upper
// bound, which it leaves for each edge in w.logs, and their free energy, or of consistent ones Σ ρ H(τ). energy is
// the free energy of the beliefs as messages give them.
func (w *worker) edgeValues(lo, hi int, beliefs []float64, energy float64) (bound, free float64, err error) {
	u, v := w.unit, w.visit
	free = energy
	if bound, err = w.boundOfEdges(lo, hi, beliefs, free); err != nil {
		return 0, 0, err
	}
	if v.kind.bounds() && u.reference == nil && !u.byConsistent() && w.isCut(lo) {
		bound = w.freeEnergies(lo, beliefs)
	}
	feasible := true
	if v.kind == consistentVisit {
		w.entropies = numeric.Resize(w.entropies, hi-lo)
		free, feasible = w.space.Consistent(beliefs, w.entropies, u.net, u.state, w.block, lo, hi, w.model.Layout.Masked,
			v.remainder)
	}
	w.result.infeasible = w.result.infeasible || !feasible
	if v.kind.bounds() && u.byConsistent() {
		bound = w.freeEnergies(lo, beliefs)
	}
	return bound, free, err
}

// Beliefs below smallestBelief may have underflowed: their logarithms are found without them.
const smallestBelief = 1e-290

// boundOfEdges returns the term in F of the edges lo ≤ q < hi of the block, given their beliefs and free energy. Where
// there are labels, it leaves each edge's term in w.logs. In visits without terms of F it is 0.
func (w *worker) boundOfEdges(lo, hi int, beliefs []float64, free float64) (sum float64, err error) {
	u, edges, n := w.unit, w.block.Edges[lo:hi], hi-lo
	w.logs = numeric.Resize(w.logs, n)
	if !w.visit.kind.bounds() {
		clear(w.logs)
		return 0, nil
	}
	if u.reference == nil {
		return free, nil
	}
	us, vs := u.in.Graph.Ends()
	states := len(beliefs) / n
	small := false
	of := func(i int, e int32) float64 {
		return beliefs[i*states:][int(u.reference[us[e]])*int(u.net.Card[vs[e]])+int(u.reference[vs[e]])]
	}
	for i, e := range edges {
		w.logs[i] = of(i, e)
		small = small || !(w.logs[i] >= smallestBelief)
	}
	simd.Log(w.logs, w.logs)
	for i, e := range edges {
		if small && !(of(i, e) >= smallestBelief) {
			w.logs[i], err = w.space.LogPair(u.net, u.state, w.block, lo+i, u.reference[us[e]], u.reference[vs[e]])
			if err != nil {
				return 0, err
			}
		}
		w.logs[i] *= -u.net.Counting.Edge[e]
		sum += w.logs[i]
	}
	return sum, nil
}

// freeEnergies returns the sum of the free energies of edges at beliefs, and leaves them in w.logs.
func (w *worker) freeEnergies(lo int, beliefs []float64) (sum float64) {
	states := len(beliefs) / len(w.logs)
	for i := range w.logs {
		w.logs[i] = w.space.PairFreeEnergy(beliefs[i*states:][:states], w.unit.net, w.block, lo+i)
		sum += w.logs[i]
	}
	return sum
}

// takeUntied appends M τ of a node or edge with weights of its own, and returns its ⟨θ,τ⟩.
func (w *worker) takeUntied(span *crf.Span, f *crf.Features, row int, belief []float64) (product float64) {
	w.features = numeric.Resize(w.features, span.Features)
	f.Row(w.features, row)
	theta := w.model.Weights[span.At+row*span.Copy():][:span.Copy()]
	for j, weight := range theta {
		x := w.features[j/span.States] * belief[j%span.States]
		w.result.untied = append(w.result.untied, x)
		product += weight * x
	}
	return product
}

// A visit of either of its blocks changes the belief of a cut edge. So each keeps what it was at the last visit, and a
// visit adds M (τ_new − τ_old) of its cut edges to the totals: work and memory of a visit follow the edges of its
// block, and not the number of blocks that it is next to, which is large on graphs without an order.

// isCut reports whether the edges of the block from the lo-th on are cut.
func (w *worker) isCut(lo int) bool { return lo >= int(w.block.Groups[0].Hi) }

// findPlaces finds where the cut edges of the block are kept.
func (w *worker) findPlaces() {
	w.places = w.places[:0]
	for _, g := range w.block.Groups[1:] {
		for i := range g.Hi - g.Lo {
			w.places = append(w.places, int32(w.unit.cutEdges.firstEdge[g.ID])+i)
		}
	}
}

// placesOf returns those of the edges lo ≤ q < hi.
func (w *worker) placesOf(lo, hi int) []int32 {
	inside := int(w.block.Groups[0].Hi)
	return w.places[lo-inside : hi-inside]
}

// changeEdges puts the beliefs of the cut edges lo ≤ q < hi of the block, all of one type, in their places, and adds up
// what that changes. It overwrites beliefs.
func (w *worker) changeEdges(lo, hi int, beliefs []float64) {
	u, cut, edges, places := w.unit, w.result.cut, w.block.Edges[lo:hi], w.placesOf(lo, hi)
	t := u.in.EdgeType(edges[0])
	span := &w.model.Layout.Edge[t]
	w.scratch, w.entropies = numeric.Resize(w.scratch, span.States), numeric.Resize(w.entropies, len(edges))
	for i, e := range edges {
		kept := u.cutBeliefs[int(places[i])*w.shape.cutStride:][:w.shape.cutStride]
		belief, last := beliefs[i*span.States:][:span.States], kept[w.shape.cutStride-2:]
		if w.visit.kind != consistentVisit {
			w.entropies[i] = u.net.Counting.Edge[e] * simd.Entropy(belief, w.scratch)
		}
		for j, is := range [2]float64{w.logs[i], w.entropies[i]} {
			cut[w.shape.boundAt()+j] += w.scale * (is - last[j])
			last[j] = is
		}
		if span.Untied {
			w.takeUntied(span, u.in.EdgeFeatures(t), u.in.EdgeRow(e), belief)
			continue
		}
		simd.AddScaled(belief, kept, -1)
		simd.AddScaled(kept[:span.States], belief, 1) // in a kernel, and as new as rounding makes it
	}
	if !span.Untied {
		w.rescale(beliefs, cut[w.shape.edgeMoment[t]:][:span.States])
		w.adjoint.ScatterEdges(cut[span.Part:][:span.Len], u.in, edges, beliefs)
	}
}

// sumCut adds up what is kept of the edges between the block and higher ones.
func (w *worker) sumCut() {
	u, cut := w.unit, w.result.cut
	for _, g := range w.block.Groups[1:] {
		if int(g.Other) <= w.number {
			continue
		}
		at, _ := w.shape.cutRange(u, &g)
		for i := g.Lo; i < g.Hi; i++ {
			edge, kept := w.block.Edges[i:i+1], u.cutBeliefs[at:][:w.shape.cutStride]
			at += w.shape.cutStride
			simd.AddScaled(cut[w.shape.boundAt():], kept[w.shape.cutStride-2:], w.scale)
			t := u.in.EdgeType(edge[0])
			if span := &w.model.Layout.Edge[t]; !span.Untied {
				belief := w.belief[:span.States]
				for j, x := range kept[:span.States] {
					belief[j] = w.scale * x
				}
				w.adjoint.ScatterEdges(cut[span.Part:][:span.Len], u.in, edge, belief)
				simd.AddScaled(cut[w.shape.edgeMoment[t]:][:span.States], belief, 1)
			}
		}
	}
}
