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

// TestWavefront: sweeps that are made at once give the bytes of sweeps one after another, for any
// number of goroutines: on grids and on graphs without an order, whose nodes have as many states or
// not, some observed or none, with tables of any form.
func TestWavefront(t *testing.T) {
	oracle.Long(t)
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
		divide     func(*graph.Graph) *partition.Partition
	}{
		{g: grid, numbers: counting.Convex(grid), least: 3, mst: 3, scale: 1, divide: partition.Coloured},
		{g: grid, numbers: counting.Convex(grid), least: 2, mst: 4, observed: true, scale: 1},
		{g: grid, numbers: counting.Convex(grid), least: 2, mst: 2, scale: 300, zeros: 0.01},
		{g: legal(gen.BarabasiAlbert(ManyNodes, 2, rng)), least: 2, mst: 2, scale: 0.5},
	} {
		if c.numbers == nil {
			c.numbers = counting.Convex(c.g)
		}
		if c.divide == nil {
			c.divide = partition.Whole
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
		for _, threads := range []int{1, 2, 3} {
			what := fmt.Sprintf("case %d on %d threads", i, threads)
			r := newBlockInference(t, p, c.numbers, observed, c.divide(c.g))
			r.space.Threads = threads
			o, err := r.iterate(0, Limits{Tolerance: 1e-12, MaxSweeps: 22, Accelerated: true, Beliefs: 1e-14})
			if err != nil || o.Sweeps != 22 || r.space.wavefront.block == nil {
				t.Fatalf("%s: %+v, %v; want 22 sweeps, most of them at once", what, o, err)
			}
			if one == nil { // against sweeps one after another
				one, first = r, o
				r = newBlockInference(t, p, c.numbers, observed, c.divide(c.g))
				block := legal(r.load(0))
				r.space.last.fit(r.net)
				seen := &r.space.forecast
				seen.begin(r.net, r.state, block, waves)
				how := plan{hasMomentum: true, together: waves, momentum: mostMomentum}
				for s := range o.Sweeps {
					r.space.last.extrapolate(r.state, 0, len(r.state.LogMessage), 0, len(r.state.LogBelief), how.beta(s))
					o.Residual = oracle.Must(r.space.Sweep(r.net, r.state, block, momentumDamping))(t)
					if s == 0 {
						o.FirstResidual = o.Residual
					}
					if s+1 == o.Sweeps || (s+1)%waves == 0 { // then somebody looks
						times := 0.0
						r.space.tune(&how, o.Residual)
						seen.add(r.net, r.state, block, o.Residual)
						o.Left, times = seen.left()
						o.Unsure = seen.unsure(r.net, block, times)
					}
				}
			}
			oracle.Equal(t, o, first, "%s", what)
			if !slices.Equal(r.state.LogMessage, one.state.LogMessage) || !slices.Equal(r.state.LogBelief, one.state.LogBelief) {
				t.Errorf("%s: messages or beliefs differ", what)
			}
		}
	}
}

// TestWavefrontErrors: the error is that of sweeps one after another, for any number of goroutines.
func TestWavefrontErrors(t *testing.T) {
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
		_, err := r.space.Iterate(t.Context(), r.net, r.state, &r.part.Blocks[0], Limits{MaxSweeps: 8, Accelerated: true})
		var numerical *NumericalError
		if !errors.As(err, &numerical) || numerical.Node != int32(n-300) {
			t.Errorf("%d threads: %v, want an error of node %d", threads, err, n-300)
		}
	}
}

func constantCards(n int, k int32) []int32 { return slices.Repeat([]int32{k}, n) }
