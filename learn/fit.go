package learn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/simd"
)

// Fit minimises the objective of p. It returns a *DivergedError where the run got worse instead of better; a run that
// reached a limit, or was interrupted through ctx, is a Result with the Status that says so.
func Fit(ctx context.Context, p Problem, settings Settings) (*Result, error) {
	began := time.Now()
	s, err := settings.resolve(&p)
	if err != nil {
		return nil, err
	}
	s.MaxTime = time.Duration(s.team.Number(float64(s.MaxTime))) // less what each has spent before
	if s.unlabelled != nil {
		p.Model = s.unlabelled.Begin(p.Model, p.Data, s.Seed)
	}
	if s.Method.Local() {
		return fitLocal(ctx, &p, &s, began)
	}
	l, err := newLearner(&p, &s)
	if err != nil {
		return nil, err
	}
	defer l.close()
	if l.auto != nil {
		defer l.auto.forget() // the caller keeps the rule, and with it all that it refers to
	}
	if s.Resume != nil {
		// Files that are written over next were read by all.
		if err := s.team.Common(l.restore(s.Resume), ErrState); err != nil {
			return nil, err
		}
		l.ranks.exchangeAll(true)
		if l.copies() && l.descends() && !l.leftAccepted() {
			l.saveMessages()
		}
		s.Resume = nil // it was copied: let the memory go
	}
	return l.run(ctx, began)
}

// progress is where a run stands: with the weights, messages and contributions, all that a resumed run needs.
type progress struct {
	Iterations   int
	Sweeps       float64 // messages of all edges, once; with a local objective, evaluations of it
	CheckSweeps  float64
	Gradients    float64
	Seconds      float64 // before the last start
	CheckSeconds float64

	FirstNorm      float64 // ‖∇L‖₂ at the start
	FirstObjective float64
	FirstResidual  float64 // of the inference there
	Objective      float64
	GradientNorm   float64
	Upper          float64 // F, NaN where blocks were visited at different weights
	Lower          float64 // bound of the smallest objective, at first that of known labels, 0, or of means, −∞
	SmallPromises  int     // steps in a row that promised little, and
	Promised       float64 // the most that one did
	Point          point   // of the weights at hand
	Worse          int     // pass ends in a row above the first objective
	LastCheck      int
	FailedChecks   int
	FellBack       bool // to the start, in the final checks

	NextEvaluation float64 // sweeps
	BestValue      float64
	SinceBest      int

	// Damping of the messages, for inference that need not converge without, and what decides it.
	MessageDamping float64
	Circling       circling

	Pass     passState
	Accepted passState // what the pass found that accepted the origin of descent's line
	Check    checkProgress
	Status   Status
	Reason   string
}

// point says which weights there are: those of the start, those of the n-th step that descent has accepted, n > 0, or
// those of a step that nothing has judged.
type point int

const (
	startPoint point = 0
	unjudged   point = -1
)

// run counts the seconds since started.
func (l *learner) run(ctx context.Context, started time.Time) (*Result, error) {
	before := l.progress.Seconds
	if l.settings.Checkpoint == nil && !l.replicated() {
		l.stopped = ctx
	}
	l.clock = started.Add(-time.Duration(before * float64(time.Second)))
	l.paced, l.paceFrom = false, l.pace()
	nextCheckpoint := started.Add(l.firstPause())
	if l.progress.Status.Stationary() && !l.progress.Check.Active { // a resumed run that had nothing left to do
		l.estimate() // the gradient is in no state
		return l.finish(l.progress.Status)
	}
	for {
		l.progress.Seconds = l.seconds()
		if l.settings.team.Any(ctx.Err() != nil) {
			l.progress.Reason = "interrupted"
			return l.finish(Interrupted)
		}
		if l.worthSaving() && l.settings.team.Number(float64(oneIf(time.Now().After(nextCheckpoint) ||
			l.settings.checkpointNow()))) > 0 {
			now := time.Now()
			if err := l.checkpoint(); err != nil {
				return nil, err
			}
			nextCheckpoint = time.Now().Add(l.settings.checkpointPause(time.Since(now)))
		}
		var done bool
		var err error
		if checks := l.progress.Check.Active; checks || l.descends() {
			if done, err = l.visitInPass(); checks {
				l.progress.CheckSeconds += l.seconds() - l.progress.Seconds
			}
		} else {
			err = l.iterate()
		}
		l.progress.Seconds = l.seconds()
		if err != nil {
			return nil, err
		}
		if done {
			return l.finish(l.progress.Status)
		}
	}
}

