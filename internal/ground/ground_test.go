package ground

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

const worlds = 40

// TestGroundIsTheFormula compares every potential of every block with the sum that defines it, for all forms of
// features; the same scratch is used throughout.
func TestGroundIsTheFormula(t *testing.T) {
	var pot Potentials
	for seed := range uint64(worlds) {
		w := newWorld(t, seed)
		for _, part := range []*partition.Partition{partition.Whole(w.in.Graph), w.blocks(t, seed, 4)} {
			for b := range part.Blocks {
				block := &part.Blocks[b]
				pot.Ground(w.model, w.in, block)
				for p, s := range block.Nodes {
					if got, want := pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]], w.nodeTheta(w.model.Weights, s); !closeTo(got, want) {
						t.Fatalf("seed %d, node %d: θ = %v, want %v", seed, s, got, want)
					}
				}
				checkTables(t, fmt.Sprintf("seed %d, block %d", seed, b), w, &pot, block)
			}
		}
	}
}

// checkTables: every edge finds its table; tables are numbered without gaps, and edges of the same tied type share one
// exactly where their features come from the same bin, or are constant.
func checkTables(t *testing.T, where string, w *world, pot *Potentials, block *partition.Block) {
	t.Helper()
	if len(pot.EdgeAt) != len(block.Edges) || len(pot.TableID) != len(block.Edges) {
		t.Fatalf("%s: %d tables placed for %d edges", where, len(pot.EdgeAt), len(block.Edges))
	}
	seen := map[int32]int{}
	key := map[string]int32{}
	for q, e := range block.Edges {
		want := w.edgeTheta(w.model.Weights, e)
		if got := pot.Table[pot.EdgeAt[q]:][:len(want)]; !closeTo(got, want) {
			t.Fatalf("%s, edge %d: θ = %v, want %v", where, e, got, want)
		}
		b := w.in.EdgeType(e)
		f, id := w.in.EdgeFeatures(b), pot.TableID[q]
		if at, ok := seen[id]; ok && at != pot.EdgeAt[q] {
			t.Fatalf("%s: table %d is in two places", where, id)
		}
		seen[id] = pot.EdgeAt[q]
		name := fmt.Sprint("edge ", e)
		if Tables(f) > 0 && !w.model.Layout.Edge[b].Untied {
			name = fmt.Sprint("type ", b, " bin ", (*matrix)(f.Data()).tableOf(w.in.EdgeRow(e)))
		}
		if known, ok := key[name]; ok != (known == id && ok) {
			t.Fatalf("%s: %s has tables %d and %d", where, name, known, id)
		}
		key[name] = id
	}
	if len(seen) != pot.NumTables || len(key) != pot.NumTables {
		t.Fatalf("%s: %d tables, %d used, %d distinct", where, pot.NumTables, len(seen), len(key))
	}
}

