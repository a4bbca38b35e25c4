package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (g *generator) single512() {
	g.elementwise32()
	g.cavities32()
	g.vectorTable32()
	g.tableVector32()
	g.products32()
	g.absorbAll("absorbAll32x512", "float32", "is AbsorbAll32.", 4, g.widen512)
	g.exponentials32()
	g.edgeBeliefs32()
	g.edgeBelief32()
	g.edgeGroups("edgeGroups32x512", "EdgeBeliefs32", g.edgeSteps32())
	multiplyMatrix(g, "multiplyMatrix32x512", g.vectors32())
	scatterMatrix(g, "scatterMatrix32x512", g.vectors32())
}

// vectors32 is vectors512 for vectors of sixteen.
func (g *generator) vectors32() vectorSet[*reg.OpmaskVirtual] {
	return vectorSet[*reg.OpmaskVirtual]{
		g.ZMM, 64, g.zeros512, g.load32,
		func(z reg.VecVirtual, m operand.Mem, mask *reg.OpmaskVirtual) { g.store32(z, m, mask) },
		only,
		func(n reg.Register, body func(reg.Register, int, *reg.OpmaskVirtual)) {
			g.panels32(n, panel512, body)
		},
		multiplyTiles512, scatterTiles512,
		4, "float32", g.VBROADCASTSS, g.VFMADD231PS,
		8, g.accumulate32,
	}
}

// accumulate32 adds float32 sums to float64 numbers.
func (g *generator) accumulate32(sum reg.VecVirtual, m operand.Mem, mask *reg.OpmaskVirtual) {
	low, high := g.ZMM(), g.ZMM()
	g.VCVTPS2PD(sum.AsY(), low)
	g.VEXTRACTF64X4(operand.U8(1), sum, high.AsY())
	g.VCVTPS2PD(high.AsY(), high)
	if mask == nil {
		for half, z := range []reg.VecVirtual{low, high} {
			p := m.Offset(64 * half)
			g.VADDPD(p, z, z)
			g.VMOVUPD(z, p)
		}
		return
	}
	count, few, done := g.counts[*mask], g.label("few"), g.label("added")
	g.CMPQ(count, operand.U8(8))
	g.JLE(label(few))
	{
		g.VADDPD(m, low, low)
		g.VMOVUPD(low, m)
		rest := g.GP64()
		g.LEAQ(operand.Mem{Base: count, Disp: -8}, rest)
		g.accumulateRest(high, m.Offset(64), rest)
		g.JMP(label(done))
	}
	g.Label(few)
	g.accumulateRest(low, m, count)
	g.Label(done)
}

func (g *generator) accumulateRest(z reg.VecVirtual, m operand.Mem, count reg.Register) {
	mask := g.firstMask(count)
	g.VADDPD(g.load512(m, &mask), z, z)
	g.store512(z, m, &mask)
}

// firstMask32 is firstMask for vectors of sixteen.
func (g *generator) firstMask32(n reg.Register) reg.OpmaskVirtual {
	ones, k := g.GP64(), g.K()
	g.MOVQ(operand.I32(-1), ones)
	g.BZHIQ(n, ones, ones)
	g.KMOVW(ones.As32(), k)
	g.counts[k] = n
	return k
}

func (g *generator) load32(m operand.Mem, mask *reg.OpmaskVirtual) reg.VecVirtual {
	z := g.ZMM()
	if mask == nil {
		g.VMOVUPS(m, z)
	} else {
		g.VMOVUPS_Z(m, *mask, z)
	}
	return z
}

