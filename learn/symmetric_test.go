package learn

import (
	"fmt"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
)

// symmetricProblems are problems whose edge types are symmetric where they can be, by name.
func symmetricProblems(t testing.TB) map[string]Problem {
	t.Helper()
	all := problems(t)
	for name, p := range all {
		if all[name] = p.turned(t, nil); !all[name].Model.Layout.Symmetric() {
			t.Fatalf("%s: no edge type is symmetric", name)
		}
	}
	return all
}

// turned returns the problem with symmetric edge types, and such edges turned round as turn says; nil: none.
func (p Problem) turned(t testing.TB, turn func(e int32) bool) Problem {
	schema := p.Model.Schema
	schema.EdgeTypes = slices.Clone(schema.EdgeTypes)
	for b := range schema.EdgeTypes {
		schema.EdgeTypes[b].Symmetric = schema.EdgeTypes[b].U == schema.EdgeTypes[b].V
	}
	return p.rebuilt(t, schema, turn)
}

// rebuilt returns the problem with another schema and with edges of types that join one node type turned round.
func (p Problem) rebuilt(t testing.TB, schema crf.Schema, turn func(e int32) bool) Problem {
	model := must(crf.NewModel(schema))
	p.Model = model
	data := p.Data
	p.Data = nil
	for _, in := range data {
		spec := in.Spec()
		us, vs := in.Graph.Ends()
		us, vs = slices.Clone(us), slices.Clone(vs)
		for e := range us {
			if b := in.EdgeType(int32(e)); turn != nil && schema.EdgeTypes[b].U == schema.EdgeTypes[b].V && turn(int32(e)) {
				us[e], vs[e] = vs[e], us[e]
			}
		}
		spec.Graph = must(graph.FromEdges(in.Graph.NumNodes(), us, vs))
		p.Data = append(p.Data, must(crf.NewInstance(&model.Schema, spec)))
	}
	return p
}

// half says of each edge whether it is turned round.
func half(e int32) bool { return e%3 != 1 }

// TestSymmetricSlope: the gradient of symmetric weights is the slope of L on them, and both
// are what they are with edges turned round.
func TestSymmetricSlope(t *testing.T) {
	for name, p := range symmetricProblems(t) {
		for _, counting := range []string{"convex", "trw", "bethe"} {
			p := p.with(counting)
			e, other := must(NewEvaluator(p, 1)), must(NewEvaluator(p.turned(t, half), 1))
			defer e.Close()
			defer other.Close()
			w := p.randomWeights(1, 0.3)
			x, turned := settled(t, e, w), settled(t, other, w)
			if !near(x.Objective, turned.Objective, 1e-10) || !near(x.GradientNorm, turned.GradientNorm, 1e-10) || !near(norm(minus(x.Gradient, turned.Gradient)), 0, 1e-10) {
				t.Errorf("%s, %s: L = %v and ‖∇L‖ = %v, turned round %v and %v", name, counting, x.Objective, x.GradientNorm, turned.Objective, turned.GradientNorm)
			}
			p.Model.Layout.Symmetrise(w)
			checkSlope(t, name+", "+counting, w, slices.Clone(x.Gradient), func(w []float64) float64 {
				p.Model.Layout.Symmetrise(w)
				return settled(t, e, w).Objective
			})
		}
	}
}

func minus(a, b []float64) []float64 {
	d := slices.Clone(a)
	simd.AddScaled(d, b, -1)
	return d
}

// TestSymmetricHessian: the exact Hessian takes symmetric directions where the gradient goes,
// and an estimate of it is the same with edges turned round.
func TestSymmetricHessian(t *testing.T) {
	for name, p := range symmetricProblems(t) {
		for _, counting := range []string{"convex", "trw", "bethe"} {
			p := p.with(counting)
			e := must(NewEvaluator(p, 1))
			defer e.Close()
			r := e.l.newResponse()
			if r == nil {
				t.Fatalf("%s, %s: no linear response", name, counting)
			}
			w, direction := p.randomWeights(8, 0.4), p.randomWeights(7, 1)
			p.Model.Layout.Symmetrise(w)
			p.Model.Layout.Symmetrise(direction)
			product := func(e *Evaluator, measure func([]float64) error) []float64 {
				dst := make([]float64, len(w)*len(w))
				oracle.OK(t, measure(dst))
				linear.Symmetric(&e.l.model.Layout)(dst, nil)
				return lowerTimes(dst, direction)
			}
			want := hessianTimes(t, e, w, direction)
			got := product(e, func(dst []float64) error { return exactHessian(e.l, r, dst) })
			sameProducts(t, name+", "+counting, p.Model, got, want)
			if p.Model.Layout.UntiedSize > 0 {
				continue
			}
			other := must(NewEvaluator(p.turned(t, half), 1))
			defer other.Close()
			settled(t, other, w)
			estimate, turned := product(e, measureOf(e.l, 0)), product(other, measureOf(other.l, 0))
			if d := norm(minus(estimate, turned)); !(d <= 1e-7*norm(estimate)) { // messages have settled to 1e-12, with hidden labels not quite
				t.Errorf("%s, %s: the estimate changes by %v of %v with edges turned round", name, counting, d, norm(estimate))
			}
		}
	}
}

