package learn

import (
	"cmp"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/spill"
)

// inference is that of all networks, block by block: the units with their messages and contributions, the threads and
// processes that share the jobs of a visit, and the sums of what these contribute.
type inference struct {
	*trainingRun // problem, settings, model, progress, best
	unitSet      // units, blocks, parts, contribution
	schedule     schedule
	shape        *contributionLayout
	sums         aggregate
	holds        guarantees

	ranks       *ranks
	pool        *parallel.Pool[jobRound]
	workers     []*worker
	results     []jobResult // those of the jobs of a visit that are at work
	keptResults int         // how many results are kept at once
	partSums    partSums
	spilled     spilled   // what is kept between visits, where it is not in memory
	splitOf     []float64 // [jobs of all blocks] what splits add to F; nil: nothing, or it is found by unit.splitAtOnce

	samples                 float64 // N of (8): the sum of the samples' weights
	variables, links        float64 // mean numbers of variables and edges per sample
	sweepWork, gradientWork float64 // of one sweep, and one gradient, of everything: see measureWork
}

// planInference decides what a contribution looks like, what is visited together, and who does it. The order matters:
// jobs are divided by the length of a contribution, parts are made of all sets of blocks, and sets sorted by parts.
func planInference(p *Problem, s *Settings) (inf *inference, err error) {
	inf = &inference{trainingRun: planTrainingRun(p, s), samples: instances.TotalWeight(p.given().Data)}
	if inf.units, err = buildUnits(p, s, inf.samples); err != nil {
		return nil, err
	}
	inf.blocks = len(inf.units[0].partition.Blocks)
	inf.shape = layOut(&p.Model.Layout, inf.blocks)
	inf.sums = aggregate{shape: inf.shape, layout: &p.Model.Layout}
	inf.placeCutEdges()
	inf.divideUnits(inf.shape.stride)
	inf.schedule = newSchedule(&inf.unitSet, s)
	inf.planParts()
	inf.inOrder(inf.schedule.stepPass, s.team.Size())
	inf.inOrder(inf.schedule.wholePass, s.team.Size())
	inf.spilled = spilled{unitSet: &inf.unitSet, shape: inf.shape}
	inf.measureWork()
	inf.holds = findGuarantees(inf.units, inf.blocks)
	for _, u := range inf.units {
		c := u.net.Counting
		u.splits = inf.holds.certified && !c.Facts.Dual && c.Split != nil && u.reference != nil
	}
	return inf, nil
}

// allocate makes room for the vectors over all weights, contributions, results, scratch, and what units remember, with
// so many copies of messages.
func (inf *inference) allocate(copies int) error {
	if err := inf.spilled.begin(inf.settings.Spill, copies); err != nil {
		return err
	}
	inf.sums.allocate()
	inf.contribution = spill.Zeros[float64](inf.spilled.space, inf.blocks*inf.shape.stride)
	for _, u := range inf.units {
		u.allocate(&inf.model.Layout, inf.spilled.space, inf.shape.cutNumbers(u))
	}
	inf.ranks.begin()
	inf.results = make([]jobResult, inf.keptResults)
	for i := range inf.results {
		inf.results[i].inside = make([]float64, inf.shape.stride)
		inf.results[i].cut = make([]float64, numeric.OneIf(inf.shape.keepsCut())*inf.shape.stride)
	}
	inf.partSums.allocate(inf.shape.stride)
	if inf.blocks > 1 && slices.ContainsFunc(inf.units, func(u *unit) bool { return u.splits }) {
		inf.splitOf = make([]float64, inf.blocks*inf.perBlock())
	}
	inf.makeWorkers()
	return nil
}

// makeWorkers makes the scratch of every goroutine.
func (inf *inference) makeWorkers() {
	var room ground.Room // of any block
	for _, u := range inf.units {
		for x := range u.partition.Blocks {
			room = room.Max(ground.RoomOf(&inf.model.Layout, u.in, &u.partition.Blocks[x]))
		}
	}
	for range inf.settings.Threads {
		w := &worker{
			shape: inf.shape, model: inf.model, loss: inf.problem.Loss,
			space: &bp.Workspace{}, adjoint: &ground.Adjoint{},
			logs: make([]float64, inf.shape.edgesTogether), belief: make([]float64, inf.shape.mostBeliefs),
		}
		w.space.Potentials.Reserve(room)
		inf.workers = append(inf.workers, w)
	}
}