// replicated reports that several processes do all of the same work, each for itself. A clock or a
// context of one may not end a visit there: its messages would be others than those of the rest.
func (l *learner) replicated() bool {
	return l.ranks.size < l.settings.team.Size()
}

// interrupted reports that a run that saves no state was.
func (l *learner) interrupted() bool {
	return l.stopped != nil && l.settings.team.Any(l.stopped.Err() != nil)
}

// iterate is one iteration of the paper's Algorithm 2: a visit, and a step of the weights.
func (l *learner) iterate() error {
	blocks := l.pick()
	v := visit{blocks: blocks, limits: l.innerLimits(), until: l.stopped}
	if l.settings.MaxTime > 0 && v.limits.MaxSweeps > wholeSweeps && !l.clock.IsZero() && !l.replicated() {
		deadline := l.clock.Add(l.settings.latest(l.endSeconds()))
		until, stop := context.WithDeadline(cmp.Or(v.until, context.Background()), deadline)
		defer stop()
		v.until = until
	}
	report, err := l.visitBlocks(v)
	if err != nil {
		return err
	}
	if report.ended && l.interrupted() {
		return nil
	}
	if report.ended { // a longer run goes on with the messages as they are
		l.sumContributions() // cut edges have kept beliefs that the visit has not added
		l.progress.Seconds = l.seconds()
		l.progress.Status, l.progress.Reason = l.settings.timeIsOver(&l.progress)
		return l.startFinalCheck()
	}
	// Automatic steps begin descent in here, at the end of a pass: descends reports true from then on.
	size, err := l.step()
	if err != nil || l.progress.Check.Active {
		return err
	}
	pass := &l.progress.Pass
	pass.see(report.firstResidual)
	if (l.progress.Iterations+1)%l.perPass() == 0 {
		pass.end()
		l.dampMessages(size == 0)
	}
	return l.endIteration(blocks[0], size, &report)
}

// allBlocks stands for the block of an iteration that has visited all.
const allBlocks = -1

// endIteration counts and records an iteration, with a step of some size, and looks what is due.
func (l *learner) endIteration(block int, size float64, report *visitReport) error {
	p := &l.progress
	l.model.Layout.Symmetrise(l.model.Weights) // without what rounding has left
	p.Iterations++
	event := Event{
		Iteration: p.Iterations, Block: block, Step: size,
		Objective: p.Objective, GradientNorm: p.GradientNorm, Suboptimality: l.suboptimality(),
		Sweeps: report.sweeps, Residual: report.residual,
	}
	if err := l.evaluate(&event); err != nil {
		return err
	}
	if err := l.record(event); err != nil {
		return err
	}
	if err := l.checkFinite(block); err != nil {
		return err
	}
	if !l.paced {
		l.paced, l.paceFrom = true, l.pace()
	}
	if whole := l.descends(); whole || p.Iterations%l.perPass() == 0 {
		if err := l.judgePass(block); err != nil {
			return err
		}
		if !whole && p.Iterations/l.perPass()%sumEvery == 0 {
			l.sumContributions()
		}
	}
	return l.lookAtLimits()
}

// lookAtLimits ends the run with a last check where a limit is reached.
func (l *learner) lookAtLimits() error {
	p := &l.progress
	p.Seconds = l.seconds()
	if p.Status, p.Reason = l.settings.limitReached(p, l.endSeconds()); p.Status != "" {
		return l.startFinalCheck()
	}
	return nil
}

