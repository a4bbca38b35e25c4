package exact

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// randomPlan plans a network of random scopes.
func randomPlan(t *testing.T, rng *rand.Rand, scale float64) *Plan {
	t.Helper()
	card := make([]int, 5+rng.IntN(20))
	for v := range card {
		card[v] = 1 + rng.IntN(4)
	}
	plan := oracle.Must(NewPlan(oracle.RandomNetwork(rng, card, len(card)+rng.IntN(10), 3, scale, 0.1)))(t)
	return plan
}

// A run takes exactly the memory that its plan forecasts.
func TestForecastIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	for range 30 {
		plan := randomPlan(t, rng, 1)
		r := newRun(context.Background(), plan, false)
		chosen := oracle.Must(r.maximize())(t)
		if got := r.memory.bytes + plan.groupBytes(); got != plan.MaximumBytes || len(chosen) != len(plan.buckets) {
			t.Errorf("maximum: %d bytes used, forecast %d", got, plan.MaximumBytes)
		}
		for _, marginals := range []bool{false, true} {
			r := newRun(context.Background(), plan, false)
			if _, err := r.forward(marginals); err != nil {
				t.Fatal(err)
			}
			groups := int64(0)
			want := plan.PartitionBytes
			for i := range plan.buckets {
				for _, g := range plan.buckets[i].groups {
					groups += int64(g.entries) * bytesPerEntry
				}
			}
			if marginals {
				want = plan.Bytes
				oracle.OK(t, r.backward(&Answer{}))
			}
			if got := r.memory.bytes + groups; got != want {
				t.Errorf("marginals %v: %d bytes used, forecast %d", marginals, got, want)
			}
			if marginals {
				checkAllFree(t, &r.memory)
			}
		}
	}
}

// checkAllFree fails if a table was not given back.
func checkAllFree(t *testing.T, a *arena) {
	t.Helper()
	free := int64(0)
	for _, c := range a.sizes {
		free += int64(len(c.free)*c.size) * bytesPerEntry
	}
	if free != a.bytes {
		t.Errorf("%d of %d bytes were given back", free, a.bytes)
	}
}
