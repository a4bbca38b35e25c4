package counting

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
)

// Func makes the counting numbers of a graph. nil stands for Convex.
type Func func(*graph.Graph) (*Numbers, error)

// Of returns the counting numbers of a graph. Those of graph.Graph.LaidOut are what they are as it was given.
func (f Func) Of(g *graph.Graph) (*Numbers, error) {
	if f == nil {
		return Convex(g), nil
	}
	given, node, edge := g.Given()
	if given == nil {
		return f(g)
	}
	c, err := f(given)
	if err != nil {
		return nil, err
	}
	laid := *c
	laid.Node, laid.Rho, laid.Edge = numeric.Pick(c.Node, node), numeric.Pick(c.Rho, node), numeric.Pick(c.Edge, edge)
	laid.EdgeClass, laid.Split = numeric.Pick(c.EdgeClass, edge), nil
	for _, e := range edge[:min(len(edge), len(c.Split))] {
		laid.Split = append(laid.Split, c.Split[2*e:2*e+2]...)
	}
	return &laid, nil
}

// Names are the choices that Parse knows by name.
var Names = []string{"convex", "cover", "trw", "near-bethe", "bethe"}

// Parse returns what makes the counting numbers that name, one of Names, stands for. Numbers
// are made once for each graph, and several goroutines may ask. Making those of trw and near-bethe,
// which takes seconds for a million or a hundred thousand edges, is given up with the error of ctx once that has ended.
//
// seed draws the spanning forests of trw.
func Parse(ctx context.Context, name string, seed uint64) (Func, error) {
	switch name {
	case "convex":
		return remembered(nil), nil
	case "cover":
		return remembered(func(g *graph.Graph) (*Numbers, error) { return edgeCover(g), nil }), nil
	case "bethe":
		return remembered(func(g *graph.Graph) (*Numbers, error) { return Bethe(g), nil }), nil
	case "near-bethe":
		return remembered(func(g *graph.Graph) (*Numbers, error) { return nearBethe(ctx, g) }), nil
	case "trw":
		return remembered(func(g *graph.Graph) (*Numbers, error) { return sampledTreeReweighted(ctx, g, seed) }), nil
	}
	return nil, fmt.Errorf("counting numbers %q: want %s", name, strings.Join(Names, ", "))
}

// Given returns what makes the given numbers for graphs with as many nodes and edges, and
// proves what can be said of them. The slices are kept without copying.
func Given(name string, node, edge []float64) Func {
	return remembered(func(g *graph.Graph) (*Numbers, error) {
		c, err := New(name, g, node, edge)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.Prove(g)
		return c, nil
	})
}

// remembered makes the numbers of each graph once.
func remembered(makeNumbers Func) Func {
	var lock sync.Mutex
	known := map[*graph.Graph]*Numbers{}
	return func(g *graph.Graph) (*Numbers, error) {
		lock.Lock()
		defer lock.Unlock()
		if c, ok := known[g]; ok {
			return c, nil
		}
		c, err := makeNumbers.Of(g)
		if err == nil {
			known[g] = c
		}
		return c, err
	}
}