// step moves the weights after a visit, or starts the check of a claim.
func (l *learner) step() (size float64, err error) {
	l.progress.Objective, l.progress.GradientNorm = l.estimate()
	l.progress.Upper, l.progress.Pass.Momentum = math.NaN(), 0
	if l.progress.GradientNorm <= l.checkBelow() && l.progress.Iterations-l.progress.LastCheck >= l.perPass() {
		l.startCheck(checkConvergence)
		return 0, nil
	}
	l.progress.Point = unjudged // descent, if it begins now, says more
	return l.settings.Step.Step(l.model.Weights, l.gradient), nil
}

// pick returns what this iteration visits.
func (l *learner) pick() blockSet {
	i := l.progress.Iterations % l.perPass()
	if l.settings.RandomOrder {
		i = l.random.IntN(l.perPass())
	}
	l.position = i
	return l.schedule[i]
}

// perPass returns the number of iterations that visit everything once.
func (l *learner) perPass() int { return len(l.schedule) }

func (l *learner) innerLimits() bp.Limits {
	limits := bp.Limits{
		Tolerance: l.settings.InnerTolerance, MaxSweeps: l.settings.InnerSweeps, Damping: l.progress.MessageDamping,
		NoProx: l.isSmall(), Outward: true,
	}
	if l.settings.Method == InnerDual {
		limits.MaxSweeps = 1
	}
	limits.Turns = l.forests && limits.MaxSweeps >= exactSweeps
	return limits
}

// checkBelow returns the aggregated gradient norm at which a check is worth its cost. Stale contributions can make the
// norm look smaller than it is, so each check that failed asks for a smaller one.
func (l *learner) checkBelow() float64 {
	share, _ := l.shareOfCheck()
	return l.tolerance() * share
}

// shareOfCheck is the share of the tolerance at which the next check of a claim begins. Below the smallest it is not
// the gradient that keeps claims from holding.
func (l *learner) shareOfCheck() (share float64, smallest bool) {
	const least = 0.01
	share = math.Pow(0.5, float64(l.progress.FailedChecks))
	return max(share, least), share <= least
}

// roundingShare of the norm of the data's statistics M w̄, with hidden labels taken for
// the first, is the smallest gradient norm that means anything: rounding leaves about as much in their difference to
// the model's. Without it a run that starts at its optimum would never end.
const roundingShare = 1e-13

// asked returns the gradient norm that the settings demand of a claim. tolerance, which may be smaller, is where a
// check begins and is decided, so that the suboptimality falls below Settings.Gap, too.
func (l *learner) asked() float64 {
	return max(l.settings.GradientTolerance, l.settings.RelativeTolerance*l.progress.FirstNorm, roundingShare*l.magnitude)
}

func (l *learner) tolerance() float64 {
	asked, value := l.asked(), l.progress.Upper
	if math.IsNaN(value) {
		value = l.progress.Objective // about as large
	}
	if l2 := l.problem.L2; l2 > 0 && l.certified && math.Abs(value) <= math.MaxFloat64 {
		asked = max(min(asked, gradientFor(l.settings.Gap*(1+math.Abs(value)), l2)), roundingShare*l.magnitude)
	}
	return asked
}

// sumEvery is the number of passes of single visits after which totals are summed anew; whole passes do so each time.
const sumEvery = 16

// wholePassSeconds is what a whole pass takes, as the last one has, if there was one.
func (l *learner) wholePassSeconds() float64 {
	if l.passSeconds > 0 {
		return l.passSeconds
	}
	if now, from := l.pace(), l.paceFrom; now.work > from.work {
		// A sweep takes about as long as what follows sweeps; a checked one somewhat longer.
		return (wholeSweeps + 1) * (now.seconds - from.seconds) / (now.work - from.work)
	}
	return 0
}

// pace is how far a run has come in which time: work is sweeps and gradients.
type pace struct{ seconds, work float64 }

func (l *learner) pace() pace {
	return pace{l.seconds(), l.progress.Sweeps + l.progress.Gradients}
}

