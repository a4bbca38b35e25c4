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
	g.VANDPD(g.wide("magnitude"), x, magnitude)
	g.VCMPPD(cmpNotLessEqual, g.wide("expNormal"), magnitude, magnitude)
	g.anySign(magnitude, slow)
	g.VMOVUPD(g.moderateExp256(x), result)
	g.JMP(label(done))
	g.Label(slow)
	{
		limit := g.copyWide("expLow")
		g.VMAXPD(x, limit, x)
		g.VMOVUPD(g.wide("expHigh"), limit)
		g.VMINPD(x, limit, x)
		n, _, e := g.reduce256(x)
		first, second := g.YMM(), n
		g.VMULPD(g.wide("half"), n, first)
		g.VROUNDPD(operand.U8(1), first, first)
		g.VSUBPD(first, n, second)
		for _, y := range []reg.VecVirtual{first, second} {
			g.VADDPD(g.wide("round1"), y, y)
			g.VPSLLQ(operand.U8(52), y, y)
			g.VPADDQ(g.wide("one"), y, y)
		}
		g.VMULPD(first, e, e)
		g.VMULPD(second, e, result)
	}
	g.Label(done)
	return result
}

// moderateExp256 is exp256 for |x| ≤ expNormal.
func (g avx2) moderateExp256(x reg.VecVirtual) reg.VecVirtual {
	_, z, e := g.reduce256(x)
	g.VPSLLQ(operand.U8(52), z, z)
	g.VPADDQ(z, e, e)
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
	g.VCMPPD(cmpNotLess, limit, x, normal)
	g.VMAXPD(x, limit, x) // keeps a NaN
	_, z, e := g.reduce256(x)
	// Multiplied by 2^n: n added to the bits of a NaN would give a number.
	g.VPSLLQ(operand.U8(52), z, z)
	g.VPADDQ(g.wide("one"), z, z)
	g.VMULPD(z, e, e)
	g.VANDPD(normal, e, e)
	return e, normal
}

// reduce256 returns n, the same as the last bits of z, and e^r; it changes x.
func (g avx2) reduce256(x reg.VecVirtual) (n, z, e reg.VecVirtual) {
	z, n = g.copyWide("round1"), g.YMM()
	g.VFMADD231PD(g.wide("log2e"), x, z)
	g.VSUBPD(g.wide("round1"), z, n)
	g.VFNMADD231PD(g.wide("expLn2High"), n, x)
	g.VFNMADD231PD(g.wide("expLn2Low"), n, x)
	square, fourth := g.YMM(), g.YMM()
	g.VMULPD(x, x, square)
	g.VMULPD(square, square, fourth)
	g.VFMADD231PD(g.polynomial("exp1", len(exp1), x, square, fourth), square, x)
	g.VADDPD(g.wide("one"), x, x)
	return n, z, x
}

