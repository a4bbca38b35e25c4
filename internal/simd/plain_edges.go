package simd

import "math"

// plainEdgeBeliefs computes totals[q] = Z = Σ_ij c[i] table[i,j] d[j] of edges whose tables are at at, their beliefs
// dst[i,j] = c[i] table[i,j] d[j] / Z, and products[q] = Σ_ij dst[i,j] (log c[i] + log d[j]). Of weights and logs those
// of the states j of all edges come first, kv each, and then those of i. A logarithm of −Inf adds nothing.
func plainEdgeBeliefs(dst, totals, products, tables, weights, logs []float64, at []int, ku, kv int) {
	half := len(at) * kv
	for q, place := range at {
		table, out := tables[place:][:ku*kv], dst[q*ku*kv:][:ku*kv]
		c, d, logC, logD := weights[half+q*ku:][:ku], weights[q*kv:][:kv], logs[half+q*ku:], logs[q*kv:]
		total, product := 0.0, 0.0
		for i, x := range c {
			for j, y := range d {
				out[i*kv+j] = x * table[i*kv+j] * y
				total += out[i*kv+j]
			}
		}
		for i := range c {
			left := largerOrNaN(-math.MaxFloat64, logC[i])
			for j := range d {
				out[i*kv+j] /= total
				product += out[i*kv+j]*left + out[i*kv+j]*largerOrNaN(-math.MaxFloat64, logD[j])
			}
		}
		totals[q], products[q] = total, product
	}
}

func plainMultiplyMatrix(dst, f, w []float64, rows, d, k int, a float64) (done bool) {
	for r := range rows {
		plainVectorTable(dst[r*k:][:k], f[r*d:][:d], w)
	}
	return a == 0 || plainExponentials(dst[:rows*k], a)
}

func plainScatterMatrix(w, f, t []float64, rows, d, k int) {
	for r := range rows {
		plainScatterRows(w, f[r*d:][:d], t[r*k:][:k])
	}
}
