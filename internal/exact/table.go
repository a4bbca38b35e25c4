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

// widen takes values into account of the least and the largest that is above zero, or logarithms above −Inf.
func widen(low, high float64, values []float64, zero float64) (least, largest float64) {
	for _, v := range values {
		if v > high {
			high = v
		}
		if v < low && v > zero {
			low = v
		}
	}
	return low, high
}

// normalize scales values so that the largest is in [1/2, 1), exactly, and logarithms so that the largest is 0; these
// become values where their span allows it. It returns the logarithm of what they were divided by.
func (t *table) normalize(logarithmic bool, low, high float64) (logScale float64) {
	if t.zero = high == 0 && !logarithmic || math.IsInf(high, -1); t.zero {
		return 0
	}
	if !logarithmic {
		_, exponent := math.Frexp(high)
		if exponent != 0 {
			scale := math.Ldexp(1, -exponent)
			for i := range t.entries {
				t.entries[i] *= scale
			}
		}
		t.logarithmic, t.span = false, math.Log(high/low)
		return float64(exponent) * math.Ln2
	}
	t.span = high - low
	t.logarithmic = t.span > safeSpan
	for i := range t.entries {
		if t.entries[i] -= high; !t.logarithmic {
			t.entries[i] = math.Exp(t.entries[i])
		}
	}
	return high
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
