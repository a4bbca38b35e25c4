package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in bytes of the fields of simd.Message and simd.Node, and their sizes; a
// test of simd holds them against the compiler's.
const (
	messageBelief   = 0
	messageReverse  = 8
	messageOld      = 16
	messageTable    = 24
	messageRho      = 32
	messageWeight   = 40
	messageOut      = 44
	messageSum      = 48
	messageSource   = 52
	messageTarget   = 56
	messageBackward = 60
	messageSize     = 64

	nodeBelief  = 0
	nodeInverse = 8
	nodeSum     = 16
	nodeStates  = 20
	nodeSize    = 24
)

// batch512 emits the kernels that do one step for many messages, or nodes. What
// follows in such a list does not depend on what comes before, so that the
// processor works on several at a time.
func (g *generator) batch512() {
	g.cavities512()
	g.products512()
	g.allSafe512()
	g.absorbAll512()
	g.shiftAll512()
	g.totals512()
	g.settle512()
	g.exponentials512()
}

// items walks over a list: body gets a register with the address of the item.
func (g *generator) items(size int, body func(item reg.Register)) {
	item, left, again, done := g.intParam("list"), g.intParam("count"), g.label("item"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	body(item)
	g.ADDQ(operand.U32(size), item)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
}

// place returns the address base + 8·field, a field of 8 bytes.
func (g *generator) place(item reg.Register, field int, base reg.Register) reg.Register {
	p := g.GP64()
	g.MOVQ(operand.Mem{Base: item, Disp: field}, p)
	g.LEAQ(operand.Mem{Base: base, Index: p, Scale: 8}, p)
	return p
}

// shortPlace is place for a field of 4 bytes.
func (g *generator) shortPlace(item reg.Register, field int, base reg.Register) reg.Register {
	p := g.short(item, field)
	g.LEAQ(operand.Mem{Base: base, Index: p, Scale: 8}, p)
	return p
}

// short returns a field of 4 bytes.
func (g *generator) short(item reg.Register, field int) reg.Register {
	p := g.GP64()
	g.MOVLQSX(operand.Mem{Base: item, Disp: field}, p)
	return p
}

// row emits body for the vectors of a row of n ≥ 1 entries, the last with a mask
// unless there are just eight; index counts entries.
func (g *generator) row(n reg.Register, body func(index reg.Register, mask *reg.OpmaskVirtual)) {
	wide, again, rest, done := g.label("wide"), g.label("vector"), g.label("rest"), g.label("row")
	index, left := g.zero(), g.GP64()
	g.CMPQ(n, operand.U8(8))
	g.JNE(label(wide))
	body(index, nil)
	g.JMP(label(done))
	g.Label(wide)
	g.MOVQ(n, left)
	g.CMPQ(left, operand.U8(8))
	g.JLE(label(rest))
	g.Label(again)
	body(index, nil)
	g.ADDQ(operand.U8(8), index)
	g.SUBQ(operand.U8(8), left)
	g.CMPQ(left, operand.U8(8))
	g.JG(label(again))
	g.Label(rest)
	mask := g.firstMask(left)
	body(index, &mask)
	g.Label(done)
}

// orInfinity is z where the mask is on, or everywhere, and −Inf elsewhere.
func (g *generator) orInfinity(z reg.VecVirtual, mask *reg.OpmaskVirtual) reg.VecVirtual {
	if mask == nil {
		return z
	}
	x := g.broadcast512("negativeInfinity")
	g.VMOVAPD(z, *mask, x)
	return x
}

// cavities512 stores whole vectors: what is beyond a row belongs to the next one,
// which comes later, or to the end of the scratch.
func (g *generator) cavities512() {
	g.function("cavities512", "func(weights, beliefs, messages []float64, list *int, count int)", "is Cavities.")
	weights, beliefs, messages := g.base("weights"), g.base("beliefs"), g.base("messages")
	g.items(messageSize, func(item reg.Register) {
		w, b, m := g.shortPlace(item, messageWeight, weights), g.place(item, messageBelief, beliefs), g.place(item, messageReverse, messages)
		g.row(g.short(item, messageSource), func(i reg.Register, mask *reg.OpmaskVirtual) {
			g.VMOVUPD(g.cavity512(at64(b, i, 0), at64(m, i, 0), mask), at64(w, i, 0))
		})
	})
	g.end()
}

// lookahead is how many messages before it is needed a table is asked for: the order
// of the tables is nothing that the processor could guess.
const lookahead = 8

// prefetchTable asks for the first eight rows of eight of a table that is needed soon.
func (g *generator) prefetchTable(item, left, tables reg.Register) {
	last := g.label("last")
	g.CMPQ(left, operand.U8(lookahead))
	g.JLE(label(last))
	t := g.place(item, lookahead*messageSize+messageTable, tables)
	for row := range 8 {
		g.PREFETCHT0(operand.Mem{Base: t, Disp: 64 * row})
	}
	g.Label(last)
}

// products512 leaves rows of more than eight to others.
func (g *generator) products512() {
	g.function("products512", "func(out, weights, tables []float64, list *int, count int) (left int)", "is Products as far as messages have up to 8 states at both ends; left counts those that are not done.")
	out, weights, tables := g.base("out"), g.base("weights"), g.base("tables")
	item, left, again, next, done := g.intParam("list"), g.intParam("count"), g.label("item"), g.label("next"), g.label("done")
	some, backward, fewBackward := g.label("some"), g.label("backward"), g.label("fewBackward")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	g.prefetchTable(item, left, tables)
	o, w, t := g.shortPlace(item, messageOut, out), g.shortPlace(item, messageWeight, weights), g.place(item, messageTable, tables)
	source, target := g.short(item, messageSource), g.short(item, messageTarget)
	both := g.GP64()
	g.LEAQ(operand.Mem{Base: source, Index: target, Scale: 1}, both)
	g.CMPQ(source, operand.U8(8))
	g.JNE(label(some))
	g.CMPQ(target, operand.U8(8))
	g.JNE(label(some))
	g.CMPL(operand.Mem{Base: item, Disp: messageBackward}, operand.U8(0))
	g.JNE(label(backward))
	g.VMOVUPD(g.eightForward512(w, t), operand.Mem{Base: o})
	g.JMP(label(next))
	g.Label(backward)
	g.VMOVUPD(g.eightBackward512(w, t), operand.Mem{Base: o})
	g.JMP(label(next))

	g.Label(some)
	g.CMPQ(source, operand.U8(8))
	g.JG(label(done))
	g.CMPQ(target, operand.U8(8))
	g.JG(label(done))
	g.CMPL(operand.Mem{Base: item, Disp: messageBackward}, operand.U8(0))
	g.JNE(label(fewBackward))
	g.VMOVUPD(g.fewForward512(w, t, source, target), operand.Mem{Base: o})
	g.JMP(label(next))
	g.Label(fewBackward)
	g.VMOVUPD(g.fewBackward512(w, t, source, target), operand.Mem{Base: o})

	g.Label(next)
	g.ADDQ(operand.U32(messageSize), item)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.Store(left, g.ReturnIndex(0))
	g.end()
}

// eightForward512 returns the sum of the eight rows of a table, each times a weight.
func (g *generator) eightForward512(w, t reg.Register) reg.VecVirtual {
	sums := make([]reg.VecVirtual, 4)
	for y := range 8 {
		z := g.load512(operand.Mem{Base: t, Disp: 64 * y}, nil)
		if y < 4 {
			sums[y] = g.ZMM()
			g.VMULPD_BCST(operand.Mem{Base: w, Disp: 8 * y}, z, sums[y])
			continue
		}
		g.VFMADD231PD_BCST(operand.Mem{Base: w, Disp: 8 * y}, z, sums[y-4])
	}
	g.VADDPD(sums[2], sums[0], sums[0])
	g.VADDPD(sums[3], sums[1], sums[1])
	g.VADDPD(sums[1], sums[0], sums[0])
	return sums[0]
}

// eightBackward512 returns the products of the eight rows of a table with the weights.
func (g *generator) eightBackward512(w, t reg.Register) reg.VecVirtual {
	weight, products := g.load512(operand.Mem{Base: w}, nil), g.several(8)
	for x, product := range products {
		g.VMULPD(operand.Mem{Base: t, Disp: 64 * x}, weight, product)
	}
	return g.transposeSum(products)
}

// fewForward512 is eightForward512 for tables of up to 8×8.
func (g *generator) fewForward512(w, t, source, target reg.Register) reg.VecVirtual {
	mask, s, end := g.firstMask(target), g.eightRows(target), g.label("end")
	sums := g.zeros512(2)
	for y := range 8 {
		if y > 0 {
			g.CMPQ(source, operand.U32(y))
			g.JLE(label(end))
		}
		a := g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: w, Disp: 8 * y}, a)
		g.VFMADD231PD(s.row(t, y), a, mask, sums[y%2])
	}
	g.Label(end)
	g.VADDPD(sums[1], sums[0], sums[0])
	return sums[0]
}

