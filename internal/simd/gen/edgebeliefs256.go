package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The belief of one edge is a chain of steps that leaves most of the processor idle.
// edgeBeliefs256 therefore takes each step, a pass, for a chunk of edges, and the
// exponentials and logarithms of all of them at once. The formulas are those of
// edgeBelief512.

// Sizes of a chunk: so many edges at most, whose weights have so many bytes at most.
const (
	chunkEdges256 = 64
	chunkBytes256 = 4096
)

// Offsets in the scratch of edgeBeliefs256: what does not find room in registers; of
// each edge the shift, the total, later 1/total, and the weighted sum, with room for one vector behind;
// the weights a and c of all edges, and their products a·l and c·r.
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

	batchShift    = (slots + 63) / 64 * 64
	batchTotal    = batchShift + 8*chunkEdges256 + 32
	batchSum      = batchTotal + 8*chunkEdges256 + 32
	batchWeight   = batchSum + 8*chunkEdges256 + 32
	batchProduct  = batchWeight + chunkBytes256 + 32
	batchBytes256 = batchProduct + chunkBytes256 + 32
)

// edgeBatch256 is where a pass is: at edge n of the chunk, whose entry of the list and
// weights are known by their addresses.
type edgeBatch256 struct {
	avx2
	scratch, edge, weights, n reg.Register
}

func (g edgeBatch256) slot(i int) operand.Mem { return operand.Mem{Base: g.scratch, Disp: i} }

// ofEdge is a number of edge n.
func (g edgeBatch256) ofEdge(offset int) operand.Mem { return at64(g.scratch, g.n, offset) }

func (g avx2) edgeBeliefs256() {
	g.function("edgeBeliefs256", "func(dst, logZ, product, beliefs, messages, tables []float64, edges *int, count, ku, kv int) (done int)",
		fmt.Sprintf("is EdgeBeliefs for 1 to %d states, as far as edges are safe and inside the slices", maxStates512))
	b := edgeBatch256{g, g.alignedScratch(batchBytes256), g.GP64(), g.GP64(), g.GP64()}
	b.chunks(1, b.cavities, [][2]func(){{b.totalsOfEight, b.totals}}, [2]func(){b.beliefOfEight, b.belief})
}

// chunks emits the passes for chunks of edges: first fills in what exponentials are made of, so
// many rows of each end of an edge; sums and write are for tables of 8×8, and for all.
func (g edgeBatch256) chunks(rows int, first func(stop string), sums [][2]func(), write [2]func()) {
	again, part, done := g.label("chunk"), g.label("part"), g.label("done")
	g.begin(done, rows)
	g.Label(again)
	chunk := g.GP64()
	g.MOVQ(g.slot(slotLeft), chunk)
	g.TESTQ(chunk, chunk)
	g.JLE(label(done))
	g.CMPQ(chunk, g.slot(slotMost))
	g.JLE(label(part))
	g.MOVQ(g.slot(slotMost), chunk)
	g.Label(part)
	g.MOVQ(chunk, g.slot(slotChunk))
	g.pass(first)
	g.exponentials()
	for _, step := range sums {
		g.pass(func(string) { g.byShape(step[0], step[1]) })
	}
	g.results()
	g.pass(func(string) { g.byShape(write[0], write[1]) })
	g.MOVQ(g.edge, g.slot(slotList))
	g.MOVQ(g.slot(slotChunk), chunk)
	g.ADDQ(chunk, g.slot(slotDone))
	g.SUBQ(chunk, g.slot(slotLeft))
	g.JMP(label(again))
	g.Label(done)
	g.MOVQ(g.slot(slotDone), chunk)
	g.Store(chunk, g.ReturnIndex(0))
	g.end()
}

