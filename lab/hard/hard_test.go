package hard

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// somewhere returns weights at which potentials are a few nats.
func (p *Problem) somewhere(part uint64) []float64 {
	_, _, _, scale := newLoss(p.flat).expand(make([]float64, p.flat.weights))
	rng, w := source(p.Number, part), make([]float64, p.flat.weights)
	for j := range w {
		w[j] = rng.NormFloat64() / math.Sqrt(math.Max(scale[j], 1e-2))
	}
	return w
}

// TestProblems: the suite has what it promises, and a number is always the same problem.
func TestProblems(t *testing.T) {
	seen := map[any]int{}
	for i := range Problems {
		s := SpecOf(i)
		for _, x := range []any{s.Graph, s.Features, s.Edges, s.Labels, s.Counting, s.Method, s.L2} {
			seen[x]++
		}
		for _, x := range []struct {
			name string
			on   bool
		}{
			{"hidden", s.Hidden > 0}, {"masked", s.Masked}, {"untied", s.Untied}, {"random order", s.Random},
			{"samples", s.Samples > 1}, {"instances", s.Instances > 1}, {"types", len(s.States) > 1},
			{"12 states", slices.Max(s.States) == 12}, {"2 states", slices.Min(s.States) == 2},
		} {
			if x.on {
				seen[x.name]++
			}
		}
	}
	for _, x := range []any{"grid", "ba", "tree", "complete", "cycle", "star", "disconnected", "scaled", "correlated",
		"correlated and scaled", "constant", "binned", "none", "rare",
		"convex", "trw", "bethe", "file", "bent file", learn.BBPL, learn.InnerDual, learn.Full, 0.0, 1e-6, 10.0, "hidden",
		"masked", "untied", "random order", "samples", "instances", "types", "12 states", "2 states"} {
		if seen[x] < 4 {
			t.Errorf("%v: only %d problems", x, seen[x])
		}
	}
	for _, i := range []int{4, 28, 77} {
		a, b := must(Draw(i)), must(Draw(i))
		if !slices.Equal(a.flat.units[0].labels, b.flat.units[0].labels) || !slices.Equal(a.somewhere(9), b.somewhere(9)) {
			t.Errorf("problem %d is drawn in two ways", i)
		}
	}
}

// TestLossIsThatOfLearn: objective and gradient at random weights are those of package
// learn, which shares no code with this one.
func TestLossIsThatOfLearn(t *testing.T) {
	for i := 0; i < Problems; i += 11 {
		p := must(Draw(i))
		if p.Counting == "bent file" || p.Counting == "bethe" && !p.flat.convex {
			continue // inference may end in several ways
		}
		w := p.somewhere(9)
		l := newLoss(p.flat)
		value := l.value(w)
		e := must(learn.NewEvaluator(p.Learn, 1))
		x := must(e.At(w))
		g := l.gradient(w)
		if d := floats.Distance(g, x.Gradient, 2); math.Abs(value-x.Objective) > 1e-8*(1+math.Abs(value)) ||
			d > 1e-7*(1+floats.Norm(g, 2)) {
			t.Errorf("problem %d: %.12g and %.12g, gradients %g apart; settled: %v", i, value, x.Objective, d,
				x.InferenceConverged)
		}
		e.Close()
	}
}

// exactLoss is the negative mean log-likelihood by enumeration, with the regulariser.
func exactLoss(p *Problem, w []float64) float64 {
	m := p.Learn.Model.Clone()
	copy(m.Weights, w)
	sum, samples := 0.0, 0
	for _, in := range p.Learn.Data {
		for _, labels := range in.Samples() {
			free, held := ground.Condition(m, in), ground.Condition(m, in)
			for s, y := range labels {
				for x := range in.States(int32(s)) {
					if y != crf.Unobserved && x != int(y) {
						held.Node[held.NodeAt[s]+x] = math.Inf(-1)
					}
				}
			}
			sum += oracle.LogZ(free) - oracle.LogZ(held)
			samples++
		}
	}
	return sum/float64(samples) + p.flat.l2/2*floats.Dot(w, w)
}

