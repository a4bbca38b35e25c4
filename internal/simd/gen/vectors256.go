package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 emits kernels for vectors of 256 bits.
type avx2 struct{ *generator }

// wide is a vector of copies of a constant: a register if it was hoisted, or else
// memory.
func (g avx2) wide(name string) operand.Op {
	if y, ok := g.hoisted[name]; ok {
		return y
	}
	return g.constant("wide " + name)
}

// hoist keeps constants in registers until the kernel ends, as many as a loop can
// spare: it is bound by loads.
func (g avx2) hoist(names ...string) {
	g.generator.hoisted = map[string]reg.VecVirtual{}
	for _, name := range names {
		y := g.YMM()
		g.VMOVUPD(g.wide(name), y)
		g.hoisted[name] = y
	}
}

func (g avx2) copyWide(name string) reg.VecVirtual {
	y := g.YMM()
	g.VMOVUPD(g.wide(name), y)
	return y
}

// anySign jumps to a label where the sign of any number of y is set.
func (g avx2) anySign(y reg.VecVirtual, to string) {
	which := g.GP32()
	g.VMOVMSKPD(y, which)
	g.TESTL(which, which)
	g.JNZ(label(to))
}

// rest256 is the end of a row that does not fill a vector: how many entries, 1
// to a whole vector, and the mask of them, for loads. Stores go by pieces of 4, 2 and
// 1, as masked ones are slow.
type rest256 struct {
	count reg.Register
	mask  reg.VecVirtual
}

// rest256 makes the mask of the first count entries.
func (g avx2) rest256(count reg.Register) *rest256 {
	r := &rest256{count, g.YMM()}
	// The window that begins so many entries before the end of the table's ones.
	start, minus := g.GP64(), g.GP64()
	g.LEAQ(g.constant("window").Offset(32), start)
	g.MOVQ(count, minus)
	g.NEGQ(minus)
	g.VMOVUPD(at64(start, minus, 0), r.mask)
	return r
}

func (g avx2) load256(m operand.Mem, rest *rest256) reg.VecVirtual {
	y := g.YMM()
	if rest == nil {
		g.VMOVUPD(m, y)
	} else {
		g.VMASKMOVPD(m, rest.mask, y)
	}
	return y
}

// operate256 emits an instruction whose first operand is in memory.
func (g avx2) operate256(op func(...operand.Op), m operand.Mem, rest *rest256, operands ...operand.Op) {
	var first operand.Op = m
	if rest != nil {
		first = g.load256(m, rest)
	}
	op(append([]operand.Op{first}, operands...)...)
}

// store256 leaves y as it is.
func (g avx2) store256(y reg.VecVirtual, m operand.Mem, rest *rest256) {
	if rest == nil {
		g.VMOVUPD(y, m)
		return
	}
	partial, single, done := g.label("partial"), g.label("single"), g.label("stored")
	g.CMPQ(rest.count, operand.U8(4))
	g.JLT(label(partial))
	g.VMOVUPD(y, m)
	g.JMP(label(done))
	g.Label(partial)
	g.CMPQ(rest.count, operand.U8(2))
	g.JLT(label(single))
	g.VMOVUPD(y.AsX(), m)
	g.JEQ(label(done))
	high := g.XMM()
	g.VEXTRACTF128(operand.U8(1), y, high)
	g.VMOVSD(high, m.Offset(16))
	g.JMP(label(done))
	g.Label(single)
	g.VMOVSD(y.AsX(), m)
	g.Label(done)
}

// loop256 is loop512 for vectors of 256 bits.
func (g avx2) loop256(n reg.Register, unroll int, body func(index reg.Register, offset int, rest *rest256)) {
	index, left := g.zero(), g.GP64()
	g.MOVQ(n, left)
	steps := []int{1}
	if unroll > 1 {
		steps = []int{unroll, 1}
	}
	for _, u := range steps {
		again, done := g.label("whole"), g.label("rest")
		g.CMPQ(left, operand.U32(4*u))
		g.JLT(label(done))
		g.Label(again)
		for i := range u {
			body(index, 32*i, nil)
		}
		g.ADDQ(operand.U32(4*u), index)
		g.SUBQ(operand.U32(4*u), left)
		g.CMPQ(left, operand.U32(4*u))
		g.JGE(label(again))
		g.Label(done)
	}
	done := g.label("done")
	g.TESTQ(left, left)
	g.JZ(label(done))
	body(index, 0, g.rest256(left))
	g.Label(done)
}

