package learn

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestRemainder: what whole passes of a large network leave to spread changes the gradient and the
// gap by no more than was promised, and something is left.
func TestRemainder(t *testing.T) {
	p := regions(3, 40, 40, 4, 1e-4*40*40, 0.1, 20)
	rng := source(5)
	for i := range p.Model.Weights {
		p.Model.Weights[i] = 0.05 * rng.NormFloat64()
	}
	l := blockLearner(t, &p)
	pass := func(limits bp.Limits, remainder float64) (gradient []float64, gap float64) {
		for i := range l.schedule.wholePass {
			set := l.schedule.wholePass[i]
			v := visit{kind: consistentVisit, blocks: set, limits: limits, remainder: remainder}
			must(l.visitBlocks(v))
		}
		oracle.OK(t, l.endWholePass())
		return append([]float64(nil), l.sums.gradient...), l.progress.Pass.Gap
	}
	for range 2 {
		pass(l.messages.wholeLimits(), 0)
	}
	exact, gap := pass(bp.Limits{}, 0)
	l.progress.Check.Active = false // as before a step
	norm, allowed := l.progress.GradientNorm, l.messages.remainder()
	distance := func(remainder float64) (gradient, ofGap float64) {
		g, other := pass(bp.Limits{}, remainder)
		for i, x := range g {
			gradient = math.Hypot(gradient, x-exact[i])
		}
		return gradient, math.Abs(other - gap)
	}
	gradient, ofGap := distance(allowed)
	if !(gradient > 0 && gradient <= remainderShare*norm) {
		t.Errorf("with %.3g left the gradient is off by %.3g of its norm %.3g", allowed, gradient, norm)
	}
	if most := remainderShare * l.settings.Gap * (1 + l.progress.Upper); !(ofGap <= most) {
		t.Errorf("with %.3g left the gap %.3g is off by %.3g, want at most %.3g", allowed, gap, ofGap, most)
	}
	if far, _ := distance(remainderShare); !(far > gradient) {
		t.Errorf("the gradient is off by %.3g with %v left, and by %.3g with %.3g", far, remainderShare, gradient, allowed)
	}
	if l.model.Layout.Masked = true; l.messages.remainder() != 0 {
		t.Errorf("%.3g is left to spread where states are forbidden, to which it would go, too", l.messages.remainder())
	}
}
