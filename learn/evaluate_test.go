package learn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/mrf"
)

// TestGradientIsTheSlope compares ∇L with differences of L along random
// directions and along single weights of every type.
func TestGradientIsTheSlope(t *testing.T) {
	for name, p := range problems(t) {
		for _, counting := range []string{"convex", "trw", "bethe"} {
			t.Run(name+"/"+counting, func(t *testing.T) {
				e := must(NewEvaluator(p.with(counting), 1))
				defer e.Close()
				w := p.randomWeights(1, 0.3)
				x := settled(t, e, w)
				gradient := append([]float64(nil), e.l.sums.gradient...)
				nearly(t, x.GradientNorm, norm(gradient), 1e-12, "the norm of the gradient")
				checkSlope(t, name, w, gradient, func(w []float64) float64 { return settled(t, e, w).Objective })
			})
		}
	}
}

// checkSlope holds a gradient against differences along a few single weights and random directions.
func checkSlope(t *testing.T, name string, w, gradient []float64, at func([]float64) float64) {
	t.Helper()
	rng := source(5)
	const step = 1e-5
	for trial := range 8 {
		direction, there, back := make([]float64, len(w)), slices.Clone(w), slices.Clone(w)
		if trial < 4 {
			direction[rng.IntN(len(w))] = 1
		} else {
			for i := range direction {
				direction[i] = rng.NormFloat64() / math.Sqrt(float64(len(w)))
			}
		}
		simd.AddScaled(there, direction, step)
		simd.AddScaled(back, direction, -step)
		slope := (at(there) - at(back)) / (2 * step)
		nearly(t, simd.Dot(gradient, direction), slope, 1e-7, "%s: the slope in direction %d", name, trial)
	}
}

// near reports whether a and b are equal to within a part of their size, or of one.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

// likelihood is (8) with the exact log-partition function, by enumeration: −(1/N) Σ log p(observed labels) +
// (l2/2)‖θ̃‖², and its gradient from the exact marginals.
func likelihood(p Problem, weights []float64) (objective float64, gradient []float64) {
	m := p.Model.Clone()
	copy(m.Weights, weights)
	gradient = make([]float64, len(weights))
	samples := 0
	for _, in := range p.Data {
		samples += len(in.Samples())
	}
	for _, in := range p.Data {
		network := ground.Condition(m, in)
		for _, labels := range in.Samples() {
			objective += oracle.LogZ(network) / float64(samples)
			addMarginals(gradient, m, in, network, 1/float64(samples))
			clamped := clamp(network, labels)
			objective -= oracle.LogZ(clamped) / float64(samples)
			addMarginals(gradient, m, in, clamped, -1/float64(samples))
		}
	}
	for i, x := range weights {
		objective += p.L2 / 2 * x * x
		gradient[i] += p.L2 * x
	}
	return objective, gradient
}

// clamp forbids every state that contradicts the labels.
func clamp(p *mrf.Pairwise, labels []int32) *mrf.Pairwise {
	c := *p
	c.Node = append([]float64(nil), p.Node...)
	for s, y := range labels {
		for i := range p.Card[s] {
			if y >= 0 && i != y {
				c.Node[c.NodeAt[s]+int(i)] = math.Inf(-1)
			}
		}
	}
	return &c
}

// addMarginals adds weight · M τ for the exact marginals τ of a network.
func addMarginals(dst []float64, m *crf.Model, in *crf.Instance, p *mrf.Pairwise, weight float64) {
	nodes, edges := oracle.Marginals(p)
	add := func(span crf.Span, f *crf.Features, r int, tau []float64) {
		row := make([]float64, f.Dim())
		f.Row(row, r)
		at := span.At
		if span.Untied {
			at += r * span.Copy()
		}
		for j, x := range row {
			for i, y := range tau {
				dst[at+j*span.States+i] += weight * x * y
			}
		}
	}
	for s, tau := range nodes {
		a := in.NodeType(int32(s))
		add(m.Layout.Node[a], in.NodeFeatures(a), in.NodeRow(int32(s)), tau)
	}
	for e, tau := range edges {
		b := in.EdgeType(int32(e))
		add(m.Layout.Edge[b], in.EdgeFeatures(b), in.EdgeRow(int32(e)), tau)
	}
}

