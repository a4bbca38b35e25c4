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
			source, mixed, edge, at := make([]int32, n), make([]int32, n), make([]int32, n), r.Perm(n)
			for q := range n {
				e := int32(q)
				mixed[q], edge[q], at[q] = 2*e+r.Int32N(2), e, 4*at[q]
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
			for _, check := range checks {
				check(what)
			}
		}
	})
}
