package main

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in bytes of the fields of simd.Uniform; a test of simd holds them against
// the compiler's. Those of slices are their base addresses.
const (
	uniformStates     = 0
	uniformPerEdge    = 8
	uniformDamping    = 16
	uniformBeliefs    = 24
	uniformMessages   = 48
	uniformTables     = 72
	uniformAt         = 96
	uniformRho        = 120
	uniformPotentials = 144
	uniformRhoNode    = 168
	uniformNodes      = 192
	uniformOrder      = 216
	uniformInStart    = 240
	uniformIn         = 264
	uniformInEdge     = 288
	uniformInSource   = 312
	uniformRows       = 336
	uniformSums       = 360
	uniformTotals     = 384
	uniformFar        = 408
	uniformEdges      = 416
	uniformU          = 440
	uniformV          = 464
	uniformCount      = 488
	uniformCold       = 512
)

// uniformTogether is how many messages, or nodes, take each step together: as many
// as registers allow for exponentials.
const uniformTogether = 4

// uniformVectors is how many vectors a row has at most, but for edges, whose rows have
// one.
const uniformVectors = 2

// uniform512 emits the steps of updating nodes that all have the same number of
// states, up to 16: a row is one vector or two, with one mask for all. Where the parts are
// follows from the numbers of nodes and edges, so that no list of offsets is needed.
func (g *generator) uniform512() {
	g.uniformProducts512()
	g.uniformAbsorb512()
	g.uniformShift512()
	g.uniformSettle512()
}

// uniform is what the kernels for it keep in registers.
type uniform struct {
	u       reg.Register       // the simd.Uniform
	vectors int                // of a row
	mask    *reg.OpmaskVirtual // of the last, nil if it is whole
	size    reg.Register       // bytes of a row, where there is a mask
	g       *generator
	kept    map[int]reg.Register // base addresses of slices
}

// hoist keeps the base addresses of slices in registers.
func (r *uniform) hoist(slices ...int) {
	r.kept = map[int]reg.Register{}
	for _, s := range slices {
		r.kept[s] = r.field(s)
	}
}

// base returns the base address of a slice, which must not be changed.
func (r uniform) base(slice int) reg.Register {
	if p, ok := r.kept[slice]; ok {
		return p
	}
	return r.field(slice)
}

// forStates emits body twice for each number of vectors, up to so many, that a row may
// have: for whole rows, and with a mask for shorter ones.
func (g *generator) forStates(vectors int, body func(r uniform)) {
	u := g.intParam("u")
	done, n := g.label("done"), g.GP64()
	g.MOVQ(operand.Mem{Base: u, Disp: uniformStates}, n)
	for v := 1; v <= vectors; v++ {
		few, more := g.label("few"), g.label("more")
		g.CMPQ(n, operand.U8(8*v))
		g.JNE(label(few))
		body(uniform{u: u, vectors: v, g: g})
		g.JMP(label(done))
		g.Label(few)
		if v < vectors {
			g.JG(label(more))
		}
		last, size := g.GP64(), g.GP64()
		g.LEAQ(operand.Mem{Base: n, Disp: -8 * (v - 1)}, last)
		mask := g.firstMask(last)
		g.MOVQ(n, size)
		g.SHLQ(operand.U8(3), size)
		body(uniform{u: u, vectors: v, mask: &mask, size: size, g: g})
		if v < vectors {
			g.JMP(label(done))
			g.Label(more)
		}
	}
	g.Label(done)
}

// maskOf returns the mask of the c-th vector of a row.
func (r uniform) maskOf(c int) *reg.OpmaskVirtual { return only(c, r.vectors, r.mask) }

// scratch is the length in bytes of so many rows of scratch, which are whole vectors.
func (r uniform) scratch(rows int) int { return 64 * r.vectors * rows }

// load reads a row; entries that do not belong to it are 0.
func (r uniform) load(m operand.Mem) []reg.VecVirtual {
	row := make([]reg.VecVirtual, r.vectors)
	for c := range row {
		row[c] = r.g.load512(m.Offset(64*c), r.maskOf(c))
	}
	return row
}

// loadScratch reads a row of scratch.
func (r uniform) loadScratch(m operand.Mem) []reg.VecVirtual {
	whole := uniform{g: r.g, vectors: r.vectors}
	return whole.load(m)
}

