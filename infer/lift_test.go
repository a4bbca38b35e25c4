package infer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// copies are graphs of n nodes beside each other.
func copies(times, n int32, edges ...int32) *graph.Graph {
	var u, v []int32
	for i := range times {
		for e := 0; e < len(edges); e += 2 {
			u, v = append(u, i*n+edges[e]), append(v, i*n+edges[e+1])
		}
	}
	return must(graph.FromEdges(int(n*times), u, v))
}

// alike has one table for all nodes of a graph and one, with a zero, for all edges.
func alike(g *graph.Graph, symmetric bool) *mrf.Network {
	p := oracle.RandomPairwise(source(3), g, slices.Repeat([]int32{3}, g.NumNodes()), 0.3, 0)
	for i := range p.Node {
		p.Node[i] = p.Node[i%3]
	}
	for i := range p.Edge {
		j := i % 9
		if p.Edge[i] = p.Edge[j]; symmetric {
			p.Edge[i] = p.Edge[min(j, j%3*3+j/3)]
		}
		if j == 4 {
			p.Edge[i] = math.Inf(-1)
		}
	}
	return p.Network()
}

// TestLift: classes have the beliefs and the value that their variables have with the same counting numbers.
func TestLift(t *testing.T) {
	for name, c := range map[string]struct {
		g         *graph.Graph
		symmetric bool
		evidence  map[int]int
		classes   int // 0: too many
	}{
		"torus":    {must(graph.Grid(6, 6, graph.GridOptions{Torus: true})), false, nil, 1},
		"complete": {must(gen.Complete(8)), true, nil, 1},
		"copies":   {copies(20, 4, 0, 1, 1, 2, 2, 0, 2, 3), false, nil, 4}, // of a triangle with a tail
		"Petersen": {copies(1, 10, 0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 0, 5, 1, 6, 2, 7, 3, 8, 4, 9, 5, 7, 7, 9, 9, 6, 6, 8, 8, 5),
			true, nil, 1},
		"observed": {must(graph.Grid(7, 7, graph.GridOptions{Torus: true})), true, map[int]int{10: 1}, 9},
		"grid":     {must(graph.Grid(9, 9, graph.GridOptions{})), true, nil, 15},
		"none":     {must(gen.Tree(15, source(1))), false, map[int]int{0: 1, 1: 1}, 0},
	} {
		n := alike(c.g, c.symmetric)
		for _, numbers := range counting.Names {
			o := Options{Lift: true, Counting: must(counting.Parse(context.Background(), numbers, 1)), Evidence: c.evidence,
				Limits: Limits{Tolerance: 1e-14, MaxSweeps: 5000}}
			got := must(Marginals(context.Background(), n, o))
			o.Lift, o.Counting = false, func(*graph.Graph) (*counting.Numbers, error) { return got.Counting, nil }
			want := must(Marginals(context.Background(), n, o))
			if got.Classes != c.classes || !got.Converged || !want.Converged || got.Bound != want.Bound ||
				!(math.Abs(got.LogZ/want.LogZ-1) <= 1e-12) {
				t.Errorf("%s, %s: %d classes, %+v; want %+v", name, numbers, got.Classes, got, want)
			}
			compare(t, name+", "+numbers, got.Marginals, want.Marginals, 1e-12)
			if c.g.NumNodes() <= 10 && got.Bound == counting.Upper && !(got.LogZ >= oracle.NetworkLogZ(n)) {
				t.Errorf("%s, %s: %v is no upper bound", name, numbers, got.LogZ)
			}
		}
	}
}

// TestRefine: there are as many classes as refinement of all nodes at once, round by round, finds.
func TestRefine(t *testing.T) {
	for seed := range uint64(300) {
		g := must(gen.ErdosRenyi(1+int(seed%40), 0.06, source(seed)))
		class, known := make([]int, g.NumNodes()), map[string]int{}
		for range class {
			clear(known)
			before := slices.Clone(class)
			for s := range class {
				all := []int{before[s]}
				for _, d := range g.Incoming(int32(s)) {
					all = append(all, before[g.Source(d)])
				}
				slices.Sort(all[1:])
				text := fmt.Sprint(all)
				if _, ok := known[text]; !ok {
					known[text] = len(known)
				}
				class[s] = known[text]
			}
		}
		l := refine(must(alike(g, true).Pairwise()), counting.Convex(g))
		if got, want := len(l.nodes), len(known); got != want && 2*min(got, want) <= len(class) {
			t.Errorf("seed %d: %d classes, want %d", seed, got, want)
		}
	}
}
