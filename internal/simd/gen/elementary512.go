package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func names(name string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s.%d", name, i)
	}
	return list
}

// binary emits an instruction with the constant as its first operand.
func (v vectors) binary(op, broadcast func(...operand.Op), name string, rest ...operand.Op) {
	if z, ok := v.hoisted[name]; ok {
		op(append([]operand.Op{z}, rest...)...)
		return
	}
	broadcast(append([]operand.Op{v.constant(name)}, rest...)...)
}

// fma231 is acc += constant·x.
func (v vectors) fma231(name string, x, acc reg.Register) {
	v.binary(v.VFMADD231PD, v.VFMADD231PD_BCST, name, x, acc)
}

// linear returns name.i + name.(i+1)·x.
func (v vectors) linear(name string, i int, x reg.Register) reg.VecVirtual {
	a := v.copyOf(fmt.Sprintf("%s.%d", name, i))
	v.fma231(fmt.Sprintf("%s.%d", name, i+1), x, a)
	return a
}

// Predicates of comparisons that are also true of a NaN.
const (
	cmpUnordered    = operand.U8(3)
	cmpOrdered      = operand.U8(7)
	cmpNotEqual     = operand.U8(4)
	cmpNotLessEqual = operand.U8(6)
	cmpNotAtLeast   = operand.U8(0x19)
)

// Predicates that are false of a NaN.
const (
	cmpEqual   = operand.U8(0)
	cmpGreater = operand.U8(0x1e)
)

// exps512 returns e^x; it changes x. e^x = 2^n·root·(1 + p), where n is the whole
// part of x·log2(e) rounded to sixteenths, root the power of two of the rest, and
// 1 + p = e^r·(1 + tail) what both lack. Nothing branches: the scaling by 2^n rounds
// denormals and overflows as it must, for an x that is cut to a range beyond both. A moderate one, |x| ≤ 708, needs no
// cut, and goes without the tail: 1.1 ulp instead of 0.55. The vectors take each step together: the processor looks
// ahead by some hundred instructions only, and a chain that waits would keep it from seeing the next.
func (v vectors) exps512(x []reg.VecVirtual, moderate bool) []reg.VecVirtual {
	each := func(step func(i int)) {
		for i := range x {
			step(i)
		}
	}
	list := func() []reg.VecVirtual { return make([]reg.VecVirtual, len(x)) }
	z, n, tail, q, p := list(), v.several(len(x)), v.several(len(x)), list(), list()
	if !moderate {
		each(func(i int) { v.VMAXPD(x[i], v.wide("expLow"), x[i]) }) // a NaN stays
		each(func(i int) { v.VMINPD(x[i], v.wide("expHigh"), x[i]) })
	}
	each(func(i int) { z[i] = v.copyOf("round16") })
	each(func(i int) { v.fma231("log2e", x[i], z[i]) })
	each(func(i int) { v.binary(v.VSUBPD, v.VSUBPD_BCST, "round16", z[i], n[i]) })
	for _, part := range []string{"expLn2High", "expLn2Low"} {
		each(func(i int) { v.binary(v.VFNMADD231PD, v.VFNMADD231PD_BCST, part, n[i], x[i]) })
	}
	if !moderate {
		each(func(i int) {
			v.VMOVAPD(z[i], tail[i])
			v.lookupKept("rootTail", tail[i])
		})
	}
	each(func(i int) { v.lookupKept("root", z[i]) })
	square := v.several(len(x))
	each(func(i int) { v.VMULPD(x[i], x[i], square[i]) })
	each(func(i int) { p[i] = v.linear("exp16", 4, x[i]) })
	each(func(i int) { q[i] = v.linear("exp16", 2, x[i]) })
	each(func(i int) { v.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { q[i] = v.linear("exp16", 0, x[i]) })
	if moderate {
		tail = x
	} else {
		each(func(i int) { v.VADDPD(x[i], tail[i], tail[i]) })
	}
	each(func(i int) { v.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { v.VFMADD213PD(tail[i], square[i], p[i]) })
	each(func(i int) { v.VFMADD213PD(z[i], z[i], p[i]) })
	each(func(i int) { v.VSCALEFPD(n[i], p[i], p[i]) })
	return p
}

// logs512 returns log y of vectors of positive finite y, which are left. With
// y = 2^e·m, 3/4 ≤ m < 3/2, and c ≈ 1/m from a table,
//
//	log y = (e·log 2 − log c) + log(1+r),   r = c·m − 1,
//
// where the bracket is exact but for the last bits of log 2, which come in at the
// end, and c is 1 around 1, so that small logarithms keep their digits.
func (v vectors) logs512(y []reg.VecVirtual) []reg.VecVirtual {
	each := func(step func(i int)) {
		for i := range y {
			step(i)
		}
	}
	r, e, c, high := v.several(len(y)), v.several(len(y)), v.several(len(y)), v.several(len(y))
	each(func(i int) { v.VGETMANTPD(operand.U8(8|3), y[i], r[i]) })
	each(func(i int) { v.VGETEXPPD(y[i], e[i]) })
	each(func(i int) { v.VPSRLQ(operand.U8(48), r[i], high[i]) })
	each(func(i int) { v.VGETEXPPD(r[i], c[i]) })
	each(func(i int) { v.VSUBPD(c[i], e[i], e[i]) })
	each(func(i int) {
		v.VMOVAPD(high[i], c[i])
		v.lookupKept("reciprocal", c[i])
	})
	each(func(i int) { v.lookupKept("minusLog", high[i]) })
	each(func(i int) { v.binary(v.VFMSUB213PD, v.VFMSUB213PD_BCST, "one", c[i], r[i]) })
	each(func(i int) { v.fma231("logLn2High", e[i], high[i]) })
	square, p, q := v.several(len(y)), c, make([]reg.VecVirtual, len(y))
	each(func(i int) { v.VMULPD(r[i], r[i], square[i]) })
	each(func(i int) { p[i] = v.linear("log16", 6, r[i]) })
	each(func(i int) { v.fma231("log16.8", square[i], p[i]) })
	each(func(i int) { q[i] = v.linear("log16", 4, r[i]) })
	each(func(i int) { v.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { q[i] = v.linear("log16", 2, r[i]) })
	each(func(i int) { v.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { q[i] = v.linear("log16", 0, r[i]) })
	each(func(i int) { v.VFMADD213PD(q[i], square[i], p[i]) })
	each(func(i int) { v.VFMADD213PD(r[i], square[i], p[i]) })
	each(func(i int) { v.fma231("logLn2Low", e[i], p[i]) })
	each(func(i int) { v.VADDPD(high[i], p[i], p[i]) })
	return p
}

// tablePair names the registers that hold the two halves of a table of 16.
func tablePair(table string) [2]string { return [2]string{table + " low", table + " high"} }

// lookupKept replaces the low four bits of each entry by that entry of a table, in registers where it is kept
// there.
func (v vectors) lookupKept(table string, index reg.VecVirtual) {
	pair := tablePair(table)
	if low, ok := v.hoisted[pair[0]]; ok {
		v.VPERMI2PD(v.hoisted[pair[1]], low, index)
		return
	}
	first := v.ZMM()
	v.VMOVUPD(v.constant(table), first)
	v.VPERMI2PD(v.constant(table).Offset(64), first, index)
}
