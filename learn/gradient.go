package learn

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/spill"
)

// resultsAtATime bounds how many results are kept before they are added up. They are
// added in the order of the blocks and units, whatever the threads.
const resultsAtATime = 256

// worker is the scratch of one goroutine.
type worker struct {
	space     *bp.Workspace // with AtOnce that of the job
	adjoint   *ground.Adjoint
	belief    []float64 // of nodes or edges computed together
	logs      []float64 // beliefs of labels, then their logarithms
	places    []int32   // of edges of sparse pairs
	pages     spill.Pages
	certify   bool    // the beliefs of edges are made consistent with those of nodes, for bounds
	nearly    bool    // they are made nearly so, for the gradient
	rough     bool    // messages lag too much for nearer ones to pay
	remainder float64 // what may be left to spread of an edge's mass
	bounds    bool    // parts of the upper bound are found beside
	split     bool    // what a split adds to the bound is found beside
}

// unitResult is what one unit adds to the contributions of the groups that a block
// touches, and how its inference went.
type unitResult struct {
	tied    []float64 // [touched groups][stride]
	used    int       // how many numbers of tied the last unit may have touched, within
	reach   *reach    // its reach
	untied  []float64 // untied beliefs, in the order of the block's nodes and edges
	outcome bp.Outcome
	split   float64 // adds to the bound
	// infeasible: no consistent beliefs were found.
	infeasible bool
	err        error
}

// planResults finds how large each of l.results gets: the most that any of the visits of
// both schedules asks of it.
func (l *learner) planResults() {
	for _, schedule := range [][]blockSet{l.schedule, l.checkSchedule} {
		for _, t := range schedule {
			v := visit{bundle: l.bundles[t.bundle], blocks: t.blocks}
			jobs := len(v.blocks) * len(v.bundle.units)
			for job := range jobs {
				i := job % atATime(jobs)
				if i == len(l.resultRoom) {
					l.resultRoom = append(l.resultRoom, resultRoom{})
				}
				block, u := v.job(job)
				groups := len(v.bundle.touched[block]) + v.bundle.sparseSlots(block)
				l.freshGroups = max(l.freshGroups, groups)
				room := &l.resultRoom[i]
				room.groups, room.untied = max(room.groups, groups), max(room.untied, l.untiedNumbers(u, block))
			}
		}
	}
}

// resultRoom is what a unitResult has room for: contributions of groups, and untied changes.
type resultRoom struct{ groups, untied int }

// untiedNumbers returns how many untied weights the elements of a block have.
func (l *learner) untiedNumbers(u *unit, block int) (n int) {
	if l.model.Layout.UntiedSize == 0 {
		return 0
	}
	b := &u.part.Blocks[block]
	for _, s := range b.Nodes {
		if span := &l.model.Layout.Node[u.in.NodeType(s)]; span.Untied {
			n += span.Copy()
		}
	}
	for _, group := range b.Groups {
		if l.contributesLower(block, group.Other) {
			continue
		}
		for _, e := range b.Edges[group.Lo:group.Hi] {
			if span := &l.model.Layout.Edge[u.in.EdgeType(e)]; span.Untied {
				n += span.Copy()
			}
		}
	}
	return n
}

// makeResults allocates the results of a visit.
func (l *learner) makeResults() {
	l.results = make([]unitResult, len(l.resultRoom))
	for i, room := range l.resultRoom {
		l.results[i].tied = make([]float64, 0, room.groups*l.stride)
		l.results[i].untied = make([]float64, 0, room.untied)
	}
	l.fresh = make([]float64, 0, l.freshGroups*l.stride)
}

// resultsMemory lists what makeResults takes.
func (l *learner) resultsMemory(m *Memory) {
	groups, untied := float64(l.freshGroups), 0.0
	for _, room := range l.resultRoom {
		groups += float64(room.groups)
		untied += float64(room.untied)
	}
	m.Add("results of a visit", doubleBytes*(groups*float64(l.stride)+untied),
		"%d blocks and inferences at a time: %.0f contributions × %d numbers, and %.0f of untied weights, × 8 bytes", len(l.resultRoom), groups, l.stride, untied)
}

// makeWorkers makes the scratch of every goroutine.
func (l *learner) makeWorkers() {
	room := l.largestRoom()
	for range l.settings.Threads {
		w := &worker{space: &bp.Workspace{Times: l.times}, adjoint: &ground.Adjoint{}, logs: make([]float64, l.edgesTogether), belief: make([]float64, l.mostBeliefs())}
		if !l.visitsAtOnce() {
			w.space.Potentials.Reserve(room)
		}
		l.workers = append(l.workers, w)
	}
}

