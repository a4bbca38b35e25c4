package main

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
)

// ceilings are the kernels of lab/ceilings: what the processor can do at most, to hold the kernels of internal/simd
// against. Go cannot express either: it has no vectors, and a sum of what is read would measure the additions.
func (g *generator) ceilings() {
	wide, narrow := vectors{g, 8}, vectors{g, 4}
	wide.multiplyAdd(accumulators512)
	narrow.multiplyAdd(accumulators256)
	wide.readAll()
	narrow.readAll()
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

// multiplyAdd emits rounds of acc = acc·x + y in every entry of a fixed number of vectors, and returns the sum of the
// entries, so that a test can tell that every multiply-add was made.
func (v vectors) multiplyAdd(accumulators int) {
	v.function(v.name("multiplyAdd"), "func(rounds int, x, y float64) (total float64)",
		"makes rounds multiply-adds acc = acc·x + y, from 0, in each of many entries and returns the sum of these.")
	x, y, acc := v.parameter("x"), v.parameter("y"), v.zeros(accumulators)
	v.times(v.intParam("rounds"), func() {
		for _, a := range acc {
			v.VFMADD213PD(y, x, a)
		}
	})
	for _, a := range acc[1:] {
		v.VADDPD(a, acc[0], acc[0])
	}
	v.spread(v.VADDPD, acc[0])
	v.Store(acc[0].AsX(), v.ReturnIndex(0))
	v.end()
}

// readAll emits a read of whole steps of x and returns the exclusive or of the words of the last step. That the step
// before is not in it is on purpose: on some processors even exclusive ors cannot keep up with loads from the first
// level.
func (v vectors) readAll() {
	v.function(v.name("readAll"), "func(x []float64) (parity uint64)", fmt.Sprintf("reads x, whose length is a "+
		"multiple of %d, and returns the exclusive or of its last %d words.", readUnroll*8, readUnroll*v.lanes))
	x, left, words, step := v.base("x"), v.length("x"), v.zeros(readUnroll), readUnroll*v.lanes
	v.SHRQ(operand.U8(bits.TrailingZeros(uint(step))), left)
	v.times(left, func() {
		for i, word := range words {
			v.VMOVUPD(operand.Mem{Base: x, Disp: i * v.bytes()}, word)
		}
		v.ADDQ(operand.U32(8*step), x)
	})
	for _, more := range words[1:] {
		v.VXORPD(more, words[0], words[0])
	}
	v.spread(v.VXORPD, words[0])
	parity := v.GP64()
	v.VMOVQ(words[0].AsX(), parity)
	v.Store(parity, v.ReturnIndex(0))
	v.end()
}
