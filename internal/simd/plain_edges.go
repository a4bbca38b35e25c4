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

// plainRatios computes dst[i] = x[i]/max(y[i], TooSmall).
func plainRatios(dst, x, y []float64) {
	for i := range dst {
		dst[i] = x[i] / max(y[i], TooSmall)
	}
}

// plainOuter computes f[i] table[i,j] c[j] for edges whose tables are at at, with their factors f and weights c at V,
// and for feasible beliefs adds t[i] (b[j] − Σ_i f[i] table[i,j] c[j]), t and b being those of rows and columns.
func plainOuter(dst, tables, factors, rows, columns, weights []float64, at []int, ku, kv int, feasible bool) {
	for q, place := range at {
		table, out := tables[place:][:ku*kv], dst[q*ku*kv:][:ku*kv]
		f, t := factors[q*ku:][:ku], rows[q*ku:][:ku]
		for j, c := range weights[q*kv:][:kv] {
			sum := 0.0
			for i, x := range f {
				out[i*kv+j] = x * (table[i*kv+j] * c)
				sum += x * table[i*kv+j]
			}
			if feasible {
				lack := columns[q*kv+j] - c*sum
				for i := range f {
					out[i*kv+j] += t[i] * lack
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
