package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// velocity512 emits the kernels for velocities of messages, float32, laid out as the
// messages are.
func (g *generator) velocity512() {
	g.function("remember512", "func(before, messages []float64, velocity []float32, in []int32, k int, factor float64)", "is Remember.")
	factor := g.ZMM()
	g.broadcastParam("factor", factor)
	before := g.base("before")
	g.eachMessage(before, func(message, velocity, i reg.Register, mask *reg.OpmaskVirtual) {
		m := g.load512(at64(message, i, 0), mask)
		g.VFNMADD231PD(factor, g.widen512(at32(velocity, i, 0), mask), m)
		g.VMOVUPD(m, at64(before, i, 0)) // what is beyond the row is overwritten by the next
	})
	g.end()

	g.function("measure512", "func(before, messages []float64, velocity []float32, in []int32, k int) (product, square float64)", "is Measure.")
	product, square := g.zero512(), g.zero512()
	before = g.base("before")
	g.eachMessage(before, func(message, velocity, i reg.Register, mask *reg.OpmaskVirtual) {
		change, magnitude, followed := g.load512(at64(message, i, 0), mask), g.ZMM(), g.K()
		g.VSUBPD(g.load512(at64(before, i, 0), mask), change, change)
		g.VPANDQ_BCST(g.constant("magnitude"), change, magnitude)
		g.VCMPPD_BCST(operand.U8(1), g.constant("mostVelocity"), magnitude, followed) // less, and no NaN
		g.VMOVAPD_Z(change, followed, change)
		g.VFMADD231PD(g.widen512(at32(velocity, i, 0), mask), change, product)
		g.VFMADD231PD(change, change, square)
		narrow := g.YMM()
		g.VCVTPD2PS(change, narrow)
		if mask == nil {
			g.VMOVUPS(narrow, at32(velocity, i, 0))
		} else {
			g.VMOVUPS(narrow, *mask, at32(velocity, i, 0))
		}
	})
	g.spread(g.VADDPD, product)
	g.spread(g.VADDPD, square)
	g.Store(product.AsX(), g.ReturnIndex(0))
	g.Store(square.AsX(), g.ReturnIndex(1))
	g.end()
}

// carry512 emits Carry. Vector by vector, a belief stays in a register while the messages
// into its node go by.
func (g *generator) carry512() {
	g.function("carry512", "func(beliefs, messages []float64, velocity []float32, nodes, order, inStart, in []int32, rho []float64, k int, factor, count float64)", "is Carry.")
	factor := g.ZMM()
	g.broadcastParam("factor", factor)
	order, left, start, in, k := g.base("order"), g.length("order"), g.base("inStart"), g.base("in"), g.intParam("k")
	again, next, done := g.label("node"), g.label("next"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	n := g.GP32()
	g.MOVL(operand.Mem{Base: start, Disp: 4}, n)
	g.SUBL(operand.Mem{Base: start}, n)
	g.JLE(label(next))
	belief, toBelief := g.carriedNode(order)
	g.row(k, func(i reg.Register, mask *reg.OpmaskVirtual) {
		row := at64(belief, i, 0)
		b := g.load512(row, mask)
		g.eachInto(in, n.As64(), k, func(message, velocity reg.Register) {
			change, m := g.ZMM(), g.load512(at64(message, i, 0), mask)
			g.VMULPD(factor, g.widen512(at32(velocity, i, 0), mask), change)
			g.VADDPD(change, m, m)
			g.VFMADD231PD(toBelief, change, b)
			g.store512(m, at64(message, i, 0), mask)
		})
		g.store512(b, row, mask)
	})
	g.LEAQ(operand.Mem{Base: in, Index: n.As64(), Scale: 4}, in)
	g.Label(next)
	g.ADDQ(operand.U8(4), start)
	g.ADDQ(operand.U8(4), order)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.end()
}

// carriedNode returns where the belief of a node begins, and count over its ρ.
func (g *generator) carriedNode(order reg.Register) (belief reg.Register, toBelief reg.VecVirtual) {
	belief, toBelief = g.GP64(), g.ZMM()
	g.MOVLQSX(operand.Mem{Base: order}, belief)
	g.MOVLQSX(operand.Mem{Base: g.base("nodes"), Index: belief, Scale: 4}, belief)
	g.broadcastParam("count", toBelief)
	g.VDIVSD(at64(g.base("rho"), belief, 0), toBelief.AsX(), toBelief.AsX())
	g.VBROADCASTSD(toBelief.AsX(), toBelief)
	g.IMULQ(g.intParam("k"), belief)
	g.SHLQ(operand.U8(3), belief)
	g.ADDQ(g.base("beliefs"), belief)
	return belief, toBelief
}

// eachInto emits body for each of the n > 0 messages in a list.
func (g *generator) eachInto(in, n, k reg.Register, body func(message, velocity reg.Register)) {
	messages, velocities := g.base("messages"), g.base("velocity")
	p, left, again := g.GP64(), g.GP64(), g.label("message")
	g.MOVQ(in, p)
	g.MOVQ(n, left)
	g.Label(again)
	message, velocity := g.GP64(), g.GP64()
	g.MOVLQSX(operand.Mem{Base: p}, velocity)
	g.IMULQ(k, velocity)
	g.LEAQ(at64(messages, velocity, 0), message)
	g.LEAQ(at32(velocities, velocity, 0), velocity)
	body(message, velocity)
	g.ADDQ(operand.U8(4), p)
	g.DECQ(left)
	g.JNZ(label(again))
}

// eachMessage emits body for each vector of each message into a block: message and
// velocity are where the rows begin, before moves on by a row.
func (g *generator) eachMessage(before reg.Register, body func(message, velocity, i reg.Register, mask *reg.OpmaskVirtual)) {
	in, left, k := g.base("in"), g.length("in"), g.intParam("k")
	messages, velocities := g.base("messages"), g.base("velocity")
	again, done := g.label("message"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	d, message, velocity := g.GP64(), g.GP64(), g.GP64()
	g.MOVLQSX(operand.Mem{Base: in}, d)
	g.IMULQ(k, d)
	g.LEAQ(at64(messages, d, 0), message)
	g.LEAQ(at32(velocities, d, 0), velocity)
	g.row(k, func(i reg.Register, mask *reg.OpmaskVirtual) { body(message, velocity, i, mask) })
	g.LEAQ(operand.Mem{Base: before, Index: k, Scale: 8}, before)
	g.ADDQ(operand.U8(4), in)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
}
