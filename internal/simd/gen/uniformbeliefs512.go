package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// uniformBeliefs512 emits the beliefs of such nodes, and of edges between those with up
// to 8 states.
func (g *generator) uniformBeliefs512() {
	g.uniformNodes512()
	g.uniformEdges512()
	g.uniformList()
}

// groups emits body for groups of uniformTogether from i on, and then one by one.
func (r uniform) groups(i, left reg.Register, body func(n int)) {
	g := r.g
	for _, n := range []int{uniformTogether, 1} {
		again, done := g.label("group"), g.label("rest")
		g.CMPQ(left, operand.U8(n))
		g.JLT(label(done))
		g.Label(again)
		body(n)
		g.ADDQ(operand.U8(n), i)
		g.SUBQ(operand.U8(n), left)
		g.CMPQ(left, operand.U8(n))
		g.JGE(label(again))
		g.Label(done)
	}
}

// plus returns i + j.
func (r uniform) plus(i reg.Register, j int) reg.Register {
	p := r.g.GP64()
	r.g.LEAQ(operand.Mem{Base: i, Disp: j}, p)
	return p
}

// bytes is the length of a row, for adding to an address.
func (r uniform) bytes() operand.Op {
	if r.mask == nil {
		return operand.U32(r.scratch(1))
	}
	return r.size
}

// addRow adds vectors to the row at p.
func (r uniform) addRow(row []reg.VecVirtual, p reg.Register) {
	for c, z := range row {
		m := operand.Mem{Base: p, Disp: 64 * c}
		r.g.VADDPD(r.g.load512(m, r.maskOf(c)), z, z)
		r.g.store512(z, m, r.maskOf(c))
	}
}

// uniformNodes512 writes whole vectors: what is beyond a row is overwritten by the
// next.
func (g *generator) uniformNodes512() {
	g.function("uniformNodes512", "func(u *int, dst, sum []float64, lo, hi int) (freeEnergy float64)", "is Uniform.WriteNodes.")
	i, left, dst := g.intParam("lo"), g.intParam("hi"), g.base("dst")
	g.SUBQ(i, left)
	energy := g.zero512()
	g.forStates(uniformVectors, func(r uniform) {
		sum := g.zeros512(r.vectors)
		r.groups(i, left, func(n int) {
			for first, step := 0, r.atATime(n); first < n; first += step {
				r.nodeBeliefs(i, dst, first, step, energy, sum)
			}
		})
		r.addRow(sum, g.base("sum"))
	})
	g.spread(g.VADDPD, energy)
	g.Store(energy.AsX(), g.ReturnIndex(0))
	g.end()
}

// nodeBeliefs does n nodes after the first few from the i-th on.
func (r uniform) nodeBeliefs(i, dst reg.Register, first, n int, energy reg.VecVirtual, sum []reg.VecVirtual) {
	g, v := r.g, r.g.fromMemory()
	logs, terms, counts, zero := make([][]reg.VecVirtual, n), make([][]reg.VecVirtual, n), r.field(uniformCount), g.zero512()
	for j := range n {
		p := r.plus(i, first+j)
		s := r.number(uniformNodes, p)
		count := g.ZMM()
		terms[j] = r.load(r.row(uniformPotentials, p))
		g.VBROADCASTSD(operand.Mem{Base: counts, Index: s, Scale: 8}, count)
		belief := r.row(uniformBeliefs, s)
		for c, term := range terms[j] {
			x, b := g.broadcast512("negativeInfinity"), belief.Offset(64*c)
			if mask := r.maskOf(c); mask == nil {
				g.VMOVUPD(b, x)
			} else {
				g.VMOVUPD(b, *mask, x)
			}
			g.VFNMADD231PD(x, count, term) // θ − c log τ
			logs[j] = append(logs[j], x)
		}
	}
	for j, row := range r.inRows(v.shortExps512(flat(logs), byCount)) {
		for c, tau := range row {
			possible := g.K()
			g.VCMPPD(cmpNotEqual, zero, tau, possible)
			g.VFMADD231PD(tau, terms[j][c], possible, energy)
			g.VADDPD(tau, sum[c], sum[c])
			g.VMOVUPD(tau, operand.Mem{Base: dst, Disp: 64 * c})
		}
		g.ADDQ(r.bytes(), dst)
	}
}

// Offsets in the scratch of uniformEdges512: the sums of the rows of beliefs, and for
// each of two groups vectors of each edge and their scales.
const (
	manySums   = 0
	manyGroups = 512
	manyA      = 0
	manyAL     = 64
	manyC      = 128
	manyCR     = 192
	manyVector = 256
	manyScales = uniformTogether * manyVector
	manyGroup  = manyScales + 64
	manyBytes  = manyGroups + 2*manyGroup
)

