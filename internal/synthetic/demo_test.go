package synthetic

import (
	"context"
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// TestDemo: each method ends at the optimum, with a record that gets there.
func TestDemo(t *testing.T) {
	watched := map[learn.Method]int{}
	d := &Demo{Side: 6, Seed: 1, Threads: 2, Say: func(string) {}, Watch: func(m learn.Method, _ learn.Event) { watched[m]++ }}
	result := oracle.Must(d.Run(context.Background()))(t)
	for _, p := range result.paths {
		first, last := p.points[0], p.points[len(p.points)-1]
		if p.result.Status != learn.Converged || !(last.distance <= 1e-5) || !(last.distance < 1e-3*first.distance) || watched[p.method] < p.result.Iterations {
			t.Errorf("%s: %s, from %+v to %+v, %d events", p.method, p.result.Reason, first, last, watched[p.method])
		}
		for i, point := range p.points[1:] {
			if point.seconds < p.points[i].seconds || point.pass < p.points[i].pass {
				t.Errorf("%s: point %+v after %+v", p.method, point, p.points[i])
			}
		}
		if s := p.secondsTo(1e-2); !(s >= first.seconds && s <= last.seconds) || !math.IsNaN(p.secondsTo(-1)) {
			t.Errorf("%s: %v seconds to 1e-2, %v to less than 0", p.method, s, p.secondsTo(-1))
		}
	}
	if len(result.Rows) != 3 || len(result.Figures()) != 2 {
		t.Errorf("%d rows, %d figures", len(result.Rows), len(result.Figures()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.Run(ctx); err == nil {
		t.Error("an interrupted run was taken for the optimum")
	}
}
