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
