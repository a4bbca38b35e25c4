package report_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/report"
)

// measured is a row with one field of each kind.
type measured struct {
	Name   string  `table:"name"`
	Hidden string  // in no table
	Time   float64 `table:"time;%.1f"`
	Memory int     `table:"memory"`
	Bound  string  `table:"bound" brief:"bound"`
}

// BoundText writes the cell of Bound.
func (m measured) BoundText() string { return "by " + m.Bound }

// TestTableOf: headers come from the tags, and every kind of value is written its way.
func TestTableOf(t *testing.T) {
	rows := []measured{
		{Name: "a", Time: 1.26, Memory: 3, Bound: "bytes"},
		{Name: "b", Time: math.NaN(), Bound: "time"},
		{Name: "c", Memory: 2048},
	}
	table := report.TableOf(rows, "table")
	want := [][]string{
		{"name", "time", "memory", "bound"},
		{"a", "1.3", "3", "by bytes"},
		{"b", "–", "0", "by time"},
		{"c", "0.0", "2048", "by "},
	}
	if got := append([][]string{table.Headers}, table.Rows...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if brief := report.TableOf(rows, "brief"); !slices.Equal(brief.Headers, []string{"bound"}) || len(brief.Rows) != len(rows) {
		t.Errorf("with another tag: %+v", brief)
	}
}
