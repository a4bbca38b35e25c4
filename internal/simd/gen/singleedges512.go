package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// edgeGroup32 is how many edges of 8×8 states take each step together: their totals
// and weighted sums are then summed as sixteen vectors, and their logarithms are
// one vector of float64.
const edgeGroup32 = 8

// edgeChunk32 is how many edges take one pass before the next: each pass, of groups
// that do not wait for each other, keeps the processor busy.
const edgeChunk32 = 64

// Offsets in the scratch of edgeBeliefs32x512: the last places at which parts of an
// edge may begin; the largest entries of some cavities; of each edge the shift, as
// float64, the total, later 1/total, the weighted sum, and two vectors, the weights a and c and the products a·l and
// c·r.
const (
	group32Last   = 0
	group32Top    = 64
	group32Shift  = 128
	group32Scale  = group32Shift + 8*edgeChunk32
	group32Sum    = group32Scale + 4*edgeChunk32
	group32W      = group32Sum + 4*edgeChunk32
	group32P      = group32W + 64
	group32Vector = 128
	group32Bytes  = group32W + edgeChunk32*group32Vector
)

// edges32 is where a pass of edgeBeliefs32x512 is: at edge n of the chunk, whose
// entry of the list and vectors in the scratch are known by their addresses, those of
// the scratch less that of its beginning.
type edges32 struct{ scratch, edge, vectors, n reg.Register }

func (s edges32) field(i, offset int) operand.Mem {
	return operand.Mem{Base: s.edge, Disp: i*edgeSize + offset}
}

func (s edges32) vector(i, offset int) operand.Mem {
	return operand.Mem{Base: s.vectors, Disp: i*group32Vector + offset}
}

// number is an entry of the scratch of size bytes for each edge.
func (s edges32) number(i, offset, size int) operand.Mem {
	return operand.Mem{Base: s.scratch, Index: s.n, Scale: uint8(size), Disp: offset + size*i}
}

// part returns the address of a part of the i-th edge.
func (g *generator) part32(s edges32, i, field int, slice string) operand.Mem {
	p, base := g.GP64(), g.base(slice)
	g.MOVQ(s.field(i, field), p)
	return operand.Mem{Base: base, Index: p, Scale: 8}
}

// pass emits body for the edges of a chunk, so many at a time. body gets a label for
// where it cannot go on: the chunk then ends at n, and is the last.
func (g *generator) pass32(s edges32, list, chunk, left reg.Register, together int, body func(stop string)) {
	again, stop, end := g.label("pass"), g.label("stop"), g.label("passed")
	g.MOVQ(list, s.edge)
	g.MOVQ(s.scratch, s.vectors)
	g.XORQ(s.n, s.n)
	g.Label(again)
	g.CMPQ(s.n, chunk)
	g.JGE(label(end))
	body(stop)
	g.ADDQ(operand.U32(together*edgeSize), s.edge)
	g.ADDQ(operand.U32(together*group32Vector), s.vectors)
	g.ADDQ(operand.U8(together), s.n)
	g.JMP(label(again))
	g.Label(stop)
	g.MOVQ(s.n, chunk)
	g.MOVQ(s.n, left)
	g.Label(end)
}

