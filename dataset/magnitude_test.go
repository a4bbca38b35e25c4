package dataset

import (
	"encoding/binary"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
)

// A feature that is finite and yet too large is refused where it stands, with the remedy, in every kind of data.
func TestLargeFeaturesRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Arrays)
		place  string
	}{
		"node": {func(a *Arrays) { a.NodeFeatures.Data[3] = 1e160 }, "0.npz:node_features[1,1]: feature is 1e+160, "},
		"edge": {func(a *Arrays) { a.EdgeFeatures.Data[2] = -2e150 }, "0.npz:edge_features[2,0]: feature is -2e+150, "},
		"of one type": {func(a *Arrays) { a.NodeTypes, a.NodeFeatures.Data[5], a.States = []int32{0, 0, 1}, 1e200, []int32{2} },
			"0.npz:node_features[2,1]: feature is 1e+200, "},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, writeSet(t, "", change(c.change)), Options{}, c.place, "-1e150 to 1e150", "rescale")
		})
	}
	mustOpen(t, writeSet(t, "", change(func(a *Arrays) { a.NodeFeatures.Data[3] = -numeric.Largest })), Options{})

	refuses(t, writeFiles(t, tables("a\t0\t\t1:2\nb\t1\t\t0:1e160\n", "a\tb\n")), Options{}, "x.nodes.tsv:2:features: feature is 1e+160, ", "rescale")

	files := someImages(t)
	files["features/2.npy"] = string(npyOf("<f8", "False", "(1, 2, 1)", binary.LittleEndian, []float64{0, 1e39}))
	refuses(t, writeFiles(t, files), Options{}, "2.npy:[0,1,0]: is 1e+39, ", "single precision", "rescale")
}
