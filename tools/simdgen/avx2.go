package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rest256 is the end of a row that does not fill a vector: how many entries, 1
// to 4, and the mask of them, for loads. Stores go by pieces of 2 and 1, as
// masked ones are slow.
type rest256 struct {
	count reg.Register
	mask  reg.VecVirtual
}

// rest256 makes the mask of the first count entries.
func (g *generator) rest256(count reg.Register) *rest256 {
	r := &rest256{count, g.YMM()}
	// The window that begins 4 − count words into the table's ones.
	start, minus := g.GP64(), g.GP64()
	g.LEAQ(g.constant("window").Offset(32), start)
	g.MOVQ(count, minus)
	g.NEGQ(minus)
	g.VMOVUPD(operand.Mem{Base: start, Index: minus, Scale: 8}, r.mask)
	return r
}

func (g *generator) load256(m operand.Mem, rest *rest256) reg.VecVirtual {
	y := g.YMM()
	if rest == nil {
		g.VMOVUPD(m, y)
	} else {
		g.VMASKMOVPD(m, rest.mask, y)
	}
	return y
}

// store256 leaves y as it is.
func (g *generator) store256(y reg.VecVirtual, m operand.Mem, rest *rest256) {
	if rest == nil {
		g.VMOVUPD(y, m)
		return
	}
	partial, single, done := g.label("partial"), g.label("single"), g.label("stored")
	g.CMPQ(rest.count, operand.U8(4))
	g.JLT(label(partial))
	g.VMOVUPD(y, m)
	g.JMP(label(done))
	g.Label(partial)
	g.CMPQ(rest.count, operand.U8(2))
	g.JLT(label(single))
	g.VMOVUPD(y.AsX(), m)
	g.JEQ(label(done))
	high := g.XMM()
	g.VEXTRACTF128(operand.U8(1), y, high)
	g.VMOVSD(high, m.Offset(16))
	g.JMP(label(done))
	g.Label(single)
	g.VMOVSD(y.AsX(), m)
	g.Label(done)
}

// loop256 is loop512 for vectors of four.
func (g *generator) loop256(n reg.Register, unroll int, body func(index reg.Register, offset int, rest *rest256)) {
	index, left := g.zero(), g.GP64()
	g.MOVQ(n, left)
	steps := []int{1}
	if unroll > 1 {
		steps = []int{unroll, 1}
	}
	for _, u := range steps {
		again, done := g.label("whole"), g.label("rest")
		g.CMPQ(left, operand.U32(4*u))
		g.JLT(label(done))
		g.Label(again)
		for i := range u {
			body(index, 32*i, nil)
		}
		g.ADDQ(operand.U32(4*u), index)
		g.SUBQ(operand.U32(4*u), left)
		g.CMPQ(left, operand.U32(4*u))
		g.JGE(label(again))
		g.Label(done)
	}
	done := g.label("done")
	g.TESTQ(left, left)
	g.JZ(label(done))
	body(index, 0, g.rest256(left))
	g.Label(done)
}

// panels256 is panels512 for vectors of four, at most so many at a time.
func (g *generator) panels256(n reg.Register, most int, body func(offset reg.Register, vectors int, rest *rest256)) {
	offset, left := g.zero(), g.GP64()
	g.MOVQ(n, left)
	again, rest, done := g.label("panel"), g.label("rest"), g.label("done")
	g.CMPQ(left, operand.U32(4*most))
	g.JLT(label(rest))
	g.Label(again)
	body(offset, most, nil)
	g.ADDQ(operand.U32(32*most), offset)
	g.SUBQ(operand.U32(4*most), left)
	g.CMPQ(left, operand.U32(4*most))
	g.JGE(label(again))
	g.Label(rest)
	g.TESTQ(left, left)
	g.JZ(label(done))
	for v := 1; v <= most; v++ {
		next := g.label("wider")
		if v < most {
			g.CMPQ(left, operand.U32(4*v))
			g.JGT(label(next))
		}
		if v > 1 {
			g.SUBQ(operand.U32(4*(v-1)), left)
		}
		body(offset, v, g.rest256(left))
		if v < most {
			g.JMP(label(done))
			g.Label(next)
		}
	}
	g.Label(done)
}

