package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

func TestMatrix(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(29, 30))
		for rows := range 15 {
			for _, d := range []int{0, 1, 2, 3, 5, 7, 10, 20} {
				for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 21, 24, 27, 31, 32, 33, 37, 64, 65, 70} {
					what := fmt.Sprintf("%d rows, %d features, %d columns", rows, d, k)
					f, checkF := guarded(t, rows*d, r.IntN(8))
					w, checkW := guarded(t, d*k, r.IntN(8))
					x, checkX := guarded(t, rows*k, r.IntN(8))
					fill(f, r, 1)
					fill(w, r, 1)
					fill(x, r, 1)
					want := make([]float64, d*k)
					copy(want, w)
					longhandScatter(want, f, x, rows, d, k)
					with.multiplyMatrix(x, f, w, rows, d, k, 0)
					product := make([]float64, rows*k)
					longhandMultiply(product, f, w, rows, d, k)
					compare(t, "multiplyMatrix "+what, x, product, 1e-13, 1e-13)
					oracle.MustEqual(t, with.multiplyMatrix(x, f, w, rows, d, k, -0.5), true, "%s: exponentials", what)
					for i, y := range product {
						x[i] = -2 * math.Log(x[i]) // which hardly makes an error larger
						oracle.MustEqual(t, math.Abs(x[i]-y) <= 1e-13+1e-13*math.Abs(y), true, "%s: exponential %d", what, i)
					}

					old := make([]float64, d*k)
					copy(old, w)
					copy(x, product)
					longhandScatter(old, f, x, rows, d, k)
					with.scatterMatrix(w, f, x, rows, d, k)
					compare(t, "scatterMatrix "+what, w, old, 1e-13, 1e-12)
					for _, check := range []func(string){checkF, checkW, checkX} {
						check(what)
					}
				}
			}
		}
	})
}

func longhandMultiply(dst, f, w []float64, rows, d, k int) {
	for r := range rows {
		for x := range k {
			dst[r*k+x] = 0
			for j := range d {
				dst[r*k+x] += f[r*d+j] * w[j*k+x]
			}
		}
	}
}

func longhandScatter(w, f, t []float64, rows, d, k int) {
	for r := range rows {
		for x := range k {
			for j := range d {
				w[j*k+x] += f[r*d+j] * t[r*k+x]
			}
		}
	}
}

// TestMatrixRowsAlone: a row of the product has the same bits alone and among
// others, and so has a row of the scattered gradient.
func TestMatrixRowsAlone(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		const d = 7
		for _, k := range []int{3, 8, 21, 64, 70} {
			const rows = 29
			f, w, all := random(rows*d, 1), random(d*k, 1), make([]float64, rows*k)
			with.multiplyMatrix(all, f, w, rows, d, k, 0)
			one := make([]float64, k)
			for r := range rows {
				with.multiplyMatrix(one, f[r*d:][:d], w, 1, d, k, 0)
				compare(t, fmt.Sprintf("k=%d row %d", k, r), all[r*k:][:k], one, 0, 0)
			}
			gradient := make([]float64, d*k)
			with.scatterMatrix(gradient, f, all, rows, d, k)
			for j := range d {
				column := make([]float64, rows)
				for r := range column {
					column[r] = f[r*d+j]
				}
				clear(one)
				with.scatterMatrix(one, column, all, rows, 1, k)
				compare(t, fmt.Sprintf("k=%d feature %d", k, j), gradient[j*k:][:k], one, 0, 0)
			}
		}
	})
}

// TestMatrixSpecials: infinities and NaN of a row of features stay in their row, and a weight of −Inf makes hard zeros.
func TestMatrixSpecials(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			for _, k := range []int{1, 4, 8, 13, 64} {
				const rows, d = 17, 5
				f, w := uniformVector(rows*d), uniformVector(d*k)
				w[2*k+k/2] = bad
				got, want := make([]float64, rows*k), make([]float64, rows*k)
				oracle.MustEqual(t, with.multiplyMatrix(got, f, w, rows, d, k, 1), false, "exponentials with %v", bad)
				with.multiplyMatrix(got, f, w, rows, d, k, 0)
				longhandMultiply(want, f, w, rows, d, k)
				compare(t, fmt.Sprintf("k=%d with %v", k, bad), got, want, 1e-14, 0)
			}
		}
	})
}
