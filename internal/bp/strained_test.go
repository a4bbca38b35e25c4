package bp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// strained draws a network in which tables of very different strengths meet, up
// to scale, and each entry but the first is forbidden with probability zeros.
func strained(rng *rand.Rand, g *graph.Graph, scale, zeros float64) *mrf.Pairwise {
	p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 3), 1, zeros)
	strengthen := func(tables []float64, at []int) {
		for i := range len(at) - 1 {
			strength := []float64{0.01, 1, 50, 300, scale}[rng.IntN(5)]
			for j := at[i]; j < at[i+1]; j++ {
				tables[j] *= strength
			}
		}
	}
	strengthen(p.Edge, p.EdgeAt)
	strengthen(p.Node, p.NodeAt)
	return p
}

// randomBlocks cuts g into up to three blocks.
func randomBlocks(t oracle.TB, rng *rand.Rand, p *mrf.Pairwise, c *counting.Numbers) *inference {
	t.Helper()
	return newBlockInference(t, p, c, nil, randomPartition(rng, p.Graph, 1+rng.IntN(min(3, p.Graph.NumNodes()))))
}

// TestStrainedBounds: at every stage of every inference no primal exceeds any
// upper bound, and no upper bound is below log Z.
func TestStrainedBounds(t *testing.T) {
	for seed := range uint64(150) {
		rng := source(seed)
		g := legal(gen.ErdosRenyi(6, 0.6, rng))
		p := strained(rng, g, 1e6, 0.25)
		z := oracle.LogZ(p)
		for _, c := range []*counting.Numbers{counting.Convex(g), dualCounting(rng, g), legal(counting.SampledTreeReweighted(g, seed))} {
			r := newInference(t, p, c)
			if c.Facts.Dual {
				r = randomBlocks(t, rng, p, c)
			}
			lowest, highest := math.Inf(1), math.Inf(-1)
			for round := range 25 {
				for _, b := range r.blocks() {
					oracle.Must(r.iterate(b, Limits{Tolerance: 1e-12, MaxSweeps: 1 + round}))(t)
				}
				v := r.values(t)
				upper := v.Dual
				lowest, highest = min(lowest, upper), max(highest, v.Primal)
				slack := 1e-10 * (1 + math.Abs(upper))
				if math.IsNaN(v.FreeEnergy) || !(highest <= lowest+slack) || c.Facts.Bound == counting.Upper && !(upper >= z-slack) {
					t.Fatalf("seed %d, %s, round %d: values %+v, upper bound %v, best bounds %v and %v, log Z %v", seed, c.Name, round, v, upper, highest, lowest, z)
				}
			}
		}
	}
}

// TestContradictionsAreReal: an error that says that the partition function is zero is right, whatever the schedule,
// the damping and the strengths; and on trees it is never missed.
func TestContradictionsAreReal(t *testing.T) {
	refused, solved := 0, 0
	for seed := range uint64(600) {
		rng := source(seed)
		tree := seed%3 == 0
		g := legal(gen.ErdosRenyi(6, 0.5, rng))
		if tree {
			g = legal(gen.Tree(6, rng))
		}
		p := strained(rng, g, 1e8, 0)
		density := []float64{0.1, 0.2, 0.4}[rng.IntN(3)]
		for _, tables := range [][]float64{p.Node, p.Edge} {
			for i := range tables {
				if rng.Float64() < density {
					tables[i] = math.Inf(-1)
				}
			}
		}
		z := oracle.LogZ(p)
		for _, c := range countingsOf(g) {
			err := visitAll(randomBlocks(t, rng, p, c), 30, []float64{0, 0.5}[rng.IntN(2)])
			switch impossible := math.IsInf(z, -1); {
			case err != nil && !impossible:
				t.Fatalf("seed %d, %s: %v, but log Z is %v", seed, c.Name, err, z)
			case err == nil && impossible && tree:
				t.Fatalf("seed %d, %s: no error on a tree whose partition function is zero", seed, c.Name)
			case err != nil:
				refused++
			default:
				solved++
			}
		}
	}
	if refused < 100 || solved < 100 {
		t.Errorf("%d networks refused and %d solved: the test tests little", refused, solved)
	}
}

// visitAll goes over all blocks so many times and evaluates them.
func visitAll(r *inference, rounds int, damping float64) error {
	for range rounds {
		for _, b := range r.blocks() {
			if _, err := r.iterate(b, Limits{Tolerance: 1e-9, MaxSweeps: 7, Damping: damping}); err != nil {
				return err
			}
		}
	}
	for _, b := range r.blocks() {
		block, err := r.load(b)
		if err != nil {
			return err
		}
		if _, err := r.space.Evaluate(r.net, r.state, block, true); err != nil {
			return err
		}
	}
	return nil
}

// TestConvergedBeliefsAgree: where potentials are so large that messages move in steps beyond the tolerance, a sweep
// that changes nothing is no convergence unless the beliefs agree.
func TestConvergedBeliefsAgree(t *testing.T) {
	for _, scale := range []float64{1, 1e4, 1e8, 1e14, 1e18, 1e100} {
		converged, stuck := 0, 0
		for seed := range uint64(120) {
			rng := source(seed)
			g := legal(gen.ErdosRenyi(6, 0.6, rng))
			p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 3), scale, 0)
			for _, c := range []*counting.Numbers{counting.Convex(g), counting.Bethe(g)} {
				r := newInference(t, p, c)
				o := oracle.Must(r.iterate(0, Limits{Tolerance: 1e-9, MaxSweeps: 500}))(t)
				if o.Converged {
					converged++
					r.damped = o.Damping > 0
					r.check(t, 1e-8)
				} else if o.Residual == 0 {
					stuck++
				}
			}
		}
		if converged < 200 || (stuck > 0) != (scale > 1e4) {
			t.Errorf("scale %g: %d inferences converged, %d are stuck", scale, converged, stuck)
		}
	}
}
