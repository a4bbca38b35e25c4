package simd

import "math"

// plainMoments computes totals[m] = Σ_x weights[x] out[x] of the m-th message, from n states, and logged[m], the same
// with logs[x], which are 0 where the weight is.
func plainMoments(totals, logged, logs, weights, out []float64, n int) {
	for i := range totals {
		total, sum := 0.0, 0.0
		for x, v := range weights[i*n:][:n] {
			v *= out[i*n+x]
			total += v
			sum += v * largerOrNaN(-math.MaxFloat64, logs[i*n+x])
		}
		totals[i], logged[i] = total, sum
	}
}

// plainOuter computes f[i] table[i,j] c[j] for edges whose tables are at at, with their factors f and weights c at V.
func plainOuter(dst, tables, factors, weights []float64, at []int, ku, kv int) {
	for q, place := range at {
		table, out := tables[place:][:ku*kv], dst[q*ku*kv:][:ku*kv]
		for i, f := range factors[q*ku:][:ku] {
			for j, c := range weights[q*kv:][:kv] {
				out[i*kv+j] = f * (table[i*kv+j] * c)
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
