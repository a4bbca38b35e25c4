package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
)

// TestEarlySteps: with a regulariser of 0.1 for each variable the first visit of one of 20
// blocks, nearly a whole Newton step, leads to within a third of the optimum, and the pass of visits with two or
// three whole passes to within 1 %, in any order.
func TestEarlySteps(t *testing.T) {
	const blocks = 20
	p := randomProblem(t, 1, problemOptions{rows: 20, cols: 20, states: 4, nodeDim: 5, edgeDim: 3, l2: 0.1 * 400})
	star := fit(t, p, Settings{Method: InnerDual, RelativeTolerance: 1e-9}).Model.Weights
	for name, c := range map[string]struct {
		random bool
		within int
	}{"in order": {false, 3 * blocks}, "at random": {true, 4 * blocks}} {
		rule, first, visits := &auto{}, math.NaN(), 0
		s := Settings{Method: BBPL, Assign: blocksOf(blocks), Step: rule, RandomOrder: c.random, MaxIterations: c.within, GradientTolerance: 1e-300, Recorder: func(e Event) error {
			if e.Check {
				return nil
			}
			away := 0.0
			for j, x := range e.Theta {
				away += (x - star[j]) * (x - star[j])
			}
			away = math.Sqrt(away) / norm(star)
			if e.Iteration == 1 {
				first = away
			}
			if away <= 0.01 && visits == 0 {
				visits = e.Iteration
			}
			return nil
		}}
		fit(t, p, s)
		t.Logf("%s: %.3f after the first visit, 1 %% after %d", name, first, visits)
		if !(first < 1./3) || visits == 0 {
			t.Errorf("%s: %.3f of the way is left after the first visit, and 1 %% after %d of at most %d", name, first, visits, c.within)
		}
	}
}

// wild is the automatic rule with visits that lead far away: messages there are no start for anything.
type wild struct {
	*auto
	scale float64
}

func (a wild) Step(theta, gradient []float64) float64 {
	size := a.auto.Step(theta, gradient)
	for i, x := range a.startWeights {
		theta[i] = x + a.scale*(theta[i]-x)
		a.descent.direction[i] = x - theta[i]
	}
	return size
}

// TestVisitsThatLeadAstray: where F is larger where visits have led than at the start, descent begins at the start, with
// messages of a start, and ends where it always does.
func TestVisitsThatLeadAstray(t *testing.T) {
	all := problems(t)
	for name, p := range all {
		p.L2 = 1e-6
		all[name] = p.with("convex")
	}
	all["regions"] = regions(3, 30, 30, 4, 1e-6, 0.3, 1).with("trw")
	for name, p := range all {
		s := Settings{Assign: blocksOf(4), RelativeTolerance: 1e-3, Gap: 1e-2, MaxPasses: 1000}
		want := fit(t, p, s)
		for _, scale := range []float64{1e4, 1e8, 1e12} {
			s.Step = wild{&auto{}, scale}
			r := fit(t, p, s)
			if !r.Status.Stationary() || r.Objective-r.Suboptimality > want.Objective+1e-9 || !near(r.Objective, want.Objective, 0.02) || r.Passes > 3*want.Passes+50 {
				t.Errorf("%s, × %g: %s after %v passes at %v, want %v after %v: %s",
					name, scale, r.Status, r.Passes, r.Objective, want.Objective, want.Passes, r.Reason)
			}
		}
	}
}

// TestRefusedClaimAmongVisits: a check visits every block at the weights of the moment, so that the visits which follow
// it start from parts of the gradient that are all of these weights.
func TestRefusedClaimAmongVisits(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 6, cols: 6, states: 3, nodeDim: 2, edgeDim: 1, l2: 1})
	rule := &auto{}
	s := must(Settings{Method: BBPL, Assign: blocksOf(6), Step: rule, GradientTolerance: 1e-9}.resolve(&p))
	l := must(newLearner(&p, &s))
	defer l.close()
	for l.progress.Check.Active {
		must(l.visitInWholePass())
	}
	for range 3 {
		oracle.OK(t, l.iterate())
	}
	l.startCheck(checkConvergence)
	for l.progress.Check.Active {
		must(l.visitInWholePass())
	}
	if mean := rule.incremental.mean; !slices.Equal(mean, l.model.Weights) || l.auto.descends() {
		t.Errorf("the mean weights of visits are %v, those of the check %v", mean, l.model.Weights)
	}
	if d := rule.descent; !slices.Equal(d.origin, l.model.Weights) || !slices.Equal(d.originGradient, l.sums.gradient) {
		t.Error("the next pair begins before the check, in which messages have changed the gradient")
	}
}

