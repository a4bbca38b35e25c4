package study

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// seedsOf is a size with so many seeds, which take 1, 2, … seconds.
func seedsOf(n int) network {
	var cs network
	for i := range n {
		cs = append(cs, times3(100, float64(i+1), 1, 1)...)
	}
	return cs
}

// TestRangesInTable: the csv of a figure tells both ends of a range.
func TestRangesInTable(t *testing.T) {
	c := figure.Curves{XLabel: "x", YLabel: "y", Series: append(sizeSeries(nameBBPL, []network{seedsOf(3)}, secondsAxis), sizeSeries(nameInner, []network{seedsOf(2)}, secondsAxis)...)}
	want := [][]string{
		{"series", "x", "y"}, {"BBPL", "100", "2"}, {"BBPL (min)", "100", "1"}, {"BBPL (max)", "100", "3"},
		{"inner-dual", "100", "1"}, {"inner-dual (min)", "100", "1"}, {"inner-dual (max)", "100", "1"},
	}
	if diff := cmp.Diff(want, curvePoints(c)); diff != "" {
		t.Error(diff)
	}
}

// TestSeedWords: figures say how many seeds they show, and what thin dashes are, but where
// ranges are left out.
func TestSeedWords(t *testing.T) {
	for want, groups := range map[string][]network{
		"": {seedsOf(1), seedsOf(1)}, "; medians of 5 seeds, ranges in thin dashes": {seedsOf(5), seedsOf(5)}, "; medians of 2 to 5 seeds, ranges in thin dashes": {seedsOf(5), seedsOf(2)},
	} {
		if got := seedWords(groups...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	full := distanceCurves("d", seedsOf(3), []string{nameBBPL, nameInner}, secondsAxis)
	few := withoutRanges(full)
	if len(few.Series) != 2 || strings.Contains(few.Title, "dashes") || !strings.Contains(few.Title, "medians of 3 seeds") {
		t.Errorf("without ranges: %q, %d series", few.Title, len(few.Series))
	}
	rows := ratioRows([]network{seedsOf(3)})
	if r := rows[0]; r.Seeds != 3 || r.Range != [2]runfolder.Float{runfolder.Float(1.0 / 3), 1} {
		t.Errorf("row %+v", r)
	}
}
