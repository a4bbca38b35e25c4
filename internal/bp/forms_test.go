package bp

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// countingsOf are counting numbers of every kind on g.
func countingsOf(g *graph.Graph) []*counting.Numbers {
	return []*counting.Numbers{counting.Convex(g), legal(counting.SampledTreeReweighted(g, 1)), counting.Bethe(g), dualCounting(source(3), g)}
}

// forms counts the tables of the last block loaded that are multiplicative, and those that are logarithms.
func (r *inference) forms() (multiplicative, logarithms int) {
	seen := map[int]bool{}
	for q, at := range r.space.at {
		switch {
		case seen[at]:
		case r.space.form(int32(q)).log:
			logarithms++
		default:
			multiplicative++
		}
		seen[at] = true
	}
	return multiplicative, logarithms
}

// tables counts the distinct tables of the last block loaded.
func (r *inference) tables() int {
	multiplicative, logarithms := r.forms()
	return multiplicative + logarithms
}

// compareRuns fails where two inferences differ in messages, beliefs or values.
func compareRuns(t oracle.TB, name string, a, b *inference, tolerance float64) {
	t.Helper()
	for i, x := range a.state.LogMessage {
		// Far below the largest entry only the belief counts, and it is compared.
		if y := b.state.LogMessage[i]; !near(x, y, tolerance) {
			t.Fatalf("%s: message entry %d is %v and %v", name, i, x, y)
		}
	}
	compareTables(t, name+": node", a.nodes(), b.nodes(), tolerance)
	compareTables(t, name+": edge", a.edges(t), b.edges(t), tolerance)
	va, vb := a.values(t), b.values(t)
	if !near(va.FreeEnergy, vb.FreeEnergy, tolerance) || !near(va.Dual, vb.Dual, tolerance) {
		t.Fatalf("%s: values %+v and %+v", name, va, vb)
	}
}

// TestFormsAgree runs the same sweeps with exponentiated tables and with logarithms: they must agree message by
// message, also where sums underflow in the multiplicative form and are done again.
func TestFormsAgree(t *testing.T) {
	for name, g := range loopyGraphs() {
		t.Run(name, func(t *testing.T) {
			for seed, scale := range []float64{0.5, 5, 60, 140} {
				for _, c := range countingsOf(g) {
					zeros := 0.25 * float64(seed%2)
					rng := source(uint64(seed))
					p := oracle.RandomPairwise(rng, g, randomCards(rng, g.NumNodes(), 1, 3), scale*slices.Min(c.Edge), zeros)
					plain, logs := newInference(t, p, c), newInference(t, p, c)
					logs.logForm = true
					for sweep := range 5 {
						plain.sweep(t, plain.blocks())
						logs.sweep(t, logs.blocks())
						if multiplicative, _ := plain.forms(); multiplicative == 0 {
							t.Fatalf("scale %v: every table is in log form already", scale)
						}
						if _, logarithms := logs.forms(); logarithms == 0 {
							t.Fatal("no table is in log form")
						}
						compareRuns(t, fmt.Sprintf("%s, scale %v, sweep %d", c.Name, scale, sweep), plain, logs, 1e-11)
						plain.check(t, math.Inf(1))
					}
				}
			}
		})
	}
}

// TestUnderflowFallsBack: every term of the multiplicative sum of one message entry is below the smallest float64, so
// that without the second computation the message would be −Inf, and the state impossible. On a chain the answer is
// known: the state has all of the probability.
func TestUnderflowFallsBack(t *testing.T) {
	g := legal(gen.Chain(3))
	p := &mrf.Pairwise{
		Graph: g, Card: []int32{2, 2, 2}, NodeAt: []int{0, 2, 4, 6}, EdgeAt: []int{0, 4, 8},
		Node: []float64{0, -500, 0, 0, 0, 5000}, // node 0 is in state 0 but for e⁻⁵⁰⁰; node 2 must be in state 1
		Edge: []float64{
			0, -580, -400, 0, // state 1 of node 1 from state 0 of node 0: e⁻⁵⁸⁰, from state 1: e⁻⁵⁰⁰ (sum is safe)
			0, -590, -590, 0, // state 1 of node 2 needs state 1 of node 1 but for e⁻⁵⁹⁰
		},
	}
	for _, c := range treeCountings(g) {
		compareWithOracle(t, c.Name, p, c)
	}
	// Now the way through state 1 of node 0 is closed too: the message entry is
	// e⁻⁵⁸⁰ times a cavity of e⁻³⁰⁰, which no float64 holds.
	p.Node[1], p.Edge[3] = math.Inf(-1), -580
	p.Node[0], p.Node[2] = 0, 300
	for _, c := range treeCountings(g) {
		r := newInference(t, p, c)
		r.solve(t)
		if multiplicative, _ := r.forms(); multiplicative != 2 {
			t.Fatalf("%d multiplicative tables, want 2", multiplicative)
		}
		compareWithOracle(t, c.Name, p, c)
	}
}

