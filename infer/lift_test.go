package infer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// torus is an n by n grid whose opposite borders are joined.
func torus(n int32) *graph.Graph {
	var u, v []int32
	for s := range n * n {
		u, v = append(u, s, s), append(v, s-s%n+(s+1)%n, (s+n)%(n*n))
	}
	return must(graph.FromEdges(int(n*n), u, v))
}

// copies is a graph many times over.
func copies(times int32, u, v []int32) *graph.Graph {
	var us, vs []int32
	nodes := slices.Max(v) + 1
	for e := range int32(len(u)) * times {
		i, from := e%int32(len(u)), e/int32(len(u))*nodes
		us, vs = append(us, from+u[i]), append(vs, from+v[i])
	}
	return must(graph.FromEdges(int(nodes*times), us, vs))
}

// alike has one table for all nodes of a graph and one for all edges, random ones with a zero.
func alike(seed uint64, g *graph.Graph, symmetric bool) *mrf.Network {
	one := oracle.RandomPairwise(source(seed), must(gen.Chain(2)), []int32{3, 3}, 0.5, 0)
	node, edge := one.Node[:3], one.Edge
	edge[4] = math.Inf(-1)
	for i := range edge {
		if symmetric {
			edge[i] = edge[i%3*3+i/3]
		}
	}
	n := &mrf.Network{}
	u, v := g.Ends()
	for s := range g.NumNodes() {
		n.Card, n.Factors = append(n.Card, 3), append(n.Factors, mrf.Factor{Scope: []int{s}, LogTable: node})
	}
	for e := range u {
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{int(u[e]), int(v[e])}, LogTable: edge})
	}
	return n
}

// TestLift: classes have the beliefs and the value that their variables have with the same counting numbers.
func TestLift(t *testing.T) {
	tree := must(gen.Tree(15, source(1)))
	for _, c := range []struct {
		name      string
		g         *graph.Graph
		symmetric bool
		evidence  map[int]int
		classes   int // 0: too many
	}{
		{"torus", torus(6), false, nil, 1}, {"complete", must(gen.Complete(8)), true, nil, 1},
		{"copies", copies(20, []int32{0, 1, 2, 2}, []int32{1, 2, 0, 3}), false, nil, 4},
		{"cage", copies(3, []int32{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 7, 9, 6, 8}, // Petersen's: a tree up to loops of five
			[]int32{1, 2, 3, 4, 0, 5, 6, 7, 8, 9, 7, 9, 6, 8, 5}), true, nil, 1},
		{"observed", torus(7), true, map[int]int{10: 1}, 9}, {"grid", must(graph.Grid(9, 9, graph.GridOptions{})), true, nil, 15},
		{"no symmetry", tree, false, map[int]int{0: 1, 1: 1}, 0},
	} {
		n := alike(3, c.g, c.symmetric)
		for _, numbers := range counting.Names {
			name := c.name + ", " + numbers
			o := Options{Lift: true, Counting: must(counting.Parse(context.Background(), numbers, 1)), Evidence: c.evidence,
				Limits: Limits{Tolerance: 1e-14, MaxSweeps: 5000}}
			got := must(Marginals(context.Background(), n, o))
			o.Lift, o.Counting = false, func(*graph.Graph) (*counting.Numbers, error) { return got.Counting, nil }
			want := must(Marginals(context.Background(), n, o))
			if got.Classes != c.classes || !got.Converged || !want.Converged || got.Bound != want.Bound {
				t.Errorf("%s: %d classes, want %d; %+v %s, want %+v %s", name, got.Classes, c.classes, got.Outcome, got.Bound,
					want.Outcome, want.Bound)
			}
			if !(math.Abs(got.LogZ/want.LogZ-1) <= 1e-12) {
				t.Errorf("%s: log Z %.15g, want %.15g", name, got.LogZ, want.LogZ)
			}
			compare(t, name, got.Marginals, want.Marginals, 1e-12)
			if c.name == "complete" && got.Bound == counting.Upper && !(got.LogZ >= oracle.NetworkLogZ(n)) {
				t.Errorf("%s: %v is no upper bound", name, got.LogZ)
			}
		}
	}
	n := alike(3, torus(3), true)
	n.Factors[0].LogTable[0], n.Factors[0].LogTable[2] = math.Inf(-1), math.Inf(-1) // and 1 beside 1 is impossible
	if r := must(LogPartition(context.Background(), n, Options{Lift: true})); !math.IsInf(r.LogZ, -1) || r.Classes != 0 {
		t.Errorf("log Z of zeros that contradict each other is %v", r.LogZ)
	}
}

// TestRefine: classes are those of refinement by texts, all at once, round by round.
func TestRefine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := source(rapid.Uint64().Draw(t, "seed"))
		g := must(gen.ErdosRenyi(rapid.IntRange(1, 40).Draw(t, "nodes"), 0.05, rng))
		p := must(alike(1, g, rapid.Bool().Draw(t, "symmetric")).Pairwise())
		p.Node[0] += float64(rng.IntN(2))
		l := refine(p, counting.Convex(g))
		ok := 2*len(l.nodes) <= len(p.Card)
		names := make([]string, g.NumNodes())
		for range names {
			number := map[string]string{}
			next := make([]string, len(names))
			for s := range names {
				all := []string{names[s], fmt.Sprint(p.Node[3*s])}
				for _, d := range g.Incoming(int32(s)) {
					all = append(all, fmt.Sprint(names[g.Source(d)], l.table(d)))
				}
				slices.Sort(all[2:])
				text := fmt.Sprint(all)
				if number[text] == "" {
					number[text] = fmt.Sprint("c", len(number))
				}
				next[s] = number[text]
			}
			names = next
		}
		classes, of := map[string]int32{}, map[int32]string{}
		for s, name := range names {
			if c, known := classes[name]; ok && known && c != l.class[s] || ok && !known && of[l.class[s]] != "" {
				t.Fatalf("classes %v, want %v", l.class, names)
			}
			classes[name], of[l.class[s]] = l.class[s], name
		}
		if want := 2*len(classes) <= len(names); ok != want {
			t.Fatalf("refined: %v, want %v", ok, want)
		}
	})
}
