package learn

import (
	"fmt"
	"math"
)

// roundingShare of the norm of the data's statistics M w̄, with hidden labels taken for state 0, is the smallest norm
// of a gradient that means anything: rounding leaves about as much in their difference to those of the model. Without
// it a run that starts at its optimum would never end.
const roundingShare = 1e-13

// claims decide what may be claimed of a run: what its settings ask of the gradient and of the distance to the optimum,
// and what is known of these.
type claims struct {
	*inference
	watched []float64   // [weights] the gradient at the end of the pass before, in a check
	squares [][]float64 // [types][features] Σ f²/ρ (linear.Fisher), for unknownOfClamped; nil: steps are not automatic
}

// worthChecking reports that a check is worth its cost: at least so many iterations have followed the last one, and the
// aggregated gradient is small enough for a claim. Stale contributions can make its norm look smaller than it is, so
// each check that failed asks for a smaller one.
func (k *claims) worthChecking(iterations int) bool {
	p := &k.progress
	share, _ := k.shareOfCheck()
	return p.GradientNorm <= k.tolerance()*share && p.Iterations-p.LastCheck >= iterations
}

// shareOfCheck is the share of the tolerance at which the next check of a claim begins. Below the smallest it is not
// the gradient that keeps claims from holding.
func (k *claims) shareOfCheck() (share float64, smallest bool) {
	const least = 0.01
	share = math.Pow(0.5, float64(k.progress.FailedChecks))
	return max(share, least), share <= least
}

// asked returns the gradient norm that the settings demand of a claim. tolerance is at most that, up to rounding: there
// a check begins and is decided, so that the suboptimality falls below Settings.Gap, too.
func (k *claims) asked() float64 {
	s := k.settings
	return max(s.GradientTolerance, s.RelativeTolerance*k.progress.FirstNorm, roundingShare*k.sums.magnitude)
}

func (k *claims) tolerance() float64 {
	asked, value := k.asked(), k.progress.Upper
	if math.IsNaN(value) {
		value = k.progress.Objective // about as large
	}
	if l2 := k.problem.L2; l2 > 0 && k.holds.certified && math.Abs(value) <= math.MaxFloat64 {
		asked = max(min(asked, gradientFor(k.settings.Gap*(1+math.Abs(value)), l2)), roundingShare*k.sums.magnitude)
	}
	return asked
}

// suboptimality returns how far the objective at the present weights is above its minimum, at most, with what rounding
// leaves unknown of the two bounds. It is NaN where that is not known, as without a regulariser, where nothing but 0
// bounds the objective from below.
func (k *claims) suboptimality() float64 {
	if p := &k.progress; k.holds.certified && k.problem.L2 > 0 {
		return max(0, p.Upper-p.Lower) + roundingShare*(math.Abs(p.Upper)+math.Abs(p.Lower))
	}
	return math.NaN()
}

// raiseLowerBound takes the bound of consistent beliefs, if it is the highest so far. Where F is above that of the
// start nothing bounds the weights, and with huge ones rounding may leave an entropy that no beliefs have.
func (k *claims) raiseLowerBound() {
	p := &k.progress
	if !k.holds.certified || !math.IsNaN(p.FirstObjective) && !(p.Upper <= p.FirstObjective+k.slack()) {
		return
	}
	square := 0.0
	for i, x := range k.sums.total {
		square += (x - k.sums.data[i]) * (x - k.sums.data[i])
	}
	if bound := lowerBound(k.sums.entropy(), square, k.problem.L2, k.problem.Statistics == nil); bound > p.Lower {
		p.Lower = bound
	}
}

// watch remembers the gradient, so that decide sees how much the next pass changes it.
func (k *claims) watch() { copy(k.watched, k.sums.gradient) }