func last256(c, vectors int, rest *rest256) *rest256 {
	if c == vectors-1 {
		return rest
	}
	return nil
}

// wide is four copies of a constant: a register if it was hoisted, or else
// memory.
func (g *generator) wide(name string) operand.Op {
	if y, ok := g.hoisted[name]; ok {
		return y
	}
	return g.constant("wide " + name)
}

// hoist keeps constants in registers until the kernel ends, as many as a loop can
// spare: it is bound by loads.
func (g *generator) hoist(names ...string) {
	g.hoisted = map[string]reg.VecVirtual{}
	for _, name := range names {
		y := g.YMM()
		g.VMOVUPD(g.constant("wide "+name), y)
		g.hoisted[name] = y
	}
}

func (g *generator) copyWide(name string) reg.VecVirtual {
	y := g.YMM()
	g.VMOVUPD(g.wide(name), y)
	return y
}

func (g *generator) zero256() reg.VecVirtual {
	y := g.YMM()
	g.VXORPD(y, y, y)
	return y
}

// linear256 returns name.i + name.(i+1)·x.
func (g *generator) linear256(name string, i int, x reg.Register) reg.VecVirtual {
	a := g.copyWide(fmt.Sprintf("%s.%d", name, i))
	g.VFMADD231PD(g.wide(fmt.Sprintf("%s.%d", name, i+1)), x, a)
	return a
}

// exp256 returns e^x = 2^n·e^r, n = x·log2(e) rounded; it changes x. Where an
// |x| is above 708 or NaN it takes the slow way, which multiplies by 2^n in two
// steps.
func (g *generator) exp256(x reg.VecVirtual) reg.VecVirtual {
	result, magnitude, which := g.YMM(), g.YMM(), g.GP32()
	quick, done := g.label("quick"), g.label("done")
	g.VANDPD(g.wide("magnitude"), x, magnitude)
	g.VCMPPD(cmpNotLessEqual, g.wide("expNormal"), magnitude, magnitude)
	g.VMOVMSKPD(magnitude, which)
	g.TESTL(which, which)
	g.JZ(label(quick))
	{
		limit := g.copyWide("expLow")
		g.VMAXPD(x, limit, x)
		g.VMOVUPD(g.wide("expHigh"), limit)
		g.VMINPD(x, limit, x)
		n, _, e := g.reduce256(x)
		first, second := g.YMM(), n
		g.VMULPD(g.wide("half"), n, first)
		g.VROUNDPD(operand.U8(1), first, first)
		g.VSUBPD(first, n, second)
		for _, y := range []reg.VecVirtual{first, second} {
			g.VADDPD(g.wide("round1"), y, y)
			g.VPSLLQ(operand.U8(52), y, y)
			g.VPADDQ(g.wide("one"), y, y)
		}
		g.VMULPD(first, e, e)
		g.VMULPD(second, e, result)
		g.JMP(label(done))
	}
	g.Label(quick)
	{
		_, z, e := g.reduce256(x)
		g.VPSLLQ(operand.U8(52), z, z)
		g.VPADDQ(z, e, result)
	}
	g.Label(done)
	return result
}

