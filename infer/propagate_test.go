package infer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 41)) }

// must returns the value of a call that may not fail here.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// randomCards draws 1 to 3 states for each node.
func randomCards(rng *rand.Rand, n int) []int32 {
	card := make([]int32, n)
	for s := range card {
		card[s] = 1 + rng.Int32N(3)
	}
	return card
}

// TestJudgement: what is said of the value is true, whether the iteration
// converged or not, and no more is said than is known.
func TestJudgement(t *testing.T) {
	graphs := map[string]*graph.Graph{"K4": must(gen.Complete(4)), "tree": must(gen.Tree(6, source(1)))}
	for name, g := range graphs {
		for seed := range uint64(6) {
			p := oracle.RandomPairwise(source(seed), g, randomCards(source(seed), g.NumNodes()), 2, 0)
			p.Constant = -3
			z := oracle.LogZ(p)
			for _, test := range []struct {
				counting                 *counting.Numbers
				early, late              counting.Bound // of a tree
				gap                      bool
				earlyOnLoops, lateOnLoop counting.Bound
			}{
				{counting.Convex(g), counting.Upper, counting.Upper, true, counting.Upper, counting.Upper},
				{counting.Bethe(g), counting.Upper, counting.Exact, name == "tree", counting.None, counting.None},
				{must(counting.SampledTreeReweighted(g, seed)), counting.Upper, counting.Exact, true, counting.Upper, counting.Upper},
			} {
				early, late := test.early, test.late
				if name != "tree" {
					early, late = test.earlyOnLoops, test.lateOnLoop
				}
				for sweeps, want := range map[int]counting.Bound{-1: early, 1: early, 5000: late} {
					r := must(beliefPropagation(context.Background(), p, test.counting, Limits{Tolerance: 1e-12, MaxSweeps: sweeps}))
					if r.Bound != want && !r.Outcome.Converged || r.Outcome.Converged && r.Bound != late {
						t.Errorf("%s, %s, %d sweeps: bound %s, want %s", name, test.counting.Name, sweeps, r.Bound, want)
					}
					if r.Bound == counting.Upper && !(r.LogZ >= z-1e-9) || r.Bound == counting.Exact && math.Abs(r.LogZ-z) > 1e-9 {
						t.Errorf("%s, %s, %d sweeps: %s %.10f, log Z is %.10f", name, test.counting.Name, sweeps, r.Bound, r.LogZ, z)
					}
					if math.IsNaN(r.Gap) == test.gap || r.Gap < -1e-9 || r.Outcome.Converged && r.Gap > 1e-8 {
						t.Errorf("%s, %s, %d sweeps: gap %g", name, test.counting.Name, sweeps, r.Gap)
					}
				}
			}
		}
	}
}

// TestPairs: where no node has two neighbours a sweep forth and one back tell everything, as on all forests.
func TestPairs(t *testing.T) {
	g := must(graph.FromEdges(5, []int32{0, 2}, []int32{1, 3}))
	p := oracle.RandomPairwise(source(1), g, []int32{3, 2, 2, 3, 2}, 2, 0)
	exact := must(Marginals(t.Context(), p.Network(), Options{Method: Exact}))
	for _, counts := range []*counting.Numbers{counting.Bethe(g), must(counting.SampledTreeReweighted(g, 1))} {
		r := must(beliefPropagation(t.Context(), p, counts, Limits{MaxSweeps: 2}))
		for s, row := range exact.Marginals {
			for x := range row {
				oracle.Near(t, r.Marginals[s][x], row[x], 1e-12, "node %d, state %d", s, x)
			}
		}
	}
}

