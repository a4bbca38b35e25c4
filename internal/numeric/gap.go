package numeric

import "math"

// Gap returns a primal–dual gap without the sign that rounding alone gives it: a gap
// is not negative, and its two sides are sums as large as value.
func Gap(gap, value float64) float64 {
	const rounding = 1e-12
	if gap < 0 && gap >= -rounding*math.Abs(value) {
		return 0
	}
	return gap
}
