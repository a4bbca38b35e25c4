package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// guard surrounds every slice a kernel gets; it must not change.
const guard = 0x1.23456789abcdep+77

// guarded returns a slice of n entries at some offset in an array of guards, and a function that checks the guards.
func guarded(t testing.TB, n, offset int) (x []float64, check func(what string)) {
	const before, after = 16, 24
	array := slices.Repeat([]float64{guard}, before+offset+n+after)
	x = array[before+offset:][:n:n]
	return x, func(what string) {
		t.Helper()
		for i, v := range array {
			if (i < before+offset || i >= before+offset+n) && v != guard {
				t.Fatalf("%s: wrote entry %d of a slice of %d", what, i-before-offset, n)
			}
		}
	}
}

// each runs a test for every implementation but the plain one.
func each(t *testing.T, test func(t *testing.T, with implementation)) {
	for _, with := range supported() {
		t.Run(with.name, func(t *testing.T) { test(t, with) })
	}
}

func fill(x []float64, r *rand.Rand, scale float64) {
	for i := range x {
		x[i] = scale * r.NormFloat64()
	}
}

func fillUniform(x []float64, r *rand.Rand) {
	for i := range x {
		x[i] = r.Float64()
	}
}

func random(n int, scale float64) []float64 {
	x := make([]float64, n)
	fill(x, rand.New(rand.NewPCG(uint64(n), 1)), scale)
	return x
}

func uniformVector(n int) []float64 {
	x := make([]float64, n)
	fillUniform(x, rand.New(rand.NewPCG(uint64(n), 2)))
	return x
}

// same reports whether a and b agree to a relative or absolute tolerance; NaN
// agrees with NaN, and an infinity with itself alone.
func same(a, b, relative, absolute float64) bool {
	if a == b || (a != a && b != b) {
		return true
	}
	return !math.IsInf(a, 0) && !math.IsInf(b, 0) && math.Abs(a-b) <= absolute+relative*max(math.Abs(a), math.Abs(b))
}

func compare(t *testing.T, what string, got, want []float64, relative, absolute float64) {
	t.Helper()
	for i := range want {
		if !same(got[i], want[i], relative, absolute) {
			t.Fatalf("%s: entry %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

const longest = 70

func TestElementwise(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(1, 2))
		for n := range longest + 1 {
			for offset := range 9 {
				what := fmt.Sprintf("n=%d offset=%d", n, offset)
				x, _ := guarded(t, n, offset)
				fill(x, r, 3)
				dst, check := guarded(t, n, (offset*5)%8)
				want := make([]float64, n)

				with.exp(dst, x)
				check(what)
				plainExp(want, x)
				compare(t, "exp "+what, dst, want, 1e-15, 0)

				oracle.MustEqual(t, Max(x), slices.Max(append(x, math.Inf(-1))), "max %s", what)

				fill(dst, r, 1)
				product, size := 0.0, 0.0
				for i, v := range x {
					product += v * dst[i]
					size += math.Abs(v * dst[i])
				}
				if got := with.dot(x, dst); !same(got, product, 0, 1e-15*size) {
					t.Fatalf("dot %s: %v, want %v", what, got, product)
				}
				copy(want, dst)
				with.addScaled(dst, x, 1.5)
				check(what)
				plainAddScaled(want, x, 1.5)
				compare(t, "addScaled "+what, dst, want, 1e-14, 1e-14)

				fillUniform(x, r)
				if n > 1 {
					x[r.IntN(n)], x[r.IntN(n)] = 0, 5e-324
				}
				entropy := 0.0
				for _, v := range x {
					if v > 0 {
						entropy -= v * numeric.Log(v)
					}
				}
				if got := Entropy(x, make([]float64, n)); !same(got, entropy, 1e-14, 1e-15) {
					t.Fatalf("entropy %s: %v, want %v", what, got, entropy)
				}

				fillUniform(x, r)
				with.log(dst, x)
				check(what)
				plainLog(want, x)
				compare(t, "log "+what, dst, want, 1e-15, 0)
				with.log(x, x)
				compare(t, "log in place "+what, x, want, 1e-15, 0)
			}
		}
	})
}

// shapes lists pairs of lengths: all small ones, and all lengths against some.
func shapes() [][2]int {
	var list [][2]int
	for a := range 12 {
		for b := range 12 {
			list = append(list, [2]int{a, b})
		}
	}
	for a := 12; a <= longest; a++ {
		for _, b := range []int{0, 1, 2, 3, 5, 8, 13, 16, 21, 32, 64, 65, 70} {
			list = append(list, [2]int{a, b}, [2]int{b, a})
		}
	}
	return append(list, [2]int{130, 200}, [2]int{200, 130}, [2]int{1, 300}, [2]int{300, 1})
}
