package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in bytes of the fields of simd.Regular; a test of simd holds them against
// the compiler's. Those of slices are their base addresses.
const (
	regularStates     = 0
	regularPerEdge    = 8
	regularDamping    = 16
	regularBeliefs    = 24
	regularMessages   = 48
	regularTables     = 72
	regularAt         = 96
	regularRho        = 120
	regularPotentials = 144
	regularRhoNode    = 168
	regularNodes      = 192
	regularOrder      = 216
	regularInStart    = 240
	regularIn         = 264
	regularInEdge     = 288
	regularInSource   = 312
	regularRows       = 336
	regularSums       = 360
	regularTotals     = 384
	regularFar        = 408
	regularEdges      = 416
	regularU          = 440
	regularV          = 464
	regularCount      = 488
	regularTables32   = 512
	regularRows32     = 536
	regularCold       = 560
)

// regularTogether is how many messages, or nodes, take each step together: as many
// as registers allow for exponentials.
const regularTogether = 4

// regular512 emits the steps of updating nodes that all have the same number of
// states, up to 8: a row is one vector, with one mask for all. Where the parts are
// follows from the numbers of nodes and edges, so that no list of offsets is needed.
func (g *generator) regular512() {
	g.regularProducts512()
	g.regularAbsorb512()
	g.regularShift512()
	g.regularSettle512()
	g.regularNodes512()
	g.regularEdges512()
	g.regularList()
}

// regular is what the kernels for it keep in registers.
type regular struct {
	u    reg.Register       // the simd.Regular
	mask *reg.OpmaskVirtual // of a row, nil for 8 states
	size reg.Register       // bytes of a row, where there is a mask
	g    *generator
	kept map[int]reg.Register // base addresses of slices
}

// hoist keeps the base addresses of slices in registers.
func (r *regular) hoist(slices ...int) {
	r.kept = map[int]reg.Register{}
	for _, s := range slices {
		r.kept[s] = r.field(s)
	}
}

// base returns the base address of a slice, which must not be changed.
func (r regular) base(slice int) reg.Register {
	if p, ok := r.kept[slice]; ok {
		return p
	}
	return r.field(slice)
}

// forStates emits body twice: for 8 states, and with a mask for fewer.
func (g *generator) forStates(body func(r regular)) {
	u := g.intParam("u")
	few, done := g.label("few"), g.label("done")
	n := g.GP64()
	g.MOVQ(operand.Mem{Base: u, Disp: regularStates}, n)
	g.CMPQ(n, operand.U8(8))
	g.JNE(label(few))
	body(regular{u: u, g: g})
	g.JMP(label(done))
	g.Label(few)
	mask := g.firstMask(n)
	size := g.GP64()
	g.MOVQ(n, size)
	g.SHLQ(operand.U8(3), size)
	body(regular{u: u, mask: &mask, size: size, g: g})
	g.Label(done)
}

// field returns a field of 8 bytes, or the base address of a slice.
func (r regular) field(offset int) reg.Register {
	p := r.g.GP64()
	r.g.MOVQ(operand.Mem{Base: r.u, Disp: offset}, p)
	return p
}

// number returns entry i of a slice of int32.
func (r regular) number(slice int, i reg.Register) reg.Register {
	return r.numberAt(slice, index{i, 0})
}

// index is a number in a register, and something to add to it.
type index struct {
	reg.Register
	plus int
}

// numberAt is number for an index.
func (r regular) numberAt(slice int, i index) reg.Register {
	p := r.g.GP64()
	r.g.MOVLQSX(operand.Mem{Base: r.base(slice), Index: i.Register, Scale: 4, Disp: 4 * i.plus}, p)
	return p
}

// group is where a group of messages or nodes is: those from i on or, if last is set,
// at the end of a list, filled up with the last.
type group struct {
	i, last reg.Register
}

// at returns the index of the j-th of a group.
func (r regular) at(at group, j int) index {
	if at.last == nil {
		return index{at.i, j}
	}
	return index{r.upTo(at.i, j, at.last), 0}
}

