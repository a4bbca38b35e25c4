package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exps512 returns e^x; it changes x. e^x = 2^n·root·(1 + p), where n is the whole
// part of x·log2(e) rounded to sixteenths, root the power of two of the rest, and
// 1 + p = e^r·(1 + tail) what both lack. Nothing branches: the scaling by 2^n rounds
// denormals and overflows as it must, for an x that is cut to a range beyond both.
// The vectors take each step together, as in shortExps512.
func (v values512) exps512(x []reg.VecVirtual) []reg.VecVirtual {
	g := v.g
	each := func(step func(i int)) {
		for i := range x {
			step(i)
		}
	}
	list := func() []reg.VecVirtual { return make([]reg.VecVirtual, len(x)) }
	z, n, tail, q, p := list(), g.several(len(x)), g.several(len(x)), list(), list()
	each(func(i int) { v.keepNaN(g.VMAXPD, "expLow", x[i]) })
	each(func(i int) { v.keepNaN(g.VMINPD, "expHigh", x[i]) })
	each(func(i int) { z[i] = v.copyOf("round16") })
	each(func(i int) { v.fma231("log2e", x[i], z[i]) })
	each(func(i int) { v.binary(g.VSUBPD, g.VSUBPD_BCST, "round16", z[i], n[i]) })
	for _, part := range []string{"expLn2High", "expLn2Low"} {
		each(func(i int) { v.binary(g.VFNMADD231PD, g.VFNMADD231PD_BCST, part, n[i], x[i]) })
	}
	each(func(i int) {
		g.VMOVAPD(z[i], tail[i])
		v.lookupKept("rootTail", tail[i])
	})
	each(func(i int) { v.lookupKept("root", z[i]) })
	square := g.several(len(x))
	each(func(i int) { g.VMULPD(x[i], x[i], square[i]) })
	each(func(i int) { p[i] = v.linear("exp16", 4, x[i]) })
	each(func(i int) { q[i] = v.linear("exp16", 2, x[i]) })
	each(func(i int) { g.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { q[i] = v.linear("exp16", 0, x[i]) })
	each(func(i int) { g.VADDPD(x[i], tail[i], tail[i]) })
	each(func(i int) { g.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { g.VFMADD213PD(tail[i], square[i], p[i]) })
	each(func(i int) { g.VFMADD213PD(z[i], z[i], p[i]) })
	each(func(i int) { g.VSCALEFPD(n[i], p[i], p[i]) })
	return p
}

// exp512 is exps512 of one vector.
func (v values512) exp512(x reg.VecVirtual) reg.VecVirtual {
	return v.exps512([]reg.VecVirtual{x})[0]
}

// logs512 returns log y of vectors of positive finite y, which are left. With
// y = 2^e·m, 3/4 ≤ m < 3/2, and c ≈ 1/m from a table,
//
//	log y = (e·log 2 − log c) + log(1+r),   r = c·m − 1,
//
// where the bracket is exact but for the last bits of log 2, which come in at the
// end, and c is 1 around 1, so that small logarithms keep their digits. The vectors take each step together, as in shortExps512.
func (v values512) logs512(y []reg.VecVirtual) []reg.VecVirtual {
	g := v.g
	each := func(step func(i int)) {
		for i := range y {
			step(i)
		}
	}
	r, e, c, high := g.several(len(y)), g.several(len(y)), g.several(len(y)), g.several(len(y))
	each(func(i int) { g.VGETMANTPD(operand.U8(8|3), y[i], r[i]) })
	each(func(i int) { g.VGETEXPPD(y[i], e[i]) })
	each(func(i int) { g.VPSRLQ(operand.U8(48), r[i], high[i]) })
	each(func(i int) { g.VGETEXPPD(r[i], c[i]) })
	each(func(i int) { g.VSUBPD(c[i], e[i], e[i]) })
	each(func(i int) {
		g.VMOVAPD(high[i], c[i])
		v.lookupKept("reciprocal", c[i])
	})
	each(func(i int) { v.lookupKept("minusLog", high[i]) })
	each(func(i int) { v.binary(g.VFMSUB213PD, g.VFMSUB213PD_BCST, "one", c[i], r[i]) })
	each(func(i int) { v.fma231("logLn2High", e[i], high[i]) })
	square, p, q := g.several(len(y)), c, make([]reg.VecVirtual, len(y))
	each(func(i int) { g.VMULPD(r[i], r[i], square[i]) })
	each(func(i int) { p[i] = v.linear("log16", 6, r[i]) })
	each(func(i int) { v.fma231("log16.8", square[i], p[i]) })
	each(func(i int) { q[i] = v.linear("log16", 4, r[i]) })
	each(func(i int) { g.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { q[i] = v.linear("log16", 2, r[i]) })
	each(func(i int) { g.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { q[i] = v.linear("log16", 0, r[i]) })
	each(func(i int) { g.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { g.VFMADD213PD(r[i], square[i], p[i]) })
	each(func(i int) { v.fma231("logLn2Low", e[i], p[i]) })
	each(func(i int) { g.VADDPD(high[i], p[i], p[i]) })
	return p
}

// maps512 emits a function of each entry of x to dst, so many vectors at a time.
func (g *generator) maps512(n, x, dst reg.Register, vectors int, function func(z []reg.VecVirtual) []reg.VecVirtual) {
	g.somePanels512(n, vectors, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		z := make([]reg.VecVirtual, vectors)
		for c := range z {
			z[c] = g.load512(bytes(x, offset, 64*c), only(c, vectors, mask))
		}
		for c, y := range function(z) {
			g.store512(y, bytes(dst, offset, 64*c), only(c, vectors, mask))
		}
	})
}

// together is how many vectors exp512 and log512 take at a time.
const together = 3

func (g *generator) exp512() {
	g.function("exp512", "func(dst, x []float64)", "is Exp.")
	dst, x, n := g.base("dst"), g.base("x"), g.length("x")
	v := g.fromRegisters("expLow", "expHigh", "round16", "log2e")
	v.keepTable("rootTail")
	v.keepTable("root")
	g.maps512(n, x, dst, together, v.exps512)
	g.end()
}

func (g *generator) log512() {
	g.function("log512", "func(dst, x []float64)", "is Log.")
	dst, x, n := g.base("dst"), g.base("x"), g.length("x")
	v := g.fromRegisters("logSpecial", "one", "logLn2High", "logLn2Low", "log16.8", "log16.7")
	v.keepTable("reciprocal")
	v.keepTable("minusLog")
	g.maps512(n, x, dst, together, func(y []reg.VecVirtual) []reg.VecVirtual {
		logs := v.logs512(y)
		for i := range y {
			v.binary3(g.VFIXUPIMMPD, g.VFIXUPIMMPD_BCST, "logSpecial", y[i], logs[i])
		}
		return logs
	})
	g.end()
}
