//go:build !purego

package simd

import (
	"testing"
	"unsafe"
)

// TestIncomingLayout holds the fields against the offsets in tools/simdgen.
func TestIncomingLayout(t *testing.T) {
	var m Incoming
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"Belief", unsafe.Offsetof(m.Belief), 0}, {"Reverse", unsafe.Offsetof(m.Reverse), 8}, {"Message", unsafe.Offsetof(m.Message), 16},
		{"Table", unsafe.Offsetof(m.Table), 24}, {"States", unsafe.Offsetof(m.States), 32}, {"Rho", unsafe.Offsetof(m.Rho), 40},
		{"Backward", unsafe.Offsetof(m.Backward), 48}, {"size", unsafe.Sizeof(m), 56},
	} {
		if c.got != c.want {
			t.Errorf("Incoming.%s: %d, the generator has %d", c.name, c.got, c.want)
		}
	}
}

// TestEdgeLayout does the same for Edge.
func TestEdgeLayout(t *testing.T) {
	var e Edge
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"BeliefU", unsafe.Offsetof(e.BeliefU), 0}, {"MessageU", unsafe.Offsetof(e.MessageU), 8}, {"BeliefV", unsafe.Offsetof(e.BeliefV), 16},
		{"MessageV", unsafe.Offsetof(e.MessageV), 24}, {"Table", unsafe.Offsetof(e.Table), 32}, {"size", unsafe.Sizeof(e), 40},
	} {
		if c.got != c.want {
			t.Errorf("Edge.%s: %d, the generator has %d", c.name, c.got, c.want)
		}
	}
}
