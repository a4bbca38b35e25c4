package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in bytes of the fields of simd.Node, and its size; a test of simd holds them against the compiler's.
const (
	nodeBelief    = 0
	nodeInverse   = 8
	nodePotential = 16
	nodeSum       = 24
	nodeStates    = 28
	nodeMessages  = 32
	nodeSize      = 40
)

// batch emits the kernels that do one step for many messages, or nodes. What follows in such a list does not
// depend on what comes before, so that the processor works on several at a time.
func (v vectors) batch() {
	v.cavities()
	v.products()
	v.absorb()
	v.totals()
	v.settle()
}

// items walks over a list of nodes: body gets a register with the address of the node. It may jump to stop; the
// register that is returned then counts the nodes from there on, and is 0 after the last.
func (v vectors) items(body func(item reg.Register, stop string)) (left reg.Register) {
	item, done := v.intParam("list"), v.label("done")
	left = v.intParam("count")
	v.times(left, func() {
		body(item, done)
		v.ADDQ(operand.U32(nodeSize), item)
	})
	v.Label(done)
	return left
}

// place returns the address base + 8·field, a field of 8 bytes.
func (g *generator) place(item reg.Register, field int, base reg.Register) reg.Register {
	p := g.GP64()
	g.MOVQ(operand.Mem{Base: item, Disp: field}, p)
	g.LEAQ(operand.Mem{Base: base, Index: p, Scale: 8}, p)
	return p
}

// shortPlace is place for a field of 4 bytes, and short returns such a field.
func (g *generator) shortPlace(item reg.Register, field int, base reg.Register) reg.Register {
	p := g.short(item, field)
	g.LEAQ(operand.Mem{Base: base, Index: p, Scale: 8}, p)
	return p
}

func (g *generator) short(item reg.Register, field int) reg.Register {
	p := g.GP64()
	g.MOVLQSX(operand.Mem{Base: item, Disp: field}, p)
	return p
}

// index reads a number of a list, and moves on to the next.
func (g *generator) index(list reg.Register) reg.Register {
	i := g.short(list, 0)
	g.ADDQ(operand.U8(4), list)
	return i
}

// partOf returns the address of the i-th part of an array: that of the offset in the parameter at, or behind i parts
// of n numbers where that is nil.
func (v vectors) partOf(array, at string, i, n reg.Register) reg.Register {
	p, same, found := v.base(at), v.label("same"), v.label("found")
	v.TESTQ(p, p)
	v.JZ(label(same))
	v.MOVQ(at64(p, i, 0), p)
	v.JMP(label(found))
	v.Label(same)
	v.MOVQ(i, p)
	v.IMULQ(n, p)
	v.Label(found)
	v.LEAQ(at64(v.base(array), p, 0), p)
	return p
}

// rows emits body for the vectors of a row: it gets the index of each.
type rows func(body func(index reg.Register, r *rest))

// parts emits body for so many rows of n entries, of no more than a vector and of more in loops of their own. Where
// n is 0 sizes are those of a list.
func (v vectors) parts(count, n reg.Register, sizes string, body func(row rows)) {
	long, done := v.label("long"), v.label("done")
	if sizes != "" {
		v.TESTQ(n, n)
		v.JZ(label(long))
	}
	v.CMPQ(n, operand.U8(v.lanes))
	v.JG(label(long))
	zero, r := v.zero(), v.first(n)
	v.times(count, func() { body(func(vector func(reg.Register, *rest)) { vector(zero, r) }) })
	v.JMP(label(done))
	v.Label(long)
	i := v.zero()
	v.times(count, func() {
		if sizes != "" {
			v.sizeOf(sizes, i, n)
			v.INCQ(i)
		}
		body(func(vector func(reg.Register, *rest)) {
			v.loop(n, 1, func(i reg.Register, _ int, r *rest) { vector(i, r) })
		})
	})
	v.Label(done)
}