// eachGroup emits body for whole groups from i on, and for the rest up to last.
func (r regular) eachGroup(i, last reg.Register, body func(at group)) {
	g := r.g
	again, rest, done, end := g.label("group"), g.label("rest"), g.label("grouped"), g.GP64()
	g.LEAQ(operand.Mem{Base: last, Disp: 1 - regularTogether}, end)
	g.CMPQ(i, end)
	g.JG(label(rest))
	g.Label(again)
	body(group{i: i})
	g.ADDQ(operand.U8(regularTogether), i)
	g.CMPQ(i, end)
	g.JLE(label(again))
	g.Label(rest)
	g.CMPQ(i, last)
	g.JG(label(done))
	body(group{i, last})
	g.Label(done)
}

// row turns the number of a row into its address in a slice.
func (r regular) row(slice int, number reg.Register) operand.Mem {
	if r.mask == nil {
		r.g.SHLQ(operand.U8(6), number)
	} else {
		r.g.IMULQ(r.size, number)
	}
	if p, ok := r.kept[slice]; ok {
		return operand.Mem{Base: p, Index: number, Scale: 1}
	}
	r.g.ADDQ(operand.Mem{Base: r.u, Disp: slice}, number)
	return operand.Mem{Base: number}
}

// clear makes what is outside of the row 0.
func (r regular) clear(z reg.VecVirtual) {
	if r.mask != nil {
		r.g.VMOVAPD_Z(z, *r.mask, z)
	}
}

// upTo returns i + j, or last if that is less.
func (r regular) upTo(i reg.Register, j int, last reg.Register) reg.Register {
	p := r.g.GP64()
	r.g.LEAQ(operand.Mem{Base: i, Disp: j}, p)
	r.g.CMPQ(p, last)
	r.g.CMOVQGT(last, p)
	return p
}

// table returns the address of the table of message i.
func (r regular) table(i index) reg.Register {
	q := r.numberAt(regularInEdge, i)
	r.g.MOVQ(operand.Mem{Base: r.base(regularAt), Index: q, Scale: 8}, q)
	r.g.LEAQ(operand.Mem{Base: r.base(regularTables), Index: q, Scale: 8}, q)
	return q
}

// ahead is how many messages before they are needed the parts of a message are asked
// for: their order is nothing that the processor could guess.
const ahead = 12

// prefetch asks for the table of a message, for both messages along its edge, which
// are neighbours, and for the belief of its source.
func (r regular) prefetch(i index) {
	g := r.g
	d := r.numberAt(regularIn, i)
	g.ANDQ(operand.I8(-2), d)
	m := r.row(regularMessages, d)
	g.PREFETCHT0(m)
	g.PREFETCHT0(m.Offset(64))
	g.PREFETCHT0(r.row(regularBeliefs, r.numberAt(regularInSource, i)))
}

// prefetchTable asks for the table of a message.
func (r regular) prefetchTable(i index) {
	g := r.g
	t := r.table(i)
	if r.mask == nil {
		for row := range 8 {
			g.PREFETCHT0(operand.Mem{Base: t, Disp: 64 * row})
		}
		return
	}
	again, end := g.label("ahead"), g.GP64()
	g.MOVQ(r.size, end)
	g.IMULQ(end, end)
	g.SHRQ(operand.U8(3), end)
	g.ADDQ(t, end)
	g.Label(again)
	g.PREFETCHT0(operand.Mem{Base: t})
	g.ADDQ(operand.U8(64), t)
	g.CMPQ(t, end)
	g.JL(label(again))
}

// prefetchGroup asks for the parts of a group of messages ahead, as far as they are
// likely to be far away.
func (r regular) prefetchGroup(i, last reg.Register, table func(i index)) {
	g := r.g
	near, none := g.label("near"), g.label("none")
	end := g.GP64()
	g.LEAQ(operand.Mem{Base: i, Disp: ahead + regularTogether - 1}, end)
	g.CMPQ(end, last)
	g.JG(label(none))
	g.CMPQ(operand.Mem{Base: r.u, Disp: regularCold}, operand.U8(0))
	g.JEQ(label(none))
	for j := range regularTogether {
		r.prefetch(index{i, ahead + j})
	}
	g.CMPQ(operand.Mem{Base: r.u, Disp: regularFar}, operand.U8(0))
	g.JEQ(label(near))
	for j := range regularTogether {
		table(index{i, ahead + j})
	}
	g.Label(near)
	g.Label(none)
}

