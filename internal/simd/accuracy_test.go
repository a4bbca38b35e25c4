package simd

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// bound is the largest error allowed, in units in the last place of the exact
// result, which for a denormal is the smallest denormal.
type bound struct{ exp, expDenormal, log float64 }

var bounds = map[string]bound{
	"avx512": {exp: 0.55, expDenormal: 1.01, log: 1.05},
	"avx2":   {exp: 1.1, expDenormal: 1.01, log: 0.9},
	"plain":  {exp: 2.0, expDenormal: 1.01, log: 0.9}, // math.Exp
}

func (b bound) ofExp(exact *big.Float) float64 {
	if exact.MantExp(nil)-1 < -1022 {
		return b.expDenormal
	}
	return b.exp
}

const bits = 240

func real(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }

var ln2, _, _ = big.ParseFloat("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687", 10, bits, big.ToNearestEven)

// exactExp returns e^x for a finite x.
func exactExp(x *big.Float) *big.Float {
	quotient, _ := new(big.Float).Quo(x, ln2).Float64()
	n := math.Round(quotient)
	r := new(big.Float).Sub(x, new(big.Float).Mul(real(n), ln2))
	sum, term := real(1), real(1)
	for i := 1; i < 60; i++ {
		term.Mul(term, r)
		term.Quo(term, real(float64(i)))
		sum.Add(sum, term)
	}
	return sum.SetMantExp(sum, int(n))
}

// exactLog returns log x for a positive finite x, from math.Log by one step of third order.
func exactLog(x float64) *big.Float {
	fraction, exponent := math.Frexp(x)
	guess := real(math.Log(fraction) + float64(exponent)*math.Ln2)
	d := exactExp(new(big.Float).Neg(guess))
	d.Mul(d, real(x))
	d.Sub(d, real(1))
	square := new(big.Float).Mul(d, d)
	cube := new(big.Float).Mul(square, d)
	guess.Add(guess, d)
	guess.Sub(guess, square.Quo(square, real(2)))
	return guess.Add(guess, cube.Quo(cube, real(3)))
}

// ulps returns the distance of got from a finite exact result in units in the last place of the latter.
func ulps(got float64, exact *big.Float) float64 {
	want, _ := exact.Float64()
	if got == want && (want == 0 || math.IsInf(want, 0)) {
		return 0
	}
	if math.IsInf(got, 0) || got != got {
		return math.Inf(1)
	}
	exponent := max(exact.MantExp(nil)-53, -1074)
	if exact.Sign() == 0 {
		exponent = -1074
	}
	difference := new(big.Float).Sub(real(got), exact)
	scaled, _ := difference.SetMantExp(difference, -exponent).Float64()
	return math.Abs(scaled)
}

// worst keeps the largest error, relative to its bound, and where it was.
type worst struct{ ulps, relative, at float64 }

func (w *worst) note(ulps, bound, at float64) {
	if !(ulps/bound <= w.relative) {
		*w = worst{ulps, ulps / bound, at}
	}
}

func (w *worst) report(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s: largest error %.4f ulp at %v", what, w.ulps, w.at)
	if !(w.relative <= 1) {
		t.Errorf("%s: error %.4f ulp at %v (%x), %.3f of what is allowed", what, w.ulps, w.at, w.at, w.relative)
	}
}

// largestExp is the largest number whose exponential is finite.
const largestExp = 709.782712893384

// expArguments mixes ranges: the usual, tiny, all finite results, denormal
// results, multiples of log(2)/32, where the reduction is hardest, and the two ends.
func expArguments(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		switch i % 9 {
		case 0:
			x[i] = -40 * r.Float64()
		case 1:
			x[i] = r.NormFloat64()
		case 2:
			x[i] = math.Ldexp(r.NormFloat64(), -r.IntN(80))
		case 3:
			x[i] = -745.2 + (745.2+709.8)*r.Float64()
		case 4:
			x[i] = -708 - 38*r.Float64()
		case 5:
			x[i] = math.Ln2 / 32 * float64(r.IntN(60000)-32000) * (1 + r.NormFloat64()*1e-15)
			x[i] = max(-746, min(709.7, x[i]))
		case 6: // the largest finite results
			x[i] = largestExp - 0.8*r.Float64()*r.Float64()
		case 7: // the smallest, and 0
			x[i] = -745.2 + 0.8*r.Float64()*r.Float64()
		case 8: // a little above √½ times a power of two, where errors are largest
			x[i] = math.Ln2*float64(r.IntN(2000)-1000) - 0.25 - 0.0966*r.Float64()
		}
	}
	return x
}

func logArguments(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		switch i % 6 {
		case 0:
			x[i] = r.Float64() + 1e-300
		case 1:
			x[i] = 1 + r.NormFloat64()*0.1*r.Float64()
		case 2:
			x[i] = 1 + math.Ldexp(r.NormFloat64(), -r.IntN(60))
		case 3:
			x[i] = math.Float64frombits(r.Uint64N(0x7ff<<52-1) + 1) // all positive
		case 4:
			x[i] = math.Float64frombits(r.Uint64N(1<<52) + 1) // denormal
		case 5:
			x[i] = 1 + float64(r.IntN(65))/32 + r.NormFloat64()*1e-15
		}
		if !(x[i] > 0) {
			x[i] = 1
		}
	}
	return x
}

