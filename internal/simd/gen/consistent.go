package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panel emits kernels for as many edges as a vector has numbers, one in each: the first
// vector of a panel has the first entries of their tables, and so on.
type panel struct {
	*generator
	suffix string
	lanes  int
	vector func() reg.VecVirtual
	// wide returns a constant in every entry, as the first operand of an instruction, one of
	// those that keep has loaded at the beginning.
	keep func(names ...string)
	wide func(name string) operand.Op
	log  func(y reg.VecVirtual) reg.VecVirtual
	// greater returns a mask of the entries with x > y, clear sets those outside of it to 0,
	// and choose puts x in the place of those of y that are in it.
	greater func(x reg.VecVirtual, y operand.Op) operand.Op
	clear   func(mask operand.Op, x reg.VecVirtual)
	choose  func(mask operand.Op, x, y reg.VecVirtual)
	// none jumps where no entry is in the mask.
	none func(mask operand.Op, to string)
	// all returns a mask of all entries, and both takes those that are not in a mask out of one.
	all  func() operand.Op
	both func(mask, of operand.Op)
}

func (g *generator) panels512Bits() panel {
	kept := map[string]reg.VecVirtual{}
	return panel{
		generator: g, suffix: "512", lanes: 8,
		vector: func() reg.VecVirtual { return g.ZMM() },
		keep: func(names ...string) {
			for _, name := range names {
				kept[name] = g.broadcast512(name)
			}
		},
		wide: func(name string) operand.Op { return kept[name] },
		greater: func(x reg.VecVirtual, y operand.Op) operand.Op {
			k := g.K()
			g.VCMPPD(cmpGreater, y, x, k)
			return k
		},
		clear:  func(mask operand.Op, x reg.VecVirtual) { g.VMOVAPD_Z(x, mask, x) },
		choose: func(mask operand.Op, x, y reg.VecVirtual) { g.VMOVAPD(x, mask, y) },
		none: func(mask operand.Op, to string) {
			g.KORTESTB(mask, mask)
			g.JZ(label(to))
		},
		all: func() operand.Op {
			k := g.K()
			g.KXNORB(k, k, k)
			return k
		},
		both: func(mask, of operand.Op) { g.KANDB(mask, of, of) },
	}
}

func (g avx2) panels256Bits() panel {
	return panel{
		generator: g.generator, suffix: "256", lanes: 4,
		vector: func() reg.VecVirtual { return g.YMM() },
		keep:   func(...string) {}, // they stay in memory
		wide:   g.wide,
		log:    g.safeLog256,
		greater: func(x reg.VecVirtual, y operand.Op) operand.Op {
			mask := g.YMM()
			g.VCMPPD(cmpGreater, y, x, mask)
			return mask
		},
		clear:  func(mask operand.Op, x reg.VecVirtual) { g.VANDPD(mask, x, x) },
		choose: func(mask operand.Op, x, y reg.VecVirtual) { g.VBLENDVPD(mask, x, y, y) },
		none: func(mask operand.Op, to string) {
			which := g.GP32()
			g.VMOVMSKPD(mask, which)
			g.TESTL(which, which)
			g.JZ(label(to))
		},
		all: func() operand.Op {
			mask := g.YMM()
			g.VPCMPEQQ(mask, mask, mask)
			return mask
		},
		both: func(mask, of operand.Op) { g.VANDPD(mask, of, of) },
	}
}

func (p panel) bytes() int { return 8 * p.lanes }

func (p panel) load(m operand.Mem) reg.VecVirtual {
	x := p.vector()
	p.VMOVUPD(m, x)
	return x
}

func (p panel) zero() reg.VecVirtual {
	x := p.vector()
	p.VXORPD(x, x, x)
	return x
}

// copyOf returns a new register with a constant.
func (p panel) copyOf(name string) reg.VecVirtual {
	x := p.vector()
	p.VMOVUPD(p.wide(name), x)
	return x
}

// ratio replaces x by x/y, at most largestScale, and 0 where y is not positive.
func (p panel) ratio(x, y reg.VecVirtual) {
	positive := p.greater(y, p.zero())
	p.VDIVPD(y, x, x)
	p.VMINPD(p.wide("largestScale"), x, x)
	p.clear(positive, x)
}