// row256 is loop256, with two vectors as a case of its own: for them
// a loop takes as long as what is in it.
func (g avx2) row256(n reg.Register, body func(index reg.Register, offset int, rest *rest256)) {
	wide, done := g.label("wide"), g.label("row")
	g.CMPQ(n, operand.U8(8))
	g.JNE(label(wide))
	index := g.zero()
	body(index, 0, nil)
	body(index, 32, nil)
	g.JMP(label(done))
	g.Label(wide)
	g.loop256(n, 1, body)
	g.Label(done)
}

// panels256 is panels512 for vectors of 256 bits, at most so many at a time.
func (g avx2) panels256(n reg.Register, most int, body func(offset reg.Register, vectors int, rest *rest256)) {
	offset, left := g.zero(), g.GP64()
	g.MOVQ(n, left)
	again, rest, done := g.label("panel"), g.label("rest"), g.label("done")
	g.CMPQ(left, operand.U32(4*most))
	g.JLT(label(rest))
	g.Label(again)
	body(offset, most, nil)
	g.ADDQ(operand.U32(32*most), offset)
	g.SUBQ(operand.U32(4*most), left)
	g.CMPQ(left, operand.U32(4*most))
	g.JGE(label(again))
	g.Label(rest)
	g.TESTQ(left, left)
	g.JZ(label(done))
	for v := 1; v <= most; v++ {
		next := g.label("wider")
		if v < most {
			g.CMPQ(left, operand.U32(4*v))
			g.JGT(label(next))
		}
		if v > 1 {
			g.SUBQ(operand.U32(4*(v-1)), left)
		}
		body(offset, v, g.rest256(left))
		if v < most {
			g.JMP(label(done))
			g.Label(next)
		}
	}
	g.Label(done)
}

func last256(c, vectors int, rest *rest256) *rest256 {
	if c == vectors-1 {
		return rest
	}
	return nil
}

func (g *generator) zero256() reg.VecVirtual { return g.zeros256(1)[0] }

func (g *generator) zeros256(n int) []reg.VecVirtual {
	return zeros(n, g.YMM, func(m, a operand.Op) { g.VXORPD(m, a, a) })
}

// spread256 makes every entry of y the sum, or maximum, of all entries.
func (g avx2) spread256(op func(...operand.Op), y reg.VecVirtual) {
	t := g.YMM()
	g.VPERM2F128(operand.U8(1), y, y, t)
	op(t, y, y)
	g.VPERMILPD(operand.U8(5), y, t)
	op(t, y, y)
}

// transposeSum256 returns the vector whose i-th entry is the sum of sums[i]. It
// changes them.
func (g avx2) transposeSum256(sums []reg.VecVirtual) reg.VecVirtual {
	for i := 0; i < 4; i += 2 {
		high := g.YMM()
		g.VUNPCKHPD(sums[i+1], sums[i], high)
		g.VUNPCKLPD(sums[i+1], sums[i], sums[i])
		g.VADDPD(high, sums[i], sums[i])
	}
	high := g.YMM()
	g.VPERM2F128(operand.U8(0x31), sums[2], sums[0], high)
	g.VPERM2F128(operand.U8(0x20), sums[2], sums[0], sums[0])
	g.VADDPD(high, sums[0], sums[0])
	return sums[0]
}

// broadcastParam256 is a parameter in every entry.
func (g avx2) broadcastParam256(name string) reg.VecVirtual {
	address, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	y := g.YMM()
	g.VBROADCASTSD(address.Addr, y)
	return y
}