// cavity returns the cavity of message i, 0 outside of the row: exponentials of −Inf
// would cost an assist each.
func (r regular) cavity(i index) reg.VecVirtual {
	belief, d := r.row(regularBeliefs, r.numberAt(regularInSource, i)), r.numberAt(regularIn, i)
	r.g.XORQ(operand.U8(1), d)
	z := r.g.cavity512(belief, r.row(regularMessages, d), r.mask)
	r.clear(z)
	return z
}

// regularProducts512 writes rows of eight, whatever the number of states. The last
// group is filled up with the last message, again and again. Weights below e^−708 are
// lost, and with tables of e^300 at most their terms are below e^−408: sums from 1e-130
// on are trusted.
func (g *generator) regularProducts512() {
	g.function("regularProducts512", "func(u *int, lo, hi int) (safe bool)", "is Regular.Products.")
	i, last := g.intParam("lo"), g.intParam("hi")
	g.DECQ(last)
	worst, largest := g.zero512(), g.broadcast512("negativeInfinity")
	// As many of the constants as there are registers for.
	v := g.fromRegisters(append([]string{"log2e", "round16", "expLn2High", "expLn2Low"}, names("exp16", 6)...)...)
	v.keepTable("rootBits")
	g.forStates(func(r regular) {
		out := r.field(regularRows)
		r.hoist(regularIn, regularMessages)
		r.eachGroup(i, last, func(at group) {
			r.prefetchGroup(at.i, last, r.prefetchTable)
			cavities := make([]reg.VecVirtual, regularTogether)
			for j := range cavities {
				cavities[j] = r.cavity(r.at(at, j))
				g.VMAXPD(cavities[j], largest, largest)
			}
			for j, w := range v.shortExps512(cavities, byCount) {
				g.VMOVUPD(w, operand.Mem{Base: out, Disp: 64 * j})
			}
			for j := range cavities {
				r.product(r.at(at, j), operand.Mem{Base: out, Disp: 64 * j}, worst)
			}
			g.ADDQ(operand.U32(64*regularTogether), out)
		})
	})
	bad, large, safe := g.K(), g.K(), g.label("safe")
	g.VPCMPUQ_BCST(cmpNotLessEqual, g.constant("edgeRange"), worst, bad)
	g.VCMPPD_BCST(cmpNotLessEqual, g.constant("expNormal"), largest, large)
	g.KORTESTB(large, bad)
	g.JZ(label(safe))
	g.returnBool(false)
	g.Label(safe)
	g.returnBool(true)
}

// product replaces the weights in row by the sums of message i, and raises worst,
// the distance of a sum to edgeTotal: below that it wraps around.
func (r regular) product(i index, row operand.Mem, worst reg.VecVirtual) {
	g := r.g
	t, w := r.table(i), g.GP64()
	g.LEAQ(row, w)
	backward, done := g.label("backward"), g.label("product")
	sum := g.ZMM()
	g.TESTB(operand.U8(1), operand.Mem{Base: r.base(regularIn), Index: i.Register, Scale: 4, Disp: 4 * i.plus})
	g.JNZ(label(backward))
	if r.mask == nil {
		g.VMOVAPD(g.eightForward512(w, t), sum)
	} else {
		n := r.field(regularStates)
		g.VMOVAPD(g.fewForward512(w, t, n, n), sum)
	}
	g.JMP(label(done))
	g.Label(backward)
	if r.mask == nil {
		g.VMOVAPD(g.eightBackward512(w, t), sum)
	} else {
		n := r.field(regularStates)
		g.VMOVAPD(g.fewBackward512(w, t, n, n), sum)
	}
	g.Label(done)
	g.VMOVUPD(sum, row)
	distance := g.ZMM()
	if r.mask == nil {
		g.VPSUBQ_BCST(g.constant("edgeTotal"), sum, distance)
	} else {
		g.VPSUBQ_BCST_Z(g.constant("edgeTotal"), sum, *r.mask, distance)
	}
	g.VPMAXUQ(distance, worst, worst)
}

