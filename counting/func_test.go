package counting

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestZeroFunc: nil stands for the convex numbers.
func TestZeroFunc(t *testing.T) {
	g := legal(gen.Complete(4))
	got, want := legal(Func(nil).Of(g)), Convex(g)
	if got.Name != want.Name || !slices.Equal(got.Node, want.Node) || !slices.Equal(got.Edge, want.Edge) || got.Facts != want.Facts {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestParse: names and files give what the constructors give, once per graph.
func TestParse(t *testing.T) {
	g := legal(gen.Complete(4))
	path := filepath.Join(t.TempDir(), "counts")
	oracle.OK(t, os.WriteFile(path, []byte("node 0 1\nnode 1 1\nnode 2 1\nedge 0 0.5\nedge 1 0.5\nedge 2 0.5\n"), 0o600))
	triangle := legal(gen.Complete(3))
	for _, test := range []struct {
		name string
		g    *graph.Graph
		want *Numbers
	}{
		{"convex", g, Convex(g)},
		{"bethe", g, Bethe(g)},
		{"trw", g, legal(SampledTreeReweighted(g, 7, true))},
		{path, triangle, legal(New("", triangle, constants(3, 1), constants(3, 0.5)))},
	} {
		f := oracle.Must(Parse(t.Context(), test.name, 7, true))(t)
		got := legal(f(test.g))
		if !slices.Equal(got.Node, test.want.Node) || !slices.Equal(got.Edge, test.want.Edge) || len(got.Forests) != len(test.want.Forests) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
		if again := legal(f(test.g)); again != got {
			t.Errorf("%s: made twice for one graph", test.name)
		}
	}
	if f, err := Parse(t.Context(), path, 1, false); err != nil {
		t.Error(err)
	} else if _, err := f(g); err == nil || !strings.Contains(err.Error(), "node 3") {
		t.Errorf("a file for another graph: error %v, want one that names node 3", err)
	}
}

func TestParseUnknown(t *testing.T) {
	for name, part := range map[string]string{"convx": "want convex, cover, trw, bethe or the path of a file", "./none.txt": "none.txt"} {
		if _, err := Parse(t.Context(), name, 1, false); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v, want one that says %q", name, err, part)
		}
	}
}

// TestGiven: numbers given one by one serve every graph of their size, with what is
// proved of it, and no other.
func TestGiven(t *testing.T) {
	chain, other, ring := legal(gen.Chain(3)), legal(gen.Chain(3)), legal(gen.Complete(3))
	f := Given("numbers", []float64{1, 1, 1}, []float64{0.5, 2})
	for _, g := range []*graph.Graph{chain, other} {
		c, err := f.Of(g)
		if err != nil || c.Name != "numbers" || !slices.Equal(c.Edge, []float64{0.5, 2}) || !c.Facts.Convex {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if _, err := f.Of(ring); err == nil || !strings.Contains(err.Error(), "for 3 nodes and 2 edges") {
		t.Errorf("numbers for another graph: %v", err)
	}
}

// TestParseRefusesWhatIsNoFile: a folder has no lines, a device no end.
func TestParseRefusesWhatIsNoFile(t *testing.T) {
	for _, path := range []string{t.TempDir(), os.DevNull} {
		if _, err := Parse(t.Context(), path, 1, false); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

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

// fataler is what testing.T and rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 11)) }

// legal returns the value of a call that may not fail here.
func legal[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// loopyGraphs are small enough to enumerate.
func loopyGraphs() map[string]*graph.Graph {
	return map[string]*graph.Graph{
		"triangle": legal(gen.Complete(3)),
		"K5":       legal(gen.Complete(5)),
		"grid":     legal(graph.Grid(2, 4, graph.GridOptions{})),
		"scale":    legal(gen.BarabasiAlbert(7, 2, source(5))),
		"pieces":   legal(graph.FromEdges(7, []int32{2, 0, 1, 4}, []int32{1, 2, 0, 5})), // a triangle, an edge, lone nodes
	}
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(b)) }
