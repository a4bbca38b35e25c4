package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The belief of an edge takes two passes over its table. With l and r the cavities, shifted so that the largest
// entry is 0, a = e^l and c = e^r, the first pass sums over rows
//
//	X[j] = Σ_i a[i] values[i,j]        U[j] = Σ_i a[i] l[i] values[i,j]
//
// so that the total is Σ_j c[j] X[j], and Σ_i l[i]·(row sum) + Σ_j r[j]·(column sum) is
// Σ_j (c[j] U[j] + c[j] r[j] X[j]) / total: no sum along a row is needed. The second pass writes
// a[i] values[i,j] (c[j]/total).
//
// That is a chain of steps which leaves most of the processor idle. edgeBeliefs therefore takes each step for a
// chunk of edges, and the exponentials and logarithms of all of them at once.

// Offsets in bytes of the fields of simd.Edge, and its size; a test of simd holds
// them against the compiler's.
const (
	edgeBeliefU  = 0
	edgeMessageU = 8
	edgeBeliefV  = 16
	edgeMessageV = 24
	edgeTable    = 32
	edgeSize     = 40
)

// Sizes of a chunk: so many edges at most, whose weights have so many bytes at most.
const (
	chunkEdges = 64
	chunkBytes = 4096
)

// Offsets in the scratch: what does not find room in registers; of each edge the shift, the total, later 1/total,
// and the weighted sum, with room for one vector behind; the weights a and c of all edges, and their products
// a·l and c·r.
const (
	slotList   = 8 * iota // the chunk's first entry of the list
	slotLeft              // edges that are left
	slotChunk             // edges of the chunk
	slotDone              // edges that are done
	slotMost              // edges of a whole chunk
	slotRight             // bytes from a to c
	slotStride            // bytes from edge to edge
	slotEnd               // the last place for a whole vector in dst
	slotRow               // bytes of a row of a table
	slotRows              // rows that are left
	slotLast              // of each part of an edge, its last place inside its slice
	slots      = slotLast + 8*5

	batchShift   = (slots + 63) / 64 * 64
	batchTotal   = batchShift + 8*chunkEdges + 64
	batchSum     = batchTotal + 8*chunkEdges + 64
	batchWeight  = batchSum + 8*chunkEdges + 64
	batchProduct = batchWeight + chunkBytes + 64
	batchBytes   = batchProduct + chunkBytes + 64
)

// edgePanel is how many vectors of a row are summed at a time.
const edgePanel = 4

// edgeBatch is where a pass is: at edge n of the chunk, whose entry of the list and weights are known by their
// addresses.
type edgeBatch struct {
	vectors
	scratch, edge, weights, n reg.Register
}

func (b edgeBatch) slot(i int) operand.Mem { return operand.Mem{Base: b.scratch, Disp: i} }

// ofEdge is a number of edge n.
func (b edgeBatch) ofEdge(offset int) operand.Mem { return at64(b.scratch, b.n, offset) }

// alignedScratch returns the address of so many bytes on the stack, at a multiple of 64.
func (g *generator) alignedScratch(size int) reg.Register {
	scratch := g.GP64()
	g.LEAQ(g.AllocLocal(size+64).Offset(63), scratch)
	g.ANDQ(operand.I32(-64), scratch)
	return scratch
}

func (v vectors) edgeBeliefs() {
	v.function(v.name("edgeBeliefs"), "func(dst, logZ, product, beliefs, messages, tables []float64, edges *int, "+
		"count, ku, kv int) (done int)",
		"is EdgeBeliefs for 1 to 64 states, as far as edges are safe and inside the slices.")
	b := edgeBatch{v, v.alignedScratch(batchBytes), v.GP64(), v.GP64(), v.GP64()}
	again, part, done, chunk := v.label("chunk"), v.label("part"), v.label("done"), v.GP64()
	b.begin(done)
	v.Label(again)
	v.MOVQ(b.slot(slotLeft), chunk)
	v.TESTQ(chunk, chunk)
	v.JLE(label(done))
	v.CMPQ(chunk, b.slot(slotMost))
	v.JLE(label(part))
	v.MOVQ(b.slot(slotMost), chunk)
	v.Label(part)
	v.MOVQ(chunk, b.slot(slotChunk))
	b.pass(b.cavities)
	b.exponentials()
	b.pass(func(string) { b.byShape(b.totalsOfEight, b.totals) })
	b.results()
	b.pass(func(string) { b.byShape(b.beliefOfEight, b.belief) })
	v.MOVQ(b.edge, b.slot(slotList))
	v.MOVQ(b.slot(slotChunk), chunk)
	v.ADDQ(chunk, b.slot(slotDone))
	v.SUBQ(chunk, b.slot(slotLeft))
	v.JMP(label(again))
	v.Label(done)
	v.MOVQ(b.slot(slotDone), chunk)
	v.Store(chunk, v.ReturnIndex(0))
	v.end()
}