// edgeParts256 are the parts of an edge.
var edgeParts256 = []struct {
	field  int
	slice  string
	states []string // its entries are the product of these
}{
	{edgeBeliefU, "beliefs", []string{"ku"}}, {edgeMessageU, "messages", []string{"ku"}},
	{edgeBeliefV, "beliefs", []string{"kv"}}, {edgeMessageV, "messages", []string{"kv"}},
	{edgeTable, "tables", []string{"ku", "kv"}},
}

// begin fills the slots. It jumps away where a slice is too short for any edge.
func (g edgeBatch256) begin(none string, rows int) {
	zero := g.zero()
	g.MOVQ(zero, g.slot(slotDone))
	g.MOVQ(g.intParam("count"), g.slot(slotLeft))
	g.MOVQ(g.intParam("edges"), g.slot(slotList))
	for i, part := range edgeParts256 {
		last, entries := g.length(part.slice), g.intParam(part.states[0])
		for _, more := range part.states[1:] {
			g.IMULQ(g.intParam(more), entries)
		}
		g.SUBQ(entries, last)
		g.JLT(label(none))
		g.MOVQ(last, g.slot(slotLast+8*i))
	}
	// Rows of weights are whole vectors.
	right, stride, most := g.vectorBytes("ku"), g.vectorBytes("kv"), g.GP64()
	g.ADDQ(right, stride)
	g.MOVQ(right, g.slot(slotRight))
	if rows > 1 {
		g.IMUL3Q(operand.U8(rows), stride, stride)
	}
	g.MOVQ(stride, g.slot(slotStride))
	// As many edges as have room.
	few := g.label("few")
	g.MOVL(operand.U32(chunkBytes256), reg.EAX)
	g.XORL(reg.EDX, reg.EDX)
	g.DIVL(stride.As32())
	g.MOVL(reg.EAX, most.As32())
	g.CMPQ(most, operand.U8(chunkEdges256))
	g.JLE(label(few))
	g.MOVQ(operand.U32(chunkEdges256), most)
	g.Label(few)
	g.MOVQ(most, g.slot(slotMost))
}

// vectorBytes returns the bytes of the whole vectors that hold so many numbers.
func (g avx2) vectorBytes(states string) reg.GPVirtual {
	r := g.GP64()
	g.MOVQ(g.rowBytes(g.intParam(states)), r)
	g.ADDQ(operand.U8(31), r)
	g.ANDQ(operand.I32(-32), r)
	return r
}

// pass emits body for the edges of a chunk. body gets a label for where it cannot go
// on: the chunk then ends at n, and is the last.
func (g edgeBatch256) pass(body func(stop string)) {
	again, stop, end := g.label("pass"), g.label("stop"), g.label("passed")
	g.MOVQ(g.slot(slotList), g.edge)
	g.LEAQ(g.slot(batchWeight), g.weights)
	g.XORQ(g.n, g.n)
	g.Label(again)
	g.CMPQ(g.n, g.slot(slotChunk))
	g.JGE(label(end))
	body(stop)
	g.ADDQ(operand.U32(edgeSize), g.edge)
	g.ADDQ(g.slot(slotStride), g.weights)
	g.INCQ(g.n)
	g.JMP(label(again))
	g.Label(stop)
	g.endAt(g.n)
	g.Label(end)
}

// endAt makes the chunk end at edge n, and the list with it.
func (g edgeBatch256) endAt(n reg.Register) {
	g.MOVQ(n, g.slot(slotChunk))
	g.MOVQ(n, g.slot(slotLeft))
}

// byShape emits eight for tables of 8×8, and other for all.
func (g edgeBatch256) byShape(eight, other func()) {
	general, done := g.label("general"), g.label("shaped")
	for _, states := range []string{"ku", "kv"} {
		g.CMPQ(g.intParam(states), operand.U8(8))
		g.JNE(label(general))
	}
	eight()
	g.JMP(label(done))
	g.Label(general)
	other()
	g.Label(done)
}

