package infer

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestTemperature: tempered beliefs are powers of those without, normalised; labels, held nodes and likelihoods stay.
func TestTemperature(t *testing.T) {
	model, all := instances(t)
	for _, temperature := range []float64{0, 0.05, 0.5, 1, 3} {
		plain := &Predictor{Model: model, Counting: bethe}
		p := &Predictor{Model: model, Counting: bethe, Temperature: temperature}
		for i, in := range all {
			held := slices.Repeat([]int32{crf.Unobserved}, in.Graph.NumNodes())
			held[0] = 1
			sample := make([]int32, len(held))
			want, likelihood, err := plain.Assess(context.Background(), in, held, [][]int32{sample}, nil)
			oracle.OK(t, err)
			got, same, err := p.Assess(context.Background(), in, held, [][]int32{sample}, nil)
			oracle.OK(t, err)
			if !slices.Equal(got.Labels, want.Labels) || *same != *likelihood || got.Of(0)[1] != 1 || got.Of(0)[0] != 0 {
				t.Errorf("temperature %v, instance %d: labels %v, want %v; held node %v; %+v, want %+v", temperature, i, got.Labels, want.Labels, got.Of(0), same, likelihood)
			}
			for s := range got.Labels {
				power := 1.0
				if temperature > 0 {
					power = 1 / temperature
				}
				sum := 0.0
				for _, b := range want.Of(s) {
					sum += math.Pow(b, power)
				}
				for x, b := range want.Of(s) {
					oracle.Near(t, got.Of(s)[x], math.Pow(b, power)/sum, 1e-12,
						"temperature %v, instance %d, node %d", temperature, i, s)
				}
			}
		}
	}
}