// each emits body for each vector of so many bytes; it gets their offset.
func (p panel) each(bytes reg.Register, body func(at reg.Register)) {
	at, again := p.generator.zero(), p.label("vector")
	p.Label(again)
	body(at)
	p.ADDQ(operand.U8(p.bytes()), at)
	p.CMPQ(at, bytes)
	p.JL(label(again))
}

// byteLength is the length of a slice of float64 in bytes.
func (p panel) byteLength(name string) reg.Register {
	n := p.length(name)
	p.SHLQ(operand.U8(3), n)
	return n
}

// at is the vector at an offset in bytes of a slice, the address of which is loaded anew: there
// are not registers enough for all of them.
func (p panel) at(slice string, offset reg.Register) operand.Mem {
	return bytes(p.base(slice), offset, 0)
}

// eachBefore emits body for the offsets of vectors before an end, of which there may be none.
func (p panel) eachBefore(end reg.Register, body func(at reg.Register)) {
	none := p.label("before")
	p.TESTQ(end, end)
	p.JZ(label(none))
	p.each(end, body)
	p.Label(none)
}

// eachRow emits body for the rows of the tables.
func (p panel) eachRow(width reg.Register, body func(i, row reg.Register)) {
	row, height := p.base("pairs"), p.byteLength("rows")
	p.each(height, func(i reg.Register) {
		body(i, row)
		p.ADDQ(width, row)
	})
}

// products returns Σ_j row[j] right[j].
func (p panel) products(row, width reg.Register) reg.VecVirtual {
	sum, right := p.zero(), p.base("right")
	p.each(width, func(j reg.Register) {
		p.VFMADD231PD(bytes(right, j, 0), p.load(bytes(row, j, 0)), sum)
	})
	return sum
}

// consistent emits the scaling of a panel. What is written down for one edge in
// consistentTable is done for all of them until the last is done: scaling rows again changes
// nothing in those whose columns stay.
func (p panel) consistent() {
	p.function("consistent"+p.suffix, "func(pairs, rows, columns, left, right, sums, system, entropy []float64, first, scalings int, enough float64)",
		"makes the tables of a panel consistent, which has one edge in each entry of its vectors.")
	p.keep("one", "half", "largestScale", "magnitude", "negligible", "smallestNormal", "leastPivot")
	width := p.byteLength("right")
	one := p.copyOf("one")
	right := p.base("right")
	p.each(width, func(j reg.Register) { p.VMOVUPD(one, bytes(right, j, 0)) })
	scaling, again, done := p.generator.zero(), p.label("scaling"), p.label("scaled")
	p.Label(again)
	p.scaleRows(width)
	enough := p.vector()
	p.broadcastParam("enough", enough)
	off := p.greater(p.distance(width), enough)
	p.none(off, done)
	p.CMPQ(scaling, p.intParam("scalings"))
	p.JGE(label(done))
	fine := p.all()
	plain, scale := p.label("plain"), p.label("scale")
	p.CMPQ(scaling, p.intParam("first"))
	p.JLT(label(plain))
	p.CMPQ(scaling, operand.U8(newtonScalings))
	p.JGE(label(plain))
	n := p.length("system")
	p.TESTQ(n, n)
	p.JZ(label(plain))
	p.newton(width, fine)
	p.JMP(label(scale))
	p.Label(plain)
	p.each(width, func(j reg.Register) {
		r, x := p.load(p.at("right", j)), p.load(p.at("columns", j))
		p.ratio(x, p.load(p.at("sums", j)))
		p.choose(off, x, r)
		p.VMOVUPD(r, p.at("right", j))
	})
	p.INCQ(scaling)
	p.JMP(label(again))
	p.Label(scale)
	steps, shorter := p.steps(width), p.copyOf("one")
	p.each(width, func(j reg.Register) {
		size := p.load(bytes(steps, j, 0))
		p.VANDPD(p.wide("magnitude"), size, size)
		p.VMAXPD(size, shorter, shorter)
	})
	p.VDIVPD(shorter, one, shorter)
	p.VMULPD(p.wide("half"), shorter, shorter)
	p.each(width, func(j reg.Register) {
		r, x, half, y := p.load(p.at("right", j)), p.load(p.at("columns", j)), p.vector(), p.vector()
		p.ratio(x, p.load(p.at("sums", j)))
		p.VMULPD(bytes(steps, j, 0), shorter, half)
		p.VADDPD(half, one, y)
		p.VMULPD(r, y, y)
		p.VSUBPD(half, one, half)
		p.VDIVPD(half, y, y)
		p.choose(fine, y, x)
		p.choose(off, x, r)
		p.VMOVUPD(r, p.at("right", j))
	})
	p.INCQ(scaling)
	p.JMP(label(again))
	p.Label(done)
	p.roundPanel(width)
	p.end()
}

