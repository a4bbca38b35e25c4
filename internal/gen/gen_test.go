package gen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// edges returns the edges of g in order, as pairs.
func edges(g *graph.Graph) [][2]int32 {
	u, v := g.Ends()
	pairs := make([][2]int32, len(u))
	for e := range u {
		pairs[e] = [2]int32{u[e], v[e]}
	}
	return pairs
}

func must(t testing.TB, g *graph.Graph, err error) *graph.Graph {
	t.Helper()
	oracle.OK(t, err)
	return g
}

func TestChainAndComplete(t *testing.T) {
	g, err := gen.Chain(4)
	if diff := cmp.Diff([][2]int32{{0, 1}, {1, 2}, {2, 3}}, edges(must(t, g, err))); diff != "" {
		t.Error(diff)
	}
	g, err = gen.Complete(4)
	if diff := cmp.Diff([][2]int32{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}, edges(must(t, g, err))); diff != "" {
		t.Error(diff)
	}
}

func TestTreesAreTrees(t *testing.T) {
	for n := 1; n <= 60; n++ {
		g, err := gen.Tree(n, source(uint64(n)))
		must(t, g, err)
		if _, count := g.Components(); count != 1 || g.NumEdges() != n-1 {
			t.Fatalf("n = %d: %d edges in %d components", n, g.NumEdges(), count)
		}
	}
}

// TestTreeIsUniform counts the 125 labelled trees on five nodes. With 400 expected draws of each, the statistic has 124
// degrees of freedom, so 200 is more than four standard deviations away.
func TestTreeIsUniform(t *testing.T) {
	const n, trees, draws = 5, 125, 50000
	rng, counts := source(3), map[string]int{}
	for range draws {
		g, err := gen.Tree(n, rng)
		must(t, g, err)
		pairs := edges(g)
		for i, e := range pairs {
			pairs[i] = [2]int32{min(e[0], e[1]), max(e[0], e[1])}
		}
		slices.SortFunc(pairs, func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
		counts[fmt.Sprint(pairs)]++
	}
	statistic := 0.0
	for _, count := range counts {
		d := float64(count) - draws/trees
		statistic += d * d / (draws / trees)
	}
	if len(counts) != trees || statistic > 200 {
		t.Errorf("%d different trees, want %d; chi-square %.1f, want about 124", len(counts), trees, statistic)
	}
}

func TestErdosRenyi(t *testing.T) {
	const n = 12
	for _, p := range []float64{0, 1e-300, 0.1, 0.5, 0.9, 1} {
		const draws = 4000
		rng, joined := source(5), [n][n]int{}
		for range draws {
			g, err := gen.ErdosRenyi(n, p, rng)
			for i, e := range edges(must(t, g, err)) {
				joined[e[0]][e[1]]++
				if previous := edges(g)[max(0, i-1)]; e[0] >= e[1] || previous[1] > e[1] {
					t.Fatalf("edge %v after %v is out of order", e, previous)
				}
			}
		}
		// Five standard deviations over 66 pairs: a false alarm in 1e5.
		tolerance := 5 * math.Sqrt(p*(1-p)/draws)
		for b := range n {
			for a := range b {
				oracle.Near(t, float64(joined[a][b])/draws, p, tolerance,
					"p = %v: nodes %d and %d are joined with frequency", p, a, b)
			}
		}
	}
}

func TestBarabasiAlbert(t *testing.T) {
	for _, test := range []struct{ n, m int }{{2, 1}, {5, 4}, {6, 4}, {50, 1}, {2000, 3}} {
		g, err := gen.BarabasiAlbert(test.n, test.m, source(11))
		must(t, g, err)
		if _, count := g.Components(); count != 1 || g.NumEdges() != test.m*(test.n-test.m) {
			t.Fatalf("%+v: %d edges, %d components", test, g.NumEdges(), count)
		}
		for e, pair := range edges(g) {
			young := int32(e + 1) // in the star
			if e >= test.m {
				young = int32(test.m + 1 + (e-test.m)/test.m)
			}
			if pair[1] != young || pair[0] >= pair[1] {
				t.Fatalf("%+v: edge %d is %v, want younger end %d", test, e, pair, young)
			}
		}
	}
}

// TestBarabasiAlbertIsPreferential checks the power law: the fraction of nodes
// of degree k tends to 2m(m+1)/(k(k+1)(k+2)).
func TestBarabasiAlbertIsPreferential(t *testing.T) {
	const n, m = 50000, 2
	g, err := gen.BarabasiAlbert(n, m, source(13))
	must(t, g, err)
	count := map[int]float64{}
	for s := range int32(n) {
		count[g.Degree(s)]++
	}
	for k := m; k <= 8; k++ {
		want := 2.0 * m * (m + 1) / float64(k*(k+1)*(k+2))
		oracle.Near(t, count[k]/n, want, 0.05*want+0.001, "fraction of degree %d", k)
	}
}

func TestSameSeedSameGraph(t *testing.T) {
	generators := map[string]func(*rand.Rand) (*graph.Graph, error){
		"tree":        func(rng *rand.Rand) (*graph.Graph, error) { return gen.Tree(300, rng) },
		"erdos-renyi": func(rng *rand.Rand) (*graph.Graph, error) { return gen.ErdosRenyi(300, 0.02, rng) },
		"barabasi":    func(rng *rand.Rand) (*graph.Graph, error) { return gen.BarabasiAlbert(300, 3, rng) },
	}
	for name, generate := range generators {
		first, err := generate(source(1))
		must(t, first, err)
		again, err := generate(source(1))
		must(t, again, err)
		other, err := generate(source(2))
		must(t, other, err)
		oracle.Equal(t, edges(first), edges(again), "%s: edges of the same seed", name)
		if slices.Equal(edges(first), edges(other)) {
			t.Errorf("%s: different seeds gave the same graph", name)
		}
	}
}