// cavities puts the cavities of an edge, less their largest entries, in the place of its
// weights. A NaN that a maximum loses is still in its cavity.
func (g edgeBatch256) cavities(stop string) {
	for i, part := range edgeParts256 {
		p := g.GP64()
		g.MOVQ(operand.Mem{Base: g.edge, Disp: part.field}, p)
		g.CMPQ(p, g.slot(slotLast+8*i))
		g.JHI(label(stop))
	}
	top := g.cavity("ku", edgeBeliefU, edgeMessageU, g.weights)
	right := g.GP64()
	g.MOVQ(g.slot(slotRight), right)
	g.ADDQ(g.weights, right)
	topRight := g.cavity("kv", edgeBeliefV, edgeMessageV, right)
	g.VADDSD(topRight.AsX(), top.AsX(), top.AsX())
	g.VMOVSD(top.AsX(), g.ofEdge(batchShift))
}

// cavity stores one cavity, −Inf up to whole vectors, and returns its largest entry.
func (g edgeBatch256) cavity(states string, belief, message int, to reg.Register) (top reg.VecVirtual) {
	b, m, n := g.place(g.edge, belief, g.base("beliefs")), g.place(g.edge, message, g.base("messages")), g.intParam(states)
	low, few, many, done := g.copyWide("negativeInfinity"), g.label("few"), g.label("many"), g.label("cavity")
	top = g.YMM()
	// of takes the largest entry of some vectors out of them, and stores them.
	of := func(x ...reg.VecVirtual) {
		g.VMOVAPD(x[0], top)
		for _, more := range x[1:] {
			g.VMAXPD(more, top, top)
		}
		g.spread256(g.VMAXPD, top)
		for c := range x {
			g.VSUBPD(top, x[c], x[c])
			g.VMOVUPD(x[c], operand.Mem{Base: to, Disp: 32 * c})
		}
	}
	g.CMPQ(n, operand.U8(8))
	g.JNE(label(few))
	of(g.cavity256(operand.Mem{Base: b}, operand.Mem{Base: m}, low, nil), g.cavity256(operand.Mem{Base: b, Disp: 32}, operand.Mem{Base: m, Disp: 32}, low, nil))
	g.JMP(label(done))
	g.Label(few)
	g.CMPQ(n, operand.U8(4))
	g.JG(label(many))
	{
		rest := g.rest256(n)
		of(g.orInfinity256(g.cavity256(operand.Mem{Base: b}, operand.Mem{Base: m}, low, rest), rest))
		g.JMP(label(done))
	}
	g.Label(many)
	load := func(i reg.Register, rest *rest256) reg.VecVirtual {
		return g.orInfinity256(g.cavity256(at64(b, i, 0), at64(m, i, 0), low, rest), rest)
	}
	g.VMOVAPD(low, top)
	g.loop256(n, 1, func(i reg.Register, _ int, rest *rest256) { g.VMAXPD(load(i, rest), top, top) })
	g.spread256(g.VMAXPD, top)
	g.loop256(n, 1, func(i reg.Register, _ int, rest *rest256) {
		x := load(i, rest)
		g.VSUBPD(top, x, x)
		g.VMOVUPD(x, at64(to, i, 0))
	})
	g.Label(done)
	return top
}

// exponentials makes weights and products of all cavities of the chunk.
func (g edgeBatch256) exponentials() {
	at, left, again, done := g.GP64(), g.GP64(), g.label("vector"), g.label("vectors")
	g.MOVQ(g.slot(slotChunk), left)
	g.IMULQ(g.slot(slotStride), left)
	g.LEAQ(g.slot(batchWeight), at)
	g.ADDQ(at, left)
	g.CMPQ(at, left)
	g.JGE(label(done))
	g.Label(again)
	l := g.load256(operand.Mem{Base: at}, nil)
	product := g.YMM()
	g.VMOVUPD(l, product)
	weight, normal := g.maskedExp256(l)
	g.VANDPD(normal, product, product)
	g.VMULPD(weight, product, product)
	g.VMOVUPD(weight, operand.Mem{Base: at})
	g.VMOVUPD(product, operand.Mem{Base: at, Disp: batchProduct - batchWeight})
	g.ADDQ(operand.U8(32), at)
	g.CMPQ(at, left)
	g.JLT(label(again))
	g.Label(done)
}

