package learn

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestFisherIsExactWithoutEdges: where no node answers to another P is the Hessian: at weights of zero P⁻¹ undoes a
// product with it, found by finite differences.
func TestFisherIsExactWithoutEdges(t *testing.T) {
	const allowed = 1e-5
	alone := mixedShape(t, must(graph.FromEdges(9, nil, nil)))
	alone.instances = 3
	p := alone.build(t, 5)
	e := must(NewEvaluator(p, 1))
	defer e.Close()
	size := len(p.Model.Weights)
	direction := p.randomWeights(7, 1)
	product := hessianTimes(t, e, make([]float64, size), direction)
	settled(t, e, make([]float64, size))
	rule := &auto{}
	oracle.OK(t, rule.Start(StepProblem{Model: e.l.model, L2: p.L2, Variables: e.l.variables, messages: e.l.messages,
		automatic: rule}))
	clear(rule.frequencies) // beliefs alone: uniform
	rule.takeMeanBeliefs()
	rule.apply(product, product)
	for i, x := range product {
		if !(math.Abs(x-direction[i]) <= allowed*(1+math.Abs(x))) {
			t.Errorf("P⁻¹Hv at %s is %v, v is %v", p.Model.WeightName(i), x, direction[i])
		}
	}
}

// TestKronecker: solve undoes the product with A ⊗ (diag π − ππᵀ) + l2 I, multiplied out.
func TestKronecker(t *testing.T) {
	const features, states, l2 = 3, 4, 0.2
	rng := source(5)
	second, mean := make([]float64, features*features), []float64{0.4, 0.3, 0.3, 0}
	for range 5 { // A = Σ f fᵀ
		f := []float64{rng.NormFloat64(), 100 * rng.NormFloat64(), 1}
		for i, x := range f {
			for j, y := range f {
				second[i*features+j] += x * y
			}
		}
	}
	diagonal := make([]float64, features)
	for j := range diagonal {
		diagonal[j] = second[j*features+j]
	}
	for name, a := range map[string][]float64{"a matrix": second, "a diagonal": diagonal} {
		k := must(linear.NewKronecker(features, states, slices.Clone(a), l2))
		x, product := make([]float64, features*states), make([]float64, features*states)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range features {
			for j := range features {
				of := 0.0
				switch {
				case len(a) > features:
					of = a[i*features+j]
				case i == j:
					of = a[i]
				}
				for s, p := range mean {
					for r, q := range mean {
						product[i*states+s] += of * (float64(oneIf(s == r))*p - p*q) * x[j*states+r]
					}
				}
			}
		}
		for i := range product {
			product[i] += l2 * x[i]
		}
		k.Solve(product, product, mean)
		for i, got := range product {
			if !(math.Abs(got-x[i]) <= 1e-9*(1+math.Abs(x[i]))) {
				t.Errorf("%s: x[%d] = %v, want %v", name, i, got, x[i])
			}
		}
	}
}