// log256 returns log y by the method of FreeBSD's e_log.c; it changes y. Where an
// entry is not a positive normal number it takes the slow way.
func (g avx2) log256(y reg.VecVirtual) reg.VecVirtual {
	result, odd, other := g.YMM(), g.YMM(), g.YMM()
	slow, done := g.label("slow"), g.label("done")
	g.VCMPPD(cmpNotAtLeast, g.wide("smallestNormal"), y, odd)
	g.VCMPPD(cmpGreater, g.wide("largest"), y, other)
	g.VORPD(other, odd, odd)
	g.anySign(odd, slow)
	g.VMOVUPD(g.safeLog256(y), result)
	g.JMP(label(done))
	g.Label(slow)
	{
		original, scaled, k, mask := g.YMM(), g.YMM(), g.YMM(), g.YMM()
		g.VMOVUPD(y, original)
		g.VCMPPD(cmpNotAtLeast, g.wide("smallestNormal"), y, mask)
		g.VMULPD(g.wide("upscale"), y, scaled)
		g.VBLENDVPD(mask, scaled, y, y)
		g.VANDPD(g.wide("upscaled"), mask, k)
		e, f := g.split256(y)
		g.VADDPD(k, e, e)
		g.VMOVUPD(g.logarithm256(e, f), result)
		// Specials, each a choice by comparison with the original.
		zero := g.zero256()
		g.VCMPPD(operand.U8(0), zero, original, mask)
		g.VBLENDVPD(mask, g.wide("negativeInfinity"), result, result)
		g.VCMPPD(operand.U8(0), g.wide("infinity"), original, mask)
		g.VBLENDVPD(mask, g.wide("infinity"), result, result)
		g.VCMPPD(cmpNotAtLeast, zero, original, mask)
		g.VBLENDVPD(mask, g.wide("notANumber"), result, result)
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
	g.VPADDQ(g.wide("oneLessSqrtHalf"), y, y)
	g.VPSRLQ(operand.U8(52), y, e)
	g.VORPD(g.wide("integer"), e, e)
	g.VSUBPD(g.wide("integerBias"), e, e)
	g.VANDPD(g.wide("fraction"), y, y)
	g.VPADDQ(g.wide("sqrtHalf"), y, y)
	return e, y
}

// logarithm256 returns e·log 2 + log f; it changes f.
func (g avx2) logarithm256(e, f reg.VecVirtual) reg.VecVirtual {
	g.VSUBPD(g.wide("one"), f, f)
	s, s2, s4 := g.YMM(), g.YMM(), g.YMM()
	g.VADDPD(g.wide("two"), f, s)
	g.VDIVPD(s, f, s)
	g.VMULPD(s, s, s2)
	g.VMULPD(s2, s2, s4)
	odd, even := g.everySecond("atanh", len(atanh)-1, s4), g.everySecond("atanh", len(atanh)-2, s4)
	// hfsq + R with R = s²·odd + s⁴·even
	half := g.YMM()
	g.VMULPD(g.wide("half"), f, half)
	g.VMULPD(f, half, half)
	sum := g.YMM()
	g.VMOVUPD(half, sum)
	g.VFMADD231PD(even, s4, sum)
	g.VFMADD231PD(odd, s2, sum)
	low := s4
	g.VMULPD(g.wide("logLn2Low"), e, low)
	g.VFMADD231PD(sum, s, low)
	g.VSUBPD(low, half, half)
	g.VSUBPD(f, half, half)
	g.VFMSUB132PD(g.wide("logLn2High"), half, e)
	return e
}

// everySecond returns the polynomial in x whose coefficients are the terms last, last − 2 and
// so on.
func (g avx2) everySecond(name string, last int, x reg.VecVirtual) reg.VecVirtual {
	sum := g.copyWide(fmt.Sprintf("%s.%d", name, last))
	for i := last - 2; i >= 0; i -= 2 {
		g.VFMADD213PD(g.wide(fmt.Sprintf("%s.%d", name, i)), x, sum)
	}
	return sum
}

// polynomial returns Σ name.i x^i, 1 ≤ n terms, by few steps one after the other; x² and x⁴ are given.
func (g avx2) polynomial(name string, n int, x, square, fourth reg.VecVirtual) reg.VecVirtual {
	// Sums of two terms, then of four, then by Horner's rule.
	sums := make([]reg.VecVirtual, 0, n)
	for i := 0; i < n; i += 2 {
		sum := g.copyWide(fmt.Sprintf("%s.%d", name, i))
		if i+1 < n {
			g.VFMADD231PD(g.wide(fmt.Sprintf("%s.%d", name, i+1)), x, sum)
		}
		sums = append(sums, sum)
	}
	last := (len(sums) - 1) / 2 * 2
	for i := 0; i <= last; i += 2 {
		if i+1 < len(sums) {
			g.VFMADD231PD(sums[i+1], square, sums[i])
		}
	}
	for i := last; i > 0; i -= 2 {
		g.VFMADD231PD(sums[i], fourth, sums[i-2])
	}
	return sums[0]
}