// newtonScalings is that of simd.
const newtonScalings = 20

// scaleRows scales rows, and sums the columns of that.
func (p panel) scaleRows(width reg.Register) {
	none, sums := p.zero(), p.base("sums")
	p.each(width, func(j reg.Register) { p.VMOVUPD(none, bytes(sums, j, 0)) })
	if p.lanes == 4 {
		p.scaleFourRows(width)
		return
	}
	p.eachRow(width, func(i, row reg.Register) {
		l := p.load(p.at("rows", i))
		p.ratio(l, p.products(row, width))
		p.VMOVUPD(l, p.at("left", i))
		p.each(width, func(j reg.Register) {
			sum := p.load(bytes(sums, j, 0))
			p.VFMADD231PD(bytes(row, j, 0), l, sum)
			p.VMOVUPD(sum, bytes(sums, j, 0))
		})
	})
}

// scaleFourRows is scaleRows for four rows at a time, whose sums and divisions do not wait for
// each other, and one by one for those that are left.
func (p panel) scaleFourRows(width reg.Register) {
	i, row, left, three := p.generator.zero(), p.base("pairs"), p.length("rows"), p.GP64()
	p.SHRQ(operand.U8(2), left) // of the panel
	p.LEAQ(operand.Mem{Base: width, Index: width, Scale: 2}, three)
	s := strides{one: width, three: three}
	for _, n := range []int{4, 1} {
		again, done := p.label("rows"), p.label("few")
		p.CMPQ(left, operand.U8(n))
		p.JL(label(done))
		p.Label(again)
		factors, products, right := make([]reg.VecVirtual, n), p.zeros256(n), p.base("right")
		at := p.GP64()
		p.MOVQ(row, at)
		p.each(width, func(j reg.Register) {
			x := p.load(bytes(right, j, 0))
			for r, product := range products {
				p.VFMADD231PD(s.row(at, r, 0), x, product)
			}
			p.ADDQ(operand.U8(p.bytes()), at)
		})
		rows, to := p.base("rows"), p.base("left")
		for r, product := range products {
			factors[r] = p.load(bytes(rows, i, p.bytes()*r))
			p.ratio(factors[r], product)
			p.VMOVUPD(factors[r], bytes(to, i, p.bytes()*r))
		}
		sums := p.base("sums")
		p.each(width, func(j reg.Register) {
			sum := p.load(bytes(sums, j, 0))
			for r, factor := range factors {
				p.VFMADD231PD(s.row(row, r, 0), factor, sum)
			}
			p.VMOVUPD(sum, bytes(sums, j, 0))
			p.ADDQ(operand.U8(p.bytes()), row)
		})
		if n > 1 { // the loop has passed one row
			p.ADDQ(three, row)
		}
		p.ADDQ(operand.U8(p.bytes()*n), i)
		p.SUBQ(operand.U8(n), left)
		p.CMPQ(left, operand.U8(n))
		p.JGE(label(again))
		p.Label(done)
	}
}

// distance returns how far the columns are from what they should be.
func (p panel) distance(width reg.Register) reg.VecVirtual {
	distance := p.zero()
	p.each(width, func(j reg.Register) {
		off := p.load(p.at("columns", j))
		p.VFNMADD231PD(p.at("right", j), p.load(p.at("sums", j)), off)
		p.VANDPD(p.wide("magnitude"), off, off)
		p.VADDPD(off, distance, distance)
	})
	return distance
}

// The scratch of a system has its matrix, steps, one over its pivots, and a scaled row.