// sizeOf reads the i-th of a list of sizes into n, unless there is no list.
func (v vectors) sizeOf(sizes string, i, n reg.Register) {
	p, same := v.base(sizes), v.label("same")
	v.TESTQ(p, p)
	v.JZ(label(same))
	v.MOVLQSX(operand.Mem{Base: p, Index: i, Scale: 4}, n)
	v.Label(same)
}

// cavities computes belief − message, −Inf where either is, or copies beliefs where there are no messages. It stores
// whole vectors: what is beyond a row belongs to the next one, which comes later, or to the end of the scratch. So does
// products.
func (v vectors) cavities() {
	v.function(v.name("cavities"), "func(w, b, m []float64, s, d []int32, bAt, mAt []int, n int, ns []int32)",
		"is Cavities, with beliefs b and messages m, or Gather, of b, where m is nil.")
	v.hoist("negativeInfinity")
	w, source, directed, n, end := v.base("w"), v.base("s"), v.base("d"), v.intParam("n"), v.length("s")
	v.LEAQ(operand.Mem{Base: source, Index: end, Scale: 4, Disp: -4 * lookahead}, end)
	beliefs, messages := v.base("b"), v.base("m")
	v.TESTQ(messages, messages)
	v.CMOVQEQ(beliefs, messages) // of no messages none can be asked for
	v.parts(v.length("s"), n, "ns", func(row rows) {
		last := v.label("last")
		v.CMPQ(source, end)
		v.JGE(label(last))
		ahead, back := v.short(source, 4*lookahead), v.short(directed, 4*lookahead)
		v.ANDQ(operand.I8(-2), back) // both directions: Absorb needs the other one
		v.IMULQ(n, ahead)
		v.IMULQ(n, back)
		v.PREFETCHT0(at64(beliefs, ahead, 0)) // where parts follow each other; it is no use, and no harm, elsewhere
		v.PREFETCHT0(at64(messages, back, 0))
		v.ADDQ(n, back)
		v.PREFETCHT0(at64(messages, back, 0))
		v.Label(last)
		b, d := v.partOf("b", "bAt", v.index(source), n), v.index(directed)
		v.XORQ(operand.U8(1), d)
		m := v.partOf("m", "mAt", d, n)
		row(func(i reg.Register, r *rest) {
			x, none, any := v.load(at64(b, i, 0), r), v.label("none"), v.base("m")
			v.TESTQ(any, any)
			v.JZ(label(none))
			message := v.load(at64(m, i, 0), r)
			forbidden := v.compare(cmpEqual, v.wide("negativeInfinity"), message)
			v.VSUBPD(message, x, x) // −Inf where the belief is, or a NaN if both are
			v.choose(forbidden, v.wide("negativeInfinity"), x)
			v.Label(none)
			v.VMOVUPD(v.orElse("negativeInfinity", x, r), at64(w, i, 0))
		})
		v.LEAQ(at64(w, n, 0), w)
	})
	v.end()
}

// returnNone ends a kernel that tells whether a mask has no bit.
func (v vectors) returnNone(mask operand.Op) {
	r, any := v.GP8(), v.label("any")
	v.XORB(r, r)
	v.ifAny(mask, any)
	v.MOVB(operand.U8(1), r)
	v.Label(any)
	v.Store(r, v.ReturnIndex(0))
	v.end()
}

// absorbing is what absorb keeps in registers.
type absorbing struct{ damping, keep, zero, residual reg.VecVirtual }

