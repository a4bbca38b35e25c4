package learn

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
)

// truncatedAt is the objective of Truncated with so many sweeps, and its gradient.
func truncatedAt(p Problem, sweeps int, weights []float64) (value float64, gradient []float64) {
	s := Settings{Method: Truncated, InnerSweeps: sweeps, Threads: 2}.Resolved()
	l := must(planLocal(&p, &s))
	l.allocate()
	defer l.objective.Close()
	gradient = make([]float64, len(weights))
	return l.objective.Evaluate(context.Background(), gradient, append([]float64(nil), weights...)), gradient
}

// TestTruncatedSlopes compares gradients with differences, and values with the beliefs that a Predictor makes of as
// many sweeps, for every kind of problem, of counting numbers, and for few and many sweeps.
func TestTruncatedSlopes(t *testing.T) {
	all := problems(t)
	for name, p := range symmetricProblems(t) {
		all["symmetric, "+name] = p
	}
	hidden := mixedShape(t, must(graph.Grid(3, 3, graph.GridOptions{})))
	hidden.samples, hidden.missing = 2, 0.2
	all["masked"] = maskedProblem(t, hidden, 3)
	for states := 2; states <= 5; states++ {
		all[fmt.Sprint("random graph, states ", states)] = shape{graph: must(gen.ErdosRenyi(9, 0.4, source(uint64(states)))),
			instances: 2, missing: 0.3, l2: 0.1, schema: crf.Schema{
				NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(states), Features: 2}},
				EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 2}}}}.build(t, uint64(states))
	}
	for name, p := range all {
		for counts := range countings {
			p := p.with(counts)
			if counts == "trw" {
				p.ClassWeights = drawnClassWeights(p)
			}
			for _, sweeps := range []int{1, 2, 7} {
				where, w := fmt.Sprintf("%s, %s, sweeps %d", name, counts, sweeps), p.randomWeights(4, 0.7)
				p.Model.Layout.Symmetrise(w)
				value, gradient := truncatedAt(p, sweeps, w)
				checkSlope(t, where, w, gradient, func(w []float64) float64 { v, _ := truncatedAt(p, sweeps, w); return v })
				nearly(t, value, lossOfBeliefs(t, p, sweeps, w), 1e-12, "%s: the loss of beliefs", where)
			}
		}
	}
}

// lossOfBeliefs is the objective by its definition.
func lossOfBeliefs(t *testing.T, p Problem, sweeps int, w []float64) (loss float64) {
	t.Helper()
	m, total := p.Model.Clone(), 0.0
	copy(m.Weights, w)
	predictor := infer.Predictor{Model: m, Counting: p.Counting, Truncated: sweeps}
	for _, in := range p.Data {
		beliefs := oracle.Must(predictor.Predict(t.Context(), in, nil))(t)
		oracle.Equal(t, beliefs.Sweeps, sweeps, "sweeps")
		for i, labels := range in.Samples() {
			counts := in.Weight() * in.SampleWeight(i)
			for s, y := range labels {
				if y >= 0 {
					loss -= counts * ground.ClassWeight(p.ClassWeights, in, int32(s), y) * math.Log(beliefs.Of(s)[y])
				}
			}
		}
		total += in.TotalWeight()
	}
	return loss/total + p.L2/2*simd.Dot(w, w)
}

// TestTruncatedOnTrees: with the numbers of Bethe the loss is that of the marginals, once news has gone everywhere.
func TestTruncatedOnTrees(t *testing.T) {
	rng := source(12)
	for trial := range 12 {
		const nodes = 8
		var u, v []int32
		names := rng.Perm(nodes)
		for s := 1; s < nodes; s++ {
			u, v = append(u, int32(names[s])), append(v, int32(names[rng.IntN(s)]))
		}
		p := shape{graph: must(graph.FromEdges(nodes, u, v)), missing: 0.3, l2: 0.1, schema: crf.Schema{
			NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(2 + trial%4), Features: 2}},
			EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 2}}}}.build(t, uint64(trial)).with("bethe")
		w := p.randomWeights(4, 1)
		m := p.Model.Clone()
		copy(m.Weights, w)
		marginals, _ := oracle.Marginals(ground.Condition(m, p.Data[0]))
		want := p.L2 / 2 * simd.Dot(w, w)
		for s, y := range p.Data[0].Samples()[0] {
			if y >= 0 {
				want -= math.Log(marginals[s][y])
			}
		}
		if got, _ := truncatedAt(p, nodes-1, w); !near(got, want, 1e-12) {
			t.Errorf("tree %d: %.14g, by enumeration %.14g", trial, got, want)
		}
	}
}

// TestTruncatedLearns: the run ends where the gradient is 0, which proves no optimum, or where steps promise little.
func TestTruncatedLearns(t *testing.T) {
	p, s := problems(t)["missing"], Settings{Method: Truncated, InnerSweeps: 3, RelativeTolerance: 1e-6}
	whole := fit(t, p, s)
	s.Proof = 1e-2
	early := fit(t, p, s)
	for reason, r := range map[string]*Result{"gradient norm": whole, "the last 3 steps promise": early} {
		if !strings.Contains(r.Reason, reason) || r.Status != StationaryPoint || r.Convex || !math.IsNaN(r.Suboptimality) {
			t.Errorf("%s (%s), convex %v, suboptimality %v", r.Status, r.Reason, r.Convex, r.Suboptimality)
		}
	}
	first, _ := truncatedAt(p, s.InnerSweeps, make([]float64, p.Model.Layout.Size))
	if early.Objective-whole.Objective > 3*s.Proof*(first-whole.Objective) || early.Passes >= whole.Passes {
		t.Errorf("objective %v after %v passes, %v after %v where the gradient is 0", early.Objective, early.Passes,
			whole.Objective, whole.Passes)
	}
}
