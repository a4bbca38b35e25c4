package counting

import (
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/gen"
)

// TestNearBethe: on small graphs the numbers are, but for a share, those of Hildreth's method for ½ Σ (c_uv − 1)² over
// the convex ones by definition, Σ_{E(S)} c_uv ≤ |S| for each set S of nodes; and Prove says what is claimed of them.
func TestNearBethe(t *testing.T) {
	graphs := loopyGraphs()
	for n := range uint64(20) {
		graphs["drawn"+string(rune('a'+n))] = legal(gen.ErdosRenyi(7, 0.3+0.03*float64(n), source(n)))
	}
	for name, g := range graphs {
		c := legal(nearBethe(t.Context(), g))
		want, multiplier := constants(g.NumEdges(), 1), make([]float64, 1<<g.NumNodes())
		for range 3000 {
			eachSet(g, func(set uint, inside []int32) {
				excess := 0.0
				for s := range g.NumNodes() {
					excess -= float64(set >> s & 1)
				}
				for _, e := range inside {
					excess += want[e]
				}
				change := max(-multiplier[set], excess/float64(max(1, len(inside))))
				multiplier[set] += change
				for _, e := range inside {
					want[e] -= change
				}
			})
		}
		distance := 0.0
		for e, x := range c.Edge {
			distance += (x/(1-inside) - want[e]) * (x/(1-inside) - want[e])
		}
		if !(distance <= nearest*nearest*float64(g.NumEdges())+1e-12) {
			t.Errorf("%s: c_uv are %v, want %v", name, c.Edge, want)
		}
		claimed := c.Facts
		if c.Prove(g); c.Facts != claimed || !claimed.Convex {
			t.Errorf("%s: claims %+v, proved %+v", name, claimed, c.Facts)
		}
	}
	tree := legal(gen.Tree(9, source(2)))
	if c, bethe := legal(nearBethe(t.Context(), tree)), Bethe(tree); !slices.Equal(c.Node, bethe.Node) ||
		!slices.Equal(c.Edge, bethe.Edge) || c.Facts != bethe.Facts {
		t.Errorf("on a tree: %+v, want %+v", c, bethe)
	}
}
