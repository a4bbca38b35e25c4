package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// values512 gives the constants of an elementary function: from registers in
// loops, from memory where a kernel needs each but once.
type values512 struct {
	g         *generator
	registers map[string]reg.VecVirtual
}

func (g *generator) fromMemory() values512 { return values512{g: g} }

// fromRegisters loads the named constants; the tables are read from memory once
// as well.
func (g *generator) fromRegisters(names ...string) values512 {
	v := values512{g, map[string]reg.VecVirtual{}}
	for _, name := range names {
		z := g.ZMM()
		g.VBROADCASTSD(g.constant(name), z)
		v.registers[name] = z
	}
	return v
}

func names(name string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s.%d", name, i)
	}
	return list
}

// binary emits an instruction with the constant as its first operand.
func (v values512) binary(op, broadcast func(...operand.Op), name string, rest ...operand.Op) {
	if z, ok := v.registers[name]; ok {
		op(append([]operand.Op{z}, rest...)...)
		return
	}
	broadcast(append([]operand.Op{v.g.constant(name)}, rest...)...)
}

// fma213 is a = a·b + constant.
func (v values512) fma213(name string, b, a reg.Register) {
	v.binary(v.g.VFMADD213PD, v.g.VFMADD213PD_BCST, name, b, a)
}

// fma231 is acc += constant·x.
func (v values512) fma231(name string, x, acc reg.Register) {
	v.binary(v.g.VFMADD231PD, v.g.VFMADD231PD_BCST, name, x, acc)
}

// copyOf returns a new register holding the constant.
func (v values512) copyOf(name string) reg.VecVirtual {
	z := v.g.ZMM()
	if c, ok := v.registers[name]; ok {
		v.g.VMOVAPD(c, z)
	} else {
		v.g.VBROADCASTSD(v.g.constant(name), z)
	}
	return z
}

// linear returns name.i + name.(i+1)·x.
func (v values512) linear(name string, i int, x reg.Register) reg.VecVirtual {
	a := v.copyOf(fmt.Sprintf("%s.%d", name, i))
	v.fma231(fmt.Sprintf("%s.%d", name, i+1), x, a)
	return a
}

// Predicates of comparisons that are also true of a NaN.
const (
	cmpUnordered    = operand.U8(3)
	cmpOrdered      = operand.U8(7)
	cmpNotEqual     = operand.U8(4)
	cmpNotLess      = operand.U8(5)
	cmpNotLessEqual = operand.U8(6)
	cmpNotAtLeast   = operand.U8(0x19)
)

// Predicates that are false of a NaN.
const cmpGreater = operand.U8(0x1e)

// compare emits k = x predicate constant.
func (v values512) compare(predicate operand.Op, name string, x, k operand.Op) {
	if z, ok := v.registers[name]; ok {
		v.g.VCMPPD(predicate, z, x, k)
		return
	}
	v.g.VCMPPD_BCST(predicate, v.g.constant(name), x, k)
}

// keepNaN emits a minimum or maximum of x with a constant that keeps a NaN in x.
func (v values512) keepNaN(op func(...operand.Op), name string, x reg.VecVirtual) {
	c, ok := v.registers[name]
	if !ok {
		c = v.copyOf(name)
	}
	op(x, c, x)
}

// lookup replaces the low four bits of each entry by that entry of a table.
func (g *generator) lookup(table string, index reg.VecVirtual) {
	first := g.ZMM()
	g.VMOVUPD(g.constant(table), first)
	g.VPERMI2PD(g.constant(table).Offset(64), first, index)
}

// binary3 is binary after an immediate 0.
func (v values512) binary3(op, broadcast func(...operand.Op), name string, rest ...operand.Op) {
	if z, ok := v.registers[name]; ok {
		op(append([]operand.Op{operand.U8(0), z}, rest...)...)
		return
	}
	broadcast(append([]operand.Op{operand.U8(0), v.g.constant(name)}, rest...)...)
}

// firstMask returns the mask of the first n entries, n < 64; n must stay as it is
// for stores.
func (g *generator) firstMask(n reg.Register) reg.OpmaskVirtual {
	ones, k := g.GP64(), g.K()
	g.MOVQ(operand.I32(-1), ones)
	g.BZHIQ(n, ones, ones)
	g.KMOVB(ones.As32(), k)
	g.counts[k] = n
	return k
}

