package learn

import "math"

// lineSearch looks for a step along a descent direction of a convex function φ. Of
// such a function the slope tells on which side of the minimum a step is, so that
// the search is a bracketing of the zero of φ'.
type lineSearch struct {
	value, slope float64 // φ(0) and φ'(0) < 0
	along        func(t float64) (value, slope float64, err error)
}

const (
	// flatEnough is the part of |φ'(0)| that the slope may keep (the curvature
	// condition of Wolfe). L-BFGS does best with loose searches.
	flatEnough = 0.9
	// enoughDecrease is the part of the decrease promised by φ'(0) that is wanted
	// of a step that goes beyond the minimum (the condition of Armijo).
	enoughDecrease = 1e-4
	// roundingRise is the relative rise of φ that may be rounding alone.
	roundingRise = 1e-14
	// longestGrowth bounds how much longer than the step before the next one is
	// while the minimum is not bracketed.
	longestGrowth = 10.0
	// innermost keeps a step within a bracket away from its ends.
	innermost = 0.1
	// mostTrials ends a search that rounding keeps from succeeding.
	mostTrials = 60
)

// run returns the first step found that meets the conditions above, and φ there:
// the last that along was called with. The step is 0 where there is none.
func (s *lineSearch) run(first float64) (step, value float64, err error) {
	if !(s.slope < 0) {
		return 0, s.value, nil
	}
	lo, loSlope := 0.0, s.slope
	hi, hiSlope := math.Inf(1), math.NaN()
	t := first
	for range mostTrials {
		value, slope, err := s.along(t)
		if err != nil {
			return 0, 0, err
		}
		finite := !math.IsNaN(value) && !math.IsInf(value, 0) && !math.IsNaN(slope) && !math.IsInf(slope, 0)
		switch {
		case !finite:
			hi, hiSlope = t, math.NaN()
		case slope < flatEnough*s.slope:
			lo, loSlope = t, slope
		case slope <= 0 && value <= s.value+roundingRise*math.Abs(s.value),
			slope <= -flatEnough*s.slope && value <= s.value+enoughDecrease*t*s.slope:
			return t, value, nil
		default:
			hi, hiSlope = t, slope
		}
		if t = between(lo, loSlope, hi, hiSlope, first); t <= lo || t >= hi {
			break // nothing is left between the two
		}
	}
	return 0, s.value, nil
}

// between returns the next step to try: where the line through the slopes at lo
// and hi is zero, or farther out where there is no hi yet.
func between(lo, loSlope, hi, hiSlope, first float64) float64 {
	if math.IsInf(hi, 1) {
		return max(first, lo) * longestGrowth
	}
	t := (lo + hi) / 2
	if !math.IsNaN(hiSlope) {
		t = lo + (hi-lo)*loSlope/(loSlope-hiSlope)
	}
	return min(max(t, lo+innermost*(hi-lo)), hi-innermost*(hi-lo))
}
