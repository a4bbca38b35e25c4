package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// batch256 is batch512 for vectors of 256 bits.
func (g avx2) batch256() {
	g.cavities256()
	g.products256()
	g.allSafe256()
	g.absorbAll256()
	g.exponentials256()
	g.shiftAll256()
	g.totals256()
	g.settle256()
}

// orInfinity256 is y where the mask is on, or everywhere, and −Inf elsewhere.
func (g avx2) orInfinity256(y reg.VecVirtual, rest *rest256) reg.VecVirtual {
	if rest != nil {
		g.VBLENDVPD(rest.mask, y, g.copyWide("negativeInfinity"), y)
	}
	return y
}

// cavities256 stores whole vectors, as cavities512 does.
func (g avx2) cavities256() {
	g.function("cavities256", "func(weights []float64, beliefs, messages []float64, list *int, count int)", "is Cavities.")
	weights, beliefs, messages := g.base("weights"), g.base("beliefs"), g.base("messages")
	low := g.copyWide("negativeInfinity")
	g.items(messageSize, func(item reg.Register) {
		w, b, m := g.shortPlace(item, messageWeight, weights), g.place(item, messageBelief, beliefs), g.place(item, messageReverse, messages)
		g.row256(g.short(item, messageSource), func(i reg.Register, offset int, rest *rest256) {
			x := g.cavity256(at64(b, i, offset), at64(m, i, offset), low, rest)
			g.VMOVUPD(x, at64(w, i, offset))
		})
	})
	g.end()
}

// cavity256 returns belief − message, −Inf where the message is.
func (g avx2) cavity256(belief, message operand.Mem, low reg.VecVirtual, rest *rest256) reg.VecVirtual {
	x, y, forbidden := g.load256(belief, rest), g.load256(message, rest), g.YMM()
	g.VCMPPD(operand.U8(0), low, y, forbidden)
	g.VSUBPD(y, x, x) // −Inf where the belief is, or a NaN if both are
	g.VBLENDVPD(forbidden, low, x, x)
	return x
}