// largestRoom is that of any block.
func (l *learner) largestRoom() (room ground.Room) {
	for _, u := range l.units {
		for x := range u.part.Blocks {
			room = room.Max(ground.RoomOf(&l.model.Layout, u.in, &u.part.Blocks[x]))
		}
	}
	return room
}

// workersMemory lists what workers take when they have seen the largest block.
func (l *learner) workersMemory(m *Memory) {
	potentials := 0.0
	for _, b := range l.bundles {
		for _, u := range b.units {
			for x := range u.part.Blocks {
				block := &u.part.Blocks[x]
				potentials = max(potentials, bp.WorkspaceBytes(&l.model.Layout, u.in, u.net, block))
			}
		}
	}
	threads := float64(min(l.settings.Threads, len(l.resultRoom)))
	if l.visitsAtOnce() {
		m.Add("potentials of all blocks", l.atOnceMemory(), "tables of %d blocks that are visited at once, and what their visits need", l.blocks)
	} else {
		m.Add("potentials of a block", threads*potentials, "tables of the largest block of %d, and what its visit needs, for %.0f threads", l.blocks, threads)
	}
	m.Add("beliefs in the making", float64(l.settings.Threads)*doubleBytes*float64(l.mostBeliefs()), "%d numbers × 8 bytes, for %d threads", l.mostBeliefs(), l.settings.Threads)
}

// visit is one visit of some blocks, of which no two share an edge, in all units of
// a bundle.
type visit struct {
	bundle *bundle
	blocks []int
	limits bp.Limits
	// contribute: replace the gradient contributions after the sweeps.
	contribute bool
	// certify: contribute beliefs that are consistent, and so feasible in (2).
	certify bool
	// rough: messages lag by more than consistent beliefs could be near to those given.
	rough bool
	// remainder is the share of an edge's mass that consistent beliefs may leave to spread.
	remainder float64
	// nearly: contribute beliefs that are nearly so, for a gradient without noise.
	nearly bool
	// bounds: contribute parts of the upper bound, which nobody asks for between whole passes.
	bounds bool
	// split: find what a split adds to the bound, and do no more.
	split bool
	// until ends the visit between two sweeps, with what it has not contributed yet; nil: all
	// sweeps are made.
	until context.Context
	// resum: add up what sparse pairs of each block have kept, and do no more.
	resum bool
	jobs  []int32             // those that are done here
	first int                 // of the jobs at work, and ...
	from  int                 // ... the place in jobs of the first of them that is done here
	task  func(worker, i int) // in the place of a visit
}

// ended reports that the visit was.
func (v *visit) ended() bool { return v.until != nil && v.until.Err() != nil }

// job returns block and unit of a job: all units of the first block come first.
func (v *visit) job(i int) (block int, u *unit) {
	return v.blocks[i/len(v.bundle.units)], v.bundle.units[i%len(v.bundle.units)]
}

// visitReport is how a visit went.
type visitReport struct {
	sweeps    int     // largest number over the units
	residual  float64 // largest of the last sweeps
	first     float64 // largest of the first sweeps
	converged bool    // in every unit
	elements  int     // that contributed
	ended     bool    // by visit.until, between two sweeps
}

// visitBlocks grounds blocks in every unit of the bundle, sweeps over them, and
// replaces their contribution to the gradient in place:
//
//	(9)  g ← g + Σ_{entries of F_i} M (τ_new − τ_old)
func (l *learner) visitBlocks(v visit) (visitReport, error) {
	defer l.tellTimes()
	report, work := visitReport{converged: true}, 0
	if v.contribute || v.resum {
		defer l.addParts(&v)
	}
	jobs := len(v.blocks) * len(v.bundle.units)
	if l.atOnce != nil && !v.resum {
		if ended, err := l.sweepAtOnce(v); err != nil || ended {
			v.contribute, report.ended = false, ended
			return report, err
		}
	}
	v.jobs = l.executor.jobs(&v, jobs)
	contributes := v.contribute
	for lo := 0; lo < jobs && !report.ended; lo += atATime(jobs) {
		v.first = lo
		results, t := l.executor.visit(v, min(atATime(jobs), jobs-lo))
		if t.failed >= 0 {
			block, u := v.job(lo + t.failed)
			return report, l.locate(results[t.failed].err, u, block)
		}
		report.add(&t)
		work += t.work
		l.progress.Infeasible = l.progress.Infeasible || t.infeasible
		if report.ended {
			v.contribute = false // some have none
		}
		for i := range results {
			l.takeResult(&report, &v, lo+i, &results[i])
		}
	}
	v.contribute = contributes
	l.executor.endVisit(&v)
	l.progress.Passes += float64(work) / l.sweepWork
	l.progress.GradientPasses += float64(report.elements) / l.gradientWork
	return report, nil
}

