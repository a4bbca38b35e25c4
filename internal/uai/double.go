package uai

import (
	"math"
	"math/big"
)

// double is the unevaluated sum of two float64: about 106 bits. hi is the
// float64 nearest to the sum. It is what makes the logarithm of a long decimal,
// and the decimal of a logarithm, right to the last bit of a float64.
type double struct{ hi, lo float64 }

// twoSum returns a + b without error (Knuth).
func twoSum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

// twoProduct returns a·b without error, as long as nothing underflows.
func twoProduct(a, b float64) double {
	p := a * b
	return double{p, math.FMA(a, b, -p)}
}

// plus returns x + y; the relative error is some 2^-104 where the two have the
// same sign or differ in size.
func (x double) plus(y double) double {
	high, low := twoSum(x.hi, y.hi), twoSum(x.lo, y.lo)
	s := twoSum(high.hi, high.lo+low.hi)
	return twoSum(s.hi, s.lo+low.lo)
}

// times returns x·y to some 2^-104.
func (x double) times(y double) double {
	p := twoProduct(x.hi, y.hi)
	return twoSum(p.hi, p.lo+(x.hi*y.lo+x.lo*y.hi))
}

// scaled returns x·f for a power of two f.
func (x double) scaled(f float64) double { return double{x.hi * f, x.lo * f} }

// over returns x / y by two steps of long division.
func (x double) over(y double) double {
	first := x.hi / y.hi
	rest := x.plus(y.times(double{-first, 0}))
	second := rest.hi / y.hi
	rest = rest.plus(y.times(double{-second, 0}))
	return twoSum(first, second).plus(double{rest.hi / y.hi, 0})
}

// log1p returns log(1 + u) for 1 + u from 0.3 to 3.2, to some 2^-100 of its own
// value, however small that is.
func log1p(u double) double {
	halvings := 0.0 // 1 + u is brought between 0.6 and 1.6
	switch {
	case u.hi > 0.5:
		u, halvings = u.plus(double{-1, 0}).scaled(0.5), 1
	case u.hi < -0.35:
		u, halvings = u.scaled(2).plus(double{1, 0}), -1
	}
	if math.Abs(u.hi) < negligible {
		// The next term, u²/2, is below the last bit; products might underflow.
		return u.plus(ln2.times(double{halvings, 0}))
	}
	// log m = 2 artanh((m − 1)/(m + 1)) = 2 s (1 + s²/3 + s⁴/5 + …), |s| ≤ 1/4.
	s := u.over(u.plus(double{2, 0}))
	square := s.times(s)
	sum := double{}
	for i := lastOdd; i >= 1; i -= 2 {
		sum = sum.times(square).plus(reciprocals[i])
	}
	return s.times(sum).scaled(2).plus(ln2.times(double{halvings, 0}))
}

// expm1 returns exp(r) − 1 for |r| up to 1.2, to some 2^-100 of its own value.
func expm1(r double) double {
	if math.Abs(r.hi) < negligible {
		return r
	}
	sum := double{1, 0} // 1 + r/2 (1 + r/3 (1 + …))
	for i := lastFactor; i >= 2; i-- {
		sum = sum.times(r).times(reciprocals[i]).plus(double{1, 0})
	}
	return r.times(sum)
}

// negligible is the size below which log1p and expm1 are the identity.
const negligible = 0x1p-110

// The series end where their terms fall below 2^-108: (1/4)^(2·27) = 2^-108, and
// 1.2^32/32! < 2^-109.
const lastOdd, lastFactor = 2*27 + 1, 32

// reciprocals[i] is 1/i.
var reciprocals = func() (all [lastOdd + 1]double) {
	for i := range all {
		all[i] = double{1, 0}.over(double{float64(max(i, 1)), 0})
	}
	return all
}()

// Logarithms in 106 bits.
var (
	ln2  = double{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
	ln10 = double{0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53}
)

// doubleOf rounds x to the nearest double.
func doubleOf(x *big.Float) double {
	hi, _ := x.Float64()
	lo, _ := new(big.Float).Sub(x, new(big.Float).SetFloat64(hi)).Float64()
	return double{hi, lo}
}