// part returns where so many vectors of the width lie behind the matrix.
func (p panel) part(width reg.Register, number int) reg.Register {
	at := p.GP64()
	p.MOVQ(width, at)
	p.SHRQ(operand.U8(p.bytes()/32+4), at) // columns: 32 bytes are 2^5, 64 are 2^6
	p.ADDQ(operand.U8(number), at)
	p.IMULQ(width, at)
	p.ADDQ(p.base("system"), at)
	return at
}

func (p panel) steps(width reg.Register) reg.Register { return p.part(width, 0) }

// newton finds the steps of a Newton iteration for the columns, and takes lanes out of the
// mask whose pivots are not to be trusted.
func (p panel) newton(width reg.Register, fine operand.Op) {
	if p.lanes == 4 {
		p.buildSystemInTiles(width)
	} else {
		p.buildSystem(width)
	}
	p.factoriseSystem(width, fine)
	steps, inverses := p.steps(width), p.part(width, 1)
	// L x = the distances, then Lᵀ steps = x.
	row := p.base("system")
	p.each(width, func(i reg.Register) {
		x := p.load(bytes(steps, i, 0))
		p.eachBefore(i, func(m reg.Register) {
			p.VFNMADD231PD(bytes(steps, m, 0), p.load(bytes(row, m, 0)), x)
		})
		p.VMULPD(bytes(inverses, i, 0), x, x)
		p.VMOVUPD(x, bytes(steps, i, 0))
		p.ADDQ(width, row)
	})
	i, again := p.GP64(), p.label("back")
	p.MOVQ(width, i)
	p.Label(again)
	p.SUBQ(operand.U8(p.bytes()), i)
	p.SUBQ(width, row)
	{
		x, below, m, more, last := p.load(bytes(steps, i, 0)), p.GP64(), p.GP64(), p.label("below"), p.label("solved")
		p.MOVQ(row, below)
		p.MOVQ(i, m)
		p.Label(more)
		p.ADDQ(operand.U8(p.bytes()), m)
		p.CMPQ(m, width)
		p.JGE(label(last))
		p.ADDQ(width, below)
		p.VFNMADD231PD(bytes(steps, m, 0), p.load(bytes(below, i, 0)), x)
		p.JMP(label(more))
		p.Label(last)
		p.VMULPD(bytes(inverses, i, 0), x, x)
		p.VMOVUPD(x, bytes(steps, i, 0))
	}
	p.TESTQ(i, i)
	p.JNZ(label(again))
}

// buildSystem writes the lower triangle of diag c + c cᵀ − Σ_i p_i p_iᵀ/row_i, c being the sums of
// the columns and p_i the rows as they are scaled, and the distances in the place of steps.
func (p panel) buildSystem(width reg.Register) {
	steps, row, sums, right := p.steps(width), p.base("system"), p.base("sums"), p.base("right")
	p.each(width, func(j reg.Register) {
		c := p.load(bytes(sums, j, 0))
		p.VMULPD(bytes(right, j, 0), c, c)
		off := p.load(p.at("columns", j))
		p.VSUBPD(c, off, off)
		p.VMOVUPD(off, bytes(steps, j, 0))
		square := p.vector()
		p.eachBefore(j, func(m reg.Register) {
			p.VMULPD(bytes(sums, m, 0), c, square)
			p.VMULPD(bytes(right, m, 0), square, square)
			p.VMOVUPD(square, bytes(row, m, 0))
		})
		diagonal := p.vector()
		p.VMOVAPD(c, diagonal)
		p.VFMADD231PD(c, c, diagonal)
		p.VMOVUPD(diagonal, bytes(row, j, 0))
		p.ADDQ(width, row)
	})
	scaled := p.part(width, 2)
	p.eachRow(width, func(i, row reg.Register) {
		l := p.load(p.at("left", i))
		p.VMULPD(l, l, l)
		p.ratio(l, p.load(p.at("rows", i)))
		p.each(width, func(j reg.Register) {
			x := p.load(bytes(row, j, 0))
			p.VMULPD(bytes(right, j, 0), x, x)
			p.VMOVUPD(x, bytes(scaled, j, 0))
		})
		out := p.base("system")
		p.each(width, func(j reg.Register) {
			f := p.vector()
			p.VMULPD(bytes(scaled, j, 0), l, f)
			end := p.GP64()
			p.LEAQ(operand.Mem{Base: j, Disp: p.bytes()}, end)
			p.each(end, func(m reg.Register) {
				x := p.load(bytes(out, m, 0))
				p.VFNMADD231PD(bytes(scaled, m, 0), f, x)
				p.VMOVUPD(x, bytes(out, m, 0))
			})
			p.ADDQ(width, out)
		})
	})
}