// TestInferenceErrors: networks and counting numbers that cannot be used.
func TestInferenceErrors(t *testing.T) {
	g := must(gen.Chain(3))
	p := oracle.RandomPairwise(source(1), g, []int32{2, 2, 2}, 1, 0)
	oracle.Fails(beliefPropagation(t.Context(), p, counting.Convex(must(gen.Chain(2))), Limits{}))(t, "1 edge")
	p.Node[3] = math.NaN()
	var numerical *bp.NumericalError
	if _, err := beliefPropagation(t.Context(), p, counting.Convex(g), Limits{}); !errors.As(err, &numerical) ||
		numerical.Node != 1 {
		t.Errorf("error %v, want one that names node 1", err)
	}
	impossible := &mrf.Pairwise{
		Graph: must(gen.Chain(2)), Card: []int32{2, 2}, NodeAt: []int{0, 2, 4}, EdgeAt: []int{0, 4},
		Node: []float64{0, math.Inf(-1), 0, math.Inf(-1)}, Edge: []float64{math.Inf(-1), 0, 0, 0},
	}
	if _, err := beliefPropagation(context.Background(), impossible, counting.Bethe(impossible.Graph),
		Limits{}); !errors.As(err, &numerical) || !strings.Contains(err.Error(), "partition function is zero") {
		t.Errorf("error %v", err)
	}
	ring, table := &mrf.Network{Card: slices.Repeat([]int{2}, 40)}, []float64{0, math.Ln2, math.Inf(-1), math.Ln2}
	for s := range ring.Card { // all are in state 0, or, 2⁴⁰ as likely, in 1
		ring.Factors = append(ring.Factors, mrf.Factor{Scope: []int{s, (s + 1) % 40}, LogTable: table})
	}
	if r := must(Marginals(t.Context(), ring, Options{Method: Propagation, Seed: 1})); r.Bound != counting.Upper ||
		!r.Converged || math.Abs(r.LogZ-40*math.Ln2) > 1e-6 { // trw drives messages of such rings on and on
		t.Errorf("bound %s, %v, %+v", r.Bound, r.LogZ, r.Outcome)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.Node[3] = 0
	if r, err := beliefPropagation(ctx, p, counting.Bethe(g), Limits{}); err != nil || r.Converged || r.Bound != "upper" {
		t.Errorf("cancelled: %+v, %v", r, err)
	}
}

// TestFirstSweepProvesNothing: an Ising model whose field is at the nodes that a
// sweep visits last changes no message in the first sweep.
func TestFirstSweepProvesNothing(t *testing.T) {
	g := must(gen.Chain(3))
	p := &mrf.Pairwise{Graph: g, Card: []int32{2, 2, 2}, NodeAt: []int{0, 2, 4, 6}, EdgeAt: []int{0, 4, 8},
		Node: []float64{0, 0, 0, 0, 1, -1}, Edge: []float64{0.5, 0, 0, 0.5, 0.5, 0, 0, 0.5}}
	r := must(beliefPropagation(context.Background(), p, counting.Bethe(g), Limits{}))
	nodes, _ := oracle.Marginals(p)
	compare(t, "node", r.Marginals, nodes, 1e-10)
	if !r.Outcome.Converged || r.Outcome.Sweeps < 2 {
		t.Errorf("outcome %+v", r.Outcome)
	}
	for most, sweeps := range map[int]int{-1: 0, 1: 1} {
		r = must(beliefPropagation(context.Background(), p, counting.Bethe(g), Limits{Tolerance: 1e-10, MaxSweeps: most}))
		if r.Outcome.Converged || r.Bound != counting.Upper || r.Outcome.Sweeps != sweeps {
			t.Errorf("%d sweeps: %+v, %s", sweeps, r.Outcome, r.Bound)
		}
	}

	// The same of a model with weights.
	model := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(2), 1, 1)))
	copy(model.Weights, []float64{1, -1, 0.5, 0, 0, 0.5})
	in := must(crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: g,
		NodeFeat: []crf.Features{must(crf.Dense([]float64{0, 0, 1}, 1))}, EdgeFeat: []crf.Features{crf.Constant(2, 1)}}))
	b := must((&Predictor{Model: model, Counting: bethe}).Predict(t.Context(), in, nil))
	compare(t, "node", [][]float64{b.Of(0), b.Of(1), b.Of(2)}, nodes, 1e-10)
}

// TestLooseToleranceProvesNothing: what has no dual is exact, or a bound, at the
// fixed point only, and a loose tolerance ends far from it.
func TestLooseToleranceProvesNothing(t *testing.T) {
	rng := source(3)
	g := must(gen.Chain(12))
	p := oracle.RandomPairwise(rng, g, slices.Repeat([]int32{3}, 12), 2, 0)
	z := oracle.LogZ(p)
	for _, counts := range []*counting.Numbers{counting.Bethe(g), must(counting.SampledTreeReweighted(g, 1))} {
		for tolerance := 1.0; tolerance > 1e-12; tolerance /= 10 {
			r := must(beliefPropagation(context.Background(), p, counts, Limits{Tolerance: tolerance, MaxSweeps: 1000}))
			if r.Bound == counting.Exact && math.Abs(r.LogZ-z) > 1e-7 {
				t.Errorf("%s, tolerance %g: %s %.10f, log Z is %.10f", counts.Name, tolerance, r.Bound, r.LogZ, z)
			}
			if tolerance <= provenTolerance && r.Bound != counting.Exact {
				t.Errorf("%s, tolerance %g: bound %s, want exact", counts.Name, tolerance, r.Bound)
			}
		}
	}
}

// TestSumsThatOverflow are errors, not answers, and no proof that Z = 0.
func TestSumsThatOverflow(t *testing.T) {
	const most = math.MaxFloat64
	apart := must(graph.FromEdges(2, nil, nil))
	for i, p := range []*mrf.Pairwise{
		{Graph: apart, Card: []int32{1, 1}, NodeAt: []int{0, 1, 2}, EdgeAt: []int{0}, Node: []float64{most, most}},
		{Graph: apart, Card: []int32{1, 1}, NodeAt: []int{0, 1, 2}, EdgeAt: []int{0}, Node: []float64{-most, -most}},
		{Graph: must(gen.Chain(2)), Card: []int32{2, 2}, NodeAt: []int{0, 2, 4}, EdgeAt: []int{0, 4},
			Node: []float64{0, 0, -most, -most}, Edge: []float64{-most, -most, -most, -most}},
	} {
		if r, err := beliefPropagation(t.Context(), p, counting.Convex(p.Graph), Limits{}); !errors.As(err,
			new(*bp.NumericalError)) || !strings.Contains(err.Error(), "too large") || errors.Is(err, ErrZero) {
			t.Errorf("network %d: %+v, %v", i, r, err)
		}
	}
}

// edgeMarginals returns the belief of every edge, row-major with the state of its first end slow.
func (r *fixedPoint) edgeMarginals() ([][]float64, error) {
	marginals := make([][]float64, len(r.block.Edges))
	for q, e := range r.block.Edges {
		marginals[e] = make([]float64, r.net.Card[r.net.Graph.U(e)]*r.net.Card[r.net.Graph.V(e)])
		if _, err := r.workspace.EdgeBelief(marginals[e], r.net, r.state, r.block, q); err != nil {
			return nil, err
		}
	}
	return marginals, nil
}