// storeScratch writes a row of scratch.
func (r uniform) storeScratch(row []reg.VecVirtual, m operand.Mem) {
	for c, z := range row {
		r.g.VMOVUPD(z, m.Offset(64*c))
	}
}

// largest returns a vector with the largest entries of a row, −Inf where it has none.
func (r uniform) largest(row []reg.VecVirtual) reg.VecVirtual {
	last := len(row) - 1
	largest := r.g.orInfinity(row[last], r.mask)
	for _, z := range row[:last] {
		larger := r.g.ZMM()
		r.g.VMAXPD(z, largest, larger)
		largest = larger
	}
	return largest
}

// atATime is how many rows an elementary function takes at a time.
func (r uniform) atATime(rows int) int { return max(1, min(rows, uniformTogether/r.vectors)) }

// flat lists the vectors of rows one after the other.
func flat(rows [][]reg.VecVirtual) []reg.VecVirtual { return slices.Concat(rows...) }

// inRows is flat the other way round.
func (r uniform) inRows(list []reg.VecVirtual) (rows [][]reg.VecVirtual) {
	for row := range slices.Chunk(list, r.vectors) {
		rows = append(rows, row)
	}
	return rows
}

// field returns a field of 8 bytes, or the base address of a slice.
func (r uniform) field(offset int) reg.Register {
	p := r.g.GP64()
	r.g.MOVQ(operand.Mem{Base: r.u, Disp: offset}, p)
	return p
}

// number returns entry i of a slice of int32.
func (r uniform) number(slice int, i reg.Register) reg.Register {
	return r.numberAt(slice, index{i, 0})
}

// index is a number in a register, and something to add to it.
type index struct {
	reg.Register
	plus int
}

