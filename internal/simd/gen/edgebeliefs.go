package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// edgePanel is how many vectors of a row are made at a time.
const edgePanel = 3

// edge is what edgeBeliefs keeps in registers of the edge at hand: where its table, the weights at both ends, the length
// of a row in bytes, and its belief are; Z, the sum of logarithms, and the least of these that counts.
type edge struct {
	vectors
	table, atU, atV, rowBytes, to reg.Register
	total, product, least         reg.VecVirtual
}

// edgeBeliefs walks twice over the table of each edge: for Z, and then for the belief.
func (v vectors) edgeBeliefs() {
	v.function(v.name("edgeBeliefs"), "func(dst, z, products, tables, weights, logs []float64, at []int, ku, kv int)",
		"is plainEdgeBeliefs for one edge and more.")
	left, at, toLogs, again := v.length("at"), v.base("at"), v.base("logs"), v.label("edge")
	e := edge{v, v.GP64(), v.GP64(), v.base("weights"), v.rowBytes(v.intParam("kv")), v.base("dst"),
		v.vector(), v.vector(), v.copyOf("minusLargest")}
	v.MOVQ(e.rowBytes, e.atU)
	v.IMULQ(left, e.atU)
	v.ADDQ(e.atV, e.atU)
	v.SUBQ(e.atV, toLogs)
	v.Store(toLogs, v.Param("logs").Base()) // from now on how far logarithms are from their weights
	v.Label(again)
	v.MOVQ(operand.Mem{Base: at}, e.table)
	v.LEAQ(at64(v.base("tables"), e.table, 0), e.table)
	v.VXORPD(e.total, e.total, e.total)
	v.VXORPD(e.product, e.product, e.product)
	e.panels(edgePart.sum)
	v.spread(v.VADDPD, e.total)
	e.panels(edgePart.write)
	v.spread(v.VADDPD, e.product)
	i, size := v.length("at"), v.intParam("ku")
	v.SUBQ(left, i)
	v.VMOVSD(e.total.AsX(), at64(v.base("z"), i, 0))
	v.VMOVSD(e.product.AsX(), at64(v.base("products"), i, 0))
	v.LEAQ(at64(e.atU, size, 0), e.atU)
	v.ADDQ(e.rowBytes, e.atV)
	v.IMULQ(e.rowBytes, size)
	v.ADDQ(size, e.to)
	v.ADDQ(operand.U8(8), at)
	v.DECQ(left)
	v.JNZ(label(again))
	v.end()
}

// panels emits body for the columns of the table. Eight rows of eight are a case of its own: for them loops and masks
// take as long as what is in them.
func (e edge) panels(body func(p edgePart)) {
	other, done := e.label("other"), e.label("columns")
	for _, end := range []string{"ku", "kv"} {
		e.CMPQ(e.intParam(end), operand.U8(8))
		e.JNE(label(other))
	}
	body(edgePart{edge: e, n: 8 / e.lanes})
	e.JMP(label(done))
	e.Label(other)
	e.vectors.panels(e.intParam("kv"), edgePanel, func(offset reg.Register, n int, r *rest) {
		body(edgePart{e, offset, n, r})
	})
	e.Label(done)
}

// edgePart is n vectors of each row at an offset in bytes: whole rows, of eight, where there is none.
type edgePart struct {
	edge
	offset reg.Register
	n      int
	r      *rest
}

// at is the j-th vector of a row from base on.
func (p edgePart) at(base reg.Register, j int) operand.Mem {
	m := operand.Mem{Base: base, Disp: p.bytes() * j}
	if p.offset != nil {
		m.Index, m.Scale = p.offset, 1
	}
	return m
}

func (p edgePart) read(m operand.Mem, j int) reg.VecVirtual { return p.load(m, last(j, p.n, p.r)) }

// rows emits body for the rows of the table: it gets where a number of the row is, counted from base, and where the
// j-th vector of a row is, counted from the first row on.
func (p edgePart) rows(
	body func(number func(base reg.Register) operand.Mem, vector func(base reg.Register, j int) operand.Mem),
) {
	if p.offset == nil {
		for i := range 8 {
			body(func(base reg.Register) operand.Mem { return operand.Mem{Base: base, Disp: 8 * i} },
				func(base reg.Register, j int) operand.Mem { return p.at(base, j).Offset(64 * i) })
		}
		return
	}
	i, row, again := p.zero(), p.GP64(), p.label("row")
	p.MOVQ(p.offset, row)
	p.Label(again)
	body(func(base reg.Register) operand.Mem { return at64(base, i, 0) },
		func(base reg.Register, j int) operand.Mem { return bytes(base, row, p.bytes()*j) })
	p.ADDQ(p.rowBytes, row)
	p.INCQ(i)
	p.CMPQ(i, p.intParam("ku"))
	p.JL(label(again))
}

// sum adds what a part of the columns has of Z.
func (p edgePart) sum() {
	sums := p.zeros(p.n)
	p.rows(func(number func(reg.Register) operand.Mem, vector func(reg.Register, int) operand.Mem) {
		weight := p.broadcast(number(p.atU))
		for j, sum := range sums {
			p.VFMADD231PD(p.read(vector(p.table, j), j), weight, sum)
		}
	})
	for j, sum := range sums {
		p.VFMADD231PD(sum, p.read(p.at(p.atV, j), j), p.total)
	}
}

// write writes a part of the belief. Logarithms of −Inf come with a weight of 0.
func (p edgePart) write() {
	columns, sums, moments, logs := p.several(p.n), p.zeros(p.n), p.zeros(p.n), p.base("logs")
	for j, column := range columns {
		p.VDIVPD(p.total, p.read(p.at(p.atV, j), j), column)
	}
	p.ADDQ(p.atU, logs)
	p.rows(func(number func(reg.Register) operand.Mem, vector func(reg.Register, int) operand.Mem) {
		weight, log := p.broadcast(number(p.atU)), p.broadcast(number(logs))
		p.VMAXPD(log, p.least, log)
		for j, column := range columns {
			x := p.read(vector(p.table, j), j)
			p.VMULPD(column, x, x)
			p.VMULPD(weight, x, x)
			p.storeApart(x, vector(p.to, j), last(j, p.n, p.r))
			p.VADDPD(x, sums[j], sums[j])
			p.VFMADD231PD(x, log, moments[j])
		}
	})
	p.Load(p.Param("logs").Base(), logs)
	p.ADDQ(p.atV, logs)
	for j, sum := range sums {
		log := p.read(p.at(logs, j), j)
		p.VMAXPD(log, p.least, log)
		p.VFMADD231PD(sum, log, moments[j])
		p.VADDPD(moments[j], p.product, p.product)
	}
}