// edgeParts are the parts of an edge.
var edgeParts = []struct {
	field  int
	slice  string
	states []string // its entries are the product of these
}{
	{edgeBeliefU, "beliefs", []string{"ku"}}, {edgeMessageU, "messages", []string{"ku"}},
	{edgeBeliefV, "beliefs", []string{"kv"}}, {edgeMessageV, "messages", []string{"kv"}},
	{edgeTable, "tables", []string{"ku", "kv"}},
}

// begin fills the slots. It jumps away where a slice is too short for any edge.
func (b edgeBatch) begin(none string) {
	zero := b.zero()
	b.MOVQ(zero, b.slot(slotDone))
	b.MOVQ(b.intParam("count"), b.slot(slotLeft))
	b.MOVQ(b.intParam("edges"), b.slot(slotList))
	for i, part := range edgeParts {
		last, entries := b.length(part.slice), b.intParam(part.states[0])
		for _, more := range part.states[1:] {
			b.IMULQ(b.intParam(more), entries)
		}
		b.SUBQ(entries, last)
		b.JLT(label(none))
		b.MOVQ(last, b.slot(slotLast+8*i))
	}
	// Rows of weights are whole vectors.
	right, stride, most := b.vectorBytes("ku"), b.vectorBytes("kv"), b.GP64()
	b.ADDQ(right, stride)
	b.MOVQ(right, b.slot(slotRight))
	b.MOVQ(stride, b.slot(slotStride))
	// As many edges as have room.
	few := b.label("few")
	b.MOVL(operand.U32(chunkBytes), reg.EAX)
	b.XORL(reg.EDX, reg.EDX)
	b.DIVL(stride.As32())
	b.MOVL(reg.EAX, most.As32())
	b.CMPQ(most, operand.U8(chunkEdges))
	b.JLE(label(few))
	b.MOVQ(operand.U32(chunkEdges), most)
	b.Label(few)
	b.MOVQ(most, b.slot(slotMost))
}

// vectorBytes returns the bytes of the whole vectors that hold so many numbers.
func (v vectors) vectorBytes(states string) reg.GPVirtual {
	r := v.GP64()
	v.MOVQ(v.rowBytes(v.intParam(states)), r)
	v.ADDQ(operand.U8(v.bytes()-1), r)
	v.ANDQ(operand.I32(-v.bytes()), r)
	return r
}

// pass emits body for the edges of a chunk. body gets a label for where it cannot go on: the chunk then ends at n,
// and is the last.
func (b edgeBatch) pass(body func(stop string)) {
	again, stop, end := b.label("pass"), b.label("stop"), b.label("passed")
	b.MOVQ(b.slot(slotList), b.edge)
	b.LEAQ(b.slot(batchWeight), b.weights)
	b.XORQ(b.n, b.n)
	b.Label(again)
	b.CMPQ(b.n, b.slot(slotChunk))
	b.JGE(label(end))
	body(stop)
	b.ADDQ(operand.U32(edgeSize), b.edge)
	b.ADDQ(b.slot(slotStride), b.weights)
	b.INCQ(b.n)
	b.JMP(label(again))
	b.Label(stop)
	b.endAt(b.n)
	b.Label(end)
}

// endAt makes the chunk end at edge n, and the list with it.
func (b edgeBatch) endAt(n reg.Register) {
	b.MOVQ(n, b.slot(slotChunk))
	b.MOVQ(n, b.slot(slotLeft))
}

// byShape emits eight for tables of 8×8, and other for all.
func (b edgeBatch) byShape(eight, other func()) {
	general, done := b.label("general"), b.label("shaped")
	for _, states := range []string{"ku", "kv"} {
		b.CMPQ(b.intParam(states), operand.U8(8))
		b.JNE(label(general))
	}
	eight()
	b.JMP(label(done))
	b.Label(general)
	other()
	b.Label(done)
}

// cavities puts the cavities of an edge, less their largest entries, in the place of its weights. A NaN that a
// maximum loses is still in its cavity.
func (b edgeBatch) cavities(stop string) {
	for i, part := range edgeParts {
		p := b.GP64()
		b.MOVQ(operand.Mem{Base: b.edge, Disp: part.field}, p)
		b.CMPQ(p, b.slot(slotLast+8*i))
		b.JHI(label(stop))
	}
	top := b.shifted("ku", edgeBeliefU, edgeMessageU, b.weights)
	topRight := b.shifted("kv", edgeBeliefV, edgeMessageV, b.rightWeights())
	b.VADDSD(topRight.AsX(), top.AsX(), top.AsX())
	b.VMOVSD(top.AsX(), b.ofEdge(batchShift))
}

