package bp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/mrf"
)

// TestKernelsAgree: every set of kernels of this processor gives the same messages, beliefs and energies as plain Go,
// and these are numbers, whatever the scratch of the workspace holds before: with few and with many states, the same
// or mixed numbers of them, hard zeros, potentials that are too large for products, hubs, observed nodes, damping, and
// counting numbers that are 0, negative, or fractions.
func TestKernelsAgree(t *testing.T) {
	const cases = 150
	rng, spaces, solved := source(91), map[string]Workspace{}, 0
	for i := range cases {
		c := drawKernelCase(rng, i)
		var want []float64
		var wantError error
		for _, name := range slices.Backward(simd.Names()) { // plain Go first
			restore := oracle.Must(simd.Use(name))(t)
			r := newBlockInference(t, c.network, c.numbers, c.observed, partition.Whole(c.network.Graph))
			r.space = spaces[name]
			spoil(reflect.ValueOf(&r.space).Elem())
			got, err := c.compute(t, r)
			spaces[name] = r.space
			restore()
			if name == "plain" {
				want, wantError = got, err
			}
			oracle.MustEqual(t, err == nil, wantError == nil,
				"case %d, %v: %s: there is no error, %v, in plain Go %v", i, c, name, err, wantError)
			for j, y := range want {
				if x := got[j]; !(x <= math.MaxFloat64) || x != y && !(math.Abs(x-y) <= 1e-9*(1+math.Abs(y))) {
					t.Fatalf("case %d, %v: %s: number %d is %v, in plain Go %v", i, c, name, j, x, y)
				}
			}
		}
		if wantError == nil {
			solved++
		}
	}
	if solved < cases/2 {
		t.Fatalf("only %d of %d cases have an answer", solved, cases)
	}
}

// kernelCase is a network to sweep over.
type kernelCase struct {
	network         *mrf.Pairwise
	numbers         *counting.Numbers
	observed        []int32
	low, high       int // numbers of states
	scale, damping  float64
	zeroProbability float64
}

func (c *kernelCase) String() string {
	return fmt.Sprintf("%d nodes of %d to %d states, scale %v, zeros %v, observed %v, damping %v, %s", len(c.network.Card),
		c.low, c.high, c.scale, c.zeroProbability, c.observed != nil, c.damping, c.numbers.Name)
}

func drawKernelCase(rng *rand.Rand, i int) *kernelCase {
	g := legal(gen.BarabasiAlbert(20+rng.IntN(80), 1+rng.IntN(3), rng))
	if i%2 == 0 {
		g = legal(graph.Grid(2+rng.IntN(8), 2+rng.IntN(8), graph.GridOptions{}))
	}
	c := &kernelCase{
		low:   []int{2, 1 + rng.IntN(18), 1 + rng.IntN(12)}[i%3], // nodes of two states have kernels of their own
		scale: []float64{0.5, 3, 40, 300}[rng.IntN(4)], zeroProbability: []float64{0, 0, 0.05}[rng.IntN(3)],
		damping: []float64{0, overRelaxed, 0.4}[rng.IntN(3)],
	}
	if c.high = c.low; i%3 == 2 {
		c.high += 1 + rng.IntN(8)
	}
	c.numbers = []*counting.Numbers{
		counting.Convex(g), counting.Bethe(g), dualCounting(rng, g), legal(counting.SampledTreeReweighted(g, uint64(i))),
	}[rng.IntN(4)]
	c.network = oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), c.low, c.high), c.scale, c.zeroProbability)
	if i%5 == 3 {
		c.observed = make([]int32, g.NumNodes())
		for s := range c.observed {
			c.observed[s] = min(0, int32(rng.IntN(4))-1) // of states, 0 is never forbidden
		}
	}
	return c
}

// spoil fills the numbers of a workspace with NaN, but for ones, which stay what they are.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "ones" {
				spoil(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Float64 {
			numbers := unsafe.Slice((*float64)(v.UnsafePointer()), v.Cap())
			for i := range numbers {
				numbers[i] = math.NaN()
			}
		}
	}
}

// compute makes three sweeps, and returns messages, beliefs, those of edges in calls for some of them, their sums and
// what they are worth.
func (c *kernelCase) compute(t *testing.T, r *inference) (numbers []float64, err error) {
	block, err := r.load(0)
	for i := 0; i < 3 && err == nil; i++ {
		_, err = r.space.Sweep(r.net, r.state, block, c.damping)
	}
	if err != nil {
		return nil, err
	}
	numbers = slices.Concat(r.state.LogMessage, r.state.LogBelief)
	for lo := 0; lo < len(block.Edges); {
		hi, size := r.net.edgeRun(block.Edges, lo, lo+7), r.net.pairStates(block.Edges[lo])
		dst := make([]float64, (hi-lo)*size)
		free := oracle.Must(r.space.EdgeBeliefs(dst, r.net, r.state, block, lo, hi))(t)
		numbers, lo = append(slices.Concat(numbers, dst), free), hi
	}
	for p, s := range block.Nodes {
		dst := make([]float64, r.net.Card[s])
		free := r.space.NodeBeliefs(dst, r.net, r.state, block, p, p+1)
		numbers = append(append(numbers, dst...), free)
	}
	return numbers, nil
}
