package counting

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
)

// cover is coverForests without an end before its own.
func cover(g *graph.Graph, rng *rand.Rand, least int) *forestSample {
	return legal(coverForests(context.Background(), g, rng, least))
}

// forestsOf are the forests of a sample, drawn once more.
func forestsOf(g *graph.Graph, rng *rand.Rand, sample *forestSample) (forests [][]int32) {
	count := make([]int32, g.NumEdges())
	c := newCoverer(g, count)
	for range sample.Forests {
		forests = append(forests, slices.Clone(c.draw(rng)))
		for _, e := range forests[len(forests)-1] {
			count[e]++
		}
	}
	return forests
}

// TestCoverEnds: an ended context ends the drawing, also of a graph that needs many forests.
func TestCoverEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if sample, err := coverForests(ctx, legal(gen.Complete(60)), source(1), 1<<40); sample != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v, want the error of the context", sample, err)
	}
}

// drawGraph returns a graph with up to most nodes, few or many edges, often
// disconnected.
func drawForested(t *rapid.T, most int) *graph.Graph {
	n := rapid.IntRange(1, most).Draw(t, "nodes")
	p := rapid.SampledFrom([]float64{0.1, 0.3, 0.6, 1}).Draw(t, "probability")
	return legal(gen.ErdosRenyi(n, p, source(rapid.Uint64().Draw(t, "graph seed"))))
}

// isSpanningForest reports whether the edges are acyclic and as many as a spanning
// forest has.
func isSpanningForest(g *graph.Graph, edges []int32) bool {
	u, v := make([]int32, len(edges)), make([]int32, len(edges))
	for i, e := range edges {
		u[i], v[i] = g.U(e), g.V(e)
	}
	forest, err := graph.FromEdges(g.NumNodes(), u, v)
	if err != nil {
		return false
	}
	_, components := g.Components()
	return forest.IsForest() && len(edges) == g.NumNodes()-components
}

func TestCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawForested(t, 30)
		seed, least := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 12).Draw(t, "forests")
		sample := cover(g, source(seed), least)
		if sample.Forests < max(1, least) || len(sample.Count) != g.NumEdges() {
			t.Fatalf("%d forests, %d counts", sample.Forests, len(sample.Count))
		}
		count := make([]int32, g.NumEdges())
		for _, forest := range forestsOf(g, source(seed), sample) {
			if !isSpanningForest(g, forest) {
				t.Fatalf("edges %v are no spanning forest", forest)
			}
			for _, e := range forest {
				count[e]++
			}
		}
		if !slices.Equal(count, sample.Count) || slices.Contains(count, 0) {
			t.Fatalf("counts are %v, the forests have %v", sample.Count, count)
		}
		for e, mu := range sample.Appearance() {
			if want := float64(count[e]) / float64(sample.Forests); mu != want {
				t.Fatalf("appearance of edge %d is %v, want %v", e, mu, want)
			}
		}
	})
}

// TestCoverIsEven: on a torus and on a complete graph, where (nodes − 1)/edges
// for every edge is in the polytope, the counts stay within a few of their mean.
func TestCoverIsEven(t *testing.T) {
	for name, g := range map[string]*graph.Graph{
		"torus":    legal(graph.Grid(12, 12, graph.GridOptions{Torus: true})),
		"complete": legal(gen.Complete(24)),
	} {
		sample := cover(g, source(1), 200)
		mean := 200 * float64(g.NumNodes()-1) / float64(g.NumEdges())
		for e, count := range sample.Count {
			if math.Abs(float64(count)-mean) > 4 {
				t.Errorf("%s: edge %d is in %d of 200 forests, want about %.1f", name, e, count, mean)
			}
		}
	}
}

func TestCoverIsQuick(t *testing.T) {
	for _, test := range []struct {
		name string
		g    *graph.Graph
		most int
	}{
		{"grid", legal(graph.Grid(60, 60, graph.GridOptions{})), 4},
		{"complete", legal(gen.Complete(60)), 34},
		{"tree", legal(gen.Tree(60, source(1))), 1},
		{"no edges", legal(graph.FromEdges(5, nil, nil)), 1},
		{"nothing", &graph.Graph{}, 1},
	} {
		if sample := cover(test.g, source(1), 0); sample.Forests > test.most {
			t.Errorf("%s: %d forests, want at most %d", test.name, sample.Forests, test.most)
		}
	}
}