// decide finds whether a pass has decided the check. First it extrapolates by how much messages will still change the
// gradient, by a geometric series: changes that shrink by a factor r per pass leave r/(1−r) times the last one to come.
// That is left; most is more, where residuals shrink more slowly than the changes, and c.Left is a safe multiple of
// it. Then decide finds, by the purpose of the check, whether that matters.
func (k *claims) decide() {
	c, pass, holds := &k.progress.Check, &k.progress.Pass, &k.holds
	residualRatio := pass.Residual / c.LastResidual
	c.LastResidual = pass.Residual
	change := 0.0
	for i, g := range k.sums.gradient {
		change += (g - k.watched[i]) * (g - k.watched[i])
	}
	k.watch()
	older := c.LastChange
	c.LastChange, c.Change = c.Change, math.Sqrt(change)
	if !c.Watched {
		c.Change = math.NaN() // from another gradient, with stale shares
	}
	c.Watched = true
	ratio := min(max(max(fastestSettling, c.Change/c.LastChange), c.LastChange/older), slowestSettling)
	if math.IsNaN(ratio) {
		ratio = slowestSettling
	}
	left, norm, tolerance := c.Change*ratio/(1-ratio), k.progress.GradientNorm, k.tolerance()
	most := left
	if pass.Residual > stillResidual && residualRatio > ratio {
		slow := min(residualRatio, slowestSettling)
		most = c.Change * slow / (1 - slow)
	}
	c.Left = safetyFactor * most
	switch {
	case c.Uniform, c.Change == 0 && pass.Residual == 0:
		c.Decided, c.Certain = true, true
	case c.Purpose == checkConvergence:
		// Sweeps that need not lower a dual value may leave F far above L where the gradient has settled, and so may
		// those of networks with hidden labels. Where consistent beliefs take a forbidden state, and bound nothing,
		// residuals tell: learning goes on to a smaller gradient first, as long as the next check asks for one.
		closed := (holds.certified || holds.monotone) && pass.Gap <= k.progress.ofObjective(closedGap)
		_, smallest := k.shareOfCheck()
		bounds := holds.monotone && holds.certified && (!math.IsInf(pass.Gap, 1) || !smallest)
		c.Certain = norm+c.Left <= tolerance && (bounds || closed || pass.Residual <= stillResidual)
		// Where the norm exceeds the tolerance by more than messages can still change it, the claim is refuted already:
		// learning goes on.
		c.Certain = c.Certain || norm-left > tolerance && holds.monotone || k.proves(k.suboptimality())
		c.Decided = c.Certain
	default:
		if !(norm < tolerance) { // which is not known before the first gradient
			tolerance = norm
		}
		c.Certain = left <= unknownShare*tolerance && (holds.monotone || holds.certified || pass.Residual <= stillResidual)
		started := holds.certified && c.Purpose == checkInitial && c.Passes >= 2*fewPasses // as F bounds L at any messages
		c.Decided = c.Certain && (started || !(pass.Gap > k.progress.ofObjective(closedGap)))
	}
}

func (k *claims) maxCheckPasses() int {
	switch c := &k.progress.Check; {
	case c.Purpose == checkFinal:
		return min(max(fewPasses, int(finalShare*k.progress.Sweeps/wholeSweeps)), maxCheckPasses)
	case c.Purpose == checkConvergence:
		return min(fewPasses<<min(k.progress.FailedChecks, 10), maxCheckPasses)
	}
	return maxCheckPasses
}

