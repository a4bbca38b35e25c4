package study

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/report"
)

// seedsOf is a size with so many seeds, which take 1, 2, … seconds.
func seedsOf(n int) network {
	var cs network
	for i := range n {
		cs = append(cs, times3(100, float64(i+1), 1, 1)...)
	}
	return cs
}

// TestCurvePoints: the csv of a figure has every point.
func TestCurvePoints(t *testing.T) {
	c := report.Curves{XLabel: "x", YLabel: "y", Series: []report.Series{
		{Name: "a", X: []float64{1, 2}, Y: []float64{0.1, 3}}, {Name: "b", X: []float64{1}, Y: []float64{1e-9}},
	}}
	want := [][]string{{"series", "x", "y"}, {"a", "1", "0.1"}, {"a", "2", "3"}, {"b", "1", "1e-09"}}
	if diff := cmp.Diff(want, curvePoints(c)); diff != "" {
		t.Error(diff)
	}
}

// TestSeeds: figures have medians over seeds and say so, and tables ranges, too.
func TestSeeds(t *testing.T) {
	n := seedsOf(3)
	c := distanceCurves("d", n, []string{nameBBPL, nameInner}, secondsAxis)
	if c.Title != "d; medians of 3 seeds" || len(c.Series) != 2 || c.Series[0].X[0] != 2 {
		t.Errorf("%+v", c)
	}
	if words := seedWords(seedsOf(1)); words != "" {
		t.Errorf("of one seed it says %q", words)
	}
	if got := ratioTable([]network{n}).Rows[0][5]; got != "0.50 (0.33 to 1.00)" {
		t.Errorf("the ratio of times is %q", got)
	}
}