// absorb keeps the sum of a node whose states are no more than a vector in a register: read back at once it would wait
// for the pieces in which it was stored.
func (v vectors) absorb() {
	v.function(v.name("absorb"), "func(messages, sums, potentials, out []float64, directed []int32, messageAt []int, "+
		"rho []float64, same float64, list *int, count int, damping float64) (residual float64)", "is Absorb.")
	v.spare("magnitude", "negativeInfinity")
	a := absorbing{v.parameter("damping"), v.copyOf("one"), v.zeroVector(), v.zeroVector()}
	v.VSUBPD(a.damping, a.keep, a.keep)
	pair, pairs := vectors{v.generator, 2}, absorbing{lower(a.damping), lower(a.keep), lower(a.zero), lower(v.zeroVector())}
	o, directed := v.base("out"), v.base("directed")
	v.items(func(item reg.Register, _ string) {
		from, sum := v.place(item, nodePotential, v.base("potentials")), v.shortPlace(item, nodeSum, v.base("sums"))
		n, left, long, done := v.short(item, nodeStates), v.short(item, nodeMessages), v.label("long"), v.label("absorbed")
		v.CMPQ(n, operand.U8(v.lanes))
		v.JG(label(long))
		short := func(v vectors, a absorbing, r *rest) {
			total := v.load(operand.Mem{Base: from}, r)
			v.times(left, func() {
				old, rho := v.nextMessage(directed, n)
				after, largest := v.load(operand.Mem{Base: o}, r), v.vector()
				v.VMOVAPD(v.orElse("negativeInfinity", after, r), largest)
				v.spread(v.VMAXPD, largest)
				v.absorbInto(a, after, largest, operand.Mem{Base: old}, r)
				v.VFMADD231PD(after, rho, total)
				v.LEAQ(at64(o, n, 0), o)
			})
			v.unlessZero(item, nodeInverse, func() {
				largest := v.vector()
				v.VMOVAPD(v.orElse("negativeInfinity", total, r), largest)
				v.shift(item, largest, total)
			})
			v.store(total, operand.Mem{Base: sum}, r)
			v.JMP(label(done))
		}
		if v.lanes == 4 {
			more := v.label("more")
			v.CMPQ(n, operand.U8(2))
			v.JNE(label(more))
			short(pair, pairs, nil)
			v.Label(more)
		}
		short(v, a, v.first(n))

		v.Label(long)
		v.loop(n, 1, func(i reg.Register, offset int, r *rest) {
			v.VMOVUPD(v.load(at64(from, i, offset), r), at64(sum, i, offset))
		})
		v.times(left, func() {
			old, rho := v.nextMessage(directed, n)
			largest := v.copyOf("negativeInfinity")
			v.row(n, func(i reg.Register, offset int, r *rest) {
				v.VMAXPD(v.orElse("negativeInfinity", v.load(at64(o, i, offset), r), r), largest, largest)
			})
			v.spread(v.VMAXPD, largest)
			v.row(n, func(i reg.Register, offset int, r *rest) {
				after := v.load(at64(o, i, offset), r)
				v.absorbInto(a, after, largest, at64(old, i, offset), r)
				v.VFMADD213PD(at64(sum, i, offset), rho, after)
				v.VMOVUPD(after, at64(sum, i, offset))
			})
			v.LEAQ(at64(o, n, 0), o)
		})
		v.unlessZero(item, nodeInverse, func() {
			largest := v.copyOf("negativeInfinity")
			v.row(n, func(i reg.Register, offset int, r *rest) {
				v.VMAXPD(v.orElse("negativeInfinity", v.load(at64(sum, i, offset), nil), r), largest, largest)
			})
			v.row(n, func(i reg.Register, offset int, r *rest) {
				total, most := v.load(at64(sum, i, offset), nil), v.vector()
				v.VMOVAPD(largest, most)
				v.shift(item, most, total)
				v.VMOVUPD(total, at64(sum, i, offset))
			})
		})
		v.Label(done)
	})
	if v.lanes == 4 {
		v.largerBits(pairs.residual.AsY(), a.residual)
	}
	v.storeResidual(a.residual)
}