// regularAbsorb512 takes the last messages one by one: with damping, absorbing one
// twice would not be the same.
func (g *generator) regularAbsorb512() {
	g.function("regularAbsorb512", "func(u *int, lo, hi int) (residual float64)", "is Regular.Absorb.")
	i, left := g.intParam("lo"), g.intParam("hi")
	g.SUBQ(i, left)
	a := absorbing{damping: g.ZMM(), keep: g.broadcast512("one"), zero: g.zero512(), residual: g.zero512()}
	g.VBROADCASTSD(operand.Mem{Base: g.intParam("u"), Disp: regularDamping}, a.damping)
	g.VSUBPD(a.damping, a.keep, a.keep)
	g.forStates(func(r regular) {
		row := r.field(regularRows)
		r.groups(i, left, func(n int) {
			r.absorb(a, i, row, n)
			g.ADDQ(operand.U32(64*n), row)
		})
	})
	g.spread(g.VPMAXUQ, a.residual)
	g.Store(a.residual.AsX(), g.ReturnIndex(0))
	g.end()
}

// spreadMany is spreadFour for four vectors or one.
func (g *generator) spreadMany(op func(...operand.Op), z []reg.VecVirtual) []reg.VecVirtual {
	if len(z) == regularTogether {
		return g.spreadFour(op, z)
	}
	t := g.ZMM()
	g.VMOVAPD(z[0], t)
	g.spread(op, t)
	return []reg.VecVirtual{t}
}

// absorb does n messages from the i-th on, whose sums begin at row.
func (r regular) absorb(a absorbing, i, row reg.Register, n int) {
	g := r.g
	sums := make([]reg.VecVirtual, n)
	for j := range n {
		sums[j] = g.load512(operand.Mem{Base: row, Disp: 64 * j}, nil)
	}
	r.absorbLogs(a, i, row, g.fromMemory().logs512(sums))
}

// absorbLogs takes over the messages from the i-th on, whose logarithms these are, and
// leaves them at row.
func (r regular) absorbLogs(a absorbing, i, row reg.Register, logs []reg.VecVirtual) {
	g := r.g
	largest := make([]reg.VecVirtual, len(logs))
	for j := range logs {
		largest[j] = g.orInfinity(logs[j], r.mask)
	}
	largest = g.spreadMany(g.VMAXPD, largest)
	for j := range logs {
		p := r.plus(i, j)
		after := g.absorbed512(a, logs[j], largest[j], r.row(regularMessages, r.number(regularIn, p)), r.mask)
		g.VMOVUPD(after, operand.Mem{Base: row, Disp: 64 * j})
	}
}

// regularShift512 fills the last group up with the last node.
func (g *generator) regularShift512() {
	g.function("regularShift512", "func(u *int, lo, hi int) (done int)", "is Regular.Shift.")
	i, last, done := g.intParam("lo"), g.intParam("hi"), g.zero()
	g.DECQ(last)
	bad, end := g.label("bad"), g.label("end")
	g.forStates(func(r regular) {
		again := g.label("group")
		first := r.number(regularInStart, i)
		g.Label(again)
		totals, nodes := make([]reg.VecVirtual, regularTogether), make([]reg.Register, regularTogether)
		for j := range totals {
			totals[j], nodes[j] = r.total(r.upTo(i, j, last), first)
		}
		r.shift(totals, nodes, done, bad)
		g.ADDQ(operand.U8(regularTogether), done)
		g.ADDQ(operand.U8(regularTogether), i)
		g.CMPQ(i, last)
		g.JLE(label(again))
	})
	g.JMP(label(end))
	g.Label(bad)
	g.Label(end)
	g.Store(done, g.ReturnIndex(0))
	g.end()
}

// total returns the sum of a node, by its place in the order, and its number.
func (r regular) total(place, first reg.Register) (total reg.VecVirtual, node reg.Register) {
	g := r.g
	node = r.number(regularOrder, place)
	p := g.GP64()
	g.MOVQ(node, p)
	total = g.load512(r.row(regularPotentials, p), r.mask)
	starts := r.field(regularInStart)
	m, end := g.GP64(), g.GP64()
	g.MOVLQSX(operand.Mem{Base: starts, Index: place, Scale: 4}, m)
	g.MOVLQSX(operand.Mem{Base: starts, Index: place, Scale: 4, Disp: 4}, end)
	row := g.GP64()
	g.MOVQ(m, row)
	g.SUBQ(first, row)
	g.SHLQ(operand.U8(6), row)
	g.ADDQ(operand.Mem{Base: r.u, Disp: regularRows}, row)
	again, done := g.label("message"), g.label("summed")
	g.CMPQ(m, end)
	g.JGE(label(done))
	g.Label(again)
	e, rho := r.number(regularIn, m), g.ZMM()
	g.SARQ(operand.U8(1), e)
	g.ANDQ(operand.Mem{Base: r.u, Disp: regularPerEdge}, e)
	g.VBROADCASTSD(operand.Mem{Base: r.field(regularRho), Index: e, Scale: 8}, rho)
	g.VFMADD231PD(operand.Mem{Base: row}, rho, total)
	g.ADDQ(operand.U8(64), row)
	g.INCQ(m)
	g.CMPQ(m, end)
	g.JL(label(again))
	g.Label(done)
	return total, node
}

