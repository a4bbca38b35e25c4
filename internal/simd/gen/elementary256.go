package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp256 returns e^x = 2^n·e^r, n = x·log2(e) rounded; it changes x. Where an
// |x| is above expNormal or NaN it takes the slow way, which multiplies by 2^n in two
// steps.
func (g avx2) exp256(x reg.VecVirtual) reg.VecVirtual {
	result, magnitude := g.YMM(), g.YMM()
	slow, done := g.label("slow"), g.label("done")
	g.and(g.wide("magnitude"), x, magnitude)
	g.compare(cmpNotLessEqual, g.wide("expNormal"), magnitude, magnitude)
	g.anySign(magnitude, slow)
	g.move(g.moderateExp256(x), result)
	g.JMP(label(done))
	g.Label(slow)
	{
		normal := g.YMM()
		if g.single() {
			g.compare(cmpNotLess, g.wide("minusExpNormal"), x, normal)
		}
		limit := g.copyWide("expLow")
		g.max(x, limit, x)
		g.move(g.wide("expHigh"), limit)
		g.min(x, limit, x)
		n, _, e := g.reduce256(x)
		first, second := g.YMM(), n
		g.mul(g.wide("half"), n, first)
		g.round(operand.U8(1), first, first)
		g.sub(first, n, second)
		for _, y := range []reg.VecVirtual{first, second} {
			g.add(g.wide("round1"), y, y)
			g.shiftLeft(operand.U8(g.mantissa), y, y)
			g.addBits(g.wide("one"), y, y)
		}
		g.mul(first, e, e)
		g.mul(second, e, result)
		if g.single() {
			g.and(normal, result, result) // Exp32 has no denormal results
		}
	}
	g.Label(done)
	return result
}

// moderateExp256 is exp256 for |x| ≤ expNormal.
func (g avx2) moderateExp256(x reg.VecVirtual) reg.VecVirtual {
	_, z, e := g.reduce256(x)
	g.shiftLeft(operand.U8(g.mantissa), z, z)
	g.addBits(z, e, e)
	return e
}

// shortExp256 returns e^x for x ≤ expNormal, and 0 below minusExpNormal; it changes x.
// It does without the choice between two ways of exp256.
func (g avx2) shortExp256(x reg.VecVirtual) reg.VecVirtual {
	e, _ := g.maskedExp256(x)
	return e
}

// maskedExp256 is shortExp256, and returns a mask of the x that are not too small.
func (g avx2) maskedExp256(x reg.VecVirtual) (e, normal reg.VecVirtual) {
	limit := g.copyWide("minusExpNormal")
	normal = g.YMM()
	g.compare(cmpNotLess, limit, x, normal)
	g.max(x, limit, x) // keeps a NaN
	_, z, e := g.reduce256(x)
	// Multiplied by 2^n: n added to the bits of a NaN would give a number.
	g.shiftLeft(operand.U8(g.mantissa), z, z)
	g.addBits(g.wide("one"), z, z)
	g.mul(z, e, e)
	g.and(normal, e, e)
	return e, normal
}

// reduce256 returns n, the same as the last bits of z, and e^r; it changes x.
func (g avx2) reduce256(x reg.VecVirtual) (n, z, e reg.VecVirtual) {
	z, n = g.copyWide("round1"), g.YMM()
	g.fma231(g.wide("log2e"), x, z)
	g.sub(g.wide("round1"), z, n)
	g.fnma231(g.wide("expLn2High"), n, x)
	g.fnma231(g.wide("expLn2Low"), n, x)
	square, fourth := g.YMM(), g.YMM()
	g.mul(x, x, square)
	g.mul(square, square, fourth)
	terms := len(exp1)
	if g.single() {
		terms = len(singleExp1)
	}
	g.fma231(g.polynomial("exp1", terms, x, square, fourth), square, x)
	g.add(g.wide("one"), x, x)
	return n, z, x
}

