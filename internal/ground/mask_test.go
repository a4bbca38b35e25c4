package ground

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/partition"
)

// must returns the value of a call that may not fail here.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// masked returns the schema with a state and a few pairs forbidden.
func masked(s crf.Schema) crf.Schema {
	s.NodeTypes, s.EdgeTypes = slices.Clone(s.NodeTypes), slices.Clone(s.EdgeTypes)
	s.NodeTypes[0].Forbidden = []int{2}
	for b := range s.EdgeTypes {
		if ku, kv := s.EdgeStates(b); ku > 1 && kv > 1 {
			s.EdgeTypes[b].Forbidden = [][2]int{{0, kv - 1}, {ku - 1, 0}}
		}
	}
	return s
}

// TestMaskedPotentials: −Inf where the schema forbids, the formula elsewhere, in
// every block and with tables that edges share.
func TestMaskedPotentials(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed)
		plain := w.model.Clone()
		w.model = must(crf.NewModel(masked(w.model.Schema)))
		copy(w.model.Weights, plain.Weights)
		var pot, unmasked Potentials
		part := w.blocks(t, seed, 3)
		for b := range part.Blocks {
			block := &part.Blocks[b]
			unmasked.Ground(plain, w.in, block)
			pot.Ground(w.model, w.in, block)
			if !pot.Forbidding || unmasked.Forbidding {
				t.Fatalf("seed %d: forbidding %v with a mask, %v without", seed, pot.Forbidding, unmasked.Forbidding)
			}
			compare := func(what string, i int32, got, want []float64, forbidden func(x int) bool) {
				for x := range got {
					if forbidden(x) && !math.IsInf(got[x], -1) || !forbidden(x) && got[x] != want[x] {
						t.Fatalf("seed %d, %s %d: potential %d is %v, without a mask %v", seed, what, i, x, got[x], want[x])
					}
				}
			}
			for p, s := range block.Nodes {
				lo, hi := pot.NodeAt[p], pot.NodeAt[p+1]
				kind := &w.model.Schema.NodeTypes[w.in.NodeType(s)]
				compare("node", s, pot.Node[lo:hi], unmasked.Node[lo:hi], func(x int) bool { return slices.Contains(kind.Forbidden, x) })
			}
			for q, e := range block.Edges {
				kind := w.in.EdgeType(e)
				k := w.model.Layout.Edge[kind].States
				_, kv := w.model.Schema.EdgeStates(kind)
				compare("edge", e, pot.Table[pot.EdgeAt[q]:][:k], unmasked.Table[unmasked.EdgeAt[q]:][:k], func(x int) bool {
					return slices.Contains(w.model.Schema.EdgeTypes[kind].Forbidden, [2]int{x / kv, x % kv})
				})
			}
		}
	}
}

// TestLogScore is that of the network with explicit tables.
func TestLogScore(t *testing.T) {
	w := newWorld(t, 3)
	network := Condition(w.model, w.in)
	var pot Potentials
	pot.Ground(w.model, w.in, &partition.Whole(w.in.Graph).Blocks[0])
	x, labels := make([]int, len(network.Card)), make([]int32, len(network.Card))
	rng := source(4)
	for s, k := range network.Card {
		x[s] = rng.IntN(int(k))
		labels[s] = int32(x[s])
	}
	if got, want := pot.LogScore(w.in, labels), network.LogScore(x); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
		t.Errorf("score %v, want %v", got, want)
	}
	for s := range labels {
		labels[s] = crf.Unobserved
	}
	if got := pot.LogScore(w.in, labels); got != 0 {
		t.Errorf("the score of no label is %v", got)
	}
}
