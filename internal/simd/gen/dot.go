package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const dotSignature = "func(x, y []float64) float64"

// dot512 keeps four sums, so that no addition waits for the one before.
func (g *generator) dot512() {
	g.function("dot512", dotSignature, "is Dot.")
	x, y, n := g.base("x"), g.base("y"), g.length("x")
	sums := g.zeros512(4)
	g.loop512(n, 4, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		g.VFMADD231PD(g.load512(at64(y, i, offset), mask), g.load512(at64(x, i, offset), mask), sums[offset/64])
	})
	g.VADDPD(sums[1], sums[0], sums[0])
	g.VADDPD(sums[3], sums[2], sums[2])
	g.VADDPD(sums[2], sums[0], sums[0])
	g.spread(g.VADDPD, sums[0])
	g.Store(sums[0].AsX(), g.ReturnIndex(0))
	g.end()
}

// dot256 is dot512 for AVX2.
func (g avx2) dot256() {
	g.function("dot256", dotSignature, "is Dot.")
	x, y, n := g.base("x"), g.base("y"), g.length("x")
	sums := make([]reg.VecVirtual, 4)
	for i := range sums {
		sums[i] = g.zero256()
	}
	g.loop256(n, 4, func(i reg.Register, offset int, rest *rest256) {
		g.VFMADD231PD(g.load256(at64(y, i, offset), rest), g.load256(at64(x, i, offset), rest), sums[offset/32])
	})
	g.VADDPD(sums[1], sums[0], sums[0])
	g.VADDPD(sums[3], sums[2], sums[2])
	g.VADDPD(sums[2], sums[0], sums[0])
	half := g.XMM()
	g.VEXTRACTF128(operand.U8(1), sums[0], half)
	g.VADDPD(half, sums[0].AsX(), half)
	other := g.XMM()
	g.VPERMILPD(operand.U8(1), half, other)
	g.VADDSD(other, half, half)
	g.Store(half, g.ReturnIndex(0))
	g.end()
}

// entropy512 takes everything below the smallest normal number for that: 0 log 0 = 0.
func (g *generator) entropy512() {
	g.function("entropy512", "func(x []float64) float64", "is Entropy.")
	x, n := g.base("x"), g.length("x")
	v := g.fromRegisters("smallestNormal", "one", "logLn2High", "logLn2Low")
	v.keepTable("reciprocal")
	v.keepTable("minusLog")
	sum := g.zeros512(2)
	g.somePanels512(n, 2, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		p, y := make([]reg.VecVirtual, vectors), make([]reg.VecVirtual, vectors)
		for c := range p {
			p[c], y[c] = g.load512(bytes(x, offset, 64*c), only(c, vectors, mask)), g.ZMM()
			g.VMAXPD(v.registers["smallestNormal"], p[c], y[c])
		}
		for c, log := range v.logs512(y) {
			g.VFNMADD231PD(p[c], log, sum[c])
		}
	})
	g.VADDPD(sum[1], sum[0], sum[0])
	g.spread(g.VADDPD, sum[0])
	g.Store(sum[0].AsX(), g.ReturnIndex(0))
	g.end()
}

// entropy256 is entropy512 for AVX2.
func (g avx2) entropy256() {
	g.function("entropy256", "func(x []float64) float64", "is Entropy.")
	x, n := g.base("x"), g.length("x")
	g.hoist("oneLessSqrtHalf", "integer", "one", "half")
	sum := g.zero256()
	g.loop256(n, 2, func(i reg.Register, offset int, rest *rest256) {
		p, y := g.load256(at64(x, i, offset), rest), g.YMM()
		g.VMAXPD(g.wide("smallestNormal"), p, y)
		g.VFNMADD231PD(p, g.log256(y), sum)
	})
	half, other := g.XMM(), g.XMM()
	g.VEXTRACTF128(operand.U8(1), sum, half)
	g.VADDPD(half, sum.AsX(), half)
	g.VPERMILPD(operand.U8(1), half, other)
	g.VADDSD(other, half, half)
	g.Store(half, g.ReturnIndex(0))
	g.end()
}
