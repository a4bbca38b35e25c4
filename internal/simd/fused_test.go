package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// shortExpBound is the largest error of Exponentiate, in units in the last place
// of e^y, where y is the exponent as rounded.
const shortExpBound = 1.1

func TestExponentiate(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(21, 22))
		for n := range longest + 1 {
			for trial := range 8 {
				what := fmt.Sprintf("n=%d trial %d", n, trial)
				theta, checkTheta := guarded(t, n, r.IntN(8))
				fill(theta, r, 20)
				inverse, lowest := 0.1+r.Float64(), -600.0
				if n > 0 {
					spoilTheta(theta, r, trial)
				}
				dst, check := guarded(t, n, r.IntN(8))
				for i := range dst {
					dst[i] = 7
				}
				want := make([]float64, n)
				wantLargest, wantSafe := plainExponentiate(want, theta, inverse, lowest)
				largest, safe := with.exponentiate(dst, theta, inverse, lowest)
				if safe != wantSafe || !same(largest, wantLargest, 0, 0) {
					t.Fatalf("%s: largest %v, safe %v, want %v, %v", what, largest, safe, wantLargest, wantSafe)
				}
				check(what)
				if !safe {
					for i, x := range dst {
						if x != 7 {
							t.Fatalf("%s: not safe, but changed entry %d", what, i)
						}
					}
					continue
				}
				compare(t, what, dst, want, 1e-15, 0)
				for i, x := range theta {
					if math.IsInf(x, -1) && dst[i] != 0 {
						t.Fatalf("%s: entry %d is %v, want 0 for a forbidden state", what, i, dst[i])
					}
				}
				with.exponentiate(theta, theta, inverse, lowest)
				compare(t, what+" in place", theta, dst, 0, 0)
				checkTheta(what)
			}
		}
	})
}

// spoilTheta makes a table special in the way of the trial.
func spoilTheta(theta []float64, r *rand.Rand, trial int) {
	i := r.IntN(len(theta))
	switch trial {
	case 1:
		theta[i] = math.Inf(-1)
	case 2:
		theta[i] = math.NaN()
	case 3:
		theta[i] = math.Inf(1)
	case 4:
		for i := range theta {
			theta[i] = math.Inf(-1)
		}
	case 5:
		theta[i] = -1e4
	case 6:
		theta[i] = -math.MaxFloat64
		theta[r.IntN(len(theta))] = 1e300
	case 7:
		theta[i], theta[r.IntN(len(theta))] = math.Inf(-1), math.NaN()
	}
}

// TestExponentiateLimit: the exponent is safe at the limit and not below it, in
// every position, and so where it overflows or is not a number.
func TestExponentiateLimit(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for n := 2; n <= longest; n++ {
			for i := range n {
				theta, dst := make([]float64, n), make([]float64, n)
				for _, c := range []struct {
					x, inverse, lowest float64
					safe               bool
				}{
					{-600, 1, -600, true}, {math.Nextafter(-600, -700), 1, -600, false}, {-300, 2, -600, true}, {-301, 2, -600, false},
					{-708, 1, -708, true}, {-1, 1e308, -600, false}, {0, math.Inf(1), -600, false}, {-1e300, 1e300, -600, false},
					{math.Inf(-1), 1, -600, true}, {math.Inf(-1), 1, 0, true}, {-1e-300, 1, 0, false}, {0, math.NaN(), -600, false},
				} {
					theta[i] = c.x
					if _, safe := with.exponentiate(dst, theta, c.inverse, c.lowest); safe != c.safe {
						t.Fatalf("n=%d: %v·%v at %d with lowest %v: safe %v, want %v", n, c.x, c.inverse, i, c.lowest, safe, c.safe)
					}
				}
			}
		}
		if _, safe := Exponentiate(make([]float64, 2), []float64{0, -709}, 1, -1e9); safe {
			t.Error("an exponent below −708 is safe")
		}
	})
}

// TestExponentiateAccuracy compares with 240-bit arithmetic. The kernel rounds
// the exponent; multiples of an integer by 2^−20 leave nothing to round.
func TestExponentiateAccuracy(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(23, 24))
		theta, dst := make([]float64, 64), make([]float64, 64)
		limit := shortExpBound
		if with.name == "plain" {
			limit = 1.6 // math.Exp
		}
		var all worst
		for range accuracyPoints() / len(theta) {
			for i := range theta {
				theta[i] = -math.Ldexp(float64(r.IntN(708<<20)), -20)
				if i%2 == 0 {
					theta[i] = -math.Ldexp(float64(r.IntN(20<<20)), -20)
				}
			}
			theta[r.IntN(64)] = 0
			if _, safe := with.exponentiate(dst, theta, 1, -708); !safe {
				t.Fatal("not safe")
			}
			for i, x := range theta {
				all.note(ulps(dst[i], exactExp(real(x))), limit, x)
			}
		}
		all.report(t, "exponentiate")
	})
}

