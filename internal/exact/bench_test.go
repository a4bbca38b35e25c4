package exact_test

import (
	"context"
	"testing"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
)

// BenchmarkUAI measures the plan, log Z and marginals of the competition
// networks under ../shared/data/uai.
func BenchmarkUAI(b *testing.B) {
	for _, name := range []string{
		"Grids_11", "Grids_12", "Grids_13", "Grids_15", "DBN_11", "DBN_13", "CSP_11", "CSP_12",
		"Segmentation_11", "Segmentation_12", "Segmentation_13", "ObjectDetection_11", "ObjectDetection_12",
	} {
		n, err := uai.ReadFile(oracle.SharedData(b, "uai", name+".uai"))
		if err != nil {
			b.Fatal(err)
		}
		plan, err := exact.NewPlan(n)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/plan", func(b *testing.B) {
			for b.Loop() {
				if _, err := exact.NewPlan(n); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/logZ", func(b *testing.B) { benchmarkRun(b, plan, false) })
		b.Run(name+"/marginals", func(b *testing.B) { benchmarkRun(b, plan, true) })
	}
}

// benchmarkRun runs a plan and reports the time per entry of the joint tables.
func benchmarkRun(b *testing.B, plan *exact.Plan, marginals bool) {
	for b.Loop() {
		if _, err := plan.Run(context.Background(), marginals); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/plan.Operations, "ns/entry")
}