// endSeconds is what the end of the run will take, at least: a checkpoint and a pass, of the final check or, where that
// has nothing to find, the one that may begin; or the rest of the pass at work.
func (l *learner) endSeconds() float64 {
	seconds := 0.0
	switch at := l.progress.Pass.Next; {
	case at > 0 && l.canFinishPass():
		seconds = l.wholePassSeconds() * float64(len(l.whole)-at) / float64(len(l.whole))
	case at == 0 || !l.knowsAccepted():
		seconds = l.wholePassSeconds()
	}
	if l.savesInTime() {
		seconds += l.savingSeconds()
	}
	return seconds
}

// seconds is how long the run has taken until now, in all processes the same: what it decides they do together.
func (l *learner) seconds() float64 {
	if l.clock.IsZero() { // it does not run
		return l.progress.Seconds
	}
	return l.settings.team.Number(time.Since(l.clock).Seconds())
}

// overTime and overSeconds are how much longer than its limit a run may take for its end, as a
// share or, where that is more, in seconds. Reading data and the report come on top: a process
// is to end within a tenth of the limit, and 2 seconds, more.
const overTime, overSeconds = 0.07, 1.0

// longest returns how long a run may take, with its end; 0: as long as it takes.
func (s *Settings) longest() float64 {
	limit := s.MaxTime.Seconds()
	if limit == 0 {
		return 0
	}
	return limit + max(overTime*limit, overSeconds)
}

// takeAccepted goes back to the accepted weights of the automatic rule, where those at hand are of a step that it may
// yet refuse. Weights for which convergence is about to be claimed stay. At a limit of time the final
// check may be the only one (fallBack), and is at the weights of the smallest F.
func (l *learner) takeAccepted() {
	if c := &l.progress.Check; c.Active && c.Purpose == checkConvergence {
		return
	}
	weights, at := l.weightsToEndWith(l.progress.Status)
	copy(l.model.Weights, weights)
	l.progress.Point = at
}

// weightsToEndWith are those that takeAccepted goes back to, or those at hand.
func (l *learner) weightsToEndWith(status Status) ([]float64, point) {
	if l.auto == nil {
		return l.model.Weights, l.progress.Point
	}
	d := l.auto.descent
	if status == TimeLimit && !math.IsInf(l.least(), 1) {
		return d.lowest, d.lowestPoint
	}
	if d.onLine() {
		return d.origin, d.originPoint
	}
	return l.model.Weights, l.progress.Point
}

// canFinishPass reports that a whole pass is at work which a limit of time leaves to the final check, as its first: the
// run ends with the weights of this pass.
func (l *learner) canFinishPass() bool {
	_, end := l.weightsToEndWith(TimeLimit)
	return l.descends() && !l.progress.Check.Active && l.progress.Pass.Next > 0 && l.convexNumbers &&
		end == l.progress.Point
}

// limitReached returns the status and the inequality that end the run, or nothing: those of a limit, of early stopping,
// or of steps that promise little, which endRun confirms or withdraws; its end takes so many seconds. But for these,
// and the limit of time, it depends on the state alone, so that a resumed run ends where the first one did unless its
// limits were raised.
func (s *Settings) limitReached(p *progress, end float64) (Status, string) {
	switch {
	case p.SmallPromises >= smallPromises && p.Promised <= s.enoughPromised(p):
		return StationaryPoint, fmt.Sprintf("the last %d steps promise at most %.2g, where %s may be left", smallPromises,
			p.Promised, s.enoughText(p))
	case s.EarlyStop != nil && p.SinceBest >= s.EarlyStop.Patience:
		return EarlyStopped, fmt.Sprintf("%s did not improve on %.6g for %d evaluations ≥ patience %d",
			s.EarlyStop.Metric, p.BestValue, p.SinceBest, s.EarlyStop.Patience)
	case s.MaxIterations > 0 && p.Iterations >= s.MaxIterations:
		return IterationLimit, fmt.Sprintf("iterations %d ≥ limit %d", p.Iterations, s.MaxIterations)
	case p.Sweeps >= s.MaxPasses:
		return PassLimit, fmt.Sprintf("passes %.4g ≥ limit %.4g", p.Sweeps, s.MaxPasses)
	case s.MaxTime > 0 && p.Seconds >= s.latest(end).Seconds():
		return s.timeIsOver(p)
	}
	return "", ""
}