// table returns the address of the table of edge n.
func (g edgeBatch256) table() reg.Register { return g.place(g.edge, edgeTable, g.base("tables")) }

// rightWeights returns the address of the weights c of edge n.
func (g edgeBatch256) rightWeights() reg.Register {
	right := g.GP64()
	g.MOVQ(g.slot(slotRight), right)
	g.ADDQ(g.weights, right)
	return right
}

// product is the product that belongs to a weight.
func (g edgeBatch256) product(weight operand.Mem) operand.Mem {
	return weight.Offset(batchProduct - batchWeight)
}

// totalsOfEight is totals for a table of 8×8.
func (g edgeBatch256) totalsOfEight() {
	row := g.table()
	vectors := 2
	x, u := make([]reg.VecVirtual, vectors), make([]reg.VecVirtual, vectors)
	for i := range 8 {
		a, al, w := g.YMM(), g.YMM(), operand.Mem{Base: g.weights, Disp: 8 * i}
		g.VBROADCASTSD(w, a)
		g.VBROADCASTSD(g.product(w), al)
		for c := range vectors {
			z := g.load256(operand.Mem{Base: row, Disp: 64*i + 32*c}, nil)
			if i == 0 {
				x[c], u[c] = g.YMM(), g.YMM()
				g.VMULPD(z, a, x[c])
				g.VMULPD(z, al, u[c])
				continue
			}
			g.VFMADD231PD(z, a, x[c])
			g.VFMADD231PD(z, al, u[c])
		}
	}
	total, weighted := g.YMM(), g.YMM()
	for c := range vectors {
		w := operand.Mem{Base: g.weights, Disp: 64 + 32*c}
		if c == 0 {
			g.VMULPD(w, x[c], total)
			g.VMULPD(w, u[c], weighted)
		} else {
			g.VFMADD231PD(w, x[c], total)
			g.VFMADD231PD(w, u[c], weighted)
		}
		g.VFMADD231PD(g.product(w), x[c], weighted)
	}
	g.storeTotals(total, weighted)
}

// totals stores the total of edge n and its weighted sum.
func (g edgeBatch256) totals() {
	total, weighted := g.zero256(), g.zero256()
	table, right, row, w := g.table(), g.rightWeights(), g.GP64(), g.GP64()
	s := g.strides(g.intParam("kv"), 2)
	g.panels256(g.intParam("kv"), edgePanel256, func(offset reg.Register, vectors int, rest *rest256) {
		unroll := min(2, 4/vectors)
		g.MOVQ(g.weights, w)
		g.LEAQ(bytes(table, offset, 0), row)
		x, u := g.zeros256(unroll*vectors), g.zeros256(unroll*vectors)
		g.rows(g.intParam("ku"), unroll, func(i int) {
			a, al, weight := g.YMM(), g.YMM(), operand.Mem{Base: w, Disp: 8 * i}
			g.VBROADCASTSD(weight, a)
			g.VBROADCASTSD(g.product(weight), al)
			for c := range vectors {
				z := g.load256(s.row(row, i, 32*c), last256(c, vectors, rest))
				g.VFMADD231PD(z, a, x[i*vectors+c])
				g.VFMADD231PD(z, al, u[i*vectors+c])
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), w)
			g.advance(s, row, rows)
		})
		for c := range vectors {
			if unroll == 2 {
				g.VADDPD(x[vectors+c], x[c], x[c])
				g.VADDPD(u[vectors+c], u[c], u[c])
			}
			c32 := bytes(right, offset, 32*c)
			g.VFMADD231PD(c32, x[c], total)
			g.VFMADD231PD(c32, u[c], weighted)
			g.VFMADD231PD(g.product(c32), x[c], weighted)
		}
	})
	g.storeTotals(total, weighted)
}

