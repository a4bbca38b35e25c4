package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors emits kernels over vectors of 4 numbers (AVX2) or of 8 (AVX-512), with parts for rows of 2. Each kernel is written
// once, over this type; what the two sets of instructions do in different ways is in this file and in
// those of the elementary functions.
type vectors struct {
	*generator
	lanes int
}

// name is that of a kernel of this width.
func (v vectors) name(kernel string) string {
	if v.lanes == 8 {
		return kernel + "512"
	}
	return kernel + "256"
}

// bytes is the length of a vector.
func (v vectors) bytes() int { return 8 * v.lanes }

func (v vectors) vector() reg.VecVirtual {
	switch v.lanes {
	case 8:
		return v.ZMM()
	case 4:
		return v.YMM()
	}
	return v.XMM()
}

// several returns n vectors, and zeros n that are 0.
func (v vectors) several(n int) []reg.VecVirtual {
	list := make([]reg.VecVirtual, n)
	for i := range list {
		list[i] = v.vector()
	}
	return list
}

// With VXORPD, unlike VPXORQ, avo knows that the result does not depend on what was there.
func (v vectors) zeros(n int) []reg.VecVirtual {
	list := v.several(n)
	for _, x := range list {
		v.VXORPD(x, x, x)
	}
	return list
}

// lower are the first two entries of x.
func lower(x reg.VecVirtual) reg.VecVirtual { return x.AsX().(reg.VecVirtual) }

func (v vectors) zeroVector() reg.VecVirtual { return v.zeros(1)[0] }

// hoist keeps constants in registers until the kernel ends, tables of 16 in two.
func (v vectors) hoist(names ...string) {
	if v.hoisted == nil {
		v.generator.hoisted = map[string]reg.VecVirtual{}
	}
	for _, name := range names {
		if len(known()[name]) == 16 {
			for half, part := range tablePair(name) {
				x := v.vector()
				v.VMOVUPD(v.constant(name).Offset(64*half), x)
				v.hoisted[part] = x
			}
			continue
		}
		v.hoisted[name] = v.copyOf(name)
	}
}

// spare is hoist where there are registers to spare.
func (v vectors) spare(names ...string) {
	if v.lanes == 8 {
		v.hoist(names...)
	}
}

// copyOf returns a new vector of copies of a constant.
func (v vectors) copyOf(name string) reg.VecVirtual {
	x := v.vector()
	if kept, ok := v.hoisted[name]; ok {
		v.VMOVAPD(kept, x)
	} else {
		v.VBROADCASTSD(v.constant(name), x)
	}
	return x
}

// wide is a vector of copies of a constant, to be read: in a register or, with AVX2, which has few, in memory.
func (v vectors) wide(name string) operand.Op {
	if x, ok := v.hoisted[name]; ok {
		return x
	}
	if v.lanes < 8 {
		return v.constant("wide " + name)
	}
	return v.copyOf(name)
}

// parameter is a parameter in every entry.
func (v vectors) parameter(name string) reg.VecVirtual {
	address, err := v.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return v.broadcast(address.Addr)
}

// broadcast is a number from memory in every entry.
func (v vectors) broadcast(m operand.Mem) reg.VecVirtual {
	x := v.vector()
	v.broadcastTo(m, x)
	return x
}

func (v vectors) broadcastTo(m operand.Mem, x reg.VecVirtual) {
	if v.lanes == 2 {
		v.VMOVDDUP(m, x)
	} else {
		v.VBROADCASTSD(m, x)
	}
}

// A mask has a bit for each entry: an opmask with AVX-512, and with AVX2 all bits of a vector.

// compare returns the mask of the entries with a predicate b, as VCMPPD has them.
func (v vectors) compare(predicate, b operand.Op, a reg.Register) reg.Register {
	var mask reg.Register = v.K()
	if v.lanes < 8 {
		mask = v.vector()
	}
	v.VCMPPD(predicate, b, a, mask)
	return mask
}

// nowhere is a mask without a bit.
func (v vectors) nowhere() reg.Register {
	if v.lanes < 8 {
		return v.zeroVector()
	}
	k := v.K()
	v.KXORB(k, k, k)
	return k
}

// everywhere is a mask with all bits.
func (v vectors) everywhere() reg.Register {
	if v.lanes == 4 {
		mask := v.YMM()
		v.VPCMPEQQ(mask, mask, mask)
		return mask
	}
	k := v.K()
	v.KXNORB(k, k, k)
	return k
}

// or adds the bits of a mask to those of another, and and takes the others out of it.
func (v vectors) or(mask, to operand.Op) {
	if v.lanes < 8 {
		v.VORPD(mask, to, to)
	} else {
		v.KORB(mask, to, to)
	}
}

