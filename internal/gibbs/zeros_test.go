package gibbs

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// zeroed draws a network with many hard zeros, which may contradict each other.
func zeroed(t *rapid.T) *mrf.Pairwise {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	g := must(gen.ErdosRenyi(n, rapid.Float64Range(0.2, 1).Draw(t, "chance"), rng))
	p := oracle.RandomPairwise(rng, g, randomCards(rng, n), 1, 0)
	chance := rapid.Float64Range(0, 0.7).Draw(t, "zeros")
	for _, table := range [][]float64{p.Node, p.Edge} {
		for i := range table {
			if rng.Float64() < chance {
				table[i] = math.Inf(-1)
			}
		}
	}
	return p
}

// TestSearchDecides: a search finds a possible joint state if and only if there is
// one, and leaves the domains as they were.
func TestSearchDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := zeroed(t)
		possible := !math.IsInf(oracle.LogZ(p), -1)
		d := New(p)
		if !d.Propagate() {
			if possible {
				t.Fatal("arc consistency struck out a possible joint state")
			}
			return
		}
		before := slices.Clone(d.possible)
		x, err := d.Search(source(rapid.Uint64().Draw(t, "search")))
		switch {
		case err == nil && math.IsInf(scoreOf(p, x), -1):
			t.Errorf("found %v, which is impossible", x)
		case err == nil != possible, err != nil && !errors.Is(err, ErrNone):
			t.Errorf("found %v, %v; there is one: %t", x, err, possible)
		}
		if !slices.Equal(d.possible, before) || len(d.queue) > 0 {
			t.Error("the search left its traces in the domains")
		}
		for s := range p.Card {
			n := 0
			for _, possible := range d.of(int32(s)) {
				if possible {
					n++
				}
			}
			oracle.Equal(t, n, int(d.Size[s]), "possible states of node %d, and by the domains", s)
		}
	})
}

func scoreOf(p *mrf.Pairwise, x []int32) float64 {
	states := make([]int, len(x))
	for s, i := range x {
		states[s] = int(i)
	}
	return p.Network().LogScore(states)
}

// TestSearchBacktracks: a proper colouring of a larger graph needs guesses to be
// taken back, and pigeons do not fit into fewer holes.
func TestSearchBacktracks(t *testing.T) {
	colouring := func(g *graph.Graph, colours int32) *mrf.Pairwise {
		p := oracle.RandomPairwise(source(1), g, slices.Repeat([]int32{colours}, g.NumNodes()), 1, 0)
		for e := range g.NumEdges() {
			for i := range int(colours) {
				p.Edge[p.EdgeAt[e]+i*int(colours)+i] = math.Inf(-1)
			}
		}
		return p
	}
	found := 0
	for seed := range uint64(60) {
		p := colouring(must(gen.ErdosRenyi(60, 0.075, source(seed))), 3)
		d := New(p)
		d.Propagate()
		x, err := d.Search(source(seed))
		if err == nil && math.IsInf(scoreOf(p, x), -1) || err != nil && !errors.Is(err, ErrNone) {
			t.Errorf("seed %d: %v, %v", seed, x, err)
		}
		if err == nil {
			found++
		}
	}
	if found < 10 || found > 55 {
		t.Errorf("%d of 60 random graphs were coloured", found)
	}
	d := New(colouring(must(gen.Complete(6)), 5))
	d.Propagate()
	if x, err := d.Search(source(1)); err == nil {
		t.Errorf("six pigeons were put into five holes: %v", x)
	}
}

// TestIrreducibleIsFound: what is easily seen is proved, and what is false is not.
func TestIrreducibleIsFound(t *testing.T) {
	no := math.Inf(-1)
	ring := must(graph.FromEdges(4, []int32{0, 1, 2, 3}, []int32{1, 2, 3, 0}))
	tables := map[string][]float64{
		"no zeros":              {1, 0, 0, 2},
		"independent sets":      {0, 0, 0, no},
		"one state goes first":  {no, 0, 0, 0},
		"equality":              {0, no, no, 0},
		"inequality of 2":       {no, 0, 0, no},
		"what may follow (0,1)": {0, 0, no, 0},
	}
	for name, want := range map[string]bool{
		"no zeros": true, "independent sets": true, "one state goes first": true,
		"equality": false, "inequality of 2": false, "what may follow (0,1)": false, // all around, all are equal
	} {
		p := &mrf.Pairwise{Graph: ring, Card: []int32{2, 2, 2, 2}, NodeAt: []int{0, 2, 4, 6, 8}, EdgeAt: []int{0}, Node: make([]float64, 8)}
		for range 4 {
			p.Edge = append(p.Edge, tables[name]...)
			p.EdgeAt = append(p.EdgeAt, len(p.Edge))
		}
		d := New(p)
		if !d.Propagate() {
			t.Fatalf("%s: contradiction", name)
		}
		oracle.Equal(t, d.Irreducible(), want, "%s: irreducible", name)
	}
}
