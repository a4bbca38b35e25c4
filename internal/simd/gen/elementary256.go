package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exp256 returns e^x = 2^n·e^r, n = x·log2(e) rounded; it changes x. Where an
// |x| is above expNormal or NaN it takes the slow way, which multiplies by 2^n in two
// steps.
func (v vectors) exp256(x reg.VecVirtual) reg.VecVirtual {
	result, magnitude := v.YMM(), v.YMM()
	slow, done := v.label("slow"), v.label("done")
	v.VANDPD(v.wide("magnitude"), x, magnitude)
	v.VCMPPD(cmpNotLessEqual, v.wide("expNormal"), magnitude, magnitude)
	v.ifAny(magnitude, slow)
	v.VMOVUPD(v.moderateExp256(x), result)
	v.JMP(label(done))
	v.Label(slow)
	{
		limit := v.copyOf("expLow")
		v.VMAXPD(x, limit, x)
		v.VMOVUPD(v.wide("expHigh"), limit)
		v.VMINPD(x, limit, x)
		n, _, e := v.reduce256(x)
		first, second := v.YMM(), n
		v.VMULPD(v.wide("half"), n, first)
		v.VROUNDPD(operand.U8(1), first, first)
		v.VSUBPD(first, n, second)
		for _, y := range []reg.VecVirtual{first, second} {
			v.VADDPD(v.wide("round1"), y, y)
			v.VPSLLQ(operand.U8(52), y, y)
			v.VPADDQ(v.wide("one"), y, y)
		}
		v.VMULPD(first, e, e)
		v.VMULPD(second, e, result)
	}
	v.Label(done)
	return result
}

// moderateExp256 is exp256 for |x| ≤ expNormal.
func (v vectors) moderateExp256(x reg.VecVirtual) reg.VecVirtual {
	_, z, e := v.reduce256(x)
	v.VPSLLQ(operand.U8(52), z, z)
	v.VPADDQ(z, e, e)
	return e
}

// reduce256 returns n, the same as the last bits of z, and e^r; it changes x.
func (v vectors) reduce256(x reg.VecVirtual) (n, z, e reg.VecVirtual) {
	z, n = v.copyOf("round1"), v.YMM()
	v.VFMADD231PD(v.wide("log2e"), x, z)
	v.VSUBPD(v.wide("round1"), z, n)
	v.VFNMADD231PD(v.wide("expLn2High"), n, x)
	v.VFNMADD231PD(v.wide("expLn2Low"), n, x)
	square, fourth := v.YMM(), v.YMM()
	v.VMULPD(x, x, square)
	v.VMULPD(square, square, fourth)
	v.VFMADD231PD(v.polynomial("exp1", len(exp1), x, square, fourth), square, x)
	v.VADDPD(v.wide("one"), x, x)
	return n, z, x
}

// log256 returns log y by the method of FreeBSD's e_log.c; it changes y. Where an
// entry is not a positive normal number it takes the slow way.
func (v vectors) log256(y reg.VecVirtual) reg.VecVirtual {
	result, odd, other := v.YMM(), v.YMM(), v.YMM()
	slow, done := v.label("slow"), v.label("done")
	v.VCMPPD(cmpNotAtLeast, v.wide("smallestNormal"), y, odd)
	v.VCMPPD(cmpGreater, v.wide("largest"), y, other)
	v.VORPD(other, odd, odd)
	v.ifAny(odd, slow)
	v.VMOVUPD(v.normalLog256(y), result)
	v.JMP(label(done))
	v.Label(slow)
	{
		original, scaled, k, mask := v.YMM(), v.YMM(), v.YMM(), v.YMM()
		v.VMOVUPD(y, original)
		v.VCMPPD(cmpNotAtLeast, v.wide("smallestNormal"), y, mask)
		v.VMULPD(v.wide("upscale"), y, scaled)
		v.VBLENDVPD(mask, scaled, y, y)
		v.VANDPD(v.wide("upscaled"), mask, k)
		e, f := v.split256(y)
		v.VADDPD(k, e, e)
		v.VMOVUPD(v.logarithm256(e, f), result)
		// Specials, each a choice by comparison with the original.
		zero := v.zeroVector()
		v.VCMPPD(operand.U8(0), zero, original, mask)
		v.VBLENDVPD(mask, v.wide("negativeInfinity"), result, result)
		v.VCMPPD(operand.U8(0), v.wide("infinity"), original, mask)
		v.VBLENDVPD(mask, v.wide("infinity"), result, result)
		v.VCMPPD(cmpNotAtLeast, zero, original, mask)
		v.VBLENDVPD(mask, v.wide("notANumber"), result, result)
	}
	v.Label(done)
	return result
}

