package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in bytes of the fields of simd.Incoming, and its size; a test of simd
// holds them against the compiler's.
const (
	incomingBelief   = 0
	incomingReverse  = 8
	incomingMessage  = 16
	incomingTable    = 24
	incomingStates   = 32
	incomingRho      = 40
	incomingBackward = 48
	incomingSize     = 56
)

// How nodeUpdate512 ended, the same numbers as in simd.
const (
	nodeDone = iota
	nodeUnsafe
	nodeImpossible
	nodeOutOfRange
	nodeTooWide
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

// nodeState is what nodeUpdate512 keeps in registers from message to message.
type nodeState struct {
	sum, residual, damping, keep, zero reg.VecVirtual
	inverse                            reg.VecVirtual // 1/rho
	in, left, k, scratch               reg.Register
	target                             *reg.OpmaskVirtual
}

// nodeGroups are the numbers of messages that take each step together, tried in
// this order.
var nodeGroups = []int{4, 2, 1}

// nodeUpdate512 takes messages from sources with as many states as the node in
// groups, and others alone.
func (g *generator) nodeUpdate512() {
	g.function("nodeUpdate512", "func(belief, sum, beliefs, messages, tables []float64, in *int, count int, rho, damping float64, normalise bool) (residual float64, left, status int)",
		"is NodeUpdate for a node of 1 to 8 states, as far as sources have so many; left counts the messages that are not done.")
	n := nodeState{g.ZMM(), g.zero512(), g.ZMM(), g.broadcast512("one"), g.zero512(), g.ZMM(), g.intParam("in"), g.intParam("count"), g.length("belief"), g.alignedScratch(64 * nodeGroups[0]), nil}
	// Divided here, while nothing waits for it, and not where the belief does.
	rho, one := g.ZMM(), g.XMM()
	g.broadcastParam("rho", rho)
	g.VMOVSD(g.constant("one"), one)
	g.VDIVSD(rho.AsX(), one, one)
	g.VBROADCASTSD(one, n.inverse)
	g.broadcastParam("damping", n.damping)
	g.VSUBPD(n.damping, n.keep, n.keep)
	target := g.firstMask(n.k)
	n.target = &target
	g.VMOVUPD_Z(operand.Mem{Base: g.base("sum")}, target, n.sum)

	done, masked := g.label("done"), g.label("masked")
	ends := nodeEnds{g.label("unsafe"), g.label("outside"), g.label("wide")}
	g.CMPQ(n.k, operand.U8(8))
	g.JNE(label(masked))
	g.nodeMessages512(n, true, done, ends)
	g.Label(masked)
	g.nodeMessages512(n, false, done, ends)

	g.Label(done)
	impossible := g.label("impossible")
	g.store512(n.sum, operand.Mem{Base: g.base("sum")}, n.target)
	g.nodeBelief512(n, impossible)
	g.endNode(n, nodeDone)
	g.Label(impossible)
	g.endNode(n, nodeImpossible)
	for _, end := range []struct {
		label  string
		status int
	}{{ends.unsafe, nodeUnsafe}, {ends.outside, nodeOutOfRange}, {ends.wide, nodeTooWide}} {
		g.Label(end.label)
		g.store512(n.sum, operand.Mem{Base: g.base("sum")}, n.target)
		g.endNode(n, end.status)
	}
}

// nodeEnds are the places where a message goes that cannot be done.
type nodeEnds struct{ unsafe, outside, wide string }

// nodeMessages512 emits the walk over the messages of a node of just eight states,
// or of up to so many. A group in which anything is out of the ordinary is left to
// the way of single messages, which finds out what.
func (g *generator) nodeMessages512(n nodeState, eight bool, done string, ends nodeEnds) {
	again := g.label("messages")
	g.Label(again)
	for _, size := range nodeGroups {
		next := g.label("fewer")
		g.CMPQ(n.left, operand.U8(size))
		g.JLT(label(next))
		if size > 1 {
			g.nodeGroup512(n, size, eight, next)
		} else {
			g.nodeSingle512(n, eight, ends)
		}
		g.ADDQ(operand.U32(size*incomingSize), n.in)
		g.SUBQ(operand.U8(size), n.left)
		g.JMP(label(again))
		g.Label(next)
	}
	g.JMP(label(done))
}

// field is a field of the i-th message to come.
func (n nodeState) field(i, offset int) operand.Mem {
	return operand.Mem{Base: n.in, Disp: i*incomingSize + offset}
}

// endNode returns.
func (g *generator) endNode(n nodeState, status int) {
	g.spread(g.VPMAXUQ, n.residual)
	g.Store(n.residual.AsX(), g.ReturnIndex(0))
	g.Store(n.left, g.ReturnIndex(1))
	r := g.GP64()
	g.MOVQ(operand.U32(status), r)
	g.Store(r, g.ReturnIndex(2))
	g.end()
}

// part returns the address of a part of the i-th message.
func (g *generator) part(n nodeState, i, field int, slice string) reg.Register {
	p, base := g.GP64(), g.base(slice)
	g.MOVQ(n.field(i, field), p)
	g.LEAQ(operand.Mem{Base: base, Index: p, Scale: 8}, p)
	return p
}

// inside jumps away where a part of the i-th message does not lie in its slice.
func (g *generator) inside(n nodeState, i int, ks reg.Register, outside string) {
	size := g.GP64()
	g.MOVQ(ks, size)
	g.IMULQ(n.k, size)
	for _, part := range []struct {
		field   int
		slice   string
		entries reg.Register
	}{{incomingBelief, "beliefs", ks}, {incomingReverse, "messages", ks}, {incomingMessage, "messages", n.k}, {incomingTable, "tables", size}} {
		last := g.length(part.slice)
		g.SUBQ(part.entries, last)
		g.JLT(label(outside))
		g.CMPQ(n.field(i, part.field), last)
		g.JHI(label(outside))
	}
}

// nodeGroup512 does several messages from sources with as many states as the
// node. It jumps away, before it has changed anything, where one is not such a
// message, not in its slices or not safe.
//
// It does not look for the largest entry of a cavity, which is between 0 and some
// tens where beliefs and messages have largest entries of 0: the exponentials
// neither overflow, below cavityLimit, nor are they lost, as the sums are then not
// below tooSmall.
func (g *generator) nodeGroup512(n nodeState, size int, eight bool, otherwise string) {
	v := g.fromMemory()
	target := n.target
	if eight {
		target = nil
	}
	for i := range size {
		g.CMPQ(n.k, n.field(i, incomingStates))
		g.JNE(label(otherwise))
		g.inside(n, i, n.k, otherwise)
	}
	x, large := make([]reg.VecVirtual, size), g.K()
	for i := range x {
		x[i] = g.cavity512(operand.Mem{Base: g.part(n, i, incomingBelief, "beliefs")}, operand.Mem{Base: g.part(n, i, incomingReverse, "messages")}, target)
	}
	for i := range x {
		g.VCMPPD_BCST(cmpNotLessEqual, g.constant("cavityLimit"), x[i], large)
		g.KORTESTB(large, large)
		g.JNZ(label(otherwise))
	}
	weight := v.shortExps512(x, byLatency)
	for i := range x {
		g.VMOVUPD(weight[i], operand.Mem{Base: n.scratch, Disp: 64 * i})
	}
	y := g.several(size)
	for i := range y {
		g.weigh512(n, i, n.k, weight[i], y[i], eight, target)
	}
	for i := range y {
		g.branchUnsafe512(y[i], target, otherwise)
	}
	g.absorbLogs512(n, y, target)
}

// nodeSingle512 does one message, whatever it is.
func (g *generator) nodeSingle512(n nodeState, eight bool, ends nodeEnds) {
	ks := g.GP64()
	g.MOVQ(n.field(0, incomingStates), ks)
	g.CMPQ(ks, operand.U8(8))
	g.JHI(label(ends.wide))
	g.TESTQ(ks, ks)
	g.JZ(label(ends.unsafe))
	g.inside(n, 0, ks, ends.outside)
	source := g.firstMask(ks)
	x := g.cavity512(operand.Mem{Base: g.part(n, 0, incomingBelief, "beliefs")}, operand.Mem{Base: g.part(n, 0, incomingReverse, "messages")}, &source)
	largest := g.ZMM()
	g.VMOVAPD(x, largest)
	g.spread(g.VMAXPD, largest)
	g.VSUBPD(largest, x, x)
	weight := g.fromMemory().shortExps512([]reg.VecVirtual{x}, byLatency)[0]
	g.VMOVUPD(weight, operand.Mem{Base: n.scratch})
	y := g.ZMM()
	g.weigh512(n, 0, ks, weight, y, false, &source)
	target := n.target
	if eight {
		target = nil
	}
	g.branchUnsafe512(y, target, ends.unsafe)
	g.absorbLogs512(n, []reg.VecVirtual{y}, target)
}

// weigh512 computes the sums of the i-th message, y, from the weights of its ks
// source states, which are in the scratch too.
func (g *generator) weigh512(n nodeState, i int, ks reg.Register, weight, y reg.VecVirtual, eight bool, source *reg.OpmaskVirtual) {
	backward, done := g.label("backward"), g.label("weighed")
	values := g.part(n, i, incomingTable, "tables")
	g.CMPB(n.field(i, incomingBackward), operand.U8(0))
	g.JNE(label(backward))
	g.VMOVAPD(g.weighRows512(n, i, values, ks, eight), y)
	g.JMP(label(done))
	g.Label(backward)
	g.VMOVAPD(g.weighColumns512(n, values, ks, weight, eight, source), y)
	g.Label(done)
}

// weighRows512 returns the sum of the rows of the table, each times a weight that
// is read back from memory: the units for shuffles have enough to do.
func (g *generator) weighRows512(n nodeState, i int, values, ks reg.Register, eight bool) reg.VecVirtual {
	sums := g.zeros512(4)
	var s eightRows
	if !eight {
		s = g.eightRows(n.k)
	}
	end := g.label("end")
	for y := range 8 {
		a := g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: n.scratch, Disp: 64*i + 8*y}, a)
		if eight {
			g.VFMADD231PD(operand.Mem{Base: values, Disp: 64 * y}, a, sums[y%4])
			continue
		}
		if y > 0 {
			g.CMPQ(ks, operand.U32(y))
			g.JLE(label(end))
		}
		g.VFMADD231PD(s.row(values, y), a, *n.target, sums[y%4])
	}
	g.Label(end)
	g.VADDPD(sums[2], sums[0], sums[0])
	g.VADDPD(sums[3], sums[1], sums[1])
	g.VADDPD(sums[1], sums[0], sums[0])
	return sums[0]
}

