package simd

import (
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestUse: what is chosen is in use, and afterwards what was before.
func TestUse(t *testing.T) {
	before := Name()
	names := Names()
	if names[0] != before || names[len(names)-1] != "plain" {
		t.Errorf("implementations %q, in use is %q", names, before)
	}
	for _, name := range names {
		restore := oracle.Must(Use(name))(t)
		oracle.Equal(t, Name(), name, "kernels in use")
		x := []float64{0}
		if Exp(x, x); x[0] != 1 {
			t.Errorf("%s: exp 0 = %v", name, x[0])
		}
		restore()
		oracle.Equal(t, Name(), before, "kernels in use after %s", name)
	}
	if _, err := Use("abacus"); err == nil || slices.Contains(Names(), "abacus") {
		t.Error("an implementation that does not exist was chosen")
	}
}
