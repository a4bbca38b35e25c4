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

// batch emits the kernels that do one step for many messages, or nodes. What follows in such a list does not
// depend on what comes before, so that the processor works on several at a time.
func (v vectors) batch() {
	v.cavities()
	v.products()
	v.allSafe()
	v.absorbAll()
	v.shift()
	v.totals()
	v.settle()
	v.exponentials()
}

// items walks over a list: body gets a register with the address of the item. It may jump to stop; the register
// that is returned then counts the items from there on, and is 0 after the last.
func (v vectors) items(size int, body func(item, left reg.Register, stop string)) (left reg.Register) {
	item, again, done := v.intParam("list"), v.label("item"), v.label("done")
	left = v.intParam("count")
	v.TESTQ(left, left)
	v.JLE(label(done))
	v.Label(again)
	body(item, left, done)
	v.ADDQ(operand.U32(size), item)
	v.DECQ(left)
	v.JNZ(label(again))
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

// cavity returns belief − message, −Inf where either is, and outside of the rest.
func (v vectors) cavity(belief, message operand.Mem, r *rest) reg.VecVirtual {
	x, m := v.load(belief, r), v.load(message, r)
	forbidden := v.compare(cmpEqual, v.wide("negativeInfinity"), m)
	v.VSUBPD(m, x, x) // −Inf where the belief is, or a NaN if both are
	v.choose(forbidden, v.wide("negativeInfinity"), x)
	return v.orElse("negativeInfinity", x, r)
}

// cavities stores whole vectors: what is beyond a row belongs to the next one, which comes later, or to the
// end of the scratch.
func (v vectors) cavities() {
	v.function(v.name("cavities"), "func(weights, beliefs, messages []float64, list *int, count int)", "is Cavities.")
	v.hoist("negativeInfinity")
	weights, beliefs, messages := v.base("weights"), v.base("beliefs"), v.base("messages")
	v.items(messageSize, func(item, _ reg.Register, _ string) {
		w, b, m := v.shortPlace(item, messageWeight, weights), v.place(item, messageBelief, beliefs),
			v.place(item, messageReverse, messages)
		v.row(v.short(item, messageSource), func(i reg.Register, offset int, r *rest) {
			v.VMOVUPD(v.cavity(at64(b, i, offset), at64(m, i, offset), r), at64(w, i, offset))
		})
	})
	v.end()
}

// allSafe looks for entries below tooSmall, above the largest number, and that are none.
func (v vectors) allSafe() {
	v.function(v.name("allSafe"), "func(x []float64) bool", "is AllSafe.")
	// Sums of their own for each vector of a round: no chain to wait for.
	const unroll = 4
	x, least, bad, largest := v.base("x"), v.copyOf("tooSmall"), v.nowhere(), v.zeros(unroll)
	v.loop(v.length("x"), unroll, func(i reg.Register, offset int, r *rest) {
		chain, y := offset/v.bytes(), v.orElse("tooSmall", v.load(at64(x, i, offset), r), r)
		v.VMAXPD(y, largest[chain], largest[chain])
		v.or(v.compare(cmpNotAtLeast, least, y), bad)
	})
	for chain := range unroll {
		v.or(v.compare(cmpGreater, v.wide("largest"), largest[chain]), bad)
	}
	unsafe := v.label("unsafe")
	v.ifAny(bad, unsafe)
	v.returnBool(true)
	v.Label(unsafe)
	v.returnBool(false)
}

// returnBool ends the kernel with a constant as its result.
func (g *generator) returnBool(result bool) {
	r := g.GP8()
	g.MOVB(operand.U8(map[bool]int{false: 0, true: 1}[result]), r)
	g.Store(r, g.ReturnIndex(0))
	g.end()
}

// absorbing is what absorbAll keeps in registers. total is the sum of one node whose states are no more than a
// vector, as long as messages into that node follow each other: read back at once it would wait for the pieces
// in which it was stored.
type absorbing struct {
	damping, keep, zero, residual, total reg.VecVirtual
	node, states                         reg.Register // where total belongs, 0 if there is none
}

func (v vectors) absorbAll() {
	v.function(v.name("absorbAll"), "func(messages, sums, out []float64, list *int, count int, damping float64) "+
		"(residual float64)", "is AbsorbAll.")
	v.spare("magnitude", "negativeInfinity")
	a := absorbing{v.parameter("damping"), v.copyOf("one"), v.zeroVector(), v.zeroVector(), v.zeroVector(), v.zero(),
		v.zero()}
	v.VSUBPD(a.damping, a.keep, a.keep)
	v.items(messageSize, func(item, _ reg.Register, _ string) {
		old, sum := v.place(item, messageOld, v.base("messages")), v.shortPlace(item, messageSum, v.base("sums"))
		o, n := v.shortPlace(item, messageOut, v.base("out")), v.short(item, messageTarget)
		rho := v.broadcast(operand.Mem{Base: item, Disp: messageRho})
		long, same, done := v.label("long"), v.label("same"), v.label("absorbed")
		v.CMPQ(n, operand.U8(v.lanes))
		v.JG(label(long))
		r := v.first(n)
		v.CMPQ(sum, a.node)
		v.JEQ(label(same))
		v.storeTotal(a)
		v.MOVQ(sum, a.node)
		v.MOVQ(n, a.states)
		v.VMOVAPD(v.load(operand.Mem{Base: sum}, r), a.total)
		v.Label(same)
		after := v.load(operand.Mem{Base: o}, r)
		largest := v.orElse("negativeInfinity", after, r)
		v.spread(v.VMAXPD, largest)
		v.absorb(a, after, largest, operand.Mem{Base: old}, r)
		v.VFMADD231PD(after, rho, a.total)
		v.JMP(label(done))

		v.Label(long)
		v.storeTotal(a)
		v.XORQ(a.node, a.node)
		largest = v.copyOf("negativeInfinity")
		v.row(n, func(i reg.Register, offset int, r *rest) {
			v.VMAXPD(v.orElse("negativeInfinity", v.load(at64(o, i, offset), r), r), largest, largest)
		})
		v.spread(v.VMAXPD, largest)
		v.row(n, func(i reg.Register, offset int, r *rest) {
			after := v.load(at64(o, i, offset), r)
			v.absorb(a, after, largest, at64(old, i, offset), r)
			total := v.load(at64(sum, i, offset), r)
			v.VFMADD231PD(after, rho, total)
			v.store(total, at64(sum, i, offset), r)
		})
		v.Label(done)
	})
	v.storeTotal(a)
	v.storeResidual(a.residual)
}

// storeTotal puts total where it belongs.
func (v vectors) storeTotal(a absorbing) {
	none := v.label("none")
	v.TESTQ(a.node, a.node)
	v.JZ(label(none))
	v.store(a.total, operand.Mem{Base: a.node}, &rest{count: a.states})
	v.Label(none)
}

// absorb stores the message after, less its largest entry, in the place of the old one. It changes after to that.
func (v vectors) absorb(a absorbing, after, largest reg.VecVirtual, old operand.Mem, r *rest) {
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

func (v vectors) shift() {
	v.function(v.name("shiftAll"), "func(sums []float64, list *int, count int) (left int)",
		"is Shift; left counts the nodes that are not done.")
	v.spare("magnitude", "negativeInfinity", "largest")
	sums := v.base("sums")
	left := v.items(nodeSize, func(item, _ reg.Register, stop string) {
		sum, n := v.shortPlace(item, nodeSum, sums), v.short(item, nodeStates)
		largest, bad := v.copyOf("negativeInfinity"), v.nowhere()
		v.row(n, func(i reg.Register, offset int, r *rest) {
			x := v.load(at64(sum, i, offset), r)
			v.or(v.compare(cmpUnordered, x, x), bad)
			v.VMAXPD(v.orElse("negativeInfinity", x, r), largest, largest)
		})
		v.spread(v.VMAXPD, largest)
		magnitude := v.vector()
		v.VANDPD(v.wide("magnitude"), largest, magnitude)
		v.or(v.compare(cmpGreater, v.wide("largest"), magnitude), bad)
		v.ifAny(bad, stop)
		inverse := v.broadcast(operand.Mem{Base: item, Disp: nodeInverse})
		v.row(n, func(i reg.Register, offset int, r *rest) {
			x := v.load(at64(sum, i, offset), r)
			v.VSUBPD(largest, x, x)
			v.VMULPD(inverse, x, x)
			v.store(x, at64(sum, i, offset), r)
		})
	})
	v.Store(left, v.ReturnIndex(0))
	v.end()
}

func (v vectors) totals() {
	v.function(v.name("totals"), "func(totals, weights []float64, list *int, count int)", "is Totals.")
	totals, weights := v.base("totals"), v.base("weights")
	v.items(nodeSize, func(item, _ reg.Register, _ string) {
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
	v.items(nodeSize, func(item, _ reg.Register, _ string) {
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

// exponentials looks at a table first, to leave it alone where it is not safe.
func (v vectors) exponentials() {
	v.function(v.name("exponentials"), "func(tables []float64, size int, inverse []float64) (left int)",
		"is Exponentials; left counts the tables that are not done.")
	table, size := v.base("tables"), v.intParam("size")
	inverses, left := v.base("inverse"), v.length("inverse")
	v.keep(moderateExp)
	v.spare("magnitude", "moderate")
	again, done := v.label("table"), v.label("done")
	v.TESTQ(left, left)
	v.JLE(label(done))
	v.Label(again)
	inverse, large := v.broadcast(operand.Mem{Base: inverses}), v.nowhere()
	v.loop(size, 2, func(i reg.Register, offset int, r *rest) {
		x := v.load(at64(table, i, offset), r)
		v.VMULPD(inverse, x, x)
		v.within(r, x) // 0·Inf
		v.VANDPD(v.wide("magnitude"), x, x)
		v.or(v.compare(cmpNotLessEqual, v.wide("moderate"), x), large)
	})
	v.ifAny(large, done)
	v.maps(size, table, table, moderateExp, func(x reg.VecVirtual) { v.VMULPD(inverse, x, x) })
	v.LEAQ(at64(table, size, 0), table)
	v.ADDQ(operand.U8(8), inverses)
	v.DECQ(left)
	v.JNZ(label(again))
	v.Label(done)
	v.Store(left, v.ReturnIndex(0))
	v.end()
}