// weighColumns512 returns the products of the rows of the table with weight.
func (g *generator) weighColumns512(n nodeState, values, ks reg.Register, weight reg.VecVirtual, eight bool, source *reg.OpmaskVirtual) reg.VecVirtual {
	if eight {
		products := g.several(8)
		for x, product := range products {
			g.VMULPD(operand.Mem{Base: values, Disp: 64 * x}, weight, product)
		}
		return g.transposeSum(products)
	}
	products := g.zeros512(8)
	s, end := g.eightRows(ks), g.label("end")
	for x, product := range products {
		if x > 0 {
			g.CMPQ(n.k, operand.U32(x))
			g.JLE(label(end))
		}
		g.VMULPD_Z(s.row(values, x), weight, *source, product)
	}
	g.Label(end)
	return g.transposeSum(products)
}

// absorbLogs512 takes the logarithms of the sums of several messages, shifts the
// largest to 0 and absorbs them.
func (g *generator) absorbLogs512(n nodeState, y []reg.VecVirtual, target *reg.OpmaskVirtual) {
	after := g.fromMemory().shortLogs512(y)
	largest := make([]reg.VecVirtual, len(y))
	for i := range y {
		if target == nil {
			largest[i] = g.ZMM()
			g.VMOVAPD(after[i], largest[i])
		} else {
			largest[i] = g.broadcast512("negativeInfinity")
			g.VMOVAPD(after[i], *target, largest[i])
		}
	}
	g.spreads(g.VMAXPD, largest)
	for i := range y {
		g.VSUBPD(largest[i], after[i], after[i])
		if target != nil {
			g.VMOVAPD_Z(after[i], *target, after[i])
		}
	}
	for i := range y {
		g.absorbRegister512(n, i, after[i], target)
	}
}