// edgeBeliefs32 is edgeBeliefs512 with tables of two rows to a vector.
func (g *generator) edgeBeliefs32() {
	g.function("edgeBeliefs32x512", "func(dst []float32, logZ, product, beliefs, messages []float64, tables []float32, edges *int, count int) (done int)",
		"is EdgeBeliefs32 for 8 states at both ends, as far as whole groups of eight edges are safe and inside the slices.")
	list, q, left, chunk := g.intParam("edges"), g.zero(), g.intParam("count"), g.GP64()
	s := edges32{g.alignedScratch(group32Bytes), g.GP64(), g.GP64(), g.GP64()}
	again, whole, done := g.label("chunk"), g.label("whole"), g.label("done")
	for i, part := range edgeParts32 {
		if part.last != i {
			continue
		}
		last := g.length(part.slice)
		g.SUBQ(operand.U8(part.entries), last)
		g.JLT(label(done))
		g.MOVQ(last, operand.Mem{Base: s.scratch, Disp: group32Last + 8*i})
	}
	g.Label(again)
	g.MOVQ(left, chunk)
	g.ANDQ(operand.I32(-edgeGroup32), chunk)
	g.JZ(label(done))
	g.CMPQ(chunk, operand.U8(edgeChunk32))
	g.JLE(label(whole))
	g.MOVQ(operand.U32(edgeChunk32), chunk)
	g.Label(whole)
	g.pass32(s, list, chunk, left, edgeGroup32, func(stop string) {
		for i := range edgeGroup32 {
			g.edgeInside32(s, i, stop)
		}
		for i := 0; i < edgeGroup32; i += 4 {
			g.edgeCavities32(s, i)
		}
	})
	v := g.fromRegisters("single.round16", "single.exp16.1").keepVectors("single.root")
	g.pass32(s, list, chunk, left, 4, func(string) { g.edgeWeights32(v, s) })
	g.pass32(s, list, chunk, left, edgeGroup32, func(stop string) { g.edgeTotals32(s, q, stop) })
	g.pass32(s, list, chunk, left, edgeGroup32, func(string) { g.edgeResults32(s, q) })
	g.pass32(s, list, chunk, left, 2, func(string) { g.edgeTables32(s, q, 2) })
	g.ADDQ(chunk, q)
	g.SUBQ(chunk, left)
	g.MOVQ(s.edge, list)
	g.JMP(label(again))
	g.Label(done)
	g.Store(q, g.ReturnIndex(0))
	g.end()
}

// edgeParts32 are the parts of an edge of 8×8, and which of them shares its last
// place.
var edgeParts32 = []struct {
	field, entries int
	slice          string
	last           int
}{
	{edgeBeliefU, 8, "beliefs", 0}, {edgeMessageU, 8, "messages", 1}, {edgeBeliefV, 8, "beliefs", 0}, {edgeMessageV, 8, "messages", 1}, {edgeTable, 64, "tables", 4},
}

// edgeInside32 jumps away where a part of the i-th edge does not lie in its slice.
func (g *generator) edgeInside32(s edges32, i int, outside string) {
	for _, part := range edgeParts32 {
		p := g.GP64()
		g.MOVQ(s.field(i, part.field), p)
		g.CMPQ(p, operand.Mem{Base: s.scratch, Disp: group32Last + 8*part.last})
		g.JHI(label(outside))
	}
}

// transposeMax returns the vector whose i-th entry is the largest of x[i], eight
// float64.
func (g *generator) transposeMax(x []reg.VecVirtual) reg.VecVirtual {
	var pairs, fours []reg.VecVirtual
	for i := 0; i < 8; i += 2 {
		low, high := g.ZMM(), g.ZMM()
		g.VUNPCKLPD(x[i+1], x[i], low)
		g.VUNPCKHPD(x[i+1], x[i], high)
		g.VMAXPD(high, low, low)
		pairs = append(pairs, low)
	}
	fold := func(a, b reg.VecVirtual) reg.VecVirtual {
		even, odd := g.ZMM(), g.ZMM()
		g.VSHUFF64X2(operand.U8(0x88), b, a, even)
		g.VSHUFF64X2(operand.U8(0xdd), b, a, odd)
		g.VMAXPD(odd, even, even)
		return even
	}
	for i := 0; i < 4; i += 2 {
		fours = append(fours, fold(pairs[i], pairs[i+1]))
	}
	return fold(fours[0], fours[1])
}

// edgeCavities32 puts the shifted cavities of four edges into the scratch. A
// NaN that a maximum loses is still in its cavity.
func (g *generator) edgeCavities32(s edges32, first int) {
	cavities := make([]reg.VecVirtual, 8)
	for j := range 4 {
		i := first + j
		cavities[j] = g.cavity512(g.part32(s, i, edgeBeliefU, "beliefs"), g.part32(s, i, edgeMessageU, "messages"), nil)
		cavities[4+j] = g.cavity512(g.part32(s, i, edgeBeliefV, "beliefs"), g.part32(s, i, edgeMessageV, "messages"), nil)
	}
	top, high := g.transposeMax(cavities), g.ZMM()
	g.VMOVUPD(top, operand.Mem{Base: s.scratch, Disp: group32Top})
	g.VEXTRACTF64X4(operand.U8(1), top, high.AsY())
	g.VADDPD(high.AsY(), top.AsY(), high.AsY())
	g.VMOVUPD(high.AsY(), s.number(first, group32Shift, 8))
	x := make([]reg.VecVirtual, 4)
	for j := range x {
		for _, side := range []int{j, 4 + j} {
			g.VSUBPD_BCST(operand.Mem{Base: s.scratch, Disp: group32Top + 8*side}, cavities[side], cavities[side])
		}
		x[j] = g.narrow512(cavities[j], cavities[4+j])
	}
	for j := range x {
		g.VMOVUPS(x[j], s.vector(first+j, group32W))
	}
}

