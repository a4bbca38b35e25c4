package flow_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/flow"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// value is what MinimumCut minimises.
func value(g *graph.Graph, inside []bool, excess, forward, backward []float64) float64 {
	total := 0.0
	for s, x := range excess {
		if x > 0 && !inside[s] || x < 0 && inside[s] {
			total += math.Abs(x)
		}
	}
	u, v := g.Ends()
	for e := range u {
		switch {
		case inside[u[e]] && !inside[v[e]]:
			total += forward[e]
		case inside[v[e]] && !inside[u[e]]:
			total += backward[e]
		}
	}
	return total
}

// TestMinimumCut against all subsets: capacities real or small integers, zero and
// infinite ones among them.
func TestMinimumCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const huge = 1e14 // beside which everything else is nearly rounding
		n := rapid.IntRange(1, 9).Draw(t, "nodes")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		g := oracle.Must(gen.ErdosRenyi(n, rapid.SampledFrom([]float64{0.2, 0.5, 1}).Draw(t, "density"), rng))(t)
		whole, withHuge := rapid.Bool().Draw(t, "integers"), rapid.Bool().Draw(t, "huge")
		draw := func() float64 {
			x := math.Abs(3 * rng.NormFloat64())
			if withHuge && rng.IntN(6) == 0 {
				return huge
			}
			if whole {
				x = math.Floor(x)
			}
			return x
		}
		capacity := func() float64 {
			switch rng.IntN(8) {
			case 0:
				return 0
			case 1:
				return math.Inf(1)
			}
			return draw()
		}
		excess, forward, backward := make([]float64, n), make([]float64, g.NumEdges()), make([]float64, g.NumEdges())
		for s := range excess {
			excess[s] = draw() * float64(1-2*rng.IntN(2))
		}
		for e := range forward {
			forward[e], backward[e] = capacity(), capacity()
		}
		inside := flow.MinimumCut(g, excess, forward, backward)
		got, best, size := value(g, inside, excess, forward, backward), math.Inf(1), 0
		for _, in := range inside {
			if in {
				size++
			}
		}
		smallest := n
		for set := range 1 << n {
			candidate, count := make([]bool, n), 0
			for s := range candidate {
				if candidate[s] = set>>s&1 == 1; candidate[s] {
					count++
				}
			}
			switch x := value(g, candidate, excess, forward, backward); {
			case x < best-1e-12:
				best, smallest = x, count
			case x <= best+1e-12:
				smallest = min(smallest, count)
			}
		}
		if !(math.Abs(got-best) <= 1e-12*(1+best)) || whole && size != smallest {
			t.Fatalf("cut of %v with %d nodes, the minimum is %v with %d", got, size, best, smallest)
		}
	})
}

func TestMinimumCutPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it did not panic")
		}
	}()
	g, _ := gen.Chain(2)
	flow.MinimumCut(g, []float64{1, 2}, []float64{1}, nil)
}

// Node 0 has 3 to give and node 2 takes 2, but the way there carries 1.
func ExampleMinimumCut() {
	g, err := gen.Chain(3)
	if err != nil {
		panic(err)
	}
	fmt.Println(flow.MinimumCut(g, []float64{3, 0, -2}, []float64{2, 1}, []float64{0, 0}))
	// Output: [true true false]
}