// spread makes every entry of z the sum, or maximum, of all entries.
func (g *generator) spread(op func(...operand.Op), z reg.VecVirtual) {
	t := g.ZMM()
	g.VSHUFF64X2(operand.U8(0x4e), z, z, t)
	op(t, z, z)
	g.VSHUFF64X2(operand.U8(0xb1), z, z, t)
	op(t, z, z)
	g.VPERMILPD(operand.U8(0x55), z, t)
	op(t, z, z)
}

func (g *generator) broadcast512(name string) reg.VecVirtual {
	return g.fromMemory().copyOf(name)
}

func (g *generator) zero512() reg.VecVirtual {
	return g.zeros512(1)[0]
}

// loop512 emits body for whole vectors, unroll of them at a time, and then for
// the masked rest; body gets the index of its vectors and, in the rest, the mask.
func (g *generator) loop512(n reg.Register, unroll int, body func(index reg.Register, offset int, mask *reg.OpmaskVirtual)) {
	index, left := g.zero(), g.GP64()
	g.MOVQ(n, left)
	steps := []int{1}
	if unroll > 1 {
		steps = []int{unroll, 1}
	}
	for _, u := range steps {
		again, done := g.label("whole"), g.label("rest")
		g.CMPQ(left, operand.U32(8*u))
		g.JLT(label(done))
		g.Label(again)
		for i := range u {
			body(index, 64*i, nil)
		}
		g.ADDQ(operand.U32(8*u), index)
		g.SUBQ(operand.U32(8*u), left)
		g.CMPQ(left, operand.U32(8*u))
		g.JGE(label(again))
		g.Label(done)
	}
	done := g.label("done")
	g.TESTQ(left, left)
	g.JZ(label(done))
	mask := g.firstMask(left)
	body(index, 0, &mask)
	g.Label(done)
}

// load512 reads a vector; entries outside the mask are 0.
func (g *generator) load512(m operand.Mem, mask *reg.OpmaskVirtual) reg.VecVirtual {
	z := g.ZMM()
	if mask == nil {
		g.VMOVUPD(m, z)
	} else {
		g.VMOVUPD_Z(m, *mask, z)
	}
	return z
}

// store512 leaves z as it is. It writes the rest of a row in pieces of 4, 2 and
// 1: the processor holds a later load that overlaps the window of a masked store,
// even where the mask is off.
func (g *generator) store512(z reg.Register, m operand.Mem, mask *reg.OpmaskVirtual) {
	if mask == nil {
		g.VMOVUPD(z, m)
		return
	}
	count := g.counts[*mask]
	partial, noFour, noTwo, done := g.label("partial"), g.label("noFour"), g.label("noTwo"), g.label("stored")
	g.TESTQ(operand.U32(7), count)
	g.JNZ(label(partial))
	g.VMOVUPD(z, m)
	g.JMP(label(done))
	g.Label(partial)
	p, left := g.GP64(), g.ZMM()
	g.LEAQ(m, p)
	g.VMOVAPD(z, left)
	g.TESTQ(operand.U32(4), count)
	g.JZ(label(noFour))
	g.VMOVUPD(left.AsY(), operand.Mem{Base: p})
	g.VSHUFF64X2(operand.U8(0x4e), left, left, left)
	g.ADDQ(operand.U32(32), p)
	g.Label(noFour)
	g.TESTQ(operand.U32(2), count)
	g.JZ(label(noTwo))
	g.VMOVUPD(left.AsX(), operand.Mem{Base: p})
	g.VSHUFF64X2(operand.U8(0xb1), left, left, left)
	g.ADDQ(operand.U32(16), p)
	g.Label(noTwo)
	g.TESTQ(operand.U32(1), count)
	g.JZ(label(done))
	g.VMOVSD(left.AsX(), operand.Mem{Base: p})
	g.Label(done)
}

// masked adds the mask before the destination, the last operand.
func masked(op func(...operand.Op), mask *reg.OpmaskVirtual, operands ...operand.Op) {
	if mask != nil {
		last := len(operands) - 1
		operands = append(append(append([]operand.Op{}, operands[:last]...), *mask), operands[last])
	}
	op(operands...)
}