// edgeLoop is what uniformEdges512 keeps in registers.
type edgeLoop struct {
	uniform
	i, left, dst           reg.Register
	ahead                  int          // how far the group is ahead of edge i
	sums                   reg.Register // scratch
	scratch                reg.Register // of the group
	largest, worst, energy reg.VecVirtual
	v                      values512
}

func (l edgeLoop) vector(edge, part int) operand.Mem {
	return operand.Mem{Base: l.scratch, Disp: manyVector*edge + part}
}

// uniformEdges512 takes no largest entry out of cavities: some state of a belief is at
// least 1/k and no message is above 1, so that they are not all small. An edge is safe
// if no cavity is above 60 and the total is at least 1e-130: tables are e^300 at most
// and weights below e^−708 are lost, together e^−348, which is 1e-21 of that total.
func (g *generator) uniformEdges512() {
	g.function("uniformEdges512", "func(u *int, dst, sum []float64, lo, hi int) (freeEnergy float64, safe bool)", "is Uniform.WriteEdges.")
	l := edgeLoop{i: g.intParam("lo"), left: g.intParam("hi"), dst: g.base("dst"), sums: g.alignedScratch(manyBytes), scratch: g.GP64(),
		largest: g.broadcast512("negativeInfinity"), worst: g.zero512(), energy: g.zero512()}
	other := g.GP64()
	g.LEAQ(operand.Mem{Base: l.sums, Disp: manyGroups}, l.scratch)
	g.LEAQ(operand.Mem{Base: l.sums, Disp: manyGroups + manyGroup}, other)
	g.SUBQ(l.i, l.left)
	l.v = g.fromRegisters("log2e", "round16", "expLn2High", "expLn2Low")
	l.v.keepTable("rootBits")
	zero := g.zero512()
	for row := range 8 {
		g.VMOVUPD(zero, operand.Mem{Base: l.sums, Disp: manySums + 64*row})
	}
	unsafe := g.label("unsafe")
	g.forStates(1, func(r uniform) {
		l.uniform = r
		l.groups(other)
		bad, large := g.K(), g.K()
		g.VPCMPUQ_BCST(cmpNotLessEqual, g.constant("edgeRange"), l.worst, bad)
		g.VCMPPD_BCST(cmpNotLessEqual, g.constant("edgeCavity"), l.largest, large)
		g.KORTESTB(large, bad)
		g.JNZ(label(unsafe))
		p := g.base("sum")
		l.eachRow(func(row int) {
			if row > 0 {
				g.ADDQ(r.bytes(), p)
			}
			r.addRow(r.loadScratch(operand.Mem{Base: l.sums, Disp: manySums + 64*row}), p)
		})
	})
	g.spread(g.VADDPD, l.energy)
	g.Store(l.energy.AsX(), g.ReturnIndex(0))
	g.returnFlag(true, 1)
	g.Label(unsafe)
	g.returnFlag(false, 1)
}

// groups does whole groups, each begun before the tables of the one before are
// written: what waits for totals is then not alone. The rest goes one by one.
func (l edgeLoop) groups(other reg.Register) {
	g := l.g
	again, last, single, done := l.g.label("group"), g.label("last"), g.label("single"), g.label("done")
	g.CMPQ(l.left, operand.U8(uniformTogether))
	g.JLT(label(single))
	l.sides(uniformTogether)
	l.totals(uniformTogether)
	g.Label(again)
	g.CMPQ(l.left, operand.U8(2*uniformTogether))
	g.JLT(label(last))
	next := l
	next.ahead, next.scratch = uniformTogether, other
	l.prefetchSides(2 * uniformTogether)
	next.sides(uniformTogether)
	l.tables(uniformTogether)
	next.totals(uniformTogether)
	g.XCHGQ(l.scratch, other)
	l.advance(uniformTogether)
	g.JMP(label(again))
	g.Label(last)
	l.tables(uniformTogether)
	l.advance(uniformTogether)
	g.Label(single)
	g.TESTQ(l.left, l.left)
	g.JZ(label(done))
	l.sides(1)
	l.totals(1)
	l.tables(1)
	l.advance(1)
	g.JMP(label(single))
	g.Label(done)
}

// prefetchSides asks for the messages and beliefs of a group of edges, if it is whole.
func (l edgeLoop) prefetchSides(ahead int) {
	g, none := l.g, l.g.label("none")
	g.CMPQ(l.left, operand.U8(ahead+uniformTogether))
	g.JLT(label(none))
	for j := range uniformTogether {
		e := l.numberAt(uniformEdges, index{l.i, ahead + j})
		for _, ends := range []int{uniformU, uniformV} {
			g.PREFETCHT0(l.row(uniformBeliefs, l.number(ends, e)))
		}
		g.ADDQ(e, e)
		m := l.row(uniformMessages, e)
		g.PREFETCHT0(m)
		g.PREFETCHT0(m.Offset(64))
	}
	g.Label(none)
}