// latest returns when learning has to end, in the time of the run, for an end of so many seconds.
func (s *Settings) latest(end float64) time.Duration {
	// A limit near the longest duration has no share more: only what is shorter is a duration.
	if seconds := s.longest() - end; seconds < s.MaxTime.Seconds() {
		return time.Duration(seconds * float64(time.Second))
	}
	return s.MaxTime
}

// timeIsOver is limitReached for the limit of time.
func (s *Settings) timeIsOver(p *progress) (Status, string) {
	with := ""
	if p.Seconds < s.MaxTime.Seconds() {
		with = ", with another pass,"
	}
	return TimeLimit, fmt.Sprintf("seconds %.4g%s ≥ limit %.4g", p.Seconds, with, s.MaxTime.Seconds())
}

// checkFinite stops the run at the first weight that is not a number.
func (l *learner) checkFinite(block int) error {
	if w := l.model.Weights; simd.Dot(w, w) <= math.MaxFloat64 {
		return nil // none is a NaN or infinite
	}
	for i, w := range l.model.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return &DivergedError{Iteration: l.progress.Iterations, Block: block,
				Reason: fmt.Sprintf("weight %s became %v; %s", l.model.WeightName(i), w, l.remedy())}
		}
	}
	return nil
}

// worsePasses is how many pass ends in a row may lie above the objective of the start before a run counts as diverged;
// the estimate uses stale beliefs, so one alone proves little.
const worsePasses = 5

// judgePass compares the objective at a pass end with the start.
func (l *learner) judgePass(block int) error {
	f, first := l.progress.Objective, l.progress.FirstObjective
	below := l.belowZero(f)
	if f > first+l.slack(l.progress.FirstResidual) || below {
		l.progress.Worse++
	} else {
		l.progress.Worse = 0
	}
	if l.settings.Step.Guarded() || l.progress.Worse < worsePasses {
		return nil
	}
	reason := fmt.Sprintf("the objective is %.6g, above %.6g at the start; %s", f, first, l.remedy())
	if below {
		reason = fmt.Sprintf("the running objective stays below zero (%.6g), where no objective can be: beliefs do not "+
			"follow the weights; %s", f, l.remedy())
	}
	return &DivergedError{Iteration: l.progress.Iterations, Block: block, Reason: reason}
}

// belowZero reports a running objective that no true one can have: with every label observed the labelling itself,
// whose entropy is zero, is feasible in the free energy (2), so that L ≥ 0. Stale beliefs lead there where steps are so
// long that a block's beliefs never see the weights they are used with. Means that were given may be those of no
// distribution, and L of any value.
func (l *learner) belowZero(objective float64) bool {
	if l.problem.Statistics != nil {
		return false
	}
	for _, u := range l.units {
		if u.weight < 0 {
			return false
		}
	}
	return objective < -l.slack()
}

// slack is the rise over the first objective that proves nothing: what the messages of a check still change by, 1e-6
// even where they settled, leaves the objective unknown by about as much per variable. A first objective may be zero.
func (l *learner) slack(residuals ...float64) float64 {
	unknown := 1e-6
	for _, r := range residuals {
		unknown += r
	}
	return unknown * (math.Abs(l.progress.FirstObjective) + l.variables)
}

// remedy names the likely cause of divergence and what to try.
func (l *learner) remedy() string {
	if l.settings.Step.Guarded() {
		if l.convexNumbers {
			return "the inference within it probably needs longer: try more passes, or a larger l2"
		}
		return "the inference within it probably does not converge: try counting numbers that are convex, or a larger l2"
	}
	return fmt.Sprintf("the step %v is probably too large: try auto, or a smaller one", l.settings.Step)
}