func (g *generator) avx512() {
	g.elementwise512()
	g.dot512()
	g.entropy512()
	g.vectorTable512()
	g.tableVector512()
	g.scatterRows512()
	g.pairProduct512()
	g.exponentiate512()
	g.absorb512()
	g.edgeBelief512()
	g.matrix512()
	g.batch512()
	g.edgeBeliefs512()
	g.edgeGroups512()
	g.interleave512()
	g.separate512()
	g.panels512Bits().consistent()
}

func (g *generator) elementwise512() {
	g.exp512()
	g.log512()

	g.function("expShift512", "func(dst, x []float64, shift float64) (total float64)", "is ExpShift.")
	dst, x, n := g.base("dst"), g.base("x"), g.length("x")
	v := g.fromMemory()
	shift, total := g.ZMM(), g.zero512()
	address, err := g.Param("shift").Resolve()
	if err != nil {
		panic(err)
	}
	g.VBROADCASTSD(address.Addr, shift)
	g.loop512(n, 1, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		z := g.load512(at64(x, i, offset), mask)
		g.VSUBPD(shift, z, z)
		e := v.exp512(z)
		g.store512(e, at64(dst, i, offset), mask)
		masked(g.VADDPD, mask, e, total, total)
	})
	g.spread(g.VADDPD, total)
	g.Store(total.AsX(), g.ReturnIndex(0))
	g.end()

	g.function("max512", "func(x []float64) float64", "is Max.")
	x, n = g.base("x"), g.length("x")
	largest := g.broadcast512("negativeInfinity")
	unordered := g.K()
	g.KXORB(unordered, unordered, unordered)
	g.loop512(n, 1, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		z := g.load512(at64(x, i, offset), mask)
		masked(g.VMAXPD, mask, z, largest, largest)
		g.noteNaN(z, unordered)
	})
	g.spread(g.VMAXPD, largest)
	done := g.label("numbers")
	g.KTESTB(unordered, unordered)
	g.JZ(label(done))
	g.VBROADCASTSD(g.constant("notANumber"), largest)
	g.Label(done)
	g.Store(largest.AsX(), g.ReturnIndex(0))
	g.end()

	g.function("addScaled512", "func(dst, x []float64, a float64)", "is AddScaled.")
	dst, x, n = g.base("dst"), g.base("x"), g.length("x")
	a := g.ZMM()
	address, err = g.Param("a").Resolve()
	if err != nil {
		panic(err)
	}
	g.VBROADCASTSD(address.Addr, a)
	g.loop512(n, 4, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		z := g.load512(at64(dst, i, offset), mask)
		masked(g.VFMADD231PD, mask, at64(x, i, offset), a, z)
		g.store512(z, at64(dst, i, offset), mask)
	})
	g.end()

	g.function("extrapolate512", "func(x, old []float64, a float64)", "is Extrapolate.")
	x, n = g.base("x"), g.length("x")
	old := g.base("old")
	a = g.ZMM()
	address, err = g.Param("a").Resolve()
	if err != nil {
		panic(err)
	}
	g.VBROADCASTSD(address.Addr, a)
	g.loop512(n, 4, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		z := g.load512(at64(x, i, offset), mask)
		d, finite, k := g.ZMM(), g.ZMM(), g.K()
		g.VSUBPD(g.load512(at64(old, i, offset), mask), z, d)
		g.VSUBPD(d, d, finite)
		g.VCMPPD(cmpOrdered, finite, finite, k)
		g.store512(z, at64(old, i, offset), mask)
		g.VFMADD231PD(d, a, k, z)
		g.store512(z, at64(x, i, offset), mask)
	})
	g.end()
}

// noteNaN marks the NaNs of z.
func (g *generator) noteNaN(z reg.Register, unordered reg.OpmaskVirtual) {
	k := g.K()
	g.VCMPPD(cmpUnordered, z, z, k)
	g.KORB(k, unordered, unordered)
}

// panels512 is somePanels512 with up to eight vectors at a time.
func (g *generator) panels512(n reg.Register, body func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual)) {
	g.somePanels512(n, 8, body)
}

