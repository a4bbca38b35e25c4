package synthetic

import (
	"strings"
	"testing"
)

func TestParseGraph(t *testing.T) {
	for text, want := range map[string]GraphSpec{
		"grid:3x4": {Kind: "grid", Rows: 3, Cols: 4},
		"chain:7":  {Kind: "chain", Nodes: 7},
		"ba:100":   {Kind: "ba", Nodes: 100},
		"ba:100:3": {Kind: "ba", Nodes: 100, Attach: 3},
	} {
		if got, err := ParseGraph(text); err != nil || got != want {
			t.Errorf("%s is read as %+v, error %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "grid", "grid:", "grid:3", "grid:3x", "grid:3x4x5", "grid:3x4:1", "gird:3x3", "chain:3:4", "chain:three", "torus:3x3", "ba:5:0", "ba:5:-1", "ba:5:2:1", "chain:3 4"} {
		if got, err := ParseGraph(text); err == nil || !strings.Contains(err.Error(), "grid:RxC") {
			t.Errorf("%q is read as %+v, error %v; want an error that says what is possible", text, got, err)
		}
	}
}