// buildSystemInTiles is buildSystem, with sums over rows in registers: right is multiplied in
// later, and the place of left gets left²/row. Of the matrix two rows by four columns are made
// at a time, from the last columns on: what a tile writes behind the end of a row is written
// again by the tiles to come, and what it reads there is of no use.
func (p panel) buildSystemInTiles(width reg.Register) {
	const high, wide, vector = 2, 4, 32
	height := p.byteLength("rows")
	p.each(height, func(i reg.Register) {
		l := p.load(p.at("left", i))
		p.VMULPD(l, l, l)
		p.ratio(l, p.load(p.at("rows", i)))
		p.VMOVUPD(l, p.at("left", i))
	})
	j, out, again := p.generator.zero(), p.base("system"), p.label("tiles")
	p.Label(again)
	m, more := p.GP64(), p.label("tile")
	p.LEAQ(operand.Mem{Base: j, Disp: (high - 1) * vector}, m) // the last column, and the first of its tile
	p.ANDQ(operand.I32(-wide*vector), m)
	p.Label(more)
	{
		var sums [high][]reg.VecVirtual
		for r := range sums {
			sums[r] = p.zeros256(wide)
		}
		left, right, i, rows := p.base("pairs"), p.GP64(), p.base("left"), p.label("rows")
		p.LEAQ(bytes(left, m, 0), right)
		p.ADDQ(j, left)
		p.MOVQ(p.byteLength("rows"), height)
		p.Label(rows)
		l, f := p.load(operand.Mem{Base: i}), [high]reg.VecVirtual{p.vector(), p.vector()}
		for r := range f {
			p.VMULPD(operand.Mem{Base: left, Disp: r * vector}, l, f[r])
		}
		for c := range wide {
			x := p.load(operand.Mem{Base: right, Disp: c * vector})
			for r := range f {
				p.VFMADD231PD(x, f[r], sums[r][c])
			}
		}
		p.ADDQ(width, left)
		p.ADDQ(width, right)
		p.ADDQ(operand.U8(vector), i)
		p.SUBQ(operand.U8(vector), height)
		p.JNZ(label(rows))
		to := p.GP64()
		p.LEAQ(bytes(out, m, 0), to)
		for r := range sums {
			for c, sum := range sums[r] {
				p.VMOVUPD(sum, operand.Mem{Base: to, Disp: c * vector})
			}
			p.ADDQ(width, to)
		}
	}
	p.SUBQ(operand.U32(wide*vector), m)
	p.JGE(label(more))
	p.LEAQ(operand.Mem{Base: out, Index: width, Scale: high}, out)
	p.ADDQ(operand.U8(high*vector), j)
	p.CMPQ(j, width)
	p.JL(label(again))

	steps, row, sums, factors := p.steps(width), p.base("system"), p.base("sums"), p.base("right")
	p.each(width, func(j reg.Register) {
		sum, factor, c := p.load(bytes(sums, j, 0)), p.load(bytes(factors, j, 0)), p.vector()
		p.VMULPD(factor, sum, c)
		off := p.load(p.at("columns", j))
		p.VSUBPD(c, off, off)
		p.VMOVUPD(off, bytes(steps, j, 0))
		end := p.GP64()
		p.LEAQ(operand.Mem{Base: j, Disp: vector}, end)
		p.each(end, func(m reg.Register) {
			x := p.load(bytes(sums, m, 0))
			p.VFMSUB213PD(bytes(row, m, 0), sum, x)
			p.VMULPD(bytes(factors, m, 0), x, x)
			p.VMULPD(factor, x, x)
			p.VMOVUPD(x, bytes(row, m, 0))
		})
		p.VADDPD(bytes(row, j, 0), c, c)
		p.VMOVUPD(c, bytes(row, j, 0))
		p.ADDQ(width, row)
	})
}