// planParts deals jobs to parts, by their work, unit by unit, and block by block. A set of blocks stands for the whole
// network, so that a visit has jobs in all parts, and a process has blocks, and units, that follow each other.
func (inf *inference) planParts() {
	inf.parts = make([]int32, inf.blocks*len(inf.units))
	total, done := 0.0, 0.0
	eachJob := func(do func(parts []int32, work float64)) {
		for share := range inf.perBlock() {
			for block := range inf.blocks {
				lo, hi, work := inf.unitBounds[share], inf.unitBounds[share+1], 0.0
				for _, u := range inf.units[lo:hi] {
					work += float64(1 + u.partition.Blocks[block].Work())
				}
				do(inf.parts[block*len(inf.units):][lo:hi], work)
			}
		}
	}
	eachJob(func(_ []int32, work float64) { total += work })
	eachJob(func(parts []int32, work float64) {
		for i := range parts {
			parts[i] = int32((done + work/2) / total * mostParts)
		}
		done += work
	})
	for _, blocks := range slices.Concat(inf.schedule.stepPass, inf.schedule.wholePass) {
		inf.partSums.begin(&inf.unitSet, blocks)
		inf.partSums.perVisit = max(inf.partSums.perVisit, len(inf.partSums.touched))
		inf.keptResults = max(inf.keptResults, inf.atATime(blocks))
	}
}

// measureWork finds what one sweep and one gradient of everything cost, and the mean numbers of variables and edges.
// With blocks a pass costs more than one gradient, as both blocks of a cut edge ground it and compute its belief, and
// visits with a step cost more than one sweep, as they also send messages out of their block.
func (inf *inference) measureWork() {
	for _, u := range inf.units {
		inf.sweepWork += float64(u.work())
		inf.gradientWork += float64(u.partition.Elements())
		if u.isFree() {
			for s := range int32(u.in.Graph.NumNodes()) {
				inf.variables += u.nodeWeight(s)
			}
			inf.links += u.weight * float64(u.in.Graph.NumEdges())
		}
	}
}

// passWork returns about how many multiplications a pass of iterations takes: those of
// features with weights and beliefs, and of tables in two sweeps in two directions.
func (inf *inference) passWork() (work float64) {
	const products = 4
	edges, counts := inf.model.Layout.Edge, make([][]int, len(inf.units))
	inf.each(len(inf.units), func(_, i int) {
		u := inf.units[i]
		counts[i] = make([]int, len(edges))
		for b := range u.partition.Blocks {
			for _, e := range u.partition.Blocks[b].Edges {
				counts[i][u.in.EdgeType(e)]++
			}
		}
	})
	for i, u := range inf.units {
		for t, n := range counts[i] {
			work += float64(n) * float64(edges[t].States) * float64(products+2*ground.UsedFeatures(&inf.model.Layout, u.in, t))
		}
	}
	return work
}

// each calls do for all i < n, on all threads where there are any yet.
func (inf *inference) each(n int, do func(worker, i int)) {
	if inf.pool != nil {
		inf.pool.Run(jobRound{task: do}, n)
		return
	}
	parallel.Serially(n, do)
}

// unitError is an error of inference in a block of a unit. diagnosis.locate puts it in words.
type unitError struct {
	err   error
	unit  *unit
	block int
}

func (e *unitError) Error() string { return e.err.Error() }
func (e *unitError) Unwrap() error { return e.err }

// visit grounds blocks in every unit, sweeps over them, and replaces what they contribute in place, as in (9). That is
// in the totals, of which aggregate.estimate makes the gradient: Σ M τ ← Σ M τ + Σ_{entries of F_i} M (τ_new − τ_old).
func (inf *inference) visit(v visit) (visitReport, error) {
	report := visitReport{tally: nothingYet}
	if v.kind.sums() {
		inf.partSums.begin(&inf.unitSet, v.blocks)
		// Also where the visit fails or is ended: what was taken of it until then is in the contributions already, and the
		// totals have to follow, in all processes.
		defer inf.addParts(&v)
	}
	jobs, atATime := inf.jobsOf(v.blocks), inf.atATime(v.blocks)
	mine := inf.ranks.jobs(&v, jobs)
	for lo := 0; lo < jobs; lo += atATime {
		results, t := inf.ranks.doJobs(jobRound{visit: v, jobs: mine, firstJob: lo}, min(atATime, jobs-lo))
		if t.failed >= 0 {
			block, _, _ := inf.job(v.blocks, lo+t.failed)
			s := &results[t.failed]
			return report, &unitError{s.err, inf.units[s.failed], block}
		}
		report.merge(&t)
		inf.progress.Pass.Infeasible = inf.progress.Pass.Infeasible || t.infeasible
		if report.ended {
			break // some jobs have contributed nothing, and so no result of this round is taken
		}
		for i := range results {
			inf.takeResult(&report, &v, lo+i, &results[i])
		}
	}
	inf.ranks.endVisit(&v)
	inf.progress.Sweeps += float64(report.work) / inf.sweepWork
	inf.progress.Gradients += float64(report.elements) / inf.gradientWork
	return report, nil
}