func (l edgeLoop) advance(n int) {
	l.g.ADDQ(operand.U8(n), l.i)
	l.g.SUBQ(operand.U8(n), l.left)
}

// eachRow emits body for each row of a table; the code leaves after the last.
func (l edgeLoop) eachRow(body func(row int)) {
	g, end := l.g, l.g.label("rows")
	for row := range 8 {
		if row > 0 && l.mask != nil {
			g.CMPQ(l.size, operand.U8(8*row))
			g.JLE(label(end))
		}
		body(row)
	}
	g.Label(end)
}

// sides puts weights and products of the n edges of the group into the scratch, two
// edges at a time: as many as registers allow.
func (l edgeLoop) sides(n int) {
	for j := 0; j < n; j += 2 {
		l.someSides(j, min(2, n-j))
	}
}

func (l edgeLoop) someSides(first, n int) {
	g := l.g
	var cavities, products []reg.VecVirtual
	for j := first; j < first+n; j++ {
		e := l.number(uniformEdges, l.plus(l.i, l.ahead+j))
		for side, ends := range []int{uniformU, uniformV} {
			d := l.plus(e, 0)
			g.ADDQ(d, d)
			if side == 0 {
				g.INCQ(d)
			}
			x, possible, product := g.cavity512(l.row(uniformBeliefs, l.number(ends, e)), l.row(uniformMessages, d), l.mask), g.K(), g.ZMM()
			l.v.compare(cmpNotEqual, "negativeInfinity", x, possible)
			g.VMOVAPD_Z(x, possible, product)
			g.VMAXPD(x, l.largest, l.largest)
			cavities, products = append(cavities, x), append(products, product)
		}
	}
	for i, w := range l.v.shortExps512(cavities, byCount) {
		g.VMULPD(w, products[i], products[i])
		part := [2]int{manyA, manyC}[i%2]
		g.VMOVUPD(w, l.vector(first+i/2, part))
		g.VMOVUPD(products[i], l.vector(first+i/2, part+64))
	}
}

// edgeTable returns the address of the table of the j-th edge of the group.
func (l edgeLoop) edgeTable(j int) reg.Register {
	q := l.plus(l.i, l.ahead+j)
	l.g.MOVQ(operand.Mem{Base: l.base(uniformAt), Index: q, Scale: 8}, q)
	p := l.field(uniformTables)
	l.g.LEAQ(operand.Mem{Base: p, Index: q, Scale: 8}, p)
	return p
}

// totals adds the energies of the n edges of the group, and puts one over the total of
// each into the scratch.
func (l edgeLoop) totals(n int) {
	g := l.g
	sums := g.several(2 * uniformTogether)
	for j := range n {
		sums[j], sums[uniformTogether+j] = l.weighted(j)
	}
	if n < uniformTogether {
		for _, z := range sums {
			if z != sums[0] && z != sums[uniformTogether] {
				g.VXORPD(z, z, z)
			}
		}
	}
	totals := g.transposeSum(sums)
	weighted, one := g.YMM(), g.YMM()
	g.VEXTRACTF64X4(operand.U8(1), totals, weighted)
	g.VMOVUPD(g.constant("wide one"), one)
	if n < uniformTogether { // the rest counts as edges with a total of 1 and no energy
		g.VBLENDPD(operand.U8(1), totals.AsY(), one, totals.AsY())
	}
	g.VSHUFF64X2(operand.U8(0x44), totals, totals, totals)
	distance, scale := g.ZMM(), g.YMM()
	g.VPSUBQ_BCST(g.constant("edgeTotal"), totals, distance)
	g.VPMAXUQ(distance, l.worst, l.worst)
	g.VDIVPD(totals.AsY(), one, scale)
	g.VMOVUPD(scale, operand.Mem{Base: l.scratch, Disp: manyScales})
	logs := g.fromMemory().logs512([]reg.VecVirtual{totals})[0]
	g.VFNMADD231PD(weighted, scale, logs.AsY())
	g.VFMADD231PD(logs.AsY(), l.rhos(n), l.energy.AsY())
}

