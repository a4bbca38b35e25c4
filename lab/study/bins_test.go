package study

import (
	"slices"
	"testing"
)

// TestBounds: bins have equal weights, but where distances tie.
func TestBounds(t *testing.T) {
	sample := make([]float64, 1000)
	for i := range sample {
		sample[i] = float64((i * 7) % 1000)
	}
	if got, want := boundsOf(sample, 4), []float64{250, 500, 750}; !slices.Equal(got, want) {
		t.Errorf("bounds are %v, want %v", got, want)
	}
	// Half of the distances are equal: the bins that would be empty are left out.
	for i := range sample {
		sample[i] = max(500, float64(i))
	}
	if got, want := boundsOf(sample, 4), []float64{750}; !slices.Equal(got, want) {
		t.Errorf("bounds are %v, want %v", got, want)
	}
}
