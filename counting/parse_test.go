package counting

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

func TestReadCounting(t *testing.T) {
	g := legal(gen.Complete(3))
	text := "# one triangle\n\nnode 0 -0.25\n  node 2\t1e-3 \r\nedge 2 0.5\nnode 1 0\n#edge 0 7\nedge 0 5.0e-1\nedge 1 2"
	c := oracle.Must(fromText(strings.NewReader(text), "counts.txt", g))(t)
	if !slices.Equal(c.Node, []float64{-0.25, 0, 1e-3}) || !slices.Equal(c.Edge, []float64{0.5, 2, 0.5}) || c.Name != "counts.txt" {
		t.Errorf("read %+v", c)
	}
	want := legal(New("", g, c.Node, c.Edge))
	want.Prove(g)
	if c.Facts != want.Facts || c.Facts.Dual {
		t.Errorf("facts %+v, want %+v", c.Facts, want.Facts)
	}
}

func TestReadCountingErrors(t *testing.T) {
	g := legal(gen.Chain(2))
	const rest = "node 0 1\nnode 1 1\nedge 0 1\n"
	for _, test := range []struct {
		text, want string
	}{
		{"", "c.txt: no line for node 0; the network has 2 nodes and 1 edges"},
		{"node 0 1\nedge 0 1\n", "c.txt: no line for node 1;"},
		{"node 0 1\nnode 1 1\n", "c.txt: no line for edge 0;"},
		{rest + "face 0 1\n", `c.txt:4: first field is "face", want node or edge`},
		{rest + "node 0\n", "c.txt:4: 2 fields, want three"},
		{"node 0 1 # note\n", "c.txt:1: 5 fields, want three"},
		{"\nnode 2 1\n", `c.txt:2: node number is "2", want 0 to 1`},
		{"node -1 1\n", `c.txt:1: node number is "-1", want 0 to 1`},
		{"node 1.0 1\n", `c.txt:1: node number is "1.0", want 0 to 1`},
		{"edge 1 1\n", `c.txt:1: edge number is "1", want 0 to 0`},
		{"node 0 one\n", `c.txt:1: counting number is "one", want a finite decimal number`},
		{"node 0 1_0\n", `c.txt:1: counting number is "1_0", want a finite decimal number`},
		{"node 0 1\nedge 0 0x1p-1\n", `c.txt:2: counting number is "0x1p-1"`},
		{"node 0x0 1\n", `c.txt:1: node number is "0x0"`},
		{"node 0 NaN\n", `c.txt:1: counting number is "NaN"`},
		{"node 0 -Inf\n", `c.txt:1: counting number is "-Inf"`},
		{"node 0 1e999\n", `c.txt:1: counting number is "1e999"`},
		{rest + "# again\nnode 1 1\n", "c.txt:5: node 1 is given twice"},
		{rest + "edge 0 1\n", "c.txt:4: edge 0 is given twice"},
		{"node 0 1\nnode 1 1\nedge 0 0\n", "c.txt:3: counting number of edge 0 is 0, want a positive number"},
		{"edge 0 5e-309\nnode 0 1\nnode 1 1\n", "c.txt:1: counting number of edge 0 is 5e-309, want one from 1e-100 to 1e+100"},
		{"node 0 -1\nnode 1 1\nedge 0 1.0000000000001\n", "c.txt: counting number of edge 0 (0 – 1) is 1.0000000000001, more than 1e+09 times"},
		{"node 0 -1\nnode 1 1\nedge 0 1\n", "c.txt: node 0: its counting number and those of its edges sum to 0"},
		{"node 0 " + strings.Repeat("1", 1<<16) + "\n", "c.txt:1: the line has more than 65536 bytes"},
	} {
		_, err := fromText(strings.NewReader(test.text), "c.txt", g)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.40q: error %v, want %q", test.text, err, test.want)
		}
	}
}

// write is the inverse of Read.
func write(c *Numbers) string {
	var text strings.Builder
	for s, x := range c.Node {
		fmt.Fprintf(&text, "node %d %v\n", s, x)
	}
	for e, x := range c.Edge {
		fmt.Fprintf(&text, "edge %d %v\n", e, x)
	}
	return text.String()
}

// FuzzReadCounting: whatever the bytes, either an error that locates, or
// counting numbers that can be used and survive being written and read again.
func FuzzReadCounting(f *testing.F) {
	triangle := legal(gen.Complete(3))
	for _, g := range []*graph.Graph{triangle, legal(gen.Chain(3))} {
		f.Add(write(Convex(g)))
		f.Add(write(Bethe(g)))
	}
	f.Add("node 0 1e-300\nnode 1 0x1p-2\nnode 2 1_0\nedge 0 1e300\nedge 1 .5\nedge 2 5.")
	f.Add("# only\n\n\tnode\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := fromText(strings.NewReader(text), "fuzz", triangle)
		if err != nil {
			line := 0
			if _, scanned := fmt.Sscanf(err.Error(), "fuzz:%d: ", &line); scanned != nil && !strings.HasPrefix(err.Error(), "fuzz: ") || line < 0 || line > 2+strings.Count(text, "\n") {
				t.Fatalf("error %q", err)
			}
			return
		}
		for e, x := range c.Edge {
			if !(x > 0) || math.IsInf(x, 0) {
				t.Fatalf("c of edge %d is %v", e, x)
			}
		}
		for s := range c.Node {
			if rho := c.Rho[s]; !(rho > 0) || math.IsNaN(c.Node[s]) {
				t.Fatalf("c and ρ of node %d are %v and %v", s, c.Node[s], rho)
			}
		}
		again, err := fromText(strings.NewReader(write(c)), "fuzz", triangle)
		if err != nil || !slices.Equal(again.Node, c.Node) || !slices.Equal(again.Edge, c.Edge) || again.Facts != c.Facts {
			t.Fatalf("read %+v, and after writing it %+v, %v", c, again, err)
		}
	})
}