// somePanels512 walks over rows of n entries in panels of up to so many vectors:
// first whole panels, then the rest with as few vectors as hold it. body gets the
// byte offset of the panel, the number of vectors and the mask of the last, nil if
// whole.
func (g *generator) somePanels512(n reg.Register, most int, body func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual)) {
	offset, left := g.zero(), g.GP64()
	g.MOVQ(n, left)
	again, rest, done := g.label("panel"), g.label("rest"), g.label("done")
	g.CMPQ(left, operand.U32(8*most))
	g.JLT(label(rest))
	g.Label(again)
	body(offset, most, nil)
	g.ADDQ(operand.U32(64*most), offset)
	g.SUBQ(operand.U32(8*most), left)
	g.CMPQ(left, operand.U32(8*most))
	g.JGE(label(again))
	g.Label(rest)
	g.TESTQ(left, left)
	g.JZ(label(done))
	for v := 1; v <= most; v++ {
		next := g.label("wider")
		if v < most {
			g.CMPQ(left, operand.U32(8*v))
			g.JGT(label(next))
		}
		if v > 1 {
			g.SUBQ(operand.U32(8*(v-1)), left)
		}
		mask := g.firstMask(left)
		body(offset, v, &mask)
		if v < most {
			g.JMP(label(done))
			g.Label(next)
		}
	}
	g.Label(done)
}

// only returns the mask for the last of the vectors and nil for others.
func only(c, vectors int, mask *reg.OpmaskVirtual) *reg.OpmaskVirtual {
	if c == vectors-1 {
		return mask
	}
	return nil
}

// rows emits body for rows 0 to n−1, unroll at a time; body gets which of the
// unrolled rows it is. advance moves the pointers by that many rows.
func (g *generator) rows(n reg.Register, unroll int, body func(u int), advance func(rows int)) {
	left := g.GP64()
	g.MOVQ(n, left)
	steps := []int{1}
	if unroll > 1 {
		steps = []int{unroll, 1}
	}
	for _, many := range steps {
		again, done := g.label("row"), g.label("rows")
		g.CMPQ(left, operand.U32(many))
		g.JLT(label(done))
		g.Label(again)
		for u := range many {
			body(u)
		}
		advance(many)
		g.SUBQ(operand.U32(many), left)
		g.CMPQ(left, operand.U32(many))
		g.JGE(label(again))
		g.Label(done)
	}
}

// strides holds multiples of a row's length in bytes.
type strides struct{ one, three reg.Register }

func (g *generator) strides(columns reg.Register, unroll int) strides {
	s := strides{one: g.rowBytes(columns)}
	if unroll > 3 {
		s.three = g.GP64()
		g.LEAQ(operand.Mem{Base: s.one, Index: s.one, Scale: 2}, s.three)
	}
	return s
}

// row is the address of the u-th row after p, u < 4.
func (s strides) row(p reg.Register, u, offset int) operand.Mem {
	m := operand.Mem{Base: p, Disp: offset}
	switch u {
	case 1:
		m.Index, m.Scale = s.one, 1
	case 2:
		m.Index, m.Scale = s.one, 2
	case 3:
		m.Index, m.Scale = s.three, 1
	}
	return m
}

// advance moves p by some rows.
func (g *generator) advance(s strides, p reg.Register, rows int) {
	if rows == 1 {
		g.ADDQ(s.one, p)
		return
	}
	g.LEAQ(operand.Mem{Base: p, Index: s.one, Scale: uint8(rows)}, p)
}

// unrollFor is how many rows at a time hide the latency of a sum with so many
// vectors.
func unrollFor(vectors int) int {
	switch {
	case vectors <= 2:
		return 4
	case vectors <= 4:
		return 2
	}
	return 1
}

// combineRows512 returns Σ_i weight[i]·row i of a panel. weight and row are left
// changed.
func (g *generator) combineRows512(weight, row, n reg.Register, s strides, vectors int, mask *reg.OpmaskVirtual) []reg.VecVirtual {
	unroll := unrollFor(vectors)
	sums := make([][]reg.VecVirtual, unroll)
	for u := range sums {
		for range vectors {
			sums[u] = append(sums[u], g.zero512())
		}
	}
	g.rows(n, unroll, func(u int) {
		a := g.ZMM()
		g.VBROADCASTSD(operand.Mem{Base: weight, Disp: 8 * u}, a)
		for c := range vectors {
			masked(g.VFMADD231PD, only(c, vectors, mask), s.row(row, u, 64*c), a, sums[u][c])
		}
	}, func(rows int) {
		g.ADDQ(operand.U32(8*rows), weight)
		g.advance(s, row, rows)
	})
	for half := unroll / 2; half >= 1; half /= 2 {
		for u := range half {
			for c := range vectors {
				g.VADDPD(sums[u+half][c], sums[u][c], sums[u][c])
			}
		}
	}
	return sums[0]
}