// fewBackward512 is eightBackward512 for tables of up to 8×8.
func (g *generator) fewBackward512(w, t, source, target reg.Register) reg.VecVirtual {
	mask, s, end := g.firstMask(source), g.eightRows(source), g.label("end")
	weight, products := g.load512(operand.Mem{Base: w}, nil), g.zeros512(8)
	for x, product := range products {
		if x > 0 {
			g.CMPQ(target, operand.U32(x))
			g.JLE(label(end))
		}
		g.VMULPD_Z(s.row(t, x), weight, mask, product)
	}
	g.Label(end)
	return g.transposeSum(products)
}

// allSafe512 looks at y − tooSmall as unsigned integers: all that is not in
// [tooSmall, largest] is above the distance of these two.
func (g *generator) allSafe512() {
	g.function("allSafe512", "func(x []float64) bool", "is AllSafe.")
	x, n := g.base("x"), g.length("x")
	largest, least := g.zero512(), g.broadcast512("tooSmall")
	g.loop512(n, 4, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		t := g.ZMM()
		if mask == nil {
			g.VMOVUPD(at64(x, i, offset), t)
		} else {
			g.VMOVAPD(least, t)
			g.VMOVUPD(at64(x, i, offset), *mask, t)
		}
		g.VPSUBQ(least, t, t)
		g.VPMAXUQ(t, largest, largest)
	})
	bad, safe := g.K(), g.label("safe")
	g.VPCMPUQ_BCST(cmpNotLessEqual, g.constant("safeRange"), largest, bad)
	g.KORTESTB(bad, bad)
	g.JZ(label(safe))
	g.returnBool(false)
	g.Label(safe)
	g.returnBool(true)
}

