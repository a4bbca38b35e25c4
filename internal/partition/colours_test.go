package partition

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/gen"
)

// TestByColours: run c of all blocks together has no two neighbours, every node is in one run, and so it
// is in a restricted partition.
func TestByColours(t *testing.T) {
	g, err := gen.BarabasiAlbert(500, 3, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	of, keep := make([]int32, 500), make([]bool, 500)
	for s := range of {
		of[s], keep[s] = int32(s*7%6), s%3 > 0
	}
	p, err := ByColours(g, of, 7) // the last block is empty
	if err != nil {
		t.Fatal(err)
	}
	if p.Colours < 3 || p.Colours > 10 {
		t.Errorf("%d colours", p.Colours)
	}
	for _, p := range []*Partition{p, p.Restrict(keep)} {
		of, seen := make([]int, 500), 0 // 1 + run of each node
		for b := range p.Blocks {
			block := &p.Blocks[b]
			if n := len(block.Runs) - 1; n != p.Colours && len(block.Nodes) > 0 {
				t.Fatalf("block %d has %d runs, want %d", b, n, p.Colours)
			}
			for r := range len(block.Runs) - 1 {
				nodes := block.Order[block.Runs[r]:block.Runs[r+1]]
				if !slices.IsSorted(nodes) {
					t.Errorf("block %d: run %d is %v", b, r, nodes)
				}
				for _, i := range nodes {
					of[block.Nodes[i]] = r + 1
					seen++
				}
			}
			if len(block.Order) != len(block.Nodes) {
				t.Errorf("block %d: %d of %d nodes are in runs", b, len(block.Order), len(block.Nodes))
			}
		}
		for e := range int32(g.NumEdges()) {
			if u, v := of[g.U(e)], of[g.V(e)]; u == v && u > 0 {
				t.Errorf("edge %d joins nodes of run %d", e, u-1)
			}
		}
		if seen == 0 {
			t.Error("no nodes")
		}
	}
}