// shifted stores one cavity, −Inf up to whole vectors, and returns its largest entry.
func (b edgeBatch) shifted(states string, belief, message int, to reg.Register) (top reg.VecVirtual) {
	tau, m, n := b.place(b.edge, belief, b.base("beliefs")), b.place(b.edge, message, b.base("messages")),
		b.intParam(states)
	other, many, done := b.label("other"), b.label("many"), b.label("cavity")
	top = b.vector()
	// of takes the largest entry of some vectors out of them, and stores them.
	of := func(x ...reg.VecVirtual) {
		b.VMOVAPD(x[0], top)
		for _, more := range x[1:] {
			b.VMAXPD(more, top, top)
		}
		b.spread(b.VMAXPD, top)
		for c := range x {
			b.VSUBPD(top, x[c], x[c])
			b.VMOVUPD(x[c], operand.Mem{Base: to, Disp: b.bytes() * c})
		}
		b.JMP(label(done))
	}
	b.CMPQ(n, operand.U8(8))
	b.JNE(label(other))
	var eight []reg.VecVirtual
	for offset := 0; offset < 64; offset += b.bytes() {
		eight = append(eight, b.cavity(operand.Mem{Base: tau, Disp: offset}, operand.Mem{Base: m, Disp: offset}, nil))
	}
	of(eight...)
	b.Label(other)
	b.CMPQ(n, operand.U8(b.lanes))
	b.JG(label(many))
	of(b.cavity(operand.Mem{Base: tau}, operand.Mem{Base: m}, b.first(n)))
	b.Label(many)
	b.VBROADCASTSD(b.constant("negativeInfinity"), top)
	b.loop(n, 1, func(i reg.Register, _ int, r *rest) { b.VMAXPD(b.cavity(at64(tau, i, 0), at64(m, i, 0), r), top, top) })
	b.spread(b.VMAXPD, top)
	b.loop(n, 1, func(i reg.Register, _ int, r *rest) {
		x := b.cavity(at64(tau, i, 0), at64(m, i, 0), r)
		b.VSUBPD(top, x, x)
		b.VMOVUPD(x, at64(to, i, 0))
	})
	b.Label(done)
	return top
}

// exponentials makes weights and products of all cavities of the chunk.
func (b edgeBatch) exponentials() {
	at, left, again, done := b.GP64(), b.GP64(), b.label("vector"), b.label("vectors")
	b.MOVQ(b.slot(slotChunk), left)
	b.IMULQ(b.slot(slotStride), left)
	b.LEAQ(b.slot(batchWeight), at)
	b.ADDQ(at, left)
	b.CMPQ(at, left)
	b.JGE(label(done))
	b.Label(again)
	l, product := b.load(operand.Mem{Base: at}, nil), b.vector()
	b.VMOVAPD(l, product)
	weight, normal := b.shortExp(l)
	b.clear(normal, product)
	b.VMULPD(weight, product, product)
	b.VMOVUPD(weight, operand.Mem{Base: at})
	b.VMOVUPD(product, b.product(operand.Mem{Base: at}))
	b.ADDQ(operand.U8(b.bytes()), at)
	b.CMPQ(at, left)
	b.JLT(label(again))
	b.Label(done)
}

// table returns the address of the table of edge n.
func (b edgeBatch) table() reg.Register { return b.place(b.edge, edgeTable, b.base("tables")) }

// rightWeights returns the address of the weights c of edge n.
func (b edgeBatch) rightWeights() reg.Register {
	right := b.GP64()
	b.MOVQ(b.slot(slotRight), right)
	b.ADDQ(b.weights, right)
	return right
}

// product is the product that belongs to a weight.
func (b edgeBatch) product(weight operand.Mem) operand.Mem {
	return weight.Offset(batchProduct - batchWeight)
}

// totalsOfEight is totals for a table of 8×8.
func (b edgeBatch) totalsOfEight() {
	row, n, total, weighted := b.table(), 8/b.lanes, b.zeroVector(), b.zeroVector()
	x, u := b.zeros(n), b.zeros(n)
	for i := range 8 {
		weight := operand.Mem{Base: b.weights, Disp: 8 * i}
		a, al := b.broadcast(weight), b.broadcast(b.product(weight))
		for c := range n {
			z := b.load(operand.Mem{Base: row, Disp: 64*i + b.bytes()*c}, nil)
			b.VFMADD231PD(z, a, x[c])
			b.VFMADD231PD(z, al, u[c])
		}
	}
	for c := range n {
		b.addTotals(operand.Mem{Base: b.weights, Disp: 64 + b.bytes()*c}, x[c], u[c], total, weighted)
	}
	b.storeTotals(total, weighted)
}