func (v vectors) and(mask, of operand.Op) {
	if v.lanes < 8 {
		v.VANDPD(mask, of, of)
	} else {
		v.KANDB(mask, of, of)
	}
}

// clear sets the entries outside of a mask to 0, and choose puts x in the place of those of y in it.
func (v vectors) clear(mask operand.Op, x reg.VecVirtual) {
	if v.lanes < 8 {
		v.VANDPD(mask, x, x)
	} else {
		v.VMOVAPD_Z(x, mask, x)
	}
}

func (v vectors) choose(mask operand.Op, x operand.Op, y reg.VecVirtual) {
	if v.lanes < 8 {
		v.VBLENDVPD(mask, x, y, y)
	} else {
		v.VMOVUPD(x, mask, y)
	}
}

// signs is the mask of the entries whose first bit is set.
func (v vectors) signs(x reg.VecVirtual) reg.Register {
	if v.lanes < 8 {
		return x
	}
	k := v.K()
	v.VPMOVQ2M(x, k)
	return k
}

// ifAny jumps where a mask has a bit, and ifNone where it has none.
func (v vectors) ifAny(mask operand.Op, to string)  { v.test(mask); v.JNZ(label(to)) }
func (v vectors) ifNone(mask operand.Op, to string) { v.test(mask); v.JZ(label(to)) }

func (v vectors) test(mask operand.Op) {
	if v.lanes < 8 {
		bits := v.GP32()
		v.VMOVMSKPD(mask, bits)
		v.TESTL(bits, bits)
	} else {
		v.KORTESTB(mask, mask)
	}
}

// rest is the end of a row that does not fill a vector: how many entries, 1 to a whole vector, and the
// mask of them, for loads. A nil one stands for a whole vector.
type rest struct{ count, mask reg.Register }

// first is the rest of so many entries, which must stay as it is for stores.
func (v vectors) first(count reg.Register) *rest {
	if v.lanes == 8 {
		ones, k := v.GP64(), v.K()
		v.MOVQ(operand.I32(-1), ones)
		v.BZHIQ(count, ones, ones)
		v.KMOVB(ones.As32(), k)
		return &rest{count, k}
	}
	// The window that begins so many entries before the end of the table's ones.
	start, minus, mask := v.GP64(), v.GP64(), v.YMM()
	v.LEAQ(v.constant("window").Offset(32), start)
	v.MOVQ(count, minus)
	v.NEGQ(minus)
	v.VMOVUPD(at64(start, minus, 0), mask)
	return &rest{count, mask}
}

// load reads a vector, 0 outside of the rest.
func (v vectors) load(m operand.Mem, r *rest) reg.VecVirtual {
	x := v.vector()
	switch {
	case r == nil:
		v.VMOVUPD(m, x)
	case v.lanes < 8:
		v.VMASKMOVPD(m, r.mask, x)
	default:
		v.VMOVUPD_Z(m, r.mask, x)
	}
	return x
}

// orElse is x, and a constant outside of the rest.
func (v vectors) orElse(name string, x reg.VecVirtual, r *rest) reg.VecVirtual {
	if r == nil {
		return x
	}
	y := v.copyOf(name)
	v.choose(r.mask, x, y)
	return y
}

// within sets x to 0 outside of the rest.
func (v vectors) within(r *rest, x reg.VecVirtual) {
	if r != nil {
		v.clear(r.mask, x)
	}
}

// store leaves x as it is. It writes the rest of a row in pieces of 4, 2 and 1: the processor holds a
// later load that overlaps the window of a masked store, even where the mask is off.
func (v vectors) store(x reg.VecVirtual, m operand.Mem, r *rest) {
	if r == nil {
		v.VMOVUPD(x, m)
		return
	}
	partial, noFour, noTwo, done := v.label("partial"), v.label("noFour"), v.label("noTwo"), v.label("stored")
	v.CMPQ(r.count, operand.U8(v.lanes))
	v.JLT(label(partial))
	v.VMOVUPD(x, m)
	v.JMP(label(done))
	v.Label(partial)
	p, left := v.GP64(), v.YMM()
	v.LEAQ(m, p)
	v.VMOVAPD(x.AsY(), left)
	if v.lanes == 8 {
		v.TESTQ(operand.U32(4), r.count)
		v.JZ(label(noFour))
		v.VMOVUPD(left, operand.Mem{Base: p})
		v.VEXTRACTF64X4(operand.U8(1), x, left)
		v.ADDQ(operand.U32(32), p)
		v.Label(noFour)
	}
	v.TESTQ(operand.U32(2), r.count)
	v.JZ(label(noTwo))
	v.VMOVUPD(left.AsX(), operand.Mem{Base: p})
	v.upperHalf(left, left.AsX())
	v.ADDQ(operand.U32(16), p)
	v.Label(noTwo)
	v.TESTQ(operand.U32(1), r.count)
	v.JZ(label(done))
	v.VMOVSD(left.AsX(), operand.Mem{Base: p})
	v.Label(done)
}