// absorbing is what absorbAll512 keeps in registers. total is the sum of one node of
// up to eight states, as long as messages into that node follow each other: read back
// at once it would wait for the pieces in which it was stored.
type absorbing struct {
	damping, keep, zero, residual, total reg.VecVirtual
	node, states                         reg.Register // where total belongs, 0 if there is none
}

func (g *generator) absorbAll512() {
	g.absorbAll("absorbAll512", "float64", "is AbsorbAll.", 8, g.load512)
}

// absorbAll takes messages of out, of entries of so many bytes, with load, which gives float64 and 0 outside the
// mask.
func (g *generator) absorbAll(name, number, doc string, entry int, load func(m operand.Mem, mask *reg.OpmaskVirtual) reg.VecVirtual) {
	g.function(name, "func(messages, sums []float64, out []"+number+", list *int, count int, damping float64) (residual float64)", doc)
	messages, sums, out := g.base("messages"), g.base("sums"), g.base("out")
	a := absorbing{damping: g.ZMM(), keep: g.broadcast512("one"), zero: g.zero512(), residual: g.zero512(), total: g.zero512(), node: g.zero(), states: g.zero()}
	g.broadcastParam("damping", a.damping)
	g.VSUBPD(a.damping, a.keep, a.keep)
	g.items(messageSize, func(item reg.Register) {
		old, sum, o := g.place(item, messageOld, messages), g.shortPlace(item, messageSum, sums), g.short(item, messageOut)
		g.LEAQ(operand.Mem{Base: out, Index: o, Scale: uint8(entry)}, o)
		n, rho := g.short(item, messageTarget), g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: item, Disp: messageRho}, rho)
		some, long, same, done := g.label("some"), g.label("long"), g.label("same"), g.label("absorbed")
		g.CMPQ(n, operand.U8(8))
		g.JG(label(long))
		g.CMPQ(sum, a.node)
		g.JEQ(label(same))
		g.storeTotal512(a)
		g.MOVQ(sum, a.node)
		g.MOVQ(n, a.states)
		mask := g.firstMask(n)
		g.VMOVUPD_Z(operand.Mem{Base: sum}, mask, a.total)
		g.Label(same)
		g.CMPQ(n, operand.U8(8))
		g.JNE(label(some))
		g.absorbShort512(a, load(operand.Mem{Base: o}, nil), operand.Mem{Base: old}, rho, nil)
		g.JMP(label(done))
		g.Label(some)
		mask = g.firstMask(n)
		g.absorbShort512(a, load(operand.Mem{Base: o}, &mask), operand.Mem{Base: old}, rho, &mask)
		g.JMP(label(done))

		g.Label(long)
		g.storeTotal512(a)
		g.XORQ(a.node, a.node)
		largest := g.broadcast512("negativeInfinity")
		g.loop512(n, 1, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
			g.VMAXPD(g.orInfinity(load(operand.Mem{Base: o, Index: i, Scale: uint8(entry)}, mask), mask), largest, largest)
		})
		g.spread(g.VMAXPD, largest)
		g.loop512(n, 1, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
			after := g.absorbed512(a, load(operand.Mem{Base: o, Index: i, Scale: uint8(entry)}, mask), largest, at64(old, i, offset), mask)
			total := g.load512(at64(sum, i, offset), mask)
			g.VFMADD231PD(after, rho, total)
			g.store512(total, at64(sum, i, offset), mask)
		})
		g.Label(done)
	})
	g.storeTotal512(a)
	g.spread(g.VPMAXUQ, a.residual)
	g.Store(a.residual.AsX(), g.ReturnIndex(0))
	g.end()
}

