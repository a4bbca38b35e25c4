package bp

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/graph/gen"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/internal/oracle"
)

// A sum of legal counting numbers can overflow.
func TestRhoMustBeFinite(t *testing.T) {
	g := legal(gen.Complete(3))
	if c, err := NewCounting("", g, constants(3, 1), constants(3, 1e308)); err == nil {
		t.Errorf("ρ = %v was accepted", c.RhoNode(0))
	}
}

// There must be one appearance per edge, no more.
func TestTreeReweightedTooLong(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	if _, err := TreeReweighted(legal(gen.Chain(2)), []float64{0.5, 0.5}); err == nil {
		t.Error("two appearances for one edge were accepted")
	}
}

// An observation of a state that does not exist would read another row.
func TestObservedStateMustExist(t *testing.T) {
	g := legal(gen.Chain(2))
	if _, err := NewNet(g, []int32{2, 3}, Convex(g), []int32{2, -1}); err == nil {
		t.Error("state 2 of a node of 2 states was accepted")
	}
}

// A range above the largest float64 must not turn a finite potential into a hard
// zero.
func TestOverflowIsNoHardZero(t *testing.T) {
	g := legal(gen.Chain(2))
	p := oracle.RandomPairwise(source(1), g, []int32{2, 2}, 0, 0)
	copy(p.Edge, []float64{1e308, -1e308, -1e308, -1e308})
	r := newBlockInference(t, p, Convex(g), nil, partition.Whole(g))
	if o, err := r.iterate(0, Limits{MaxSweeps: 3}); err == nil {
		t.Errorf("no error: %+v, log-beliefs %v, %v", o, r.state.LogBelief, math.IsInf(r.state.LogBelief[1], -1))
	}
}