// addTotals adds what a vector of columns, whose weights are c, has of the total and of the weighted sum.
func (b edgeBatch) addTotals(c operand.Mem, x, u, total, weighted reg.VecVirtual) {
	b.VFMADD231PD(c, x, total)
	b.VFMADD231PD(c, u, weighted)
	b.VFMADD231PD(b.product(c), x, weighted)
}

// totals stores the total of edge n and its weighted sum.
func (b edgeBatch) totals() {
	total, weighted := b.zeroVector(), b.zeroVector()
	table, right, row, w := b.table(), b.rightWeights(), b.GP64(), b.GP64()
	s := b.strides(b.intParam("kv"), 2)
	b.panels(b.intParam("kv"), edgePanel, func(offset reg.Register, n int, r *rest) {
		unroll := min(2, 4/n)
		b.MOVQ(b.weights, w)
		b.LEAQ(bytes(table, offset, 0), row)
		x, u := b.zeros(unroll*n), b.zeros(unroll*n)
		b.rows(b.intParam("ku"), unroll, func(i int) {
			weight := operand.Mem{Base: w, Disp: 8 * i}
			a, al := b.broadcast(weight), b.broadcast(b.product(weight))
			for c := range n {
				z := b.load(s.row(row, i, b.bytes()*c), last(c, n, r))
				b.VFMADD231PD(z, a, x[i*n+c])
				b.VFMADD231PD(z, al, u[i*n+c])
			}
		}, func(rows int) {
			b.ADDQ(operand.U32(8*rows), w)
			b.advance(s, row, rows)
		})
		for c := range n {
			if unroll == 2 {
				b.VADDPD(x[n+c], x[c], x[c])
				b.VADDPD(u[n+c], u[c], u[c])
			}
			b.addTotals(bytes(right, offset, b.bytes()*c), x[c], u[c], total, weighted)
		}
	})
	b.storeTotals(total, weighted)
}

// storeTotals stores the sums of the entries of two vectors.
func (b edgeBatch) storeTotals(total, weighted reg.VecVirtual) {
	if b.lanes == 8 {
		for _, x := range []reg.VecVirtual{total, weighted} {
			half := b.YMM()
			b.VEXTRACTF64X4(operand.U8(1), x, half)
			b.VADDPD(half, x.AsY(), x.AsY())
		}
	}
	low, high := b.YMM(), b.YMM()
	b.VUNPCKLPD(weighted.AsY(), total.AsY(), low)
	b.VUNPCKHPD(weighted.AsY(), total.AsY(), high)
	b.VADDPD(high, low, low)
	b.upperHalf(low, high.AsX())
	b.VADDPD(high.AsX(), low.AsX(), low.AsX())
	b.VMOVSD(low.AsX(), b.ofEdge(batchTotal))
	b.VMOVHPD(low.AsX(), b.ofEdge(batchSum))
}

// results stores log Z and the product of the edges of the chunk, and puts 1/total in the place of the total. It ends
// the chunk before a total that is not safe.
func (b edgeBatch) results() {
	chunk, done := b.GP64(), b.GP64()
	b.MOVQ(b.slot(slotChunk), chunk)
	b.MOVQ(b.slot(slotDone), done)
	logZ, product := b.base("logZ"), b.base("product")
	b.LEAQ(at64(logZ, done, 0), logZ)
	b.LEAQ(at64(product, done, 0), product)
	b.loop(chunk, 1, func(i reg.Register, _ int, r *rest) {
		at := func(offset int) operand.Mem { return at64(b.scratch, i, offset) }
		totals, scale := b.load(at(batchTotal), nil), b.copyOf("one")
		b.endBeforeUnsafe(totals, i)
		b.VDIVPD(totals, scale, scale)
		b.VMOVUPD(scale, at(batchTotal))
		b.VMULPD(at(batchSum), scale, scale)
		shift := b.load(at(batchShift), nil)
		b.VADDPD(shift, scale, scale)
		b.store(scale, at64(product, i, 0), r)
		logs := b.of(normalLog, totals)
		b.VADDPD(shift, logs, logs)
		b.store(logs, at64(logZ, i, 0), r)
	})
}

