package exact

import "math"

// safeSpan is the largest ratio, as a natural logarithm, between positive numbers of a linear product: e^±600 is well
// inside float64's normal range, so such a product loses nothing.
const safeSpan = 600

// table is a non-negative function on the joint states of a scope. Its true
// value is exp(shift) times what the entries say.
type table struct {
	size    int // how many entries there is memory for; a dry run has none
	entries []float64
	// logarithmic: entries are natural logarithms, at most 0, -Inf for zero.
	// Otherwise they are values of at most 1, some in [1/2, 1].
	logarithmic bool
	shift       float64
	span        float64 // log of the largest over the smallest positive entry
	zero        bool    // all entries are zero; nothing else is meaningful then
}

// extent is the range of a table's positive entries. In logarithmic tables the bounds are logarithms.
type extent struct{ low, high float64 }

// newExtent is the range of nothing.
func newExtent(logarithmic bool) extent {
	if logarithmic {
		return extent{math.Inf(1), math.Inf(-1)}
	}
	return extent{math.Inf(1), 0}
}

// addLinear takes values into account.
func (x *extent) addLinear(values []float64) {
	low, high := x.low, x.high
	for _, v := range values {
		if v > high {
			high = v
		}
		if v < low && v > 0 {
			low = v
		}
	}
	x.low, x.high = low, high
}

// addLog takes logarithms into account.
func (x *extent) addLog(values []float64) {
	for _, v := range values {
		if v > x.high {
			x.high = v
		}
		if v < x.low && !math.IsInf(v, -1) {
			x.low = v
		}
	}
}

// normalizeLinear scales linear entries of extent x so that the largest is in
// [1/2, 1), exactly, and returns the logarithm of what they were divided by.
func (t *table) normalizeLinear(x extent) (logScale float64) {
	if x.high == 0 {
		t.zero = true
		return 0
	}
	_, exponent := math.Frexp(x.high)
	if exponent != 0 {
		scale := math.Ldexp(1, -exponent)
		for i := range t.entries {
			t.entries[i] *= scale
		}
	}
	t.logarithmic = false
	t.span = math.Log(x.high / x.low)
	return float64(exponent) * math.Ln2
}

// normalizeLog subtracts the maximum from logarithmic entries of extent x and
// returns it. Where the span allows it the entries become linear.
func (t *table) normalizeLog(x extent) (logScale float64) {
	if math.IsInf(x.high, -1) {
		t.zero = true
		return 0
	}
	t.logarithmic = true
	t.span = x.high - x.low
	for i := range t.entries {
		t.entries[i] -= x.high
	}
	if t.span <= safeSpan {
		t.logarithmic = false
		for i, v := range t.entries {
			t.entries[i] = math.Exp(v)
		}
	}
	return x.high
}

// toLog makes the entries logarithms.
func (t *table) toLog() {
	if t.logarithmic {
		return
	}
	t.logarithmic = true
	for i, v := range t.entries {
		t.entries[i] = math.Log(v)
	}
}

// logEntry returns the logarithm of entry k, without the shift.
func (t *table) logEntry(k int) float64 {
	if t.logarithmic {
		return t.entries[k]
	}
	return math.Log(t.entries[k])
}