// factoriseSystem replaces the matrix by its Cholesky factor, but for the diagonal, of which
// it writes the reciprocals.
func (p panel) factoriseSystem(width reg.Register, fine operand.Op) {
	inverses, row := p.part(width, 1), p.base("system")
	// rest returns the entry j of a row less the product of what is before in two rows.
	rest := func(row, other, j reg.Register) reg.VecVirtual {
		x := p.load(bytes(row, j, 0))
		p.eachBefore(j, func(m reg.Register) {
			p.VFNMADD231PD(bytes(other, m, 0), p.load(bytes(row, m, 0)), x)
		})
		return x
	}
	p.each(width, func(i reg.Register) {
		other := p.base("system")
		p.eachBefore(i, func(j reg.Register) {
			x := rest(row, other, j)
			p.VMULPD(bytes(inverses, j, 0), x, x)
			p.VMOVUPD(x, bytes(row, j, 0))
			p.ADDQ(width, other)
		})
		pivot, least := rest(row, row, i), p.load(p.at("sums", i))
		p.VMULPD(p.at("right", i), least, least)
		p.VMULPD(p.wide("leastPivot"), least, least)
		p.both(p.greater(pivot, least), fine)
		inverse := p.copyOf("one")
		p.VSQRTPD(pivot, pivot)
		p.VDIVPD(pivot, inverse, inverse)
		p.VMOVUPD(inverse, bytes(inverses, i, 0))
		p.ADDQ(width, row)
	})
}

// roundPanel takes what is too much out of columns, spreads what rows and columns lack, and
// sums the entropies.
func (p panel) roundPanel(width reg.Register) {
	p.each(width, func(j reg.Register) {
		r, column, scale, lack := p.load(p.at("right", j)), p.load(p.at("columns", j)), p.vector(), p.vector()
		sum := p.vector()
		p.VMULPD(p.at("sums", j), r, sum)
		p.VSUBPD(sum, column, lack)
		p.VMAXPD(p.zero(), lack, lack)
		p.VMOVUPD(lack, p.at("sums", j))
		p.VMOVAPD(column, scale)
		p.ratio(scale, sum)
		p.VMINPD(p.wide("one"), scale, scale)
		p.VMULPD(scale, r, r)
		p.VMOVUPD(r, p.at("right", j))
	})
	missing := p.zero()
	p.eachRow(width, func(i, row reg.Register) {
		lack := p.load(p.at("rows", i))
		p.VFNMADD231PD(p.at("left", i), p.products(row, width), lack)
		p.VMAXPD(p.zero(), lack, lack)
		p.VADDPD(lack, missing, missing)
		p.VMOVUPD(lack, p.at("rows", i))
	})
	much, inverse := p.greater(missing, p.wide("negligible")), p.copyOf("one")
	p.VDIVPD(missing, inverse, inverse)
	p.clear(much, inverse)
	log := p.log
	if log == nil {
		v := p.fromRegisters("one", "logLn2High", "logLn2Low")
		v.keepTable("reciprocal")
		v.keepTable("minusLog")
		log = func(y reg.VecVirtual) reg.VecVirtual { return v.logs512([]reg.VecVirtual{y})[0] }
	}
	n, silent, end := p.length("entropy"), p.label("silent"), p.label("rounded")
	p.TESTQ(n, n)
	p.JZ(label(silent))
	entropy := p.zero()
	p.finish(width, inverse, func(x reg.VecVirtual) {
		y := p.vector()
		p.VMAXPD(p.wide("smallestNormal"), x, y)
		p.VFNMADD231PD(x, log(y), entropy)
	})
	p.VMOVUPD(entropy, operand.Mem{Base: p.base("entropy")})
	p.JMP(label(end))
	p.Label(silent)
	p.finish(width, inverse, func(reg.VecVirtual) {})
	p.Label(end)
}