// store32 is store512 for vectors of sixteen: the rest goes in pieces.
func (g *generator) store32(z reg.Register, m operand.Mem, mask *reg.OpmaskVirtual) {
	if mask == nil {
		g.VMOVUPS(z, m)
		return
	}
	count := g.counts[*mask]
	partial, done := g.label("partial"), g.label("stored")
	g.TESTQ(operand.U32(15), count)
	g.JNZ(label(partial))
	g.VMOVUPS(z, m)
	g.JMP(label(done))
	g.Label(partial)
	p, left := g.GP64(), g.ZMM()
	g.LEAQ(m, p)
	g.VMOVAPS(z, left)
	for _, piece := range []struct {
		entries uint32
		store   func()
	}{
		{8, func() {
			g.VMOVUPS(left.AsY(), operand.Mem{Base: p})
			g.VSHUFF64X2(operand.U8(0x4e), left, left, left)
		}},
		{4, func() {
			g.VMOVUPS(left.AsX(), operand.Mem{Base: p})
			g.VSHUFF64X2(operand.U8(0xb1), left, left, left)
		}},
		{2, func() {
			g.VMOVSD(left.AsX(), operand.Mem{Base: p})
			g.VPERMILPD(operand.U8(0x55), left, left)
		}},
		{1, func() { g.VMOVSS(left.AsX(), operand.Mem{Base: p}) }},
	} {
		without := g.label("without")
		g.TESTQ(operand.U32(piece.entries), count)
		g.JZ(label(without))
		piece.store()
		if piece.entries > 1 {
			g.ADDQ(operand.U32(4*piece.entries), p)
		}
		g.Label(without)
	}
	g.Label(done)
}

// groups32 emits body for so many vectors of sixteen at a time, then for one, then
// for the masked rest; body gets the index of the first, and how many there are.
func (g *generator) groups32(n reg.Register, together int, body func(index reg.Register, vectors int, mask *reg.OpmaskVirtual)) {
	index, left := g.zero(), g.GP64()
	g.MOVQ(n, left)
	for _, u := range []int{together, 1} {
		again, done := g.label("whole"), g.label("rest")
		g.CMPQ(left, operand.U32(16*u))
		g.JLT(label(done))
		g.Label(again)
		body(index, u, nil)
		g.ADDQ(operand.U32(16*u), index)
		g.SUBQ(operand.U32(16*u), left)
		g.CMPQ(left, operand.U32(16*u))
		g.JGE(label(again))
		g.Label(done)
		if together == 1 {
			break
		}
	}
	done := g.label("done")
	g.TESTQ(left, left)
	g.JZ(label(done))
	mask := g.firstMask32(left)
	body(index, 1, &mask)
	g.Label(done)
}

// loads32 reads the vectors of a group.
func (g *generator) loads32(base, index reg.Register, vectors int, mask *reg.OpmaskVirtual) []reg.VecVirtual {
	list := make([]reg.VecVirtual, vectors)
	for c := range list {
		list[c] = g.load32(at32(base, index, 64*c), only(c, vectors, mask))
	}
	return list
}

func (g *generator) stores32(z []reg.VecVirtual, base, index reg.Register, mask *reg.OpmaskVirtual) {
	for c := range z {
		g.store32(z[c], at32(base, index, 64*c), only(c, len(z), mask))
	}
}

// fma213s is a = a·b + constant, of sixteen, and fma231s acc += constant·x.
func (v values512) fma213s(name string, b, a reg.Register) {
	v.binary(v.g.VFMADD213PS, v.g.VFMADD213PS_BCST, name, b, a)
}

func (v values512) fma231s(name string, x, acc reg.Register) {
	v.binary(v.g.VFMADD231PS, v.g.VFMADD231PS_BCST, name, x, acc)
}

// keepVectors loads whole tables of sixteen into registers.
func (v values512) keepVectors(names ...string) values512 {
	for _, name := range names {
		z := v.g.ZMM()
		v.g.VMOVUPS(v.g.constant(name), z)
		v.registers[name] = z
	}
	return v
}

// permuted returns the entries of a table of sixteen by the low four bits of index.
func (v values512) permuted(table string, index reg.VecVirtual) reg.VecVirtual {
	z := v.g.ZMM()
	if kept, ok := v.registers[table]; ok {
		v.g.VPERMPS(kept, index, z)
	} else {
		v.g.VPERMPS(v.g.constant(table), index, z)
	}
	return z
}

// arguments tells what an exponential must be ready for.
type arguments int

const (
	anyArguments      arguments = iota
	negativeArguments           // x ≤ 0, −Inf or NaN
	moderateArguments           // |x| ≤ 40, or the result does not matter
)

func (g *generator) expConstants32() values512 {
	names := append([]string{"flushed", "overflow", "log2e", "round16", "ln2", "ln2Low", "one"}, "exp16.0", "exp16.1")
	for i := range names {
		names[i] = "single." + names[i]
	}
	return g.fromRegisters(names...).keepVectors("single.root")
}