// reduce256 returns n, the same as the last bits of z, and e^r; it changes x.
func (g *generator) reduce256(x reg.VecVirtual) (n, z, e reg.VecVirtual) {
	z, n = g.copyWide("round1"), g.YMM()
	g.VFMADD231PD(g.wide("log2e"), x, z)
	g.VSUBPD(g.wide("round1"), z, n)
	g.VFNMADD231PD(g.wide("expLn2High"), n, x)
	g.VFNMADD231PD(g.wide("expLn2Low"), n, x)
	square, fourth := g.YMM(), g.YMM()
	g.VMULPD(x, x, square)
	g.VMULPD(square, square, fourth)
	q01, q23, q45 := g.linear256("exp1", 0, x), g.linear256("exp1", 2, x), g.linear256("exp1", 4, x)
	q67, q89 := g.linear256("exp1", 6, x), g.linear256("exp1", 8, x)
	g.VFMADD231PD(q23, square, q01)
	g.VFMADD231PD(q67, square, q45)
	g.VFMADD231PD(q89, fourth, q45)
	g.VFMADD231PD(q45, fourth, q01)
	g.VFMADD231PD(q01, square, x)
	g.VADDPD(g.wide("one"), x, x)
	return n, z, x
}

// log256 returns log y by the method of FreeBSD's e_log.c; it changes y. Where an
// entry is not a positive normal number it takes the slow way.
func (g *generator) log256(y reg.VecVirtual) reg.VecVirtual {
	result, odd, other, which := g.YMM(), g.YMM(), g.YMM(), g.GP32()
	quick, done := g.label("quick"), g.label("done")
	g.VCMPPD(cmpNotAtLeast, g.wide("smallestNormal"), y, odd)
	g.VCMPPD(cmpGreater, g.wide("largest"), y, other)
	g.VORPD(other, odd, odd)
	g.VMOVMSKPD(odd, which)
	g.TESTL(which, which)
	g.JZ(label(quick))
	{
		original, scaled, k, mask := g.YMM(), g.YMM(), g.YMM(), g.YMM()
		g.VMOVAPD(y, original)
		g.VCMPPD(cmpNotAtLeast, g.wide("smallestNormal"), y, mask)
		g.VMULPD(g.wide("two54"), y, scaled)
		g.VBLENDVPD(mask, scaled, y, y)
		g.VANDPD(g.wide("minus54"), mask, k)
		e, f := g.split256(y)
		g.VADDPD(k, e, e)
		g.VMOVAPD(g.logarithm256(e, f), result)
		// Specials, each a choice by comparison with the original.
		zero := g.zero256()
		g.VCMPPD(operand.U8(0), zero, original, mask)
		g.VBLENDVPD(mask, g.wide("negativeInfinity"), result, result)
		g.VCMPPD(operand.U8(0), g.wide("infinity"), original, mask)
		g.VBLENDVPD(mask, g.wide("infinity"), result, result)
		g.VCMPPD(cmpNotAtLeast, zero, original, mask)
		g.VBLENDVPD(mask, g.wide("notANumber"), result, result)
		g.JMP(label(done))
	}
	g.Label(quick)
	e, f := g.split256(y)
	g.VMOVAPD(g.logarithm256(e, f), result)
	g.Label(done)
	return result
}

// split256 returns the exponent e and the fraction, from √½ to √2, of normal
// numbers; it changes y.
func (g *generator) split256(y reg.VecVirtual) (e, fraction reg.VecVirtual) {
	e = g.YMM()
	g.VPADDQ(g.wide("oneLessSqrtHalf"), y, y)
	g.VPSRLQ(operand.U8(52), y, e)
	g.VORPD(g.wide("two52"), e, e)
	g.VSUBPD(g.wide("two52Bias"), e, e)
	g.VANDPD(g.wide("mantissa"), y, y)
	g.VPADDQ(g.wide("sqrtHalf"), y, y)
	return e, y
}