// TestScatterIsTheAdjoint: ⟨θ̃ᵀM, t⟩ = ⟨θ̃, M t⟩ for random t, and M t is the sum that defines it.
func TestScatterIsTheAdjoint(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(t, seed)
		rng := source(1000 + seed)
		var adjoint Adjoint
		gradient, want := make([]float64, w.model.Layout.Size), make([]float64, w.model.Layout.Size)
		product := 0.0
		one := func(span crf.Span, f []float64, r int, theta []float64, scatter func(dst, t []float64)) {
			tau := make([]float64, span.States)
			for x := range tau {
				tau[x] = rng.NormFloat64()
				product += theta[x] * tau[x]
			}
			scatter(copyOf(&span, gradient, r), tau)
			at := span.At
			if span.Untied {
				at += r * span.Copy()
			}
			for j, value := range f {
				for x, v := range tau {
					want[at+j*span.States+x] += value * v
				}
			}
		}
		for s := range int32(w.in.Graph.NumNodes()) {
			a, r := w.in.NodeType(s), w.in.NodeRow(s)
			one(w.model.Layout.Node[a], w.node[a][r], r, w.nodeTheta(w.model.Weights, s), func(dst, tau []float64) {
				if s%2 == 0 {
					adjoint.ScatterNodes(dst, w.in, []int32{s}, tau)
					return
				}
				adjoint.AddNodes(gradient, w.model, w.in, []int32{s}, tau)
			})
		}
		adjoint.ReleaseAll(gradient, w.model, w.in)
		for e := range int32(w.in.Graph.NumEdges()) {
			b, r := w.in.EdgeType(e), w.in.EdgeRow(e)
			one(w.model.Layout.Edge[b], w.edge[b][r], r, w.edgeTheta(w.model.Weights, e),
				func(dst, tau []float64) { adjoint.ScatterEdges(dst, w.in, []int32{e}, tau) })
		}
		if !closeTo(gradient, want) {
			t.Fatalf("seed %d: gradient %v, want %v", seed, gradient, want)
		}
		back := 0.0
		for i, g := range gradient {
			back += g * w.model.Weights[i]
		}
		oracle.MustNear(t, back, product, 1e-11*(1+math.Abs(product)), "seed %d: ⟨θ̃, M t⟩, and ⟨θ, t⟩", seed)
	}
}

// TestConditionIsGround: the explicit network has the same potentials, in the order of nodes and edges, and is legal;
// and the statistics of labels, times the weights, are the score of the labels.
func TestConditionIsGround(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(t, seed)
		p := Condition(w.model, w.in)
		oracle.OK(t, p.Network().Validate())
		for s, k := range p.Card {
			if got, want := p.Node[p.NodeAt[s]:p.NodeAt[s+1]], w.nodeTheta(w.model.Weights, int32(s)); !closeTo(got, want) || len(got) != int(k) {
				t.Fatalf("seed %d, node %d: %v, want %v", seed, s, got, want)
			}
		}
		for e := range int32(w.in.Graph.NumEdges()) {
			if got, want := p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]], w.edgeTheta(w.model.Weights, e); !closeTo(got, want) {
				t.Fatalf("seed %d, edge %d: %v, want %v", seed, e, got, want)
			}
		}
		x, labels := make([]int, len(p.Card)), make([]int32, len(p.Card))
		for s, k := range p.Card {
			x[s] = source(seed*100 + uint64(s)).IntN(int(k))
			labels[s] = int32(x[s])
		}
		dot := 0.0
		for i, v := range statistics(w, labels, 1) {
			dot += v * w.model.Weights[i]
		}
		if want := p.Network().LogScore(x); math.Abs(dot-want) > 1e-11*(1+math.Abs(want)) {
			t.Fatalf("seed %d: ⟨θ̃, M w⟩ = %v, the score is %v", seed, dot, want)
		}
	}
}

// statistics calls AddChange on zeros.
func statistics(w *world, labels []int32, weight float64) []float64 {
	dst := make([]float64, w.model.Layout.Size)
	new(Adjoint).AddChange(dst, w.model, w.in, Whole(w.in), nil, labels, weight)
	return dst
}

// TestStatistics of partly observed labels: nodes with a label, and edges both
// of whose ends have one, times the weight, added to what is there.
func TestStatistics(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(t, seed)
		for _, labels := range w.in.Samples() {
			const weight = 0.37
			want := make([]float64, w.model.Layout.Size)
			add := func(span crf.Span, f []float64, r, state int) {
				at := span.At
				if span.Untied {
					at += r * span.Copy()
				}
				for j, x := range f {
					want[at+j*span.States+state] += weight * x
				}
			}
			for s, y := range labels {
				if a, r := w.in.NodeType(int32(s)), w.in.NodeRow(int32(s)); y >= 0 {
					add(w.model.Layout.Node[a], w.node[a][r], r, int(y))
				}
			}
			for e := range int32(w.in.Graph.NumEdges()) {
				u, v := w.in.Graph.U(e), w.in.Graph.V(e)
				if b, r := w.in.EdgeType(e), w.in.EdgeRow(e); labels[u] >= 0 && labels[v] >= 0 {
					add(w.model.Layout.Edge[b], w.edge[b][r], r, int(labels[u])*w.in.States(v)+int(labels[v]))
				}
			}
			if got := statistics(w, labels, weight); !closeTo(got, want) {
				t.Fatalf("seed %d: statistics %v, want %v", seed, got, want)
			}
			none := slices.Repeat([]int32{crf.Unobserved}, len(labels))
			if got := statistics(w, none, weight); slices.ContainsFunc(got, func(x float64) bool { return x != 0 }) {
				t.Fatalf("seed %d: statistics %v of no labels", seed, got)
			}
		}
	}
}