// visitJob does a job, the visit of one block in some units, or another task, in one goroutine.
func (inf *inference) visitJob(v *jobRound, workerIndex, i int) {
	if v.task != nil {
		v.task(workerIndex, i)
		return
	}
	w := inf.workers[workerIndex]
	inf.spilled.fetchAhead(&w.pages, v, v.from+i)
	job := int(v.jobs[v.from+i])
	block, lo, hi := inf.job(v.blocks, job)
	s := &inf.results[job-v.firstJob]
	s.begin(&v.visit)
	w.visit, w.result, w.number = &v.visit, s, block
	for j := lo; j < hi && s.err == nil && !v.ended(); j++ {
		if u := inf.units[j]; u.partition.Blocks[block].Elements() > 0 {
			w.unit, w.block, w.scale = u, &u.partition.Blocks[block], u.weight/inf.weight(lo)
			s.failed, s.err = j, w.visitUnit()
		}
	}
	if v.kind.contributes() {
		w.takeEntropy()
	}
}

// takeResult adds what the result of a job changes to the sum of its part, and puts the block's new contribution in the
// place of the old one. The totals change in addParts; only those of untied weights do so at once.
func (inf *inference) takeResult(report *visitReport, v *visit, job int, s *jobResult) {
	block, lo, hi := inf.job(v.blocks, job)
	units := inf.units[lo:hi]
	if v.kind == splitVisit {
		inf.splitOf[inf.placeOfJob(v.blocks, job)] = s.split
	}
	if v.kind.contributes() {
		for _, u := range units {
			report.elements += u.partition.Blocks[block].Elements()
		}
		inf.sums.addUntied(s.untied, units, block)
	}
	part := inf.partOf(block)
	if !v.kind.sums() || !inf.ranks.has(part) {
		return
	}
	at, _ := slices.BinarySearch(inf.partSums.touched, part)
	sum, inside := inf.partSums.sums[at], inf.contribution[block*inf.shape.stride:][:inf.shape.stride]
	weight := inf.weight(lo)
	if inf.shape.keepsCut() {
		simd.AddScaled(sum, s.cut, weight)
	}
	if v.kind.contributes() {
		if lo == 0 {
			simd.AddScaled(sum, inside, -1)
			clear(inside)
		}
		simd.AddScaled(inside, s.inside, weight)
	}
	if hi == len(inf.units) {
		simd.AddScaled(sum, inside, 1)
	}
}

// addParts adds the sums of a visit to the totals.
func (inf *inference) addParts(v *visit) {
	p := &inf.partSums
	p.own = p.own[:0]
	for i, part := range p.touched {
		if inf.ranks.has(part) {
			p.own = append(p.own, p.sums[i])
		}
	}
	if inf.oneUnit() {
		inf.ranks.sumParts(p)
	} else {
		copy(p.total, p.own[0])
	}
	inf.sums.add(p.total)
	if v.kind != sumVisit {
		inf.model.Layout.Symmetrise(inf.sums.total)
	}
}

// sumContributions computes the totals anew from all contributions: it takes out what rounding visits have left.
func (inf *inference) sumContributions() {
	clear(inf.sums.total)
	clear(inf.sums.moments)
	for _, blocks := range inf.schedule.wholePass {
		_, _ = inf.visit(visit{kind: sumVisit, blocks: blocks}) // sums, which cannot fail
	}
	for _, u := range inf.units {
		for _, span := range allSpans(&inf.model.Layout) {
			if span.Untied {
				simd.AddScaled(inf.sums.total[span.At:][:span.Len], u.untied[span.Part:][:span.Len], u.weight)
			}
		}
	}
	inf.model.Layout.Symmetrise(inf.sums.total)
}

// upperBound returns F, once every block was visited at the present weights, by visits that contribute terms of F.
func (inf *inference) upperBound() (float64, error) {
	theta := inf.model.Weights
	value := inf.problem.L2/2*simd.Dot(theta, theta) + inf.sums.bound()
	if !inf.referenceIsData() {
		for i, x := range theta {
			value += x * (inf.sums.reference[i] - inf.sums.data[i])
		}
	}
	if len(inf.splitOf) == 0 {
		return value, nil
	}
	clear(inf.splitOf)
	for _, blocks := range inf.schedule.wholePass {
		if _, err := inf.visit(visit{kind: splitVisit, blocks: blocks}); err != nil {
			return 0, err
		}
	}
	for _, x := range inf.splitOf { // in the order of blocks, whatever that of visits
		value += x
	}
	return value, nil
}

