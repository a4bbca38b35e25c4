package counting

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
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

// drawGraph returns a graph with up to most nodes, few or many edges, often disconnected.
func drawForested(t *rapid.T, most int) *graph.Graph {
	n := rapid.IntRange(1, most).Draw(t, "nodes")
	p := rapid.SampledFrom([]float64{0.1, 0.3, 0.6, 1}).Draw(t, "probability")
	return legal(gen.ErdosRenyi(n, p, source(rapid.Uint64().Draw(t, "graph seed"))))
}

// isSpanningForest reports whether the edges are acyclic and as many as a spanning forest has.
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
			oracle.MustEqual(t, mu, float64(count[e])/float64(sample.Forests), "share of forests with edge %d", e)
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
			oracle.Near(t, float64(count), mean, 4, "%s: how many of 200 forests have edge %d", name, e)
		}
	}
}

func TestCoverIsQuick(t *testing.T) {
	for _, test := range []struct {
		name string
		g    *graph.Graph
		most int
	}{
		{"grid", legal(graph.Grid(60, 60, graph.GridOptions{})), 4}, {"complete", legal(gen.Complete(60)), 34},
		{"tree", legal(gen.Tree(60, source(1))), 1},
		{"no edges", legal(graph.FromEdges(5, nil, nil)), 1},
		{"nothing", &graph.Graph{}, 1},
	} {
		if sample := cover(test.g, source(1), 0); sample.Forests > test.most {
			t.Errorf("%s: %d forests, want at most %d", test.name, sample.Forests, test.most)
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
			oracle.MustNear(t, sample.Parent[d], want[d], 1e-12,
				"share of the forests in which the target of %d is the parent", d)
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