// TestChange: what is added of a change of labels is the difference of their statistics.
func TestChange(t *testing.T) {
	rng := source(5)
	for seed := range uint64(worlds) {
		w := newWorld(t, seed)
		for _, from := range w.in.Samples() {
			to := slices.Clone(from)
			for s := range to {
				if rng.IntN(3) == 0 {
					to[s] = int32(rng.IntN(w.in.States(int32(s))+1)) - 1 // −1: none
				}
			}
			const weight = 0.37
			got, was := make([]float64, w.model.Layout.Size), statistics(w, from, weight)
			new(Adjoint).AddChange(got, w.model, w.in, Whole(w.in), from, to, weight)
			for i, want := range statistics(w, to, weight) {
				if want -= was[i]; math.Abs(got[i]-want) > 1e-12*(1+math.Abs(was[i])) {
					t.Fatalf("seed %d: statistic %d changes by %v, want %v", seed, i, got[i], want)
				}
			}
		}
	}
}

// TestWithoutEdges leaves nodes, features and labels as they are.
func TestWithoutEdges(t *testing.T) {
	w := newWorld(t, 3)
	alone := w.in.WithoutEdges()
	if w.in.Graph.NumEdges() == 0 || alone.Graph.NumEdges() != 0 || alone.Graph.NumNodes() != w.in.Graph.NumNodes() || len(alone.Samples()) != 3 {
		t.Fatalf("%d edges before, %d after", w.in.Graph.NumEdges(), alone.Graph.NumEdges())
	}
	p, whole := Condition(w.model, alone), Condition(w.model, w.in)
	if !slices.Equal(p.Node, whole.Node) || !slices.Equal(p.Card, whole.Card) || len(p.Edge) != 0 {
		t.Error("node potentials changed")
	}
	for b, span := range w.model.Layout.Edge {
		if f := alone.EdgeFeatures(b); f.Rows() != 0 || f.Dim() != span.Features {
			t.Errorf("edge type %d: %d rows of %d features, want 0 of %d", b, f.Rows(), f.Dim(), span.Features)
		}
	}
	oracle.Equal(t, alone.WithoutEdges().Graph.NumEdges(), 0, "edges without edges")
}

// TestNoAllocations: grounding and its adjoint reuse their scratch.
func TestNoAllocations(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorld(t, seed)
		part := w.blocks(t, seed, 3)
		var pot Potentials
		var adjoint Adjoint
		gradient := make([]float64, w.model.Layout.Size)
		visit := func() {
			for b := range part.Blocks {
				pot.Ground(w.model, w.in, &part.Blocks[b])
			}
			adjoint.AddChange(gradient, w.model, w.in, Whole(w.in), nil, w.in.Samples()[0], 1)
		}
		visit()
		oracle.Equal(t, testing.AllocsPerRun(5, visit), 0, "seed %d: allocations", seed)
	}
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
		w.model = oracle.Must(crf.NewModel(masked(w.model.Schema)))(t)
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
	got, want := pot.LogScore(w.in, labels), network.Network().LogScore(x)
	oracle.Near(t, got, want, 1e-12*(1+math.Abs(want)), "score")
	for s := range labels {
		labels[s] = crf.Unobserved
	}
	oracle.Equal(t, pot.LogScore(w.in, labels), 0, "the score of no label")
}
