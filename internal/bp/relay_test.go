package bp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestRelay: sweeps that are made at once give the bytes of sweeps one after another, for any
// number of goroutines: on grids and on graphs without an order, whose nodes have as many states or
// not, some observed or none, with tables of any form.
func TestRelay(t *testing.T) {
	t.Parallel()
	rng := source(17)
	grid := legal(graph.Grid(60, 280, graph.GridOptions{}))
	for i, c := range []struct {
		g          *graph.Graph
		numbers    *counting.Numbers
		least, mst int // states
		observed   bool
		scale      float64
		zeros      float64
	}{
		{g: grid, numbers: counting.Convex(grid), least: 3, mst: 3, scale: 1},
		{g: grid, numbers: counting.Convex(grid), least: 2, mst: 4, observed: true, scale: 1},
		{g: grid, numbers: counting.Convex(grid), least: 2, mst: 2, scale: 300, zeros: 0.01},
		{g: legal(gen.BarabasiAlbert(leastStretches*partition.WindowNodes, 2, rng)), least: 2, mst: 2, scale: 0.5},
	} {
		if c.numbers == nil {
			c.numbers = counting.Convex(c.g)
		}
		p := oracle.RandomPairwise(rng, c.g, randomCards(rng, c.g.NumNodes(), c.least, c.mst), c.scale, c.zeros)
		var observed []int32
		if c.observed {
			observed = slices.Repeat([]int32{-1}, c.g.NumNodes())
			for range 100 {
				observed[rng.IntN(len(observed))] = 1
			}
		}
		var one *inference
		var first Outcome
		var changes, residuals []float64
		for _, threads := range []int{1, 2, 3} {
			what := fmt.Sprintf("case %d on %d threads", i, threads)
			r := newBlockInference(t, p, c.numbers, observed, partition.Whole(c.g))
			r.space.Threads = threads
			o, err := r.iterate(0, Limits{Tolerance: 1e-12, MaxSweeps: 22, Beliefs: 1e-9})
			if err != nil || o.Sweeps != 22 || r.space.relay.block == nil {
				t.Fatalf("%s: %+v, %v; want 22 sweeps, most of them at once", what, o, err)
			}
			if one == nil { // against sweeps one after another
				one, first = r, o
				r = newBlockInference(t, p, c.numbers, observed, partition.Whole(c.g))
				block := legal(r.load(0))
				r.space.last.fit(r.net)
				seen := &r.space.forecast
				seen.begin(r.net, r.state, block)
				for s := range o.Sweeps {
					r.space.extrapolate(r.state, Momentum(s))
					if o.Residual, err = r.space.Sweep(r.net, r.state, block, momentumDamping); err != nil {
						t.Fatal(err)
					}
					if s == 0 {
						o.First = o.Residual
					}
					seen.add(r.net, r.state, block, o.Residual)
					if s+1 == o.Sweeps || (s+1)%relayed == 0 { // then somebody looks
						times := 0.0
						o.Left, times = seen.left()
						o.Unsure = seen.unsure(r.net, block, times)
					}
				}
				changes, residuals = slices.Clone(seen.changes), slices.Clone(seen.residuals)
			}
			if o != first {
				t.Errorf("%s: %+v, want %+v", what, o, first)
			}
			relay := r
			if threads == 1 {
				relay = one
			}
			if f := &relay.space.forecast; !slices.Equal(f.changes, changes) || !slices.Equal(f.residuals, residuals) {
				t.Errorf("%s: changes %v and residuals %v, want %v and %v", what, f.changes, f.residuals, changes, residuals)
			}
			if !slices.Equal(r.state.LogMessage, one.state.LogMessage) || !slices.Equal(r.state.LogBelief, one.state.LogBelief) {
				t.Errorf("%s: messages or beliefs differ", what)
			}
		}
	}
}

// TestTogether: plain sweeps, too, give the same bytes at once and one after another.
func TestTogether(t *testing.T) {
	t.Parallel()
	grid := legal(graph.Grid(60, 280, graph.GridOptions{}))
	other := legal(gen.BarabasiAlbert(leastStretches*partition.WindowNodes, 2, source(17)))
	for i, numbers := range []*counting.Numbers{counting.Convex(grid), counting.Bethe(grid), counting.Convex(other)} {
		g := []*graph.Graph{grid, grid, other}[i]
		p := oracle.RandomPairwise(source(18), g, randomCards(source(19), g.NumNodes(), 2+i%2, 3), 1, 0)
		var one *inference
		var first Outcome
		for _, threads := range []int{0, 1, 3} { // 0: one after another
			r := newBlockInference(t, p, numbers, nil, partition.Whole(g))
			r.space.Threads = threads
			o, err := r.iterate(0, Limits{Tolerance: -1, MaxSweeps: 11, Together: threads > 0})
			if err != nil || o.Sweeps != 11 || (r.space.relay.block != nil) != (threads > 0) {
				t.Fatalf("case %d: %+v, %v; want 11 sweeps", i, o, err)
			}
			if one == nil {
				one, first = r, o
			}
			if o != first || !slices.Equal(r.state.LogMessage, one.state.LogMessage) || !slices.Equal(r.state.LogBelief, one.state.LogBelief) {
				t.Errorf("case %d on %d threads: %+v, want %+v; or messages or beliefs differ", i, threads, o, first)
			}
		}
	}
}

// TestRelayErrors: the error is that of sweeps one after another, for any number of goroutines.
func TestRelayErrors(t *testing.T) {
	t.Parallel()
	g := legal(graph.Grid(60, 280, graph.GridOptions{}))
	n := g.NumNodes()
	p := oracle.RandomPairwise(source(3), g, constantCards(n, 2), 1, 0)
	r := newInference(t, p, counting.Convex(g))
	legal(r.load(0))
	for _, threads := range []int{1, 2, 4} {
		r.space.Threads = threads
		r.state.Reset(r.net)
		r.space.Potentials.Node[2*(n-300)], r.space.Potentials.Node[2*(n-30)] = math.NaN(), math.NaN()
		_, err := r.space.Iterate(t.Context(), r.net, r.state, &r.part.Blocks[0], Limits{MaxSweeps: 8, Beliefs: 1e-3})
		var numerical *NumericalError
		if !errors.As(err, &numerical) || numerical.Node != int32(n-300) {
			t.Errorf("%d threads: %v, want an error of node %d", threads, err, n-300)
		}
	}
}

func constantCards(n int, k int32) []int32 { return slices.Repeat([]int32{k}, n) }
