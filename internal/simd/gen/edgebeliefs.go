package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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

// edgeGroup is how many edges take each step together: their totals and weighted
// sums, eight numbers, are then summed as one transposed vector.
const edgeGroup = 4

// Offsets in the scratch of edgeBeliefs512: vectors of each edge, and one number
// of each.
const (
	groupA      = 0
	groupAL     = 64
	groupC      = 128
	groupCR     = 192
	groupVector = 256
	groupShift  = edgeGroup * groupVector
	groupScale  = groupShift + 64
	groupBytes  = groupScale + 64
)

// edgesState is what edgeBeliefs512 keeps in registers from group to group.
type edgesState struct{ edges, q, left, scratch reg.Register }

// edgeBeliefs512 is edgeOfEight512 for several edges.
func (g *generator) edgeBeliefs512() {
	g.function("edgeBeliefs512", "func(dst, logZ, product, beliefs, messages, tables []float64, edges *int, count int) (done int)",
		"is EdgeBeliefs for 8 states at both ends, as far as whole groups of four edges are safe and inside the slices.")
	s := edgesState{g.intParam("edges"), g.zero(), g.intParam("count"), g.alignedScratch(groupBytes)}
	again, done := g.label("group"), g.label("done")
	g.Label(again)
	g.CMPQ(s.left, operand.U8(edgeGroup))
	g.JLT(label(done))
	for i := range edgeGroup {
		g.edgeInside(s, i, done)
	}
	// Two edges have four cavities: as many as registers allow at a time.
	for i := 0; i < edgeGroup; i += 2 {
		g.edgeCavities512(s, i)
	}
	g.edgeTotals512(s, done)
	for i := range edgeGroup {
		g.edgeTable512(s, i)
	}
	g.ADDQ(operand.U32(edgeGroup*edgeSize), s.edges)
	g.ADDQ(operand.U8(edgeGroup), s.q)
	g.SUBQ(operand.U8(edgeGroup), s.left)
	g.JMP(label(again))
	g.Label(done)
	g.Store(s.q, g.ReturnIndex(0))
	g.end()
}

func (s edgesState) field(i, offset int) operand.Mem {
	return operand.Mem{Base: s.edges, Disp: i*edgeSize + offset}
}

func (s edgesState) vector(i, offset int) operand.Mem {
	return operand.Mem{Base: s.scratch, Disp: i*groupVector + offset}
}

// edgeInside jumps away where a part of the i-th edge does not lie in its slice.
func (g *generator) edgeInside(s edgesState, i int, outside string) {
	for _, part := range []struct {
		field, entries int
		slice          string
	}{{edgeBeliefU, 8, "beliefs"}, {edgeMessageU, 8, "messages"}, {edgeBeliefV, 8, "beliefs"}, {edgeMessageV, 8, "messages"}, {edgeTable, 64, "tables"}} {
		last := g.length(part.slice)
		g.SUBQ(operand.U8(part.entries), last)
		g.JLT(label(outside))
		g.CMPQ(s.field(i, part.field), last)
		g.JHI(label(outside))
	}
}

// edgePart returns the address of a part of the i-th edge.
func (g *generator) edgePart(s edgesState, i, field int, slice string) operand.Mem {
	p, base := g.GP64(), g.base(slice)
	g.MOVQ(s.field(i, field), p)
	return operand.Mem{Base: base, Index: p, Scale: 8}
}

// edgeCavities512 puts the weights and products of two edges into the scratch.
func (g *generator) edgeCavities512(s edgesState, first int) {
	var cavities, largest []reg.VecVirtual
	for i := first; i < first+2; i++ {
		for _, side := range [][2]int{{edgeBeliefU, edgeMessageU}, {edgeBeliefV, edgeMessageV}} {
			x, top := g.cavity512(g.edgePart(s, i, side[0], "beliefs"), g.edgePart(s, i, side[1], "messages"), nil), g.ZMM()
			g.VMOVAPD(x, top)
			cavities, largest = append(cavities, x), append(largest, top)
		}
	}
	g.spreads(g.VMAXPD, largest)
	weights, products := g.fromMemory().sides512(cavities, largest)
	for j := range 2 {
		i := first + j
		g.VMOVUPD(weights[2*j], s.vector(i, groupA))
		g.VMOVUPD(products[2*j], s.vector(i, groupAL))
		g.VMOVUPD(weights[2*j+1], s.vector(i, groupC))
		g.VMOVUPD(products[2*j+1], s.vector(i, groupCR))
		g.VADDSD(largest[2*j+1].AsX(), largest[2*j].AsX(), largest[2*j].AsX())
		g.VMOVSD(largest[2*j].AsX(), operand.Mem{Base: s.scratch, Disp: groupShift + 8*i})
	}
}

