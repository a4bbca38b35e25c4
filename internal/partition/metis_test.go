package partition_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/partition"
)

// withoutMETIS reports whether the library is missing; then it checks that METIS
// says so.
func withoutMETIS(t *testing.T) bool {
	_, err := partition.METIS(must(gen.Chain(2)), 1, 0)
	if err == nil {
		return false
	}
	if !errors.Is(err, partition.ErrNoMETIS) || !strings.Contains(err.Error(), "apt-get install libmetis5") {
		t.Fatalf("got %v, want ErrNoMETIS with a way to install the library", err)
	}
	t.Log("METIS is not installed: only its error was checked")
	return true
}

func TestMETISQuality(t *testing.T) {
	if withoutMETIS(t) {
		return
	}
	for _, test := range []struct {
		name    string
		g       *graph.Graph
		cutMost float64
	}{
		{"grid", must(graph.Grid(200, 200, graph.GridOptions{})), 0.023},
		{"scale-free", must(gen.BarabasiAlbert(20000, 2, source(1))), 0.43},
	} {
		for _, seed := range []uint64{0, 1} {
			of := must(partition.METIS(test.g, 20, seed))
			p := must(partition.FromAssignment(test.g, of, 20))
			checkPartition(t, p)
			if q := p.Quality(); q.CutFraction > test.cutMost || workBalance(p) > 1.05 {
				t.Errorf("%s, seed %d: %+v, work balance %.3f, want a cut fraction up to %v", test.name, seed, q, workBalance(p), test.cutMost)
			}
			if again := must(partition.METIS(test.g, 20, seed)); !slices.Equal(of, again) {
				t.Errorf("%s, seed %d: two calls differ", test.name, seed)
			}
		}
	}
}

func TestMETISFillsEveryBlock(t *testing.T) {
	if withoutMETIS(t) {
		return
	}
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		blocks := rapid.IntRange(1, g.NumNodes()).Draw(t, "blocks")
		of, err := partition.METIS(g, blocks, rapid.Uint64Range(0, 2).Draw(t, "METIS seed"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := partition.FromAssignment(g, of, blocks)
		if err != nil {
			t.Fatal(err)
		}
		checkPartition(t, p)
	})
}

// TestMETISWithAHub: METIS leaves blocks empty when one node weighs more than
// several of them.
func TestMETISWithAHub(t *testing.T) {
	if withoutMETIS(t) {
		return
	}
	const n, blocks = 400, 100
	hub, leaves := make([]int32, n-1), make([]int32, n-1)
	for e := range leaves {
		leaves[e] = int32(e + 1)
	}
	g := must(graph.FromEdges(n, hub, leaves))
	p := must(partition.FromAssignment(g, must(partition.METIS(g, blocks, 0)), blocks))
	checkPartition(t, p)
}
