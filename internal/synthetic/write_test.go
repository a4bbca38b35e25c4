package synthetic

import (
	"strings"
	"testing"
)

func TestParseGraph(t *testing.T) {
	for text, want := range map[string]GraphSpec{
		"grid:3x4":     {Kind: "grid", Rows: 3, Cols: 4},
		"grid8:10x2":   {Kind: "grid8", Rows: 10, Cols: 2},
		"torus:5x5":    {Kind: "torus", Rows: 5, Cols: 5},
		"chain:7":      {Kind: "chain", Nodes: 7},
		"er:10:0.25":   {Kind: "er", Nodes: 10, EdgeChance: 0.25},
		"ba:100":       {Kind: "ba", Nodes: 100},
		"ba:100:3":     {Kind: "ba", Nodes: 100, Attach: 3},
		"complete:4":   {Kind: "complete", Nodes: 4},
		"tree:1000000": {Kind: "tree", Nodes: 1000000},
	} {
		if got, err := ParseGraph(text); err != nil || got != want {
			t.Errorf("%s is read as %+v, error %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "grid", "grid:", "grid:3", "grid:3x", "grid:3x4x5", "grid:3x4:1", "gird:3x3", "chain:3:4", "chain:three", "er:5", "er:5:x", "ba:5:0", "ba:5:-1", "ba:5:2:1", "chain:3 4"} {
		if got, err := ParseGraph(text); err == nil || !strings.Contains(err.Error(), "grid:RxC") {
			t.Errorf("%q is read as %+v, error %v; want an error that says what is possible", text, got, err)
		}
	}
}