// edgeWeights32 makes weights and products of the shifted cavities of four edges.
func (g *generator) edgeWeights32(v values512, s edges32) {
	x := make([]reg.VecVirtual, 4)
	for j := range x {
		x[j] = g.load32(s.vector(j, group32W), nil)
	}
	weights, products := v.sides32(x)
	for j := range x {
		g.VMOVUPS(weights[j], s.vector(j, group32W))
		g.VMOVUPS(products[j], s.vector(j, group32P))
	}
}

// narrow512 returns two vectors of eight float64 as one of sixteen float32.
func (g *generator) narrow512(low, high reg.VecVirtual) reg.VecVirtual {
	x, y := g.ZMM(), g.YMM()
	g.VCVTPD2PS(low, x.AsY())
	g.VCVTPD2PS(high, y)
	g.VINSERTF64X4(operand.U8(1), y, x, x)
	return x
}

// sides32 returns e^l and e^l·l, which is 0 where e^l is, for shifted cavities l ≤ 0.
func (v values512) sides32(l []reg.VecVirtual) (weight, product []reg.VecVirtual) {
	g := v.g
	product = g.several(len(l))
	for i := range l {
		g.VMOVAPS(l[i], product[i])
	}
	weight, normal := v.maskedExps32(l, negativeArguments)
	for i := range l {
		g.VMULPS_Z(weight[i], product[i], normal[i], product[i])
	}
	return weight, product
}

// edgeTotals32 puts a·values into dst, and the totals and weighted sums of the edges
// of the group into the scratch. It jumps away where a total is not
// safe.
func (g *generator) edgeTotals32(s edges32, q reg.Register, unsafe string) {
	pairs := make([]reg.VecVirtual, 4)
	for p := range pairs {
		pairs[p] = g.load32(g.constant(fmt.Sprintf("single.pair.%d", p)), nil)
	}
	sums := make([]reg.VecVirtual, 2*edgeGroup32)
	to, base := g.edgeDst32(s, q), g.base("tables")
	for i := range edgeGroup32 {
		from := g.GP64()
		g.MOVQ(s.field(i, edgeTable), from)
		g.LEAQ(operand.Mem{Base: base, Index: from, Scale: 4}, from)
		weights, products := g.load32(s.vector(i, group32W), nil), g.load32(s.vector(i, group32P), nil)
		x, u := g.ZMM(), g.ZMM()
		for p, pair := range pairs {
			z, a, al := g.load32(operand.Mem{Base: from, Disp: 64 * p}, nil), g.ZMM(), g.ZMM()
			g.VPERMPS(weights, pair, a)
			g.VPERMPS(products, pair, al)
			g.VMULPS(z, a, a)
			g.VMOVUPS(a, operand.Mem{Base: to, Disp: 256*i + 64*p})
			if p == 0 {
				g.VMULPS(z, al, u)
				g.VMOVAPS(a, x)
				continue
			}
			g.VFMADD231PS(z, al, u)
			g.VADDPS(a, x, x)
		}
		c, cr := g.ZMM(), g.ZMM()
		g.VBROADCASTF64X4(s.vector(i, group32W+32), c)
		g.VBROADCASTF64X4(s.vector(i, group32P+32), cr)
		g.VMULPS(c, u, u)
		g.VFMADD231PS(cr, x, u)
		g.VMULPS(c, x, x)
		sums[i], sums[edgeGroup32+i] = x, u
	}
	fours := g.interleave32(sums, g.ZMM)
	totals := g.foldLanes32(g.foldLanes32(fours[0], fours[1]), g.foldLanes32(fours[2], fours[3]))
	g.branchUnsafe32(totals.AsY(), g.YMM(), unsafe)
	g.VMOVUPS(totals.AsY(), s.number(0, group32Scale, 4))
	g.VEXTRACTF64X4(operand.U8(1), totals, s.number(0, group32Sum, 4))
}

