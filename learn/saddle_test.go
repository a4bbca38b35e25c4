package learn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestSaddleIsLeft: weights that treat hidden states alike stay so, up to rounding. A run
// that begins with such ends as low as one that begins with seeded weights, and not at the
// saddle, where the gradient is as small.
func TestSaddleIsLeft(t *testing.T) {
	oracle.Long(t)
	for name, p := range map[string]Problem{"chain": hiddenChain(1, 30, 3, 6, 0.1).with("trw"), "topics": topics(1, 30, 3, 6, 5, 1e-2).with("bethe")} {
		for method, s := range map[string]Settings{"bbpl": {Assign: blocksOf(3)}, "whole": {Method: Full}, "exact": {Method: Exact}} {
			s.RelativeTolerance = 1e-3
			r, seeded := fit(t, symmetric(p), s), fit(t, p, s)
			if !r.Status.Stationary() || method == "exact" && name == "topics" && !strings.Contains(r.Reason, "smallest curvature found ") || !(r.Objective < seeded.Objective*1.15) {
				t.Errorf("%s, %s: %s at %v, from seeded weights %v: %s", name, method, r.Status, r.Objective, seeded.Objective, r.Reason)
			}
			if alike := independent(p); name == "chain" && !(r.Objective < alike-1) {
				t.Errorf("%s, %s: it ends at %v, where states are alike %v", name, method, r.Objective, alike)
			}
		}
	}
}

// TestConvexIsNotProbed: nothing is paid where there are no saddles.
func TestConvexIsNotProbed(t *testing.T) {
	p := problems(t)["plain"]
	if r := fit(t, p, Settings{Assign: blocksOf(4)}); strings.Contains(r.Reason, "curvature") || r.CheckPasses > 40 {
		t.Errorf("%s, with %v passes of checks", r.Reason, r.CheckPasses)
	}
}

// TestProbeResumes: a run that is interrupted while it looks for a saddle, anywhere, or
// that a limit ends there, goes on to the same bits, and its weights are meanwhile those of
// the claim.
func TestProbeResumes(t *testing.T) {
	oracle.Long(t)
	for name, method := range map[string]Settings{"bbpl": {Assign: blocksOf(2)}, "exact": {Method: Exact}} {
		run := interruptible{symmetric(topics(1, 12, 3, 6, 5, 1e-2).with("trw")), func() Settings {
			s := method
			s.RelativeTolerance = 1e-3
			return s
		}}
		want, rounds := run.steps(t)
		var before []float64 // weights of the claim that the probe is for
		rng := source(1)
		probes, last := 0, false
		for stop := rng.IntN(3); stop < rounds; stop += 1 + rng.IntN(29) {
			if long := 120; stop > long && stop < rounds-long { // on the way from the saddle
				stop = rounds - long
			}
			r, state := run.until(t, nil, stop)
			if method.Method != Exact && inProbe(state) {
				if probes++; before == nil || probes > 1 && stop > rounds/2 && !last {
					before, last = r.Model.Weights, stop > rounds/2 // of the first probe, or the second
				}
				if !slices.Equal(before, r.Model.Weights) {
					t.Errorf("%s: stopped after %d of %d rounds, in a probe, it ends beside the point", name, stop, rounds)
				}
			}
			if again, _ := run.until(t, state, math.MaxInt); !sameBits(want, again) {
				t.Errorf("%s: stopped after %d of %d rounds it ends in other bits: %+v, want %+v", name, stop, rounds, again, want)
			}
		}
		if probes == 0 && method.Method != Exact {
			t.Errorf("%s: no probe was interrupted", name)
		}
	}
}

// inProbe reports that a state is of a run that looks for a way down from a saddle.
func inProbe(state *State) bool {
	text := string(state.saved.Progress)
	return strings.Contains(text, `"Check.Active":true`) && strings.Contains(text, `"Check.Purpose":"curvature"`)
}
