package counting

import (
	"slices"
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

// TestParse: names give what the constructors give, once per graph.
func TestParse(t *testing.T) {
	g := legal(gen.Complete(4))
	for _, test := range []struct {
		name string
		g    *graph.Graph
		want *Numbers
	}{
		{"convex", g, Convex(g)}, {"bethe", g, Bethe(g)}, {"trw", g, legal(SampledTreeReweighted(g, 7))},
	} {
		f := oracle.Must(Parse(t.Context(), test.name, 7))(t)
		got := legal(f(test.g))
		if !slices.Equal(got.Node, test.want.Node) || !slices.Equal(got.Edge, test.want.Edge) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
		oracle.Equal(t, legal(f(test.g)), got, "%s: when asked again", test.name)
	}
	oracle.Fails(Parse(t.Context(), "convx", 1))(t, "want convex, cover, trw, near-bethe, bethe")
}

// TestGiven: numbers given one by one serve every graph of their size, with what is proved of it, and no other.
func TestGiven(t *testing.T) {
	chain, other, ring := legal(gen.Chain(3)), legal(gen.Chain(3)), legal(gen.Complete(3))
	f := Given("numbers", []float64{1, 1, 1}, []float64{0.5, 2})
	for _, g := range []*graph.Graph{chain, other} {
		c, err := f.Of(g)
		if err != nil || c.Name != "numbers" || !slices.Equal(c.Edge, []float64{0.5, 2}) || !c.Facts.Convex {
			t.Errorf("%+v, %v", c, err)
		}
	}
	oracle.Fails(f.Of(ring))(t, "for 3 nodes and 2 edges")
}
