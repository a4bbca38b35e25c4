package npy_test

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/npy"
)

// value is what 16 bits mean, by the definition.
func value(h npy.Half) float64 {
	sign, exponent, mantissa := 1-2*float64(h>>15), int(h>>10&31), float64(h&1023)
	if exponent == 0 {
		return sign * math.Ldexp(mantissa, -24)
	}
	return sign * math.Ldexp(1024+mantissa, exponent-25)
}

// TestHalfOf: every number of 16 bits is itself, and what lies between two is the nearer,
// or in the middle the one whose last bit is 0.
func TestHalfOf(t *testing.T) {
	check := func(x float64, want npy.Half) {
		t.Helper()
		if got, ok := npy.HalfOf(float32(x)); !ok || got != want {
			t.Errorf("%v: got %#04x, %v, want %#04x", x, got, ok, want)
		}
	}
	for h := npy.Half(0); h < 0x7bff; h++ {
		low, high := value(h), value(h+1)
		middle := (low + high) / 2
		check(low, h)
		check(-low, h|0x8000)
		check(middle, h+h&1)
		check(float64(math.Nextafter32(float32(middle), 0)), h)
		check(float64(math.Nextafter32(float32(middle), 1e9)), h+1)
	}
	check(65504, 0x7bff)
	for _, x := range []float64{65520, 1e30, math.Inf(1), -65520, math.NaN()} {
		if _, ok := npy.HalfOf(float32(x)); ok {
			t.Errorf("%v: want that there is none", x)
		}
	}
}