// TestTurnedEdges: with edges turned round every method takes the same trainingRun.
func TestTurnedEdges(t *testing.T) {
	for name, p := range symmetricProblems(t) {
		turned := p.turned(t, half)
		for _, method := range []Method{BBPL, InnerDual, Full, Exact, Pseudo, Piecewise} {
			s := Settings{Method: method, RelativeTolerance: 1e-9, Gap: 1e-9}
			if method == BBPL {
				s.Assign = blocksOf(3)
			}
			a, b := fit(t, p, s), fit(t, turned, s)
			what := fmt.Sprintf("%s, %s", name, method)
			if !a.Status.Stationary() {
				t.Errorf("%s: %s, %s", what, a.Status, a.Reason)
			}
			if err := a.Model.CheckSymmetry(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if d := norm(minus(a.Model.Weights, b.Model.Weights)); !near(a.Objective, b.Objective, 1e-9) || !(d <= 1e-6*(1+norm(a.Model.Weights))) {
				t.Errorf("%s: objective %.12g and %.12g, weights of norm %v differ by %v (%g and %g passes)", what, a.Objective, b.Objective, norm(a.Model.Weights), d, a.Passes, b.Passes)
			}
		}
	}
}

// TestSymmetricOptimum: symmetric weights are those of a directed problem whose data are there
// twice, once with all edges turned round.
func TestSymmetricOptimum(t *testing.T) {
	for name, p := range problems(t) {
		if p.Model.Layout.UntiedSize > 0 || instances.AnyHidden(p.Data) {
			continue // weights of an edge's own have a place for each way; hidden labels, several optima
		}
		twice := p
		all := func(int32) bool { return true }
		twice.Data = slices.Concat(p.rebuilt(t, p.Model.Schema, nil).Data, p.rebuilt(t, p.Model.Schema, all).Data)
		for _, method := range []Method{BBPL, Exact, Pseudo, Piecewise} {
			s := Settings{Method: method, RelativeTolerance: 1e-10, Gap: 1e-10}
			a, b := fit(t, p.turned(t, nil), s), fit(t, twice, s)
			if d := norm(minus(a.Model.Weights, b.Model.Weights)); !near(a.Objective, b.Objective, 1e-9) || !(d <= 1e-6*(1+norm(a.Model.Weights))) {
				t.Errorf("%s, %s: objective %.12g, %.12g of data twice; weights of norm %v differ by %v", name, method, a.Objective, b.Objective, norm(a.Model.Weights), d)
			}
		}
	}
}

// TestSymmetricStart: random weights that tell hidden states apart are symmetric, and the same with edges turned round.
func TestSymmetricStart(t *testing.T) {
	for name, p := range symmetricProblems(t) {
		if !instances.AnyHidden(p.Data) {
			continue
		}
		for _, in := range p.Data {
			for _, labels := range in.Samples() {
				for s, y := range labels {
					if int(y) < in.States(int32(s))-2 { // the last two states are left without labels
						continue
					}
					labels[s] = crf.Unobserved
				}
			}
		}
		turned := p.turned(t, half)
		u := instances.FindUnlabelled(p.Model, p.Data)
		if u == nil {
			t.Fatalf("%s: no state is interchangeable", name)
		}
		a, b := u.Begin(p.Model, p.Data, 1), instances.FindUnlabelled(turned.Model, turned.Data).Begin(turned.Model, turned.Data, 1)
		if err := a.CheckSymmetry(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if norm(a.Weights) == 0 || norm(minus(a.Weights, b.Weights)) > 1e-12 {
			t.Errorf("%s: weights of norm %v begin %v apart", name, norm(a.Weights), norm(minus(a.Weights, b.Weights)))
		}
	}
}