// logarithm256 returns e·log 2 + log f; it changes f.
func (g *generator) logarithm256(e, f reg.VecVirtual) reg.VecVirtual {
	g.VSUBPD(g.wide("one"), f, f)
	s, s2, s4 := g.YMM(), g.YMM(), g.YMM()
	g.VADDPD(g.wide("two"), f, s)
	g.VDIVPD(s, f, s)
	g.VMULPD(s, s, s2)
	g.VMULPD(s2, s2, s4)
	odd := g.copyWide("atanh.6")
	for _, name := range []string{"atanh.4", "atanh.2", "atanh.0"} {
		g.VFMADD213PD(g.wide(name), s4, odd)
	}
	even := g.copyWide("atanh.5")
	for _, name := range []string{"atanh.3", "atanh.1"} {
		g.VFMADD213PD(g.wide(name), s4, even)
	}
	// hfsq + R with R = s²·odd + s⁴·even
	half := g.YMM()
	g.VMULPD(g.wide("half"), f, half)
	g.VMULPD(f, half, half)
	sum := g.YMM()
	g.VMOVAPD(half, sum)
	g.VFMADD231PD(even, s4, sum)
	g.VFMADD231PD(odd, s2, sum)
	low := s4
	g.VMULPD(g.wide("logLn2Low"), e, low)
	g.VFMADD231PD(sum, s, low)
	g.VSUBPD(low, half, half)
	g.VSUBPD(f, half, half)
	g.VFMSUB132PD(g.wide("logLn2High"), half, e)
	return e
}

// spread256 makes every entry of y the sum, or maximum, of all entries.
func (g *generator) spread256(op func(...operand.Op), y reg.VecVirtual) {
	t := g.YMM()
	g.VPERM2F128(operand.U8(1), y, y, t)
	op(t, y, y)
	g.VPERMILPD(operand.U8(5), y, t)
	op(t, y, y)
}

func (g *generator) avx2() {
	g.function("exp256", "func(dst, x []float64)", "is Exp.")
	dst, x, n := g.base("dst"), g.base("x"), g.length("x")
	g.hoist("round1", "log2e", "expLn2High", "expLn2Low", "one", "magnitude")
	g.loop256(n, 2, func(i reg.Register, offset int, rest *rest256) {
		g.store256(g.exp256(g.load256(at64(x, i, offset), rest)), at64(dst, i, offset), rest)
	})
	g.end()

	g.function("log256", "func(dst, x []float64)", "is Log.")
	dst, x, n = g.base("dst"), g.base("x"), g.length("x")
	g.hoist("oneLessSqrtHalf", "two52", "one", "half")
	g.loop256(n, 2, func(i reg.Register, offset int, rest *rest256) {
		y := g.load256(at64(x, i, offset), rest)
		if rest != nil {
			// Ones after the end take the quick way.
			ones := g.copyWide("one")
			g.VBLENDVPD(rest.mask, y, ones, y)
		}
		g.store256(g.log256(y), at64(dst, i, offset), rest)
	})
	g.end()

	g.function("expShift256", "func(dst, x []float64, shift float64) (total float64)", "is ExpShift.")
	dst, x, n = g.base("dst"), g.base("x"), g.length("x")
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

	g.dot256()
	g.entropy256()
	g.vectorTable256()
	g.tableVector256()
	g.scatterRows256()
	g.pairProduct256()
	g.exponentiate256()
	g.absorb256()
	g.edgeBelief256()
	g.matrix256()
	g.batch256()
}

func (g *generator) broadcastParam256(name string) reg.VecVirtual {
	address, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	y := g.YMM()
	g.VBROADCASTSD(address.Addr, y)
	return y
}

