package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The belief of an edge takes two passes over its table. With l and r the
// cavities, shifted so that the largest entry is 0, a = e^l and c = e^r, the
// first pass sums over rows
//
//	X[j] = Σ_i a[i] values[i,j]        U[j] = Σ_i a[i] l[i] values[i,j]
//
// so that the total is Σ_j c[j] X[j], and Σ_i l[i]·(row sum) + Σ_j r[j]·(column
// sum) is Σ_j (c[j] U[j] + c[j] r[j] X[j]) / total: no sum along a row is needed. The
// second pass writes a[i] values[i,j] (c[j]/total).

// edgeArguments are the parameters of the kernel.
type edgeArguments struct {
	dst, beliefU, messageU, beliefV, messageV, values reg.Register
	ku, kv                                            reg.Register
}

func (g *generator) edgeFunction(name string) edgeArguments {
	g.function(name, "func(dst, beliefU, messageU, beliefV, messageV, values []float64) (logZ, product float64, safe bool)",
		fmt.Sprintf("is EdgeBelief for 1 to %d states at both ends.", maxStates512))
	return edgeArguments{
		g.base("dst"), g.base("beliefU"), g.base("messageU"), g.base("beliefV"), g.base("messageV"), g.base("values"),
		g.length("beliefU"), g.length("beliefV"),
	}
}

// Offsets in the scratch, in bytes: a, a·l, c and c·r, each of maxStates512
// entries. The products are 0 for forbidden states, and finite for all others.
const (
	edgeA     = 0
	edgeAL    = 8 * maxStates512
	edgeC     = 2 * 8 * maxStates512
	edgeCR    = 3 * 8 * maxStates512
	edgeBytes = 4 * 8 * maxStates512
)

// alignedScratch returns the address of so many bytes on the stack, at a multiple
// of 64.
func (g *generator) alignedScratch(size int) reg.Register {
	scratch := g.GP64()
	g.LEAQ(g.AllocLocal(size+64).Offset(63), scratch)
	g.ANDQ(operand.I32(-64), scratch)
	return scratch
}

func (g *generator) edgeBelief512() {
	at := g.edgeFunction("edgeBelief512")
	scratch := g.alignedScratch(edgeBytes)
	unsafe, general := g.label("unsafe"), g.label("general")
	for _, k := range []reg.Register{at.ku, at.kv} {
		g.CMPQ(k, operand.U8(8))
		g.JNE(label(general))
	}
	g.edgeOfEight512(at, scratch, unsafe)
	g.returnFlag(true, 2)
	g.Label(general)
	g.edgeOfMany512(at, scratch, unsafe)
	g.returnFlag(true, 2)
	g.Label(unsafe)
	g.returnFlag(false, 2)
}

// sides512 takes the largest entries out of cavities l and returns e^l and e^l·l,
// which is 0 for forbidden states. It changes l.
func (v values512) sides512(l, largest []reg.VecVirtual) (weight, product []reg.VecVirtual) {
	g := v.g
	product = g.several(len(l))
	for i := range l {
		possible := g.K()
		v.compare(cmpNotEqual, "negativeInfinity", l[i], possible)
		g.VSUBPD(largest[i], l[i], l[i])
		g.VMOVAPD_Z(l[i], possible, product[i])
	}
	weight = v.shortExps512(l, byLatency)
	for i := range l {
		g.VMULPD(weight[i], product[i], product[i])
	}
	return weight, product
}