// products256 leaves a long vector times a table, or a table times one, to others.
func (g avx2) products256() {
	g.function("products256", "func(out, weights, tables []float64, list *int, count int) (left int)", "is Products as far as rows of tables have up to 8 entries; left counts those that are not done.")
	out, weights, tables := g.base("out"), g.base("weights"), g.base("tables")
	item, left, again, next, done := g.intParam("list"), g.intParam("count"), g.label("item"), g.label("next"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	o, w, t := g.shortPlace(item, messageOut, out), g.shortPlace(item, messageWeight, weights), g.place(item, messageTable, tables)
	source, target := g.short(item, messageSource), g.short(item, messageTarget)
	backward := g.label("backward")
	two := g.ifTwoStates(item)
	g.CMPL(operand.Mem{Base: item, Disp: messageBackward}, operand.U8(0))
	g.JNE(label(backward))
	g.shortRows256(target, next, done, func(vectors int, rest *rest256) { g.forward256(o, w, t, source, target, vectors, rest) })
	g.Label(backward)
	g.shortRows256(source, next, done, func(vectors int, rest *rest256) { g.backward256(o, w, t, source, target, vectors, rest) })
	g.Label(next)
	g.ADDQ(operand.U32(messageSize), item)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.Store(left, g.ReturnIndex(0))
	g.end()
	g.eitherWay(item, two, func() { g.twoForward256(o, w, t) }, func() { g.twoBackward256(o, w, t) }, next)
}

// ifTwoStates jumps to a label, which it returns, from messages between two states at both ends.
func (g avx2) ifTwoStates(item reg.Register) (these string) {
	these = g.label("these")
	both := g.GP64()
	g.MOVQ(operand.U64(2<<32|2), both)
	g.CMPQ(both, operand.Mem{Base: item, Disp: messageSource}) // and the target
	g.JEQ(label(these))
	return these
}

// eitherWay emits, at a label, forward and backward messages, and goes to next.
func (g avx2) eitherWay(item reg.Register, at string, forward, backward func(), next string) {
	back := g.label("backward")
	g.Label(at)
	g.CMPL(operand.Mem{Base: item, Disp: messageBackward}, operand.U8(0))
	g.JNE(label(back))
	forward()
	g.JMP(label(next))
	g.Label(back)
	backward()
	g.JMP(label(next))
}

// twoForward256 is forward256 for a table of 2×2, which is one vector.
func (g avx2) twoForward256(o, w, t reg.Register) {
	weight, high := g.YMM(), g.XMM()
	g.VBROADCASTF128(operand.Mem{Base: w}, weight)
	g.VPERMILPD(operand.U8(0x0c), weight, weight)
	g.VMULPD(operand.Mem{Base: t}, weight, weight)
	g.VEXTRACTF128(operand.U8(1), weight, high)
	g.VADDPD(high, weight.AsX(), high)
	g.VMOVUPD(high, operand.Mem{Base: o})
}

// twoBackward256 is backward256 for a table of 2×2.
func (g avx2) twoBackward256(o, w, t reg.Register) {
	weight, high := g.YMM(), g.XMM()
	g.VBROADCASTF128(operand.Mem{Base: w}, weight)
	g.VMULPD(operand.Mem{Base: t}, weight, weight)
	g.VEXTRACTF128(operand.U8(1), weight, high)
	g.VHADDPD(high, weight.AsX(), high)
	g.VMOVUPD(high, operand.Mem{Base: o})
}

// shortRows256 emits body for rows of n entries, 1 to two vectors: those of just one or two
// vectors, and those with a rest. It jumps to next after that, and to long if n is
// larger.
func (g avx2) shortRows256(n reg.Register, next, long string, body func(vectors int, rest *rest256)) {
	for _, vectors := range []int{2, 1} {
		part, fewer := g.label("part"), g.label("fewer")
		g.CMPQ(n, operand.U32(4*vectors))
		g.JLT(label(part))
		if vectors == 2 {
			g.JG(label(long))
		}
		body(vectors, nil)
		g.JMP(label(next))
		g.Label(part)
		count := g.GP64()
		g.MOVQ(n, count)
		if vectors == 2 {
			g.SUBQ(operand.U8(4), count)
			g.JLE(label(fewer))
		}
		body(vectors, g.rest256(count))
		g.JMP(label(next))
		if vectors == 2 {
			g.Label(fewer)
		}
	}
}

// forward256 stores Σ_y w[y]·row y of a table with source rows of so many vectors.
func (g avx2) forward256(o, w, t, source, target reg.Register, vectors int, rest *rest256) {
	const unroll = 2
	s := g.strides(target, unroll)
	sums := g.zeros256(unroll * vectors)
	weight, row := g.GP64(), g.GP64()
	g.MOVQ(w, weight)
	g.MOVQ(t, row)
	g.rows(source, unroll, func(u int) {
		a := g.YMM()
		g.VBROADCASTSD(operand.Mem{Base: weight, Disp: 8 * u}, a)
		for c := range vectors {
			g.operate256(g.VFMADD231PD, s.row(row, u, 32*c), last256(c, vectors, rest), a, sums[u*vectors+c])
		}
	}, func(rows int) {
		g.ADDQ(operand.U32(8*rows), weight)
		g.advance(s, row, rows)
	})
	for c := range vectors {
		g.VADDPD(sums[vectors+c], sums[c], sums[c])
		g.VMOVUPD(sums[c], operand.Mem{Base: o, Disp: 32 * c})
	}
}

// backward256 stores the products of w with the target rows, of so many vectors, of
// a table: as many rows at a time as make a vector.
func (g avx2) backward256(o, w, t, source, target reg.Register, vectors int, rest *rest256) {
	s := g.eightRows(source)
	weight := make([]reg.VecVirtual, vectors)
	for c := range weight {
		weight[c] = g.load256(operand.Mem{Base: w, Disp: 32 * c}, last256(c, vectors, rest))
	}
	to, row, left := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(o, to)
	g.MOVQ(t, row)
	g.MOVQ(target, left)
	again, few, done := g.label("rows"), g.label("few"), g.label("products")
	// block emits the products of a vector of rows, or of as many as are left.
	block := func(all bool) reg.VecVirtual {
		sums, end := g.zeros256(4), g.label("end")
		for x, sum := range sums {
			if !all && x > 0 {
				g.CMPQ(left, operand.U32(x))
				g.JLE(label(end))
			}
			for c := range vectors {
				op := g.VFMADD231PD
				if c == 0 && (vectors > 1 || rest == nil) {
					op = g.VMULPD
				}
				g.operate256(op, s.row(row, x).Offset(32*c), last256(c, vectors, rest), weight[c], sum)
			}
		}
		g.Label(end)
		return g.transposeSum256(sums)
	}
	g.CMPQ(left, operand.U8(4))
	g.JLT(label(few))
	g.Label(again)
	g.VMOVUPD(block(true), operand.Mem{Base: to})
	g.ADDQ(operand.U8(32), to)
	g.LEAQ(operand.Mem{Base: row, Index: s.one, Scale: 4}, row)
	g.SUBQ(operand.U8(4), left)
	g.CMPQ(left, operand.U8(4))
	g.JGE(label(again))
	g.TESTQ(left, left)
	g.JZ(label(done))
	g.Label(few)
	g.VMOVUPD(block(false), operand.Mem{Base: to})
	g.Label(done)
}

func (g avx2) allSafe256() {
	g.function("allSafe256", "func(x []float64) bool", "is AllSafe.")
	x, n := g.base("x"), g.length("x")
	// Sums of their own for each vector of a round: no chain to wait for.
	const unroll = 4
	largest, bad, least := g.zeros256(unroll), g.zeros256(unroll), g.copyWide("tooSmall")
	g.loop256(n, unroll, func(i reg.Register, offset int, rest *rest256) {
		chain, y, below := offset/32, g.load256(at64(x, i, offset), rest), g.YMM()
		if rest != nil {
			g.VBLENDVPD(rest.mask, y, least, y)
		}
		g.VMAXPD(y, largest[chain], largest[chain])
		g.VCMPPD(cmpNotAtLeast, least, y, below)
		g.VORPD(below, bad[chain], bad[chain])
	})
	for chain := range unroll {
		above := g.YMM()
		g.VCMPPD(cmpGreater, g.wide("largest"), largest[chain], above)
		g.VORPD(above, bad[0], bad[0])
		g.VORPD(bad[chain], bad[0], bad[0])
	}
	unsafe := g.label("unsafe")
	g.anySign(bad[0], unsafe)
	g.returnBool(true)
	g.Label(unsafe)
	g.returnBool(false)
}

// absorbing256 is absorbing for up to four states.
type absorbing256 struct {
	damping, keep, zero, residual, total reg.VecVirtual
	node, states                         reg.Register
}

func (g avx2) absorbAll256() {
	g.function("absorbAll256", "func(messages, sums []float64, out []float64, list *int, count int, damping float64) (residual float64)", "is AbsorbAll.")
	a := absorbing256{g.broadcastParam256("damping"), g.copyWide("one"), g.zero256(), g.zero256(), g.zero256(), g.zero(), g.zero()}
	g.VSUBPD(a.damping, a.keep, a.keep)
	g.items(messageSize, func(item reg.Register) {
		old, sum := g.place(item, messageOld, g.base("messages")), g.shortPlace(item, messageSum, g.base("sums"))
		o, n := g.shortPlace(item, messageOut, g.base("out")), g.short(item, messageTarget)
		largest, rho := g.copyWide("negativeInfinity"), g.YMM()
		g.VBROADCASTSD(operand.Mem{Base: item, Disp: messageRho}, rho)
		long, same, done := g.label("long"), g.label("same"), g.label("absorbed")
		g.CMPQ(n, operand.U8(4))
		g.JG(label(long))
		{
			rest := g.rest256(n)
			g.CMPQ(sum, a.node)
			g.JEQ(label(same))
			g.storeTotal256(a)
			g.MOVQ(sum, a.node)
			g.MOVQ(n, a.states)
			g.VMASKMOVPD(operand.Mem{Base: sum}, rest.mask, a.total)
			g.Label(same)
			after := g.load256(operand.Mem{Base: o}, rest)
			g.VMOVAPD(after, largest)
			largest = g.orInfinity256(largest, rest)
			g.spread256(g.VMAXPD, largest)
			g.absorbed256(a, after, largest, operand.Mem{Base: old}, rest)
			g.VFMADD231PD(after, rho, a.total)
			g.JMP(label(done))
		}
		g.Label(long)
		g.storeTotal256(a)
		g.XORQ(a.node, a.node)
		g.row256(n, func(i reg.Register, offset int, rest *rest256) {
			g.VMAXPD(g.orInfinity256(g.load256(at64(o, i, offset), rest), rest), largest, largest)
		})
		g.spread256(g.VMAXPD, largest)
		g.row256(n, func(i reg.Register, offset int, rest *rest256) {
			after := g.load256(at64(o, i, offset), rest)
			g.absorbed256(a, after, largest, at64(old, i, offset), rest)
			total := g.load256(at64(sum, i, offset), rest)
			g.VFMADD231PD(after, rho, total)
			g.store256(total, at64(sum, i, offset), rest)
		})
		g.Label(done)
	})
	g.storeTotal256(a)
	g.storeResidual256(a.residual)
}

// storeTotal256 is storeTotal512.
func (g avx2) storeTotal256(a absorbing256) {
	none := g.label("none")
	g.TESTQ(a.node, a.node)
	g.JZ(label(none))
	g.store256(a.total, operand.Mem{Base: a.node}, &rest256{count: a.states})
	g.Label(none)
}

// absorbed256 is absorbed512; it changes after.
func (g avx2) absorbed256(a absorbing256, after, largest reg.VecVirtual, old operand.Mem, rest *rest256) {
	before := g.load256(old, rest)
	g.subtract256(largest, after, rest)
	undamped := g.branchUndamped(a.damping, a.zero)
	{
		part, mixed, differ := g.YMM(), g.YMM(), g.YMM()
		g.VCMPPD(cmpNotEqual, before, after, differ)
		g.VMULPD(a.damping, before, part)
		g.VMULPD(a.keep, after, mixed)
		g.VADDPD(part, mixed, mixed)
		g.VBLENDVPD(differ, mixed, after, after)
	}
	g.Label(undamped)
	g.noteChange256(after, before, a.residual)
	g.store256(after, old, rest)
}

// subtract256 is y −= a, 0 outside the mask.
func (g avx2) subtract256(a, y reg.VecVirtual, rest *rest256) {
	g.VSUBPD(a, y, y)
	if rest != nil {
		g.VANDPD(rest.mask, y, y)
	}
}

// noteChange256 is noteChange for vectors of four.
func (g avx2) noteChange256(after, before, residual reg.VecVirtual) {
	change, differ := g.YMM(), g.YMM()
	g.VCMPPD(cmpNotEqual, before, after, differ)
	g.VSUBPD(before, after, change)
	g.VANDPD(g.wide("magnitude"), change, change)
	g.VANDPD(differ, change, change)
	g.maxBits256(change, residual)
}

func (g avx2) storeResidual256(residual reg.VecVirtual) {
	g.spread256(func(operands ...operand.Op) { g.maxBits256(operands[0], operands[1]) }, residual)
	g.Store(residual.AsX(), g.ReturnIndex(0))
	g.end()
}

func (g avx2) shiftAll256() {
	g.function("shiftAll256", "func(sums []float64, list *int, count int) (left int)", "is Shift; left counts the nodes that are not done.")
	sums := g.base("sums")
	item, left, again, done := g.intParam("list"), g.intParam("count"), g.label("item"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	sum, n := g.shortPlace(item, nodeSum, sums), g.short(item, nodeStates)
	largest, bad := g.copyWide("negativeInfinity"), g.zero256()
	g.row256(n, func(i reg.Register, offset int, rest *rest256) {
		x, unordered := g.load256(at64(sum, i, offset), rest), g.YMM()
		g.VCMPPD(cmpUnordered, x, x, unordered)
		g.VORPD(unordered, bad, bad)
		g.VMAXPD(g.orInfinity256(x, rest), largest, largest)
	})
	g.spread256(g.VMAXPD, largest)
	magnitude, which, inverse := g.YMM(), g.GP32(), g.YMM()
	g.VANDPD(g.wide("magnitude"), largest, magnitude)
	g.VCMPPD(cmpGreater, g.wide("largest"), magnitude, magnitude)
	g.VORPD(magnitude, bad, bad)
	g.VMOVMSKPD(bad, which)
	g.TESTL(which, which)
	g.JNZ(label(done))
	g.VBROADCASTSD(operand.Mem{Base: item, Disp: nodeInverse}, inverse)
	g.row256(n, func(i reg.Register, offset int, rest *rest256) {
		x := g.load256(at64(sum, i, offset), rest)
		g.VSUBPD(largest, x, x)
		g.VMULPD(inverse, x, x)
		g.store256(x, at64(sum, i, offset), rest)
	})
	g.ADDQ(operand.U32(nodeSize), item)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.Store(left, g.ReturnIndex(0))
	g.end()
}

func (g avx2) totals256() {
	g.function("totals256", "func(totals, weights []float64, list *int, count int)", "is Totals.")
	totals, weights := g.base("totals"), g.base("weights")
	g.items(nodeSize, func(item reg.Register) {
		w, total := g.shortPlace(item, nodeSum, weights), g.zero256()
		g.row256(g.short(item, nodeStates), func(i reg.Register, offset int, rest *rest256) {
			g.VADDPD(g.load256(at64(w, i, offset), rest), total, total)
		})
		g.spread256(g.VADDPD, total)
		g.VMOVSD(total.AsX(), operand.Mem{Base: totals})
		g.ADDQ(operand.U8(8), totals)
	})
	g.end()
}

func (g avx2) settle256() {
	g.function("settle256", "func(beliefs, sums, logTotals []float64, list *int, count int) (residual float64)", "is Settle.")
	beliefs, sums, logTotals := g.base("beliefs"), g.base("sums"), g.base("logTotals")
	residual := g.zero256()
	g.items(nodeSize, func(item reg.Register) {
		b, sum, total := g.place(item, nodeBelief, beliefs), g.shortPlace(item, nodeSum, sums), g.YMM()
		g.VBROADCASTSD(operand.Mem{Base: logTotals}, total)
		g.ADDQ(operand.U8(8), logTotals)
		g.row256(g.short(item, nodeStates), func(i reg.Register, offset int, rest *rest256) {
			after, before := g.load256(at64(sum, i, offset), rest), g.load256(at64(b, i, offset), rest)
			g.subtract256(total, after, rest)
			g.noteChange256(after, before, residual)
			g.store256(after, at64(b, i, offset), rest)
		})
	})
	g.storeResidual256(residual)
}

// exponentials256 looks at a table first, as exponentials512 does.
func (g avx2) exponentials256() {
	g.function("exponentials256", "func(tables []float64, size int, inverse []float64) (left int)", "is Exponentials; left counts the tables that are not done.")
	table, size := g.base("tables"), g.intParam("size")
	inverses, left := g.base("inverse"), g.length("inverse")
	again, done := g.label("table"), g.label("done")
	g.hoist("round1", "one", "magnitude")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	inverse, large := g.YMM(), g.zero256()
	g.VBROADCASTSD(operand.Mem{Base: inverses}, inverse)
	g.loop256(size, 2, func(i reg.Register, offset int, rest *rest256) {
		x := g.load256(at64(table, i, offset), rest)
		g.VMULPD(inverse, x, x)
		if rest != nil {
			g.VANDPD(rest.mask, x, x) // 0·Inf
		}
		g.VANDPD(g.wide("magnitude"), x, x)
		g.VCMPPD(cmpNotLessEqual, g.wide("moderate"), x, x)
		g.VORPD(x, large, large)
	})
	g.anySign(large, done)
	g.loop256(size, 2, func(i reg.Register, offset int, rest *rest256) {
		x := g.load256(at64(table, i, offset), rest)
		g.VMULPD(inverse, x, x)
		g.store256(g.moderateExp256(x), at64(table, i, offset), rest)
	})
	g.LEAQ(at64(table, size, 0), table)
	g.ADDQ(operand.U8(8), inverses)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.Store(left, g.ReturnIndex(0))
	g.end()
}
