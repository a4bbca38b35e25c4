package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/blockbp/blockbp/internal/distributed"
)

// TestMeasureRanks: shares of a pass are those of all processes, add up, and the neighbours of a grid
// send as much to each other.
func TestMeasureRanks(t *testing.T) {
	plan := RanksPlan{Grid: 80, States: 8, Passes: 2}
	err := distributed.Local(2, distributed.Options{}, func(g *distributed.Group) error {
		r, err := MeasureRanks(t.Context(), plan, g, func(string) {})
		if err != nil {
			return err
		}
		if len(r.Each) != 2 || !(r.Passes >= 1) || r.Each[0].HaloBytes != r.Each[1].HaloBytes || len(r.Tables()[0].Rows) != 2 {
			t.Errorf("process %d: %+v", g.Rank(), r)
		}
		for i, x := range r.Each {
			if sum := x.Compute + x.Halo + x.Sums + x.Agreement; x.Rank != i || !near(sum, x.Seconds) || !(x.Compute > 0 && x.Halo > 0 && x.Sums > 0 && x.Agreement > 0) || x.HaloBytes == 0 || x.SumBytes == 0 || x.Calls == 0 {
				t.Errorf("process %d: shares %+v", i, x)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = distributed.Local(2, distributed.Options{}, func(g *distributed.Group) error {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := MeasureRanks(ctx, plan, g, func(string) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
		return nil
	})
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
