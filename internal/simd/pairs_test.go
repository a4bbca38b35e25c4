package simd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPairs: kernels of pairs give what the steps in plain Go give, also with forbidden states, and touch nothing else. A
// sum that is not safe is told.
func TestPairs(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for n := 1; n < 40; n++ {
			r := rand.New(rand.NewPCG(81, uint64(n)))
			var arrays [4][]float64
			var checks [4]func(string)
			for i, size := range []int{2 * (n + 1), 4 * n, 4 * n, 4 * n} { // beliefs of a chain, messages, tables, results
				arrays[i], checks[i] = guarded(t, size, r.IntN(8))
				fill(arrays[i], r, 3)
			}
			beliefs, messages, tables, out := arrays[0], arrays[1], arrays[2], arrays[3]
			fillUniform(tables, r)
			if n%3 == 0 {
				beliefs[0], messages[1], messages[2] = -infinity, -infinity, -infinity
			}
			u, v, forth, mixed, edge, at := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n), r.Perm(n)
			source := make([]int32, n)
			for q := range n {
				e := int32(q)
				u[q], v[q], forth[q], mixed[q], edge[q], at[q] = e, e+1, 2*e, 2*e+r.Int32N(2), e, 4*at[q]
				source[q] = e + mixed[q]%2
			}
			what := fmt.Sprintf("%d edges", n)
			want, kernels := make([]float64, 4*n+Padding), (*Lists)(with.forRows(2))
			if kernels.Pairs(out[:2*n], beliefs, messages, tables, source, mixed, edge, at) != (with.name != "plain" && n >= with.pairs.least) {
				t.Fatalf("%s: pairs are done, or not", what)
			}
			weights := make([]float64, 2*n)
			plainCavities(weights, beliefs, messages, source, mixed, nil, nil, 2, nil)
			plainExp(weights, weights)
			plainProducts(want, weights, tables, mixed, edge, at, 2, 2, nil, nil)
			plainLog(want[:2*n], want[:2*n])
			if with.name != "plain" && n >= with.pairs.least {
				compare(t, what+", messages", out, want[:2*n], 1e-13, 1e-13)
				zero := slices.Clone(tables)
				clear(zero[4*(n-1):])
				if kernels.Pairs(slices.Clone(out), beliefs, messages, zero, source, mixed, edge, at) {
					t.Errorf("%s: the sums of a table of zeros are safe", what)
				}
			}
			sums := [2][2][]float64{{make([]float64, n), make([]float64, n)}, {make([]float64, n), make([]float64, n)}}
			for i, kernels := range []implementation{with, plain} {
				before := active
				active = kernels
				var e Edges
				e.Begin(n, 2, 2, nil, nil)
				for q := range int32(n) {
					e.Add(q, u[q], v[q])
				}
				if done := e.WriteBeliefs([][]float64{out, want}[i], sums[i][0], sums[i][1], beliefs, messages, tables, at, true); done != n {
					t.Fatalf("%s: %d beliefs done by %s", what, done, kernels.name)
				}
				active = before
			}
			compare(t, what+", beliefs", out, want[:4*n], 1e-12, 1e-12)
			compare(t, what+", log Z", sums[0][0], sums[1][0], 1e-13, 1e-13)
			compare(t, what+", products", sums[0][1], sums[1][1], 1e-12, 1e-12)
			for _, check := range checks {
				check(what)
			}
		}
	})
}
