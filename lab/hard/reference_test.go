package hard

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Reference is where the independent solver ends.
type Reference struct {
	Objective float64
	Gradient  float64
	// Bound is what L can be below Objective at most, where l2 > 0 and L is convex:
	// ‖∇L‖²/(2 l2), as L − (l2/2)‖θ̃‖² is convex. Negative: there is none.
	Bound float64
	// Joint: weights and messages were moved together, before the weights alone.
	Joint bool
	Steps int

	weights []float64
}

// noBound stands for a bound that does not exist, in files that have no NaN.
const noBound = -1

// Solve minimises L, from the weights of zero.
func (p *Problem) Solve() *Reference {
	f := p.flat
	r := &Reference{weights: make([]float64, f.weights), Joint: f.dual}
	if f.dual {
		z := make([]float64, newJoint(f).size())
		_, r.Steps = minimise(newJoint(f), z, mostSteps)
		copy(r.weights, z[len(z)-f.weights:])
	}
	r.finish(f)
	return r
}

// finish goes on from r.weights with the weights alone, and says what was reached.
func (r *Reference) finish(f *flat) {
	l, most := newLoss(f), fewSteps
	if f.convex {
		most = mostSteps
	}
	_, steps := minimise(l, r.weights, most)
	r.Steps += steps
	r.Objective = l.value(r.weights)
	g := floats.Norm(l.gradient(r.weights), 2)
	r.Gradient, r.Bound = g, f.bound(g)
}

// bound returns what is left to gain at most where the gradient has a norm.
func (f *flat) bound(gradient float64) float64 {
	if !f.convex || f.l2 == 0 {
		return noBound
	}
	return gradient * gradient / (2 * f.l2)
}

// shaken is how far weights are moved before a solver goes on from them, in units in
// which the curvature is about 1.
const shaken = 1e-3

// descend minimises L from near some weights: it leaves saddles, and plateaus that are
// no wider than the shaking.
func (p *Problem) descend(from []float64, rng *rand.Rand, shake float64) *Reference {
	r := &Reference{weights: slices.Clone(from)}
	l := newLoss(p.flat)
	_, _, _, scale := l.expand(from)
	for j := range r.weights {
		r.weights[j] += shake * rng.NormFloat64() / math.Sqrt(math.Max(scale[j], 1e-2))
	}
	r.finish(p.flat)
	return r
}

// point is a set of weights, judged from scratch.
type point struct {
	objective, gradient float64
	settled             bool
	// noise is what rounding leaves unknown of the objective.
	noise float64
}

// at infers from scratch at weights. near, unless it is NaN, is the objective that is
// looked for: inference that may end in several ways begins in several.
func (p *Problem) at(weights []float64, near float64) point {
	l := newLoss(p.flat)
	x := l.point(weights)
	rng := source(p.Number, 3)
	const begins = 8
	for try := 0; try < begins && !math.IsNaN(near) && !x.agrees(near); try++ {
		for _, f := range l.units {
			for i := range f.lambda {
				f.lambda[i] = float64(1+try) * rng.NormFloat64()
			}
		}
		if y := l.point(weights); y.settled && math.Abs(y.objective-near) < math.Abs(x.objective-near) {
			x = y
		}
	}
	return x
}

func (l *loss) point(weights []float64) point {
	value := l.value(weights)
	x := point{objective: value, gradient: floats.Norm(l.gradient(weights), 2), settled: !math.IsInf(value, 1)}
	// A message is a sum of potentials along paths: some hundred roundings of the largest.
	const roundings = 1e-14
	for _, f := range l.units {
		for _, theta := range f.theta {
			if !math.IsInf(theta, -1) {
				x.noise = math.Max(x.noise, roundings*math.Abs(theta))
			}
		}
	}
	return x
}

// agrees reports whether the objective is one, as far as the suite asks and rounding lets
// it be known.
func (x *point) agrees(objective float64) bool {
	return math.Abs(x.objective-objective) <= Accuracy*(1+math.Abs(objective))+x.noise
}