// endBeforeUnsafe ends the chunk before the first of a vector of totals, of edges from i on, that is below tooSmall,
// above largest or a NaN, unless it ends before that: so may the vector.
func (b edgeBatch) endBeforeUnsafe(totals reg.VecVirtual, i reg.Register) {
	bad, safe := b.compare(cmpNotAtLeast, b.wide("tooSmall"), totals), b.label("safe")
	b.or(b.compare(cmpGreater, b.wide("largest"), totals), bad)
	b.ifNone(bad, safe)
	which := b.bits(bad)
	b.BSFL(which.As32(), which.As32())
	b.ADDQ(i, which)
	b.CMPQ(which, b.slot(slotChunk))
	b.JGE(label(safe))
	b.endAt(which)
	b.Label(safe)
}

// to returns the address of the belief of edge n.
func (b edgeBatch) to() reg.Register {
	p, dst := b.GP64(), b.base("dst")
	b.MOVQ(b.slot(slotDone), p)
	b.ADDQ(b.n, p)
	b.IMULQ(b.intParam("ku"), p)
	b.IMULQ(b.intParam("kv"), p)
	b.LEAQ(at64(dst, p, 0), p)
	return p
}

// beliefOfEight is belief for a table of 8×8.
func (b edgeBatch) beliefOfEight() {
	row, to, scale, c := b.table(), b.to(), b.broadcast(b.ofEdge(batchTotal)), b.several(8/b.lanes)
	for i := range c {
		b.VMULPD(operand.Mem{Base: b.weights, Disp: 64 + b.bytes()*i}, scale, c[i])
	}
	for i := range 8 {
		a := b.broadcast(operand.Mem{Base: b.weights, Disp: 8 * i})
		for j, right := range c {
			z, at := b.vector(), 64*i+b.bytes()*j
			b.VMULPD(operand.Mem{Base: row, Disp: at}, a, z)
			b.VMULPD(right, z, z)
			b.VMOVUPD(z, operand.Mem{Base: to, Disp: at})
		}
	}
}

// belief writes the belief of edge n. A vector that holds the end of a row is written whole, over what comes next, as
// long as it ends before dst does.
func (b edgeBatch) belief() {
	short, done, last, dst := b.label("short"), b.label("done"), b.GP64(), b.base("dst")
	b.MOVQ(b.length("dst"), last)
	b.LEAQ(at64(dst, last, -b.bytes()), last)
	b.MOVQ(last, b.slot(slotEnd))
	b.MOVQ(b.rowBytes(b.intParam("kv")), b.slot(slotRow))
	b.MOVQ(b.intParam("ku"), b.slot(slotRows))
	b.CMPQ(b.intParam("kv"), operand.U8(b.lanes))
	b.JLE(label(short))
	b.beliefRows(func(body func(i reg.Register, r *rest)) {
		b.loop(b.intParam("kv"), 1, func(i reg.Register, _ int, r *rest) { body(i, r) })
	})
	b.JMP(label(done))
	b.Label(short)
	// Rows of one vector, or less, have one mask.
	r, zero := b.first(b.intParam("kv")), b.zero()
	b.beliefRows(func(body func(i reg.Register, r *rest)) { body(zero, r) })
	b.Label(done)
}

// beliefRows emits the rows of a belief; eachVector emits body for the vectors of one row.
func (b edgeBatch) beliefRows(eachVector func(body func(i reg.Register, r *rest))) {
	row, to, w, right, again := b.table(), b.to(), b.GP64(), b.rightWeights(), b.label("row")
	scale := b.broadcast(b.ofEdge(batchTotal))
	b.MOVQ(b.weights, w)
	b.Label(again)
	a := b.broadcast(operand.Mem{Base: w})
	b.VMULPD(scale, a, a)
	eachVector(func(i reg.Register, r *rest) {
		z := b.load(at64(row, i, 0), r)
		b.VMULPD(at64(right, i, 0), z, z)
		b.VMULPD(a, z, z)
		if r == nil {
			b.VMOVUPD(z, at64(to, i, 0))
			return
		}
		p, pieces, done := b.GP64(), b.label("pieces"), b.label("written")
		b.LEAQ(at64(to, i, 0), p)
		b.CMPQ(p, b.slot(slotEnd))
		b.JGT(label(pieces))
		b.VMOVUPD(z, operand.Mem{Base: p})
		b.JMP(label(done))
		b.Label(pieces)
		b.store(z, operand.Mem{Base: p}, r)
		b.Label(done)
	})
	b.ADDQ(operand.U8(8), w)
	b.ADDQ(b.slot(slotRow), row)
	b.ADDQ(b.slot(slotRow), to)
	b.DECQ(b.slot(slotRows))
	b.JNZ(label(again))
}
