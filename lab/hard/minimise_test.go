package hard

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// mostSteps bounds Levenberg and Marquardt's method, which takes 5 to 60, and fewSteps
	// where inference that does not settle may let it crawl.
	mostSteps, fewSteps = 300, 40
	// mostTrials is how often a step is tried with more damping, until rounding is to
	// blame.
	mostTrials = 24
	// negligible is a promised decrease, relative to 1 + |value|, below which there is
	// nothing to gain.
	negligible = 1e-15
)

// failed reports an error of linear algebra that leaves no solution. One about the
// condition of a matrix does not: weights that nothing depends on make it endless, and
// every step is judged by its value.
func failed(err error) bool {
	var condition mat.Condition
	return err != nil && !errors.As(err, &condition)
}

// minimise lowers the objective from z by Levenberg and Marquardt's method (Nielsen's
// rule for the damping), in place, in so many steps at most, and returns the value and the
// number of steps.
func minimise(o objective, z []float64, most int) (value float64, steps int) {
	value, g, h, scale := o.expand(z)
	n := o.size()
	mu, nu, idle := 1.0, 2.0, 0
	a := mat.NewSymDense(n, nil)
	d, trial := mat.NewVecDense(n, nil), make([]float64, n)
	for steps < most && idle < 3 && !math.IsInf(value, 1) {
		steps++
		accepted := false
		for range mostTrials {
			a.CopySym(h)
			for i := range n {
				a.SetSym(i, i, h.At(i, i)+mu*scale[i]+1e-13*math.Abs(h.At(i, i))+1e-15)
			}
			var cholesky mat.Cholesky
			if !cholesky.Factorize(a) || failed(cholesky.SolveVecTo(d, mat.NewVecDense(n, g))) {
				mu, nu = math.Max(mu*nu, 1e-12), nu*2
				continue
			}
			floats.SubTo(trial, z, d.RawVector().Data)
			var hd mat.VecDense
			hd.MulVec(h, d)
			promised := floats.Dot(g, d.RawVector().Data) - mat.Dot(d, &hd)/2
			next := o.value(trial)
			ratio, tiny := (value-next)/promised, promised <= negligible*1e4*(1+math.Abs(value))
			if tiny && next <= value+1e-12*(1+math.Abs(value)) {
				ratio = 1
			}
			if ratio > 1e-3 && promised > 0 {
				if promised <= negligible*(1+math.Abs(value)) || tiny && mu < 1e-6 {
					idle++
				} else {
					idle = 0
				}
				copy(z, trial)
				mu, nu, accepted = math.Max(1e-14, mu*math.Max(0.1, 1-math.Pow(2*ratio-1, 3))), 2, true
				break
			}
			mu, nu = math.Max(mu*nu, 1e-12), nu*2
		}
		if !accepted {
			break
		}
		value, g, h, scale = o.expand(z)
	}
	return value, steps
}
