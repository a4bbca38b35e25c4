//go:build !purego

package simd

import (
	"testing"
	"unsafe"
)

// checkLayout holds what the compiler does against the offsets in internal/simd/gen.
func checkLayout(t *testing.T, of string, fields []layoutField) {
	t.Helper()
	for _, f := range fields {
		if f.got != f.want {
			t.Errorf("%s.%s: %d, the generator has %d", of, f.name, f.got, f.want)
		}
	}
}

type layoutField struct {
	name      string
	got, want uintptr
}

func TestMessageLayout(t *testing.T) {
	var m Message
	checkLayout(t, "Message", []layoutField{
		{"Belief", unsafe.Offsetof(m.Belief), 0}, {"Reverse", unsafe.Offsetof(m.Reverse), 8}, {"Old", unsafe.Offsetof(m.Old), 16},
		{"Table", unsafe.Offsetof(m.Table), 24}, {"Rho", unsafe.Offsetof(m.Rho), 32}, {"Weight", unsafe.Offsetof(m.Weight), 40},
		{"Out", unsafe.Offsetof(m.Out), 44}, {"Sum", unsafe.Offsetof(m.Sum), 48}, {"Source", unsafe.Offsetof(m.Source), 52},
		{"Target", unsafe.Offsetof(m.Target), 56}, {"Backward", unsafe.Offsetof(m.Backward), 60}, {"size", unsafe.Sizeof(m), 64},
	})
}

func TestNodeLayout(t *testing.T) {
	var n Node
	checkLayout(t, "Node", []layoutField{
		{"Belief", unsafe.Offsetof(n.Belief), 0}, {"Inverse", unsafe.Offsetof(n.Inverse), 8}, {"Sum", unsafe.Offsetof(n.Sum), 16},
		{"States", unsafe.Offsetof(n.States), 20}, {"size", unsafe.Sizeof(n), 24},
	})
}
