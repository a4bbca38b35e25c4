package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
)

// A check infers the whole network with the weights held still: passes over all
// blocks until the messages have settled, then one visit of every block that
// replaces its contributions. Afterwards gradient and objective are exact. It runs
// block by block like learning itself, so that it can be interrupted and resumed.
//
// The check of a claim of convergence makes one sweep a visit and replaces the
// contributions in each, so that it sees the gradient settle and ends as soon as
// that has decided the claim (verdict). Messages would have to settle for much
// longer before their residual alone told as much.

type checkPurpose string

const (
	checkInitial     checkPurpose = "initial"     // the exact gradient to start from
	checkConvergence checkPurpose = "convergence" // before claiming convergence
	checkFinal       checkPurpose = "final"       // of a run that another limit ended
)

// checkProgress is where a check stands.
type checkProgress struct {
	Active       bool         `json:"active"`
	Purpose      checkPurpose `json:"purpose"`
	Next         int          `json:"next"` // bundle·D + block
	Passes       int          `json:"passes"`
	Residual     float64      `json:"-" bits:"check_residual"` // of the pass before
	Current      float64      `json:"-" bits:"check_current"`  // largest of this pass so far
	Smallest     float64      `json:"-" bits:"check_smallest"`
	SmallestAt   int          `json:"smallest_at"`
	Damping      float64      `json:"-" bits:"check_damping"`
	GradientOnly bool         `json:"gradient_only"`
	// Carried: messages were carried on in this check.
	Carried bool `json:"carried"`
	// Settled: what is left of the inference is too little to matter.
	Settled bool `json:"settled"`
	// Change and ChangeBefore are those of the gradient in the last two passes.
	Change       float64 `json:"-" bits:"check_change"`
	ChangeBefore float64 `json:"-" bits:"check_change_before"`
	// Rise and RiseBefore are the sizes of the objective's.
	Rise       float64 `json:"-" bits:"check_rise"`
	RiseBefore float64 `json:"-" bits:"check_rise_before"`
	// WorstAt is the visit with the largest residual in this pass, Worst; in the visits
	// for the gradient it stays that of the last pass with sweeps.
	Worst   float64 `json:"-" bits:"check_worst"`
	WorstAt int     `json:"worst_at"`

	// Gap is between dual and primal, summed over the visits for the gradient as the
	// free energy is.
	Gap        float64 `json:"-" bits:"check_gap"`
	FreeEnergy float64 `json:"-" bits:"check_free_energy"`
	Primal     float64 `json:"-" bits:"check_primal"`
	Dual       float64 `json:"-" bits:"check_dual"`
}

const (
	// checkSweeps is how many sweeps a visit makes before it goes to the next
	// block: more would work against messages that are out of date.
	checkSweeps = 3
	// maxCheckPasses ends a check whose messages do not settle.
	maxCheckPasses = 300
	// finalTolerance is that of the check at the end of a run that a limit ended
	// before it converged: its objective is asked for to fewer digits, and its user
	// asked for an end, so that it takes no more than finalShare of the passes made
	// so far, or minFinalPasses.
	finalTolerance = 1e-6
	finalShare     = 0.1
	minFinalPasses = 10
	// claimShare of the passes of learning so far, or minClaimPasses, is what the check of
	// a claim of convergence may take.
	claimShare     = 0.5
	minClaimPasses = 30
	// minTimedPasses is minFinalPasses where the limit was one of time.
	minTimedPasses = 4
	// checkShare of the gradient tolerance per root variable is what messages may
	// still change by; slow inference has a few hundred times that ahead of it.
	checkShare                  = 0.003
	tightestCheck, loosestCheck = 1e-12, 1e-6
	// strictestClaim is the largest change of a message in the last pass with which
	// convergence is claimed where messages ascend no dual, and can have other things in
	// store. Elsewhere it is tightClaim, and after patience passes of a check claimWay times
	// the relative tolerance, up to loosestClaim: in states that have no probability
	// messages go on for thousands of passes, of which neither the gradient nor the
	// objective nor the gap sees anything.
	strictestClaim           = 1e-6
	claimWay                 = 500
	tightClaim, loosestClaim = 1e-5, 0.05
	patience                 = 15
	// checkStall is how many passes may bring no smaller residual before messages
	// are damped, where convergence is not certain anyway.
	checkStall = 10
)