// exps32 returns e^x of vectors of sixteen, which it changes, as Exp32 does. With n
// the multiple of 1/16 nearest to x·log2(e) and r = x − n log 2, it is 2^⌊n⌋ (t + t
// (e^r − 1)), t = 2^(n − ⌊n⌋) from a table. The vectors take each step together.
func (v values512) exps32(x []reg.VecVirtual, are arguments) []reg.VecVirtual {
	list, _ := v.maskedExps32(x, are)
	return list
}

// maskedExps32 is exps32, and returns masks of the arguments, if not moderate, that
// are not too small.
func (v values512) maskedExps32(x []reg.VecVirtual, are arguments) (list []reg.VecVirtual, normal []reg.OpmaskVirtual) {
	g := v.g
	z, n, p := make([]reg.VecVirtual, len(x)), g.several(len(x)), make([]reg.VecVirtual, len(x))
	normal = make([]reg.OpmaskVirtual, len(x))
	each := func(step func(i int)) {
		for i := range x {
			step(i)
		}
	}
	if are == anyArguments {
		each(func(i int) { v.keepNaN(g.VMINPS, "single.overflow", x[i]) })
	}
	if are != moderateArguments {
		each(func(i int) {
			normal[i] = g.K()
			if c, ok := v.registers["single.flushed"]; ok {
				g.VCMPPS(cmpNotLess, c, x[i], normal[i])
			} else {
				g.VCMPPS_BCST(cmpNotLess, g.constant("single.flushed"), x[i], normal[i])
			}
		})
	}
	each(func(i int) { z[i] = v.copyOf("single.round16"); v.fma231s("single.log2e", x[i], z[i]) })
	each(func(i int) { v.binary(g.VSUBPS, g.VSUBPS_BCST, "single.round16", z[i], n[i]) })
	each(func(i int) { v.binary(g.VFNMADD231PS, g.VFNMADD231PS_BCST, "single.ln2", n[i], x[i]) })
	each(func(i int) { z[i] = v.permuted("single.root", z[i]) })
	each(func(i int) { v.binary(g.VFNMADD231PS, g.VFNMADD231PS_BCST, "single.ln2Low", n[i], x[i]) })
	each(func(i int) { p[i] = v.copyOf("single.exp16.1"); v.fma213s("single.exp16.0", x[i], p[i]) })
	each(func(i int) { v.fma213s("single.one", x[i], p[i]) })
	each(func(i int) { g.VMULPS(z[i], x[i], x[i]) })
	each(func(i int) { g.VFMADD213PS(z[i], x[i], p[i]) })
	each(func(i int) {
		if are == moderateArguments {
			g.VSCALEFPS(n[i], p[i], p[i])
		} else {
			g.VSCALEFPS_Z(n[i], p[i], normal[i], p[i])
		}
	})
	return p, normal
}

func (g *generator) logConstants32() values512 {
	return g.fromRegisters("single.one", "single.ln2", "single.logSpecial", "single.log16.0", "single.log16.1", "single.log16.2", "single.log16.3").
		keepVectors("single.inverse", "single.minusLog")
}

// logs32 returns log y of vectors of sixteen: with y = 2^e·m, 3/4 ≤ m < 3/2, and c
// about 1/m from a table, e·log 2 − log c + log(1+r), r = c·m − 1.
func (v values512) logs32(y []reg.VecVirtual) []reg.VecVirtual {
	g := v.g
	r, e, c, q := g.several(len(y)), g.several(len(y)), g.several(len(y)), make([]reg.VecVirtual, len(y))
	each := func(step func(i int)) {
		for i := range y {
			step(i)
		}
	}
	each(func(i int) { g.VGETMANTPS(operand.U8(0x0b), y[i], r[i]) })
	each(func(i int) { g.VGETEXPPS(y[i], e[i]) })
	each(func(i int) {
		low := g.ZMM()
		g.VGETEXPPS(r[i], low)
		g.VSUBPS(low, e[i], e[i])
	})
	each(func(i int) { g.VPSRLD(operand.U8(19), r[i], c[i]) })
	each(func(i int) {
		v.binary(g.VFMSUB213PS, g.VFMSUB213PS_BCST, "single.one", v.permuted("single.inverse", c[i]), r[i])
	})
	each(func(i int) { c[i] = v.permuted("single.minusLog", c[i]) })
	each(func(i int) { q[i] = v.copyOf("single.log16.3") })
	for _, name := range []string{"single.log16.2", "single.log16.1", "single.log16.0"} {
		each(func(i int) { v.fma213s(name, r[i], q[i]) })
	}
	each(func(i int) {
		square := g.ZMM()
		g.VMULPS(r[i], r[i], square)
		g.VFMADD213PS(r[i], square, q[i])
	})
	each(func(i int) { g.VADDPS(c[i], q[i], q[i]) })
	each(func(i int) { v.fma231s("single.ln2", e[i], q[i]) })
	each(func(i int) { v.binary3(g.VFIXUPIMMPS, g.VFIXUPIMMPS_BCST, "single.logSpecial", y[i], q[i]) })
	return q
}