// absorbRegister512 is absorb512 for the i-th message, which is in a register.
func (g *generator) absorbRegister512(n nodeState, i int, after reg.VecVirtual, target *reg.OpmaskVirtual) {
	place := operand.Mem{Base: g.part(n, i, incomingMessage, "messages")}
	before, rho, differ := g.load512(place, target), g.ZMM(), g.K()
	undamped := g.branchUndamped(n.damping, n.zero)
	{
		part, mixed := g.ZMM(), g.ZMM()
		g.VCMPPD(cmpNotEqual, before, after, differ)
		g.VMULPD(n.damping, before, part)
		g.VMULPD(n.keep, after, mixed)
		g.VADDPD(part, mixed, differ, after)
	}
	g.Label(undamped)
	g.VCMPPD(cmpNotEqual, before, after, differ)
	change := g.ZMM()
	g.VSUBPD_Z(before, after, differ, change)
	g.VPANDQ_BCST(g.constant("magnitude"), change, change)
	g.VPMAXUQ(change, n.residual, n.residual)
	g.VBROADCASTSD(n.field(i, incomingRho), rho)
	g.VFMADD231PD(after, rho, n.sum)
	g.store512(after, place, target)
}

// nodeBelief512 normalises the sum; it jumps away where no state is possible or a
// number is not finite.
func (g *generator) nodeBelief512(n nodeState, impossible string) {
	v := g.fromMemory()
	x, largest, unordered := g.broadcast512("negativeInfinity"), g.ZMM(), g.K()
	g.VMOVAPD(n.sum, *n.target, x)
	g.VMOVAPD(x, largest)
	g.VCMPPD(cmpUnordered, x, x, unordered)
	g.spread(g.VMAXPD, largest)
	magnitude, infinite := g.ZMM(), g.K()
	g.VPANDQ_BCST(g.constant("magnitude"), largest, magnitude)
	g.VCMPPD_BCST(cmpGreater, g.constant("largest"), magnitude, infinite)
	g.KORTESTB(infinite, unordered)
	g.JNZ(label(impossible))
	g.VSUBPD(largest, x, x)
	g.VMULPD(n.inverse, x, x)
	raw, normalise := g.label("raw"), g.Load(g.Param("normalise"), g.GP8())
	g.TESTB(normalise, normalise)
	g.JZ(label(raw))
	y := g.ZMM()
	g.VMOVAPD(x, y)
	e := v.shortExps512([]reg.VecVirtual{y}, byLatency)[0]
	g.spread(g.VADDPD, e)
	g.VSUBPD(v.shortLogs512([]reg.VecVirtual{e})[0], x, x)
	g.Label(raw)
	g.store512(x, operand.Mem{Base: g.base("belief")}, n.target)
}