// checkTolerance is the residual that a check asks for: small enough for the
// gradient tolerance to mean something.
func (l *learner) checkTolerance() float64 {
	if l.progress.Check.Purpose == checkFinal {
		return finalTolerance
	}
	perVariable := l.tolerance() / math.Sqrt(max(1, l.variables))
	if math.IsNaN(perVariable) {
		perVariable = math.Inf(1) // the first gradient is not known yet
	}
	return max(tightestCheck, min(loosestCheck, checkShare*perVariable))
}

func (l *learner) maxCheckPasses() int {
	if l.progress.Check.Purpose == checkFinal {
		least := minFinalPasses
		if l.progress.Status == TimeLimit {
			least = minTimedPasses
		}
		return min(max(least, int(finalShare*l.progress.Passes/checkSweeps)), maxCheckPasses)
	}
	if l.progress.Check.Purpose == checkConvergence {
		return min(max(minClaimPasses, int(claimShare*(l.progress.Passes-l.progress.CheckPasses))), maxCheckPasses)
	}
	return maxCheckPasses
}

// checkPause returns how many passes learning makes before the next check: after one
// that could not decide, half as many as it took, so that slow messages do not spend
// the run on checks.
func (l *learner) checkPause() int {
	if c := &l.progress.Check; c.Purpose == checkConvergence && !c.Settled {
		return max(1, c.Passes/2)
	}
	return 1
}

func (l *learner) startCheck(purpose checkPurpose) {
	l.progress.Momentum.pause()
	l.progress.Check = checkProgress{Active: true, Purpose: purpose, Smallest: math.Inf(1), Damping: l.progress.Damping}
}

// checkStep visits the next blocks of a check. It reports true when the run is
// over.
func (l *learner) checkStep() (done bool, err error) {
	c := &l.progress.Check
	set := &l.checkSchedule[c.Next]
	v := visit{bundle: l.bundles[set.bundle], blocks: set.blocks}
	switch {
	case c.GradientOnly:
		v.contribute, v.certify = true, c.Purpose != checkInitial && l.dual()
	case c.watches():
		v.limits, v.contribute = bp.Limits{MaxSweeps: 1, Damping: c.Damping}, true
	default:
		v.limits = bp.Limits{Tolerance: l.checkTolerance(), MaxSweeps: checkSweeps, Damping: c.Damping}
	}
	v.follow = l.carries && !c.GradientOnly
	before := l.progress.Passes
	report, err := l.visitBlocks(v)
	if err != nil {
		return false, err
	}
	l.progress.CheckPasses += l.progress.Passes - before
	if !(report.first <= c.Worst) {
		c.Worst, c.WorstAt = report.first, c.Next
	}
	c.Current = larger(c.Current, report.first)
	c.FreeEnergy += report.values.FreeEnergy
	c.Primal += report.values.Primal
	c.Dual += report.values.Dual
	c.Next++
	if c.Next < len(l.checkSchedule) {
		return false, nil
	}
	c.Next = 0
	if c.GradientOnly {
		return l.endCheck()
	}
	l.endCheckPass()
	if l.carries && !c.GradientOnly {
		if err := l.carryOn(); err != nil {
			return false, err
		}
	}
	if status, reason := l.settings.limitReached(&l.progress); c.Purpose == checkConvergence && (status == PassLimit || status == TimeLimit) {
		l.progress.Status, l.progress.Reason = status, reason // the check takes longer than the run may
		return false, l.startFinalCheck()
	}
	return false, nil
}

// startFinalCheck is for a run that a limit ended. What a longer run would go on
// from is the state before the final check.
func (l *learner) startFinalCheck() error {
	if err := l.checkpoint(); err != nil {
		return err
	}
	l.takeBest()
	l.startCheck(checkFinal)
	return nil
}

func larger(a, b float64) float64 {
	if b > a || b != b {
		return b
	}
	return a
}

// endCheckPass decides whether the messages have settled.
func (l *learner) endCheckPass() {
	c := &l.progress.Check
	c.Passes++
	c.Residual, c.Current, c.Worst = c.Current, 0, 0
	if c.Residual < c.Smallest {
		c.Smallest, c.SmallestAt = c.Residual, c.Passes
	} else if c.Passes-c.SmallestAt >= checkStall && !l.dual() {
		c.Damping = bp.MoreDamping(c.Damping)
		l.progress.Damping = c.Damping
		c.Smallest, c.SmallestAt = c.Residual, c.Passes
	}
	c.Settled = c.Residual <= l.checkTolerance()*(1-c.Damping)
	decided := c.Settled
	if c.watches() {
		decided, c.Settled = l.verdict()
	}
	c.GradientOnly = decided || c.Passes >= l.maxCheckPasses()
}

