package learn

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// Settings can be used twice: a rule starts afresh with every run.
func TestStepRuleUsedTwice(t *testing.T) {
	p := problems(t)["plain"]
	for _, step := range []StepRule{&auto{}, &fixedStep{alpha: 0.5}, &adaGradStep{alpha: 0.5}} {
		s := Settings{Step: step, MaxPasses: 20}
		if a, b := fit(t, p, s), fit(t, p, s); !sameBits(a, b) {
			t.Errorf("%s: a second run with the same settings ends elsewhere", step)
		}
	}
}

// Strongly coupled networks whose messages are slow: steps with stale gradients
// fail there, and descent has to bring every method to the same optimum.
func TestAutoOnSlowMessages(t *testing.T) {
	for _, name := range []string{"convex", "trw"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := randomProblem(t, 3, problemOptions{rows: 4, cols: 6, states: 3, nodeDim: 4, edgeDim: 6, instances: 1, l2: 0.001}).with(name)
			var objectives []float64
			descent := false
			for _, method := range []Method{BBPL, InnerDual, Full} {
				step := &auto{}
				r := fit(t, p, Settings{Method: method, Step: step, RelativeTolerance: 1e-7})
				oracle.Equal(t, r.Status, Converged, "the end of %s", method)
				descent = descent || step.descent.began
				objectives = append(objectives, r.Objective)
			}
			if !descent {
				t.Error("the problem is too easy to test descent")
			}
			for _, f := range objectives {
				if math.Abs(f-objectives[0]) > 1e-6*math.Abs(objectives[0]) {
					t.Errorf("objectives differ: %.10g", objectives)
				}
			}
		})
	}
}

// TestStoppedInTheMiddleOfAStep: a run that a limit ends anywhere has a model that
// is no worse than the one it started from.
func TestStoppedInTheMiddleOfAStep(t *testing.T) {
	p := randomProblem(t, 3, problemOptions{rows: 1, cols: 6, states: 5, nodeDim: 2, edgeDim: 1})
	for _, method := range []Method{BBPL, InnerDual} {
		first := math.NaN()
		for limit := 1; limit < 60; limit++ {
			s := Settings{Method: method, MaxIterations: limit, Recorder: func(e Event) error {
				if e.Iteration == 0 {
					first = e.Objective
				}
				return nil
			}}
			if r := fit(t, p, s); r.Objective > first*(1+1e-6) {
				t.Errorf("%s ended by iteration %d: objective %v, %v at the start", method, limit, r.Objective, first)
			}
		}
	}
}
