package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// shortLogs512 returns log y for vectors of positive finite y, which are left. It
// is log512 with fewer instructions: without the low parts of the table and of
// log 2, so that the error is about an ulp of the larger of |log y| and 1. The vectors
// take each step together, as in shortExps512.
func (v values512) shortLogs512(y []reg.VecVirtual) []reg.VecVirtual {
	g := v.g
	r, e, c, q := g.several(len(y)), g.several(len(y)), g.several(len(y)), make([]reg.VecVirtual, len(y))
	each := func(step func(i int)) {
		for i := range y {
			step(i)
		}
	}
	each(func(i int) { g.VGETMANTPD(operand.U8(8), y[i], r[i]) })
	each(func(i int) { g.VRCP14PD(r[i], c[i]) })
	each(func(i int) { g.VGETEXPPD(y[i], e[i]) })
	each(func(i int) { g.VRNDSCALEPD(operand.U8(0x58), c[i], c[i]) })
	each(func(i int) { v.binary(g.VFMSUB213PD, g.VFMSUB213PD_BCST, "one", c[i], r[i]) })
	each(func(i int) {
		exponent := g.ZMM()
		g.VGETEXPPD(c[i], exponent)
		g.VSUBPD(exponent, e[i], e[i])
		g.VPSRLQ(operand.U8(48), c[i], c[i])
		v.lookupKept("minusLogWhole", c[i])
		v.fma231("ln2", e[i], c[i])
	})
	square, high := e, g.several(len(y))
	each(func(i int) { g.VMULPD(r[i], r[i], square[i]) })
	each(func(i int) { high[i] = v.linear("log16", 6, r[i]) })
	each(func(i int) { v.fma231("log16.8", square[i], high[i]) })
	each(func(i int) { g.VFMADD213PD(v.linear("log16", 4, r[i]), square[i], high[i]) })
	each(func(i int) { q[i] = v.linear("log16", 0, r[i]) })
	each(func(i int) { g.VFMADD231PD(v.linear("log16", 2, r[i]), square[i], q[i]) })
	each(func(i int) { g.VADDPD(r[i], c[i], c[i]) })
	each(func(i int) {
		fourth := r[i]
		g.VMULPD(square[i], square[i], fourth)
		g.VFMADD231PD(high[i], fourth, q[i])
	})
	each(func(i int) { g.VFMADD213PD(c[i], square[i], q[i]) })
	return q
}

// several returns n vectors.
func (g *generator) several(n int) []reg.VecVirtual {
	list := make([]reg.VecVirtual, n)
	for i := range list {
		list[i] = g.ZMM()
	}
	return list
}

// spreads is spread for several vectors that take each step together.
func (g *generator) spreads(op func(...operand.Op), z []reg.VecVirtual) {
	t := g.several(len(z))
	for _, shuffle := range []func(i int){
		func(i int) { g.VSHUFF64X2(operand.U8(0x4e), z[i], z[i], t[i]) },
		func(i int) { g.VSHUFF64X2(operand.U8(0xb1), z[i], z[i], t[i]) },
		func(i int) { g.VPERMILPD(operand.U8(0x55), z[i], t[i]) },
	} {
		for i := range z {
			shuffle(i)
		}
		for i := range z {
			op(t[i], z[i], z[i])
		}
	}
}

// branchUnsafe512 jumps away where an entry is not in [tooSmall, largest]. As
// unsigned integers, less that of tooSmall, all others are above largest.
func (g *generator) branchUnsafe512(y reg.VecVirtual, mask *reg.OpmaskVirtual, unsafe string) {
	t, bad := g.ZMM(), g.K()
	g.VPSUBQ_BCST(g.constant("tooSmall"), y, t)
	if mask == nil {
		g.VPCMPUQ_BCST(cmpNotLessEqual, g.constant("safeRange"), t, bad)
	} else {
		g.VPCMPUQ_BCST(cmpNotLessEqual, g.constant("safeRange"), t, *mask, bad)
	}
	g.KORTESTB(bad, bad)
	g.JNZ(label(unsafe))
}