func TestExpAccuracy(t *testing.T) {
	oracle.Long(t)
	each(t, func(t *testing.T, with implementation) {
		x := expArguments(rand.New(rand.NewPCG(11, 12)), accuracyPoints())
		dst := make([]float64, len(x))
		with.exp(dst, x)
		var normal, denormal worst
		for i, v := range x {
			exact := exactExp(real(v))
			b := bounds[with.name].ofExp(exact)
			if e := ulps(dst[i], exact); b == bounds[with.name].exp {
				normal.note(e, b, v)
			} else {
				denormal.note(e, b, v)
			}
		}
		normal.report(t, "normal")
		denormal.report(t, "denormal")
	})
}

func TestLogAccuracy(t *testing.T) {
	oracle.Long(t)
	each(t, func(t *testing.T, with implementation) {
		x := logArguments(rand.New(rand.NewPCG(13, 14)), accuracyPoints())
		dst := make([]float64, len(x))
		with.log(dst, x)
		var all worst
		for i, v := range x {
			all.note(ulps(dst[i], exactLog(v)), bounds[with.name].log, v)
		}
		all.report(t, "log")
	})
}

func accuracyPoints() int {
	if testing.Short() {
		return 2000
	}
	return 20000
}

func TestSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	minusZero := math.Copysign(0, -1)
	denormal := math.SmallestNonzeroFloat64
	exp := [][2]float64{
		{0, 1}, {minusZero, 1}, {inf, inf}, {-inf, 0}, {nan, nan}, {710, inf}, {1e6, inf}, {1e300, inf}, {math.MaxFloat64, inf},
		{-746, 0}, {-800, 0}, {-1e6, 0}, {-1e300, 0}, {-math.MaxFloat64, 0}, {denormal, 1}, {-denormal, 1}, {1e-300, 1},
		{-745, denormal}, {1, math.E}, {709.78, 1.7928227943945155e+308}, {709.46, 1.3018565457934242e+308},
		{largestExp, 1.7976931348622732e+308}, {math.Nextafter(largestExp, 710), inf}, {-745.1332191019411, denormal}, {-745.1332191019412, 0},
	}
	log := [][2]float64{
		{0, -inf}, {minusZero, -inf}, {inf, inf}, {-inf, nan}, {nan, nan}, {-1, nan}, {-denormal, nan}, {-math.MaxFloat64, nan},
		{1, 0}, {2, math.Ln2}, {0.5, -math.Ln2}, {denormal, -744.4400719213812}, {math.MaxFloat64, 709.782712893384},
		{0x1p-1022, -708.3964185322641}, {0x1.fffffffffffffp-1, -0x1p-53}, {0x1.0000000000001p0, 0x1.fffffffffffffp-53},
	}
	each(t, func(t *testing.T, with implementation) {
		for _, f := range []struct {
			name         string
			compute      func(dst, x []float64)
			cases        [][2]float64
			other, gives float64 // at all other places
		}{{"exp", with.exp, exp, 0, 1}, {"log", func(dst, x []float64) { with.log(dst, x) }, log, 1, 0}} {
			for n := range 13 { // every position of the vector and of the rest
				for position := range n {
					for _, c := range f.cases {
						x := slices.Repeat([]float64{f.other}, n)
						x[position] = c[0]
						f.compute(x, x)
						for i, got := range x {
							if i == position && !same(got, c[1], 2.3e-16, 0) || i != position && got != f.gives {
								t.Fatalf("n=%d: %s(%v) at %d left %v at %d", n, f.name, c[0], position, got, i)
							}
						}
					}
				}
			}
		}
	})
}

func FuzzExp(f *testing.F) {
	for _, x := range []float64{0, 1, -1, -745.2, -708.5, 709.46, largestExp, 709.9, 1e-300, math.Inf(1), math.NaN()} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x float64) {
		for _, with := range supported() {
			var got [1]float64
			with.exp(got[:], []float64{x})
			if x != x || math.Abs(x) > 1000 {
				if want := math.Exp(x); !same(got[0], want, 0, 0) {
					t.Errorf("%s: exp(%v) is %v, want %v", with.name, x, got[0], want)
				}
				continue
			}
			exact := exactExp(real(x))
			if e := ulps(got[0], exact); !(e <= bounds[with.name].ofExp(exact)) {
				t.Errorf("%s: exp(%v) is %v, %v ulp off", with.name, x, got[0], e)
			}
		}
	})
}

func FuzzLog(f *testing.F) {
	for _, x := range []float64{0, 1, -1, 0.99999, 1e-310, 1e300, math.Inf(1), math.NaN()} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x float64) {
		for _, with := range supported() {
			var got [1]float64
			with.log(got[:], []float64{x})
			if !(x > 0) || math.IsInf(x, 1) {
				if want := math.Log(x); !same(got[0], want, 0, 0) {
					t.Errorf("%s: log(%v) is %v, want %v", with.name, x, got[0], want)
				}
				continue
			}
			if e := ulps(got[0], exactLog(x)); !(e <= bounds[with.name].log) {
				t.Errorf("%s: log(%v) is %v, %v ulp off", with.name, x, got[0], e)
			}
		}
	})
}
