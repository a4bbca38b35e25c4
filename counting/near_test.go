package counting

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"testing"

	"github.com/blockbp/blockbp/internal/gen"
)

// TestNearBethe: on 200 small graphs and more the numbers are, but for a share, those of Hildreth's method for
// ½ Σ (c_uv − 1)² over the convex ones by definition, Σ_{E(S)} c_uv ≤ |S| for each set S of nodes, as Prove says.
func TestNearBethe(t *testing.T) {
	graphs := loopyGraphs()
	for n := range uint64(200) {
		graphs["drawn "+strconv.Itoa(int(n))] = legal(gen.ErdosRenyi(7, 0.3+0.003*float64(n), source(n)))
	}
	for name, g := range graphs {
		c := legal(nearBethe(t.Context(), g))
		var sets [][]int32
		var room []float64 // |S|
		eachSet(g, func(set uint, inside []int32) {
			if len(inside) > 0 {
				sets, room = append(sets, inside), append(room, float64(bits.OnesCount(set)))
			}
		})
		want, multiplier, share := constants(g.NumEdges(), 1), make([]float64, len(sets)), 1-inside
		for round, moved := 0, 1.0; round < 3000 && moved > 1e-13; round++ {
			moved = 0
			for i, within := range sets {
				excess := -room[i]
				for _, e := range within {
					excess += want[e]
				}
				change := max(-multiplier[i], excess/float64(len(within)))
				multiplier[i], moved = multiplier[i]+change, max(moved, math.Abs(change))
				for _, e := range within {
					want[e] -= change
				}
			}
		}
		if c.Facts.Bound == Exact { // a forest
			share = 1
		}
		distance := 0.0
		for e, x := range c.Edge {
			distance += (x/share - want[e]) * (x/share - want[e])
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