func (g *generator) elementwise32() {
	g.function("exp32x512", "func(dst, x []float32)", "is Exp32.")
	dst, x, n := g.base("dst"), g.base("x"), g.length("x")
	v := g.expConstants32()
	g.groups32(n, 4, func(i reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.stores32(v.exps32(g.loads32(x, i, vectors, mask), anyArguments), dst, i, mask)
	})
	g.end()

	g.function("log32x512", "func(dst, x []float32)", "is Log32.")
	dst, x, n = g.base("dst"), g.base("x"), g.length("x")
	v = g.logConstants32()
	g.groups32(n, 4, func(i reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.stores32(v.logs32(g.loads32(x, i, vectors, mask)), dst, i, mask)
	})
	g.end()

	// As allSafe512, with 32 bits.
	g.function("allSafe32x512", "func(x []float32) bool", "is AllSafe32.")
	x, n = g.base("x"), g.length("x")
	largest, least := g.zero512(), g.broadcast512("single.tooSmall")
	g.groups32(n, 4, func(i reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		for c := range vectors {
			t := g.ZMM()
			if mask == nil {
				g.VMOVUPS(at32(x, i, 64*c), t)
			} else {
				g.VMOVAPS(least, t)
				g.VMOVUPS(at32(x, i, 64*c), *mask, t)
			}
			g.VPSUBD(least, t, t)
			g.VPMAXUD(t, largest, largest)
		}
	})
	bad, safe := g.K(), g.label("safe")
	g.VPCMPUD_BCST(cmpNotLessEqual, g.constant("single.safeRange"), largest, bad)
	g.KORTESTW(bad, bad)
	g.JZ(label(safe))
	g.returnBool(false)
	g.Label(safe)
	g.returnBool(true)
}

// cavities32 stores whole vectors, as cavities512 does.
func (g *generator) cavities32() {
	g.function("cavities32x512", "func(weights []float32, beliefs, messages []float64, list *int, count int)", "is Cavities32.")
	weights, beliefs, messages := g.base("weights"), g.base("beliefs"), g.base("messages")
	g.items(messageSize, func(item reg.Register) {
		w, b, m := g.shortPlace32(item, messageWeight, weights), g.place(item, messageBelief, beliefs), g.place(item, messageReverse, messages)
		g.row(g.short(item, messageSource), func(i reg.Register, mask *reg.OpmaskVirtual) {
			y := g.YMM()
			g.VCVTPD2PS(g.cavity512(at64(b, i, 0), at64(m, i, 0), mask), y)
			g.VMOVUPS(y, at32(w, i, 0))
		})
	})
	g.end()
}

// panels32 is somePanels512 for vectors of sixteen.
func (g *generator) panels32(n reg.Register, most int, body func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual)) {
	offset, left := g.zero(), g.GP64()
	g.MOVQ(n, left)
	again, rest, done := g.label("panel"), g.label("rest"), g.label("done")
	g.CMPQ(left, operand.U32(16*most))
	g.JLT(label(rest))
	g.Label(again)
	body(offset, most, nil)
	g.ADDQ(operand.U32(64*most), offset)
	g.SUBQ(operand.U32(16*most), left)
	g.CMPQ(left, operand.U32(16*most))
	g.JGE(label(again))
	g.Label(rest)
	g.TESTQ(left, left)
	g.JZ(label(done))
	for v := 1; v <= most; v++ {
		next := g.label("wider")
		if v < most {
			g.CMPQ(left, operand.U32(16*v))
			g.JGT(label(next))
		}
		if v > 1 {
			g.SUBQ(operand.U32(16*(v-1)), left)
		}
		mask := g.firstMask32(left)
		body(offset, v, &mask)
		if v < most {
			g.JMP(label(done))
			g.Label(next)
		}
	}
	g.Label(done)
}