// edgeResults32 stores log Z and the product of each edge of the group, and puts
// 1/total into the scratch.
func (g *generator) edgeResults32(s edges32, q reg.Register) {
	totals, weighted, scale, shift := g.ZMM(), g.ZMM(), g.YMM(), g.ZMM()
	g.VMOVUPS(s.number(0, group32Scale, 4), totals.AsY())
	g.VMOVUPS(s.number(0, group32Sum, 4), weighted.AsY())
	g.VBROADCASTSS(g.constant("single.one"), scale)
	g.VDIVPS(totals.AsY(), scale, scale)
	g.VMOVUPS(scale, s.number(0, group32Scale, 4))
	g.VMOVUPD(s.number(0, group32Shift, 8), shift)
	g.VMULPS(scale, weighted.AsY(), weighted.AsY())
	g.VCVTPS2PD(weighted.AsY(), weighted)
	g.VADDPD(shift, weighted, weighted)
	g.VCVTPS2PD(totals.AsY(), totals)
	logs := g.fromMemory().logs512([]reg.VecVirtual{totals})[0]
	g.VADDPD(shift, logs, logs)
	at := g.GP64()
	g.LEAQ(operand.Mem{Base: q, Index: s.n, Scale: 1}, at)
	g.VMOVUPD(weighted, operand.Mem{Base: g.base("product"), Index: at, Scale: 8})
	g.VMOVUPD(logs, operand.Mem{Base: g.base("logZ"), Index: at, Scale: 8})
}

// branchUnsafe32 is branchUnsafe512 for float32; it changes t.
func (g *generator) branchUnsafe32(y, t reg.Register, unsafe string) {
	bad := g.K()
	g.VPSUBD_BCST(g.constant("single.tooSmall"), y, t)
	g.VPCMPUD_BCST(cmpNotLessEqual, g.constant("single.safeRange"), t, bad)
	g.KORTESTW(bad, bad)
	g.JNZ(label(unsafe))
}

// edgeDst32 returns the address of the belief of edge n, 256 bytes.
func (g *generator) edgeDst32(s edges32, q reg.Register) reg.Register {
	to, base := g.GP64(), g.base("dst")
	g.LEAQ(operand.Mem{Base: q, Index: s.n, Scale: 1}, to)
	g.SHLQ(operand.U8(8), to)
	g.ADDQ(base, to)
	return to
}

// edgeTables32 makes the beliefs of so many edges of what is in dst.
func (g *generator) edgeTables32(s edges32, q reg.Register, together int) {
	to := g.edgeDst32(s, q)
	for i := range together {
		c, scale := g.ZMM(), g.ZMM()
		g.VBROADCASTF64X4(s.vector(i, group32W+32), c)
		g.VBROADCASTSS(s.number(i, group32Scale, 4), scale)
		g.VMULPS(scale, c, c)
		for p := range 4 {
			z, m := g.ZMM(), operand.Mem{Base: to, Disp: 256*i + 64*p}
			g.VMULPS(m, c, z)
			g.VMOVUPS(z, m)
		}
	}
}

// Offsets in the scratch of edgeBelief32x512: cavities, float64, with a vector of
// −Inf behind them, and a, a·l, c and c·r.
const (
	single32Cavity = 0
	single32A      = 8 * (maxStates512 + 8)
	single32AL     = single32A + 4*maxStates512
	single32C      = single32AL + 4*maxStates512
	single32CR     = single32C + 4*maxStates512
	single32Bytes  = single32CR + 4*maxStates512
)

// edgeSteps32 are the steps of edgeBelief32.
func (g *generator) edgeSteps32() edgeSteps {
	return edgeSteps{"float32", 4, single32Bytes, g.edgeSides32, g.edgeSums32, g.edgeLogs32, g.VBROADCASTSS, g.edgeWrite32}
}