// watches reports whether the check watches the gradient.
func (c *checkProgress) watches() bool { return c.Purpose == checkConvergence }

const (
	// slowestSettling bounds the factor per pass by which changes of the gradient
	// shrink, as it is used, and fastestSettling from below: two changes in a row say
	// little of those to come where they shrink faster.
	slowestSettling, fastestSettling = 0.995, 0.5
	// unknownShare of the tolerance is what may be left unknown of the gradient's norm
	// in a claim of convergence.
	unknownShare = 0.05
	// unknownDigits is what may be left unknown of the objective, relatively. Where
	// messages ascend a dual it may be digitsShare of the relative tolerance, up to
	// roughDigits, after patience passes.
	unknownDigits, roughDigits = 1e-10, 1e-7
	digitsShare                = 0.1
	// passesToJudge: the first pass replaces what is stale, and two changes make a
	// factor.
	passesToJudge = 3
	// refusalMargin multiplies what seems to be left before a claim is given up for it.
	refusalMargin = 3
	// widestGap bounds the gap between dual and primal, relatively, with which convergence is
	// claimed, as the relative tolerance does where that is smaller, down to
	// narrowestGap: messages that change by less and less may have a long way to go.
	widestGap, narrowestGap = 1e-6, 1e-9
)

// verdict judges, after a pass, by the gradient g: changes that shrink by a factor
// r per pass leave r/(1−r) of the last one to come. It reports whether the claim is
// decided, and whether what is left is too little to matter.
func (l *learner) verdict() (decided, settled bool) {
	c := &l.progress.Check
	l.resum()
	before := l.progress.Objective
	l.progress.Objective, l.progress.GradientNorm = l.estimate()
	change := 0.0
	for i, g := range l.gradient {
		change += (g - l.watched[i]) * (g - l.watched[i])
	}
	copy(l.watched, l.gradient)
	older := c.ChangeBefore
	c.ChangeBefore, c.Change = c.Change, math.Sqrt(change)
	olderRise := c.RiseBefore
	c.RiseBefore, c.Rise = c.Rise, math.Abs(l.progress.Objective-before)
	if c.Passes < passesToJudge {
		return false, false
	}
	ratio := settling(c.Change, c.ChangeBefore, older)
	left, leftOfObjective := c.Change*ratio, c.Rise*ratio
	if c.Carried { // changes swing: one may be small where it turns
		left = larger(larger(c.Change, c.ChangeBefore), older) * ratio
		leftOfObjective = larger(larger(c.Rise, c.RiseBefore), olderRise) * ratio
	}
	norm, tolerance := l.progress.GradientNorm, l.tolerance()
	if norm-refusalMargin*left > tolerance {
		return true, true
	}
	settled = left <= unknownShare*tolerance && leftOfObjective <= l.claimDigits()*(1+math.Abs(l.progress.Objective)) && c.Residual <= l.claimResidual()
	return settled && (norm+left <= tolerance || norm-left > tolerance), settled
}

// claimResidual is the largest change of a message with which convergence is claimed.
func (l *learner) claimResidual() float64 {
	switch {
	case !l.ascends:
		return strictestClaim
	case l.progress.Check.Passes <= patience:
		return tightClaim
	}
	return min(max(tightClaim, claimWay*l.relativeTolerance()), loosestClaim)
}

// claimDigits is what may be left unknown of the objective, relatively, where convergence
// is claimed.
func (l *learner) claimDigits() float64 {
	if !l.ascends || l.progress.Check.Passes <= patience {
		return unknownDigits
	}
	return min(max(unknownDigits, digitsShare*l.relativeTolerance()), roughDigits)
}

// closes reports whether the gap between dual and primal, where there is a dual to ascend,
// is small enough to claim convergence. A primal of −Inf, where consistent beliefs would
// take a forbidden state or one of next to no mass, says nothing: messages have to be still.
func (l *learner) closes(gap float64) bool {
	switch {
	case math.IsNaN(gap):
		return true
	case math.IsInf(gap, 1):
		return l.progress.Check.Residual <= tightClaim
	}
	return gap <= min(max(narrowestGap, l.relativeTolerance()), widestGap)*(1+math.Abs(l.progress.Objective))
}

