package exact_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// maximize returns the answer for a network that has one.
func maximize(t testing.TB, n *mrf.Network) *exact.Result {
	t.Helper()
	plan, err := exact.NewPlan(n)
	if err != nil {
		t.Fatal(err)
	}
	got, err := plan.Maximize(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if score := n.LogScore(got.States); score != -got.Energy {
		t.Fatalf("energy %v, but the states have the score %v", got.Energy, score)
	}
	return got
}

// TestMaximizeAgreesWithEnumeration: any arity, mixed numbers of states, hard
// zeros, and ties, which rounding the potentials to integers makes frequent.
func TestMaximizeAgreesWithEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		card := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 7).Draw(t, "card")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := oracle.RandomNetwork(rng, card, rapid.IntRange(0, 12).Draw(t, "factors"), 4, rapid.SampledFrom([]float64{0.5, 3, 1e4}).Draw(t, "scale"), 0.3)
		ties := rapid.Bool().Draw(t, "ties")
		for f := range n.Factors {
			for i, x := range n.Factors[f].LogTable {
				if ties {
					n.Factors[f].LogTable[i] = math.Round(x)
				}
			}
		}
		plan, err := exact.NewPlan(n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.Maximize(context.Background())
		_, want := oracle.NetworkMax(n)
		if math.IsInf(want, -1) {
			if !errors.Is(err, exact.ErrZero) {
				t.Fatalf("Z = 0: %+v, %v", got, err)
			}
			return
		}
		if err != nil || !(math.Abs(got.Energy+want) <= 1e-12*max(1, math.Abs(want))) || n.LogScore(got.States) != -got.Energy {
			t.Fatalf("got %+v, %v, want score %v", got, err, want)
		}
	})
}

// TestMaximizeLargeTables needs the outer loop, and choices of two bytes.
func TestMaximizeLargeTables(t *testing.T) {
	for _, card := range [][]int{{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, {7, 2, 1500}, {2, 2, 2, 2, 2, 2, 2000}, {70000, 3}} {
		rng := rand.New(rand.NewPCG(2, 3))
		n := &mrf.Network{Card: card}
		for v := range card {
			for w := range v {
				table := make([]float64, card[v]*card[w])
				for i := range table {
					table[i] = rng.NormFloat64()
				}
				n.Factors = append(n.Factors, mrf.Factor{Scope: []int{v, w}, LogTable: table})
			}
		}
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
	plan, err := exact.NewPlan(n)
	if err != nil {
		t.Fatal(err)
	}
	plan.Limit = plan.MaximumBytes - 1
	var wide *exact.TooWideError
	if _, err := plan.Maximize(context.Background()); !errors.As(err, &wide) || wide.Bytes != plan.MaximumBytes {
		t.Errorf("one byte too little: %v", err)
	}
	plan.Limit++
	if _, err := plan.Maximize(context.Background()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := plan.Maximize(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	huge := mrf.Factor{Scope: []int{0}, LogTable: []float64{math.MaxFloat64, math.MaxFloat64}}
	if plan, err = exact.NewPlan(&mrf.Network{Card: []int{2}, Factors: []mrf.Factor{huge, huge}}); err != nil {
		t.Fatal(err)
	}
	if got, err := plan.Maximize(context.Background()); err == nil {
		t.Errorf("overflow: %+v", got)
	}
}