// insideSums calls visit for every non-empty set of nodes, as a bit set with its
// size, and the sum of the amounts of the edges inside it.
func insideSums(g *graph.Graph, amount []float64, visit func(set uint, nodes int, sum float64)) {
	for set := uint(1); set < 1<<g.NumNodes(); set++ {
		nodes, sum := 0, 0.0
		for s := range g.NumNodes() {
			nodes += int(set >> s & 1)
		}
		for e, a := range amount {
			if set>>g.U(int32(e))&1 == 1 && set>>g.V(int32(e))&1 == 1 {
				sum += a
			}
		}
		visit(set, nodes, sum)
	}
}

func constant(g *graph.Graph, value float64) []float64 {
	return slices.Repeat([]float64{value}, g.NumEdges())
}

func TestShiftAgainstAllSubsets(t *testing.T) {
	can := 0
	rapid.Check(t, func(t *rapid.T) {
		g := drawForested(t, 8)
		unit := rapid.SampledFrom([]float64{1, 0.1, 1e6, 1e-6}).Draw(t, "unit")
		supply, capacity := make([]float64, g.NumEdges()), make([]float64, g.NumNodes())
		for e := range supply {
			supply[e] = unit * float64(rapid.IntRange(0, 4).Draw(t, "supply"))
		}
		slack := rapid.IntRange(0, 8).Draw(t, "slack")
		for s := range capacity {
			capacity[s] = unit * float64(rapid.IntRange(0, g.Degree(int32(s))+slack).Draw(t, "capacity"))
		}
		want := true
		insideSums(g, supply, func(set uint, _ int, sum float64) {
			for s, c := range capacity {
				sum -= float64(set>>s&1) * c
			}
			want = want && sum <= 1e-3*unit
		})
		if want {
			can++
		}
		if got := canShift(g, supply, capacity); got != want {
			t.Fatalf("supply %v, capacity %v: got %v, want %v", supply, capacity, got, want)
		}
	})
	if can == 0 {
		t.Error("no case could be shifted: the test is void")
	}
}

func canShift(g *graph.Graph, supply, capacity []float64) bool {
	_, ok := shift(g, supply, capacity)
	return ok
}

// TestShiftSettlesConvexity: tree-reweighted counting numbers have ρ_s = 1
// and are concave for μ in the polytope; c = 1 everywhere always is; Bethe
// numbers have ρ_s = 1 and c_uv = 1, which works up to one cycle per component.
func TestShiftSettlesConvexity(t *testing.T) {
	grid := legal(graph.Grid(100, 100, graph.GridOptions{}))
	cycle := legal(graph.FromEdges(4, []int32{0, 1, 2, 3}, []int32{1, 2, 3, 0}))
	ones := func(g *graph.Graph) []float64 { return slices.Repeat([]float64{1}, g.NumNodes()) }
	convex := ones(grid)
	for s := range convex {
		convex[s] += float64(grid.Degree(int32(s)))
	}
	tests := []struct {
		name             string
		g                *graph.Graph
		supply, capacity []float64
		want             bool
	}{
		{"trw", grid, cover(grid, source(1), 10).Appearance(), ones(grid), true},
		{"convex", grid, constant(grid, 1), convex, true},
		{"bethe on a grid", grid, constant(grid, 1), ones(grid), false},
		{"bethe on a cycle", cycle, constant(cycle, 1), ones(cycle), true},
		{"nothing", &graph.Graph{}, nil, nil, true},
	}
	for _, test := range tests {
		if got := canShift(test.g, test.supply, test.capacity); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// TestParent: against trees rooted at each of their nodes, one after the other.
func TestParent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawForested(t, 12)
		seed := rapid.Uint64().Draw(t, "seed")
		sample := cover(g, source(seed), 3)
		component, components := g.Components()
		nodes := make([]float64, components)
		for _, c := range component {
			nodes[c]++
		}
		want := make([]float64, 2*g.NumEdges())
		for _, forest := range forestsOf(g, source(seed), sample) {
			for root := range int32(g.NumNodes()) {
				countParents(g, forest, root, -1, want, 1/(nodes[component[root]]*float64(sample.Forests)))
			}
		}
		for d := range want {
			if math.Abs(sample.Parent[d]-want[d]) > 1e-12 {
				t.Fatalf("target of %d is the parent in %v, want %v", d, sample.Parent[d], want[d])
			}
		}
		if g.IsForest() && !slices.Equal(parents(g), sample.Parent) {
			t.Fatalf("of the only forest: %v, want %v", parents(g), sample.Parent)
		}
	})
}

// countParents adds a weight at every directed edge of the forest into a node that was
// reached from the root s before the source.
func countParents(g *graph.Graph, forest []int32, s, from int32, count []float64, weight float64) {
	for _, d := range g.Incoming(s) {
		if t := g.Source(d); t != from && slices.Contains(forest, d>>1) {
			count[d] += weight
			countParents(g, forest, t, s, count, weight)
		}
	}
}
