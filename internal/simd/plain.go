package simd

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// plain is the reference: every other implementation is tested against it.
var plain = implementation{
	name:           "plain",
	exp:            plainExp,
	log:            plainLog,
	dot:            plainDot,
	addScaled:      plainAddScaled,
	extrapolate:    plainExtrapolate,
	multiplyMatrix: plainMultiplyMatrix,
	scatterMatrix:  plainScatterMatrix,
	edgeBeliefs:    plainEdgeBeliefs,
	cavities:       plainCavities,
	products:       plainProducts,
	absorb:         plainAbsorb,
	totals:         plainTotals,
	settle:         plainSettle,
}

func plainExp(dst, x []float64) {
	for i, v := range x {
		if v > numeric.PlainExp {
			dst[i] = numeric.Exp(v)
			continue
		}
		dst[i] = math.Exp(v)
	}
}

func plainLog(dst, x []float64) (safe bool) {
	safe = true
	for i, v := range x {
		safe = safe && v >= TooSmall && v <= math.MaxFloat64
		dst[i] = numeric.Log(v)
	}
	return safe
}

// smallestNormal is the smallest positive number that is not denormal.
const smallestNormal = 0x1p-1022

// plainVectorTable takes four rows at a time, so that out is loaded and stored a quarter as often.
func plainVectorTable(out, weight, values []float64) {
	k := len(out)
	clear(out)
	i := 0
	for ; i+4 <= len(weight); i += 4 {
		r0, r1 := values[i*k:][:k], values[(i+1)*k:][:k]
		r2, r3 := values[(i+2)*k:][:k], values[(i+3)*k:][:k]
		a0, a1, a2, a3 := weight[i], weight[i+1], weight[i+2], weight[i+3]
		for j := range out {
			out[j] += (a0*r0[j] + a1*r1[j]) + (a2*r2[j] + a3*r3[j])
		}
	}
	for ; i < len(weight); i++ {
		plainAddScaled(out, values[i*k:][:k], weight[i])
	}
}

func plainTableVector(out, weight, values []float64) {
	k := len(weight)
	for i := range out {
		row := values[i*k:][:k]
		even, odd := 0.0, 0.0
		j := 0
		for ; j+2 <= k; j += 2 {
			even += row[j] * weight[j]
			odd += row[j+1] * weight[j+1]
		}
		if j < k {
			even += row[j] * weight[j]
		}
		out[i] = even + odd
	}
}

// plainDot keeps eight sums, so that no addition waits for the one before.
func plainDot(x, y []float64) (sum float64) {
	var sums [8]float64
	i := 0
	for ; i+len(sums) <= len(x); i += len(sums) {
		a, b := x[i:i+8:i+8], y[i:i+8:i+8]
		for j := range sums {
			sums[j] += a[j] * b[j]
		}
	}
	for ; i < len(x); i++ {
		sum += x[i] * y[i]
	}
	for _, s := range sums {
		sum += s
	}
	return sum
}

func plainEntropy(x []float64) (sum float64) {
	for _, v := range x {
		sum -= v * math.Log(max(v, smallestNormal))
	}
	return sum
}

func plainAddScaled(dst, x []float64, a float64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += a * x[i]
	}
}

func plainExtrapolate(x, old []float64, a float64) {
	old = old[:len(x)]
	for i, v := range x {
		if d := v - old[i]; d-d == 0 {
			x[i] += a * d
		}
		old[i] = v
	}
}

func plainScatterRows(w, f, t []float64) {
	k := len(t)
	for j, a := range f {
		plainAddScaled(w[j*k:][:k], t, a)
	}
}

// plainCavity computes dst = belief − message, −Inf where either is.
func plainCavity(dst, belief, message []float64) {
	for i, b := range belief {
		dst[i] = b - message[i]
		if b < -math.MaxFloat64 || message[i] < -math.MaxFloat64 {
			dst[i] = negativeInfinity
		}
	}
}

func subtract(dst []float64, a float64) {
	for i := range dst {
		dst[i] -= a
	}
}
