package exact_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// maximize returns the answer for a network that has one.
func maximize(t testing.TB, n *mrf.Network) *exact.Result {
	t.Helper()
	plan := exact.NewPlan(n, math.Inf(1))
	got := oracle.Must(plan.Maximize(context.Background()))(t)
	oracle.MustEqual(t, n.LogScore(got.States), -got.Energy, "score of the states, by their energy")
	return got
}

// TestMaximizeLargeTables needs the outer loop.
func TestMaximizeLargeTables(t *testing.T) {
	for _, card := range [][]int{{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, {7, 2, 1500}, {2, 2, 2, 2, 2, 2, 2000}, {70000, 3}} {
		n := everyPair(card, 1)
		states, want := oracle.NetworkMax(n)
		if got := maximize(t, n); math.Abs(got.Energy+want) > 1e-12*want || !slices.Equal(got.States, states) {
			t.Errorf("%v: got %+v, want %v with %v", card, got, states, want)
		}
	}
}

// TestMaximizeRefuses: too wide, cancelled, impossible and overflowing.
func TestMaximizeRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	n := oracle.RandomNetwork(rng, []int{2, 2, 2, 2, 2, 2}, 20, 3, 1, 0)
	plan := exact.NewPlan(n, math.Inf(1))
	plan.Limit = plan.MaximumBytes - 1
	var wide *exact.TooWideError
	if _, err := plan.Maximize(context.Background()); !errors.As(err, &wide) || wide.Bytes != plan.MaximumBytes {
		t.Errorf("one byte too little: %v", err)
	}
	plan.Limit++
	oracle.Must(plan.Maximize(context.Background()))(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := plan.Maximize(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	huge := mrf.Factor{Scope: []int{0}, LogTable: []float64{math.MaxFloat64, math.MaxFloat64}}
	plan = exact.NewPlan(&mrf.Network{Card: []int{2}, Factors: []mrf.Factor{huge, huge}}, math.Inf(1))
	if got, err := plan.Maximize(context.Background()); err == nil {
		t.Errorf("overflow: %+v", got)
	}
}
