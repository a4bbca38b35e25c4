package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// crawling is a picture whose states agree with their neighbours, so that messages crawl.
func crawling(t testing.TB, coupling float64) Problem {
	t.Helper()
	p := randomProblem(t, 5, problemOptions{rows: 50, cols: 50, states: 5, nodeDim: 2, edgeDim: 1, bins: true, instances: 1, samples: 1, l2: 0.1})
	w := p.randomWeights(3, 0.3)
	edge := &p.Model.Layout.Edge[0]
	for x := range 5 {
		w[edge.At+6*x] = coupling
	}
	return p.startingAt(w)
}

// TestPassMomentum: whole passes end where they end without momentum, in fewer; sweeps that come first leave gradients.
func TestPassMomentum(t *testing.T) {
	oracle.Long(t)
	p := crawling(t, 8)
	passes, values := map[bool]int{}, map[bool]float64{}
	for _, momentum := range []bool{false, true} {
		s := must(Settings{Method: BBPL, Assign: blocksOf(4)}.resolve(&p))
		l := must(newLearner(&p, &s))
		defer l.pool.Close()
		for more := true; more; passes[momentum]++ {
			if !momentum {
				l.progress.Pass.Momentum = 0
			}
			l.messages.beginRound()
			for _, set := range l.schedule.wholePass {
				oracle.Must(l.visitBlocks(visit{kind: consistentVisit, blocks: set, limits: l.messages.wholeLimits()}))(t)
			}
			oracle.OK(t, l.endWholePass())
			more = !(l.progress.Pass.Gap <= 1e-9*math.Abs(l.progress.Upper)) && passes[momentum] < 5000
		}
		values[momentum] = l.progress.Upper
		at, d, totals := &l.progress, l.auto.descent, slices.Clone(l.sums.total)
		gradients := at.Gradients
		for _, c := range [][5]float64{ // residual, were sweeps first before, do messages lag, passes here, sweeps wanted
			{2 * lagging, 0, 0, 0, 0}, {2 * lagging, 0, 1, 0, wholeSweeps}, {2 * lagging, 0, 0, 1, wholeSweeps},
			{2 * lagging, 1, 0, 0, wholeSweeps}, {lagging / 2, 1, 1, 1, 0},
		} {
			before := at.Sweeps
			at.Check.Active, d.began, at.Pass.Residual, at.Pass.SweepsFirst = false, true, c[0], c[1] > 0
			d.lags, d.passesHere = c[2] > 0, int(c[3])
			oracle.OK(t, l.sweepFirst())
			oracle.Equal(t, math.Round(at.Sweeps-before), c[4], "sweeps of %v", c)
		}
		oracle.Equal(t, l.sums.total, totals, "totals after sweeps alone")
		oracle.Equal(t, at.Gradients, gradients, "gradients")
	}
	if !(2*passes[true] < passes[false]) || !near(values[true], values[false], 1e-8) {
		t.Errorf("%d passes to %v, %d to %v without momentum", passes[true], values[true], passes[false], values[false])
	}
}

// TestMomentumResumes: a run that is interrupted while passes have momentum, between passes and
// within one, goes on to the same bytes, on another number of threads.
func TestMomentumResumes(t *testing.T) {
	p := crawling(t, 10)
	settings := func(threads int) interruptible {
		return interruptible{p, func() Settings {
			return Settings{Method: BBPL, Assign: blocksOf(4), MaxIterations: 6, Threads: threads}
		}}
	}
	want, _ := settings(2).until(t, nil, math.MaxInt)
	for _, rounds := range []int{4*fewRounds + 4, 4*fewRounds + 6, 4*fewRounds + 15} {
		_, state := settings(2).until(t, nil, rounds)
		var at progress
		if err := must(state.saved.Parse()).Progress.Decode("", &at); err != nil || at.Pass.Momentum < fewRounds {
			t.Fatalf("no momentum after %d rounds", rounds)
		}
		if r, _ := settings(1).until(t, state, math.MaxInt); !sameBits(want, r) {
			t.Errorf("after %d rounds: %v after %v passes, want %v after %v", rounds, r.Objective, r.Passes, want.Objective, want.Passes)
		}
	}
}

// fewRounds is a number of passes in which momentum has begun.
const fewRounds = 11

// TestCirclingMessages: tree-reweighted messages through hubs with strong potentials
// circle for ever unless they are damped. Visits of one sweep have to notice.
func TestCirclingMessages(t *testing.T) {
	p := shape{
		graph: must(gen.BarabasiAlbert(60, 2, source(4))), samples: 3, l2: 0.02,
		schema: crf.Homogeneous(crf.NumberedStates(6), 8, 8),
	}.build(t, 4).with("trw")
	if r := fit(t, p, Settings{MaxPasses: 4000}); r.Status != Converged {
		t.Errorf("%s, gradient norm %v of %v", r.Reason, r.GradientNorm, r.FirstGradientNorm)
	}
}

// TestObservedInCopies: copies of beliefs, which checkpoints fill in but for observed nodes, begin with those.
func TestObservedInCopies(t *testing.T) {
	p := randomProblem(t, 3, problemOptions{rows: 6, cols: 6, states: 3, nodeDim: 3, edgeDim: 2, missing: 0.7})
	l := blockLearner(t, &p)
	l.messages.response = nil
	l.messages.makeRoom()
	l.messages.restore()
	for s, y := range l.units[1].net.Observed {
		if y >= 0 {
			others := make([]float64, 3)
			l.units[1].net.Belief(others, l.units[1].state, int32(s))
			others[y]--
			oracle.Equal(t, slices.Max(others), 0, "node %d: largest belief but for what is observed", s)
		}
	}
}