func FuzzExponentiate(f *testing.F) {
	f.Add(0.0, -1.0, 1.0, -600.0)
	f.Add(math.Inf(-1), 3.0, 0.5, -600.0)
	f.Add(math.NaN(), 3.0, 0.5, -600.0)
	f.Add(-600.0, 0.0, 1.0, -600.0)
	f.Fuzz(func(t *testing.T, a, b, inverse, lowest float64) {
		if !(inverse > 0) {
			return
		}
		lowest = max(lowest, lowestExponent)
		var want [2]float64
		largest, safe := plainExponentiate(want[:], []float64{a, b}, inverse, lowest)
		for _, with := range supported() {
			var got [2]float64
			l, s := with.exponentiate(got[:], []float64{a, b}, inverse, lowest)
			if s != safe || !same(l, largest, 0, 0) {
				t.Errorf("%s: largest %v, safe %v, want %v, %v", with.name, l, s, largest, safe)
			}
			for i := range want {
				if !same(got[i], want[i], 1e-15, 0) {
					t.Errorf("%s: entry %d is %v, want %v", with.name, i, got[i], want[i])
				}
			}
		}
	})
}

func TestAbsorb(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(25, 26))
		for n := range longest + 1 {
			for trial := range 9 {
				for _, damping := range []float64{0, 0.3, math.NaN(), -1} {
					what := fmt.Sprintf("n=%d trial %d damping %v", n, trial, damping)
					var slices [3][]float64
					var checks [3]func(string)
					var want [3][]float64
					for i := range slices {
						slices[i], checks[i] = guarded(t, n, r.IntN(8))
						fill(slices[i], r, 2)
						want[i] = make([]float64, n)
					}
					old, message, sum := slices[0], slices[1], slices[2]
					if n > 0 {
						spoilAbsorb(old, message, sum, r, trial)
					}
					for i := range slices {
						copy(want[i], slices[i])
					}
					wantResidual := plainAbsorb(want[0], want[1], want[2], 0.7, damping)
					residual := with.absorb(old, message, sum, 0.7, damping)
					if !same(residual, wantResidual, 0, 0) {
						t.Fatalf("%s: residual %v, want %v", what, residual, wantResidual)
					}
					for i, name := range []string{"old", "message", "sum"} {
						compare(t, what+" "+name, slices[i], want[i], 1e-15, 1e-15)
						checks[i](what)
					}
				}
			}
		}
	})
}

func spoilAbsorb(old, message, sum []float64, r *rand.Rand, trial int) {
	inf := math.Inf(-1)
	i := r.IntN(len(old))
	switch trial {
	case 1:
		old[i], message[i] = inf, inf
	case 2:
		message[i] = inf
	case 3:
		old[i] = inf
	case 4:
		message[i] = math.NaN()
		message[r.IntN(len(old))] = inf
	case 5:
		old[i] = math.NaN()
	case 6:
		copy(message, old)
	case 7:
		sum[i] = inf
		message[r.IntN(len(old))] = -inf
	case 8:
		old[i], message[i] = inf, -inf
		old[r.IntN(len(old))] = math.NaN()
	}
}

// longhandEdge computes what EdgeBelief says, by logarithms and entry by entry.
func longhandEdge(beliefU, messageU, beliefV, messageV, values []float64) (dst []float64, logZ, product float64) {
	left, right := plainCavity(nil, beliefU, messageU), plainCavity(nil, beliefV, messageV)
	k := len(right)
	dst = make([]float64, len(left)*k)
	// Taken out first: next to a shift of 1e5 the rest would lose its last digits.
	shiftLeft, shiftRight := plainMax(left), plainMax(right)
	largest := negativeInfinity
	for i, a := range left {
		for j, c := range right {
			dst[i*k+j] = (a - shiftLeft) + (c - shiftRight) + math.Log(values[i*k+j])
			largest = max(largest, dst[i*k+j])
		}
	}
	total := 0.0
	for i, x := range dst {
		dst[i] = math.Exp(x - largest)
		total += dst[i]
	}
	for i, a := range left {
		for j, c := range right {
			dst[i*k+j] /= total
			if dst[i*k+j] > 0 {
				product += dst[i*k+j] * ((a - shiftLeft) + (c - shiftRight))
			}
		}
	}
	shift := shiftLeft + shiftRight
	return dst, largest + math.Log(total) + shift, product + shift
}

// edgeCase is what an edge is computed from, each slice between guards.
type edgeCase struct {
	slices [5][]float64
	check  func(what string)
}