// edgeBelief32 is edgeOfMany512 in single precision.
func (g *generator) edgeBelief32() {
	g.function("edgeBelief32x512", "func(dst []float32, beliefU, messageU, beliefV, messageV []float64, values []float32) (logZ, product float64, safe bool)",
		fmt.Sprintf("is EdgeBeliefs32 for one edge with 1 to %d states at both ends.", maxStates512))
	at := edgeArguments{g.base("dst"), g.base("beliefU"), g.base("messageU"), g.base("beliefV"), g.base("messageV"), g.base("values"), g.length("beliefU"), g.length("beliefV")}
	scratch, unsafe := g.alignedScratch(single32Bytes), g.label("unsafe")
	top := g.edgeSides32(at, scratch)
	total, weighted := g.edgeSums32(at, scratch)
	for _, z := range []reg.VecVirtual{total, weighted} {
		t := g.ZMM()
		g.VSHUFF64X2(operand.U8(0x4e), z, z, t)
		g.VADDPS(t, z, z)
		g.VSHUFF64X2(operand.U8(0xb1), z, z, t)
		g.VADDPS(t, z, z)
		g.VPERMILPD(operand.U8(0x55), z, t)
		g.VADDPS(t, z, z)
		g.VPERMILPS(operand.U8(0xb1), z, t)
		g.VADDPS(t, z, z)
	}
	g.branchUnsafe32(total, g.ZMM(), unsafe)
	one, scale := g.XMM(), g.ZMM()
	g.VMOVSS(g.constant("single.one"), one)
	g.VDIVSS(total.AsX(), one, one)
	g.VBROADCASTSS(one, scale)
	g.VMULPS(scale, weighted, weighted)
	g.VCVTPS2PD(weighted.AsY(), weighted)
	g.VADDPD(top, weighted, weighted)
	g.Store(weighted.AsX(), g.ReturnIndex(1))
	g.VCVTPS2PD(total.AsY(), total)
	logZ := g.fromMemory().logs512([]reg.VecVirtual{total})[0]
	g.VADDPD(top, logZ, logZ)
	g.Store(logZ.AsX(), g.ReturnIndex(0))
	g.edgeWrite32(at, scratch, scale)
	g.returnFlag(true, 2)
	g.Label(unsafe)
	g.returnFlag(false, 2)
}

func (g *generator) edgeSides32(at edgeArguments, scratch reg.Register) (top reg.VecVirtual) {
	top = g.edgeSide32(at.beliefU, at.messageU, at.ku, scratch, single32A)
	topRight := g.edgeSide32(at.beliefV, at.messageV, at.kv, scratch, single32C)
	g.VADDPD(topRight, top, top)
	return top
}

func (g *generator) edgeSums32(at edgeArguments, scratch reg.Register) (total, weighted reg.VecVirtual) {
	total, weighted = g.zero512(), g.zero512()
	s := g.strides32(at.kv, 2)
	w, row := g.GP64(), g.GP64()
	g.panels32(at.kv, 4, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.MOVQ(scratch, w)
		g.LEAQ(bytes(at.values, offset, 0), row)
		x, u := g.zeros512(2*vectors), g.zeros512(2*vectors)
		g.rows(at.ku, 2, func(i int) {
			for c := range vectors {
				z := g.load32(s.row(row, i, 64*c), only(c, vectors, mask))
				g.VFMADD231PS_BCST(operand.Mem{Base: w, Disp: single32A + 4*i}, z, x[i*vectors+c])
				g.VFMADD231PS_BCST(operand.Mem{Base: w, Disp: single32AL + 4*i}, z, u[i*vectors+c])
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(4*rows), w)
			g.advance(s, row, rows)
		})
		for c := range vectors {
			g.VADDPS(x[vectors+c], x[c], x[c])
			g.VADDPS(u[vectors+c], u[c], u[c])
			g.VFMADD231PS(bytes(scratch, offset, single32C+64*c), x[c], total)
			g.VFMADD231PS(bytes(scratch, offset, single32C+64*c), u[c], weighted)
			g.VFMADD231PS(bytes(scratch, offset, single32CR+64*c), x[c], weighted)
		}
	})
	return total, weighted
}

