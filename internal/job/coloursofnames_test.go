package job

import (
	"image/color"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
)

// TestColoursOfNames: pictures of predictions have the labels that are names for pixel values, where these suffice.
func TestColoursOfNames(t *testing.T) {
	red, green := color.RGBA{R: 9, A: 255}, color.RGBA{G: 9, A: 255}
	wide := append(make([]color.RGBA, 254), green)
	wide[1] = red
	for name, want := range map[string][]color.RGBA{"2": {{}, red, green}, "254": wide, "255": nil} {
		set := &dataset.Set{Recipe: dataset.Recipe{LabelNames: []int{0}}}
		set.Schema.NodeTypes = []crf.NodeType{{States: []string{"1", name}}}
		if got := coloursOfNames(set, []color.RGBA{red, green}); !slices.Equal(got, want) {
			t.Errorf("state named %s: %v", name, got)
		}
	}
}