// edgeOfEight512 keeps the table of 8×8 in registers.
func (g *generator) edgeOfEight512(at edgeArguments, scratch reg.Register, unsafe string) {
	v := g.fromMemory()
	cavities := []reg.VecVirtual{
		g.cavity512(operand.Mem{Base: at.beliefU}, operand.Mem{Base: at.messageU}, nil),
		g.cavity512(operand.Mem{Base: at.beliefV}, operand.Mem{Base: at.messageV}, nil),
	}
	largest := g.several(2)
	for i, x := range cavities {
		g.VMOVAPD(x, largest[i])
	}
	g.spreads(g.VMAXPD, largest)
	weights, products := v.sides512(cavities, largest)
	top, c, cr := largest[0], weights[1], products[1]
	g.VADDPD(largest[1], top, top)
	g.VMOVUPD(weights[0], operand.Mem{Base: scratch, Disp: edgeA})
	g.VMOVUPD(products[0], operand.Mem{Base: scratch, Disp: edgeAL})
	var rows [8]reg.VecVirtual
	var x, u [2]reg.VecVirtual
	for i := range rows {
		rows[i] = g.load512(operand.Mem{Base: at.values, Disp: 64 * i}, nil)
		if i < 2 {
			x[i], u[i] = g.ZMM(), g.ZMM()
			g.VMULPD_BCST(operand.Mem{Base: scratch, Disp: edgeA + 8*i}, rows[i], x[i])
			g.VMULPD_BCST(operand.Mem{Base: scratch, Disp: edgeAL + 8*i}, rows[i], u[i])
			continue
		}
		g.VFMADD231PD_BCST(operand.Mem{Base: scratch, Disp: edgeA + 8*i}, rows[i], x[i%2])
		g.VFMADD231PD_BCST(operand.Mem{Base: scratch, Disp: edgeAL + 8*i}, rows[i], u[i%2])
	}
	g.VADDPD(x[1], x[0], x[0])
	g.VADDPD(u[1], u[0], u[0])
	g.VMULPD(c, u[0], u[0])
	g.VFMADD231PD(cr, x[0], u[0])
	g.VMULPD(c, x[0], x[0])
	scale := g.edgeResults512(x[0], u[0], top, unsafe)
	g.VMULPD(scale, c, c)
	for i, row := range rows {
		g.VMULPD(c, row, row)
		g.VMULPD_BCST(operand.Mem{Base: scratch, Disp: edgeA + 8*i}, row, row)
		g.VMOVUPD(row, operand.Mem{Base: at.dst, Disp: 64 * i})
	}
}

// edgeResults512 gets the total as the sum of all entries of x and, times that,
// the product as the sum of those of u. It jumps away where the total is not
// safe, stores both results, to which shift belongs, and returns 1/total in every
// entry.
func (g *generator) edgeResults512(x, u, shift reg.VecVirtual, unsafe string) (scale reg.VecVirtual) {
	g.spreads(g.VADDPD, []reg.VecVirtual{x, u})
	g.branchUnsafe512(x, nil, unsafe)
	// A division of one number is the quickest.
	one := g.XMM()
	scale = g.ZMM()
	g.VMOVSD(g.constant("one"), one)
	g.VDIVSD(x.AsX(), one, one)
	g.VBROADCASTSD(one, scale)
	g.VFMADD213PD(shift, scale, u)
	g.Store(u.AsX(), g.ReturnIndex(1))
	logZ := g.fromMemory().logs512([]reg.VecVirtual{x})[0]
	g.VADDPD(shift, logZ, logZ)
	g.Store(logZ.AsX(), g.ReturnIndex(0))
	return scale
}

// scratchCavity512 puts a cavity, padded with −Inf to whole vectors, into the
// scratch and returns its largest entry.
func (g *generator) scratchCavity512(belief, message, n, scratch reg.Register, at int) (largest reg.VecVirtual) {
	largest = g.broadcast512("negativeInfinity")
	g.loop512(n, 1, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		x := g.cavity512(at64(belief, i, offset), at64(message, i, offset), mask)
		g.VMOVUPD(x, at64(scratch, i, at+offset))
		g.VMAXPD(x, largest, largest)
	})
	g.spread(g.VMAXPD, largest)
	return largest
}

// edgeSide512 is sides512 for a vector of a cavity in the scratch: it puts the
// weight in its place, and the product at another.
func (g *generator) edgeSide512(v values512, i, scratch reg.Register, largest reg.VecVirtual, from, product int) {
	l := g.load512(at64(scratch, i, from), nil)
	weights, products := v.sides512([]reg.VecVirtual{l}, []reg.VecVirtual{largest})
	g.VMOVUPD(weights[0], at64(scratch, i, from))
	g.VMOVUPD(products[0], at64(scratch, i, product))
}

// wholeVectors emits body for every vector that holds some of n > 0 entries.
func (g *generator) wholeVectors(n reg.Register, body func(index reg.Register)) {
	i, again := g.zero(), g.label("vector")
	g.Label(again)
	body(i)
	g.ADDQ(operand.U8(8), i)
	g.CMPQ(i, n)
	g.JLT(label(again))
}