// TestVisitsLead: another pass of visits follows a first one that leaves a fifth of the gradient, and later ones until
// three in a row have left no less than all before; where a pass has one visit, none follows.
func TestVisitsLead(t *testing.T) {
	for blocks, norms := range map[int][]float64{4: {20, 25, 22, 19.9, 30, 19.9, 19, 20, 21}, 1: {1}} {
		p := regions(1, 8, 8, 3, 1, 0.3, 1).with("convex")
		s := must((&Settings{Method: BBPL, Assign: blocksOf(blocks)}).resolve(&p))
		l := must(newLearner(&p, &s))
		e := newIncremental(l.inference)
		l.progress.GradientNorm = 100
		e.begin(l.model.Weights)
		pass := func(norm float64) bool {
			e.visits += l.schedule.perPass()
			l.progress.GradientNorm = norm
			return e.leads()
		}
		for _, norm := range norms {
			oracle.Equal(t, pass(norm), blocks > 1, "%d blocks: a pass follows a gradient of %v", blocks, norm)
		}
		oracle.Equal(t, pass(19), false, "%d blocks: a pass follows three that have gained nothing", blocks)
		e.visits = 0
		e.begin(l.model.Weights)
		oracle.Equal(t, pass(19*.3), false, "%d blocks: a pass follows a first one that leaves three tenths", blocks)
		l.close()
	}
}

// amongVisits is a run in four blocks that begins with visits, behind the check of its start.
func amongVisits(t *testing.T) (*learner, *auto) {
	p, rule := regions(1, 8, 8, 3, 1, 0.3, 1).with("convex"), &auto{}
	s := must(Settings{Method: BBPL, Assign: blocksOf(4), Step: rule}.resolve(&p))
	l := must(newLearner(&p, &s))
	t.Cleanup(l.close)
	for l.progress.Check.Active {
		must(l.visitInWholePass())
	}
	return l, rule
}

// TestVisitsLearnCurvature: after a second pass of visits the change of the gradient calls for that of the weights, as
// BFGS's secant equation says, and gradients across that are met by P⁻¹, up to a part along the change of the weights.
func TestVisitsLearnCurvature(t *testing.T) {
	l, rule := amongVisits(t)
	oracle.OK(t, l.iterate()) // P is known from the first visit on
	size := len(l.model.Weights)
	means, gradients, change := [2][]float64{}, [2][]float64{}, make([]float64, size)
	for pass := range means {
		for i := range size {
			means[pass] = append(means[pass], math.Sin(float64(3*i+pass)))
			gradients[pass] = append(gradients[pass], float64(i%5+2)*means[pass][i])
		}
		rule.descent.takeVisitsPass(means[pass], gradients[pass], pass == 0)
	}
	step := make([]float64, size)
	for i := range change {
		change[i], step[i] = gradients[1][i]-gradients[0][i], means[1][i]-means[0][i]
	}
	got, plain, across := make([]float64, size), make([]float64, size), make([]float64, size)
	rule.curvature.Direction(got, change)
	for i := range got {
		if math.Abs(got[i]-step[i]) > 1e-9 {
			t.Errorf("weight %d: %v for the change of the gradient, want %v", i, got[i], step[i])
		}
	}
	across[0], across[1] = step[1], -step[0]
	rule.apply(plain, across)
	rule.curvature.Direction(got, across)
	along := simd.Dot(change, plain) / simd.Dot(change, step)
	for i := range got {
		if want := plain[i] - along*step[i]; math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("weight %d: %v across the change, want %v", i, got[i], want)
		}
	}
}

// TestVisitsStepByCurvature: steps are by P alone until a second pass of visits has ended, and then by its pair, too.
func TestVisitsStepByCurvature(t *testing.T) {
	l, rule := amongVisits(t)
	perPass, size := l.schedule.perPass(), len(l.model.Weights)
	step, plain := make([]float64, size), make([]float64, size)
	for visit := 1; visit <= 2*perPass; visit++ {
		rule.incremental.leastNorm = math.Inf(1) // another pass follows
		oracle.OK(t, l.iterate())
		rule.curvature.Direction(step, rule.incremental.gradient)
		rule.apply(plain, rule.incremental.gradient)
		oracle.Equal(t, slices.Equal(step, plain), visit < 2*perPass, "visit %d: the step is that of P", visit)
		for i, mean := range rule.incremental.mean {
			oracle.Near(t, l.model.Weights[i], mean-step[i], 1e-12, "visit %d, weight %d", visit, i)
		}
	}
}
