package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 emits the kernels of AVX2.
func (g *generator) avx2() {
	v := avx2{g}
	v.elementwise256()
	v.vectorTable256()
	v.tableVector256()
	v.matrix256()
	v.batch256()
	v.edgeBeliefs256()
	v.reductions256()
	v.dot256()
	v.entropy256()
	v.scatterRows256()
	v.pairProduct256()
	v.exponentiate256()
	v.absorb256()
	v.edgeBelief256()
	v.feasibleEdges256()
	v.interleave256()
	v.separate256()
	v.panels256Bits().consistent()
}

func (g avx2) elementwise256() {
	g.function("exp256", "func(dst, x []float64)", "is Exp.")
	dst, x, n := g.base("dst"), g.base("x"), g.length("x")
	g.hoist("round1", "log2e", "expLn2High", "expLn2Low", "one", "magnitude")
	g.loop256(n, 2, func(i reg.Register, offset int, rest *rest256) {
		g.store256(g.exp256(g.load256(at64(x, i, offset), rest)), at64(dst, i, offset), rest)
	})
	g.end()

	g.function("log256", "func(dst, x []float64)", "is Log.")
	dst, x, n = g.base("dst"), g.base("x"), g.length("x")
	g.hoist("oneLessSqrtHalf", "integer", "one", "half")
	g.loop256(n, 2, func(i reg.Register, offset int, rest *rest256) {
		y := g.load256(at64(x, i, offset), rest)
		if rest != nil {
			// Ones after the end take the quick way.
			g.VBLENDVPD(rest.mask, y, g.copyWide("one"), y)
		}
		g.store256(g.log256(y), at64(dst, i, offset), rest)
	})
	g.end()
}

// reductions256 emits the other kernels of one row.
func (g avx2) reductions256() {
	g.function("expShift256", "func(dst, x []float64, shift float64) (total float64)", "is ExpShift.")
	dst, x, n := g.base("dst"), g.base("x"), g.length("x")
	shift, total := g.broadcastParam256("shift"), g.zero256()
	g.loop256(n, 1, func(i reg.Register, offset int, rest *rest256) {
		y := g.load256(at64(x, i, offset), rest)
		g.VSUBPD(shift, y, y)
		if rest != nil {
			g.VANDPD(rest.mask, y, y)
		}
		e := g.exp256(y)
		g.store256(e, at64(dst, i, offset), rest)
		if rest != nil {
			g.VANDPD(rest.mask, e, e)
		}
		g.VADDPD(e, total, total)
	})
	g.spread256(g.VADDPD, total)
	g.Store(total.AsX(), g.ReturnIndex(0))
	g.end()

	g.function("max256", "func(x []float64) float64", "is Max.")
	x, n = g.base("x"), g.length("x")
	largest, unordered := g.copyWide("negativeInfinity"), g.zero256()
	g.loop256(n, 1, func(i reg.Register, offset int, rest *rest256) {
		y := g.load256(at64(x, i, offset), rest)
		if rest != nil {
			low := g.copyWide("negativeInfinity")
			g.VBLENDVPD(rest.mask, y, low, y)
		}
		g.VMAXPD(y, largest, largest)
		g.VCMPPD(cmpUnordered, y, y, y)
		g.VORPD(y, unordered, unordered)
	})
	g.spread256(g.VMAXPD, largest)
	which, numbers := g.GP32(), g.label("numbers")
	g.VMOVMSKPD(unordered, which)
	g.TESTL(which, which)
	g.JZ(label(numbers))
	g.VMOVUPD(g.wide("notANumber"), largest)
	g.Label(numbers)
	g.Store(largest.AsX(), g.ReturnIndex(0))
	g.end()

	g.function("addScaled256", "func(dst, x []float64, a float64)", "is AddScaled.")
	dst, x, n = g.base("dst"), g.base("x"), g.length("x")
	a := g.broadcastParam256("a")
	g.loop256(n, 4, func(i reg.Register, offset int, rest *rest256) {
		y := g.load256(at64(dst, i, offset), rest)
		if rest == nil {
			g.VFMADD231PD(at64(x, i, offset), a, y)
		} else {
			g.VFMADD231PD(g.load256(at64(x, i, offset), rest), a, y)
		}
		g.store256(y, at64(dst, i, offset), rest)
	})
	g.end()

	g.function("extrapolate256", "func(x, old []float64, a float64)", "is Extrapolate.")
	x, n = g.base("x"), g.length("x")
	old := g.base("old")
	a = g.broadcastParam256("a")
	g.loop256(n, 4, func(i reg.Register, offset int, rest *rest256) {
		y := g.load256(at64(x, i, offset), rest)
		d, finite := g.YMM(), g.YMM()
		g.VSUBPD(g.load256(at64(old, i, offset), rest), y, d)
		g.VSUBPD(d, d, finite)
		g.VCMPPD(cmpOrdered, finite, finite, finite)
		g.VANDPD(d, finite, d)
		g.store256(y, at64(old, i, offset), rest)
		g.VFMADD231PD(d, a, y)
		g.store256(y, at64(x, i, offset), rest)
	})
	g.end()
}