func (g *generator) vectorTable512() {
	g.function("vectorTable512", "func(out, weight, values []float64)", "is VectorTable.")
	out, k := g.base("out"), g.length("out")
	weight, n, values := g.base("weight"), g.length("weight"), g.base("values")
	s := g.strides(k, 4)
	w, row := g.GP64(), g.GP64()
	g.panels512(k, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.MOVQ(weight, w)
		g.LEAQ(bytes(values, offset, 0), row)
		for c, z := range g.combineRows512(w, row, n, s, vectors, mask) {
			g.store512(z, bytes(out, offset, 64*c), only(c, vectors, mask))
		}
	})
	g.end()
}

// eightRows holds what it takes to address eight rows.
type eightRows struct{ one, three, five, seven reg.Register }

func (g *generator) eightRows(columns reg.Register) eightRows {
	s := eightRows{g.rowBytes(columns), g.GP64(), g.GP64(), g.GP64()}
	g.LEAQ(operand.Mem{Base: s.one, Index: s.one, Scale: 2}, s.three)
	g.LEAQ(operand.Mem{Base: s.one, Index: s.one, Scale: 4}, s.five)
	g.LEAQ(operand.Mem{Base: s.three, Index: s.one, Scale: 4}, s.seven)
	return s
}

func (s eightRows) row(p reg.Register, i int) operand.Mem {
	m := operand.Mem{Base: p}
	switch i {
	case 1, 2, 4:
		m.Index, m.Scale = s.one, uint8(i)
	case 3, 6:
		m.Index, m.Scale = s.three, uint8(i/3)
	case 5:
		m.Index, m.Scale = s.five, 1
	case 7:
		m.Index, m.Scale = s.seven, 1
	}
	return m
}

// dots512 returns the products of up to eight rows of columns entries with a
// vector. If left is not nil, it holds how many rows there are; the others give
// 0. It changes nothing but the registers it makes.
func (g *generator) dots512(weight, row, columns reg.Register, s eightRows, left reg.Register) reg.VecVirtual {
	sums := make([]reg.VecVirtual, 8)
	for i := range sums {
		sums[i] = g.zero512()
	}
	w, p := g.GP64(), g.GP64()
	g.MOVQ(weight, w)
	g.MOVQ(row, p)
	g.loop512(columns, 1, func(_ reg.Register, _ int, mask *reg.OpmaskVirtual) {
		z := g.load512(operand.Mem{Base: w}, mask)
		last := g.label("column")
		for i, sum := range sums {
			if left != nil && i > 0 {
				g.CMPQ(left, operand.U32(i))
				g.JLE(label(last))
			}
			masked(g.VFMADD231PD, mask, s.row(p, i), z, sum)
		}
		g.Label(last)
		if mask == nil {
			g.ADDQ(operand.U32(64), w)
			g.ADDQ(operand.U32(64), p)
		}
	})
	return g.transposeSum(sums)
}

// transposeSum returns the vector whose i-th entry is the sum of sums[i].
func (g *generator) transposeSum(sums []reg.VecVirtual) reg.VecVirtual {
	var pairs, fours []reg.VecVirtual
	for i := 0; i < 8; i += 2 {
		low, high := g.ZMM(), g.ZMM()
		g.VUNPCKLPD(sums[i+1], sums[i], low)
		g.VUNPCKHPD(sums[i+1], sums[i], high)
		g.VADDPD(high, low, low)
		pairs = append(pairs, low)
	}
	for i := 0; i < 4; i += 2 {
		fours = append(fours, g.foldLanes(pairs[i], pairs[i+1]))
	}
	return g.foldLanes(fours[0], fours[1])
}