// TestForestsAreExact: on forests the tree-reweighted and Bethe losses are those of the
// exact likelihood, which enumeration gives.
func TestForestsAreExact(t *testing.T) {
	tried, hidden, masked := 0, 0, 0
	for i := 0; i < Problems && tried < 25; i++ {
		s := SpecOf(i)
		if s.Counting != "trw" && s.Counting != "bethe" || math.Pow(float64(slices.Max(s.States)), float64(s.Nodes)) > 1<<13 {
			continue
		}
		p := must(Draw(i))
		if !p.Learn.Data[0].Graph.IsForest() {
			continue
		}
		tried++
		if s.Hidden > 0 {
			hidden++
		}
		if s.Masked {
			masked++
		}
		w := p.somewhere(9)
		if got, want := newLoss(p.flat).value(w), exactLoss(p, w); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("problem %d (%v): %.12g, enumeration says %.12g", i, s, got, want)
		}
	}
	if tried < 10 || hidden < 1 || masked < 1 {
		t.Errorf("%d forests, %d with missing labels, %d masked", tried, hidden, masked)
	}
}

// checkDerivatives compares gradient and Hessian along a direction with differences.
func checkDerivatives(t *testing.T, name string, o objective, z, direction []float64) {
	t.Helper()
	const h = 1e-4
	value := func(step float64) (float64, []float64) {
		at := slices.Clone(z)
		floats.AddScaled(at, step, direction)
		o.value(at)
		v, g, _, _ := o.expand(at)
		return v, slices.Clone(g)
	}
	low, before := value(-h)
	high, after := value(h)
	_, g, hessian, scale := o.expand(z)
	slope := floats.Dot(g, direction)
	if want := (high - low) / (2 * h); math.Abs(slope-want) > 1e-5*(1+math.Abs(slope)) {
		t.Errorf("%s: slope %g, differences say %g", name, slope, want)
	}
	product, want := make([]float64, len(z)), make([]float64, len(z))
	for i := range z {
		for j := range z {
			product[i] += hessian.At(i, j) * direction[j]
		}
		want[i] = (after[i] - before[i]) / (2 * h)
		if scale[i] < 0 {
			t.Errorf("%s: a negative scale", name)
		}
	}
	if d := floats.Distance(product, want, 2); d > 1e-4*(1e-3+floats.Norm(want, 2)) {
		t.Errorf("%s: the product with the Hessian is off by %g of %g", name, d, floats.Norm(want, 2))
	}
}

// TestDerivatives: those of L, by linear response, and of F are what differences say.
func TestDerivatives(t *testing.T) {
	kinds := map[string]int{}
	for i := 0; i < Problems; i += 7 {
		p := must(Draw(i))
		key := p.Counting
		if p.Hidden > 0 {
			key += ", hidden"
		}
		if kinds[key]++; kinds[key] > 2 || p.flat.weights > 150 || newJoint(p.flat).size() > 450 {
			continue
		}
		w := p.somewhere(9)
		floats.Scale(0.3, w)
		direction := p.somewhere(10)
		if math.IsInf(newLoss(p.flat).value(w), 1) {
			continue
		}
		checkDerivatives(t, p.String(), newLoss(p.flat), w, direction)
		if !p.flat.dual {
			continue
		}
		j := newJoint(p.flat)
		rng, z, d := source(i, 11), make([]float64, j.messages), make([]float64, j.messages)
		for k := range z {
			z[k], d[k] = rng.NormFloat64(), rng.NormFloat64()
		}
		checkDerivatives(t, "joint: "+p.String(), j, append(z, w...), append(d, direction...))
	}
	if len(kinds) < 8 {
		t.Errorf("only %v", kinds)
	}
}