func (g *generator) vectorTable32() {
	g.function("vectorTable32x512", "func(out, weight, values []float32)", "is plainVectorTable32.")
	out, k := g.base("out"), g.length("out")
	weight, n, values := g.base("weight"), g.length("weight"), g.base("values")
	s := g.strides32(k, 4)
	w, row := g.GP64(), g.GP64()
	g.panels32(k, 4, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.MOVQ(weight, w)
		g.LEAQ(bytes(values, offset, 0), row)
		unroll := unrollFor(vectors)
		sums := g.zeros512(unroll * vectors)
		g.rows(n, unroll, func(u int) {
			a := g.ZMM()
			g.VBROADCASTSS(operand.Mem{Base: w, Disp: 4 * u}, a)
			for c := range vectors {
				masked(g.VFMADD231PS, only(c, vectors, mask), s.row(row, u, 64*c), a, sums[u*vectors+c])
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(4*rows), w)
			g.advance(s, row, rows)
		})
		for half := unroll / 2 * vectors; half >= vectors; half /= 2 {
			for i := range half {
				g.VADDPS(sums[half+i], sums[i], sums[i])
			}
		}
		for c := range vectors {
			g.store32(sums[c], bytes(out, offset, 64*c), only(c, vectors, mask))
		}
	})
	g.end()
}

// interleave32 returns vectors whose lanes hold, for each lane of four vectors, the
// sums of the lanes' entries.
func (g *generator) interleave32(sums []reg.VecVirtual, vector func() reg.VecVirtual) []reg.VecVirtual {
	for _, unpack := range [][2]func(...operand.Op){{g.VUNPCKLPS, g.VUNPCKHPS}, {g.VUNPCKLPD, g.VUNPCKHPD}} {
		var pairs []reg.VecVirtual
		for i := 0; i < len(sums); i += 2 {
			low, high := vector(), vector()
			unpack[0](sums[i+1], sums[i], low)
			unpack[1](sums[i+1], sums[i], high)
			g.VADDPS(high, low, low)
			pairs = append(pairs, low)
		}
		sums = pairs
	}
	return sums
}

// foldLanes32 is foldLanes.
func (g *generator) foldLanes32(a, b reg.VecVirtual) reg.VecVirtual {
	even, odd := g.ZMM(), g.ZMM()
	g.VSHUFF64X2(operand.U8(0x88), b, a, even)
	g.VSHUFF64X2(operand.U8(0xdd), b, a, odd)
	g.VADDPS(odd, even, even)
	return even
}

// tableVector32 takes eight rows at a time.
func (g *generator) tableVector32() {
	g.function("tableVector32x512", "func(out, weight, values []float32)", "is plainTableVector32.")
	out, n := g.base("out"), g.length("out")
	weight, k, row := g.base("weight"), g.length("weight"), g.base("values")
	s := g.eightRows32(k)
	g.blocksOfRows512(n, func(left reg.Register, mask *reg.OpmaskVirtual) {
		sums := g.zeros512(8)
		w, p := g.GP64(), g.GP64()
		g.MOVQ(weight, w)
		g.MOVQ(row, p)
		g.groups32(k, 1, func(_ reg.Register, _ int, mask *reg.OpmaskVirtual) {
			z := g.load32(operand.Mem{Base: w}, mask)
			last := g.label("column")
			for i, sum := range sums {
				if left != nil && i > 0 {
					g.CMPQ(left, operand.U32(i))
					g.JLE(label(last))
				}
				masked(g.VFMADD231PS, mask, s.row(p, i), z, sum)
			}
			g.Label(last)
			if mask == nil {
				g.ADDQ(operand.U32(64), w)
				g.ADDQ(operand.U32(64), p)
			}
		})
		fours := g.interleave32(sums, g.ZMM)
		lanes := g.foldLanes32(fours[0], fours[1])
		dots := g.foldLanes32(lanes, lanes)
		if left == nil {
			g.VMOVUPS(dots.AsY(), operand.Mem{Base: out})
			g.ADDQ(operand.U32(32), out)
			g.LEAQ(operand.Mem{Base: row, Index: s.one, Scale: 8}, row)
			return
		}
		g.store32(dots, operand.Mem{Base: out}, mask)
	})
	g.end()
}