// log256 returns log y by the method of FreeBSD's e_log.c; it changes y. Where an
// entry is not a positive normal number it takes the slow way.
func (g avx2) log256(y reg.VecVirtual) reg.VecVirtual {
	result, odd, other := g.YMM(), g.YMM(), g.YMM()
	slow, done := g.label("slow"), g.label("done")
	g.compare(cmpNotAtLeast, g.wide("smallestNormal"), y, odd)
	g.compare(cmpGreater, g.wide("largest"), y, other)
	g.or(other, odd, odd)
	g.anySign(odd, slow)
	g.move(g.safeLog256(y), result)
	g.JMP(label(done))
	g.Label(slow)
	{
		original, scaled, k, mask := g.YMM(), g.YMM(), g.YMM(), g.YMM()
		g.move(y, original)
		g.compare(cmpNotAtLeast, g.wide("smallestNormal"), y, mask)
		g.mul(g.wide("upscale"), y, scaled)
		g.blend(mask, scaled, y, y)
		g.and(g.wide("upscaled"), mask, k)
		e, f := g.split256(y)
		g.add(k, e, e)
		g.move(g.logarithm256(e, f), result)
		// Specials, each a choice by comparison with the original.
		zero := g.zero256()
		g.compare(operand.U8(0), zero, original, mask)
		g.blend(mask, g.wide("negativeInfinity"), result, result)
		g.compare(operand.U8(0), g.wide("infinity"), original, mask)
		g.blend(mask, g.wide("infinity"), result, result)
		g.compare(cmpNotAtLeast, zero, original, mask)
		g.blend(mask, g.wide("notANumber"), result, result)
	}
	g.Label(done)
	return result
}

// safeLog256 is log256 of positive normal numbers.
func (g avx2) safeLog256(y reg.VecVirtual) reg.VecVirtual {
	e, f := g.split256(y)
	return g.logarithm256(e, f)
}

// split256 returns the exponent e and the fraction, from √½ to √2, of normal
// numbers; it changes y.
func (g avx2) split256(y reg.VecVirtual) (e, fraction reg.VecVirtual) {
	e = g.YMM()
	g.addBits(g.wide("oneLessSqrtHalf"), y, y)
	g.shiftRight(operand.U8(g.mantissa), y, e)
	g.or(g.wide("integer"), e, e)
	g.sub(g.wide("integerBias"), e, e)
	g.and(g.wide("fraction"), y, y)
	g.addBits(g.wide("sqrtHalf"), y, y)
	return e, y
}

// logarithm256 returns e·log 2 + log f; it changes f.
func (g avx2) logarithm256(e, f reg.VecVirtual) reg.VecVirtual {
	g.sub(g.wide("one"), f, f)
	s, s2, s4 := g.YMM(), g.YMM(), g.YMM()
	g.add(g.wide("two"), f, s)
	g.div(s, f, s)
	g.mul(s, s, s2)
	g.mul(s2, s2, s4)
	terms := len(atanh)
	if g.single() {
		terms = len(singleAtanh)
	}
	odd, even := g.everySecond("atanh", terms-1, s4), g.everySecond("atanh", terms-2, s4)
	// hfsq + R with R = s²·odd + s⁴·even
	half := g.YMM()
	g.mul(g.wide("half"), f, half)
	g.mul(f, half, half)
	sum := g.YMM()
	g.move(half, sum)
	g.fma231(even, s4, sum)
	g.fma231(odd, s2, sum)
	low := s4
	g.mul(g.wide("logLn2Low"), e, low)
	g.fma231(sum, s, low)
	g.sub(low, half, half)
	g.sub(f, half, half)
	g.fmsub132(g.wide("logLn2High"), half, e)
	return e
}

// everySecond returns the polynomial in x whose coefficients are the terms last, last − 2 and
// so on.
func (g avx2) everySecond(name string, last int, x reg.VecVirtual) reg.VecVirtual {
	sum := g.copyWide(fmt.Sprintf("%s.%d", name, last))
	for i := last - 2; i >= 0; i -= 2 {
		g.fma213(g.wide(fmt.Sprintf("%s.%d", name, i)), x, sum)
	}
	return sum
}