// storeApart is store where nobody reads the row soon: masked with AVX-512. Masked stores of AVX2 are slow.
func (v vectors) storeApart(x reg.VecVirtual, m operand.Mem, r *rest) {
	if r != nil && v.lanes == 8 {
		v.VMOVUPD(x, r.mask, m)
		return
	}
	v.store(x, m, r)
}

// upperHalf takes the upper 128 bits of y.
func (v vectors) upperHalf(y, x operand.Op) {
	if v.lanes == 8 {
		v.VEXTRACTF64X2(operand.U8(1), y, x)
	} else {
		v.VEXTRACTF128(operand.U8(1), y, x)
	}
}

// together emits body for the whole vectors of a row of n entries, most of them at a time, then one by one, and
// then for the rest. body gets the index of the first vector, and how many they are.
func (v vectors) together(n reg.Register, most int, body func(index reg.Register, count int, r *rest)) {
	index, left := v.zero(), v.GP64()
	v.MOVQ(n, left)
	steps := []int{1}
	if most > 1 {
		steps = []int{most, 1}
	}
	for _, u := range steps {
		again, done := v.label("whole"), v.label("rest")
		v.CMPQ(left, operand.U32(v.lanes*u))
		v.JLT(label(done))
		v.Label(again)
		body(index, u, nil)
		v.ADDQ(operand.U32(v.lanes*u), index)
		v.SUBQ(operand.U32(v.lanes*u), left)
		v.CMPQ(left, operand.U32(v.lanes*u))
		v.JGE(label(again))
		v.Label(done)
	}
	done := v.label("done")
	v.TESTQ(left, left)
	v.JZ(label(done))
	body(index, 1, v.first(left))
	v.Label(done)
}

// loop is together for a body of one vector, which gets an offset in bytes to add to the index.
func (v vectors) loop(n reg.Register, unroll int, body func(index reg.Register, offset int, r *rest)) {
	v.together(n, unroll, func(index reg.Register, count int, r *rest) {
		for i := range count {
			body(index, v.bytes()*i, r)
		}
	})
}

// row is loop, with eight entries as a case of its own: for them a loop takes as long as what is in it.
func (v vectors) row(n reg.Register, body func(index reg.Register, offset int, r *rest)) {
	other, done := v.label("other"), v.label("row")
	v.CMPQ(n, operand.U8(8))
	v.JNE(label(other))
	index := v.zero()
	for offset := 0; offset < 64; offset += v.bytes() {
		body(index, offset, nil)
	}
	v.JMP(label(done))
	v.Label(other)
	v.loop(n, 1, body)
	v.Label(done)
}

// panels walks over rows of n entries in panels of up to so many vectors: first whole panels, then the
// rest with as few vectors as hold it. body gets the offset of the panel in bytes, the number of vectors
// and the rest of the last one.
func (v vectors) panels(n reg.Register, most int, body func(offset reg.Register, vectors int, r *rest)) {
	offset, left := v.zero(), v.GP64()
	v.MOVQ(n, left)
	again, few, done := v.label("panel"), v.label("few"), v.label("done")
	v.CMPQ(left, operand.U32(v.lanes*most))
	v.JLT(label(few))
	v.Label(again)
	body(offset, most, nil)
	v.ADDQ(operand.U32(v.bytes()*most), offset)
	v.SUBQ(operand.U32(v.lanes*most), left)
	v.CMPQ(left, operand.U32(v.lanes*most))
	v.JGE(label(again))
	v.Label(few)
	v.TESTQ(left, left)
	v.JZ(label(done))
	for n := 1; n <= most; n++ {
		next := v.label("wider")
		if n < most {
			v.CMPQ(left, operand.U32(v.lanes*n))
			v.JGT(label(next))
		}
		if n > 1 {
			v.SUBQ(operand.U32(v.lanes*(n-1)), left)
		}
		body(offset, n, v.first(left))
		if n < most {
			v.JMP(label(done))
			v.Label(next)
		}
	}
	v.Label(done)
}

// last returns the rest for the last of the vectors of a panel and nil for others.
func last(c, vectors int, r *rest) *rest {
	if c == vectors-1 {
		return r
	}
	return nil
}

// blocks emits body for blocks of so many of n rows as a vector has entries, and for the rows that are
// left, of which it gets the number.
func (v vectors) blocks(n reg.Register, body func(left reg.Register)) {
	left, again, few, done := v.GP64(), v.label("block"), v.label("few"), v.label("blocks")
	v.MOVQ(n, left)
	v.CMPQ(left, operand.U32(v.lanes))
	v.JLT(label(few))
	v.Label(again)
	body(nil)
	v.SUBQ(operand.U32(v.lanes), left)
	v.CMPQ(left, operand.U32(v.lanes))
	v.JGE(label(again))
	v.Label(few)
	v.TESTQ(left, left)
	v.JZ(label(done))
	body(left)
	v.Label(done)
}

