package counting

import (
	"errors"
	"io/fs"
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