// unlessZero emits body for where a field of a node is not 0.
func (v vectors) unlessZero(item reg.Register, field int, body func()) {
	zero := v.label("zero")
	v.CMPQ(operand.Mem{Base: item, Disp: field}, operand.U8(0))
	v.JE(label(zero))
	body()
	v.Label(zero)
}

// shift makes (sum − largest)/ρ_s of a vector of sums, the largest entry of some vectors being that of their node. Where
// none is possible sums stay −Inf.
func (v vectors) shift(item reg.Register, largest, sum reg.VecVirtual) {
	v.spread(v.VMAXPD, largest)
	v.VMAXPD(v.wide("minusLargest"), largest, largest)
	v.VSUBPD(largest, sum, sum)
	v.VMULPD(v.broadcast(operand.Mem{Base: item, Disp: nodeInverse}), sum, sum)
}

// nextMessage returns where the next message of a list is kept, and ρ of its edge.
func (v vectors) nextMessage(directed, n reg.Register) (old reg.Register, rho reg.VecVirtual) {
	d, p, same := v.index(directed), v.base("rho"), v.label("same")
	old, rho = v.partOf("messages", "messageAt", d, n), v.parameter("same")
	v.TESTQ(p, p)
	v.JZ(label(same))
	v.SHRQ(operand.U8(1), d)
	v.broadcastTo(at64(p, d, 0), rho)
	v.Label(same)
	return old, rho
}

// absorbInto stores the message after, less its largest entry, in the place of the old one. It changes after to that.
func (v vectors) absorbInto(a absorbing, after, largest reg.VecVirtual, old operand.Mem, r *rest) {
	before, undamped := v.load(old, r), v.label("undamped")
	v.VSUBPD(largest, after, after)
	v.within(r, after)
	v.VUCOMISD(a.zero.AsX(), a.damping.AsX())
	v.JE(label(undamped)) // or NaN
	part, mixed, differ := v.vector(), v.vector(), v.compare(cmpNotEqual, before, after)
	v.VMULPD(a.damping, before, part)
	v.VMULPD(a.keep, after, mixed)
	v.VADDPD(part, mixed, mixed)
	v.choose(differ, mixed, after)
	v.Label(undamped)
	v.noteChange(after, before, a.residual)
	v.store(after, old, r)
}

func (v vectors) totals() {
	v.function(v.name("totals"), "func(totals, weights []float64, list *int, count int)", "is Totals.")
	totals, weights := v.base("totals"), v.base("weights")
	v.items(func(item reg.Register, _ string) {
		w, total := v.shortPlace(item, nodeSum, weights), v.zeroVector()
		v.row(v.short(item, nodeStates), func(i reg.Register, offset int, r *rest) {
			v.VADDPD(v.load(at64(w, i, offset), r), total, total)
		})
		v.spread(v.VADDPD, total)
		v.VMOVSD(total.AsX(), operand.Mem{Base: totals})
		v.ADDQ(operand.U8(8), totals)
	})
	v.end()
}

func (v vectors) settle() {
	v.function(v.name("settle"), "func(beliefs, sums, logTotals []float64, list *int, count int) (residual float64)",
		"is Settle.")
	v.spare("magnitude")
	beliefs, sums, logTotals, residual := v.base("beliefs"), v.base("sums"), v.base("logTotals"), v.zeroVector()
	v.items(func(item reg.Register, _ string) {
		b, sum := v.place(item, nodeBelief, beliefs), v.shortPlace(item, nodeSum, sums)
		total := v.broadcast(operand.Mem{Base: logTotals})
		v.ADDQ(operand.U8(8), logTotals)
		v.row(v.short(item, nodeStates), func(i reg.Register, offset int, r *rest) {
			after, before := v.load(at64(sum, i, offset), r), v.load(at64(b, i, offset), r)
			v.VSUBPD(total, after, after)
			v.within(r, after)
			v.noteChange(after, before, residual)
			v.store(after, at64(b, i, offset), r)
		})
	})
	v.storeResidual(residual)
}
