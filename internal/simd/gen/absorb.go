package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const absorbSignature = "func(old, message, sum []float64, rho, damping float64) (residual float64)"

// branchUndamped jumps to a new label, which it returns, where damping is 0.
func (g *generator) branchUndamped(damping, zero reg.VecVirtual) string {
	undamped := g.label("undamped")
	g.VUCOMISD(zero.AsX(), damping.AsX())
	g.JE(label(undamped)) // or NaN
	return undamped
}

// absorb512 keeps the residual as the bits of magnitudes: as integers these are
// in the order of the numbers, with every NaN above all of them.
func (g *generator) absorb512() {
	g.function("absorb512", absorbSignature, "is Absorb.")
	old, message, sum, n := g.base("old"), g.base("message"), g.base("sum"), g.length("old")
	rho, damping, keep := g.ZMM(), g.ZMM(), g.broadcast512("one")
	g.broadcastParam("rho", rho)
	g.broadcastParam("damping", damping)
	g.VSUBPD(damping, keep, keep)
	residual, zero := g.zero512(), g.zero512()
	g.loop512(n, 1, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		before := g.load512(at64(old, i, offset), mask)
		after := g.load512(at64(message, i, offset), mask)
		differ := g.K()
		undamped := g.branchUndamped(damping, zero)
		{
			part, mixed := g.ZMM(), g.ZMM()
			g.VCMPPD(cmpNotEqual, before, after, differ)
			g.VMULPD(damping, before, part)
			g.VMULPD(keep, after, mixed)
			g.VADDPD(part, mixed, differ, after)
		}
		g.Label(undamped)
		g.noteChange(after, before, residual)
		g.store512(after, at64(old, i, offset), mask)
		total := g.load512(at64(sum, i, offset), mask)
		g.VFMADD231PD(after, rho, total)
		g.store512(total, at64(sum, i, offset), mask)
	})
	g.spread(g.VPMAXUQ, residual)
	g.Store(residual.AsX(), g.ReturnIndex(0))
	g.end()
}

// maxBits256 is acc = max(x, acc) of non-negative numbers by their bits, in which
// a NaN is the largest.
func (g avx2) maxBits256(x, acc operand.Op) {
	more := g.YMM()
	g.VPCMPGTQ(acc, x, more)
	g.VBLENDVPD(more, x, acc, acc)
}

func (g avx2) absorb256() {
	g.function("absorb256", absorbSignature, "is Absorb.")
	old, message, sum, n := g.base("old"), g.base("message"), g.base("sum"), g.length("old")
	rho, damping, keep := g.broadcastParam256("rho"), g.broadcastParam256("damping"), g.copyWide("one")
	g.VSUBPD(damping, keep, keep)
	residual, zero := g.zero256(), g.zero256()
	g.loop256(n, 1, func(i reg.Register, offset int, rest *rest256) {
		before := g.load256(at64(old, i, offset), rest)
		after := g.load256(at64(message, i, offset), rest)
		differ := g.YMM()
		undamped := g.branchUndamped(damping, zero)
		{
			part, mixed := g.YMM(), g.YMM()
			g.VCMPPD(cmpNotEqual, before, after, differ)
			g.VMULPD(damping, before, part)
			g.VMULPD(keep, after, mixed)
			g.VADDPD(part, mixed, mixed)
			g.VBLENDVPD(differ, mixed, after, after)
		}
		g.Label(undamped)
		g.noteChange256(after, before, residual)
		g.store256(after, at64(old, i, offset), rest)
		total := g.load256(at64(sum, i, offset), rest)
		g.VFMADD231PD(after, rho, total)
		g.store256(total, at64(sum, i, offset), rest)
	})
	g.storeResidual256(residual)
}