// storeTotal512 puts total where it belongs.
func (g *generator) storeTotal512(a absorbing) {
	none := g.label("none")
	g.TESTQ(a.node, a.node)
	g.JZ(label(none))
	mask := g.firstMask(a.states)
	g.store512(a.total, operand.Mem{Base: a.node}, &mask)
	g.Label(none)
}

// absorbShort512 absorbs a message y of one vector.
func (g *generator) absorbShort512(a absorbing, y reg.VecVirtual, old operand.Mem, rho reg.VecVirtual, mask *reg.OpmaskVirtual) {
	largest := g.ZMM()
	g.VMOVAPD(g.orInfinity(y, mask), largest)
	g.spread(g.VMAXPD, largest)
	g.VFMADD231PD(g.absorbed512(a, y, largest, old, mask), rho, a.total)
}

// absorbed512 stores the message after, less its largest entry, in the place of the
// old one, and returns it.
func (g *generator) absorbed512(a absorbing, after, largest reg.VecVirtual, old operand.Mem, mask *reg.OpmaskVirtual) reg.VecVirtual {
	before, differ := g.load512(old, mask), g.K()
	if mask == nil {
		g.VSUBPD(largest, after, after)
	} else {
		g.VSUBPD_Z(largest, after, *mask, after)
	}
	undamped := g.branchUndamped(a.damping, a.zero)
	{
		part, mixed := g.ZMM(), g.ZMM()
		g.VCMPPD(cmpNotEqual, before, after, differ)
		g.VMULPD(a.damping, before, part)
		g.VMULPD(a.keep, after, mixed)
		g.VADDPD(part, mixed, differ, after)
	}
	g.Label(undamped)
	g.noteChange(after, before, a.residual)
	g.store512(after, old, mask)
	return after
}

// noteChange raises the residual, bits of magnitudes, to those of after − before
// where these differ.
func (g *generator) noteChange(after, before, residual reg.VecVirtual) {
	change, differ := g.ZMM(), g.K()
	g.VCMPPD(cmpNotEqual, before, after, differ)
	g.VSUBPD_Z(before, after, differ, change)
	g.VPANDQ_BCST(g.constant("magnitude"), change, change)
	g.VPMAXUQ(change, residual, residual)
}