// addLabels adds up the statistics of the labels.
func (inf *inference) addLabels() {
	p := inf.problem
	a := instances.Labels{Model: inf.model, Data: p.Data, ClassWeights: p.ClassWeights, Total: inf.samples,
		Adder: instances.Adder{Each: inf.each, Group: inf.ranks}}
	for _, w := range inf.workers {
		a.Adjoints = append(a.Adjoints, w.adjoint)
	}
	inf.sums.data = p.Statistics
	if inf.sums.data == nil {
		inf.sums.data = a.Observed()
	}
	inf.sums.magnitude = a.Magnitude(inf.sums.data)
	inf.sums.reference = inf.sums.data
	if inf.referenceIsData() {
		return
	}
	of := make([][]*unit, len(p.Data))
	for _, u := range inf.units {
		of[u.instance] = append(of[u.instance], u)
	}
	inf.sums.reference = a.Sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		for _, u := range of[i] {
			if u.reference != nil {
				add.AddChange(sum, inf.model, u.in, r, u.net.Observed, u.reference, u.weight)
			}
		}
	})
}

// referenceIsData reports that the labellings of the upper bound are all the labels there are.
func (inf *inference) referenceIsData() bool {
	return inf.problem.Statistics == nil && !slices.ContainsFunc(inf.units, func(u *unit) bool {
		return u.weight < 0 || u.reference == nil || len(u.in.Samples()) > 1
	})
}

// statistics are what a step rule may know of the data.
func (inf *inference) statistics() *instances.Statistics {
	free := map[*crf.Instance]*unit{}
	for _, u := range inf.units {
		if u.isFree() {
			free[u.in] = u
		}
	}
	return &instances.Statistics{
		Layout: &inf.model.Layout, Data: inf.problem.Data, Given: inf.problem.Statistics,
		Adder: instances.Adder{Each: inf.each, Group: inf.ranks},
		Scales: func(in *crf.Instance) (node, edge func(int32) float64) {
			u := free[in]
			c := u.net.Counting
			return func(s int32) float64 { return u.nodeCurvature(s) / c.Rho[s] },
				func(e int32) float64 { return u.edgeCurvature(e) / c.Edge[e] }
		},
	}
}

// newSample prepares to measure a Hessian of stars, from the blocks of this process in the order of their parts.
func (inf *inference) newSample() *linear.Sample {
	type owned struct {
		part int32
		linear.SampleBlock
	}
	var all []owned
	for at, part := range inf.parts {
		u, block := inf.jobAt(at)
		if !u.isFree() || !inf.ranks.Owns(part) {
			continue
		}
		all = append(all, owned{part, linear.SampleBlock{
			Unit: u.linear(), Block: &u.partition.Blocks[block], Number: uint64(at + 1),
			NodeCurvature: u.nodeCurvature, EdgeCurvature: u.edgeCurvature,
		}})
	}
	slices.SortStableFunc(all, func(a, b owned) int { return cmp.Compare(a.part, b.part) })
	blocks := make([]linear.SampleBlock, len(all))
	for i := range all {
		blocks[i] = all[i].SampleBlock
	}
	return linear.NewSample(inf.model, blocks, inf.ranks, inf.each, inf.settings.Threads)
}

// newResponse returns the linear response of all units, which gives the exact Hessian; nil if that is too much work.
func (inf *inference) newResponse() *linear.Response {
	if inf.model.Layout.Size > linear.MaxDense {
		return nil
	}
	return linear.NewResponse(inf.model, numeric.Map(inf.units, (*unit).linear), inf.passWork())
}

// slack is how far above the first objective another one may be before it counts as worse. Residuals of the checks that
// found the two leave each unknown by about as much per variable, and by 1e-6 even where messages have settled.
func (inf *inference) slack(residuals ...float64) float64 {
	return (1e-6 + numeric.Sum(residuals)) * (math.Abs(inf.progress.FirstObjective) + inf.variables)
}

// stateBytes is the memory of contributions, and of messages and beliefs with so many copies. A plan knows it too.
func (inf *inference) stateBytes(copies int) int64 {
	bytes := 8 * inf.blocks * inf.shape.stride
	for _, u := range inf.units {
		bytes += (1+copies)*u.net.Bytes() + 8*(inf.model.Layout.UntiedSize+inf.shape.cutNumbers(u))
	}
	return int64(bytes)
}