// foldLanes adds the 128-bit lanes of a in pairs, and those of b.
func (g *generator) foldLanes(a, b reg.VecVirtual) reg.VecVirtual {
	even, odd := g.ZMM(), g.ZMM()
	g.VSHUFF64X2(operand.U8(0x88), b, a, even)
	g.VSHUFF64X2(operand.U8(0xdd), b, a, odd)
	g.VADDPD(odd, even, even)
	return even
}

func (g *generator) tableVector512() {
	g.function("tableVector512", "func(out, weight, values []float64)", "is TableVector.")
	out, n := g.base("out"), g.length("out")
	weight, k, row := g.base("weight"), g.length("weight"), g.base("values")
	s := g.eightRows(k)
	g.blocksOfRows512(n, func(left reg.Register, mask *reg.OpmaskVirtual) {
		g.store512(g.dots512(weight, row, k, s, left), operand.Mem{Base: out}, mask)
		if left == nil {
			g.ADDQ(operand.U32(64), out)
			g.LEAQ(operand.Mem{Base: row, Index: s.one, Scale: 8}, row)
		}
	})
	g.end()
}

// blocksOfRows512 emits body for blocks of eight of n rows, n changed, and for
// the rest.
func (g *generator) blocksOfRows512(n reg.Register, body func(left reg.Register, mask *reg.OpmaskVirtual)) {
	again, rest, done := g.label("block"), g.label("rest"), g.label("done")
	g.CMPQ(n, operand.U32(8))
	g.JLT(label(rest))
	g.Label(again)
	body(nil, nil)
	g.SUBQ(operand.U32(8), n)
	g.CMPQ(n, operand.U32(8))
	g.JGE(label(again))
	g.Label(rest)
	g.TESTQ(n, n)
	g.JZ(label(done))
	mask := g.firstMask(n)
	body(n, &mask)
	g.Label(done)
}

// scatterRows512 writes the rest of a row in pieces of 4, 2 and 1, and reads it so:
// a masked load would wait for the store of the row before, which it overlaps.
func (g *generator) scatterRows512() {
	g.function("scatterRows512", "func(w, f, t []float64)", "is ScatterRows.")
	w, f, n := g.base("w"), g.base("f"), g.length("f")
	t, k := g.base("t"), g.length("t")
	s := g.strides(k, 1)
	feature, row := g.GP64(), g.GP64()
	rest := g.GP64()
	g.MOVQ(k, rest)
	g.ANDQ(operand.I32(7), rest)
	g.panels512(k, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.MOVQ(f, feature)
		g.LEAQ(bytes(w, offset, 0), row)
		target := make([]reg.VecVirtual, vectors)
		for c := range target {
			target[c] = g.load512(bytes(t, offset, 64*c), only(c, vectors, mask))
		}
		var two, one reg.VecVirtual
		if mask != nil {
			// The pieces that follow 4 entries, or 0, and then 2 or 0.
			last := target[vectors-1]
			two, one = g.ZMM(), g.ZMM()
			noFour, noTwo := g.label("noFour"), g.label("noTwo")
			g.VMOVAPD(last, two)
			g.TESTQ(operand.U32(4), rest)
			g.JZ(label(noFour))
			g.VSHUFF64X2(operand.U8(0x4e), last, last, two)
			g.Label(noFour)
			g.VMOVAPD(two, one)
			g.TESTQ(operand.U32(2), rest)
			g.JZ(label(noTwo))
			g.VSHUFF64X2(operand.U8(0xb1), two, two, one)
			g.Label(noTwo)
		}
		g.rows(n, 1, func(int) {
			a := g.ZMM()
			g.VBROADCASTSD(operand.Mem{Base: feature}, a)
			for c, z := range target[:vectors-1] {
				g.addTo(g.ZMM(), z, a, operand.Mem{Base: row, Disp: 64 * c})
			}
			last, p := target[vectors-1], operand.Mem{Base: row, Disp: 64 * (vectors - 1)}
			if mask == nil {
				g.addTo(g.ZMM(), last, a, p)
				return
			}
			whole, noFour, noTwo, noOne := g.label("whole"), g.label("noFour"), g.label("noTwo"), g.label("noOne")
			piece := g.GP64()
			g.TESTQ(rest, rest)
			g.JZ(label(whole))
			g.LEAQ(p, piece)
			g.TESTQ(operand.U32(4), rest)
			g.JZ(label(noFour))
			g.addTo(g.YMM(), last.AsY(), a.AsY(), operand.Mem{Base: piece})
			g.ADDQ(operand.U32(32), piece)
			g.Label(noFour)
			g.TESTQ(operand.U32(2), rest)
			g.JZ(label(noTwo))
			g.addTo(g.XMM(), two.AsX(), a.AsX(), operand.Mem{Base: piece})
			g.ADDQ(operand.U32(16), piece)
			g.Label(noTwo)
			g.TESTQ(operand.U32(1), rest)
			g.JZ(label(noOne))
			x := g.XMM()
			g.VMOVSD(operand.Mem{Base: piece}, x)
			g.VFMADD231SD(one.AsX(), a.AsX(), x)
			g.VMOVSD(x, operand.Mem{Base: piece})
			g.JMP(label(noOne))
			g.Label(whole)
			g.addTo(g.ZMM(), last, a, p)
			g.Label(noOne)
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), feature)
			g.advance(s, row, rows)
		})
	})
	g.end()
}