func (g *generator) shiftAll512() {
	g.function("shiftAll512", "func(sums []float64, list *int, count int) (left int)", "is Shift; left counts the nodes that are not done.")
	sums := g.base("sums")
	item, left, again, done := g.intParam("list"), g.intParam("count"), g.label("item"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	sum, n := g.shortPlace(item, nodeSum, sums), g.short(item, nodeStates)
	largest, unordered := g.broadcast512("negativeInfinity"), g.K()
	g.KXORB(unordered, unordered, unordered)
	g.row(n, func(i reg.Register, mask *reg.OpmaskVirtual) {
		x := g.load512(at64(sum, i, 0), mask)
		g.noteNaN(x, unordered)
		g.VMAXPD(g.orInfinity(x, mask), largest, largest)
	})
	g.spread(g.VMAXPD, largest)
	magnitude, infinite, inverse := g.ZMM(), g.K(), g.ZMM()
	g.VPANDQ_BCST(g.constant("magnitude"), largest, magnitude)
	g.VCMPPD_BCST(cmpGreater, g.constant("largest"), magnitude, infinite)
	g.KORTESTB(infinite, unordered)
	g.JNZ(label(done))
	g.VBROADCASTSD(operand.Mem{Base: item, Disp: nodeInverse}, inverse)
	g.row(n, func(i reg.Register, mask *reg.OpmaskVirtual) {
		x := g.load512(at64(sum, i, 0), mask)
		g.VSUBPD(largest, x, x)
		g.VMULPD(inverse, x, x)
		g.store512(x, at64(sum, i, 0), mask)
	})
	g.ADDQ(operand.U32(nodeSize), item)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.Store(left, g.ReturnIndex(0))
	g.end()
}

func (g *generator) totals512() {
	g.function("totals512", "func(totals, weights []float64, list *int, count int)", "is Totals.")
	totals, weights := g.base("totals"), g.base("weights")
	g.items(nodeSize, func(item reg.Register) {
		w, total := g.shortPlace(item, nodeSum, weights), g.zero512()
		g.row(g.short(item, nodeStates), func(i reg.Register, mask *reg.OpmaskVirtual) {
			g.VADDPD(g.load512(at64(w, i, 0), mask), total, total)
		})
		g.spread(g.VADDPD, total)
		g.VMOVSD(total.AsX(), operand.Mem{Base: totals})
		g.ADDQ(operand.U8(8), totals)
	})
	g.end()
}

func (g *generator) settle512() {
	g.function("settle512", "func(beliefs, sums, logTotals []float64, list *int, count int) (residual float64)", "is Settle.")
	beliefs, sums, logTotals := g.base("beliefs"), g.base("sums"), g.base("logTotals")
	residual := g.zero512()
	g.items(nodeSize, func(item reg.Register) {
		b, sum, total := g.place(item, nodeBelief, beliefs), g.shortPlace(item, nodeSum, sums), g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: logTotals}, total)
		g.ADDQ(operand.U8(8), logTotals)
		g.row(g.short(item, nodeStates), func(i reg.Register, mask *reg.OpmaskVirtual) {
			after, before := g.load512(at64(sum, i, 0), mask), g.load512(at64(b, i, 0), mask)
			if mask == nil {
				g.VSUBPD(total, after, after)
			} else {
				g.VSUBPD_Z(total, after, *mask, after)
			}
			g.noteChange(after, before, residual)
			g.store512(after, at64(b, i, 0), mask)
		})
	})
	g.spread(g.VPMAXUQ, residual)
	g.Store(residual.AsX(), g.ReturnIndex(0))
	g.end()
}

// exponentialsTogether is how many vectors exponentials512 takes at a time.
const exponentialsTogether = 2

// exponentials512 looks at a table first, to leave it alone where it is not safe.
func (g *generator) exponentials512() {
	g.function("exponentials512", "func(tables []float64, size int, inverse []float64) (left int)", "is Exponentials; left counts the tables that are not done.")
	table, size := g.base("tables"), g.intParam("size")
	inverses, left := g.base("inverse"), g.length("inverse")
	v := g.fromRegisters("moderate", "magnitude", "log2e", "round16", "expLn2High", "expLn2Low", "one")
	v.keepTable("rootBits")
	again, done := g.label("table"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	inverse, largest, large := g.ZMM(), g.zero512(), g.K()
	g.VBROADCASTSD(operand.Mem{Base: inverses}, inverse)
	g.loop512(size, 2, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		x := g.ZMM()
		if mask == nil {
			g.VMULPD(at64(table, i, offset), inverse, x)
		} else {
			g.VMULPD_Z(at64(table, i, offset), inverse, *mask, x)
		}
		v.binary(g.VANDPD, g.VANDPD_BCST, "magnitude", x, x)
		g.VPMAXUQ(x, largest, largest) // of NaNs the bits are the largest
	})
	v.compare(cmpNotLessEqual, "moderate", largest, large)
	g.KTESTB(large, large)
	g.JNZ(label(done))
	g.maps512(size, table, table, exponentialsTogether, func(x []reg.VecVirtual) []reg.VecVirtual {
		for i := range x {
			g.VMULPD(inverse, x[i], x[i])
		}
		return v.moderateExps512(x, byCount)
	})
	g.LEAQ(operand.Mem{Base: table, Index: size, Scale: 8}, table)
	g.ADDQ(operand.U8(8), inverses)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.Store(left, g.ReturnIndex(0))
	g.end()
}