// tally is how some jobs of a visit went, in numbers that do not depend on their order.
type tally struct {
	sweeps          int     // largest number
	work            int     // of all sweeps: see Block.Work
	residual, first float64 // largest
	converged       bool    // all
	infeasible      bool    // one
	failed          int     // number of the first, −1: none
	ended           bool    // the visit
}

// add adds job i.
func (t *tally) add(i int, s *unitResult) {
	t.sweeps, t.work = max(t.sweeps, s.outcome.Sweeps), t.work+s.outcome.Work
	t.residual, t.first = max(t.residual, s.outcome.Residual), max(t.first, s.outcome.First)
	t.converged, t.infeasible = t.converged && s.outcome.Converged, t.infeasible || s.infeasible
	if s.err != nil && t.failed < 0 {
		t.failed = i
	}
}

func (r *visitReport) add(t *tally) {
	r.sweeps, r.residual, r.first = max(r.sweeps, t.sweeps), max(r.residual, t.residual), max(r.first, t.first)
	r.converged, r.ended = r.converged && t.converged, r.ended || t.ended
}

// tellTimes adds up for Settings.PhaseTimes what phases have taken so far.
func (l *learner) tellTimes() {
	if l.times != nil {
		*l.settings.PhaseTimes = PhaseTimes{l.times.Spent, l.times.Count}
	}
}

// takeResult adds the result of a job; with the last unit of a block it replaces the
// block's contributions.
func (l *learner) takeResult(report *visitReport, v *visit, job int, s *unitResult) {
	block, u := v.job(job)
	if v.split {
		l.splitOf[block*len(v.bundle.units)+job%len(v.bundle.units)] = u.weight * s.split
	}
	if v.contribute {
		report.elements += u.part.Blocks[block].Elements()
		l.addUntiedChange(s, u, block)
	}
	part := v.partOf(block)
	if !v.contribute && !v.resum || !l.executor.has(v.bundle, part) {
		return
	}
	sum := l.parts.sumOf(part)
	if v.resum {
		l.resumBlock(sum, v.bundle, s, u, block)
		return
	}
	groups := v.bundle.touched[block]
	if u == v.bundle.units[0] {
		l.fresh = numeric.Resize(l.fresh, (len(groups)+v.bundle.sparseSlots(block))*l.stride)
		clear(l.fresh)
	}
	l.addTied(s, u)
	if u == v.bundle.units[len(v.bundle.units)-1] {
		l.addColumns()
		l.replaceContributions(sum, v.bundle, groups)
	}
}

// visitUnit is the part of a visit that one goroutine does for one unit and block.
func (l *learner) visitUnit(v *visit, workerIndex, i int) {
	if v.task != nil {
		v.task(workerIndex, i)
		return
	}
	w := l.workers[workerIndex]
	if l.space != nil {
		l.fetchAhead(w, v, v.from+i)
	}
	job := int(v.jobs[v.from+i])
	s := &l.results[job-v.first]
	blockIndex, u := v.job(job)
	block := &u.part.Blocks[blockIndex]
	s.outcome, s.split, s.infeasible, s.err = bp.Outcome{}, 0, false, nil
	if block.Elements() == 0 {
		s.tied, s.untied, s.outcome.Converged = s.tied[:0], s.untied[:0], true
		return
	}
	if v.split && !l.splitLater(u, blockIndex) {
		return
	}
	if v.resum {
		l.resumSparse(w, s, u, blockIndex)
		return
	}
	if l.atOnce != nil { // it was swept
		w.space, s.outcome = &l.atOnce.spaces[job], l.atOnce.results[job].outcome
	} else {
		if s.err = w.space.Ground(l.model, u.in, u.net, block); s.err != nil {
			return
		}
		if v.split {
			s.split, s.err = w.space.SplitValue(u.net, u.state, block, u.labels)
			return
		}
		if s.err = l.iterateBlock(w, s, v, u, block); s.err != nil || v.ended() {
			return
		}
	}
	if v.contribute {
		w.space.Times.Begin()
		w.certify, w.rough, w.remainder, w.nearly, w.bounds, w.split = v.certify, v.rough, v.remainder, v.nearly, v.bounds || v.certify, v.certify && l.splitAtOnce(u, blockIndex)
		s.err = l.contribute(w, s, v.bundle, u, blockIndex)
		w.space.Times.End(bp.PhaseGradient)
	}
}

