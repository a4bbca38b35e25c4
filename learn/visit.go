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
	space    *bp.Workspace
	adjoint  *ground.Adjoint
	belief   []float64 // of nodes or edges computed together
	logs     []float64 // beliefs of labels, then their logarithms
	scratch  []float64 // for an entropy
	features []float64 // of an entry with its own weights
	places   []int32   // of cut edges
	pages    spill.Pages
	visit    *visit  // at work
	scale    float64 // weight of the unit at work over that of the job
	split    bool    // what a split adds to the bound is found beside
}

// jobResult is what a job adds to the gradient, a block visited in some of the units, and how that went.
type jobResult struct {
	inside []float64 // [stride] contribution of the block, of units as of the weight of the job
	cut    []float64 // [stride] what its cut edges change; empty where there are none
	// freeEnergy is Σ c H(τ), and ⟨θ,τ⟩ of all but consistent edges until takeEntropy.
	freeEnergy float64
	untied     []float64 // untied beliefs of one unit after the other, in the order of the block's nodes and edges
	outcome    bp.Outcome
	split      float64 // adds to the bound
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
func (j *unitSet) divideUnits(stride int) {
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
func (j *unitSet) perBlock() int { return len(j.shares) - 1 }

// weight is the factor by which the sums of a job enter the totals: that of its first unit, or 1 if that is 0. Other
// units are scaled relatively to it (worker.scale).
func (j *unitSet) weight(first int) float64 { return cmp.Or(j.units[first].weight, 1) }

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
	var room ground.Room // of any block
	for _, u := range l.units {
		for x := range u.partition.Blocks {
			room = room.Max(ground.RoomOf(&l.model.Layout, u.in, &u.partition.Blocks[x]))
		}
	}
	for range l.settings.Threads {
		w := &worker{
			space: &bp.Workspace{}, adjoint: &ground.Adjoint{},
			logs: make([]float64, l.edgesTogether), belief: make([]float64, l.mostBeliefs()),
		}
		w.space.Potentials.Reserve(room)
		l.workers = append(l.workers, w)
	}
}

// visitKind is what a visit does.
type visitKind int

// The first three kinds sweep over the blocks, and then put new contributions to the gradient in the place of the old
// ones. The others make no sweep.
const (
	stepVisit       visitKind = iota // of Algorithm 2: contributes the beliefs that belong to the messages
	forestVisit                      // the same with parts of F: on forests such beliefs are consistent
	consistentVisit                  // contributes consistent beliefs, which are feasible in (2), and parts of F
	splitVisit                       // finds what splits of counting numbers add to F
	sumVisit                         // adds up the beliefs of cut edges
)

// contributes reports whether a visit of this kind makes new contributions.
func (k visitKind) contributes() bool { return k <= consistentVisit }

// bounds reports whether these have parts of F.
func (k visitKind) bounds() bool { return k == forestVisit || k == consistentVisit }

// visit is one visit of some blocks, of which no two share an edge, in all units.
type visit struct {
	kind   visitKind
	blocks []int
	limits bp.Limits
	// remainder is the share of an edge's mass that consistent beliefs may leave to spread.
	remainder float64
	// until ends the visit between two sweeps, with what it has not contributed yet; nil: all sweeps are made.
	until    context.Context
	jobs     []int32             // those that are done here
	firstJob int                 // job of this round, of all processes
	from     int                 // the place in jobs of the first one of this round that is done here
	task     func(worker, i int) // in the place of a visit
}

// ended reports that the visit was.
func (v *visit) ended() bool { return v.until != nil && v.until.Err() != nil }

// jobsOf is how many jobs visit some blocks.
func (j *unitSet) jobsOf(blocks []int) int { return len(blocks) * j.perBlock() }

// job returns the block of a job, and the units lo ≤ j < hi in which it is visited: all jobs of the first block come
// first.
func (j *unitSet) job(blocks []int, i int) (block, lo, hi int) {
	n := j.perBlock()
	return blocks[i/n], j.shares[i%n], j.shares[i%n+1]
}

// placeOfJob is that of a job among those of all blocks.
func (j *unitSet) placeOfJob(blocks []int, job int) int {
	n := j.perBlock()
	return blocks[job/n]*n + job%n
}

// atATime is how many jobs are done before their results are taken: those of some blocks, whole ones, and as many each
// time, but for the last.
func (j *unitSet) atATime(blocks []int) int {
	most := max(1, resultsAtATime/j.perBlock())
	times := (len(blocks) + most - 1) / most
	return (len(blocks) + times - 1) / times * j.perBlock()
}

// visitReport is how a visit went.
type visitReport struct {
	tally
	elements int // that contributed
}

// visitBlocks grounds blocks in every unit, sweeps over them, and replaces their contribution to the gradient in place:
//
//	(9)  g ← g + Σ_{entries of F_i} M (τ_new − τ_old)
func (l *learner) visitBlocks(v visit) (visitReport, error) {
	report := visitReport{tally: nothingYet}
	if v.kind != splitVisit {
		l.parts.begin(&l.unitSet, v.blocks)
		defer l.addParts(&v)
	}
	jobs, atATime := l.jobsOf(v.blocks), l.atATime(v.blocks)
	v.jobs = l.ranks.jobs(&v, jobs)
	for lo := 0; lo < jobs; lo += atATime {
		v.firstJob = lo
		results, t := l.ranks.visit(v, min(atATime, jobs-lo))
		if t.failed >= 0 {
			block, _, _ := l.job(v.blocks, lo+t.failed)
			s := &results[t.failed]
			return report, l.locate(s.err, l.units[s.failed], block)
		}
		report.merge(&t)
		l.progress.Pass.Infeasible = l.progress.Pass.Infeasible || t.infeasible
		if report.ended {
			break // some jobs have contributed nothing, and so no result of this round is taken
		}
		for i := range results {
			l.takeResult(&report, &v, lo+i, &results[i])
		}
	}
	l.ranks.endVisit(&v)
	l.progress.Sweeps += float64(report.work) / l.sweepWork
	l.progress.Gradients += float64(report.elements) / l.gradientWork
	return report, nil
}

// tally is how some jobs of a visit went, in numbers that do not depend on their order.
type tally struct {
	sweeps                  int     // largest number over the units
	work                    int     // of all sweeps: see Block.Work
	residual, firstResidual float64 // largest of the last sweeps, and of the first ones
	converged               bool    // in every unit
	infeasible              bool    // in one
	failed                  int     // number of the first job that did, −1: none
	ended                   bool    // by visit.until, between two sweeps
}

var nothingYet = tally{converged: true, failed: -1}

// add adds job i.
func (t *tally) add(i int, s *jobResult) {
	o := &s.outcome
	job := tally{o.Sweeps, o.Work, o.Residual, o.FirstResidual, o.Converged, s.infeasible, -1, false}
	if s.err != nil {
		job.failed = i
	}
	t.merge(&job)
}

// merge adds other jobs.
func (t *tally) merge(o *tally) {
	t.sweeps, t.work = max(t.sweeps, o.sweeps), t.work+o.work
	t.residual, t.firstResidual = max(t.residual, o.residual), max(t.firstResidual, o.firstResidual)
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
	if v.kind == splitVisit {
		l.splitOf[l.placeOfJob(v.blocks, job)] = s.split
	}
	if v.kind.contributes() {
		for _, u := range units {
			report.elements += u.partition.Blocks[block].Elements()
		}
		l.addUntiedChange(s, units, block)
	}
	part := l.partOf(block)
	if v.kind == splitVisit || !l.ranks.has(part) {
		return
	}
	at, _ := slices.BinarySearch(l.parts.touched, part)
	sum, inside := l.parts.sums[at], l.contribution[block*l.stride:][:l.stride]
	weight := l.weight(lo)
	if l.keepsCut() {
		simd.AddScaled(sum, s.cut, weight)
	}
	if v.kind.contributes() {
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
	s := &l.results[job-v.firstJob]
	s.begin(v)
	w.visit = v
	for j := lo; j < hi && s.err == nil && !v.ended(); j++ {
		if u := l.units[j]; u.partition.Blocks[block].Elements() > 0 {
			w.scale = u.weight / l.weight(lo)
			s.failed, s.err = j, l.visitUnit(w, s, u, block, job)
		}
	}
	if v.kind.contributes() {
		l.takeEntropy(s, v.kind)
	}
}

// begin empties a result.
func (s *jobResult) begin(v *visit) {
	*s = jobResult{inside: s.inside, cut: s.cut, untied: s.untied[:0], outcome: bp.Outcome{Converged: true}}
	if v.kind != splitVisit {
		clear(s.inside)
		clear(s.cut)
	}
}

// visitUnit visits a block in one unit.
func (l *learner) visitUnit(w *worker, s *jobResult, u *unit, blockIndex, job int) (err error) {
	v, block := w.visit, &u.partition.Blocks[blockIndex]
	if v.kind == sumVisit {
		l.sumCut(w, s, u, blockIndex)
		return nil
	}
	if v.kind == splitVisit && (!l.splits(u) || l.splitAtOnce(u, blockIndex)) {
		return nil
	}
	if err := w.space.Ground(l.model, u.in, u.net, u.state, block); err != nil {
		return err
	}
	l.addLoss(w, u, block)
	if v.kind == splitVisit {
		value, err := w.space.SplitValue(u.net, u.state, block, u.labels)
		s.split += u.weight * value
		return err
	}
	if err := l.iterateBlock(w, s, u, block); err != nil || v.ended() {
		return err
	}
	w.split = v.kind == consistentVisit && l.splitAtOnce(u, blockIndex)
	return l.contribute(w, s, u, blockIndex)
}

// addLoss adds Problem.Loss to the potentials of wrong labels.
func (l *learner) addLoss(w *worker, u *unit, block *partition.Block) {
	if l.problem.Loss == 0 {
		return
	}
	pot := &w.space.Potentials
	for p, s := range block.Nodes {
		own := pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]]
		right := own[u.labels[s]]
		for x := range own {
			own[x] += l.problem.Loss
		}
		own[u.labels[s]] = right
	}
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
	all.Residual, all.FirstResidual = max(all.Residual, o.Residual), max(all.FirstResidual, o.FirstResidual)
	return err
}
