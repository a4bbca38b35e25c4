package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
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

// TestPassMomentum: whole passes end where they end without momentum, in fewer.
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
			l.messages.beginPass()
			for _, set := range l.schedule.wholePass {
				oracle.Must(l.visitBlocks(visit{kind: consistentVisit, blocks: set, limits: l.messages.wholeLimits()}))(t)
			}
			oracle.OK(t, l.endWholePass())
			more = !(l.progress.Pass.Gap <= 1e-9*math.Abs(l.progress.Upper)) && passes[momentum] < 5000
		}
		values[momentum] = l.progress.Upper
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

// friends is a network of few nodes with many neighbours and many with few, most of the same class, without features.
func friends(seed uint64, nodes, states, edges int) Problem {
	rng := source(seed)
	labels, x, upTo, total := make([]int32, nodes), make([]float64, nodes), make([]float64, nodes), 0.0
	for s := range labels {
		total += math.Pow(rng.Float64(), -1/1.1)
		labels[s], x[s], upTo[s] = int32(rng.IntN(states)), 1, total
	}
	draw := func() int32 { s, _ := slices.BinarySearch(upTo, total*rng.Float64()); return int32(s) }
	var u, v []int32
	for seen := map[[2]int32]bool{}; len(u) < edges; {
		a, b := draw(), draw()
		if pair := [2]int32{min(a, b), max(a, b)}; a != b && !seen[pair] && (labels[a] == labels[b] || rng.Float64() < 0.1) {
			seen[pair], u, v = true, append(u, a), append(v, b)
		}
	}
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), 1, 1)))
	return homogeneous(model, must(graph.FromEdges(nodes, u, v)), x, 1, labels, 1).with("trw")
}

// TestHubsAreAwaited: tree-reweighted messages through hubs circle, or take long to settle, and do in the end.
func TestHubsAreAwaited(t *testing.T) {
	for seed := range uint64(3) {
		r := fit(t, friends(seed, 800, 3, 1200), Settings{Proof: 1e-3, Method: BBPL, MaxPasses: 2000})
		oracle.Equal(t, r.Status, Converged, "status of network %d after %v passes", seed, r.Passes)
	}
}

// TestFallingIsNoCircling: messages whose residual does not fall are damped, unless F falls.
func TestFallingIsNoCircling(t *testing.T) {
	p := shape{
		graph: must(gen.BarabasiAlbert(60, 2, source(4))), l2: 0.02, schema: crf.Homogeneous(crf.NumberedStates(3), 2, 1),
	}.build(t, 4).with("trw")
	for fell, damped := range map[float64]bool{1e-3: false, 0: true, math.NaN(): true, -1: true} {
		l := blockLearner(t, &p)
		at, d := &l.progress, l.auto.descent
		at.Check.Active, at.Pass.Residual, at.Pass.Gap, d.began, d.fell = false, 1, 1, true, fell
		for range fewPasses + 1 {
			l.messages.damp(true)
		}
		oracle.Equal(t, l.progress.MessageDamping > 0, damped, "damped where F fell by %v", fell)
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
