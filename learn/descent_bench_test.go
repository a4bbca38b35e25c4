package learn

import (
	"context"
	"testing"
)

// BenchmarkJointDescent counts passes and gradients of descent on problems where most of a run is that:
// results/README.md says
// what they decided.
func BenchmarkJointDescent(b *testing.B) {
	last, tolerance := slow(3)
	for _, c := range []struct {
		name      string
		problem   Problem
		tolerance float64
	}{
		{"no l2", regions(3, 24, 24, 3, 0, 0.3, 1), 1e-9},
		{"no l2, more noise", regions(9, 24, 24, 3, 0, 0.6, 1), 1e-9},
		{"little noise", regions(5, 40, 40, 4, 0.1, 0.1, 1), 1e-6},
		{"six states", regions(6, 30, 30, 6, 1, 0.2, 1), 1e-6},
		{"rare features", rareFeatures(1, 60, 3, 75, 1e-6*3600), 1e-7},
		{"slow messages", last, tolerance},
	} {
		b.Run(c.name, func(b *testing.B) {
			var gradients, passes, converged float64
			for b.Loop() {
				gradients = 0
				rule := &auto{}
				r, err := Fit(context.Background(), c.problem, Settings{
					Method: BBPL, Step: rule, RelativeTolerance: c.tolerance, MaxPasses: 3000,
					Recorder: func(e Event) error {
						if e.Step != 0 && !e.Check && rule.descent.began {
							gradients++
						}
						return nil
					},
				})
				if err != nil {
					b.Fatal(err)
				}
				passes, converged = r.Passes, 0
				if r.Status == Converged {
					converged = 1
				}
			}
			b.ReportMetric(passes, "passes")
			b.ReportMetric(gradients, "gradients")
			b.ReportMetric(converged, "converged")
		})
	}
}