// TestSharedTables: edges that share a table give the same bits as edges with equal tables of their own, also where
// edges of one table differ in c_uv, and where there are more distinct c_uv than are numbered.
func TestSharedTables(t *testing.T) {
	g := legal(graph.Grid(13, 13, graph.GridOptions{}))
	rng := source(8)
	card := slices.Repeat([]int32{3}, g.NumNodes())
	p := oracle.RandomPairwise(rng, g, card, 1, 0.05)
	for e := 4; e < g.NumEdges(); e++ { // four distinct tables
		copy(p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]], p.Edge[p.EdgeAt[e%4]:])
	}
	many := make([]float64, g.NumEdges())
	for e := range many {
		many[e] = 0.5 + rng.Float64()
	}
	for _, test := range []struct {
		counting *counting.Numbers
		tables   int // 0: one per edge
	}{
		{counting.Convex(g), 4}, {legal(counting.SampledTreeReweighted(g, 1)), -1},
		{legal(counting.New("many", g, constants(g.NumNodes(), 1), many)), g.NumEdges()},
	} {
		shared, own := newInference(t, p, test.counting), newInference(t, p, test.counting)
		shared.share = true
		for range 4 {
			shared.sweep(t, shared.blocks())
			own.sweep(t, own.blocks())
		}
		if got := shared.tables(); test.tables >= 0 && got != test.tables || test.tables < 0 && (got <= 4 || got >= g.NumEdges()) {
			t.Errorf("%s: %d tables were exponentiated, want %d", test.counting.Name, got, test.tables)
		}
		oracle.Equal(t, own.tables(), g.NumEdges(), "%s: tables of edges of their own", test.counting.Name)
		if !slices.Equal(shared.state.LogMessage, own.state.LogMessage) || !slices.Equal(shared.state.LogBelief, own.state.LogBelief) {
			t.Errorf("%s: shared tables give other bits", test.counting.Name)
		}
		oracle.Equal(t, shared.values(t), own.values(t), "%s: values", test.counting.Name)
		shared.check(t, math.Inf(1))
	}
}

// TestConstantsAndReparametrisation: B moves with a constant added to a table,
// and does not with one moved from an edge to its node; beliefs do neither.
func TestConstantsAndReparametrisation(t *testing.T) {
	g := legal(gen.Complete(4))
	for _, c := range countingsOf(g) {
		p := oracle.RandomPairwise(source(5), g, []int32{2, 3, 2, 3}, 1, 0)
		before := newInference(t, p, c)
		before.solve(t)
		q := *p
		q.Node, q.Edge = slices.Clone(p.Node), slices.Clone(p.Edge)
		for i := range 6 { // the whole table of edge 0
			q.Edge[q.EdgeAt[0]+i] += 1000
		}
		for j := range 3 { // from state 2 of node 1 = V(0) to the edge
			for i := range 2 {
				q.Edge[q.EdgeAt[0]+i*3+j] += float64(j)
			}
			q.Node[q.NodeAt[1]+j] -= float64(j)
		}
		after := newInference(t, &q, c)
		after.solve(t)
		compareTables(t, c.Name, after.nodes(), before.nodes(), 1e-10)
		if a, b := after.values(t).FreeEnergy, before.values(t).FreeEnergy; !near(a, b+1000, 1e-11) {
			t.Errorf("%s: the value went from %v to %v", c.Name, b, a)
		}
	}
}