// shift writes sums less their largest, over ρ, and the totals of their exponentials,
// of a group of nodes. Where a largest one is not finite, it leaves the sums as they
// are and jumps away.
func (r regular) shift(totals []reg.VecVirtual, positions []reg.Register, done reg.Register, trouble string) {
	g := r.g
	at := g.GP64()
	g.MOVQ(done, at)
	g.SHLQ(operand.U8(6), at)
	g.ADDQ(operand.Mem{Base: r.u, Disp: regularSums}, at)
	largest, bad := make([]reg.VecVirtual, len(totals)), g.K()
	g.KXORB(bad, bad, bad)
	for j, x := range totals {
		g.VMOVUPD(x, operand.Mem{Base: at, Disp: 64 * j})
		g.noteNaN(x, bad)
		largest[j] = g.orInfinity(x, r.mask)
	}
	largest = g.spreadFour(g.VMAXPD, largest)
	for j := range largest {
		magnitude, infinite := g.ZMM(), g.K()
		g.VPANDQ_BCST(g.constant("magnitude"), largest[j], magnitude)
		g.VCMPPD_BCST(cmpGreater, g.constant("largest"), magnitude, infinite)
		g.KORB(infinite, bad, bad)
	}
	g.KORTESTB(bad, bad)
	g.JNZ(label(trouble))
	rhoNode := r.field(regularRhoNode)
	for j, x := range totals {
		node, one, inverse := r.number(regularNodes, positions[j]), g.XMM(), g.ZMM()
		g.VMOVSD(g.constant("one"), one)
		g.VDIVSD(operand.Mem{Base: rhoNode, Index: node, Scale: 8}, one, one)
		g.VBROADCASTSD(one, inverse)
		g.VSUBPD(largest[j], x, x)
		g.VMULPD(inverse, x, x)
		g.VMOVUPD(x, operand.Mem{Base: at, Disp: 64 * j})
		r.clear(x)
	}
	sums := g.fromMemory().exps512(totals)
	for _, x := range sums {
		r.clear(x)
	}
	sums = g.spreadFour(g.VADDPD, sums)
	total := r.field(regularTotals)
	for j, x := range sums {
		g.VMOVSD(x.AsX(), operand.Mem{Base: total, Index: done, Scale: 8, Disp: 8 * j})
	}
}

func (g *generator) regularSettle512() {
	g.function("regularSettle512", "func(u *int, lo, hi int) (residual float64)", "is Regular.Settle.")
	i, hi, residual := g.intParam("lo"), g.intParam("hi"), g.zero512()
	g.forStates(func(r regular) {
		again, sum, total := g.label("node"), r.field(regularSums), r.field(regularTotals)
		g.Label(again)
		node := r.number(regularNodes, r.number(regularOrder, i))
		belief := r.row(regularBeliefs, node)
		after, before, logTotal := g.load512(operand.Mem{Base: sum}, nil), g.load512(belief, r.mask), g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: total}, logTotal)
		if r.mask == nil {
			g.VSUBPD(logTotal, after, after)
		} else {
			g.VSUBPD_Z(logTotal, after, *r.mask, after)
		}
		g.noteChange(after, before, residual)
		g.store512(after, belief, r.mask)
		g.ADDQ(operand.U8(64), sum)
		g.ADDQ(operand.U8(8), total)
		g.INCQ(i)
		g.CMPQ(i, hi)
		g.JL(label(again))
	})
	g.spread(g.VPMAXUQ, residual)
	g.Store(residual.AsX(), g.ReturnIndex(0))
	g.end()
}