func (g avx2) vectorTable256() {
	g.function("vectorTable256", "func(out, weight, values []float64)", "is plainVectorTable.")
	out, k := g.base("out"), g.length("out")
	weight, n, values := g.base("weight"), g.length("weight"), g.base("values")
	s := g.strides(k, 4)
	w, row := g.GP64(), g.GP64()
	g.panels256(k, 8, func(offset reg.Register, vectors int, rest *rest256) {
		g.MOVQ(weight, w)
		g.LEAQ(bytes(values, offset, 0), row)
		unroll := unrollFor(vectors)
		sums := g.zeros256(unroll * vectors)
		g.rows(n, unroll, func(u int) {
			a := g.YMM()
			g.VBROADCASTSD(operand.Mem{Base: w, Disp: 8 * u}, a)
			for c := range vectors {
				g.operate256(g.VFMADD231PD, s.row(row, u, 32*c), last256(c, vectors, rest), a, sums[u*vectors+c])
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), w)
			g.advance(s, row, rows)
		})
		for half := unroll / 2 * vectors; half >= vectors; half /= 2 {
			for i := range half {
				g.VADDPD(sums[half+i], sums[i], sums[i])
			}
		}
		for c := range vectors {
			g.store256(sums[c], bytes(out, offset, 32*c), last256(c, vectors, rest))
		}
	})
	g.end()
}

// tableVector256 takes eight rows at a time.
func (g avx2) tableVector256() {
	g.function("tableVector256", "func(out, weight, values []float64)", "is plainTableVector.")
	out, n := g.base("out"), g.length("out")
	weight, k, row := g.base("weight"), g.length("weight"), g.base("values")
	s := g.eightRows(k)
	w, p := g.GP64(), g.GP64()
	// block emits the products of eight rows, or of as many as left, as vectors.
	block := func(left reg.Register) (products []reg.VecVirtual) {
		sums := g.zeros256(8)
		g.MOVQ(weight, w)
		g.MOVQ(row, p)
		g.loop256(k, 1, func(_ reg.Register, _ int, rest *rest256) {
			y := g.load256(operand.Mem{Base: w}, rest)
			end := g.label("column")
			for i, sum := range sums {
				if left != nil && i > 0 {
					g.CMPQ(left, operand.U32(i))
					g.JLE(label(end))
				}
				g.operate256(g.VFMADD231PD, s.row(p, i), rest, y, sum)
			}
			g.Label(end)
			if rest == nil {
				g.ADDQ(operand.U32(32), w)
				g.ADDQ(operand.U32(32), p)
			}
		})
		for ; len(sums) > 0; sums = sums[4:] {
			products = append(products, g.transposeSum256(sums[:4]))
		}
		return products
	}
	again, rest, done := g.label("block"), g.label("rest"), g.label("done")
	g.CMPQ(n, operand.U32(8))
	g.JLT(label(rest))
	g.Label(again)
	for i, y := range block(nil) {
		g.VMOVUPD(y, operand.Mem{Base: out, Disp: 32 * i})
	}
	g.ADDQ(operand.U32(64), out)
	g.LEAQ(operand.Mem{Base: row, Index: s.one, Scale: 8}, row)
	g.SUBQ(operand.U32(8), n)
	g.CMPQ(n, operand.U32(8))
	g.JGE(label(again))
	g.Label(rest)
	g.TESTQ(n, n)
	g.JZ(label(done))
	products := block(n)
	last := products[len(products)-1]
	if len(products) > 1 {
		few, end := g.label("few"), g.YMM()
		g.VMOVUPD(products[0], end)
		g.CMPQ(n, operand.U32(4))
		g.JLE(label(few))
		g.VMOVUPD(end, operand.Mem{Base: out})
		g.VMOVUPD(last, end)
		g.ADDQ(operand.U32(32), out)
		g.SUBQ(operand.U32(4), n)
		g.Label(few)
		last = end
	}
	g.store256(last, operand.Mem{Base: out}, &rest256{count: n})
	g.Label(done)
	g.end()
}

