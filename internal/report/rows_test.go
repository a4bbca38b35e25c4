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
	Memory int     `table:"memory;bytes;–"`
	Share  float64 `table:"share;percent"`
	Rate   float64 `table:"rate;millions;"`
	Bound  string  `table:"bound" brief:"bound"`
}

// BoundText writes the cell of Bound.
func (m measured) BoundText() string { return "by " + m.Bound }

// TestTableOf: headers come from the tags, and every kind of value is written its way.
func TestTableOf(t *testing.T) {
	rows := []measured{
		{Name: "a", Time: 1.26, Memory: 3 << 20, Share: 0.123456, Rate: 2.5e6, Bound: "bytes"},
		{Name: "b", Time: math.NaN(), Bound: "time"},
		{Name: "c", Memory: 2048, Share: 1},
	}
	table := report.TableOf(rows, "table")
	want := [][]string{
		{"name", "time", "memory", "share", "rate", "bound"},
		{"a", "1.3", "3.0 MiB", "12.35 %", "2.50", "by bytes"},
		{"b", "–", "–", "0.00 %", "", "by time"},
		{"c", "0.0", "2 KiB", "100.00 %", "", "by "},
	}
	if got := append([][]string{table.Headers}, table.Rows...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if brief := report.TableOf(rows, "brief"); !slices.Equal(brief.Headers, []string{"bound"}) || len(brief.Rows) != len(rows) {
		t.Errorf("with another tag: %+v", brief)
	}
}
