package infer

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// logSum is log Σ exp of the scores of all joint states with the given labels, by enumeration.
func logSum(p *mrf.Pairwise, labels []int32) float64 {
	c := *p
	c.Node = slices.Clone(p.Node)
	for s, y := range labels {
		for i := range p.Card[s] {
			if y >= 0 && i != y {
				c.Node[c.NodeAt[s]+int(i)] = math.Inf(-1)
			}
		}
	}
	return oracle.LogZ(&c)
}

// TestLikelihood compares with enumeration: all labels or some, with some held and
// some not counted. On trees bethe is exact; convex numbers bound from above.
func TestLikelihood(t *testing.T) {
	model, trees := instances(t)
	rng := source(11)
	grid := must(graph.Grid(3, 3, graph.GridOptions{}))
	loopy := must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(3), 1, 1)))
	for i := range loopy.Weights {
		loopy.Weights[i] = rng.NormFloat64()
	}
	square := must(crf.NewInstance(&loopy.Schema, crf.InstanceSpec{Graph: grid, NodeFeat: []crf.Features{crf.Constant(9, 1)}, EdgeFeat: []crf.Features{crf.Constant(grid.NumEdges(), 1)}}))
	convex := counting.Func(nil)
	trw := func(g *graph.Graph) (*counting.Numbers, error) {
		return counting.SampledTreeReweighted(g, 1)
	}
	type setup struct {
		model    *crf.Model
		in       *crf.Instance
		counting counting.Func
		exact    bool
		limits   Limits
		solved   bool // by elimination
	}
	rough := Limits{Tolerance: 1, MaxSweeps: 1} // bounds hold at any messages
	setups := []setup{
		{loopy, square, convex, false, Limits{}, false}, {loopy, square, convex, false, rough, false},
		{loopy, square, trw, false, Limits{}, false}, {loopy, square, nil, true, Limits{}, true},
	}
	for _, in := range trees {
		setups = append(setups, setup{model, in, bethe, true, Limits{}, false}, setup{model, in.WithoutEdges(), convex,
			true, Limits{}, false})
	}
	for n, test := range setups {
		nodes := test.in.Graph.NumNodes()
		a := &Predictor{Model: test.model, Counting: test.counting, Limits: test.limits, Exact: test.solved}
		network := ground.Condition(test.model, test.in)
		for round := range 12 {
			labels, clamp, count := make([]int32, nodes), slices.Repeat([]int32{crf.Unobserved}, nodes), make([]bool, nodes)
			given, chosen := slices.Clone(clamp), make([]bool, nodes)
			for s := range labels {
				labels[s] = int32(rng.IntN(test.in.States(int32(s))))
				count[s] = round%3 != 2 || rng.IntN(2) == 0
				if round%2 == 1 && rng.IntN(3) == 0 {
					clamp[s] = labels[s]
				}
				if clamp[s] >= 0 || count[s] {
					given[s] = labels[s]
				}
				chosen[s] = clamp[s] < 0 && count[s]
			}
			held := clamp
			if round%2 == 0 {
				held = nil
			}
			b, l, err := a.Assess(context.Background(), test.in, held, [][]int32{labels, labels}, count)
			oracle.OK(t, err)
			compared := 0
			for _, ok := range chosen {
				if ok {
					compared++
				}
			}
			oracle.MustEqual(t, l.Labels, int64(2*compared), "setup %d, round %d: labels", n, round)
			if compared == 0 {
				continue
			}
			want := 2 * (logSum(network, clamp) - logSum(network, given))
			all := !slices.Contains(given, crf.Unobserved)
			switch {
			case test.exact && (l.Bound != counting.Exact || math.Abs(l.NegativeLog-want) > 1e-9*(1+want)):
				t.Errorf("setup %d, round %d: %v (%s), want %v", n, round, l.NegativeLog, l.Bound, want)
			case !test.exact && all && held == nil && (l.Bound != counting.Upper || l.NegativeLog < want-1e-9):
				t.Errorf("setup %d, round %d: %v (%s) is no upper bound on %v", n, round, l.NegativeLog, l.Bound, want)
			case !test.exact && l.Bound == counting.Upper && l.NegativeLog < want-1e-9:
				t.Errorf("setup %d, round %d: %v is below %v", n, round, l.NegativeLog, want)
			case !test.exact && !all && l.Bound != counting.None:
				t.Errorf("setup %d, round %d: the difference of bounds claims to be %s", n, round, l.Bound)
			}
			oracle.Equal(t, must(a.Predict(context.Background(), test.in, held)).Node, b.Node,
				"setup %d, round %d: other beliefs than those of Predict", n, round)
		}
	}
}

// TestLikelihoodMerges: sums, and what can be said of them.
func TestLikelihoodMerges(t *testing.T) {
	total := &Likelihood{}
	for _, step := range []struct {
		add  Likelihood
		want counting.Bound
	}{{Likelihood{}, ""}, {Likelihood{1, counting.Exact, 3}, counting.Exact}, {Likelihood{1, counting.Upper, 3}, counting.Upper}, {Likelihood{1, counting.None, 3}, counting.None}, {Likelihood{1, counting.Exact, 3}, counting.None}, {Likelihood{}, counting.None}} {
		total.Merge(&step.add)
		oracle.Equal(t, total.Bound, step.want, "bound after %+v", step.add)
	}
	oracle.Equal(t, *total, Likelihood{4, counting.None, 12}, "total")
}
