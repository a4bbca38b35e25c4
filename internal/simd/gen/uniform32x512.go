package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// uniform32x512 emits the twins of uniform512 for tables, weights and sums of float32:
// two rows of eight to a vector, or one of sixteen.
func (g *generator) uniform32x512() {
	g.uniformProducts32()
	g.uniformAbsorb32()
}

// table32 is table for tables of float32.
func (r uniform) table32(i index) reg.Register {
	q := r.numberAt(uniformInEdge, i)
	r.g.MOVQ(operand.Mem{Base: r.base(uniformAt), Index: q, Scale: 8}, q)
	r.g.LEAQ(operand.Mem{Base: r.base(uniformTables32), Index: q, Scale: 4}, q)
	return q
}

// prefetchTable32 asks for the table of a message: all of the 256 or 1024 bytes that it
// has at most.
func (r uniform) prefetchTable32(i index) {
	t := r.table32(i)
	for line := range 4 * r.vectors * r.vectors {
		r.g.PREFETCHT0(operand.Mem{Base: t, Disp: 64 * line})
	}
}

// uniformProducts32 is uniformProducts512.
func (g *generator) uniformProducts32() {
	g.function("uniformProducts32x512", "func(u *int, lo, hi int) (safe bool)", "is Uniform.Products32.")
	i, last := g.intParam("lo"), g.intParam("hi")
	g.DECQ(last)
	worst := g.zero512()
	v := g.expConstants32().keepVectors("single.fold.0", "single.fold.1")
	for p := range 4 {
		v.keepVectors(fmt.Sprintf("single.pair.%d", p))
	}
	g.forStates(uniformVectors, func(r uniform) {
		out := r.field(uniformRows32)
		r.hoist(uniformIn, uniformMessages)
		r.maskSixteen()
		r.eachGroup(i, last, func(at group) {
			r.prefetchGroup(at.i, last, r.prefetchTable32)
			for first, n := 0, r.atATime(uniformTogether); first < uniformTogether; first += n {
				var cavities []reg.VecVirtual
				for j := first; j < first+n; j++ {
					cavities = append(cavities, r.cavity(r.at(at, j))...)
				}
				for c, w := range v.exps32(g.narrowPairs(cavities), anyArguments) {
					g.VMOVUPS(w, operand.Mem{Base: out, Disp: r.scratch(first)/2 + 64*c})
				}
			}
			for j := range uniformTogether {
				r.product32(v, r.at(at, j), operand.Mem{Base: out, Disp: r.scratch(j) / 2}, worst)
			}
			g.ADDQ(operand.U32(r.scratch(uniformTogether)/2), out)
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

// narrowPairs rounds vectors of eight float64 to half as many of sixteen float32.
func (g *generator) narrowPairs(wide []reg.VecVirtual) []reg.VecVirtual {
	list := make([]reg.VecVirtual, len(wide)/2)
	for i := range list {
		list[i] = g.ZMM()
		g.VCVTPD2PS(wide[2*i], list[i].AsY())
		half := g.YMM()
		g.VCVTPD2PS(wide[2*i+1], half)
		g.VINSERTF64X4(operand.U8(1), half, list[i], list[i])
	}
	return list
}

// maskSixteen makes the mask of rows of up to sixteen float32.
func (r *uniform) maskSixteen() {
	if r.vectors > 1 && r.mask != nil {
		mask := r.g.firstMask32(r.field(uniformStates))
		r.mask32 = &mask
	}
}

// product32 is product.
func (r uniform) product32(v values512, i index, row operand.Mem, worst reg.VecVirtual) {
	g := r.g
	t, w := r.table32(i), g.GP64()
	g.LEAQ(row, w)
	sum, distance := g.ZMM(), g.ZMM()
	r.eitherWay(i, func(backward bool) { g.VMOVAPS(r.sums32(v, w, t, backward), sum) })
	if r.vectors > 1 {
		g.VMOVUPS(sum, row)
		if r.mask32 == nil {
			g.VPSUBD_BCST(g.constant("single.tooSmall"), sum, distance)
		} else {
			g.VPSUBD_BCST_Z(g.constant("single.tooSmall"), sum, *r.mask32, distance)
		}
		g.VPMAXUD(distance, worst, worst)
		return
	}
	g.VMOVUPS(sum.AsY(), row)
	if r.mask == nil {
		g.VPSUBD_BCST(g.constant("single.tooSmall"), sum.AsY(), distance.AsY())
	} else {
		g.VPSUBD_BCST_Z(g.constant("single.tooSmall"), sum.AsY(), *r.mask, distance.AsY())
	}
	g.VPMAXUD(distance.AsY(), worst.AsY(), worst.AsY())
}

// sums32 is sums; with rows of up to eight they are in the lower half.
func (r uniform) sums32(v values512, w, t reg.Register, backward bool) reg.VecVirtual {
	g := r.g
	if r.vectors > 1 {
		if backward {
			return r.longBackward32(w, t)
		}
		return r.longForward32(w, t)
	}
	short := g.fewForward32
	switch {
	case r.mask == nil && backward:
		return g.eightBackward32(v, w, t)
	case r.mask == nil:
		return g.eightForward32(v, w, t)
	case backward:
		short = g.fewBackward32
	}
	n, sum := r.field(uniformStates), g.ZMM()
	g.VMOVAPS(short(w, t, n, n), sum.AsY())
	return sum
}

// eachLongRow32 is eachLongRow for rows of float32.
func (r uniform) eachLongRow32(t reg.Register, lo, hi int, body func(y int, row operand.Mem)) {
	g, end := r.g, r.g.label("rows")
	for y := lo; y < hi; y++ {
		if r.mask == nil {
			body(y, operand.Mem{Base: t, Disp: 64 * y})
			continue
		}
		if y > 8 {
			g.CMPQ(r.size, operand.U8(8*y))
			g.JLE(label(end))
		}
		body(y, operand.Mem{Base: t})
		half := g.GP64()
		g.MOVQ(r.size, half)
		g.SHRQ(operand.U8(1), half)
		g.ADDQ(half, t)
	}
	g.Label(end)
}

// longForward32 is longForward with a row to a vector.
func (r uniform) longForward32(w, t reg.Register) reg.VecVirtual {
	g, sums := r.g, r.g.zeros512(4)
	r.eachLongRow32(t, 0, 16, func(y int, row operand.Mem) {
		a := g.ZMM()
		g.VBROADCASTSS(operand.Mem{Base: w, Disp: 4 * y}, a)
		masked(g.VFMADD231PS, r.mask32, row, a, sums[y%4])
	})
	g.VADDPS(sums[2], sums[0], sums[0])
	g.VADDPS(sums[3], sums[1], sums[1])
	g.VADDPS(sums[1], sums[0], sums[0])
	return sums[0]
}

// longBackward32 takes four rows at a time.
func (r uniform) longBackward32(w, t reg.Register) reg.VecVirtual {
	g, weight := r.g, r.g.load32(operand.Mem{Base: w}, nil)
	var fours []reg.VecVirtual
	for four := range 4 {
		products := g.zeros512(4)
		r.eachLongRow32(t, 4*four, 4*four+4, func(y int, row operand.Mem) {
			if r.mask32 == nil {
				g.VMULPS(row, weight, products[y%4])
			} else {
				g.VMULPS_Z(row, weight, *r.mask32, products[y%4])
			}
		})
		fours = append(fours, g.interleave32(products, g.ZMM)[0])
	}
	return g.foldLanes32(g.foldLanes32(fours[0], fours[1]), g.foldLanes32(fours[2], fours[3]))
}

// uniformAbsorb32 is uniformAbsorb512; the new messages it leaves are float64.
func (g *generator) uniformAbsorb32() {
	g.function("uniformAbsorb32x512", "func(u *int, lo, hi int) (residual float64)", "is Uniform.Absorb32.")
	i, left := g.intParam("lo"), g.intParam("hi")
	g.SUBQ(i, left)
	a := absorbing{damping: g.ZMM(), keep: g.broadcast512("one"), zero: g.zero512(), residual: g.zero512()}
	g.VBROADCASTSD(operand.Mem{Base: g.intParam("u"), Disp: uniformDamping}, a.damping)
	g.VSUBPD(a.damping, a.keep, a.keep)
	v := g.logConstants32()
	g.forStates(uniformVectors, func(r uniform) {
		sums, row := r.field(uniformRows32), r.field(uniformRows)
		r.groups(i, left, func(n int) {
			for first, step := 0, r.atATime(n); first < n; first += step {
				logs := v.logs32(r.loadSums32(operand.Mem{Base: sums, Disp: r.scratch(first) / 2}, step))
				r.absorbLogs(a, i, row, first, r.inRows(g.widenPairs(logs)[:step*r.vectors]))
			}
			g.ADDQ(operand.U32(r.scratch(n)/2), sums)
			g.ADDQ(operand.U32(r.scratch(n)), row)
		})
	})
	g.spread(g.VPMAXUQ, a.residual)
	g.Store(a.residual.AsX(), g.ReturnIndex(0))
	g.end()
}

// loadSums32 reads the sums of n messages: of one with up to eight states only these.
func (r uniform) loadSums32(m operand.Mem, n int) []reg.VecVirtual {
	if n*r.vectors == 1 {
		z := r.g.ZMM()
		r.g.VMOVUPS(m, z.AsY())
		return []reg.VecVirtual{z}
	}
	list := make([]reg.VecVirtual, n*r.vectors/2)
	for c := range list {
		list[c] = r.g.load32(m.Offset(64*c), nil)
	}
	return list
}

// widenPairs is narrowPairs the other way round.
func (g *generator) widenPairs(narrow []reg.VecVirtual) (list []reg.VecVirtual) {
	for _, z := range narrow {
		low, high := g.ZMM(), g.ZMM()
		g.VCVTPS2PD(z.AsY(), low)
		g.VEXTRACTF64X4(operand.U8(1), z, high.AsY())
		g.VCVTPS2PD(high.AsY(), high)
		list = append(list, low, high)
	}
	return list
}