// unlessLess jumps where so few are left that there is no i-th, unless all are there.
func (v vectors) unlessLess(left reg.Register, i int, end string) {
	if left != nil && i > 0 {
		v.CMPQ(left, operand.U32(i))
		v.JLE(label(end))
	}
}

// spread makes every entry of x the sum, or maximum, of all entries.
func (v vectors) spread(op func(...operand.Op), x reg.VecVirtual) {
	t := v.vector()
	switch v.lanes {
	case 8:
		v.VSHUFF64X2(operand.U8(0x4e), x, x, t)
		op(t, x, x)
		v.VSHUFF64X2(operand.U8(0xb1), x, x, t)
		op(t, x, x)
	case 4:
		v.VPERM2F128(operand.U8(1), x, x, t)
		op(t, x, x)
	}
	v.VPERMILPD(operand.U8(0x55), x, t)
	op(t, x, x)
}

// transposeSum returns the vector whose i-th entry is the sum of sums[i]. It changes them.
func (v vectors) transposeSum(sums []reg.VecVirtual) reg.VecVirtual {
	var parts []reg.VecVirtual
	for i := 0; i < v.lanes; i += 2 {
		high := v.vector()
		v.VUNPCKHPD(sums[i+1], sums[i], high)
		v.VUNPCKLPD(sums[i+1], sums[i], sums[i])
		v.VADDPD(high, sums[i], sums[i])
		parts = append(parts, sums[i])
	}
	for ; len(parts) > 1; parts = parts[:len(parts)/2] {
		for i := range len(parts) / 2 {
			even, odd := v.pairLanes(parts[2*i], parts[2*i+1])
			v.VADDPD(odd, even, even)
			parts[i] = even
		}
	}
	return parts[0]
}

// pairLanes puts the even lanes of 128 bits of a and b into one vector, and the odd ones into another.
func (v vectors) pairLanes(a, b reg.VecVirtual) (even, odd reg.VecVirtual) {
	even, odd = v.vector(), v.vector()
	if v.lanes == 8 {
		v.VSHUFF64X2(operand.U8(0x88), b, a, even)
		v.VSHUFF64X2(operand.U8(0xdd), b, a, odd)
	} else {
		v.VPERM2F128(operand.U8(0x20), b, a, even)
		v.VPERM2F128(operand.U8(0x31), b, a, odd)
	}
	return even, odd
}

// transpose returns the columns of as many rows as a vector has entries.
func (v vectors) transpose(rows []reg.VecVirtual) []reg.VecVirtual {
	n, columns := v.lanes, make([]reg.VecVirtual, v.lanes)
	for parity, unpack := range []func(...operand.Op){v.VUNPCKLPD, v.VUNPCKHPD} {
		pairs := v.several(n / 2)
		for i, pair := range pairs {
			unpack(rows[2*i+1], rows[2*i], pair)
		}
		if n == 4 {
			columns[parity], columns[parity+2] = v.pairLanes(pairs[0], pairs[1])
			continue
		}
		lowEven, lowOdd := v.pairLanes(pairs[0], pairs[1])
		highEven, highOdd := v.pairLanes(pairs[2], pairs[3])
		columns[parity], columns[parity+4] = v.pairLanes(lowEven, highEven)
		columns[parity+2], columns[parity+6] = v.pairLanes(lowOdd, highOdd)
	}
	return columns
}

// largerBits is acc = max(x, acc) of non-negative numbers by their bits: as integers these are in the order
// of the numbers, with every NaN above all of them.
func (v vectors) largerBits(x, acc operand.Op) {
	if v.lanes == 8 {
		v.VPMAXUQ(x, acc, acc)
		return
	}
	more := v.vector()
	v.VPCMPGTQ(acc, x, more)
	v.VBLENDVPD(more, x, acc, acc)
}

// noteChange raises the residual, bits of magnitudes, to those of after − before where these differ.
func (v vectors) noteChange(after, before, residual reg.VecVirtual) {
	change, differ := v.vector(), v.compare(cmpNotEqual, before, after)
	v.VSUBPD(before, after, change)
	v.VANDPD(v.wide("magnitude"), change, change)
	v.clear(differ, change)
	v.largerBits(change, residual)
}

// storeResidual ends a kernel whose result is a residual.
func (v vectors) storeResidual(residual reg.VecVirtual) {
	v.spread(func(operands ...operand.Op) { v.largerBits(operands[0], operands[1]) }, residual)
	v.Store(residual.AsX(), v.ReturnIndex(0))
	v.end()
}