// finish writes the tables, as factors and what is spread make them, and gives each vector to use.
func (p panel) finish(width reg.Register, inverse reg.VecVirtual, use func(x reg.VecVirtual)) {
	right, sums := p.base("right"), p.base("sums")
	p.eachRow(width, func(i, row reg.Register) {
		l, lack := p.load(p.at("left", i)), p.vector()
		p.VMULPD(p.at("rows", i), inverse, lack)
		p.each(width, func(j reg.Register) {
			x := p.load(bytes(row, j, 0))
			p.VMULPD(bytes(right, j, 0), x, x)
			p.VMULPD(l, x, x)
			p.VFMADD231PD(bytes(sums, j, 0), lack, x)
			p.VMOVUPD(x, bytes(row, j, 0))
			use(x)
		})
	})
}

// interleave512 puts rows into a panel: of eight rows eight entries at a time.
func (g *generator) interleave512() {
	g.function("interleave512", "func(dst, src []float64, n int)", "puts 8 rows of n entries into a panel.")
	dst, src, n := g.base("dst"), g.base("src"), g.intParam("n")
	s := g.eightRows(n)
	blocks, rest := g.blocks(n, 8)
	blocks(func() {
		for c, z := range g.transpose512(g.eightOf(s, src, nil)) {
			g.VMOVUPD(z, operand.Mem{Base: dst, Disp: 64 * c})
		}
		g.ADDQ(operand.U8(64), src)
		g.ADDQ(operand.U32(512), dst)
	})
	rest(func(left reg.Register) {
		mask, end := g.firstMask(left), g.label("end")
		for c, z := range g.transpose512(g.eightOf(s, src, &mask)) {
			if c > 0 {
				g.CMPQ(left, operand.U8(c))
				g.JLE(label(end))
			}
			g.VMOVUPD(z, operand.Mem{Base: dst, Disp: 64 * c})
		}
		g.Label(end)
	})
	g.end()
}

// separate512 is its inverse.
func (g *generator) separate512() {
	g.function("separate512", "func(dst, src []float64, n int)", "takes 8 rows of n entries out of a panel.")
	dst, src, n := g.base("dst"), g.base("src"), g.intParam("n")
	s := g.eightRows(n)
	blocks, rest := g.blocks(n, 8)
	blocks(func() {
		z := make([]reg.VecVirtual, 8)
		for c := range z {
			z[c] = g.load512(operand.Mem{Base: src, Disp: 64 * c}, nil)
		}
		for l, row := range g.transpose512(z) {
			g.VMOVUPD(row, s.row(dst, l))
		}
		g.ADDQ(operand.U8(64), dst)
		g.ADDQ(operand.U32(512), src)
	})
	rest(func(left reg.Register) {
		mask, end := g.firstMask(left), g.label("end")
		z := g.zeros512(8)
		for c := range z {
			if c > 0 {
				g.CMPQ(left, operand.U8(c))
				g.JLE(label(end))
			}
			g.VMOVUPD(operand.Mem{Base: src, Disp: 64 * c}, z[c])
		}
		g.Label(end)
		for l, row := range g.transpose512(z) {
			// Nobody reads these before the rows of the other edges are written.
			g.VMOVUPD(row, mask, s.row(dst, l))
		}
	})
	g.end()
}

// blocks emits code for as many whole blocks as n holds, and for what is left.
func (g *generator) blocks(n reg.Register, size int) (blocks func(body func()), rest func(body func(left reg.Register))) {
	left := g.GP64()
	g.MOVQ(n, left)
	blocks = func(body func()) {
		again, done := g.label("block"), g.label("blocks")
		g.CMPQ(left, operand.U8(size))
		g.JLT(label(done))
		g.Label(again)
		body()
		g.SUBQ(operand.U8(size), left)
		g.CMPQ(left, operand.U8(size))
		g.JGE(label(again))
		g.Label(done)
	}
	rest = func(body func(left reg.Register)) {
		done := g.label("rest")
		g.TESTQ(left, left)
		g.JZ(label(done))
		body(left)
		g.Label(done)
	}
	return blocks, rest
}

// eightOf loads eight rows.
func (g *generator) eightOf(s eightRows, p reg.Register, mask *reg.OpmaskVirtual) []reg.VecVirtual {
	z := make([]reg.VecVirtual, 8)
	for l := range z {
		z[l] = g.load512(s.row(p, l), mask)
	}
	return z
}

