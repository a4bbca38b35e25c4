package learn

import (
	"cmp"
	"context"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/spill"
)

// worker is the scratch of one goroutine.
type worker struct {
	space   *bp.Workspace
	adjoint *ground.Adjoint
	belief  []float64 // of nodes or edges computed together
	logs    []float64 // beliefs of labels, then their logarithms
	scratch []float64 // for an entropy
	places  []int32   // of cut edges
	pages   spill.Pages
	visit   *visit  // at work
	scale   float64 // weight of the unit at work over that of the job
	bounds  bool    // parts of the upper bound are found beside
	split   bool    // what a split adds to the bound is found beside
}

// jobResult is what a job adds to the gradient, a block visited in some of the units, and how that went.
type jobResult struct {
	inside  []float64 // [stride] contribution of the block, of units as of the weight of the job
	cut     []float64 // [stride] what its cut edges change; empty where there are none
	untied  []float64 // untied beliefs of one unit after the other, in the order of the block's nodes and edges
	outcome bp.Outcome
	split   float64 // adds to the bound
	// infeasible: no consistent beliefs were found.
	infeasible bool
	err        error
	failed     int // unit that err is of
}

// resultsAtATime bounds how many results are kept before they are added up. They are added in the order of the jobs,
// whatever the threads.
const resultsAtATime = 256

// Units share the result of a job where one for each would have more than resultNumbers, down to leastShares jobs a
// block: with the many features of texts, of which a sentence has few, going over all weights takes longer than
// inference. More threads than leastShares have nothing to do there.
const (
	resultNumbers = 1 << 22
	leastShares   = 8
)

// divideUnits deals the units to jobs, which have about as much work each.
func (j *jobs) divideUnits(stride int) {
	n := min(len(j.units), resultsAtATime, max(leastShares, resultNumbers/stride))
	total, done := 0, 0
	for _, u := range j.units {
		total += 1 + u.work()
	}
	j.shares = append(j.shares[:0], 0)
	for i, u := range j.units {
		// As many units are left as shares, at least.
		if i > 0 && (done*n >= len(j.shares)*total || len(j.units)-i <= n-len(j.shares)) && len(j.shares) < n {
			j.shares = append(j.shares, i)
		}
		done += 1 + u.work()
	}
	j.shares = append(j.shares, len(j.units))
}

// perBlock returns how many jobs visit a block.
func (j *jobs) perBlock() int { return len(j.shares) - 1 }

// weight is the factor by which the sums of a job enter the totals: that of its first unit, or 1 if that is 0. Other
// units are scaled relatively to it (worker.scale).
func (j *jobs) weight(first int) float64 { return cmp.Or(j.units[first].weight, 1) }

// planResults finds how many results a visit has at a time.
func (l *learner) planResults() {
	for _, blocks := range slices.Concat(l.schedule, l.whole) {
		l.mostResults = max(l.mostResults, l.atATime(blocks))
	}
}

// makeResults allocates the results of a visit.
func (l *learner) makeResults() {
	l.results = make([]jobResult, l.mostResults)
	for i := range l.results {
		l.results[i].inside, l.results[i].cut = make([]float64, l.stride), make([]float64, oneIf(l.keepsCut())*l.stride)
	}
}

// makeWorkers makes the scratch of every goroutine.
func (l *learner) makeWorkers() {
	room := l.largestRoom()
	for range l.settings.Threads {
		w := &worker{
			space: &bp.Workspace{}, adjoint: &ground.Adjoint{},
			logs: make([]float64, l.edgesTogether), belief: make([]float64, l.mostBeliefs()),
		}
		w.space.Potentials.Reserve(room)
		l.workers = append(l.workers, w)
	}
}

// largestRoom is that of any block.
func (l *learner) largestRoom() (room ground.Room) {
	for _, u := range l.units {
		for x := range u.partition.Blocks {
			room = room.Max(ground.RoomOf(&l.model.Layout, u.in, &u.partition.Blocks[x]))
		}
	}
	return room
}

