package learn

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/simd"
)

// weighing returns the problem with class weights that differ.
func (p Problem) weighing(seed uint64) Problem {
	rng := source(seed)
	p.ClassWeights = nil
	for _, kind := range p.Model.Schema.NodeTypes {
		omega := make([]float64, len(kind.States))
		for i := range omega {
			omega[i] = 0.2 + 3*rng.Float64()
		}
		p.ClassWeights = append(p.ClassWeights, omega)
	}
	return p
}

// logSumGiven is the logarithm of the sum of exp(score) over all states with the ones that are given, by enumeration.
func logSumGiven(m *crf.Model, in *crf.Instance, given []int32) float64 {
	network := ground.Condition(m, in).Network()
	x, scores := make([]int, len(given)), []float64{}
	var visit func(s int)
	visit = func(s int) {
		if s == len(x) {
			scores = append(scores, network.LogScore(x))
			return
		}
		for i := range in.States(int32(s)) {
			if given[s] == crf.Unobserved || int(given[s]) == i {
				x[s] = i
				visit(s + 1)
			}
		}
	}
	visit(0)
	return floats.LogSumExp(scores)
}

// weightedLikelihood is the objective of Exact with class weights by its definition: for each step
// of weight from nothing on, how probable the labels above it are, given the others.
func weightedLikelihood(p Problem, weights []float64) float64 {
	m := p.Model.Clone()
	copy(m.Weights, weights)
	value, total := 0.0, 0.0
	for _, in := range p.Data {
		for _, labels := range in.Samples() {
			total += in.Weight()
			omega := func(s int) float64 { return p.ClassWeights[in.NodeType(int32(s))][labels[s]] }
			var steps []float64
			for s, y := range labels {
				if y >= 0 {
					steps = append(steps, omega(s))
				}
			}
			slices.Sort(steps)
			below := 0.0
			for _, step := range steps {
				given := slices.Clone(labels)
				for s, y := range labels {
					if y >= 0 && omega(s) >= step {
						given[s] = crf.Unobserved
					}
				}
				value += in.Weight() * (step - below) * (logSumGiven(m, in, given) - logSumGiven(m, in, labels))
				below = step
			}
		}
	}
	return value/total + p.L2/2*simd.Dot(weights, weights)
}

// TestClassWeightsByEnumeration: the exact objective with class weights is that of the
// definition, for all kinds of problems, and its gradient that of differences.
func TestClassWeightsByEnumeration(t *testing.T) {
	for name, p := range enumerable(t) {
		p := p.weighing(7)
		w := p.randomWeights(2, 0.4)
		value, gradient := localAt(p, Exact, 2, w)
		nearly(t, value, weightedLikelihood(p, w), 1e-12, "%s: L", name)
		checkSlope(t, name, w, gradient, func(w []float64) float64 { v, _ := localAt(p, Exact, 1, w); return v })
	}
}

// TestClassWeightsOfBounds: the variational objective with class weights has the gradient of
// differences, is not below that of the exact likelihood where labels are known and numbers bound, and is equal to
// it on forests; all kinds of problems.
func TestClassWeightsOfBounds(t *testing.T) {
	for name, p := range enumerable(t) {
		p := p.weighing(3)
		w := p.randomWeights(4, 0.4)
		exact := weightedLikelihood(p, w)
		for _, numbers := range []string{"convex", "trw", "bethe"} {
			if numbers == "bethe" && name != "forest" {
				continue
			}
			e := must(NewEvaluator(p.with(numbers), 1))
			defer e.l.pool.Close()
			r := settled(t, e, w)
			if !instances.AnyHidden(p.Data) && r.Objective < exact-1e-9 || name == "forest" && numbers != "convex" && !near(r.Objective, exact, 1e-9) {
				t.Errorf("%s, %s: L = %.12g, exact %.12g", name, numbers, r.Objective, exact)
			}
			if e.l.holds.convex == instances.AnyHidden(p.Data) {
				t.Errorf("%s, %s: convex %v", name, numbers, e.l.holds.convex)
			}
			if e.l.holds.certified && !near(e.l.progress.Upper, r.Objective, 1e-8) {
				t.Errorf("%s, %s: L = %.12g, its upper bound %.12g", name, numbers, r.Objective, e.l.progress.Upper)
			}
			checkSlope(t, name+", "+numbers, w, slices.Clone(r.Gradient), func(w []float64) float64 { return settled(t, e, w).Objective })
		}
	}
}

