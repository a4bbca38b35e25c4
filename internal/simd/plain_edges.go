package simd

import "math"

// Absorb puts a new log-message in the place of the old one and adds it to the
// sum of which a belief is made:
//
//	new[i] = message[i], or (1−damping)·message[i] + damping·old[i] where the two
//	         differ and damping is not 0;
//	sum[i] += rho·new[i];   old[i] = new[i].
//
// It returns the largest |new[i] − old[i]| over the entries that differ, 0 if
// none does: −Inf does not differ from −Inf, a NaN differs from everything and
// makes the residual a NaN. rho > 0. len(message) and len(sum) ≥ len(old); the
// three are distinct.
func Absorb(old, message, sum []float64, rho, damping float64) (residual float64) {
	message, sum = message[:len(old)], sum[:len(old)]
	for i, before := range old {
		after := message[i]
		if (damping < 0 || damping > 0) && after != before {
			after = (1-damping)*after + damping*before
		}
		if after != before {
			if change := math.Abs(after - before); change > residual || change != change {
				residual = change
			}
		}
		old[i] = after
		sum[i] += rho * after
	}
	return residual
}

// plainEdgeBelief is EdgeBeliefs of one edge. It sums over the table as the vector kernels do: with the cavities
// l and r, shifted to a largest entry of 0, a = e^l and c = e^r,
//
//	X[j] = Σ_i a[i] values[i,j]        U[j] = Σ_i a[i] l[i] values[i,j]
//
// give the total Σ_j c[j] X[j], and the product as Σ_j (c[j] U[j] + c[j] r[j] X[j])
// / total, to which the shifts belong.
func plainEdgeBelief(dst, beliefU, messageU, beliefV, messageV, values []float64) (logZ, product float64, safe bool) {
	var scratch [4 * cavityScratch]float64
	a, left, shiftLeft := plainSide(scratch[:cavityScratch], scratch[cavityScratch:][:cavityScratch], beliefU, messageU)
	c, right, shiftRight := plainSide(scratch[2*cavityScratch:][:cavityScratch], scratch[3*cavityScratch:], beliefV,
		messageV)
	return plainPair(dst, a, left, c, right, values, shiftLeft+shiftRight)
}

// plainSide returns the weights e^l of a cavity l, shifted to a largest entry of
// 0, the products l e^l, 0 for forbidden states, and the shift. Both are in the
// scratch where they fit.
func plainSide(scratch, second, belief, message []float64) (weight, product []float64, shift float64) {
	weight = plainCavity(scratch, belief, message)
	if len(weight) > len(second) {
		second = make([]float64, len(weight))
	}
	shift = Max(weight)
	for i, l := range weight {
		l -= shift
		weight[i] = math.Exp(l)
		if second[i] = weight[i] * l; l < -math.MaxFloat64 {
			second[i] = 0
		}
	}
	return weight, second[:len(weight)], shift
}

// plainPair is the part of plainEdgeBelief after the exponentials: weights a and
// c, products left = a·l and right = c·r.
func plainPair(dst, a, left, c, right, values []float64, shift float64) (logZ, product float64, safe bool) {
	k := len(c)
	total, weighted := 0.0, 0.0
	for i, x := range a {
		row := values[i*k:][:k]
		sum, other := 0.0, 0.0
		for j, v := range row {
			sum += v * c[j]
			other += v * right[j]
		}
		total += x * sum
		weighted += left[i]*sum + x*other
	}
	if !(total >= TooSmall && total <= math.MaxFloat64) {
		return 0, 0, false
	}
	scale := 1 / total
	for i, x := range a {
		row, out := values[i*k:][:k], dst[i*k:][:k]
		for j, v := range row {
			out[j] = v * (c[j] * scale) * x
		}
	}
	return math.Log(total) + shift, weighted*scale + shift, true
}

func plainMultiplyMatrix(dst, f, w []float64, rows, d, k int) {
	for r := range rows {
		plainVectorTable(dst[r*k:][:k], f[r*d:][:d], w)
	}
}

func plainScatterMatrix(w, f, t []float64, rows, d, k int) {
	for r := range rows {
		plainScatterRows(w, f[r*d:][:d], t[r*k:][:k])
	}
}