// iterateBlock makes the sweeps of a visit of one block. But for visits of many sweeps that a time
// limit ends, and those of a run that saves no state, a block is finished: a state between two
// sweeps could not be resumed to the same bytes.
func (l *learner) iterateBlock(w *worker, s *unitResult, v *visit, u *unit, block *partition.Block) (err error) {
	until := v.until
	if until == nil {
		until = context.Background()
	}
	w.space.Times.Begin()
	s.outcome, err = w.space.Iterate(until, u.net, u.state, block, v.limits)
	w.space.Times.End(bp.PhaseSweep)
	return err
}

// contribute computes M τ, the sums of τ and the entropies of the groups that
// the block touches, from the beliefs as they are now.
func (l *learner) contribute(w *worker, s *unitResult, b *bundle, u *unit, blockIndex int) error {
	block := &u.part.Blocks[blockIndex]
	l.beginTied(s, u, len(b.touched[blockIndex])+b.sparseSlots(blockIndex))
	s.untied = s.untied[:0]
	if w.split {
		w.space.BeginSplit(u.net, block)
	}
	if l.visitsAtOnce() {
		return l.contributeAll(w, s, u, blockIndex)
	}
	for g := 0; g < len(block.Groups); g++ {
		group, slot := block.Groups[g], u.slots[blockIndex][g]
		if slot == isSparse {
			end, err := l.contributeSparse(w, s, u, blockIndex, g)
			if err != nil {
				return err
			}
			g = end - 1
			continue
		}
		contribution := s.tied[int(slot)*l.stride:][:l.stride]
		if g == 0 {
			l.contributeInside(w, s, u, contribution, blockIndex)
		}
		if err := l.contributeRange(w, s, u, contribution, blockIndex, int(group.Lo), int(group.Hi)); err != nil {
			return err
		}
		l.takeProduct(w, u, contribution)
		if w.split && g == len(block.Groups)-1 {
			contribution[l.crossAt()] += w.space.SplitNodes(u.net, u.state, block, u.labels)
		}
	}
	return nil
}

// contributeInside adds the nodes of the block.
func (l *learner) contributeInside(w *worker, s *unitResult, u *unit, contribution []float64, blockIndex int) {
	block := &u.part.Blocks[blockIndex]
	for lo, n := 0, len(block.Nodes); lo < n; {
		hi := ground.NodeRun(u.in, block.Nodes, lo, min(lo+ground.RowsPerBatch, n))
		l.contributeNodes(w, s, u, contribution, blockIndex, lo, hi)
		lo = hi
	}
	for t := range l.model.Layout.Node {
		if span := &l.model.Layout.Node[t]; !span.Untied {
			w.adjoint.Release(contribution[span.Part:][:span.Len], u.in, t)
		}
	}
}