func (g *generator) edgeOfMany512(at edgeArguments, scratch reg.Register, unsafe string) {
	top := g.edgeSides512(at, scratch)
	total, weighted := g.edgeSums512(at, scratch)
	g.edgeWrite512(at, scratch, g.edgeResults512(total, weighted, top, unsafe))
}

func (g *generator) edgeSides512(at edgeArguments, scratch reg.Register) (top reg.VecVirtual) {
	v := g.fromMemory()
	top = g.scratchCavity512(at.beliefU, at.messageU, at.ku, scratch, edgeA)
	topRight := g.scratchCavity512(at.beliefV, at.messageV, at.kv, scratch, edgeC)
	g.wholeVectors(at.ku, func(i reg.Register) {
		g.edgeSide512(v, i, scratch, top, edgeA, edgeAL)
	})
	g.wholeVectors(at.kv, func(i reg.Register) {
		g.edgeSide512(v, i, scratch, topRight, edgeC, edgeCR)
	})
	g.VADDPD(topRight, top, top)
	return top
}

func (g *generator) edgeSums512(at edgeArguments, scratch reg.Register) (total, weighted reg.VecVirtual) {
	s := g.strides(at.kv, 2)
	total, weighted = g.zero512(), g.zero512()
	w, row := g.GP64(), g.GP64()
	g.panels512(at.kv, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.MOVQ(scratch, w)
		g.LEAQ(bytes(at.values, offset, 0), row)
		unroll := min(2, unrollFor(vectors))
		x, u := g.zeros512(unroll*vectors), g.zeros512(unroll*vectors)
		g.rows(at.ku, unroll, func(i int) {
			for c := range vectors {
				z := g.load512(s.row(row, i, 64*c), only(c, vectors, mask))
				g.VFMADD231PD_BCST(operand.Mem{Base: w, Disp: edgeA + 8*i}, z, x[i*vectors+c])
				g.VFMADD231PD_BCST(operand.Mem{Base: w, Disp: edgeAL + 8*i}, z, u[i*vectors+c])
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
			g.VFMADD231PD(bytes(scratch, offset, edgeC+64*c), x[c], total)
			g.VFMADD231PD(bytes(scratch, offset, edgeC+64*c), u[c], weighted)
			g.VFMADD231PD(bytes(scratch, offset, edgeCR+64*c), x[c], weighted)
		}
	})
	return total, weighted
}

// zeros512 returns n vectors that are 0. With VXORPD, unlike VPXORQ, avo knows that
// the old contents do not matter.
func (g *generator) zeros512(n int) []reg.VecVirtual {
	return zeros(n, g.ZMM, func(m, a operand.Op) { g.VXORPD(m, a, a) })
}

// edgeWrite512 writes the rest of a row with a mask: nobody reads it at once.
func (g *generator) edgeWrite512(at edgeArguments, scratch reg.Register, scale reg.VecVirtual) {
	s := g.strides(at.kv, 2)
	w, from, to := g.GP64(), g.GP64(), g.GP64()
	g.panels512(at.kv, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.MOVQ(scratch, w)
		g.LEAQ(bytes(at.values, offset, 0), from)
		g.LEAQ(bytes(at.dst, offset, 0), to)
		columns := g.several(vectors)
		for c, column := range columns {
			g.VMULPD(bytes(scratch, offset, edgeC+64*c), scale, column)
		}
		g.rows(at.ku, 2, func(i int) {
			a := g.ZMM()
			g.VBROADCASTSD(operand.Mem{Base: w, Disp: edgeA + 8*i}, a)
			for c, column := range columns {
				z, m := g.ZMM(), only(c, vectors, mask)
				if m == nil {
					g.VMULPD(s.row(from, i, 64*c), a, z)
				} else {
					g.VMULPD_Z(s.row(from, i, 64*c), a, *m, z)
				}
				g.VMULPD(column, z, z)
				masked(g.VMOVUPD, m, z, s.row(to, i, 64*c))
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), w)
			g.advance(s, from, rows)
			g.advance(s, to, rows)
		})
	})
}
