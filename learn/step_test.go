package learn

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
)

// path runs inner-dual learning, whose every gradient is of the whole network,
// and returns weights and gradients step by step, as the rule saw them.
type path struct {
	StepRule
	theta, gradient [][]float64
	sizes           []float64
}

func (p *path) Step(theta, gradient []float64) float64 {
	p.theta, p.gradient = append(p.theta, slices.Clone(theta)), append(p.gradient, slices.Clone(gradient))
	size := p.StepRule.Step(theta, gradient)
	p.sizes = append(p.sizes, size)
	return size
}

// TestStepFormulas compares every step of the simple rules with its formula:
// ∇L divided by the number of variables per sample.
func TestStepFormulas(t *testing.T) {
	const alpha, variables = 0.3, 16.0
	for kind, p := range problems(t) {
		for _, s := range []Settings{{Method: InnerDual}, {Assign: blocksOf(4)}} {
			for _, name := range []string{"fixed", "adagrad"} {
				rule := &path{StepRule: must(ParseStep(name + ":0.3"))}
				s := s
				s.Step, s.MaxIterations, s.RelativeTolerance = rule, 11, 1e-12
				r := fit(t, p, s)
				squares := make([]float64, len(p.Model.Weights))
				rule.theta = append(rule.theta, r.Model.Weights)
				for i, gradient := range rule.gradient {
					oracle.Equal(t, rule.sizes[i], alpha, "%s, %s: the size of step %d", kind, name, i)
					for j, g := range gradient {
						g /= variables
						squares[j] += g * g
						move := alpha * g
						if name == "adagrad" {
							move = alpha * g / (math.Sqrt(squares[j]) + adaGradFloor)
						}
						if want := rule.theta[i][j] - move; !near(rule.theta[i+1][j], want, 1e-14) {
							t.Fatalf("%s, %s: weight %d after step %d is %v, want %v", kind, name, j, i, rule.theta[i+1][j], want)
						}
					}
				}
			}
		}
	}
}

func TestParseStep(t *testing.T) {
	for _, spec := range []string{"auto", "fixed:0.5", "adagrad:0.001"} {
		if rule, err := ParseStep(spec); err != nil || rule.String() != spec {
			t.Errorf("%s: %v, %v", spec, rule, err)
		}
	}
	for _, spec := range []string{"", "fixed", "fixed:", "fixed:0", "fixed:-1", "fixed:NaN", "fixed:Inf", "adam:0.1", "auto:1"} {
		oracle.Fails(ParseStep(spec))(t, "want auto, fixed:A or adagrad:A")
	}
}

// rescaled returns the problem with every feature column j of nodes multiplied by scale[j], and column 1 replaced by a
// mixture with column 0 of the given correlation.
func rescaled(t *testing.T, p Problem, scale []float64, correlation float64) Problem {
	t.Helper()
	var data []*crf.Instance
	for _, in := range p.Data {
		f := in.NodeFeatures(0)
		x := make([]float64, f.Rows()*f.Dim())
		for r := range f.Rows() {
			row := x[r*f.Dim():][:f.Dim()]
			f.Row(row, r)
			row[1] = correlation*row[0] + math.Sqrt(1-correlation*correlation)*row[1]
			for j := range row {
				row[j] *= scale[j]
			}
		}
		data = append(data, must(crf.NewInstance(&p.Model.Schema, crf.InstanceSpec{
			Graph: in.Graph, NodeFeat: []crf.Features{must(crf.Dense(x, f.Dim()))}, EdgeFeat: []crf.Features{*in.EdgeFeatures(0)}, Labels: in.Samples(),
		})))
	}
	p.Data = data
	return p
}

