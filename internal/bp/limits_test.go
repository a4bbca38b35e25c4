package bp

import (
	"math"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// A range above the largest float64 must not turn a finite potential into a hard zero.
func TestOverflowIsNoHardZero(t *testing.T) {
	g := legal(gen.Chain(2))
	p := oracle.RandomPairwise(source(1), g, []int32{2, 2}, 0, 0)
	copy(p.Edge, []float64{1e308, -1e308, -1e308, -1e308})
	r := newBlockInference(t, p, counting.Convex(g), nil, partition.Whole(g))
	if o, err := r.iterate(0, Limits{MaxSweeps: 3}); err == nil {
		t.Errorf("no error: %+v, log-beliefs %v, %v", o, r.state.LogBelief, math.IsInf(r.state.LogBelief[1], -1))
	}
}

// A table may be level and yet too large for its counting number.
func TestLargestPotentialOverflows(t *testing.T) {
	g := legal(gen.Chain(2))
	p := oracle.RandomPairwise(source(1), g, []int32{2, 2}, 0, 0)
	copy(p.Edge, constants(4, 1e250))
	r := newInference(t, p, legal(counting.New("", g, constants(2, 1e-90), constants(1, 1e-90))))
	if o, err := r.iterate(0, Limits{MaxSweeps: 3}); err == nil || !strings.Contains(err.Error(), "edge 0: the largest potential is 1e+250") {
		t.Errorf("error %v: %+v, values %+v", err, o, r.values(t))
	}
}

// TestManyStates: beyond what the message kernels take without scratch of their
// own, sweeps give the same as with logarithms, and still allocate nothing.
func TestManyStates(t *testing.T) {
	g := legal(gen.Complete(3))
	card := []int32{63, 65, 101}
	for _, zeros := range []float64{0, 0.5} {
		p := oracle.RandomPairwise(source(1), g, card, 20, zeros)
		plain, logs := newInference(t, p, counting.Convex(g)), newInference(t, p, counting.Convex(g))
		logs.logForm = true
		for range 4 {
			plain.sweep(t, plain.blocks())
			logs.sweep(t, logs.blocks())
			compareRuns(t, "many states", plain, logs, 1e-11)
		}
		block := legal(plain.load(0))
		oracle.Equal(t, testing.AllocsPerRun(3, func() { legal(plain.space.Sweep(plain.net, plain.state, block, 0)) }), 0,
			"allocations per sweep")
	}
}
