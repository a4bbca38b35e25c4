package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// regular32x512 emits the twins of regular512 for tables, weights and sums of float32:
// two rows of eight to a vector.
func (g *generator) regular32x512() {
	g.regularProducts32()
	g.regularAbsorb32()
}

// table32 is table for tables of float32.
func (r regular) table32(i index) reg.Register {
	q := r.numberAt(regularInEdge, i)
	r.g.MOVQ(operand.Mem{Base: r.base(regularAt), Index: q, Scale: 8}, q)
	r.g.LEAQ(operand.Mem{Base: r.base(regularTables32), Index: q, Scale: 4}, q)
	return q
}

// prefetchTable32 asks for the table of a message: all of 256 bytes at most.
func (r regular) prefetchTable32(i index) {
	t := r.table32(i)
	for line := range 4 {
		r.g.PREFETCHT0(operand.Mem{Base: t, Disp: 64 * line})
	}
}

// regularProducts32 is regularProducts512.
func (g *generator) regularProducts32() {
	g.function("regularProducts32x512", "func(u *int, lo, hi int) (safe bool)", "is Regular.Products32.")
	i, last := g.intParam("lo"), g.intParam("hi")
	g.DECQ(last)
	worst := g.zero512()
	v := g.expConstants32().keepVectors("single.fold.0", "single.fold.1")
	for p := range 4 {
		v.keepVectors(fmt.Sprintf("single.pair.%d", p))
	}
	g.forStates(func(r regular) {
		out := r.field(regularRows32)
		r.hoist(regularIn, regularMessages)
		r.eachGroup(i, last, func(at group) {
			r.prefetchGroup(at.i, last, r.prefetchTable32)
			cavities := make([]reg.VecVirtual, regularTogether/2)
			for j := range regularTogether {
				cavity := r.cavity(r.at(at, j))
				if half := g.YMM(); j%2 == 0 {
					cavities[j/2] = g.ZMM()
					g.VCVTPD2PS(cavity, cavities[j/2].AsY())
				} else {
					g.VCVTPD2PS(cavity, half)
					g.VINSERTF64X4(operand.U8(1), half, cavities[j/2], cavities[j/2])
				}
			}
			for j, w := range v.exps32(cavities, anyArguments) {
				g.VMOVUPS(w, operand.Mem{Base: out, Disp: 64 * j})
			}
			for j := range regularTogether {
				r.product32(v, r.at(at, j), operand.Mem{Base: out, Disp: 32 * j}, worst)
			}
			g.ADDQ(operand.U32(32*regularTogether), out)
		})
	})
	bad, safe := g.K(), g.label("safe")
	g.VPCMPUD_BCST(cmpNotLessEqual, g.constant("single.safeRange"), worst, bad)
	g.KORTESTW(bad, bad)
	g.JZ(label(safe))
	g.returnBool(false)
	g.Label(safe)
	g.returnBool(true)
}

// product32 is product.
func (r regular) product32(v values512, i index, row operand.Mem, worst reg.VecVirtual) {
	g := r.g
	t, w := r.table32(i), g.GP64()
	g.LEAQ(row, w)
	backward, done := g.label("backward"), g.label("product")
	sum := g.YMM()
	var n reg.Register
	if r.mask != nil {
		n = r.field(regularStates)
	}
	g.TESTB(operand.U8(1), operand.Mem{Base: r.base(regularIn), Index: i.Register, Scale: 4, Disp: 4 * i.plus})
	g.JNZ(label(backward))
	if r.mask == nil {
		g.VMOVAPS(g.eightForward32(v, w, t).AsY(), sum)
	} else {
		g.VMOVAPS(g.fewForward32(w, t, n, n), sum)
	}
	g.JMP(label(done))
	g.Label(backward)
	if r.mask == nil {
		g.VMOVAPS(g.eightBackward32(v, w, t).AsY(), sum)
	} else {
		g.VMOVAPS(g.fewBackward32(w, t, n, n), sum)
	}
	g.Label(done)
	g.VMOVUPS(sum, row)
	distance := g.YMM()
	if r.mask == nil {
		g.VPSUBD_BCST(g.constant("single.tooSmall"), sum, distance)
	} else {
		g.VPSUBD_BCST_Z(g.constant("single.tooSmall"), sum, *r.mask, distance)
	}
	g.VPMAXUD(distance, worst.AsY(), worst.AsY())
}

// regularAbsorb32 is regularAbsorb512; the new messages it leaves are float64.
func (g *generator) regularAbsorb32() {
	g.function("regularAbsorb32x512", "func(u *int, lo, hi int) (residual float64)", "is Regular.Absorb32.")
	i, left := g.intParam("lo"), g.intParam("hi")
	g.SUBQ(i, left)
	a := absorbing{damping: g.ZMM(), keep: g.broadcast512("one"), zero: g.zero512(), residual: g.zero512()}
	g.VBROADCASTSD(operand.Mem{Base: g.intParam("u"), Disp: regularDamping}, a.damping)
	g.VSUBPD(a.damping, a.keep, a.keep)
	v := g.logConstants32()
	g.forStates(func(r regular) {
		sums, row := r.field(regularRows32), r.field(regularRows)
		r.groups(i, left, func(n int) {
			vectors := make([]reg.VecVirtual, (n+1)/2)
			for j := range vectors {
				vectors[j] = g.ZMM()
				if n == 1 {
					g.VMOVUPS(operand.Mem{Base: sums}, vectors[j].AsY())
				} else {
					g.VMOVUPS(operand.Mem{Base: sums, Disp: 64 * j}, vectors[j])
				}
			}
			var logs []reg.VecVirtual
			for _, z := range v.logs32(vectors) {
				for half := range min(2, n) {
					wide := g.ZMM()
					if half == 0 {
						g.VCVTPS2PD(z.AsY(), wide)
					} else {
						upper := g.YMM()
						g.VEXTRACTF64X4(operand.U8(1), z, upper)
						g.VCVTPS2PD(upper, wide)
					}
					logs = append(logs, wide)
				}
			}
			r.absorbLogs(a, i, row, logs)
			g.ADDQ(operand.U32(32*n), sums)
			g.ADDQ(operand.U32(64*n), row)
		})
	})
	g.spread(g.VPMAXUQ, a.residual)
	g.Store(a.residual.AsX(), g.ReturnIndex(0))
	g.end()
}
