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
	v.function(v.name("moments"), "func(totals, logged, logs, w, out []float64, list *int, count int)",
		"is plainMoments.")
	v.spare("minusLargest")
	totals, logged, logs := v.base("totals"), v.base("logged"), v.base("logs")
	weights, out := v.base("w"), v.base("out")
	v.items(messageSize, func(item, _ reg.Register, _ string) {
		l, w := v.shortPlace(item, messageWeight, logs), v.shortPlace(item, messageWeight, weights)
		y, total, sum := v.shortPlace(item, messageSum, out), v.zeroVector(), v.zeroVector()
		v.row(v.short(item, messageSource), func(i reg.Register, offset int, r *rest) {
			x, log := v.load(at64(w, i, offset), r), v.copyOf("minusLargest")
			v.VMULPD(v.load(at64(y, i, offset), r), x, x)
			v.VMAXPD(v.load(at64(l, i, offset), r), log, log)
			v.VADDPD(x, total, total)
			v.VFMADD231PD(log, x, sum)
		})
		for i, x := range []reg.VecVirtual{total, sum} {
			p := []reg.Register{totals, logged}[i]
			v.spread(v.VADDPD, x)
			v.VMOVSD(x.AsX(), operand.Mem{Base: p})
			v.ADDQ(operand.U8(8), p)
		}
	})
	v.end()
}

// outerPanel is how many vectors of a row are made at a time.
const outerPanel = 3

// outer walks over the tables of dst, one behind the other.
func (v vectors) outer() {
	v.function(v.name("outer"), "func(dst, tables, factors, ends, weights []float64, list *int, ku, kv, feasible int)",
		"is plainOuter for one edge and more.")
	to, left, item := v.base("dst"), v.length("dst"), v.intParam("list")
	factors, ends, weights := v.base("factors"), v.base("ends"), v.base("weights")
	rowBytes, again, other, next := v.rowBytes(v.intParam("kv")), v.label("edge"), v.label("other"), v.label("next")
	panel := func(offset reg.Register, n int, r *rest) {
		c, lack, row, i := v.several(n), v.zeros(n), v.GP64(), v.GP64()
		value := func(j int) reg.VecVirtual {
			return v.load(operand.Mem{Base: row, Disp: v.bytes() * j}, last(j, n, r))
		}
		// rows emits body for the rows of the panel.
		rows := func(body func()) {
			more := v.label("row")
			v.LEAQ(bytes(v.place(item, messageTable, v.base("tables")), offset, 0), row)
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
		b := v.GP64()
		v.LEAQ(at64(ends, v.intParam("ku"), 0), b)
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
	for _, p := range []reg.Register{factors, ends, weights} {
		v.LEAQ(at64(p, size, 0), p)
		v.ADDQ(rowBytes, p)
	}
	v.IMULQ(v.intParam("kv"), size)
	v.LEAQ(at64(to, size, 0), to)
	v.ADDQ(operand.U32(2*messageSize), item)
	v.SUBQ(size, left)
	v.JG(label(again))
	v.end()
}