func (g avx2) scatterRows256() {
	g.function("scatterRows256", "func(w, f, t []float64)", "is ScatterRows.")
	w, f, n := g.base("w"), g.base("f"), g.length("f")
	t, k := g.base("t"), g.length("t")
	s := g.strides(k, 1)
	feature, row := g.GP64(), g.GP64()
	g.panels256(k, 8, func(offset reg.Register, vectors int, rest *rest256) {
		g.MOVQ(f, feature)
		g.LEAQ(bytes(w, offset, 0), row)
		target := make([]reg.VecVirtual, vectors)
		for c := range target {
			target[c] = g.load256(bytes(t, offset, 32*c), last256(c, vectors, rest))
		}
		g.rows(n, 1, func(int) {
			a := g.YMM()
			g.VBROADCASTSD(operand.Mem{Base: feature}, a)
			for c, y := range target[:vectors-1] {
				g.addTo(g.YMM(), y, a, operand.Mem{Base: row, Disp: 32 * c})
			}
			last, p := target[vectors-1], operand.Mem{Base: row, Disp: 32 * (vectors - 1)}
			if rest == nil {
				g.addTo(g.YMM(), last, a, p)
				return
			}
			partial, single, done := g.label("partial"), g.label("single"), g.label("added")
			one, sum := g.XMM(), g.XMM()
			g.CMPQ(rest.count, operand.U8(4))
			g.JLT(label(partial))
			g.addTo(g.YMM(), last, a, p)
			g.JMP(label(done))
			g.Label(partial)
			g.VMOVAPD(last.AsX(), one)
			g.CMPQ(rest.count, operand.U8(2))
			g.JLT(label(single))
			g.addTo(g.XMM(), last.AsX(), a.AsX(), p)
			g.CMPQ(rest.count, operand.U8(2))
			g.JEQ(label(done))
			g.VEXTRACTF128(operand.U8(1), last, one)
			g.VMOVSD(p.Offset(16), sum)
			g.VFMADD231SD(one, a.AsX(), sum)
			g.VMOVSD(sum, p.Offset(16))
			g.JMP(label(done))
			g.Label(single)
			g.VMOVSD(p, sum)
			g.VFMADD231SD(one, a.AsX(), sum)
			g.VMOVSD(sum, p)
			g.Label(done)
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), feature)
			g.advance(s, row, rows)
		})
	})
	g.end()
}

func (g avx2) pairProduct256() {
	g.function("pairProduct256", "func(dst, left, right, values []float64) (total float64)", "is PairProduct.")
	dst, values := g.base("dst"), g.base("values")
	left, n := g.base("left"), g.length("left")
	right, k := g.base("right"), g.length("right")
	s := g.strides(k, 2)
	total := g.zero256()
	l, v, d := g.GP64(), g.GP64(), g.GP64()
	g.panels256(k, 4, func(offset reg.Register, vectors int, rest *rest256) {
		g.MOVQ(left, l)
		g.LEAQ(bytes(values, offset, 0), v)
		g.LEAQ(bytes(dst, offset, 0), d)
		factors := make([]reg.VecVirtual, vectors)
		for c := range factors {
			factors[c] = g.load256(bytes(right, offset, 32*c), last256(c, vectors, rest))
		}
		unroll := min(2, unrollFor(vectors))
		sums := make([]reg.VecVirtual, max(unroll, vectors))
		for i := range sums {
			sums[i] = g.zero256()
		}
		g.rows(n, unroll, func(u int) {
			a := g.YMM()
			g.VBROADCASTSD(operand.Mem{Base: l, Disp: 8 * u}, a)
			for c, factor := range factors {
				r := last256(c, vectors, rest)
				y := g.YMM()
				if r == nil {
					g.VMULPD(s.row(v, u, 32*c), a, y)
				} else {
					g.VMULPD(g.load256(s.row(v, u, 32*c), r), a, y)
				}
				g.VMULPD(factor, y, y)
				g.store256(y, s.row(d, u, 32*c), r)
				if r != nil {
					g.VANDPD(r.mask, y, y) // 0·∞ after the end
				}
				sum := sums[(u*vectors+c)%len(sums)]
				g.VADDPD(y, sum, sum)
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), l)
			g.advance(s, v, rows)
			g.advance(s, d, rows)
		})
		for _, sum := range sums {
			g.VADDPD(sum, total, total)
		}
	})
	g.spread256(g.VADDPD, total)
	g.Store(total.AsX(), g.ReturnIndex(0))
	g.end()
}