// storeTotals stores the sums of the entries of two vectors.
func (g edgeBatch256) storeTotals(total, weighted reg.VecVirtual) {
	high := g.XMM()
	g.VHADDPD(weighted, total, total)
	g.VEXTRACTF128(operand.U8(1), total, high)
	g.VADDPD(high, total.AsX(), total.AsX())
	g.VMOVSD(total.AsX(), g.ofEdge(batchTotal))
	g.VMOVHPD(total.AsX(), g.ofEdge(batchSum))
}

// results stores log Z and the product of the edges of the chunk, and puts 1/total in
// the place of the total. It ends the chunk before a total that is not safe.
func (g edgeBatch256) results() {
	chunk, first := g.GP64(), g.GP64()
	g.MOVQ(g.slot(slotChunk), chunk)
	ones := g.copyWide("one")
	g.MOVQ(g.slot(slotDone), first)
	logZ, product := g.base("logZ"), g.base("product")
	g.LEAQ(at64(logZ, first, 0), logZ)
	g.LEAQ(at64(product, first, 0), product)
	g.loop256(chunk, 1, func(i reg.Register, _ int, rest *rest256) {
		at := func(offset int) operand.Mem { return at64(g.scratch, i, offset) }
		totals, scale := g.YMM(), g.YMM()
		g.VMOVUPD(at(batchTotal), totals)
		g.endBeforeUnsafe(totals, i)
		g.VDIVPD(totals, ones, scale)
		g.VMOVUPD(scale, at(batchTotal))
		g.VMULPD(at(batchSum), scale, scale)
		shift := g.load256(at(batchShift), nil)
		g.VADDPD(shift, scale, scale)
		g.store256(scale, at64(product, i, 0), rest)
		logs := g.safeLog256(totals)
		g.VADDPD(shift, logs, logs)
		g.store256(logs, at64(logZ, i, 0), rest)
	})
}

// endBeforeUnsafe ends the chunk before the first of four totals, of edges from i on, that
// is below tooSmall, above largest or a NaN, unless it ends before that: so may the four.
func (g edgeBatch256) endBeforeUnsafe(totals reg.VecVirtual, i reg.Register) {
	bad, above, which, safe := g.YMM(), g.YMM(), g.GP64(), g.label("safe")
	g.VCMPPD(cmpNotAtLeast, g.wide("tooSmall"), totals, bad)
	g.VCMPPD(cmpGreater, g.wide("largest"), totals, above)
	g.VORPD(above, bad, bad)
	g.VMOVMSKPD(bad, which.As32())
	g.TESTL(which.As32(), which.As32())
	g.JZ(label(safe))
	g.BSFL(which.As32(), which.As32())
	g.ADDQ(i, which)
	g.CMPQ(which, g.slot(slotChunk))
	g.JGE(label(safe))
	g.endAt(which)
	g.Label(safe)
}

// to returns the address of the belief of edge n.
func (g edgeBatch256) to() reg.Register {
	p, dst := g.GP64(), g.base("dst")
	g.MOVQ(g.slot(slotDone), p)
	g.ADDQ(g.n, p)
	g.IMULQ(g.intParam("ku"), p)
	g.IMULQ(g.intParam("kv"), p)
	g.LEAQ(at64(dst, p, 0), p)
	return p
}

// beliefOfEight is belief for a table of 8×8.
func (g edgeBatch256) beliefOfEight() {
	row, to, scale, c := g.table(), g.to(), g.YMM(), make([]reg.VecVirtual, 2)
	g.VBROADCASTSD(g.ofEdge(batchTotal), scale)
	for i := range c {
		c[i] = g.YMM()
		g.VMULPD(operand.Mem{Base: g.weights, Disp: 64 + 32*i}, scale, c[i])
	}
	for i := range 8 {
		a := g.YMM()
		g.VBROADCASTSD(operand.Mem{Base: g.weights, Disp: 8 * i}, a)
		for j, right := range c {
			z, at := g.YMM(), 64*i+32*j
			g.VMULPD(operand.Mem{Base: row, Disp: at}, a, z)
			g.VMULPD(right, z, z)
			g.VMOVUPD(z, operand.Mem{Base: to, Disp: at})
		}
	}
}