// visit is one visit of some blocks, of which no two share an edge, in all units.
type visit struct {
	blocks []int
	limits bp.Limits
	// contribute: replace the gradient contributions after the sweeps.
	contribute bool
	// certify: contribute beliefs that are consistent, and so feasible in (2).
	certify bool
	// remainder is the share of an edge's mass that consistent beliefs may leave to spread.
	remainder float64
	// bounds: contribute parts of the upper bound, which nobody asks for between whole passes.
	bounds bool
	// split: find what a split adds to the bound, and do no more.
	split bool
	// until ends the visit between two sweeps, with what it has not contributed yet; nil: all
	// sweeps are made.
	until context.Context
	// resum: add up what cut edges have kept, and do no more.
	resum bool
	jobs  []int32             // those that are done here
	first int                 // job of this round, of all processes
	from  int                 // the place in jobs of the first one of this round that is done here
	task  func(worker, i int) // in the place of a visit
}

// ended reports that the visit was.
func (v *visit) ended() bool { return v.until != nil && v.until.Err() != nil }

// number is how many jobs visit some blocks.
func (j *jobs) number(blocks []int) int { return len(blocks) * j.perBlock() }

// job returns the block of a job, and the units lo ≤ j < hi in which it is visited: all jobs of the first block come
// first.
func (j *jobs) job(blocks []int, i int) (block, lo, hi int) {
	n := j.perBlock()
	return blocks[i/n], j.shares[i%n], j.shares[i%n+1]
}

// place is that of a job among those of all blocks.
func (j *jobs) place(blocks []int, job int) int {
	n := j.perBlock()
	return blocks[job/n]*n + job%n
}

// atATime is how many jobs are done before their results are taken: those of some blocks, whole ones, and as many each
// time, but for the last.
func (j *jobs) atATime(blocks []int) int {
	most := max(1, resultsAtATime/j.perBlock())
	times := (len(blocks) + most - 1) / most
	return (len(blocks) + times - 1) / times * j.perBlock()
}

// visitReport is how a visit went.
type visitReport struct {
	tally
	elements int // that contributed
}

// visitBlocks grounds blocks in every unit, sweeps over them, and
// replaces their contribution to the gradient in place:
//
//	(9)  g ← g + Σ_{entries of F_i} M (τ_new − τ_old)
func (l *learner) visitBlocks(v visit) (visitReport, error) {
	report := visitReport{tally: nothingYet}
	if v.contribute || v.resum {
		l.parts.begin(&l.jobs, v.blocks)
		defer l.addParts(&v)
	}
	jobs, atATime, contributes := l.number(v.blocks), l.atATime(v.blocks), v.contribute
	v.jobs = l.ranks.jobs(&v, jobs)
	for lo := 0; lo < jobs && !report.ended; lo += atATime {
		v.first = lo
		results, t := l.ranks.visit(v, min(atATime, jobs-lo))
		if t.failed >= 0 {
			block, _, _ := l.job(v.blocks, lo+t.failed)
			s := &results[t.failed]
			return report, l.locate(s.err, l.units[s.failed], block)
		}
		report.merge(&t)
		l.progress.Pass.Infeasible = l.progress.Pass.Infeasible || t.infeasible
		if report.ended {
			v.contribute = false // some have none, and so no block of these is taken
		}
		for i := range results {
			l.takeResult(&report, &v, lo+i, &results[i])
		}
	}
	v.contribute = contributes
	l.ranks.endVisit(&v)
	l.progress.Passes += float64(report.work) / l.sweepWork
	l.progress.GradientPasses += float64(report.elements) / l.gradientWork
	return report, nil
}

// tally is how some jobs of a visit went, in numbers that do not depend on their order.
type tally struct {
	sweeps          int     // largest number over the units
	work            int     // of all sweeps: see Block.Work
	residual, first float64 // largest of the last sweeps, and of the first ones
	converged       bool    // in every unit
	infeasible      bool    // in one
	failed          int     // number of the first job that did, −1: none
	ended           bool    // by visit.until, between two sweeps
}

var nothingYet = tally{converged: true, failed: -1}

// add adds job i.
func (t *tally) add(i int, s *jobResult) {
	o := &s.outcome
	job := tally{o.Sweeps, o.Work, o.Residual, o.First, o.Converged, s.infeasible, -1, false}
	if s.err != nil {
		job.failed = i
	}
	t.merge(&job)
}

// merge adds other jobs.
func (t *tally) merge(o *tally) {
	t.sweeps, t.work = max(t.sweeps, o.sweeps), t.work+o.work
	t.residual, t.first = max(t.residual, o.residual), max(t.first, o.first)
	t.converged, t.infeasible, t.ended = t.converged && o.converged, t.infeasible || o.infeasible, t.ended || o.ended
	if o.failed >= 0 && (t.failed < 0 || o.failed < t.failed) {
		t.failed = o.failed
	}
}

