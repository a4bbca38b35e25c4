package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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

// spreadFour is spreads for four vectors, which it leaves, with half of the steps: it
// folds them into one, and spreads each lane of that.
func (g *generator) spreadFour(op func(...operand.Op), z []reg.VecVirtual) []reg.VecVirtual {
	fold := func(low, high uint8, a, b reg.VecVirtual) reg.VecVirtual {
		x, y := g.ZMM(), g.ZMM()
		g.VSHUFF64X2(operand.U8(low), b, a, x)
		g.VSHUFF64X2(operand.U8(high), b, a, y)
		op(y, x, x)
		return x
	}
	all := fold(0x88, 0xdd, fold(0x44, 0xee, z[0], z[1]), fold(0x44, 0xee, z[2], z[3]))
	t := g.ZMM()
	g.VPERMILPD(operand.U8(0x55), all, t)
	op(t, all, all)
	spread := g.several(4)
	for i := range spread {
		g.VSHUFF64X2(operand.U8(0x55*i), all, all, spread[i])
	}
	return spread
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