// TestAutoOnBadFeatures: columns whose scales differ by a factor of a million and that are correlated do not keep the
// automatic steps from the optimum, nor make them slow.
func TestAutoOnBadFeatures(t *testing.T) {
	good := randomProblem(t, 1, problemOptions{rows: 6, cols: 6, states: 3, nodeDim: 4, edgeDim: 2, instances: 3, l2: 0.01})
	bad := rescaled(t, good, []float64{1e3, 1, 1e-3, 30}, 0.95)
	bad.L2 = 1e-4
	for _, counting := range []string{"convex", "trw"} {
		e := must(NewEvaluator(bad.with(counting), 1))
		for _, method := range []Method{Full, InnerDual, BBPL} {
			r := fit(t, bad.with(counting), Settings{Method: method, RelativeTolerance: 1e-7})
			if r.Status != Converged || r.Passes > 2000 {
				t.Errorf("%s, %s: %s after %.0f passes", counting, method, r.Reason, r.Passes)
			}
			if x := settled(t, e, r.Model.Weights); x.GradientNorm > 1.01e-7*r.FirstGradientNorm {
				t.Errorf("%s, %s: exact gradient %g, at the start %g", counting, method, x.GradientNorm, r.FirstGradientNorm)
			}
		}
		e.Close()
	}
}

// TestSeparable: without a regulariser weights of separable data grow for ever.
// No method may end with NaN, or claim an optimum that its gradient belies.
func TestSeparable(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 3, cols: 3, states: 2, nodeDim: 8, edgeDim: 2})
	for _, counting := range []string{"convex", "trw", "bethe"} {
		for name, s := range runs {
			for _, step := range stepRules() {
				s.Step, s.MaxPasses = must(ParseStep(step)), 150
				r := fit(t, p.with(counting), s)
				if r.Status == Converged && !(r.GradientNorm <= 1e-5*r.FirstGradientNorm) {
					t.Errorf("%s, %s, %s: converged with gradient %g, at the start %g", counting, name, step, r.GradientNorm, r.FirstGradientNorm)
				}
				if !(r.Objective < 9*math.Log(2)+24*math.Log(2)) {
					t.Errorf("%s, %s, %s: objective %v", counting, name, step, r.Objective)
				}
			}
		}
	}
}

// TestWithoutFeatures: types without features or elements take part in nothing.
func TestWithoutFeatures(t *testing.T) {
	s := mixedShape(t, gridGraph(t, 4, 4))
	s.schema.NodeTypes[1].Features = 0
	s.schema.EdgeTypes[2].Features = 0
	s.schema.NodeTypes = append(s.schema.NodeTypes, crf.NodeType{Name: "absent", States: crf.NumberedStates(3), Features: 2})
	s.schema.EdgeTypes = append(s.schema.EdgeTypes, crf.EdgeType{Name: "none", V: 2, Features: 2})
	p := s.build(t, 1)
	for name, s := range runs {
		r := fit(t, p, s)
		oracle.Equal(t, r.Status, Converged, "%s: %s", name, r.Reason)
		for _, span := range []crf.Span{p.Model.Layout.Node[2], p.Model.Layout.Edge[3]} {
			oracle.Equal(t, norm(r.Model.Weights[span.At:][:span.Len]), 0, "%s: weights of a type without elements", name)
		}
	}
}

// stillborn is a rule that cannot start.
type stillborn struct {
	fixedStep
	err error
}

func (s *stillborn) Start(StepProblem) error { return s.err }

// TestStepThatCannotStart: its error ends the run, and leaves no goroutine behind.
func TestStepThatCannotStart(t *testing.T) {
	before := runtime.NumGoroutine()
	broken := errors.New("broken")
	for range 10 {
		if _, err := Fit(context.Background(), problems(t)["plain"], Settings{Step: &stillborn{err: broken}, Threads: 4}); !errors.Is(err, broken) {
			t.Fatalf("error %v", err)
		}
	}
	hidden := Settings{Step: &path{StepRule: must(ParseStep("auto"))}}
	oracle.Fails(Fit(context.Background(), problems(t)["plain"], hidden))(t, "automatic steps are a part of another rule")
	if after := runtime.NumGoroutine(); after >= before+10 {
		t.Errorf("%d goroutines before and %d after", before, after)
	}
}