// takeResult adds the result of a job to the sum of its part, and puts what the block has inside in the place of what
// it had there.
func (l *learner) takeResult(report *visitReport, v *visit, job int, s *jobResult) {
	block, lo, hi := l.job(v.blocks, job)
	units := l.units[lo:hi]
	if v.split {
		l.splitOf[l.place(v.blocks, job)] = s.split
	}
	if v.contribute {
		for _, u := range units {
			report.elements += u.partition.Blocks[block].Elements()
		}
		l.addUntiedChange(s, units, block)
	}
	part := l.partOf(block)
	if !v.contribute && !v.resum || !l.ranks.has(part) {
		return
	}
	sum, inside := l.parts.sumOf(part), l.contribution[block*l.stride:][:l.stride]
	weight := l.weight(lo)
	if l.keepsCut() {
		simd.AddScaled(sum, s.cut, weight)
	}
	if v.contribute {
		if lo == 0 {
			simd.AddScaled(sum, inside, -1)
			clear(inside)
		}
		simd.AddScaled(inside, s.inside, weight)
	}
	if hi == len(l.units) {
		simd.AddScaled(sum, inside, 1)
	}
}

// visitJob is the part of a visit that one goroutine does for some units and one block.
func (l *learner) visitJob(v *visit, workerIndex, i int) {
	if v.task != nil {
		v.task(workerIndex, i)
		return
	}
	w := l.workers[workerIndex]
	if l.space != nil {
		l.fetchAhead(w, v, v.from+i)
	}
	job := int(v.jobs[v.from+i])
	block, lo, hi := l.job(v.blocks, job)
	s := &l.results[job-v.first]
	s.begin(v)
	w.visit = v
	for j := lo; j < hi && s.err == nil && !v.ended(); j++ {
		if u := l.units[j]; u.partition.Blocks[block].Elements() > 0 {
			w.scale = u.weight / l.weight(lo)
			s.failed, s.err = j, l.visitUnit(w, s, u, block, job)
		}
	}
	if v.contribute {
		l.takeProduct(s, v.certify)
	}
}

// begin empties a result.
func (s *jobResult) begin(v *visit) {
	s.outcome, s.split, s.infeasible, s.err, s.untied = bp.Outcome{Converged: true}, 0, false, nil, s.untied[:0]
	if v.contribute || v.resum {
		clear(s.inside)
		clear(s.cut)
	}
}

// visitUnit visits a block in one unit.
func (l *learner) visitUnit(w *worker, s *jobResult, u *unit, blockIndex, job int) (err error) {
	v, block := w.visit, &u.partition.Blocks[blockIndex]
	if v.resum {
		l.resumCut(w, s, u, blockIndex)
		return nil
	}
	if v.split && !l.splitLater(u, blockIndex) {
		return nil
	}
	if err := w.space.Ground(l.model, u.in, u.net, u.state, block); err != nil {
		return err
	}
	if v.split {
		value, err := w.space.SplitValue(u.net, u.state, block, u.labels)
		s.split += u.weight * value
		return err
	}
	if err := l.iterateBlock(w, s, u, block); err != nil || v.ended() {
		return err
	}
	if v.contribute {
		w.bounds, w.split = v.bounds || v.certify, v.certify && l.splitAtOnce(u, blockIndex)
		err = l.contribute(w, s, u, blockIndex)
	}
	return err
}

// iterateBlock makes the sweeps of a visit of one block. But for visits of many sweeps that a time
// limit ends, and those of a run that saves no state, a block is finished: a state between two
// sweeps could not be resumed to the same bytes.
func (l *learner) iterateBlock(w *worker, s *jobResult, u *unit, block *partition.Block) error {
	until := w.visit.until
	if until == nil {
		until = context.Background()
	}
	o, err := w.space.Iterate(until, u.net, u.state, block, w.visit.limits)
	all := &s.outcome
	all.Sweeps, all.Work, all.Converged = max(all.Sweeps, o.Sweeps), all.Work+o.Work, all.Converged && o.Converged
	all.Residual, all.First = max(all.Residual, o.Residual), max(all.First, o.First)
	return err
}