// products32 leaves rows of more than eight to others.
func (g *generator) products32() {
	g.function("products32x512", "func(out, weights, tables []float32, list *int, count int) (left int)", "is Products32 as far as messages have up to 8 states at both ends; left counts those that are not done.")
	out, weights, tables := g.base("out"), g.base("weights"), g.base("tables")
	item, left, again, next, done := g.intParam("list"), g.intParam("count"), g.label("item"), g.label("next"), g.label("done")
	some, backward, fewBackward := g.label("some"), g.label("backward"), g.label("fewBackward")
	v := g.fromRegisters().keepVectors("single.fold.0", "single.fold.1")
	for p := range 4 {
		v.keepVectors(fmt.Sprintf("single.pair.%d", p))
	}
	eights := g.GP64()
	g.MOVQ(operand.U64(8<<32|8), eights)
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	o, w, t := g.shortPlace32(item, messageOut, out), g.shortPlace32(item, messageWeight, weights), g.place32(item, messageTable, tables)
	g.CMPQ(operand.Mem{Base: item, Disp: messageSource}, eights) // and the target
	g.JNE(label(some))
	g.CMPL(operand.Mem{Base: item, Disp: messageBackward}, operand.U8(0))
	g.JNE(label(backward))
	g.VMOVUPS(g.eightForward32(v, w, t).AsY(), operand.Mem{Base: o})
	g.JMP(label(next))
	g.Label(backward)
	g.VMOVUPS(g.eightBackward32(v, w, t).AsY(), operand.Mem{Base: o})
	g.JMP(label(next))

	g.Label(some)
	source, target := g.short(item, messageSource), g.short(item, messageTarget)
	g.CMPQ(source, operand.U8(8))
	g.JG(label(done))
	g.CMPQ(target, operand.U8(8))
	g.JG(label(done))
	g.CMPL(operand.Mem{Base: item, Disp: messageBackward}, operand.U8(0))
	g.JNE(label(fewBackward))
	g.VMOVUPS(g.fewForward32(w, t, source, target), operand.Mem{Base: o})
	g.JMP(label(next))
	g.Label(fewBackward)
	g.VMOVUPS(g.fewBackward32(w, t, source, target), operand.Mem{Base: o})

	g.Label(next)
	g.ADDQ(operand.U32(messageSize), item)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.Store(left, g.ReturnIndex(0))
	g.end()
}

// eightForward32 is eightForward512 with two rows to a vector.
func (g *generator) eightForward32(v values512, w, t reg.Register) reg.VecVirtual {
	weight, sums := g.ZMM(), make([]reg.VecVirtual, 2)
	g.VMOVUPS(operand.Mem{Base: w}, weight.AsY())
	for p := range 4 {
		a := g.ZMM()
		g.VPERMPS(weight, v.registers[fmt.Sprintf("single.pair.%d", p)], a)
		row := operand.Mem{Base: t, Disp: 64 * p}
		if p < 2 {
			g.VMULPS(row, a, a)
			sums[p] = a
			continue
		}
		g.VFMADD231PS(row, a, sums[p-2])
	}
	g.VADDPS(sums[1], sums[0], sums[0])
	high := g.ZMM()
	g.VEXTRACTF64X4(operand.U8(1), sums[0], high.AsY())
	g.VADDPS(high.AsY(), sums[0].AsY(), high.AsY())
	return high
}

// eightBackward32 is eightBackward512 with two rows to a vector.
func (g *generator) eightBackward32(v values512, w, t reg.Register) reg.VecVirtual {
	weight, products := g.ZMM(), g.several(4)
	g.VBROADCASTF64X4(operand.Mem{Base: w}, weight)
	for p, product := range products {
		g.VMULPS(operand.Mem{Base: t, Disp: 64 * p}, weight, product)
	}
	fours := g.interleave32(products, g.ZMM)[0]
	even, odd := g.ZMM(), g.ZMM()
	g.VPERMPS(fours, v.registers["single.fold.0"], even)
	g.VPERMPS(fours, v.registers["single.fold.1"], odd)
	g.VADDPS(odd.AsY(), even.AsY(), even.AsY())
	return even
}