// TestLikelihoodOnTrees: on a tree bethe is exact, so L and ∇L are those of the
// likelihood of what was observed: all labels, some, or none of a sample; under hard zeros, too.
func TestLikelihoodOnTrees(t *testing.T) {
	for seed, missing := range []float64{0, 0.3, 0.7, 1} {
		tree := must(gen.Tree(8, source(uint64(seed))))
		tied, untied := mixedShape(t, tree), untiedShape(tree, 3)
		for _, s := range []*shape{&tied, &untied} {
			s.missing, s.instances, s.samples = missing, 2, 3
		}
		for name, p := range map[string]Problem{
			"mixed": tied.build(t, uint64(seed)), "untied": untied.build(t, uint64(seed)),
			"masked": maskedProblem(t, tied, uint64(seed)), "masked chain": chainOf(t, 8, 3, uint64(seed)),
		} {
			p = p.with("bethe")
			e := must(NewEvaluator(p, 1))
			for _, scale := range []float64{0, 0.5, 2} {
				w := p.randomWeights(uint64(seed), scale)
				got := settled(t, e, w)
				want, gradient := likelihood(p, w)
				where := fmt.Sprintf("%s, missing %v, weights %v", name, missing, scale)
				nearly(t, got.Objective, want, 1e-10, "%s: L", where)
				if d := distance(e.l.sums.gradient, gradient); !(d <= 1e-9*(1+norm(gradient))) {
					t.Errorf("%s: the gradient is off by %g", where, d)
				}
			}
			e.Close()
			r := fit(t, p, Settings{Method: BBPL, Assign: blocksOf(3)})
			if !r.Status.Stationary() || r.Convex == instances.AnyHidden(p.Data) {
				t.Errorf("%s, missing %v: %s, convex: %v", name, missing, r.Status, r.Convex)
			}
			if _, gradient := likelihood(p, r.Model.Weights); norm(gradient) > 1e-12+1.01*1e-5*r.FirstGradientNorm {
				t.Errorf("%s, missing %v: the exact gradient at the end is %g", name, missing, norm(gradient))
			}
		}
	}
}

// TestObjectiveAtZero: without weights every state is as likely as any other,
// and with c = 1 each node adds log k and each edge log k².
func TestObjectiveAtZero(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 3, cols: 5, states: 4, nodeDim: 2, edgeDim: 1})
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	x := must(e.At(p.Model.Weights))
	if want := (15 + 2*22) * math.Log(4); !near(x.Objective, want, 1e-13) || !x.InferenceConverged {
		t.Errorf("%+v, want the objective %.12f", x, want)
	}
}

// TestEvaluatorIsExactAtOnce: a single evaluation is as exact as any later one,
// whatever was evaluated before and however small the gradient is.
func TestEvaluatorIsExactAtOnce(t *testing.T) {
	for _, counting := range []string{"convex", "trw"} {
		p := problems(t)["instances"].with(counting)
		optimum := fit(t, p, Settings{RelativeTolerance: 1e-9}).Model.Weights
		used := must(NewEvaluator(p, 2))
		defer used.Close()
		for i, w := range [][]float64{p.randomWeights(1, 1), optimum, p.randomWeights(2, 0.3)} {
			fresh := must(NewEvaluator(p, 1))
			first, again := must(fresh.At(w)), must(used.At(w))
			want := settled(t, fresh, w)
			fresh.Close()
			for _, x := range []*Result{first, again} {
				if !x.InferenceConverged || !(x.Residual <= 1e-10) || !near(x.Objective, want.Objective, 1e-9) || !near(x.GradientNorm, want.GradientNorm, 1e-8) {
					t.Errorf("%s, weights %d: %+v at once, %+v in the end", counting, i, x, want)
				}
			}
		}
	}
}

// TestEvaluatorAfterOverflow: weights that no inference can work with leave nothing behind.
func TestEvaluatorAfterOverflow(t *testing.T) {
	p := problems(t)["mixed missing"]
	e := must(NewEvaluator(p, 2))
	defer e.Close()
	w := p.randomWeights(1, 0.5)
	want := must(e.At(w))
	refused := 0
	for _, scale := range []float64{1e150, 1e307, 1e308} {
		bad := p.randomWeights(2, 1)
		for i := range bad {
			bad[i] = math.Copysign(scale, bad[i])
		}
		if _, err := e.At(bad); err != nil {
			refused++
		}
		if x, err := e.At(w); err != nil || !near(x.Objective, want.Objective, 1e-9) || !x.InferenceConverged {
			t.Errorf("after weights of %g: %+v, %v; want %+v", scale, x, err, want)
		}
	}
	if refused == 0 {
		t.Error("no weights were refused: the test tests nothing")
	}
}

// TestEvaluatorErrors: what does not fit is said.
func TestEvaluatorErrors(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 2, cols: 2, states: 2, nodeDim: 1, edgeDim: 1})
	if _, err := NewEvaluator(Problem{Model: p.Model}, 1); err == nil {
		t.Error("a problem without data was accepted")
	}
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	if _, err := e.At(make([]float64, 3)); err == nil {
		t.Error("3 weights were accepted")
	}
	if _, err := e.At([]float64{math.NaN(), 0, 0, 0, 0, 0}); err == nil {
		t.Error("a NaN was accepted")
	}
	oracle.Equal(t, len(e.l.model.Weights), 6, "weights")
	p.Counting = func(*graph.Graph) (*counting.Numbers, error) { return counting.Convex(must(gen.Chain(3))), nil }
	if _, err := NewEvaluator(p, 1); err == nil {
		t.Error("counting numbers of another graph were accepted")
	}
}
