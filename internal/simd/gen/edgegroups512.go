package main

import (
	"fmt"
	"strings"

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

// edgeSteps are the steps of the belief of an edge in one precision.
type edgeSteps struct {
	number  string
	entry   int // bytes of an entry of a table
	scratch int // bytes
	// sides puts weights and products of both ends into the scratch and returns the sum
	// of the largest entries of their cavities.
	sides func(at edgeArguments, scratch reg.Register) (top reg.VecVirtual)
	// sums returns vectors whose entries add up to the total and, times that, to the
	// product.
	sums func(at edgeArguments, scratch reg.Register) (total, weighted reg.VecVirtual)
	// logs stores log Z and the product of the four edges from the q-th on, from their
	// shifts and what sums returned, all totals first, and stores 1/total as scales. It
	// jumps away where a total is not safe.
	logs func(q reg.Register, shifts, scales operand.Mem, sums []reg.VecVirtual, unsafe string)
	// broadcast reads one of the scales.
	broadcast func(...operand.Op)
	// write writes the belief, scale being 1/total.
	write func(at edgeArguments, scratch reg.Register, scale reg.VecVirtual)
}

// edgeGroups is where a kernel for groups of edges keeps things.
type edgeGroups struct {
	*generator
	edgeSteps
	at reg.Register // the scratch
}

// edgeGroups emits a kernel for groups of edges that take each step together: what
// waits for the sums of one edge is then not alone.
func (g *generator) edgeGroups(name, doc string, steps edgeSteps) {
	g.function(name, strings.ReplaceAll("func(dst []NUMBER, logZ, product, beliefs, messages []float64, tables []NUMBER, edges *int, count, ku, kv int) (done int)", "NUMBER", steps.number),
		fmt.Sprintf("is %s for 1 to %d states at both ends, as far as whole groups of four edges are safe and inside the slices.", doc, maxStates512))
	total := steps.scratch
	weighted := total + 64
	stride := weighted + 64 + 64 // parts of two edges have not the same low bits
	s := edgeGroups{g, steps, g.alignedScratch(groupsEdges + edgeGroup*stride)}
	again, done := g.label("group"), g.label("done")
	g.MOVQ(g.intParam("edges"), s.slot(groupsList))
	g.MOVQ(g.zero(), s.slot(groupsDone))
	g.MOVQ(g.intParam("count"), s.slot(groupsLeft))
	g.Label(again)
	g.CMPQ(s.slot(groupsLeft), operand.U8(edgeGroup))
	g.JLT(label(done))
	s.each(stride, func(part reg.Register) {
		at := s.arguments()
		s.inside(at, done)
		g.VMOVSD(s.sides(at, part).AsX(), s.numberOf(groupsShift, 8))
	})
	s.each(stride, func(part reg.Register) {
		x, u := s.sums(s.arguments(), part)
		g.VMOVUPD(x, operand.Mem{Base: part, Disp: total})
		g.VMOVUPD(u, operand.Mem{Base: part, Disp: weighted})
	})
	sums := make([]reg.VecVirtual, 2*edgeGroup)
	for i := range edgeGroup {
		part := operand.Mem{Base: s.at, Disp: groupsEdges + i*stride}
		sums[i], sums[edgeGroup+i] = g.load512(part.Offset(total), nil), g.load512(part.Offset(weighted), nil)
	}
	q := g.GP64()
	g.MOVQ(s.slot(groupsDone), q)
	s.logs(q, s.slot(groupsShift), s.slot(groupsScale), sums, done)
	s.each(stride, func(part reg.Register) {
		scale, at := g.ZMM(), s.arguments()
		s.broadcast(s.numberOf(groupsScale, s.entry), scale)
		at.dst = g.GP64()
		g.MOVQ(s.slot(groupsDone), at.dst)
		g.ADDQ(s.slot(groupsEdge), at.dst)
		g.IMULQ(at.ku, at.dst)
		g.IMULQ(at.kv, at.dst)
		g.SHLQ(operand.U8(s.entry/4+1), at.dst)
		g.ADDQ(g.base("dst"), at.dst)
		s.write(at, part, scale)
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

// numberOf is the entry of the edge at hand in a list of numbers of so many bytes.
func (s edgeGroups) numberOf(list, size int) operand.Mem {
	n := s.GP64()
	s.MOVQ(s.slot(groupsEdge), n)
	return operand.Mem{Base: s.at, Index: n, Scale: uint8(size), Disp: list}
}

// each emits body for the edges of a group, whose parts of the scratch are so many bytes
// apart: it gets the address of the part.
func (s edgeGroups) each(stride int, body func(part reg.Register)) {
	g, again, part := s.generator, s.label("edge"), s.GP64()
	entry := g.GP64()
	g.MOVQ(s.slot(groupsList), entry)
	g.MOVQ(entry, s.slot(groupsEntry))
	g.LEAQ(operand.Mem{Base: s.at, Disp: groupsEdges}, part)
	g.MOVQ(g.zero(), s.slot(groupsEdge))
	g.Label(again)
	body(part)
	g.ADDQ(operand.U8(edgeSize), s.slot(groupsEntry))
	g.ADDQ(operand.U32(stride), part)
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
	s.LEAQ(operand.Mem{Base: s.base("tables"), Index: values, Scale: uint8(s.entry)}, values)
	return edgeArguments{
		beliefU: part(edgeBeliefU, "beliefs"), messageU: part(edgeMessageU, "messages"), beliefV: part(edgeBeliefV, "beliefs"), messageV: part(edgeMessageV, "messages"),
		values: values, ku: s.intParam("ku"), kv: s.intParam("kv"),
	}
}