func (g *generator) vectorTable256() {
	g.function("vectorTable256", "func(out, weight, values []float64)", "is VectorTable.")
	out, k := g.base("out"), g.length("out")
	weight, n, values := g.base("weight"), g.length("weight"), g.base("values")
	s := g.strides(k, 4)
	w, row := g.GP64(), g.GP64()
	g.panels256(k, 8, func(offset reg.Register, vectors int, rest *rest256) {
		g.MOVQ(weight, w)
		g.LEAQ(bytes(values, offset, 0), row)
		unroll := unrollFor(vectors)
		sums := make([][]reg.VecVirtual, unroll)
		for u := range sums {
			for range vectors {
				sums[u] = append(sums[u], g.zero256())
			}
		}
		g.rows(n, unroll, func(u int) {
			a := g.YMM()
			g.VBROADCASTSD(operand.Mem{Base: w, Disp: 8 * u}, a)
			for c := range vectors {
				if r := last256(c, vectors, rest); r != nil {
					g.VFMADD231PD(g.load256(s.row(row, u, 32*c), r), a, sums[u][c])
				} else {
					g.VFMADD231PD(s.row(row, u, 32*c), a, sums[u][c])
				}
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), w)
			g.advance(s, row, rows)
		})
		for half := unroll / 2; half >= 1; half /= 2 {
			for u := range half {
				for c := range vectors {
					g.VADDPD(sums[u+half][c], sums[u][c], sums[u][c])
				}
			}
		}
		for c, y := range sums[0] {
			g.store256(y, bytes(out, offset, 32*c), last256(c, vectors, rest))
		}
	})
	g.end()
}

// transposeSum256 returns the vector whose i-th entry is the sum of sums[i].
func (g *generator) transposeSum256(sums []reg.VecVirtual) reg.VecVirtual {
	for i := 0; i < 4; i += 2 {
		high := g.YMM()
		g.VUNPCKHPD(sums[i+1], sums[i], high)
		g.VUNPCKLPD(sums[i+1], sums[i], sums[i])
		g.VADDPD(high, sums[i], sums[i])
	}
	high := g.YMM()
	g.VPERM2F128(operand.U8(0x31), sums[2], sums[0], high)
	g.VPERM2F128(operand.U8(0x20), sums[2], sums[0], sums[0])
	g.VADDPD(high, sums[0], sums[0])
	return sums[0]
}

func (g *generator) tableVector256() {
	g.function("tableVector256", "func(out, weight, values []float64)", "is TableVector.")
	out, n := g.base("out"), g.length("out")
	weight, k, row := g.base("weight"), g.length("weight"), g.base("values")
	s := g.eightRows(k)
	w, p := g.GP64(), g.GP64()
	// block emits the products of eight rows, or of as many as left.
	block := func(left reg.Register) (first, second reg.VecVirtual) {
		sums := make([]reg.VecVirtual, 8)
		for i := range sums {
			sums[i] = g.zero256()
		}
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
				if rest == nil {
					g.VFMADD231PD(s.row(p, i), y, sum)
				} else {
					g.VFMADD231PD(g.load256(s.row(p, i), rest), y, sum)
				}
			}
			g.Label(end)
			if rest == nil {
				g.ADDQ(operand.U32(32), w)
				g.ADDQ(operand.U32(32), p)
			}
		})
		return g.transposeSum256(sums[:4]), g.transposeSum256(sums[4:])
	}
	again, rest, few, done := g.label("block"), g.label("rest"), g.label("few"), g.label("done")
	g.CMPQ(n, operand.U32(8))
	g.JLT(label(rest))
	g.Label(again)
	first, second := block(nil)
	g.VMOVUPD(first, operand.Mem{Base: out})
	g.VMOVUPD(second, operand.Mem{Base: out, Disp: 32})
	g.ADDQ(operand.U32(64), out)
	g.LEAQ(operand.Mem{Base: row, Index: s.one, Scale: 8}, row)
	g.SUBQ(operand.U32(8), n)
	g.CMPQ(n, operand.U32(8))
	g.JGE(label(again))
	g.Label(rest)
	g.TESTQ(n, n)
	g.JZ(label(done))
	first, second = block(n)
	g.CMPQ(n, operand.U32(4))
	g.JLE(label(few))
	g.VMOVUPD(first, operand.Mem{Base: out})
	g.VMOVAPD(second, first)
	g.ADDQ(operand.U32(32), out)
	g.SUBQ(operand.U32(4), n)
	g.Label(few)
	g.store256(first, operand.Mem{Base: out}, &rest256{count: n})
	g.Label(done)
	g.end()
}

func (g *generator) scatterRows256() {
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

func (g *generator) pairProduct256() {
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