// contributeRange adds the edges lo ≤ q < n of the block.
func (l *learner) contributeRange(w *worker, s *unitResult, u *unit, contribution []float64, blockIndex, lo, n int) error {
	block := &u.part.Blocks[blockIndex]
	for lo < n {
		hi := ground.EdgeRun(u.in, block.Edges, lo, min(lo+l.edgesTogether, n))
		if err := l.contributeEdges(w, s, u, contribution, blockIndex, lo, hi); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// takeProduct makes entropies of the free energies summed so far, which hold ⟨θ,τ⟩ as well: for tied
// weights it is the product with their gradient. Of consistent beliefs of edges they are entropies
// alone.
func (l *learner) takeProduct(w *worker, u *unit, contribution []float64) {
	contribution[l.entropyAt()] -= l.reachedProduct(u, contribution, w.certify)
}

// contributeNodes adds the nodes lo ≤ p < hi of the block, all of one type.
func (l *learner) contributeNodes(w *worker, s *unitResult, u *unit, contribution []float64, blockIndex, lo, hi int) {
	block := &u.part.Blocks[blockIndex]
	nodes := block.Nodes[lo:hi]
	t := u.in.NodeType(nodes[0])
	span := &l.model.Layout.Node[t]
	beliefs := w.belief[:len(nodes)*span.States]
	if l.columns[t] == nil {
		w.adjoint.PrefetchNodes(u.in, nodes)
	}
	free := w.space.NodeBeliefs(w.belief, moments(contribution, l.nodeMoment[t], span), u.net, u.state, block, lo, hi)
	contribution[l.entropyAt()] += free
	if w.bounds {
		contribution[l.crossAt()] += u.crossNodes(nodes, free)
	}
	if span.Untied {
		for i, node := range nodes {
			contribution[l.entropyAt()] -= l.takeUntied(s, span, u.in.NodeRow(node), beliefs[i*span.States:][:span.States])
		}
		return
	}
	if c := l.columns[t]; c != nil {
		c.keep(u, t, nodes, beliefs)
		return
	}
	w.adjoint.ScatterNodes(contribution[span.Part:][:span.Len], u.in, nodes, beliefs)
}

// contributeEdges adds the edges lo ≤ q < hi of the block, all of one type.
func (l *learner) contributeEdges(w *worker, s *unitResult, u *unit, contribution []float64, blockIndex, lo, hi int) error {
	block := &u.part.Blocks[blockIndex]
	edges := block.Edges[lo:hi]
	t := u.in.EdgeType(edges[0])
	span := &l.model.Layout.Edge[t]
	w.adjoint.PrefetchEdges(u.in, edges)
	beliefs := w.belief[:len(edges)*span.States]
	moment := moments(contribution, l.edgeMoment[t], span)
	if w.certify || w.nearly {
		moment = nil
	}
	free, err := l.edgeBeliefs(w, moment, u, block, lo, hi)
	if err != nil {
		return err
	}
	cross, err := w.crossEdges(u, block, lo, hi, beliefs, free)
	if err != nil {
		return err
	}
	if w.split {
		if err := w.space.AddSplit(beliefs, u.net, u.state, block, lo, hi); err != nil {
			return err
		}
	}
	if w.certify {
		var feasible bool
		if free, feasible, err = l.consistentEdges(w, beliefs, u, block, lo, hi); err != nil {
			return err
		}
		s.infeasible = s.infeasible || !feasible
		if u.byConsistent() {
			cross = w.freeEnergies(u, block, lo, beliefs)
		}
	}
	if w.certify || w.nearly {
		bp.AddRows(moments(contribution, l.edgeMoment[t], span), beliefs)
	}
	contribution[l.crossAt()] += cross
	contribution[l.entropyAt()] += free
	if span.Untied {
		for i, e := range edges {
			product := l.takeUntied(s, span, u.in.EdgeRow(e), beliefs[i*span.States:][:span.States])
			if !w.certify {
				contribution[l.entropyAt()] -= product
			}
		}
		return nil
	}
	w.adjoint.ScatterEdges(contribution[span.Part:][:span.Len], u.in, edges, beliefs)
	return nil
}

// edgeBeliefs writes the beliefs of the edges lo ≤ q < hi of the block, all of one type, to w.belief,
// adds them to sum unless that is nil, and returns their free energy. They are made consistent later,
// unless that is to be done nearly: the free energy is that of the messages all the same.
func (l *learner) edgeBeliefs(w *worker, sum []float64, u *unit, block *partition.Block, lo, hi int) (free float64, err error) {
	if w.nearly && !w.certify {
		return w.space.FeasibleEdges(w.belief, u.net, u.state, block, lo, hi, l.model.Layout.Masked)
	}
	return w.space.EdgeBeliefs(w.belief, sum, u.net, u.state, block, lo, hi)
}

// consistentEdges makes beliefs of edges consistent, and returns the sum of their ρ H(τ), and
// whether they are feasible.
func (l *learner) consistentEdges(w *worker, beliefs []float64, u *unit, block *partition.Block, lo, hi int) (entropy float64, feasible bool, err error) {
	if w.rough {
		return w.space.RoughlyConsistent(beliefs, u.net, u.state, block, lo, hi, l.model.Layout.Masked)
	}
	entropy, feasible = w.space.Consistent(beliefs, u.net, u.state, block, lo, hi, l.model.Layout.Masked, w.remainder)
	return entropy, feasible, nil
}

// moments returns where in a contribution the beliefs of a type are added up, nil for untied
// types.
func moments(contribution []float64, at int, span *crf.Span) []float64 {
	if span.Untied {
		return nil
	}
	return contribution[at:][:span.States]
}

// beliefsTogether bounds how many numbers the beliefs of edges have that are
// computed in one call: 32 KiB stay in the nearest cache, or in the second one.
const beliefsTogether = 4096

// edgesTogether returns how many edges are computed in one call: as many of the
// type with the largest tables.
func edgesTogether(m *crf.Model) int {
	return max(1, min(ground.RowsPerBatch, beliefsTogether/largestTable(m.Layout.Edge)))
}

// takeUntied appends the belief of every feature of an entry with its own weights, and returns
// its ⟨θ,τ⟩. Untied types have constant features, so M τ = τ for each.
func (l *learner) takeUntied(s *unitResult, span *crf.Span, row int, belief []float64) (product float64) {
	theta := l.model.Weights[span.At+row*span.Copy():][:span.Copy()]
	for j, weight := range theta {
		x := belief[j%span.States]
		s.untied = append(s.untied, x)
		product += weight * x
	}
	return product
}

// addUntiedChange adds to the total what a unit's untied beliefs have changed by.
func (l *learner) addUntiedChange(s *unitResult, u *unit, blockIndex int) {
	if len(s.untied) == 0 {
		return
	}
	block, next := &u.part.Blocks[blockIndex], s.untied
	apply := func(span *crf.Span, row int) {
		if !span.Untied {
			return
		}
		total, old := l.total[span.At+row*span.Copy():][:span.Copy()], u.untied[span.Part+row*span.Copy():]
		for j, x := range next[:len(total)] {
			total[j] += u.weight * (x - old[j])
			old[j] = x
		}
		next = next[len(total):]
	}
	for g, group := range block.Groups {
		if l.contributesLower(blockIndex, group.Other) {
			continue
		}
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

// replaceContributions puts the fresh contributions in the place of the old ones, and adds the
// differences to a sum.
func (l *learner) replaceContributions(sum []float64, b *bundle, groups []int32) {
	for i, id := range groups {
		fresh := l.fresh[i*l.stride:][:l.stride]
		old := b.contribution[int(id)*l.stride:][:l.stride]
		simd.AddScaled(sum, fresh, 1)
		simd.AddScaled(sum, old, -1)
		copy(old, fresh)
	}
	if rest := l.fresh[len(groups)*l.stride:]; len(rest) > 0 {
		simd.AddScaled(sum, rest, 1) // of the sparse pairs
	}
}

// tiedProduct returns ⟨θ, M τ⟩ over the tied weights of a contribution, or those of nodes.
func (l *learner) tiedProduct(contribution []float64, ofNodes bool) (product float64) {
	tied := l.tied
	if ofNodes {
		tied = tied[:l.tiedNodes]
	}
	for _, span := range tied {
		product += simd.Dot(l.model.Weights[span.At:][:span.Len], contribution[span.Part:])
	}
	return product
}

// resum computes the totals anew from the contributions: it takes out the
// rounding errors that replacing them has left.
func (l *learner) resum() {
	clear(l.total)
	clear(l.moments)
	for _, t := range l.checkSchedule {
		_, _ = l.visitBlocks(visit{bundle: l.bundles[t.bundle], blocks: t.blocks, resum: true}) // sums, which cannot fail
	}
	for _, u := range l.units {
		l.addUntied(u)
	}
	l.model.Layout.Symmetrise(l.total)
}

// resumBlock adds to a sum what a block has contributed: with its last unit the contributions that
// it was first to touch, and of each unit its sparse pairs.
func (l *learner) resumBlock(sum []float64, b *bundle, s *unitResult, u *unit, block int) {
	if len(s.tied) > 0 {
		simd.AddScaled(sum, s.tied, u.weight)
	}
	if u != b.units[len(b.units)-1] {
		return
	}
	for at := int(b.first[block]) * l.stride; at < int(b.first[block+1])*l.stride; at += l.stride {
		simd.AddScaled(sum, b.contribution[at:][:l.stride], 1)
	}
}

func (l *learner) addUntied(u *unit) {
	layout := &l.model.Layout
	for _, spans := range [2][]crf.Span{layout.Node, layout.Edge} {
		for _, span := range spans {
			if span.Untied {
				simd.AddScaled(l.total[span.At:][:span.Len], u.untied[span.Part:][:span.Len], u.weight)
			}
		}
	}
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

func addTo(dst, x []float64) { simd.AddScaled(dst, x[:len(dst)], 1) }
