package dataset

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
)

// path4 are four nodes in a row, without labels.
func path4() *Arrays {
	return &Arrays{Name: "x", Edges: [][2]int32{{0, 1}, {1, 2}, {2, 3}}, NodeFeatures: &Matrix{1, []float64{1, 2, 3, 4}}}
}

// TestFarNumbersAreRefused: where they are large, until somebody says how many there are.
func TestFarNumbersAreRefused(t *testing.T) {
	refuses(t, writeFiles(t, tables("a\t0\t\t0 10000000\nb\t1\t\t1\n", "a\tb\n")), Options{}, "x.nodes.tsv:1", "is 10000000 a mistake?")
	for name, c := range map[string]struct {
		labels, bins []int32
		m            Manifest
		want         string
	}{
		"label":     {[]int32{0, 2, 1, 12_000}, nil, Manifest{}, "x:labels[3]: is 12000; the next largest label is 2: is 12000 a mistake?"},
		"bin":       {[]int32{0, 1, 1, 1}, []int32{0, 1, 7000}, Manifest{}, "x:edge_bins[2]: is 7000; the next largest bin is 1: is 7000 a mistake?"},
		"near":      {[]int32{0, 900, 600, 2000}, nil, Manifest{}, ""},
		"told":      {[]int32{0, 2, 1, 1200}, nil, Manifest{States: crf.NumberedStates(1201)}, ""},
		"told bins": {[]int32{0, 1, 1, 1}, []int32{0, 1, 7000}, Manifest{EdgeBins: 7001}, ""},
	} {
		a := path4()
		a.Labels, a.EdgeBins = [][]int32{c.labels}, c.bins
		if _, err := FromArrays(c.m, Options{}, a); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", name, err, c.want)
		}
	}
}
