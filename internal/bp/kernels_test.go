package bp

import (
	"fmt"
	"math"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
)

// TestKernelsAgree: networks whose nodes all have as many states give the same
// messages, beliefs and energies with the best kernels of this processor as in plain Go: also with hard zeros,
// potentials that are too
// large for products, hubs, damping, and counting numbers of any kind.
func TestKernelsAgree(t *testing.T) {
	oracle.Long(t)
	rng := source(91)
	for i := range 300 {
		g := legal(gen.BarabasiAlbert(20+rng.IntN(300), 1+rng.IntN(2), rng))
		if i%2 == 0 {
			g = legal(graph.Grid(2+rng.IntN(12), 2+rng.IntN(12), graph.GridOptions{}))
		}
		k := int32(1 + rng.IntN(18))
		if i%3 == 0 {
			k = 2 // these have kernels of their own
		}
		card := make([]int32, g.NumNodes())
		for s := range card {
			card[s] = k
		}
		scale, zeros, damping := []float64{0.5, 3, 40, 150}[rng.IntN(4)], []float64{0, 0, 0.02}[rng.IntN(3)], []float64{0, 0.4}[rng.IntN(2)]
		counting := []*counting.Numbers{counting.Convex(g), counting.Bethe(g)}[rng.IntN(2)]
		p := oracle.RandomPairwise(rng, g, card, scale, zeros)
		what := fmt.Sprintf("case %d: %d nodes of %d states, scale %v, zeros %v, damping %v, %s", i, len(card), k, scale, zeros, damping, counting.Name)
		a, b := newInference(t, p, counting), newInference(t, p, counting)
		aError := threeSweeps(a, damping)
		restore := oracle.Must(simd.Use("plain"))(t)
		bError := threeSweeps(b, damping)
		restore()
		if (aError == nil) != (bError == nil) {
			t.Fatalf("%s: %v, in plain Go %v", what, aError, bError)
		}
		if aError != nil {
			continue
		}
		sameLogs(t, what+": message", a.state.LogMessage, b.state.LogMessage)
		sameLogs(t, what+": belief", a.state.LogBelief, b.state.LogBelief)
		aBeliefs, aEnergy := writeAll(t, a)
		restore, _ = simd.Use("plain")
		bBeliefs, bEnergy := writeAll(t, b)
		restore()
		for j, x := range bBeliefs {
			if !(math.Abs(aBeliefs[j]-x) <= 1e-9) {
				t.Fatalf("%s: number %d of beliefs and their sums is %v, in plain Go %v", what, j, aBeliefs[j], x)
			}
		}
		if !(math.Abs(aEnergy-bEnergy) <= 1e-9*(1+math.Abs(bEnergy))) {
			t.Fatalf("%s: free energy %v, in plain Go %v", what, aEnergy, bEnergy)
		}
	}
}

// threeSweeps makes three sweeps over the network.
func threeSweeps(r *inference, damping float64) error {
	block, err := r.load(0)
	for i := 0; i < 3 && err == nil; i++ {
		_, err = r.space.Sweep(r.net, r.state, block, damping)
	}
	return err
}

// sameLogs compares logarithms, of which those that are very small may differ.
func sameLogs(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i, x := range want {
		if y := got[i]; x != y && !(math.Abs(x-y) <= 1e-9*(1+math.Abs(x))) {
			t.Fatalf("%s, entry %d is %v, in plain Go %v", what, i, y, x)
		}
	}
}

// writeAll returns all beliefs, in calls for some edges or nodes each, and their sums,
// and the free energy.
func writeAll(t *testing.T, r *inference) (beliefs []float64, energy float64) {
	t.Helper()
	block := &r.part.Blocks[0]
	k := r.net.uniform
	for _, size := range []int{k * k, k} {
		n := len(block.Edges)
		if size == k && k > 1 {
			n = len(block.Nodes)
		}
		sum := make([]float64, size)
		for lo := 0; lo < n; lo += 7 {
			hi := min(lo+7, n)
			dst := make([]float64, (hi-lo)*size)
			if size == k*k {
				free := oracle.Must(r.space.EdgeBeliefs(dst, sum, r.net, r.state, block, lo, hi))(t)
				energy += free
			} else {
				energy += r.space.NodeBeliefs(dst, sum, r.net, r.state, block, lo, hi)
			}
			beliefs = append(beliefs, dst[:(hi-lo)*size]...)
		}
		beliefs = append(beliefs, sum...)
	}
	return beliefs, energy
}
