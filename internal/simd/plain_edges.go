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

// plainMoments computes totals[m] = Σ_x weights[x] out[x] of the m-th message, whose part of out is given by Sum, and
// logged[m], the same with logs[x], which are 0 where the weight is.
func plainMoments(totals, logged, logs, weights, out []float64, list []Message) {
	for i := range list {
		m := &list[i]
		n := int(m.Source)
		l, w, y := logs[m.Weight:][:n], weights[m.Weight:][:n], out[m.Sum:][:n]
		total, sum := 0.0, 0.0
		for x, v := range w {
			v *= y[x]
			total += v
			sum += v * largerOrNaN(-math.MaxFloat64, l[x])
		}
		totals[i], logged[i] = total, sum
	}
}

// plainRatios computes dst[i] = x[i]/max(y[i], TooSmall).
func plainRatios(dst, x, y []float64) {
	for i := range dst {
		dst[i] = x[i] / max(y[i], TooSmall)
	}
}

// plainOuter computes f[i] table[i,j] c[j] for as many edges as dst has room for, with their factors f and weights c
// at V, and for feasible beliefs adds t[i] (b[j] − Σ_i f[i] table[i,j] c[j]), t and b being those of the ends.
func plainOuter(dst, tables, factors, ends, weights []float64, list []Message, ku, kv int, feasible bool) {
	for q := range len(dst) / (ku * kv) {
		table, out := tables[list[2*q].Table:][:ku*kv], dst[q*ku*kv:][:ku*kv]
		f, ends := factors[q*(ku+kv):][:ku], ends[q*(ku+kv):]
		for j, c := range weights[q*(ku+kv):][:kv] {
			sum := 0.0
			for i, x := range f {
				out[i*kv+j] = x * (table[i*kv+j] * c)
				sum += x * table[i*kv+j]
			}
			if feasible {
				lack := ends[ku+j] - c*sum
				for i := range f {
					out[i*kv+j] += ends[i] * lack
				}
			}
		}
	}
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