// edgeLogs32 is the step logs of edgeSteps.
func (g *generator) edgeLogs32(q reg.Register, shifts, scales operand.Mem, sums []reg.VecVirtual, unsafe string) {
	fours := g.interleave32(sums, g.ZMM)
	lanes := g.foldLanes32(fours[0], fours[1])
	totals := g.foldLanes32(lanes, lanes) // and, from the fifth on, weighted sums
	weighted, scale, shift, wide := g.YMM(), g.XMM(), g.YMM(), g.ZMM()
	g.branchUnsafe32(totals.AsX(), g.XMM(), unsafe)
	g.VEXTRACTF32X4(operand.U8(1), totals, weighted.AsX())
	g.VBROADCASTSS(g.constant("single.one"), scale)
	g.VDIVPS(totals.AsX(), scale, scale)
	g.VMOVUPS(scale, scales)
	g.VMOVUPD(shifts, shift)
	g.VMULPS(scale, weighted.AsX(), weighted.AsX())
	g.VCVTPS2PD(weighted.AsX(), weighted)
	g.VADDPD(shift, weighted, weighted)
	g.VCVTPS2PD(totals.AsY(), wide)
	logs := g.fromMemory().logs512([]reg.VecVirtual{wide})[0]
	g.VADDPD(shift, logs.AsY(), logs.AsY())
	g.VMOVUPD(weighted, operand.Mem{Base: g.base("product"), Index: q, Scale: 8})
	g.VMOVUPD(logs.AsY(), operand.Mem{Base: g.base("logZ"), Index: q, Scale: 8})
}

// wholeVectors32 is wholeVectors for vectors of sixteen.
func (g *generator) wholeVectors32(n reg.Register, body func(index reg.Register)) {
	i, again := g.zero(), g.label("vector")
	g.Label(again)
	body(i)
	g.ADDQ(operand.U8(16), i)
	g.CMPQ(i, n)
	g.JLT(label(again))
}

// edgeSide32 puts the weights and products of one end into the scratch, 0 up to
// whole vectors, and returns the largest entry of its cavity.
func (g *generator) edgeSide32(belief, message, n, scratch reg.Register, at int) (largest reg.VecVirtual) {
	largest = g.scratchCavity512(belief, message, n, scratch, single32Cavity)
	// The vector behind the last is −Inf, for whole vectors of sixteen.
	behind, low := g.GP64(), g.broadcast512("negativeInfinity")
	g.LEAQ(operand.Mem{Base: n, Disp: 7}, behind)
	g.ANDQ(operand.I32(-8), behind)
	g.VMOVUPD(low, at64(scratch, behind, single32Cavity))
	v := g.fromMemory()
	g.wholeVectors32(n, func(i reg.Register) {
		halves := make([]reg.VecVirtual, 2)
		for half := range halves {
			halves[half] = g.load512(at64(scratch, i, single32Cavity+64*half), nil)
			g.VSUBPD(largest, halves[half], halves[half])
		}
		weights, products := v.sides32([]reg.VecVirtual{g.narrow512(halves[0], halves[1])})
		g.VMOVUPS(weights[0], at32(scratch, i, at))
		g.VMOVUPS(products[0], at32(scratch, i, at+single32AL-single32A))
	})
	return largest
}

// edgeWrite32 is edgeWrite512.
func (g *generator) edgeWrite32(at edgeArguments, scratch reg.Register, scale reg.VecVirtual) {
	s := g.strides32(at.kv, 2)
	w, from, to := g.GP64(), g.GP64(), g.GP64()
	g.panels32(at.kv, 4, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.MOVQ(scratch, w)
		g.LEAQ(bytes(at.values, offset, 0), from)
		g.LEAQ(bytes(at.dst, offset, 0), to)
		columns := g.several(vectors)
		for c, column := range columns {
			g.VMULPS(bytes(scratch, offset, single32C+64*c), scale, column)
		}
		g.rows(at.ku, 2, func(i int) {
			a := g.ZMM()
			g.VBROADCASTSS(operand.Mem{Base: w, Disp: single32A + 4*i}, a)
			for c, column := range columns {
				z, m := g.load32(s.row(from, i, 64*c), only(c, vectors, mask)), only(c, vectors, mask)
				g.VMULPS(a, z, z)
				g.VMULPS(column, z, z)
				masked(g.VMOVUPS, m, z, s.row(to, i, 64*c))
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(4*rows), w)
			g.advance(s, from, rows)
			g.advance(s, to, rows)
		})
	})
}
