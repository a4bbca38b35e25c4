package synthetic

import (
	"context"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// TestDemo: each method ends at the optimum, with a record that gets there.
func TestDemo(t *testing.T) {
	watched := map[string]int{}
	d := &Demo{Side: 6, Seed: 1, Threads: 2, Say: func(string) {}, Watch: func(m learn.Method, _ learn.Event) { watched[MethodNames[m]]++ }}
	result := oracle.Must(d.Run(context.Background()))(t)
	for _, p := range result.Rows {
		first, last := p.points[0], p.points[len(p.points)-1]
		if p.Status != learn.Converged || !(last.distance <= 1e-5) || !(last.distance < 1e-3*first.distance) || watched[p.Method] < p.Iterations {
			t.Errorf("%s: %s, from %+v to %+v, %d events", p.Method, p.reason, first, last, watched[p.Method])
		}
		for i, point := range p.points[1:] {
			if point.seconds < p.points[i].seconds || point.pass < p.points[i].pass {
				t.Errorf("%s: point %+v after %+v", p.Method, point, p.points[i])
			}
		}
		if s := float64(p.SecondsTo1e3); !(s >= first.seconds && s <= last.seconds) {
			t.Errorf("%s: %v seconds to 1e-3", p.Method, s)
		}
	}
	if len(result.Rows) != 3 || len(result.Figures()) != 2 {
		t.Errorf("%d rows, %d figures", len(result.Rows), len(result.Figures()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	oracle.Fails(d.Run(ctx))(t, "the reference optimum was not reached: interrupted")
}