// transpose512 returns the columns of eight rows.
func (g *generator) transpose512(z []reg.VecVirtual) []reg.VecVirtual {
	shuffle := func(a, b reg.VecVirtual) (even, odd reg.VecVirtual) {
		even, odd = g.ZMM(), g.ZMM()
		g.VSHUFF64X2(operand.U8(0x88), b, a, even)
		g.VSHUFF64X2(operand.U8(0xdd), b, a, odd)
		return even, odd
	}
	columns := make([]reg.VecVirtual, 8)
	for parity, unpack := range []func(...operand.Op){g.VUNPCKLPD, g.VUNPCKHPD} {
		var pairs [4]reg.VecVirtual
		for i := range pairs {
			pairs[i] = g.ZMM()
			unpack(z[2*i+1], z[2*i], pairs[i])
		}
		lowEven, lowOdd := shuffle(pairs[0], pairs[1])
		highEven, highOdd := shuffle(pairs[2], pairs[3])
		columns[parity], columns[parity+4] = shuffle(lowEven, highEven)
		columns[parity+2], columns[parity+6] = shuffle(lowOdd, highOdd)
	}
	return columns
}

// interleave256 is interleave512 for AVX2.
func (g avx2) interleave256() {
	g.function("interleave256", "func(dst, src []float64, n int)", "puts 4 rows of n entries into a panel.")
	dst, src, n := g.base("dst"), g.base("src"), g.intParam("n")
	s := g.strides(n, 4)
	four := func(rest *rest256) []reg.VecVirtual {
		y := make([]reg.VecVirtual, 4)
		for l := range y {
			y[l] = g.load256(s.row(src, l, 0), rest)
		}
		return g.transpose256(y)
	}
	blocks, rest := g.blocks(n, 4)
	blocks(func() {
		for c, y := range four(nil) {
			g.VMOVUPD(y, operand.Mem{Base: dst, Disp: 32 * c})
		}
		g.ADDQ(operand.U8(32), src)
		g.ADDQ(operand.U32(128), dst)
	})
	rest(func(left reg.Register) {
		end := g.label("end")
		for c, y := range four(g.rest256(left)) {
			if c > 0 {
				g.CMPQ(left, operand.U8(c))
				g.JLE(label(end))
			}
			g.VMOVUPD(y, operand.Mem{Base: dst, Disp: 32 * c})
		}
		g.Label(end)
	})
	g.end()
}

// separate256 is separate512 for AVX2.
func (g avx2) separate256() {
	g.function("separate256", "func(dst, src []float64, n int)", "takes 4 rows of n entries out of a panel.")
	dst, src, n := g.base("dst"), g.base("src"), g.intParam("n")
	s := g.strides(n, 4)
	blocks, rest := g.blocks(n, 4)
	blocks(func() {
		y := make([]reg.VecVirtual, 4)
		for c := range y {
			y[c] = g.load256(operand.Mem{Base: src, Disp: 32 * c}, nil)
		}
		for l, row := range g.transpose256(y) {
			g.VMOVUPD(row, s.row(dst, l, 0))
		}
		g.ADDQ(operand.U8(32), dst)
		g.ADDQ(operand.U32(128), src)
	})
	rest(func(left reg.Register) {
		end, y := g.label("end"), g.zeros256(4)
		for c := range y {
			if c > 0 {
				g.CMPQ(left, operand.U8(c))
				g.JLE(label(end))
			}
			g.VMOVUPD(operand.Mem{Base: src, Disp: 32 * c}, y[c])
		}
		g.Label(end)
		for l, row := range g.transpose256(y) {
			g.store256(row, s.row(dst, l, 0), &rest256{count: left})
		}
	})
	g.end()
}

// transpose256 returns the columns of four rows.
func (g avx2) transpose256(y []reg.VecVirtual) []reg.VecVirtual {
	columns := make([]reg.VecVirtual, 4)
	for parity, unpack := range []func(...operand.Op){g.VUNPCKLPD, g.VUNPCKHPD} {
		low, high := g.YMM(), g.YMM()
		unpack(y[1], y[0], low)
		unpack(y[3], y[2], high)
		columns[parity], columns[parity+2] = g.YMM(), g.YMM()
		g.VPERM2F128(operand.U8(0x20), high, low, columns[parity])
		g.VPERM2F128(operand.U8(0x31), high, low, columns[parity+2])
	}
	return columns
}
