//go:build !purego

package simd

import (
	"testing"
	"unsafe"

	"github.com/blockbp/blockbp/internal/oracle"
)

// checkLayout holds what the compiler does against the offsets in internal/simd/gen.
func checkLayout(t *testing.T, of string, fields []layoutField) {
	t.Helper()
	for _, f := range fields {
		oracle.Equal(t, f.got, f.want, "%s.%s", of, f.name)
	}
}

type layoutField struct {
	name      string
	got, want uintptr
}

func TestNodeLayout(t *testing.T) {
	var n Node
	checkLayout(t, "Node", []layoutField{
		{"Belief", unsafe.Offsetof(n.Belief), 0}, {"Inverse", unsafe.Offsetof(n.Inverse), 8}, {"Potential", unsafe.Offsetof(n.Potential), 16},
		{"Sum", unsafe.Offsetof(n.Sum), 24}, {"States", unsafe.Offsetof(n.States), 28}, {"Messages", unsafe.Offsetof(n.Messages), 32},
		{"size", unsafe.Sizeof(n), 40},
	})
}
