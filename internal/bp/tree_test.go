package bp

import (
	"fmt"
	"math"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// treeCountings are the two names of what is exact on a tree.
func treeCountings(g *graph.Graph) []*counting.Numbers {
	return []*counting.Numbers{counting.Bethe(g), legal(counting.SampledTreeReweighted(g, 1))}
}

// TestExactOnTrees: on a forest bethe and trw with μ = 1 give log Z and all marginals, whatever the numbers of states
// (1 included), the size of the potentials, and the hard zeros.
func TestExactOnTrees(t *testing.T) {
	for _, test := range []struct {
		name         string
		scale, zeros float64
	}{
		{"weak", 1, 0}, {"strong", 30, 0}, {"zeros", 2, 0.35}, {"±1e4", 1e4, 0}, {"±1e4 and zeros", 1e4, 0.3},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(25) {
				rng := source(seed)
				g := legal(gen.Tree(1+rng.IntN(8), rng))
				if seed%5 == 4 {
					g = forest(t, rng.IntN(3), g)
				}
				p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 4), test.scale, test.zeros)
				for _, c := range treeCountings(g) {
					oracle.MustEqual(t, c.Facts.Bound, counting.Exact, "seed %d, %s: bound on a forest", seed, c.Name)
					compareWithOracle(t, fmt.Sprintf("seed %d, %s", seed, c.Name), p, c)
				}
			}
		})
	}
}

// forest adds lone nodes and a second tree, a chain of three, to a tree.
func forest(t oracle.TB, lone int, tree *graph.Graph) *graph.Graph {
	t.Helper()
	n := int32(tree.NumNodes())
	u, v := tree.Ends()
	u, v = append([]int32{n, n + 2}, u...), append([]int32{n + 1, n + 1}, v...)
	g, err := graph.FromEdges(int(n)+3+lone, u, v)
	oracle.OK(t, err)
	return g
}

// compareWithOracle runs a counting that is exact here.
func compareWithOracle(t oracle.TB, name string, p *mrf.Pairwise, c *counting.Numbers) {
	t.Helper()
	r := newInference(t, p, c)
	r.solve(t)
	want := oracle.LogZ(p)
	if v := r.values(t); !near(v.FreeEnergy, want, 1e-10) || !near(v.Primal, want, 1e-10) {
		t.Fatalf("%s: values %+v, log Z is %.12f", name, v, want)
	}
	nodes, edges := oracle.Marginals(p)
	compareTables(t, name+": node", r.nodes(), nodes, 1e-10)
	compareTables(t, name+": edge", r.edges(t), edges, 1e-10)
}

// TestTurns: back and forth over networks whose nodes come after the one above them, two sweeps
// find the marginals, whatever the messages were; an iteration ends after both.
func TestTurns(t *testing.T) {
	rng := source(4)
	chain := legal(gen.Chain(40))
	var u, v []int32
	for s := int32(1); s < 60; s++ {
		u, v = append(u, int32(rng.IntN(int(s)))), append(v, s)
	}
	for _, g := range []*graph.Graph{chain, legal(graph.FromEdges(60, u, v))} {
		for _, most := range []int{2, 3} { // states
			p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 2, most), 2, 0)
			r := newInference(t, p, counting.Bethe(g))
			r.sweep(t, r.blocks())
			o := legal(r.iterate(0, Limits{Tolerance: math.Inf(1), MaxSweeps: 9, Turns: true}))
			oracle.MustEqual(t, o.Sweeps, 2, "sweeps")
			r.check(t, 1e-12)
			if again := r.sweep(t, r.blocks()); !(again <= 1e-12) {
				t.Errorf("%d states: another sweep changes messages by %g", most, again)
			}
		}
	}
}