// fewForward32 is fewForward512 with vectors of 256 bits.
func (g *generator) fewForward32(w, t, source, target reg.Register) reg.VecVirtual {
	mask, s, end := g.firstMask(target), g.eightRows32(target), g.label("end")
	sums := []reg.VecVirtual{g.zero256(), g.zero256()}
	for y := range 8 {
		if y > 0 {
			g.CMPQ(source, operand.U32(y))
			g.JLE(label(end))
		}
		a := g.YMM()
		g.VBROADCASTSS(operand.Mem{Base: w, Disp: 4 * y}, a)
		g.VFMADD231PS(s.row(t, y), a, mask, sums[y%2])
	}
	g.Label(end)
	g.VADDPS(sums[1], sums[0], sums[0])
	return sums[0]
}

// fewBackward32 is fewBackward512 with vectors of 256 bits.
func (g *generator) fewBackward32(w, t, source, target reg.Register) reg.VecVirtual {
	mask, s, end := g.firstMask(source), g.eightRows32(source), g.label("end")
	weight, products := g.YMM(), make([]reg.VecVirtual, 8)
	g.VMOVUPS_Z(operand.Mem{Base: w}, mask, weight)
	for x := range products {
		products[x] = g.zero256()
	}
	for x, product := range products {
		if x > 0 {
			g.CMPQ(target, operand.U32(x))
			g.JLE(label(end))
		}
		g.VMULPS_Z(s.row(t, x), weight, mask, product)
	}
	g.Label(end)
	fours := g.interleave32(products, g.YMM)
	odd := g.YMM()
	g.VPERM2F128(operand.U8(0x31), fours[1], fours[0], odd)
	g.VPERM2F128(operand.U8(0x20), fours[1], fours[0], fours[0])
	g.VADDPS(odd, fours[0], fours[0])
	return fours[0]
}

// widen512 reads eight float32 as float64; entries outside the mask are 0.
func (g *generator) widen512(m operand.Mem, mask *reg.OpmaskVirtual) reg.VecVirtual {
	z := g.ZMM()
	if mask == nil {
		g.VCVTPS2PD(m, z)
	} else {
		g.VCVTPS2PD_Z(m, *mask, z)
	}
	return z
}

// exponentials32 looks at a table first, to leave it alone where it is not safe:
// at the bits of magnitudes, of which those of a NaN are the largest.
func (g *generator) exponentials32() {
	g.function("exponentials32x512", "func(tables []float32, size int, inverse []float64) (left int)", "is Exponentials32; left counts the tables that are not done.")
	table, size := g.base("tables"), g.intParam("size")
	inverses, left := g.base("inverse"), g.length("inverse")
	v := g.expConstants32()
	limit, magnitude := g.broadcast512("single.moderate"), g.broadcast512("single.magnitude")
	again, done := g.label("table"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	inverse, large := g.ZMM(), g.K()
	g.VCVTSD2SS(operand.Mem{Base: inverses}, inverse.AsX(), inverse.AsX())
	g.VBROADCASTSS(inverse.AsX(), inverse)
	largest := g.zeros512(1)[0]
	g.groups32(size, 4, func(i reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		for _, x := range g.loads32(table, i, vectors, mask) {
			g.VMULPS(inverse, x, x)
			if mask != nil {
				g.VMOVAPS_Z(x, *mask, x) // 0·Inf
			}
			g.VPANDD(magnitude, x, x)
			g.VPMAXUD(x, largest, largest)
		}
	})
	g.VPCMPUD(cmpNotLessEqual, limit, largest, large)
	g.KORTESTW(large, large)
	g.JNZ(label(done))
	g.groups32(size, 4, func(i reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		x := g.loads32(table, i, vectors, mask)
		for c := range x {
			g.VMULPS(inverse, x[c], x[c])
		}
		g.stores32(v.exps32(x, moderateArguments), table, i, mask)
	})
	g.LEAQ(operand.Mem{Base: table, Index: size, Scale: 4}, table)
	g.ADDQ(operand.U8(8), inverses)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.Store(left, g.ReturnIndex(0))
	g.end()
}