// weighted returns the totals of the columns of the j-th edge, and the same weighted
// with the cavities.
func (l edgeLoop) weighted(j int) (total, product reg.VecVirtual) {
	g := l.g
	x, u := g.zeros512(2), g.zeros512(2)
	t := l.edgeTable(j)
	l.eachRow(func(row int) {
		if row > 0 && l.mask != nil {
			g.ADDQ(l.size, t)
		}
		z := l.tableRow(t, row)
		g.VFMADD231PD_BCST(l.vector(j, manyA+8*row), z, x[row%2])
		g.VFMADD231PD_BCST(l.vector(j, manyAL+8*row), z, u[row%2])
	})
	g.VADDPD(x[1], x[0], x[0])
	g.VADDPD(u[1], u[0], u[0])
	c := g.load512(l.vector(j, manyC), nil)
	g.VMULPD(c, u[0], u[0])
	g.VFMADD231PD(l.vector(j, manyCR), x[0], u[0])
	g.VMULPD(c, x[0], x[0])
	return x[0], u[0]
}

// tableRow loads a row of the table at t, which has moved on to it unless it has 8
// states.
func (l edgeLoop) tableRow(t reg.Register, row int) reg.VecVirtual {
	if l.mask == nil {
		return l.g.load512(operand.Mem{Base: t, Disp: 64 * row}, nil)
	}
	return l.g.load512(operand.Mem{Base: t}, l.mask)
}

// rhos returns ρ of the n edges of the group, and 0 for the rest.
func (l edgeLoop) rhos(n int) reg.VecVirtual {
	g, base := l.g, l.field(uniformRho)
	at := make([]operand.Mem, n)
	for j := range at {
		e := l.number(uniformEdges, l.plus(l.i, l.ahead+j))
		g.ANDQ(operand.Mem{Base: l.u, Disp: uniformPerEdge}, e)
		at[j] = operand.Mem{Base: base, Index: e, Scale: 8}
	}
	low, all := g.XMM(), g.YMM()
	g.VMOVSD(at[0], low)
	if n < uniformTogether {
		g.VXORPD(all, all, all)
		g.VINSERTF128(operand.U8(0), low, all, all)
		return all
	}
	high := g.XMM()
	g.VMOVHPD(at[1], low, low)
	g.VMOVSD(at[2], high)
	g.VMOVHPD(at[3], high, high)
	g.VINSERTF128(operand.U8(1), high, low.AsY(), all)
	return all
}

// tables writes the beliefs of the n edges of the group, whole vectors: what is beyond
// a row is overwritten by the next.
func (l edgeLoop) tables(n int) {
	g := l.g
	sums := g.several(8)
	for row, z := range sums {
		g.VMOVUPD(operand.Mem{Base: l.sums, Disp: manySums + 64*row}, z)
	}
	for j := range n {
		t, c := l.edgeTable(j), g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: l.scratch, Disp: manyScales + 8*j}, c)
		g.VMULPD(l.vector(j, manyC), c, c)
		l.eachRow(func(row int) {
			if row > 0 && l.mask != nil {
				g.ADDQ(l.size, t)
			}
			z := l.tableRow(t, row)
			g.VMULPD(c, z, z)
			g.VMULPD_BCST(l.vector(j, manyA+8*row), z, z)
			g.VADDPD(z, sums[row], sums[row])
			g.VMOVUPD(z, operand.Mem{Base: l.dst})
			g.ADDQ(l.bytes(), l.dst)
		})
	}
	for row, z := range sums {
		g.VMOVUPD(z, operand.Mem{Base: l.sums, Disp: manySums + 64*row})
	}
}

// uniformList writes the list of edges that kernels without a Uniform take. It has no
// vectors.
func (g *generator) uniformList() {
	g.function("uniformList", "func(u, list *int, lo, hi int)", "is Uniform.List.")
	u, list, q, hi := g.intParam("u"), g.intParam("list"), g.intParam("lo"), g.intParam("hi")
	k := g.GP64()
	g.MOVQ(operand.Mem{Base: u, Disp: uniformStates}, k)
	r := uniform{u: u, g: g}
	r.hoist(uniformEdges, uniformU, uniformV, uniformAt)
	again := g.label("edge")
	g.Label(again)
	e := r.number(uniformEdges, q)
	for _, part := range []struct {
		field  int
		number func() reg.Register
	}{
		{edgeBeliefU, func() reg.Register { return r.number(uniformU, e) }},
		{edgeBeliefV, func() reg.Register { return r.number(uniformV, e) }},
		{edgeMessageV, func() reg.Register { g.ADDQ(e, e); return r.plus(e, 0) }},
		{edgeMessageU, func() reg.Register { return r.plus(e, 1) }},
	} {
		at := part.number()
		g.IMULQ(k, at)
		g.MOVQ(at, operand.Mem{Base: list, Disp: part.field})
	}
	at := g.GP64()
	g.MOVQ(operand.Mem{Base: r.base(uniformAt), Index: q, Scale: 8}, at)
	g.MOVQ(at, operand.Mem{Base: list, Disp: edgeTable})
	g.ADDQ(operand.U8(edgeSize), list)
	g.INCQ(q)
	g.CMPQ(q, hi)
	g.JL(label(again))
	g.RET()
}