// worthSaving reports a state that may replace the checkpoint before it: at the end of a pass that did not go wrong, or
// while a claim of convergence is checked. A final check is not saved: a longer run goes on from the state before it.
func (l *learner) worthSaving() bool {
	if c := &l.progress.Check; c.Active {
		return c.Purpose == checkConvergence
	}
	if l.descends() {
		return l.progress.Pass.Next == 0 && l.auto.descent.passesHere == 0
	}
	return l.progress.Worse == 0 && l.progress.Iterations%l.perPass() == 0
}

// Bounds of the time between checkpoints where the user names none: often, as long
// as saving takes but a small part of the run.
const (
	pausePerSave  = 100 // in terms of the time that saving took
	shortestPause = time.Second
	longestPause  = 10 * time.Minute
)

// checkpointPause returns how long to wait after a checkpoint that took so long.
func (s *Settings) checkpointPause(took time.Duration) time.Duration {
	if every := s.CheckpointEvery; every > 0 {
		return every
	}
	return min(max(pausePerSave*took, shortestPause), longestPause)
}

func (s *Settings) checkpointNow() bool { return s.CheckpointNow != nil && s.CheckpointNow() }

// assumedSaving is how many bytes a second a checkpoint takes, before one was made.
const assumedSaving = 5e8

// savingSeconds is what a checkpoint may take.
func (l *learner) savingSeconds() float64 {
	if l.settings.Checkpoint == nil {
		return 0
	}
	return float64(l.stateBytes()) / assumedSaving
}

// firstPause returns how long the first checkpoint waits: it is due at once, as long as that
// is a small part of what would be lost.
func (l *learner) firstPause() time.Duration {
	pause := time.Duration(pausePerSave * l.savingSeconds() * float64(time.Second))
	if l.settings.CheckpointEvery > 0 || pause < shortestPause {
		return 0
	}
	return min(pause, longestPause)
}

func (l *learner) checkpoint() error {
	if l.settings.Checkpoint == nil {
		return nil
	}
	l.readApart(false)
	defer l.readApart(true)
	return l.ranks.save(l.settings.Checkpoint)
}

// finish makes the result. An interrupted run saves its state first.
func (l *learner) finish(status Status) (*Result, error) {
	// The state before a final check was saved already; one within it would not be what a longer run goes on from.
	if inFinalCheck := l.progress.Check.Active && l.progress.Check.Purpose == checkFinal; status == Interrupted &&
		!inFinalCheck {
		if err := l.checkpoint(); err != nil {
			return nil, err
		}
	}
	check := &l.progress.Check
	r := l.result(status)
	if l.recalled {
		r.Checked, l.gradient = false, nil
	}
	r.Gradient, r.Convex, r.ConvexCounting, r.StateBytes = l.gradient, l.convex, l.convexNumbers, l.stateBytes()
	if r.Checked {
		r.Gap, r.Residual, r.InferenceConverged = l.progress.Pass.Gap, l.progress.Pass.Residual, check.Certain
		r.Suboptimality = l.suboptimality()
		if !r.InferenceConverged {
			r.Unsettled = l.where(l.whole[l.progress.Pass.WorstAt])
		}
		r.Damping, r.Separable = l.progress.MessageDamping, l.separable()
		if math.IsNaN(r.Objective) || math.IsInf(r.Objective, 0) {
			return nil, &DivergedError{Iteration: l.progress.Iterations,
				Reason: fmt.Sprintf("the objective at the final weights is %v; %s", r.Objective, l.remedy())}
		}
		if first := l.progress.FirstObjective; l.worseThanStart() && status != EarlyStopped && l.progress.Iterations > 0 {
			return nil, &DivergedError{Iteration: l.progress.Iterations,
				Reason: fmt.Sprintf("the objective at the final weights is %.6g, above %.6g at the start; %s", r.Objective,
					first, l.remedy())}
		}
	}
	return r, nil
}
