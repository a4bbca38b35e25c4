package numeric

import (
	"math"
	"slices"
	"testing"
)

func TestRelativeDistance(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{3, 0}, []float64{3, 4}, 0.8},
		{[]float64{0, 0}, []float64{0, 0}, 0},
		{[]float64{1, 0}, []float64{0, 0}, math.Inf(1)},
		{[]float64{1}, []float64{1, 0}, math.NaN()},
	} {
		if got := RelativeDistance(c.x, c.y); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("RelativeDistance(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

func TestNorm(t *testing.T) {
	if got := Norm([]float64{3, -4}); got != 5 {
		t.Errorf("Norm(3, -4) = %v, want 5", got)
	}
	if got := Norm(nil); got != 0 {
		t.Errorf("Norm() = %v, want 0", got)
	}
}

// TestResize lengthens and shortens a slice: its entries stay, and memory that is long
// enough is used again.
func TestResize(t *testing.T) {
	s := []float32{1, 2, 3}
	long := Resize(s, 100)
	if len(long) != 100 || !slices.Equal(long[:3], s) {
		t.Errorf("lengthened to %d entries that begin with %v, want 100 that begin with %v", len(long), long[:3], s)
	}
	if short := Resize(long, 2); len(short) != 2 || &short[0] != &long[0] {
		t.Errorf("shortened to %d entries, want 2 in the same memory", len(short))
	}
	if n := testing.AllocsPerRun(10, func() { long = Resize(long[:0], 100) }); n != 0 {
		t.Errorf("%v allocations for entries that there is room for, want none", n)
	}
}
