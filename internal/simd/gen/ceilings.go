package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ceilings are the kernels of lab/ceilings: what the processor can do at most,
// to hold the kernels of internal/simd against. Go cannot express either: it has
// no vectors, and a sum of what is read would measure the additions.
func (g *generator) ceilings() {
	xor512 := func(m, a operand.Op) { g.VPXORQ(m, a, a) }
	xor256 := func(m, a operand.Op) { g.VPXOR(m, a, a) }
	g.multiplyAdd("multiplyAdd512", g.ZMM, xor512, accumulators512)
	g.multiplyAdd("multiplyAdd256", g.YMM, xor256, accumulators256)
	g.readAll("readAll512", g.ZMM, func(m, v operand.Op) { g.VMOVDQU64(m, v) }, xor512, 64)
	g.readAll("readAll256", g.YMM, func(m, v operand.Op) { g.VMOVDQU(m, v) }, xor256, 32)
}

const (
	// accumulators512 and accumulators256 are the chains of multiply-adds that run
	// beside each other: at least latency times units (4·2 to 5·2), and no more than
	// there are registers, two of which hold the factor and the summand.
	accumulators512 = 24
	accumulators256 = 12
	// readUnroll is how many vectors a step of readAll reads.
	readUnroll = 8
)

// multiplyAdd emits rounds of acc = acc·x + y in every entry of a fixed number of
// vectors, and returns the sum of the entries, so that a test can tell that every
// multiply-add was made.
func (g *generator) multiplyAdd(name string, vector func() reg.VecVirtual, xor func(m, a operand.Op), accumulators int) {
	g.function(name, "func(rounds int, x, y float64) (total float64)",
		"makes rounds multiply-adds acc = acc·x + y, from 0, in each of many entries and returns the sum of these.")
	rounds := g.Load(g.Param("rounds"), g.GP64())
	x, y := vector(), vector()
	g.broadcastParam("x", x)
	g.broadcastParam("y", y)
	acc := zeros(accumulators, vector, xor)
	again, done := g.label("again"), g.label("done")
	g.TESTQ(rounds, rounds)
	g.JLE(label(done))
	g.Label(again)
	for _, a := range acc {
		g.VFMADD213PD(y, x, a)
	}
	g.DECQ(rounds)
	g.JNZ(label(again))
	g.Label(done)
	for _, a := range acc[1:] {
		g.VADDPD(a, acc[0], acc[0])
	}
	g.Store(g.sumOfEntries(acc[0]), g.ReturnIndex(0))
	g.end()
}

// zeros returns n vectors that are 0.
func zeros(n int, vector func() reg.VecVirtual, xor func(m, a operand.Op)) []reg.VecVirtual {
	list := make([]reg.VecVirtual, n)
	for i := range list {
		list[i] = vector()
		xor(list[i], list[i])
	}
	return list
}

// broadcastParam puts a float64 parameter into every entry.
func (g *generator) broadcastParam(name string, v reg.VecVirtual) {
	address, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	g.VBROADCASTSD(address.Addr, v)
}

// sumOfEntries returns the sum of the entries of z, which it changes.
func (g *generator) sumOfEntries(z reg.VecVirtual) reg.Register {
	if z.Size() == 64 {
		upper := g.YMM()
		g.VEXTRACTF64X4(operand.U8(1), z, upper)
		g.VADDPD(upper, z.AsY(), z.AsY())
	}
	upper := g.XMM()
	g.VEXTRACTF128(operand.U8(1), z.AsY(), upper)
	g.VADDPD(upper, z.AsX(), z.AsX())
	g.VHADDPD(z.AsX(), z.AsX(), z.AsX())
	return z.AsX()
}

// readAll emits a read of whole steps of x, as wide as the registers are, and
// returns the exclusive or of the words of the last step. That the step before is
// not in it is on purpose: on some processors even exclusive ors cannot keep up with
// loads from the first level.
func (g *generator) readAll(name string, vector func() reg.VecVirtual, load, xor func(m, v operand.Op), width int) {
	g.function(name, "func(x []float64) (parity uint64)",
		fmt.Sprintf("reads x, whose length is a multiple of %d, and returns the exclusive or of its last %d words.", readUnroll*8, readUnroll*width/8))
	x, left := g.base("x"), g.length("x")
	v := zeros(readUnroll, vector, xor)
	again, done := g.label("again"), g.label("done")
	step := readUnroll * width
	g.SHLQ(operand.U8(3), left) // bytes
	g.CMPQ(left, operand.U32(step))
	g.JLT(label(done))
	g.Label(again)
	for i := range v {
		load(operand.Mem{Base: x, Disp: i * width}, v[i])
	}
	g.ADDQ(operand.U32(step), x)
	g.SUBQ(operand.U32(step), left)
	g.CMPQ(left, operand.U32(step))
	g.JGE(label(again))
	g.Label(done)
	for _, more := range v[1:] {
		xor(more, v[0])
	}
	g.Store(g.parityOfWords(v[0]), g.ReturnIndex(0))
	g.end()
}

// parityOfWords returns the exclusive or of the words of z, which it changes.
func (g *generator) parityOfWords(z reg.VecVirtual) reg.Register {
	if z.Size() == 64 {
		upper := g.YMM()
		g.VEXTRACTI64X4(operand.U8(1), z, upper)
		g.VPXOR(upper, z.AsY(), z.AsY())
	}
	upper := g.XMM()
	g.VEXTRACTI128(operand.U8(1), z.AsY(), upper)
	g.VPXOR(upper, z.AsX(), z.AsX())
	g.VPSRLDQ(operand.U8(8), z.AsX(), upper)
	g.VPXOR(upper, z.AsX(), z.AsX())
	word := g.GP64()
	g.VMOVQ(z.AsX(), word)
	return word
}
