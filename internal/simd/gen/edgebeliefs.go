package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// edges emits what beliefs of edges are made with, beside the kernels of a batch.
func (v vectors) edges() {
	v.moments()
	v.outer()
}

// moments keeps a NaN of a logarithm.
func (v vectors) moments() {
	v.function(v.name("moments"), "func(totals, logged, logs, weights, out []float64, n int)", "is plainMoments.")
	v.spare("minusLargest")
	totals, logged, n := v.base("totals"), v.base("logged"), v.intParam("n")
	l, w, y := v.base("logs"), v.base("weights"), v.base("out")
	v.parts(v.length("totals"), n, "", func(row rows) {
		total, sum := v.zeroVector(), v.zeroVector()
		row(func(i reg.Register, r *rest) {
			x, log := v.load(at64(w, i, 0), r), v.copyOf("minusLargest")
			v.VMULPD(v.load(at64(y, i, 0), r), x, x)
			v.VMAXPD(v.load(at64(l, i, 0), r), log, log)
			v.VADDPD(x, total, total)
			v.VFMADD231PD(log, x, sum)
		})
		for i, x := range []reg.VecVirtual{total, sum} {
			p := []reg.Register{totals, logged}[i]
			v.spread(v.VADDPD, x)
			v.VMOVSD(x.AsX(), operand.Mem{Base: p})
			v.ADDQ(operand.U8(8), p)
		}
		for _, p := range []reg.Register{l, w, y} {
			v.LEAQ(at64(p, n, 0), p)
		}
	})
	v.end()
}

// outerPanel is how many vectors of a row are made at a time.
const outerPanel = 3

// outer walks over the tables of dst, one behind the other.
func (v vectors) outer() {
	v.function(v.name("outer"), "func(dst, tables, factors, weights []float64, at []int, ku, kv int)",
		"is plainOuter for one edge and more.")
	to, left, at, factors, weights := v.base("dst"), v.length("at"), v.base("at"), v.base("factors"), v.base("weights")
	rowBytes, again, other, next := v.rowBytes(v.intParam("kv")), v.label("edge"), v.label("other"), v.label("next")
	panel := func(offset reg.Register, n int, r *rest) {
		c, row, out, i, more := v.several(n), v.GP64(), v.GP64(), v.GP64(), v.label("row")
		for j := range c {
			v.VMOVUPD(bytes(weights, offset, v.bytes()*j), c[j])
		}
		v.LEAQ(bytes(v.place(at, 0, v.base("tables")), offset, 0), row)
		v.LEAQ(bytes(to, offset, 0), out)
		v.XORQ(i, i)
		v.Label(more)
		factor := v.broadcast(at64(factors, i, 0))
		for j := range c {
			x := v.load(operand.Mem{Base: row, Disp: v.bytes() * j}, last(j, n, r))
			v.VMULPD(c[j], x, x)
			v.VMULPD(factor, x, x)
			v.storeApart(x, operand.Mem{Base: out, Disp: v.bytes() * j}, last(j, n, r))
		}
		v.ADDQ(rowBytes, row)
		v.ADDQ(rowBytes, out)
		v.INCQ(i)
		v.CMPQ(i, v.intParam("ku"))
		v.JL(label(more))
	}
	v.Label(again)
	v.CMPQ(v.intParam("kv"), operand.U8(8)) // without masks
	v.JNE(label(other))
	panel(v.zero(), 8/v.lanes, nil)
	v.JMP(label(next))
	v.Label(other)
	v.panels(v.intParam("kv"), outerPanel, panel)
	v.Label(next)
	size := v.intParam("ku")
	v.LEAQ(at64(factors, size, 0), factors)
	v.ADDQ(rowBytes, weights)
	v.IMULQ(v.intParam("kv"), size)
	v.LEAQ(at64(to, size, 0), to)
	v.ADDQ(operand.U8(8), at)
	v.DECQ(left)
	v.JNZ(label(again))
	v.end()
}
