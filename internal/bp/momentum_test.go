package bp

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMomentum: sweeps with momentum come to the fixed point of plain sweeps, in fewer of them, with
// forbidden states and without.
func TestMomentum(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	g := legal(graph.Grid(24, 24, graph.GridOptions{}))
	for _, zeros := range []float64{0, 0.02} {
		// Neighbours like to be alike, so that news goes far.
		p := oracle.RandomPairwise(source(5), g, constantCards(g.NumNodes(), 3), 0.3, zeros)
		for e := range g.NumEdges() {
			for x := range 3 {
				p.Edge[9*e+4*x] += 8
			}
		}
		plain := newInference(t, p, counting.Convex(g))
		want, err := plain.iterate(0, Limits{Tolerance: 1e-11, MaxSweeps: 20000})
		if err != nil || !want.Converged {
			t.Fatalf("plain sweeps: %+v, %v", want, err)
		}
		moved := newInference(t, p, counting.Convex(g))
		got, err := moved.iterate(0, Limits{Tolerance: 1e-11, MaxSweeps: 20000, Accelerated: true})
		if err != nil || !got.Converged {
			t.Fatalf("with momentum: %+v, %v", got, err)
		}
		far := 0.0
		for i, b := range plain.state.LogBelief {
			far = max(far, math.Abs(math.Exp(b)-math.Exp(moved.state.LogBelief[i])))
		}
		if far > 1e-8 || got.Sweeps*5 > want.Sweeps {
			t.Errorf("%d sweeps, beliefs off by %.3g; plain %d sweeps", got.Sweeps, far, want.Sweeps)
		}
		t.Logf("zeros %g: %d sweeps, plain %d; beliefs differ by %.3g", zeros, got.Sweeps, want.Sweeps, far)
	}
}

// TestAccelerated: accelerated sweeps come to the fixed point of plain ones with all counting numbers,
// on a chain in four sweeps where these are exact, and are damped where they circle.
func TestAccelerated(t *testing.T) {
	t.Parallel()
	chain, grid := legal(gen.Chain(60)), legal(graph.Grid(6, 6, graph.GridOptions{}))
	for _, g := range []*graph.Graph{chain, grid} {
		p := oracle.RandomPairwise(source(2), g, constantCards(g.NumNodes(), 3), 0.7, 0)
		for _, c := range countingsOf(g) {
			plain, accelerated := newInference(t, p, c), newInference(t, p, c)
			plain.solve(t)
			o, err := accelerated.iterate(0, Limits{Tolerance: 1e-11, MaxSweeps: 3000, Accelerated: true})
			if err != nil || !o.Converged {
				t.Fatalf("%s: %+v, %v", c.Name, o, err)
			}
			if c.Facts.Bound == counting.Exact && o.Sweeps > 4 {
				t.Errorf("%s: %d sweeps over a chain", c.Name, o.Sweeps)
			}
			for i, b := range plain.state.LogBelief {
				if got := accelerated.state.LogBelief[i]; !near(math.Exp(got), math.Exp(b), 1e-8) {
					t.Fatalf("%s: log-belief %v, plain %v", c.Name, got, b)
				}
			}
		}
	}
	damped := 0
	g := legal(gen.Complete(8))
	for seed := range uint64(40) {
		p := oracle.RandomPairwise(source(seed), g, constantCards(8, 2), 2, 0)
		r := newInference(t, p, counting.Bethe(g))
		o := oracle.Must(r.iterate(0, Limits{Tolerance: 1e-11, MaxSweeps: 3000, Accelerated: true}))(t)
		if o.Converged && o.Damping > 0 {
			damped++
		}
	}
	if damped < 1 {
		t.Errorf("damping has helped %d of 40 networks", damped)
	}
	t.Logf("damping has helped %d of 40 networks", damped)
}
