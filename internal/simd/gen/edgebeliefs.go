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
	v.function(v.name("outer"), "func(dst, tables, factors, rows, columns, weights []float64, at []int, "+
		"ku, kv, feasible int)", "is plainOuter for one edge and more.")
	to, left, at := v.base("dst"), v.length("at"), v.base("at")
	factors, ends, b, weights := v.base("factors"), v.base("rows"), v.base("columns"), v.base("weights")
	rowBytes, again, other, next := v.rowBytes(v.intParam("kv")), v.label("edge"), v.label("other"), v.label("next")
	panel := func(offset reg.Register, n int, r *rest) {
		c, lack, row, i := v.several(n), v.zeros(n), v.GP64(), v.GP64()
		value := func(j int) reg.VecVirtual {
			return v.load(operand.Mem{Base: row, Disp: v.bytes() * j}, last(j, n, r))
		}
		// rows emits body for the rows of the panel.
		rows := func(body func()) {
			more := v.label("row")
			v.LEAQ(bytes(v.place(at, 0, v.base("tables")), offset, 0), row)
			v.XORQ(i, i)
			v.Label(more)
			body()
			v.ADDQ(rowBytes, row)
			v.INCQ(i)
			v.CMPQ(i, v.intParam("ku"))
			v.JL(label(more))
		}
		for j := range c {
			v.VMOVUPD(bytes(weights, offset, v.bytes()*j), c[j])
		}
		exact := v.label("exact")
		v.CMPQ(v.intParam("feasible"), operand.U8(0))
		v.JEQ(label(exact))
		rows(func() {
			factor := v.broadcast(at64(factors, i, 0))
			for j, sum := range lack {
				v.VFMADD231PD(value(j), factor, sum)
			}
		})
		for j, sum := range lack {
			v.VFNMADD213PD(bytes(b, offset, v.bytes()*j), c[j], sum)
		}
		v.Label(exact)
		out := v.GP64()
		v.LEAQ(bytes(to, offset, 0), out)
		rows(func() {
			factor, t := v.broadcast(at64(factors, i, 0)), v.broadcast(at64(ends, i, 0))
			for j := range c {
				x := value(j)
				v.VMULPD(c[j], x, x)
				v.VMULPD(factor, x, x)
				v.VFMADD231PD(lack[j], t, x)
				v.storeApart(x, operand.Mem{Base: out, Disp: v.bytes() * j}, last(j, n, r))
			}
			v.ADDQ(rowBytes, out)
		})
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
	for _, p := range []reg.Register{factors, ends} {
		v.LEAQ(at64(p, size, 0), p)
	}
	v.ADDQ(rowBytes, b)
	v.ADDQ(rowBytes, weights)
	v.IMULQ(v.intParam("kv"), size)
	v.LEAQ(at64(to, size, 0), to)
	v.ADDQ(operand.U8(8), at)
	v.DECQ(left)
	v.JNZ(label(again))
	v.end()
}
