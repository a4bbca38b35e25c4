package counting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/infile"
)

// Func makes the counting numbers of a graph. nil stands for Convex.
type Func func(*graph.Graph) (*Numbers, error)

// Of returns the counting numbers of a graph.
func (f Func) Of(g *graph.Graph) (*Numbers, error) {
	if f == nil {
		return Convex(g), nil
	}
	return f(g)
}

// Names are the choices that Parse knows by name.
var Names = []string{"convex", "cover", "trw", "bethe"}

// wantedFile is what a file of numbers is to be.
const wantedFile = `one with lines "node i c" and "edge e c"`

// Parse returns what makes the counting numbers that name stands for: one of
// Names, or the path of a file as Read takes it, which fits one graph only.
// Numbers are made once for each graph, and several goroutines may ask. Making those of trw, which
// takes seconds for a million edges, is given up with the error of ctx once that has ended.
//
// seed draws the spanning forests of trw, and keep is as in SampledTreeReweighted.
// Where name is neither, the error is that of looking for the file.
func Parse(ctx context.Context, name string, seed uint64, keep bool) (Func, error) {
	switch name {
	case "convex":
		return remembered(nil), nil
	case "cover":
		return remembered(func(g *graph.Graph) (*Numbers, error) { return Cover(g), nil }), nil
	case "bethe":
		return remembered(func(g *graph.Graph) (*Numbers, error) { return Bethe(g), nil }), nil
	case "trw":
		return remembered(func(g *graph.Graph) (*Numbers, error) { return sampledTreeReweighted(ctx, g, seed, keep) }), nil
	}
	if err := infile.Check(name, wantedFile); errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "./") {
		return nil, fmt.Errorf("counting numbers %q: want %s or the path of a file: %w", name, strings.Join(Names, ", "), err)
	} else if err != nil {
		return nil, err
	}
	return remembered(func(g *graph.Graph) (*Numbers, error) {
		file, _, err := infile.Open(name, wantedFile)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return fromText(file, name, g)
	}), nil
}

// Given returns what makes the given numbers for graphs with as many nodes and edges, as
// a model has them that was trained with a file of numbers. The slices are kept without
// copying.
func Given(name string, node, edge []float64) Func {
	return remembered(func(g *graph.Graph) (*Numbers, error) { return proved(name, g, node, edge) })
}

// fromText reads the numbers of a graph, and proves what can be said of them.
func fromText(r io.Reader, name string, g *graph.Graph) (*Numbers, error) {
	node, edge, err := Read(r, name, g.NumNodes(), g.NumEdges())
	if err != nil {
		return nil, err
	}
	return proved(name, g, node, edge)
}

func proved(name string, g *graph.Graph, node, edge []float64) (*Numbers, error) {
	c, err := New(name, g, node, edge)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.Prove(g)
	return c, nil
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