// TestClassWeightsOfMethods: all methods that infer end at the same weights as the exact one on a forest, whatever the
// blocks, and with nothing but nodes all methods are weighted logistic regression.
func TestClassWeightsOfMethods(t *testing.T) {
	s := shape{graph: must(gen.Tree(40, source(3))), schema: crf.Homogeneous(crf.NumberedStates(3), 3, 2), samples: 2, l2: 0.2}
	tree := s.build(t, 4).weighing(1)
	tree.Counting = func(g *graph.Graph) (*counting.Numbers, error) { return counting.Bethe(g), nil }
	s.graph = must(graph.FromEdges(40, nil, nil))
	apart := s.build(t, 4).weighing(1)
	for name, p := range map[string]Problem{"tree": tree, "apart": apart} {
		exact := fit(t, p, Settings{Method: Exact, RelativeTolerance: 1e-10})
		for what, settings := range map[string]Settings{
			"inner-dual": {Method: InnerDual}, "full": {Method: Full}, "bbpl": {Method: BBPL, Assign: blocksOf(4)},
			"pseudo": {Method: Pseudo}, "piecewise": {Method: Piecewise},
		} {
			if settings.Method.Local() && name == "tree" {
				continue
			}
			settings.RelativeTolerance = 1e-8
			r := fit(t, p, settings)
			if d := distance(exact.Model.Weights, r.Model.Weights) / norm(exact.Model.Weights); !r.Convex || r.Status != Converged || !near(exact.Objective, r.Objective, 1e-9) || !(d <= 1e-6) {
				t.Errorf("%s, %s: %s (%s), convex %v, L = %.12g, exact %.12g; weights %g apart", name, what, r.Status, r.Reason, r.Convex, r.Objective, exact.Objective, d)
			}
		}
		// Equal weights are so many samples.
		p.ClassWeights = [][]float64{{2, 2, 2}}
		twice := fit(t, p, Settings{Method: InnerDual, RelativeTolerance: 1e-8})
		p.ClassWeights, p.L2 = nil, p.L2/2
		once := fit(t, p, Settings{Method: InnerDual, RelativeTolerance: 1e-8})
		nearly(t, twice.Objective, 2*once.Objective, 1e-9, "%s: L with weights of 2, and twice that without", name)
	}
}

// TestClassWeightsTiltOnce: two nodes with weights of their own learn any distribution q of their
// labels p. With weights ω of state 1, and 1 of state 0, the odds of (1, 1) are ω times as large,
// however much the nodes depend on each other:
//
//	q(1,1) = ω p(1,1) / (ω p(1,1) + 1 − p(1,1)).
//
// With pseudo-likelihood each node multiplies them, so that q(x) ∝ p(x) ω^(number of ones).
func TestClassWeightsTiltOnce(t *testing.T) {
	const omega = 8.0
	for _, counts := range [][4]int{{8, 1, 1, 2}, {50, 1, 1, 1}, {9, 3, 2, 1}} { // of (0,0), (0,1), (1,0), (1,1)
		s := untiedShape(must(graph.FromEdges(2, []int32{0}, []int32{1})), 2)
		p := s.build(t, 1)
		spec := crf.InstanceSpec{Graph: p.Data[0].Graph, NodeFeat: []crf.Features{crf.Constant(2, 1)}, EdgeFeat: []crf.Features{crf.Constant(1, 1)}}
		total := 0
		for x, n := range counts {
			total += n
			for range n {
				spec.Labels = append(spec.Labels, []int32{int32(x / 2), int32(x % 2)})
			}
		}
		p.Data, p.L2, p.ClassWeights = []*crf.Instance{must(crf.NewInstance(&p.Model.Schema, spec))}, 0, [][]float64{{1, omega}}
		r := fit(t, p, Settings{Method: Exact, GradientTolerance: 1e-11})
		q := math.Exp(logSumGiven(r.Model, p.Data[0], []int32{1, 1}) - logSumGiven(r.Model, p.Data[0], []int32{-1, -1}))
		pseudo := fit(t, p, Settings{Method: Pseudo, GradientTolerance: 1e-11})
		spread := math.Exp(logSumGiven(pseudo.Model, p.Data[0], []int32{1, 1}) - logSumGiven(pseudo.Model, p.Data[0], []int32{-1, -1}))
		both := omega * omega * float64(counts[3])
		want := both / (both + float64(counts[0]) + omega*float64(counts[1]+counts[2]))
		nearly(t, spread, want, 1e-7, "labels %v, pseudo: q(1,1)", counts)
		share := float64(counts[3]) / float64(total)
		nearly(t, q, omega*share/(omega*share+1-share), 1e-7, "labels %v: q(1,1)", counts)
	}
}