// belief writes the belief of edge n.
func (g edgeBatch256) belief() {
	right, scale, a := g.rightWeights(), g.YMM(), g.YMM()
	g.VBROADCASTSD(g.ofEdge(batchTotal), scale)
	g.beliefOf(func(weight operand.Mem) {
		g.VBROADCASTSD(weight, a)
		g.VMULPD(scale, a, a)
	}, func(z reg.VecVirtual, i reg.Register) {
		g.VMULPD(at64(right, i, 0), z, z)
		g.VMULPD(a, z, z)
	})
}

// beliefOf writes a belief of edge n: ofRow prepares for the row of a weight, and ofVector makes a
// vector of the belief from one of the table.
func (g edgeBatch256) beliefOf(ofRow func(weight operand.Mem), ofVector func(z reg.VecVirtual, i reg.Register)) {
	short, done, last, dst := g.label("short"), g.label("done"), g.GP64(), g.base("dst")
	g.MOVQ(g.length("dst"), last)
	g.LEAQ(at64(dst, last, -32), last)
	g.MOVQ(last, g.slot(slotEnd))
	g.MOVQ(g.rowBytes(g.intParam("kv")), g.slot(slotRow))
	g.MOVQ(g.intParam("ku"), g.slot(slotRows))
	g.CMPQ(g.intParam("kv"), operand.U8(4))
	g.JLE(label(short))
	g.beliefRows(ofRow, ofVector, func(body func(i reg.Register, rest *rest256)) {
		g.loop256(g.intParam("kv"), 1, func(i reg.Register, _ int, rest *rest256) { body(i, rest) })
	})
	g.JMP(label(done))
	g.Label(short)
	// Rows of one vector, or less, have one mask.
	rest, zero := g.rest256(g.intParam("kv")), g.zero()
	g.beliefRows(ofRow, ofVector, func(body func(i reg.Register, rest *rest256)) { body(zero, rest) })
	g.Label(done)
}

// beliefRows emits the rows of a belief; eachVector emits body for those of one row. A vector
// that holds the end of a row is written whole, over what comes next, as long as it ends before
// dst does.
func (g edgeBatch256) beliefRows(ofRow func(weight operand.Mem), ofVector func(z reg.VecVirtual, i reg.Register), eachVector func(body func(i reg.Register, rest *rest256))) {
	row, to, w, again := g.table(), g.to(), g.GP64(), g.label("row")
	g.MOVQ(g.weights, w)
	g.Label(again)
	ofRow(operand.Mem{Base: w})
	eachVector(func(i reg.Register, rest *rest256) {
		z := g.load256(at64(row, i, 0), rest)
		ofVector(z, i)
		if rest == nil {
			g.VMOVUPD(z, at64(to, i, 0))
			return
		}
		p, pieces, done := g.GP64(), g.label("pieces"), g.label("written")
		g.LEAQ(at64(to, i, 0), p)
		g.CMPQ(p, g.slot(slotEnd))
		g.JGT(label(pieces))
		g.VMOVUPD(z, operand.Mem{Base: p})
		g.JMP(label(done))
		g.Label(pieces)
		g.store256(z, operand.Mem{Base: p}, rest)
		g.Label(done)
	})
	g.ADDQ(operand.U8(8), w)
	g.ADDQ(g.slot(slotRow), row)
	g.ADDQ(g.slot(slotRow), to)
	g.DECQ(g.slot(slotRows))
	g.JNZ(label(again))
}
