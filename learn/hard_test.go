package learn

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// regions draws a problem whose messages are slow: a grid with labels in regions, of which a
// share is noise, and node features that tell little of them.
func regions(seed uint64, rows, cols, states int, l2, noise, scale float64) Problem {
	rng := source(seed)
	features := states + 1
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), features, 1)))
	var centres [][2]float64
	for range states + 2 {
		centres = append(centres, [2]float64{rng.Float64() * float64(rows), rng.Float64() * float64(cols)})
	}
	labels, x := make([]int32, rows*cols), make([]float64, rows*cols*features)
	for s := range labels {
		nearest := math.Inf(1)
		for i, c := range centres {
			if d := math.Hypot(c[0]-float64(s/cols), c[1]-float64(s%cols)); d < nearest {
				nearest, labels[s] = d, int32(i%states)
			}
		}
		if rng.Float64() < noise {
			labels[s] = int32(rng.IntN(states))
		}
		for j := range features {
			x[s*features+j] = scale * (rng.NormFloat64() + 0.5*float64(oneIf(int(labels[s]) == j)))
		}
	}
	return homogeneous(model, must(graph.Grid(rows, cols, graph.GridOptions{})), x, features, labels, l2)
}

// homogeneous is a network with the constant feature on its edges.
func homogeneous(model *crf.Model, g *graph.Graph, x []float64, features int, labels []int32, l2 float64) Problem {
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{must(crf.Dense(x, features))}, EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}, Labels: [][]int32{labels},
	}))
	return Problem{Model: model, Data: []*crf.Instance{in}, L2: l2}
}

// slow draws the problem with the given seed of a family whose messages take hundreds of
// sweeps to settle, and a tolerance.
func slow(seed uint64) (p Problem, tolerance float64) {
	rng := source(seed)
	rows, cols, states := 4+rng.IntN(5), 5+rng.IntN(8), 2+rng.IntN(3)
	l2 := math.Pow(10, -6+2.5*rng.Float64()) * float64(rows*cols)
	p = regions(seed, rows, cols, states, l2, 0.15*rng.Float64(), math.Pow(10, 1+rng.Float64()))
	return p, math.Pow(10, -5-1.5*rng.Float64())
}

// TestLimitInJointDescent: a run with more passes never ends with a worse model.
func TestLimitInJointDescent(t *testing.T) {
	p, tolerance := slow(66)
	last := math.Inf(1)
	for _, passes := range []float64{500, 1000, 2000, 2500} {
		rule := &auto{}
		r := oracle.Must(Fit(context.Background(), p, Settings{Step: rule, RelativeTolerance: tolerance,
			MaxPasses: passes}))(t)
		oracle.Equal(t, rule.descent.began, true, "descent within %v passes", passes)
		if !(r.Objective < last+1e-6*(1+math.Abs(last))) { // but for what messages lack
			t.Errorf("objective %v after %v passes, %v after fewer", r.Objective, passes, last)
		}
		last = r.Objective
	}
}

// TestLimitWhereMessagesCrawl: F never rises from one accepted point to the next, however little messages
// have followed. A run that a limit ends, between them or where messages have been led away, has no model
// of a larger objective than the smallest F of its trainingRun.
func TestLimitWhereMessagesCrawl(t *testing.T) {
	oracle.Long(t)
	p := regions(2, 40, 40, 4, 1e-7*40*40, 0.01, 30)
	between := 0
	for passes := 12.0; passes <= 108; passes += 3 {
		rule, first, accepted, last := &auto{}, math.Inf(-1), math.Inf(1), 0.0
		r := fit(t, p, Settings{Step: rule, RelativeTolerance: 1e-6, MaxPasses: passes, Recorder: func(e Event) error {
			if e.Check {
				first = max(first, e.Objective)
				return nil
			}
			if last = e.Objective; rule.descent.began {
				if rule.descent.value > accepted*(1+1e-10) {
					t.Errorf("%v passes: F rises from %v to %v", passes, accepted, rule.descent.value)
				}
				accepted = rule.descent.value
			}
			return nil
		}})
		oracle.MustEqual(t, rule.descent.began, true, "descent within %v passes", passes)
		if least := rule.descent.least; !(r.Objective <= least+1e-6*(first+40*40)) {
			t.Errorf("%v passes: objective %v, F was %v", passes, r.Objective, least)
		} else if last > least+1 {
			between++
		}
	}
	if between == 0 {
		t.Error("F was smallest where each run ended: the test tests too little")
	}
}

// TestStepsAreAwaited: sweeps may gain what a step lacks; were it refused after four passes, this would take 667.
func TestStepsAreAwaited(t *testing.T) {
	p := regions(4, 45, 45, 3, 1, 0, 1)
	p.Counting = countings["trw"]
	oracle.Equal(t, fit(t, p, Settings{Proof: 1e-3, Method: BBPL, MaxPasses: 400}).Status, Converged, "status")
}

// TestDamagedCopies: a state without the messages that a step which is not taken goes back to is refused.
func TestDamagedCopies(t *testing.T) {
	run := interruptible{regions(2, 40, 40, 4, 1e-7*40*40, 0.01, 30), func() Settings {
		return Settings{Method: BBPL, Assign: blocksOf(3)}
	}}
	_, state := run.until(t, nil, 60)
	was := regexp.MustCompile(`"Pass.Momentum":[1-9]\d*`)
	for after := 61; !was.Match(state.saved.Progress); after++ { // messages have just gone back
		if after > 70 {
			t.Fatal("no messages were kept")
		}
		_, state = run.until(t, nil, after)
	}
	state.saved.Progress = was.ReplaceAll(state.saved.Progress, []byte(`"Pass.Momentum":0`))
	s := run.settings()
	s.Resume = state
	if _, err := Fit(context.Background(), run.problem, s); !errors.Is(err, ErrState) {
		t.Errorf("resumed without them: %v", err)
	}
}

// TestLimitInAClaim: a limit within the check of a claim leaves the weights that were about
// to be claimed, also where a resumed run finds it.
func TestLimitInAClaim(t *testing.T) {
	p, tolerance := slow(17)
	settings := Settings{RelativeTolerance: tolerance}
	want := fit(t, p, settings)
	settings.MaxPasses = want.Passes - 5
	var last *State
	settings.Checkpoint = func(state *State) error { last = state.clone(); return nil }
	cut := fit(t, p, settings)
	if want.Status != Converged || cut.Status != PassLimit || !slices.Equal(cut.Model.Weights, want.Model.Weights) {
		t.Errorf("%s and, with a limit, %s: other weights", want.Status, cut.Status)
	}
	settings.Resume = last
	if again := fit(t, p, settings); !sameBits(cut, again) {
		t.Error("resumed: other bits")
	}
}