// normalLog256 is log256 of positive normal numbers.
func (v vectors) normalLog256(y reg.VecVirtual) reg.VecVirtual {
	e, f := v.split256(y)
	return v.logarithm256(e, f)
}

// split256 returns the exponent e and the fraction, from √½ to √2, of normal
// numbers; it changes y.
func (v vectors) split256(y reg.VecVirtual) (e, fraction reg.VecVirtual) {
	e = v.YMM()
	v.VPADDQ(v.wide("oneLessSqrtHalf"), y, y)
	v.VPSRLQ(operand.U8(52), y, e)
	v.VORPD(v.wide("integer"), e, e)
	v.VSUBPD(v.wide("integerBias"), e, e)
	v.VANDPD(v.wide("fraction"), y, y)
	v.VPADDQ(v.wide("sqrtHalf"), y, y)
	return e, y
}

// logarithm256 returns e·log 2 + log f; it changes f.
func (v vectors) logarithm256(e, f reg.VecVirtual) reg.VecVirtual {
	v.VSUBPD(v.wide("one"), f, f)
	s, s2, s4 := v.YMM(), v.YMM(), v.YMM()
	v.VADDPD(v.wide("two"), f, s)
	v.VDIVPD(s, f, s)
	v.VMULPD(s, s, s2)
	v.VMULPD(s2, s2, s4)
	odd, even := v.everySecond("atanh", len(atanh)-1, s4), v.everySecond("atanh", len(atanh)-2, s4)
	// hfsq + R with R = s²·odd + s⁴·even
	half := v.YMM()
	v.VMULPD(v.wide("half"), f, half)
	v.VMULPD(f, half, half)
	sum := v.YMM()
	v.VMOVUPD(half, sum)
	v.VFMADD231PD(even, s4, sum)
	v.VFMADD231PD(odd, s2, sum)
	low := s4
	v.VMULPD(v.wide("logLn2Low"), e, low)
	v.VFMADD231PD(sum, s, low)
	v.VSUBPD(low, half, half)
	v.VSUBPD(f, half, half)
	v.VFMSUB132PD(v.wide("logLn2High"), half, e)
	return e
}

// everySecond returns the polynomial in x whose coefficients are the terms last, last − 2 and so on.
func (v vectors) everySecond(name string, last int, x reg.VecVirtual) reg.VecVirtual {
	sum := v.copyOf(fmt.Sprintf("%s.%d", name, last))
	for i := last - 2; i >= 0; i -= 2 {
		v.VFMADD213PD(v.wide(fmt.Sprintf("%s.%d", name, i)), x, sum)
	}
	return sum
}

// polynomial returns Σ name.i x^i, 1 ≤ n terms, by few steps one after the other; x² and x⁴ are given.
func (v vectors) polynomial(name string, n int, x, square, fourth reg.VecVirtual) reg.VecVirtual {
	// Sums of two terms, then of four, then by Horner's rule.
	sums := make([]reg.VecVirtual, 0, n)
	for i := 0; i < n; i += 2 {
		sum := v.copyOf(fmt.Sprintf("%s.%d", name, i))
		if i+1 < n {
			v.VFMADD231PD(v.wide(fmt.Sprintf("%s.%d", name, i+1)), x, sum)
		}
		sums = append(sums, sum)
	}
	last := (len(sums) - 1) / 2 * 2
	for i := 0; i <= last; i += 2 {
		if i+1 < len(sums) {
			v.VFMADD231PD(sums[i+1], square, sums[i])
		}
	}
	for i := last; i > 0; i -= 2 {
		v.VFMADD231PD(sums[i], fourth, sums[i-2])
	}
	return sums[0]
}