// relativeTolerance returns the tolerance relative to the first gradient.
func (l *learner) relativeTolerance() float64 {
	if l.progress.First > 0 {
		return l.tolerance() / l.progress.First
	}
	return 0
}

// settling returns r/(1−r), r being the factor per pass by which changes shrink.
func settling(change, before, older float64) float64 {
	ratio := fastestSettling
	if before > 0 {
		ratio = larger(ratio, change/before)
	}
	if older > 0 {
		ratio = larger(ratio, before/older)
	}
	ratio = min(ratio, slowestSettling)
	return ratio / (1 - ratio)
}

// dual reports whether every inference ascends a dual, so that it converges
// without damping.
func (l *learner) dual() bool {
	for _, u := range l.units {
		if !u.net.Counting.Facts.Dual {
			return false
		}
	}
	return true
}

// endCheck takes the exact values and decides how the run goes on.
func (l *learner) endCheck() (done bool, err error) {
	c := &l.progress.Check
	c.Active = false
	l.progress.Momentum.pause()
	l.resum()
	l.progress.Objective, l.progress.GradientNorm = l.estimate()
	l.progress.LastCheck = l.progress.Iterations
	c.Gap = math.NaN()
	if l.dual() {
		c.Gap = c.Dual - c.Primal
	}
	switch c.Purpose {
	case checkInitial:
		l.progress.First, l.progress.FirstObjective, l.progress.LastObjective = l.progress.GradientNorm, l.progress.Objective, l.progress.Objective
		l.progress.FirstResidual = c.Residual
		if math.IsNaN(l.progress.Objective) || math.IsInf(l.progress.Objective, 0) {
			return false, &DivergedError{Reason: fmt.Sprintf("the objective at the initial weights is %v", l.progress.Objective)}
		}
		if !(l.progress.First <= math.MaxFloat64) {
			return false, &DivergedError{Reason: fmt.Sprintf("the norm of the gradient at the initial weights is %v: the features are too large to be squared; scale them to about 1", l.progress.First)}
		}
		return false, l.record(l.checkEvent())
	case checkConvergence:
		if err := l.record(l.checkEvent()); err != nil {
			return false, err
		}
		c.Settled = c.Settled && l.closes(c.Gap)
		if !l.small(l.progress.GradientNorm) || !c.Settled {
			l.progress.FailedChecks++ // the stale gradient looked too small: go on
			if l.recovering != nil {
				l.recovering.refreshed(l.model.Weights, l.gradient)
			}
			return false, nil
		}
		l.progress.Status = Converged
		l.progress.Reason = fmt.Sprintf("gradient norm %.3g ≤ %.3g", l.progress.GradientNorm, l.tolerance())
		return true, l.checkpoint()
	default:
		if l.fallBack() {
			l.startCheck(checkFinal)
			return false, nil
		}
		return true, l.record(l.checkEvent())
	}
}

// fallBack goes to the safe weights of a guarded rule where a limit ended the run
// at weights that are worse than those at the start. It reports whether it did.
func (l *learner) fallBack() bool {
	if l.recovering == nil || l.progress.Objective <= l.progress.FirstObjective+l.slack() {
		return false
	}
	safe, start := l.recovering.safe(), l.problem.Model.Weights
	switch {
	case slices.Equal(start, l.model.Weights):
		return false
	case slices.Equal(safe, l.model.Weights):
		safe = start // where inference does not settle, not even those were sure
	}
	copy(l.model.Weights, safe)
	return true
}

// worseThanStart reports that the objective of a check is above that of the start
// by more than the residuals of the two checks explain.
func (l *learner) worseThanStart() bool {
	return l.progress.Objective > l.progress.FirstObjective+l.slack(l.progress.FirstResidual, l.progress.Check.Residual)
}

func (l *learner) checkEvent() Event {
	c := &l.progress.Check
	return Event{
		Iteration: l.progress.Iterations, Instance: -1, Block: -1, Check: true,
		Objective: l.progress.Objective, GradientNorm: l.progress.GradientNorm, Sweeps: c.Passes, Residual: c.Residual,
	}
}