// edgeTotals512 sums, and finds logarithms, for the edges of the group.
func (g *generator) edgeTotals512(s edgesState, unsafe string) {
	sums := make([]reg.VecVirtual, 2*edgeGroup)
	for i := range edgeGroup {
		x, u := g.several(2), g.several(2)
		table := g.edgePart(s, i, edgeTable, "tables")
		p := g.GP64()
		g.LEAQ(table, p)
		for row := range 8 {
			z := g.load512(operand.Mem{Base: p, Disp: 64 * row}, nil)
			if row < 2 {
				g.VMULPD_BCST(s.vector(i, groupA+8*row), z, x[row])
				g.VMULPD_BCST(s.vector(i, groupAL+8*row), z, u[row])
				continue
			}
			g.VFMADD231PD_BCST(s.vector(i, groupA+8*row), z, x[row%2])
			g.VFMADD231PD_BCST(s.vector(i, groupAL+8*row), z, u[row%2])
		}
		g.VADDPD(x[1], x[0], x[0])
		g.VADDPD(u[1], u[0], u[0])
		c := g.load512(s.vector(i, groupC), nil)
		g.VMULPD(c, u[0], u[0])
		g.VFMADD231PD(s.vector(i, groupCR), x[0], u[0])
		g.VMULPD(c, x[0], x[0])
		sums[i], sums[edgeGroup+i] = x[0], u[0]
	}
	g.edgeLogs512(s.q, operand.Mem{Base: s.scratch, Disp: groupShift}, operand.Mem{Base: s.scratch, Disp: groupScale}, sums, unsafe)
}

// edgeLogs512 stores log Z and the product of the four edges from the q-th on, from their
// shifts and the vectors whose entries add up to their sums, all totals first, and stores
// 1/total as scales. It jumps away where a total is not safe.
func (g *generator) edgeLogs512(q reg.Register, shifts, scales operand.Mem, sums []reg.VecVirtual, unsafe string) {
	totals := g.transposeSum(sums)
	weighted := g.YMM()
	g.VEXTRACTF64X4(operand.U8(1), totals, weighted)
	g.VSHUFF64X2(operand.U8(0x44), totals, totals, totals)
	g.branchUnsafe512(totals, nil, unsafe)
	scale, shift := g.YMM(), g.YMM()
	g.VMOVUPD(g.constant("wide one"), scale)
	g.VDIVPD(totals.AsY(), scale, scale)
	g.VMOVUPD(scale, scales)
	g.VMOVUPD(shifts, shift)
	g.VFMADD213PD(shift, scale, weighted)
	logs := g.fromMemory().logs512([]reg.VecVirtual{totals})[0]
	g.VADDPD(shift, logs.AsY(), logs.AsY())
	g.VMOVUPD(weighted, operand.Mem{Base: g.base("product"), Index: q, Scale: 8})
	g.VMOVUPD(logs.AsY(), operand.Mem{Base: g.base("logZ"), Index: q, Scale: 8})
}

// edgeTable512 writes the belief of the i-th edge.
func (g *generator) edgeTable512(s edgesState, i int) {
	from, to, base := g.GP64(), g.GP64(), g.base("dst")
	g.LEAQ(g.edgePart(s, i, edgeTable, "tables"), from)
	g.MOVQ(s.q, to)
	g.SHLQ(operand.U8(9), to) // 64 numbers of 8 bytes for each edge
	g.ADDQ(base, to)
	c := g.ZMM()
	g.VBROADCASTSD(operand.Mem{Base: s.scratch, Disp: groupScale + 8*i}, c)
	g.VMULPD(s.vector(i, groupC), c, c)
	for row := range 8 {
		z := g.ZMM()
		g.VMULPD(operand.Mem{Base: from, Disp: 64 * row}, c, z)
		g.VMULPD_BCST(s.vector(i, groupA+8*row), z, z)
		g.VMOVUPD(z, operand.Mem{Base: to, Disp: 512*i + 64*row})
	}
}
