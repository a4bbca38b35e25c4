package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// edgePanel256 is how many vectors of a row are summed at a time: twice as many
// sums, two factors and an entry of the table share 16 registers.
const edgePanel256 = 4

func (g avx2) edgeBelief256() {
	at := g.edgeFunction("edgeBelief256")
	scratch := g.alignedScratch(edgeBytes)
	unsafe := g.label("unsafe")
	top := g.scratchCavity256(at.beliefU, at.messageU, at.ku, scratch, edgeA)
	topRight := g.scratchCavity256(at.beliefV, at.messageV, at.kv, scratch, edgeC)
	g.edgeSide256(at.ku, scratch, top, edgeA, edgeAL)
	g.edgeSide256(at.kv, scratch, topRight, edgeC, edgeCR)
	g.VADDPD(topRight, top, top)

	total, weighted := g.zero256(), g.zero256()
	s := g.strides(at.kv, 2)
	w, row := g.GP64(), g.GP64()
	g.panels256(at.kv, edgePanel256, func(offset reg.Register, vectors int, rest *rest256) {
		g.MOVQ(scratch, w)
		g.LEAQ(bytes(at.values, offset, 0), row)
		x, u := g.zeros256(vectors), g.zeros256(vectors)
		g.rows(at.ku, 1, func(int) {
			a, al := g.YMM(), g.YMM()
			g.VBROADCASTSD(operand.Mem{Base: w, Disp: edgeA}, a)
			g.VBROADCASTSD(operand.Mem{Base: w, Disp: edgeAL}, al)
			for c := range vectors {
				y := g.load256(operand.Mem{Base: row, Disp: 32 * c}, last256(c, vectors, rest))
				g.VFMADD231PD(y, a, x[c])
				g.VFMADD231PD(y, al, u[c])
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), w)
			g.advance(s, row, rows)
		})
		for c := range vectors {
			g.VFMADD231PD(bytes(scratch, offset, edgeC+32*c), x[c], total)
			g.VFMADD231PD(bytes(scratch, offset, edgeC+32*c), u[c], weighted)
			g.VFMADD231PD(bytes(scratch, offset, edgeCR+32*c), x[c], weighted)
		}
	})
	scale := g.edgeResults256(total, weighted, top, unsafe)
	g.edgeWrite256(at, scratch, scale, s)
	g.returnFlag(true, 2)
	g.Label(unsafe)
	g.returnFlag(false, 2)
}

// scratchCavity256 is scratchCavity512 for vectors of four.
func (g avx2) scratchCavity256(belief, message, n, scratch reg.Register, at int) (largest reg.VecVirtual) {
	largest = g.copyWide("negativeInfinity")
	low := g.copyWide("negativeInfinity")
	g.loop256(n, 1, func(i reg.Register, offset int, rest *rest256) {
		x, m := g.load256(at64(belief, i, offset), rest), g.load256(at64(message, i, offset), rest)
		forbidden := g.YMM()
		g.VCMPPD(operand.U8(0), low, m, forbidden)
		g.VSUBPD(m, x, x) // −Inf where the belief is, or a NaN if both are
		g.VBLENDVPD(forbidden, low, x, x)
		if rest != nil {
			g.VBLENDVPD(rest.mask, x, low, x)
		}
		g.VMOVUPD(x, at64(scratch, i, at+offset))
		g.VMAXPD(x, largest, largest)
	})
	g.spread256(g.VMAXPD, largest)
	return largest
}

// edgeSide256 is sides512 for all of a cavity in the scratch: it puts the weight in
// its place, and the product at another.
func (g avx2) edgeSide256(n, scratch reg.Register, largest reg.VecVirtual, from, product int) {
	i, again := g.zero(), g.label("vector")
	g.Label(again)
	l, possible := g.load256(at64(scratch, i, from), nil), g.YMM()
	g.VCMPPD(cmpNotEqual, g.wide("negativeInfinity"), l, possible)
	g.VSUBPD(largest, l, l)
	g.VANDPD(l, possible, possible)
	weight := g.shortExp256(l)
	g.VMOVUPD(weight, at64(scratch, i, from))
	g.VMULPD(possible, weight, weight)
	g.VMOVUPD(weight, at64(scratch, i, product))
	g.ADDQ(operand.U8(4), i)
	g.CMPQ(i, n)
	g.JLT(label(again))
}

// edgeResults256 is edgeResults512 for vectors of four.
func (g avx2) edgeResults256(x, u, shift reg.VecVirtual, unsafe string) (scale reg.VecVirtual) {
	g.spread256(g.VADDPD, x)
	g.spread256(g.VADDPD, u)
	// Not safe below tooSmall, above largest, and as a NaN.
	g.VUCOMISD(g.constant("tooSmall"), x.AsX())
	g.JCS(label(unsafe))
	largest := g.copyWide("largest")
	g.VUCOMISD(x.AsX(), largest.AsX())
	g.JCS(label(unsafe))
	scale = g.copyWide("one")
	g.VDIVPD(x, scale, scale)
	g.VFMADD213PD(shift, scale, u)
	g.Store(u.AsX(), g.ReturnIndex(1))
	logZ := g.log256(x)
	g.VADDPD(shift, logZ, logZ)
	g.Store(logZ.AsX(), g.ReturnIndex(0))
	return scale
}

// edgeWrite256 is edgeWrite512 for vectors of four.
func (g avx2) edgeWrite256(at edgeArguments, scratch reg.Register, scale reg.VecVirtual, s strides) {
	w, rows, last := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(scratch, w)
	g.MOVQ(at.ku, rows)
	g.MOVQ(at.ku, last)
	g.IMULQ(s.one, last)
	g.LEAQ(operand.Mem{Base: at.dst, Index: last, Scale: 1, Disp: -32}, last)
	again := g.label("row")
	g.Label(again)
	a := g.YMM()
	g.VBROADCASTSD(operand.Mem{Base: w, Disp: edgeA}, a)
	g.VMULPD(scale, a, a)
	g.loop256(at.kv, 1, func(i reg.Register, offset int, rest *rest256) {
		y := g.load256(at64(at.values, i, offset), rest)
		g.VMULPD(at64(scratch, i, edgeC), y, y)
		g.VMULPD(a, y, y)
		if rest == nil {
			g.VMOVUPD(y, at64(at.dst, i, offset))
			return
		}
		p, pieces, done := g.GP64(), g.label("pieces"), g.label("written")
		g.LEAQ(at64(at.dst, i, offset), p)
		g.CMPQ(p, last)
		g.JGT(label(pieces))
		g.VMOVUPD(y, operand.Mem{Base: p})
		g.JMP(label(done))
		g.Label(pieces)
		g.store256(y, operand.Mem{Base: p}, rest)
		g.Label(done)
	})
	g.ADDQ(operand.U8(8), w)
	g.ADDQ(s.one, at.values)
	g.ADDQ(s.one, at.dst)
	g.DECQ(rows)
	g.JNZ(label(again))
}
