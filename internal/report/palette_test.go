package report

import (
	"image/color"
	"slices"
	"testing"
)

// TestPaletteOf: classes that are called by a colour have it, if all are.
func TestPaletteOf(t *testing.T) {
	if got, want := paletteOf([]string{"#000000", "#0aff10"}), []color.RGBA{{A: 255}, {R: 10, G: 255, B: 16, A: 255}}; !slices.Equal(got, want) {
		t.Errorf("colours are %v, want %v", got, want)
	}
	for _, names := range [][]string{{"#000000", "tree"}, {"#000000", "#00000g"}, {"#000000", "#0000000"}, {"0", "255"}} {
		if got := paletteOf(names); !slices.Equal(got, ClassPalette(2)) {
			t.Errorf("%q have the colours %v", names, got)
		}
	}
}
