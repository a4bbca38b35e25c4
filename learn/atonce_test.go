package learn

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/partition"
)

// visitedAtOnce is a run whose iterations visit all of so many blocks at once, at some weights.
func visitedAtOnce(t *testing.T, p Problem, blocks int, scale float64) *learner {
	t.Helper()
	p = p.startingAt(p.randomWeights(3, scale))
	s := must(Settings{Method: BBPL, AtOnce: true, Cut: Cut{Blocks: blocks}, Threads: 2}.resolve(&p))
	l := must(newLearner(&p, &s))
	t.Cleanup(l.pool.Close)
	return l
}

// TestAtOnceIsASweepOfAll: messages and beliefs after a visit of all blocks at once are, to the last bit,
// those of sweeps over the whole network in the order of the colours.
func TestAtOnceIsASweepOfAll(t *testing.T) {
	hidden := randomProblem(t, 13, problemOptions{rows: 24, cols: 24, states: 8, nodeDim: 6, edgeDim: 3, l2: 3, missing: 0.2, samples: 2})
	for _, counting := range []string{"convex", "trw"} {
		for _, p := range []Problem{barabasiAlbert(t).with(counting), hidden.with(counting)} {
			for blocks := 2; blocks <= 9; blocks += 7 {
				l := visitedAtOnce(t, p, blocks, 0.5)
				limits := bp.Limits{MaxSweeps: 3, Damping: -0.2}
				for _, set := range l.schedule {
					must(l.visitBlocks(visit{bundle: l.bundles[set.bundle], blocks: set.blocks, limits: limits, contribute: true}))
				}
				for _, u := range l.units {
					whole := must(partition.ByColours(u.in.Graph, make([]int32, u.in.Graph.NumNodes()), 1))
					if u.net.Observed != nil {
						free := make([]bool, u.in.Graph.NumNodes())
						for s, y := range u.net.Observed {
							free[s] = y < 0
						}
						whole = whole.Restrict(free)
					}
					w, st := &bp.Workspace{}, bp.NewState(u.net)
					if err := w.Ground(l.model, u.in, u.net, &whole.Blocks[0]); err != nil {
						t.Fatal(err)
					}
					must(w.Iterate(context.Background(), u.net, st, &whole.Blocks[0], limits))
					if !slices.Equal(st.LogMessage, u.state.LogMessage) || !slices.Equal(st.LogBelief, u.state.LogBelief) {
						t.Errorf("%s, %d blocks, weight %v: other messages than those of the whole network", counting, blocks, u.weight)
					}
				}
			}
		}
	}
}

// TestAtOnceDescends: F falls in each pass at the same weights, where visits of all blocks with the
// messages from before the visit raise it.
func TestAtOnceDescends(t *testing.T) {
	for _, scale := range []float64{1, 2, 4, 8} {
		l, stale := visitedAtOnce(t, barabasiAlbert(t), 9, scale), visitedAtOnce(t, barabasiAlbert(t), 9, scale)
		limits := bp.Limits{MaxSweeps: 3}
		last, lastStale, rose := math.Inf(1), math.Inf(1), 0
		for pass := range 20 {
			stale.visitStale(t, limits)
			value, staleValue := l.valueAfter(t, limits), stale.valueAfter(t, bp.Limits{})
			if value > last+1e-11*math.Abs(last) {
				t.Errorf("scale %v, pass %d: F rose from %.12g to %.12g", scale, pass, last, value)
			}
			rose += oneIf(staleValue > lastStale+1e-11*math.Abs(lastStale))
			last, lastStale = value, staleValue
		}
		t.Logf("scale %v: F %.9g; with messages from before visits %.9g, and %d passes raise it", scale, last, lastStale, rose)
		if scale == 8 && rose == 0 {
			t.Error("no visit with messages from before it raises F: the test shows nothing")
		}
	}
}

// valueAfter is F after a pass.
func (l *learner) valueAfter(t *testing.T, limits bp.Limits) float64 {
	t.Helper()
	for _, set := range l.schedule {
		must(l.visitBlocks(visit{bundle: l.bundles[set.bundle], blocks: set.blocks, limits: limits, contribute: true, certify: true}))
	}
	if err := l.endWholePass(); err != nil {
		t.Fatal(err)
	}
	return l.progress.Upper
}

// visitStale visits each block with all others as they were before the first.
func (l *learner) visitStale(t *testing.T, limits bp.Limits) {
	t.Helper()
	for _, u := range l.units {
		old := &bp.State{LogMessage: slices.Clone(u.state.LogMessage), LogBelief: slices.Clone(u.state.LogBelief)}
		for x := range u.part.Blocks {
			st := &bp.State{LogMessage: slices.Clone(old.LogMessage), LogBelief: slices.Clone(old.LogBelief)}
			w := &bp.Workspace{}
			if err := w.Ground(l.model, u.in, u.net, &u.part.Blocks[x]); err != nil {
				t.Fatal(err)
			}
			must(w.Iterate(context.Background(), u.net, st, &u.part.Blocks[x], limits))
			eachOfBlock(u, x, func(p piece) {
				copy(p.of(u.state.LogMessage, u.state.LogBelief), p.of(st.LogMessage, st.LogBelief))
			})
		}
	}
}