// addTo emits m += t·a, by way of sum.
func (g *generator) addTo(sum, t, a reg.Register, m operand.Mem) {
	g.VMOVUPD(m, sum)
	g.VFMADD231PD(t, a, sum)
	g.VMOVUPD(sum, m)
}

func (g *generator) pairProduct512() {
	g.function("pairProduct512", "func(dst, left, right, values []float64) (total float64)", "is PairProduct.")
	dst, values := g.base("dst"), g.base("values")
	left, n := g.base("left"), g.length("left")
	right, k := g.base("right"), g.length("right")
	s := g.strides(k, 2)
	total := g.zero512()
	l, v, d := g.GP64(), g.GP64(), g.GP64()
	g.panels512(k, func(offset reg.Register, vectors int, mask *reg.OpmaskVirtual) {
		g.MOVQ(left, l)
		g.LEAQ(bytes(values, offset, 0), v)
		g.LEAQ(bytes(dst, offset, 0), d)
		factors := make([]reg.VecVirtual, vectors)
		for c := range factors {
			factors[c] = g.load512(bytes(right, offset, 64*c), only(c, vectors, mask))
		}
		unroll := min(2, unrollFor(vectors))
		sums := make([]reg.VecVirtual, max(unroll, min(vectors, 4)))
		for i := range sums {
			sums[i] = g.zero512()
		}
		g.rows(n, unroll, func(u int) {
			a := g.ZMM()
			g.VBROADCASTSD(operand.Mem{Base: l, Disp: 8 * u}, a)
			for c, factor := range factors {
				m := only(c, vectors, mask)
				z := g.ZMM()
				if m == nil {
					g.VMULPD(s.row(v, u, 64*c), a, z)
				} else {
					g.VMULPD_Z(s.row(v, u, 64*c), a, *m, z)
				}
				g.VMULPD(factor, z, z)
				g.store512(z, s.row(d, u, 64*c), m)
				sum := sums[(u*vectors+c)%len(sums)]
				masked(g.VADDPD, m, z, sum, sum)
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
	g.spread(g.VADDPD, total)
	g.Store(total.AsX(), g.ReturnIndex(0))
	g.end()
}

// returnBool ends the kernel with a constant result.
func (g *generator) returnBool(result bool) { g.returnFlag(result, 0) }

// maxStates512 is the largest number of states the belief of an edge takes.
const maxStates512 = 64

// cavity512 returns belief − message, −Inf where the message is (where the
// belief is, it follows) and outside the mask.
func (g *generator) cavity512(belief, message operand.Mem, mask *reg.OpmaskVirtual) reg.VecVirtual {
	x, m := g.broadcast512("negativeInfinity"), g.load512(message, mask)
	possible := g.K()
	masked4(g.VCMPPD, cmpNotEqual, x, m, mask, possible)
	b := g.load512(belief, mask)
	g.VSUBPD(m, b, possible, x)
	return x
}

// masked4 is a comparison with an optional mask.
func masked4(op func(...operand.Op), predicate operand.Op, a, b operand.Op, mask *reg.OpmaskVirtual, dst operand.Op) {
	if mask == nil {
		op(predicate, a, b, dst)
		return
	}
	op(predicate, a, b, *mask, dst)
}
