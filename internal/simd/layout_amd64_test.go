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

func TestEdgeLayout(t *testing.T) {
	var e Edge
	checkLayout(t, "Edge", []layoutField{
		{"BeliefU", unsafe.Offsetof(e.BeliefU), 0}, {"MessageU", unsafe.Offsetof(e.MessageU), 8}, {"BeliefV", unsafe.Offsetof(e.BeliefV), 16},
		{"MessageV", unsafe.Offsetof(e.MessageV), 24}, {"Table", unsafe.Offsetof(e.Table), 32}, {"size", unsafe.Sizeof(e), 40},
	})
}

func TestUniformLayout(t *testing.T) {
	var u Uniform
	checkLayout(t, "Uniform", []layoutField{
		{"States", unsafe.Offsetof(u.States), 0}, {"PerEdge", unsafe.Offsetof(u.PerEdge), 8}, {"Damping", unsafe.Offsetof(u.Damping), 16},
		{"Beliefs", unsafe.Offsetof(u.Beliefs), 24}, {"Messages", unsafe.Offsetof(u.Messages), 48}, {"Tables", unsafe.Offsetof(u.Tables), 72},
		{"At", unsafe.Offsetof(u.At), 96}, {"Rho", unsafe.Offsetof(u.Rho), 120}, {"Potentials", unsafe.Offsetof(u.Potentials), 144},
		{"RhoNode", unsafe.Offsetof(u.RhoNode), 168}, {"Nodes", unsafe.Offsetof(u.Nodes), 192}, {"Order", unsafe.Offsetof(u.Order), 216},
		{"InStart", unsafe.Offsetof(u.InStart), 240}, {"In", unsafe.Offsetof(u.In), 264}, {"InEdge", unsafe.Offsetof(u.InEdge), 288},
		{"InSource", unsafe.Offsetof(u.InSource), 312}, {"Rows", unsafe.Offsetof(u.Rows), 336}, {"Sums", unsafe.Offsetof(u.Sums), 360},
		{"Totals", unsafe.Offsetof(u.Totals), 384}, {"Far", unsafe.Offsetof(u.Far), 408},
		{"Edges", unsafe.Offsetof(u.Edges), 416}, {"U", unsafe.Offsetof(u.U), 440}, {"V", unsafe.Offsetof(u.V), 464}, {"Count", unsafe.Offsetof(u.Count), 488},
		{"Cold", unsafe.Offsetof(u.Cold), 512},
	})
}