func newEdgeCase(t *testing.T, r *rand.Rand, ku, kv int) edgeCase {
	var c edgeCase
	var checks []func(string)
	for i, n := range []int{ku, ku, kv, kv, ku * kv} {
		x, check := guarded(t, n, r.IntN(8))
		c.slices[i], checks = x, append(checks, check)
		fill(x, r, 3)
	}
	fillUniform(c.slices[4], r)
	c.check = func(what string) {
		t.Helper()
		for _, check := range checks {
			check(what)
		}
	}
	return c
}

// spoil makes the case special in the way of the trial.
func (c edgeCase) spoil(r *rand.Rand, trial int) {
	beliefU, messageU, beliefV, messageV, values := c.slices[0], c.slices[1], c.slices[2], c.slices[3], c.slices[4]
	inf := math.Inf(-1)
	i, j := r.IntN(len(beliefU)), r.IntN(len(beliefV))
	switch trial {
	case 1: // forbidden on one side and on both
		beliefU[i] = inf
		beliefV[j], messageV[j] = inf, inf
		messageU[r.IntN(len(beliefU))] = inf
	case 2: // zeros of the table
		values[r.IntN(len(values))] = 0
		values[r.IntN(len(values))] = 0
	case 3: // next to impossible
		beliefU[i], beliefV[j] = -2000, -1e300
	case 4:
		beliefU[i] = math.NaN()
	case 5:
		messageV[j] = math.NaN()
	case 6:
		values[r.IntN(len(values))] = math.NaN()
	case 7:
		values[r.IntN(len(values))] = -inf
	case 8:
		for i := range beliefU {
			beliefU[i] = inf
		}
	case 9:
		for i := range messageV {
			messageV[i] = inf
		}
	case 10:
		beliefV[j] = -inf
	case 11: // all mass too small
		for i := range values {
			values[i] = 1e-295
		}
	case 12: // large shifts
		for i := range beliefU {
			beliefU[i] -= 1e5
		}
	case 13:
		messageU[i] = -inf
	}
}

const edgeTrials = 14

func TestEdgeBelief(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(27, 28))
		for _, shape := range shapes() {
			ku, kv := shape[0], shape[1]
			for trial := range edgeTrials {
				what := fmt.Sprintf("%d×%d trial %d", ku, kv, trial)
				c := newEdgeCase(t, r, ku, kv)
				if ku > 0 && kv > 0 {
					c.spoil(r, trial)
				}
				s := c.slices
				dst, check := guarded(t, ku*kv, r.IntN(8))
				for i := range dst {
					dst[i] = 7
				}
				_, _, wantSafe := plainEdgeBelief(make([]float64, ku*kv), s[0], s[1], s[2], s[3], s[4])
				logZ, product, safe := with.edgeBelief(dst, s[0], s[1], s[2], s[3], s[4])
				if safe != wantSafe {
					t.Fatalf("%s: safe %v, want %v", what, safe, wantSafe)
				}
				check(what)
				c.check(what)
				if !safe {
					for i, x := range dst {
						if x != 7 {
							t.Fatalf("%s: not safe, but changed entry %d", what, i)
						}
					}
					continue
				}
				want, wantLogZ, wantProduct := longhandEdge(s[0], s[1], s[2], s[3], s[4])
				compare(t, what, dst, want, 1e-12, 1e-300)
				compare(t, what+" log Z and product", []float64{logZ, product}, []float64{wantLogZ, wantProduct}, 1e-14, 3e-13)
			}
		}
	})
}

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
					with.multiplyMatrix(x, f, w, rows, d, k)
					product := make([]float64, rows*k)
					longhandMultiply(product, f, w, rows, d, k)
					compare(t, "multiplyMatrix "+what, x, product, 1e-13, 1e-13)

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
			with.multiplyMatrix(all, f, w, rows, d, k)
			one := make([]float64, k)
			for r := range rows {
				with.multiplyMatrix(one, f[r*d:][:d], w, 1, d, k)
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

// TestMatrixSpecials: infinities and NaN of a row of features stay in their row,
// and a weight of −Inf makes hard zeros.
func TestMatrixSpecials(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			for _, k := range []int{1, 4, 8, 13, 64} {
				const rows, d = 17, 5
				f, w := uniformVector(rows*d), uniformVector(d*k)
				w[2*k+k/2] = bad
				got, want := make([]float64, rows*k), make([]float64, rows*k)
				with.multiplyMatrix(got, f, w, rows, d, k)
				longhandMultiply(want, f, w, rows, d, k)
				compare(t, fmt.Sprintf("k=%d with %v", k, bad), got, want, 1e-14, 0)
			}
		}
	})
}