// numberAt is number for an index.
func (r uniform) numberAt(slice int, i index) reg.Register {
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
func (r uniform) at(at group, j int) index {
	if at.last == nil {
		return index{at.i, j}
	}
	return index{r.upTo(at.i, j, at.last), 0}
}

// eachGroup emits body for whole groups from i on, and for the rest up to last.
func (r uniform) eachGroup(i, last reg.Register, body func(at group)) {
	g := r.g
	again, rest, done, end := g.label("group"), g.label("rest"), g.label("grouped"), g.GP64()
	g.LEAQ(operand.Mem{Base: last, Disp: 1 - uniformTogether}, end)
	g.CMPQ(i, end)
	g.JG(label(rest))
	g.Label(again)
	body(group{i: i})
	g.ADDQ(operand.U8(uniformTogether), i)
	g.CMPQ(i, end)
	g.JLE(label(again))
	g.Label(rest)
	g.CMPQ(i, last)
	g.JG(label(done))
	body(group{i, last})
	g.Label(done)
}

// row turns the number of a row into its address in a slice.
func (r uniform) row(slice int, number reg.Register) operand.Mem {
	if r.mask == nil {
		r.g.SHLQ(operand.U8(5+r.vectors), number)
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
func (r uniform) clear(row []reg.VecVirtual) {
	if r.mask != nil {
		last := row[len(row)-1]
		r.g.VMOVAPD_Z(last, *r.mask, last)
	}
}

// upTo returns i + j, or last if that is less.
func (r uniform) upTo(i reg.Register, j int, last reg.Register) reg.Register {
	p := r.g.GP64()
	r.g.LEAQ(operand.Mem{Base: i, Disp: j}, p)
	r.g.CMPQ(p, last)
	r.g.CMOVQGT(last, p)
	return p
}

// table returns the address of the table of message i.
func (r uniform) table(i index) reg.Register {
	q := r.numberAt(uniformInEdge, i)
	r.g.MOVQ(operand.Mem{Base: r.base(uniformAt), Index: q, Scale: 8}, q)
	r.g.LEAQ(operand.Mem{Base: r.base(uniformTables), Index: q, Scale: 8}, q)
	return q
}

// ahead is how many messages before they are needed the parts of a message are asked
// for: their order is nothing that the processor could guess.
const ahead = 12

// prefetch asks for the table of a message, for both messages along its edge, which
// are neighbours, and for the belief of its source.
func (r uniform) prefetch(i index) {
	g := r.g
	d := r.numberAt(uniformIn, i)
	g.ANDQ(operand.I8(-2), d)
	m := r.row(uniformMessages, d)
	for c := range 2 * r.vectors {
		g.PREFETCHT0(m.Offset(64 * c))
	}
	belief := r.row(uniformBeliefs, r.numberAt(uniformInSource, i))
	for c := range r.vectors {
		g.PREFETCHT0(belief.Offset(64 * c))
	}
}

// prefetchTable asks for the table of a message.
func (r uniform) prefetchTable(i index) {
	g := r.g
	t := r.table(i)
	if r.mask == nil {
		for line := range 8 * r.vectors * r.vectors {
			g.PREFETCHT0(operand.Mem{Base: t, Disp: 64 * line})
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
func (r uniform) prefetchGroup(i, last reg.Register, table func(i index)) {
	g := r.g
	near, none := g.label("near"), g.label("none")
	end := g.GP64()
	g.LEAQ(operand.Mem{Base: i, Disp: ahead + uniformTogether - 1}, end)
	g.CMPQ(end, last)
	g.JG(label(none))
	g.CMPQ(operand.Mem{Base: r.u, Disp: uniformCold}, operand.U8(0))
	g.JEQ(label(none))
	for j := range uniformTogether {
		r.prefetch(index{i, ahead + j})
	}
	g.CMPQ(operand.Mem{Base: r.u, Disp: uniformFar}, operand.U8(0))
	g.JEQ(label(near))
	for j := range uniformTogether {
		table(index{i, ahead + j})
	}
	g.Label(near)
	g.Label(none)
}

// cavity returns the cavity of message i, 0 outside of the row: exponentials of −Inf
// would cost an assist each.
func (r uniform) cavity(i index) []reg.VecVirtual {
	belief, d := r.row(uniformBeliefs, r.numberAt(uniformInSource, i)), r.numberAt(uniformIn, i)
	r.g.XORQ(operand.U8(1), d)
	message := r.row(uniformMessages, d)
	row := make([]reg.VecVirtual, r.vectors)
	for c := range row {
		row[c] = r.g.cavity512(belief.Offset(64*c), message.Offset(64*c), r.maskOf(c))
	}
	r.clear(row)
	return row
}

// uniformProducts512 writes rows of whole vectors, whatever the number of states. The last
// group is filled up with the last message, again and again. Weights below e^−708 are
// lost, and with tables of e^300 at most their terms are below e^−408: sums from 1e-130
// on are trusted.
func (g *generator) uniformProducts512() {
	g.function("uniformProducts512", "func(u *int, lo, hi int) (safe bool)", "is Uniform.Products.")
	i, last := g.intParam("lo"), g.intParam("hi")
	g.DECQ(last)
	worst, largest := g.zero512(), g.broadcast512("negativeInfinity")
	// As many of the constants as there are registers for.
	v := g.fromRegisters(append([]string{"log2e", "round16", "expLn2High", "expLn2Low"}, names("exp16", 6)...)...)
	v.keepTable("rootBits")
	g.forStates(uniformVectors, func(r uniform) {
		out := r.field(uniformRows)
		r.hoist(uniformIn, uniformMessages)
		r.eachGroup(i, last, func(at group) {
			r.prefetchGroup(at.i, last, r.prefetchTable)
			for first, n := 0, r.atATime(uniformTogether); first < uniformTogether; first += n {
				var cavities [][]reg.VecVirtual
				for j := first; j < first+n; j++ {
					cavities = append(cavities, r.cavity(r.at(at, j)))
				}
				for _, z := range flat(cavities) {
					g.VMAXPD(z, largest, largest)
				}
				for c, w := range v.shortExps512(flat(cavities), byCount) {
					g.VMOVUPD(w, operand.Mem{Base: out, Disp: r.scratch(first) + 64*c})
				}
			}
			for j := range uniformTogether {
				r.product(r.at(at, j), operand.Mem{Base: out, Disp: r.scratch(j)}, worst)
			}
			g.ADDQ(operand.U32(r.scratch(uniformTogether)), out)
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
func (r uniform) product(i index, row operand.Mem, worst reg.VecVirtual) {
	g := r.g
	t, w := r.table(i), g.GP64()
	g.LEAQ(row, w)
	sums := g.several(r.vectors)
	r.eitherWay(i, func(backward bool) {
		for c, z := range r.sums(w, t, backward) {
			g.VMOVAPD(z, sums[c])
		}
	})
	for c, sum := range sums {
		g.VMOVUPD(sum, row.Offset(64*c))
		distance, mask := g.ZMM(), r.maskOf(c)
		if mask == nil {
			g.VPSUBQ_BCST(g.constant("edgeTotal"), sum, distance)
		} else {
			g.VPSUBQ_BCST_Z(g.constant("edgeTotal"), sum, *mask, distance)
		}
		g.VPMAXUQ(distance, worst, worst)
	}
}

// eitherWay emits body for a message forward and one backward; i tells which it is.
func (r uniform) eitherWay(i index, body func(backward bool)) {
	g := r.g
	backward, done := g.label("backward"), g.label("product")
	g.TESTB(operand.U8(1), operand.Mem{Base: r.base(uniformIn), Index: i.Register, Scale: 4, Disp: 4 * i.plus})
	g.JNZ(label(backward))
	body(false)
	g.JMP(label(done))
	g.Label(backward)
	body(true)
	g.Label(done)
}

// sums returns the products of the weights at w with the rows, or columns, of the
// table at t. It may change t.
func (r uniform) sums(w, t reg.Register, backward bool) []reg.VecVirtual {
	g := r.g
	if r.vectors > 1 {
		if backward {
			return r.longBackward(w, t)
		}
		return r.longForward(w, t)
	}
	short := g.fewForward512
	switch {
	case r.mask == nil && backward:
		return []reg.VecVirtual{g.eightBackward512(w, t)}
	case r.mask == nil:
		return []reg.VecVirtual{g.eightForward512(w, t)}
	case backward:
		short = g.fewBackward512
	}
	n := r.field(uniformStates)
	return []reg.VecVirtual{short(w, t, n, n)}
}

// eachLongRow emits body for the rows lo ≤ y < hi of a table of rows of two vectors, of
// which there are more than 8, with the address of the row; t moves on to it where
// there is a mask. The code jumps behind the last when there are no more.
func (r uniform) eachLongRow(t reg.Register, lo, hi int, body func(y int, row operand.Mem)) {
	g, end := r.g, r.g.label("rows")
	for y := lo; y < hi; y++ {
		if r.mask == nil {
			body(y, operand.Mem{Base: t, Disp: r.scratch(y)})
			continue
		}
		if y > 8 {
			g.CMPQ(r.size, operand.U8(8*y))
			g.JLE(label(end))
		}
		body(y, operand.Mem{Base: t})
		g.ADDQ(r.size, t)
	}
	g.Label(end)
}

// longForward is eightForward512 for rows of two vectors.
func (r uniform) longForward(w, t reg.Register) []reg.VecVirtual {
	g, sums := r.g, r.g.zeros512(2*r.vectors)
	r.eachLongRow(t, 0, 8*r.vectors, func(y int, row operand.Mem) {
		a := g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: w, Disp: 8 * y}, a)
		for c := range r.vectors {
			masked(g.VFMADD231PD, r.maskOf(c), row.Offset(64*c), a, sums[y%2*r.vectors+c])
		}
	})
	for c := range r.vectors {
		g.VADDPD(sums[r.vectors+c], sums[c], sums[c])
	}
	return sums[:r.vectors]
}

// longBackward is eightBackward512 for rows of two vectors: it takes eight rows at a
// time.
func (r uniform) longBackward(w, t reg.Register) []reg.VecVirtual {
	g, weights := r.g, r.loadScratch(operand.Mem{Base: w})
	sums := make([]reg.VecVirtual, r.vectors)
	for eight := range sums {
		products := g.zeros512(8)
		r.eachLongRow(t, 8*eight, 8*eight+8, func(y int, row operand.Mem) {
			for c, weight := range weights {
				masked(g.VFMADD231PD, r.maskOf(c), row.Offset(64*c), weight, products[y%8])
			}
		})
		sums[eight] = g.transposeSum(products)
	}
	return sums
}

// uniformAbsorb512 takes the last messages one by one: with damping, absorbing one
// twice would not be the same.
func (g *generator) uniformAbsorb512() {
	g.function("uniformAbsorb512", "func(u *int, lo, hi int) (residual float64)", "is Uniform.Absorb.")
	i, left := g.intParam("lo"), g.intParam("hi")
	g.SUBQ(i, left)
	a := absorbing{damping: g.ZMM(), keep: g.broadcast512("one"), zero: g.zero512(), residual: g.zero512()}
	g.VBROADCASTSD(operand.Mem{Base: g.intParam("u"), Disp: uniformDamping}, a.damping)
	g.VSUBPD(a.damping, a.keep, a.keep)
	g.forStates(uniformVectors, func(r uniform) {
		row := r.field(uniformRows)
		r.groups(i, left, func(n int) {
			r.absorb(a, i, row, n)
			g.ADDQ(operand.U32(r.scratch(n)), row)
		})
	})
	g.spread(g.VPMAXUQ, a.residual)
	g.Store(a.residual.AsX(), g.ReturnIndex(0))
	g.end()
}

// spreadMany is spreadFour for any number of vectors.
func (g *generator) spreadMany(op func(...operand.Op), z []reg.VecVirtual) []reg.VecVirtual {
	if len(z) == uniformTogether {
		return g.spreadFour(op, z)
	}
	t := g.several(len(z))
	for i := range z {
		g.VMOVAPD(z[i], t[i])
	}
	g.spreads(op, t)
	return t
}

// absorb does n messages from the i-th on, whose sums begin at row.
func (r uniform) absorb(a absorbing, i, row reg.Register, n int) {
	for first, step := 0, r.atATime(n); first < n; first += step {
		var sums [][]reg.VecVirtual
		for j := range step {
			sums = append(sums, r.loadScratch(operand.Mem{Base: row, Disp: r.scratch(first + j)}))
		}
		r.absorbLogs(a, i, row, first, r.inRows(r.g.fromMemory().logs512(flat(sums))))
	}
}

// absorbLogs takes over the messages after the first few from the i-th on, whose logarithms these are, and
// leaves them in the rows.
func (r uniform) absorbLogs(a absorbing, i, row reg.Register, first int, logs [][]reg.VecVirtual) {
	g := r.g
	largest := make([]reg.VecVirtual, len(logs))
	for j := range logs {
		largest[j] = r.largest(logs[j])
	}
	largest = g.spreadMany(g.VMAXPD, largest)
	for j := range logs {
		old := r.row(uniformMessages, r.number(uniformIn, r.plus(i, first+j)))
		for c, log := range logs[j] {
			after := g.absorbed512(a, log, largest[j], old.Offset(64*c), r.maskOf(c))
			g.VMOVUPD(after, operand.Mem{Base: row, Disp: r.scratch(first+j) + 64*c})
		}
	}
}

// uniformShift512 fills the last group up with the last node.
func (g *generator) uniformShift512() {
	g.function("uniformShift512", "func(u *int, lo, hi int) (done int)", "is Uniform.Shift.")
	i, last, done := g.intParam("lo"), g.intParam("hi"), g.zero()
	g.DECQ(last)
	bad, end := g.label("bad"), g.label("end")
	g.forStates(uniformVectors, func(r uniform) {
		again := g.label("group")
		first := r.number(uniformInStart, i)
		g.Label(again)
		totals, nodes := make([][]reg.VecVirtual, uniformTogether), make([]reg.Register, uniformTogether)
		for j := range totals {
			totals[j], nodes[j] = r.total(r.upTo(i, j, last), first)
		}
		r.shift(totals, nodes, done, bad)
		g.ADDQ(operand.U8(uniformTogether), done)
		g.ADDQ(operand.U8(uniformTogether), i)
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
func (r uniform) total(place, first reg.Register) (total []reg.VecVirtual, node reg.Register) {
	g := r.g
	node = r.number(uniformOrder, place)
	p := g.GP64()
	g.MOVQ(node, p)
	total = r.load(r.row(uniformPotentials, p))
	starts := r.field(uniformInStart)
	m, end := g.GP64(), g.GP64()
	g.MOVLQSX(operand.Mem{Base: starts, Index: place, Scale: 4}, m)
	g.MOVLQSX(operand.Mem{Base: starts, Index: place, Scale: 4, Disp: 4}, end)
	row := g.GP64()
	g.MOVQ(m, row)
	g.SUBQ(first, row)
	g.SHLQ(operand.U8(5+r.vectors), row)
	g.ADDQ(operand.Mem{Base: r.u, Disp: uniformRows}, row)
	again, done := g.label("message"), g.label("summed")
	g.CMPQ(m, end)
	g.JGE(label(done))
	g.Label(again)
	e, rho := r.number(uniformIn, m), g.ZMM()
	g.SARQ(operand.U8(1), e)
	g.ANDQ(operand.Mem{Base: r.u, Disp: uniformPerEdge}, e)
	g.VBROADCASTSD(operand.Mem{Base: r.field(uniformRho), Index: e, Scale: 8}, rho)
	for c, z := range total {
		g.VFMADD231PD(operand.Mem{Base: row, Disp: 64 * c}, rho, z)
	}
	g.ADDQ(operand.U32(r.scratch(1)), row)
	g.INCQ(m)
	g.CMPQ(m, end)
	g.JL(label(again))
	g.Label(done)
	return total, node
}

// shift writes sums less their largest, over ρ, and the totals of their exponentials,
// of a group of nodes. Where a largest one is not finite, it leaves the sums as they
// are and jumps away.
func (r uniform) shift(totals [][]reg.VecVirtual, positions []reg.Register, done reg.Register, trouble string) {
	g := r.g
	at := g.GP64()
	g.MOVQ(done, at)
	g.SHLQ(operand.U8(5+r.vectors), at)
	g.ADDQ(operand.Mem{Base: r.u, Disp: uniformSums}, at)
	largest, bad := make([]reg.VecVirtual, len(totals)), g.K()
	g.KXORB(bad, bad, bad)
	for j, row := range totals {
		r.storeScratch(row, operand.Mem{Base: at, Disp: r.scratch(j)})
		for _, x := range row {
			g.noteNaN(x, bad)
		}
		largest[j] = r.largest(row)
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
	rhoNode := r.field(uniformRhoNode)
	for j, row := range totals {
		node, one, inverse := r.number(uniformNodes, positions[j]), g.XMM(), g.ZMM()
		g.VMOVSD(g.constant("one"), one)
		g.VDIVSD(operand.Mem{Base: rhoNode, Index: node, Scale: 8}, one, one)
		g.VBROADCASTSD(one, inverse)
		for _, x := range row {
			g.VSUBPD(largest[j], x, x)
			g.VMULPD(inverse, x, x)
		}
		r.storeScratch(row, operand.Mem{Base: at, Disp: r.scratch(j)})
		r.clear(row)
	}
	var sums []reg.VecVirtual
	for part := range slices.Chunk(totals, r.atATimeOfMany(len(totals))) {
		for _, row := range r.inRows(g.fromMemory().exps512(flat(part))) {
			r.clear(row)
			for _, z := range row[1:] {
				g.VADDPD(z, row[0], row[0])
			}
			sums = append(sums, row[0])
		}
	}
	sums = g.spreadFour(g.VADDPD, sums)
	total := r.field(uniformTotals)
	for j, x := range sums {
		g.VMOVSD(x.AsX(), operand.Mem{Base: total, Index: done, Scale: 8, Disp: 8 * j})
	}
}

// atATimeOfMany is atATime where other rows wait in registers.
func (r uniform) atATimeOfMany(rows int) int { return max(1, r.atATime(rows)/r.vectors) }

func (g *generator) uniformSettle512() {
	g.function("uniformSettle512", "func(u *int, lo, hi int) (residual float64)", "is Uniform.Settle.")
	i, hi, residual := g.intParam("lo"), g.intParam("hi"), g.zero512()
	g.forStates(uniformVectors, func(r uniform) {
		again, sum, total := g.label("node"), r.field(uniformSums), r.field(uniformTotals)
		g.Label(again)
		node := r.number(uniformNodes, r.number(uniformOrder, i))
		belief, logTotal := r.row(uniformBeliefs, node), g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: total}, logTotal)
		before := r.load(belief)
		for c, after := range r.loadScratch(operand.Mem{Base: sum}) {
			mask := r.maskOf(c)
			if mask == nil {
				g.VSUBPD(logTotal, after, after)
			} else {
				g.VSUBPD_Z(logTotal, after, *mask, after)
			}
			g.noteChange(after, before[c], residual)
			g.store512(after, belief.Offset(64*c), mask)
		}
		g.ADDQ(operand.U32(r.scratch(1)), sum)
		g.ADDQ(operand.U8(8), total)
		g.INCQ(i)
		g.CMPQ(i, hi)
		g.JL(label(again))
	})
	g.spread(g.VPMAXUQ, residual)
	g.Store(residual.AsX(), g.ReturnIndex(0))
	g.end()
}