// lowerBound is what no weights go below: H_c(τ) − ‖Mτ − w̄‖²/(2 l2) for any locally
// consistent τ, here that of inference at w.
func (p *Problem) lowerBound(w []float64) float64 {
	l := newLoss(p.flat)
	l.value(w)
	entropy := 0.0
	residual := l.gradient(w)
	floats.AddScaled(residual, -p.flat.l2, w)
	for _, f := range l.units {
		entropy += f.u.weight * f.value()
		for i, tau := range f.tau {
			if tau != f.u.labels[i] {
				entropy -= f.u.weight * (tau - f.u.labels[i]) * f.theta[i]
			}
		}
	}
	return entropy - floats.Dot(residual, residual)/(2*p.flat.l2)
}

// TestReference: convex problems are solved to a proof, by weights and messages together
// and by weights alone; the bound at other weights is below, and F above L.
func TestReference(t *testing.T) {
	tried := 0
	for i := 0; i < Problems && tried < 12; i += 5 {
		p := must(Draw(i))
		if p.kind() != Proof || newJoint(p.flat).size() > 300 {
			continue
		}
		tried++
		r := p.Solve()
		slack := 1e-9 * (1 + math.Abs(r.Objective))
		if !(r.Bound <= slack) {
			t.Errorf("problem %d: %g is left to gain", i, r.Bound)
		}
		if low := p.lowerBound(r.weights); math.Abs(low-r.Objective) > slack {
			t.Errorf("problem %d: L = %.12g, but no less than %.12g is possible", i, r.Objective, low)
		}
		alone := &Reference{weights: make([]float64, p.flat.weights)}
		if alone.finish(p.flat); math.Abs(alone.Objective-r.Objective) > slack {
			t.Errorf("problem %d: %.12g, and by the weights alone %.12g", i, r.Objective, alone.Objective)
		}
		w := p.somewhere(9)
		value := newLoss(p.flat).value(w)
		if low := p.lowerBound(w); low > r.Objective+slack || value < r.Objective-slack {
			t.Errorf("problem %d: bounds %.12g and %.12g of %.12g", i, low, value, r.Objective)
		}
		if j := newJoint(p.flat); p.flat.dual {
			if f := j.value(append(make([]float64, j.messages), w...)); f < value-slack {
				t.Errorf("problem %d: F is %.12g, below L, which is %.12g", i, f, value)
			}
		}
	}
	if tried < 12 {
		t.Errorf("only %d problems", tried)
	}
}

// TestJudge: what is wrong with a run is found.
func TestJudge(t *testing.T) {
	p := must(Draw(0))
	for i := 1; p.kind() != Proof || p.L2 < 0.1 || p.Features == "none"; i++ {
		p = must(Draw(i))
	}
	best := p.Solve()
	model := p.Learn.Model.Clone()
	judged := func(change func(r *learn.Result)) *Outcome {
		copy(model.Weights, best.weights)
		r := &learn.Result{Model: model, Status: learn.Converged, Objective: best.Objective, GradientNorm: best.Gradient,
			FirstGradientNorm: 1, Convex: true}
		change(r)
		return must(p.Judge(context.Background(), &Trial{result: r}, best))
	}
	if o := judged(func(*learn.Result) {}); !o.Solved() || !o.Claimed || o.False != "" {
		t.Errorf("the optimum: %+v", o)
	}
	for name, change := range map[string]func(r *learn.Result){
		"other objective": func(r *learn.Result) { r.Objective += 1e-4 * (1 + math.Abs(r.Objective)) },
		"far away":        func(r *learn.Result) { copy(r.Model.Weights, p.somewhere(9)) },
		"a weight":        func(r *learn.Result) { r.Model.Weights[0] += 1 },
	} {
		if o := judged(change); o.Solved() || o.False == "" {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := judged(func(r *learn.Result) { r.Status = learn.PassLimit }); o.Solved() || o.False != "" || o.Claimed {
		t.Errorf("not proved: %+v", o)
	}
	if o := judged(func(r *learn.Result) { r.Status = learn.PassLimit; floats.Scale(-10, r.Model.Weights) }); !o.Rose {
		t.Errorf("above the start: %+v", o)
	}
}
