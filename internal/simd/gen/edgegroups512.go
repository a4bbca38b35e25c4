package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in the scratch of edgeGroups512: what does not find room in registers; the
// shift and 1/total of each edge; and for each edge what edgeBelief512 has there, and
// its sums.
const (
	groupsList  = 8 * iota // the group's first entry of the list
	groupsDone             // edges that are done
	groupsLeft             // edges that are left
	groupsEntry            // the entry of the list of the edge at hand
	groupsEdge             // its number in the group

	groupsShift = 64
	groupsScale = groupsShift + 64
	groupsEdges = groupsScale + 64
)

// edgeGroups is where edgeGroups512 keeps things.
type edgeGroups struct {
	*generator
	at reg.Register // the scratch
}

// Offsets in the scratch of an edge behind what edgeBelief512 has there, and the bytes from
// edge to edge: parts of two edges have not the same low bits.
const (
	groupsTotal    = edgeBytes
	groupsWeighted = groupsTotal + 64
	groupsStride   = groupsWeighted + 64 + 64
)

// edgeGroups512 emits the steps of edgeOfMany512 for groups of edges that take each step
// together: what waits for the sums of one edge is then not alone.
func (g *generator) edgeGroups512() {
	g.function("edgeGroups512", "func(dst, logZ, product, beliefs, messages, tables []float64, edges *int, count, ku, kv int) (done int)",
		fmt.Sprintf("is EdgeBeliefs for 1 to %d states at both ends, as far as whole groups of four edges are safe and inside the slices.", maxStates512))
	s := edgeGroups{g, g.alignedScratch(groupsEdges + edgeGroup*groupsStride)}
	again, done := g.label("group"), g.label("done")
	g.MOVQ(g.intParam("edges"), s.slot(groupsList))
	g.MOVQ(g.zero(), s.slot(groupsDone))
	g.MOVQ(g.intParam("count"), s.slot(groupsLeft))
	g.Label(again)
	g.CMPQ(s.slot(groupsLeft), operand.U8(edgeGroup))
	g.JLT(label(done))
	s.each(func(part reg.Register) {
		at := s.arguments()
		s.inside(at, done)
		g.VMOVSD(g.edgeSides512(at, part).AsX(), s.numberOf(groupsShift))
	})
	s.each(func(part reg.Register) {
		x, u := g.edgeSums512(s.arguments(), part)
		g.VMOVUPD(x, operand.Mem{Base: part, Disp: groupsTotal})
		g.VMOVUPD(u, operand.Mem{Base: part, Disp: groupsWeighted})
	})
	sums := make([]reg.VecVirtual, 2*edgeGroup)
	for i := range edgeGroup {
		part := operand.Mem{Base: s.at, Disp: groupsEdges + i*groupsStride}
		sums[i], sums[edgeGroup+i] = g.load512(part.Offset(groupsTotal), nil), g.load512(part.Offset(groupsWeighted), nil)
	}
	q := g.GP64()
	g.MOVQ(s.slot(groupsDone), q)
	g.edgeLogs512(q, s.slot(groupsShift), s.slot(groupsScale), sums, done)
	s.each(func(part reg.Register) {
		scale, at := g.ZMM(), s.arguments()
		g.VBROADCASTSD(s.numberOf(groupsScale), scale)
		at.dst = g.GP64()
		g.MOVQ(s.slot(groupsDone), at.dst)
		g.ADDQ(s.slot(groupsEdge), at.dst)
		g.IMULQ(at.ku, at.dst)
		g.IMULQ(at.kv, at.dst)
		g.SHLQ(operand.U8(3), at.dst)
		g.ADDQ(g.base("dst"), at.dst)
		g.edgeWrite512(at, part, scale)
	})
	g.ADDQ(operand.U32(edgeGroup*edgeSize), s.slot(groupsList))
	g.ADDQ(operand.U8(edgeGroup), s.slot(groupsDone))
	g.SUBQ(operand.U8(edgeGroup), s.slot(groupsLeft))
	g.JMP(label(again))
	g.Label(done)
	all := g.GP64()
	g.MOVQ(s.slot(groupsDone), all)
	g.Store(all, g.ReturnIndex(0))
	g.end()
}

func (s edgeGroups) slot(i int) operand.Mem { return operand.Mem{Base: s.at, Disp: i} }

// numberOf is the entry of the edge at hand in a list of numbers.
func (s edgeGroups) numberOf(list int) operand.Mem {
	n := s.GP64()
	s.MOVQ(s.slot(groupsEdge), n)
	return at64(s.at, n, list)
}

// each emits body for the edges of a group: it gets the address of its part of the scratch.
func (s edgeGroups) each(body func(part reg.Register)) {
	g, again, part := s.generator, s.label("edge"), s.GP64()
	entry := g.GP64()
	g.MOVQ(s.slot(groupsList), entry)
	g.MOVQ(entry, s.slot(groupsEntry))
	g.LEAQ(operand.Mem{Base: s.at, Disp: groupsEdges}, part)
	g.MOVQ(g.zero(), s.slot(groupsEdge))
	g.Label(again)
	body(part)
	g.ADDQ(operand.U8(edgeSize), s.slot(groupsEntry))
	g.ADDQ(operand.U32(groupsStride), part)
	g.INCQ(s.slot(groupsEdge))
	g.CMPQ(s.slot(groupsEdge), operand.U8(edgeGroup))
	g.JLT(label(again))
}

// inside jumps away where a part of the edge does not lie in its slice.
func (s edgeGroups) inside(at edgeArguments, outside string) {
	g, entry, size := s.generator, s.GP64(), s.GP64()
	g.MOVQ(s.slot(groupsEntry), entry)
	g.MOVQ(at.ku, size)
	g.IMULQ(at.kv, size)
	for _, part := range []struct {
		field   int
		entries reg.Register
		slice   string
	}{{edgeBeliefU, at.ku, "beliefs"}, {edgeMessageU, at.ku, "messages"}, {edgeBeliefV, at.kv, "beliefs"}, {edgeMessageV, at.kv, "messages"}, {edgeTable, size, "tables"}} {
		last := g.length(part.slice)
		g.SUBQ(part.entries, last)
		g.JLT(label(outside))
		g.CMPQ(operand.Mem{Base: entry, Disp: part.field}, last)
		g.JHI(label(outside))
	}
}

// arguments are those of the belief of the edge at hand, but for dst.
func (s edgeGroups) arguments() edgeArguments {
	entry := s.GP64()
	s.MOVQ(s.slot(groupsEntry), entry)
	part := func(field int, slice string) reg.Register { return s.place(entry, field, s.base(slice)) }
	values := s.GP64()
	s.MOVQ(operand.Mem{Base: entry, Disp: edgeTable}, values)
	s.LEAQ(at64(s.base("tables"), values, 0), values)
	return edgeArguments{
		beliefU: part(edgeBeliefU, "beliefs"), messageU: part(edgeMessageU, "messages"), beliefV: part(edgeBeliefV, "beliefs"), messageV: part(edgeMessageV, "messages"),
		values: values, ku: s.intParam("ku"), kv: s.intParam("kv"),
	}
}