// whyNotConverged says what keeps the run, whose weights were checked, from being converged, with what would help.
// Where this is empty claimOrGoOn claims convergence. endRun adds it to the reason of a run that a limit has ended.
func (k *claims) whyNotConverged() string {
	c, p, pass := &k.progress.Check, &k.progress, &k.progress.Pass
	gap := p.ofObjective(k.settings.Gap)
	switch sub, unknown := k.suboptimality(), k.unknownOfClamped(); {
	case k.proves(sub):
	case unknown > p.ofObjective(closedGap):
		return fmt.Sprintf("weights are so large that rounding leaves %.3g of the objective unknown: an l2 above 0 bounds "+
			"them", unknown)
	case !(p.GradientNorm <= k.asked()) || math.IsInf(p.GradientNorm, 1):
		return fmt.Sprintf("gradient norm %.3g > %.3g", p.GradientNorm, k.asked()) + k.convexNumbersHelp()
	case c.Purpose == checkConvergence && p.GradientNorm+c.Left > k.asked() && k.asked() > roundingShare*k.sums.magnitude:
		return fmt.Sprintf("gradient norm %.3g, of which %.3g is unknown, > %.3g", p.GradientNorm, c.Left, k.asked()) +
			k.convexNumbersHelp()
	case !c.Certain:
		return "messages have not settled: more passes may settle them" + k.convexNumbersHelp()
	case math.IsInf(pass.Gap, 1): // consistent beliefs take a forbidden state, and bound nothing: the gradient decides
		if pass.Residual > stillResidual {
			return fmt.Sprintf("messages still change by %.3g > %.3g", pass.Residual, stillResidual)
		}
	case !math.IsNaN(sub) && k.problem.L2 > 0:
		if sub > gap {
			return tooFar(sub, gap, p.GradientNorm, k.problem.L2, roundingShare*k.sums.magnitude)
		}
	case pass.Gap > gap:
		return fmt.Sprintf("gap of the inference %.3g > %.3g: messages have not settled, and more passes settle them",
			pass.Gap, gap)
	}
	return ""
}

// unknownOfClamped is about how far rounding leaves F unknown where weights run away, with hidden labels and without a
// regulariser: beliefs of clamped networks are consistent but for about roundingShare, times potentials.
func (k *claims) unknownOfClamped() (sum float64) {
	if k.squares == nil || !k.holds.hidden || k.problem.L2 > 0 {
		return 0
	}
	for kind, span := range allSpans(&k.model.Layout) {
		for i, theta := range k.model.Weights[span.At:][:span.Len] {
			sum += math.Abs(theta) * math.Sqrt(k.squares[kind][i%span.Copy()/span.States])
		}
	}
	return roundingShare * sum
}

// convexNumbersHelp names what helps where counting numbers are not convex.
func (k *claims) convexNumbersHelp() string {
	if k.holds.convexNumbers {
		return ""
	}
	return "; these counting numbers are not convex, those of trw are"
}

// claimText says why the run is converged.
func (k *claims) claimText() string {
	if !(k.progress.GradientNorm <= k.asked()) {
		return k.proofText(k.suboptimality())
	}
	text := fmt.Sprintf("gradient norm %.3g ≤ %.3g", k.progress.GradientNorm, k.asked())
	if k.asked() == roundingShare*k.sums.magnitude {
		text += ", all that rounding leaves"
	}
	if sub, gap := k.suboptimality(), k.progress.ofObjective(k.settings.Gap); sub <= gap {
		text += fmt.Sprintf(", suboptimality %.3g ≤ %.3g", sub, gap)
	}
	switch {
	case k.problem.L2 == 0 && k.holds.convex:
		text += ", and l2 is 0: nothing bounds how far the optimum is"
	case math.IsInf(k.progress.Pass.Gap, 1):
		text += "; consistent beliefs take a forbidden state: nothing bounds how far the optimum is"
	}
	return text
}

// tooFar says what keeps a suboptimality above a gap: the norm of the gradient, of which rounding leaves at least so
// much, or messages.
func tooFar(sub, gap, norm, l2, rounding float64) string {
	needed, cause := gradientFor(gap, l2), "messages have not settled, and more passes settle them"
	switch {
	case needed <= rounding:
		cause = fmt.Sprintf("with l2 %.3g that takes a gradient norm of %.3g, and rounding leaves %.3g; a larger l2 or "+
			"gap can be met", l2, needed, rounding)
	case norm > needed:
		cause = fmt.Sprintf("with l2 %.3g that takes a gradient norm of %.3g, and more passes lower it", l2, needed)
	}
	return fmt.Sprintf("suboptimality %.3g > %.3g: %s", sub, gap, cause)
}

// gradientFor is the norm of the gradient with which L is above its minimum by at most half of a gap, ‖∇L‖²/(2 l2).
func gradientFor(gap, l2 float64) float64 { return math.Sqrt(l2 * gap) }
