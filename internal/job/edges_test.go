package job

import (
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestDependenceIsSymmetric: to the bit, as weights of a symmetric type are one.
func TestDependenceIsSymmetric(t *testing.T) {
	const k = 7
	schema := crf.Homogeneous(crf.NumberedStates(k), 1, 1)
	schema.EdgeTypes[0].Symmetric = true
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		table := make([]float64, k*k)
		for i := range table {
			table[i] = rng.ExpFloat64() * float64(rng.IntN(2))
		}
		dependence(&schema, 0, table)
		for a := range k {
			for b := range a {
				if table[a*k+b] != table[b*k+a] {
					t.Fatalf("states %d and %d: %v, the other way round %v", a, b, table[a*k+b], table[b*k+a])
				}
			}
		}
	}
}

// TestComparedLabels: the only label of a state is never held out.
func TestComparedLabels(t *testing.T) {
	schema := crf.Homogeneous(crf.NumberedStates(3), 1, 1)
	g := oracle.Must(graph.Grid(1, 6, graph.GridOptions{}))(t)
	in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{crf.Constant(6, 1)}, EdgeFeat: []crf.Features{crf.Constant(5, 1)},
		Labels: [][]int32{{0, 1, crf.Unobserved, 0, 2, 2}},
	}))(t)
	if got := comparedLabels(in); len(got) != 4 || got[0] != 0 || got[1] != 3 || got[2] != 4 || got[3] != 5 {
		t.Errorf("nodes %v are held out by turns, want 0, 3, 4 and 5", got)
	}
}
