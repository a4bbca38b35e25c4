package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// panel emits kernels for as many edges as a vector has numbers, one in each: the first vector of a panel has the first
// entries of their tables, and so on.
type panel struct{ vectors }

// consistency emits what makes the tables of panels consistent, and brings them into panels and out of them.
func (v vectors) consistency() {
	v.interleave()
	v.separate()
	panel{v}.consistent()
}

func (p panel) read(m operand.Mem) reg.VecVirtual { return p.load(m, nil) }

// greater is the mask of the entries with x > y.
func (p panel) greater(x reg.VecVirtual, y operand.Op) reg.Register {
	return p.compare(cmpGreater, y, x)
}

// ratio replaces x by x/y, at most largestScale, and 0 where y is not positive.
func (p panel) ratio(x, y reg.VecVirtual) {
	positive := p.greater(y, p.zeroVector())
	p.VDIVPD(y, x, x)
	p.VMINPD(p.wide("largestScale"), x, x)
	p.clear(positive, x)
}

// each emits body for each vector of so many bytes; it gets their offset.
func (p panel) each(bytes reg.Register, body func(at reg.Register)) {
	at, again := p.zero(), p.label("vector")
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
	sum, right := p.zeroVector(), p.base("right")
	p.each(width, func(j reg.Register) {
		p.VFMADD231PD(bytes(right, j, 0), p.read(bytes(row, j, 0)), sum)
	})
	return sum
}

// consistent emits the scaling of a panel. What is written down for one edge in
// consistentTable is done for all of them until the last is done: scaling rows again changes
// nothing in those whose columns stay.
func (p panel) consistent() {
	p.function(p.name("consistent"), "func(pairs, rows, columns, left, right, sums, system, entropy []float64, first, "+
		"scalings int, enough float64)",
		"makes the tables of a panel consistent, which has one edge in each entry of its vectors.")
	p.spare("one", "half", "largestScale", "magnitude", "negligible", "smallestNormal", "leastPivot")
	width := p.byteLength("right")
	one := p.copyOf("one")
	right := p.base("right")
	p.each(width, func(j reg.Register) { p.VMOVUPD(one, bytes(right, j, 0)) })
	scaling, again, done := p.zero(), p.label("scaling"), p.label("scaled")
	p.Label(again)
	p.scaleRows(width)
	off := p.greater(p.distance(width), p.parameter("enough"))
	p.ifNone(off, done)
	p.CMPQ(scaling, p.intParam("scalings"))
	p.JGE(label(done))
	fine := p.everywhere()
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
		r, x := p.read(p.at("right", j)), p.read(p.at("columns", j))
		p.ratio(x, p.read(p.at("sums", j)))
		p.choose(off, x, r)
		p.VMOVUPD(r, p.at("right", j))
	})
	p.INCQ(scaling)
	p.JMP(label(again))
	p.Label(scale)
	steps, shorter := p.steps(width), p.copyOf("one")
	p.each(width, func(j reg.Register) {
		size := p.read(bytes(steps, j, 0))
		p.VANDPD(p.wide("magnitude"), size, size)
		p.VMAXPD(size, shorter, shorter)
	})
	p.VDIVPD(shorter, one, shorter)
	p.VMULPD(p.wide("half"), shorter, shorter)
	p.each(width, func(j reg.Register) {
		r, x, half, y := p.read(p.at("right", j)), p.read(p.at("columns", j)), p.vector(), p.vector()
		p.ratio(x, p.read(p.at("sums", j)))
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

// scaleRows scales rows, and sums the columns of that: four rows at a time, whose sums and divisions do not wait for
// each other, and one by one those that are left.
func (p panel) scaleRows(width reg.Register) {
	none, sums := p.zeroVector(), p.base("sums")
	p.each(width, func(j reg.Register) { p.VMOVUPD(none, bytes(sums, j, 0)) })
	i, row, left, three := p.zero(), p.base("pairs"), p.length("rows"), p.GP64()
	p.SHRQ(operand.U8(p.lanes/4+1), left) // of the panel
	p.LEAQ(operand.Mem{Base: width, Index: width, Scale: 2}, three)
	s := strides{one: width, three: three}
	for _, n := range []int{4, 1} {
		again, done := p.label("rows"), p.label("few")
		p.CMPQ(left, operand.U8(n))
		p.JL(label(done))
		p.Label(again)
		factors, products, right := make([]reg.VecVirtual, n), p.zeros(n), p.base("right")
		at := p.GP64()
		p.MOVQ(row, at)
		p.each(width, func(j reg.Register) {
			x := p.read(bytes(right, j, 0))
			for r, product := range products {
				p.VFMADD231PD(s.row(at, r, 0), x, product)
			}
			p.ADDQ(operand.U8(p.bytes()), at)
		})
		rows, to := p.base("rows"), p.base("left")
		for r, product := range products {
			factors[r] = p.read(bytes(rows, i, p.bytes()*r))
			p.ratio(factors[r], product)
			p.VMOVUPD(factors[r], bytes(to, i, p.bytes()*r))
		}
		sums := p.base("sums")
		p.each(width, func(j reg.Register) {
			sum := p.read(bytes(sums, j, 0))
			for r, factor := range factors {
				p.VFMADD231PD(s.row(row, r, 0), factor, sum)
			}
			p.VMOVUPD(sum, bytes(sums, j, 0))
			p.ADDQ(operand.U8(p.bytes()), row)
		})
		if n > 1 { // the loop has passed one row
			p.ADDQ(three, row)
		}
		p.ADDQ(operand.U32(p.bytes()*n), i)
		p.SUBQ(operand.U8(n), left)
		p.CMPQ(left, operand.U8(n))
		p.JGE(label(again))
		p.Label(done)
	}
}

// distance returns how far the columns are from what they should be.
func (p panel) distance(width reg.Register) reg.VecVirtual {
	distance := p.zeroVector()
	p.each(width, func(j reg.Register) {
		off := p.read(p.at("columns", j))
		p.VFNMADD231PD(p.at("right", j), p.read(p.at("sums", j)), off)
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
	p.buildSystem(width)
	p.factoriseSystem(width, fine)
	steps, inverses := p.steps(width), p.part(width, 1)
	// L x = the distances, then Lᵀ steps = x.
	row := p.base("system")
	p.each(width, func(i reg.Register) {
		x := p.read(bytes(steps, i, 0))
		p.eachBefore(i, func(m reg.Register) {
			p.VFNMADD231PD(bytes(steps, m, 0), p.read(bytes(row, m, 0)), x)
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
		x, below, m, more, last := p.read(bytes(steps, i, 0)), p.GP64(), p.GP64(), p.label("below"), p.label("solved")
		p.MOVQ(row, below)
		p.MOVQ(i, m)
		p.Label(more)
		p.ADDQ(operand.U8(p.bytes()), m)
		p.CMPQ(m, width)
		p.JGE(label(last))
		p.ADDQ(width, below)
		p.VFNMADD231PD(bytes(steps, m, 0), p.read(bytes(below, i, 0)), x)
		p.JMP(label(more))
		p.Label(last)
		p.VMULPD(bytes(inverses, i, 0), x, x)
		p.VMOVUPD(x, bytes(steps, i, 0))
	}
	p.TESTQ(i, i)
	p.JNZ(label(again))
}

// buildSystem writes the lower triangle of diag c + c cᵀ − Σ_i p_i p_iᵀ/row_i, c being the sums of the columns and p_i
// the rows as they are scaled, and the distances in the place of steps. Sums over rows are in registers: right is
// multiplied in later, and the place of left gets left²/row. Two rows by four columns are made at a time, from the last
// columns on: what a tile writes behind the end of a row is written again by the tiles to come, and what it reads there
// is of no use.
func (p panel) buildSystem(width reg.Register) {
	const high, wide = 2, 4
	vector := p.bytes()
	height := p.byteLength("rows")
	p.each(height, func(i reg.Register) {
		l := p.read(p.at("left", i))
		p.VMULPD(l, l, l)
		p.ratio(l, p.read(p.at("rows", i)))
		p.VMOVUPD(l, p.at("left", i))
	})
	j, out, again := p.zero(), p.base("system"), p.label("tiles")
	p.Label(again)
	m, more := p.GP64(), p.label("tile")
	p.LEAQ(operand.Mem{Base: j, Disp: (high - 1) * vector}, m) // the last column, and the first of its tile
	p.ANDQ(operand.I32(-wide*vector), m)
	p.Label(more)
	{
		var sums [high][]reg.VecVirtual
		for r := range sums {
			sums[r] = p.zeros(wide)
		}
		left, right, i, rows := p.base("pairs"), p.GP64(), p.base("left"), p.label("rows")
		p.LEAQ(bytes(left, m, 0), right)
		p.ADDQ(j, left)
		p.MOVQ(p.byteLength("rows"), height)
		p.Label(rows)
		l, f := p.read(operand.Mem{Base: i}), [high]reg.VecVirtual{p.vector(), p.vector()}
		for r := range f {
			p.VMULPD(operand.Mem{Base: left, Disp: r * vector}, l, f[r])
		}
		for c := range wide {
			x := p.read(operand.Mem{Base: right, Disp: c * vector})
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
	p.ADDQ(operand.U32(high*vector), j)
	p.CMPQ(j, width)
	p.JL(label(again))

	steps, row, sums, factors := p.steps(width), p.base("system"), p.base("sums"), p.base("right")
	p.each(width, func(j reg.Register) {
		sum, factor, c := p.read(bytes(sums, j, 0)), p.read(bytes(factors, j, 0)), p.vector()
		p.VMULPD(factor, sum, c)
		off := p.read(p.at("columns", j))
		p.VSUBPD(c, off, off)
		p.VMOVUPD(off, bytes(steps, j, 0))
		end := p.GP64()
		p.LEAQ(operand.Mem{Base: j, Disp: vector}, end)
		p.each(end, func(m reg.Register) {
			x := p.read(bytes(sums, m, 0))
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
		x := p.read(bytes(row, j, 0))
		p.eachBefore(j, func(m reg.Register) {
			p.VFNMADD231PD(bytes(other, m, 0), p.read(bytes(row, m, 0)), x)
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
		pivot, least := rest(row, row, i), p.read(p.at("sums", i))
		p.VMULPD(p.at("right", i), least, least)
		p.VMULPD(p.wide("leastPivot"), least, least)
		p.and(p.greater(pivot, least), fine)
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
		r, column, scale, lack := p.read(p.at("right", j)), p.read(p.at("columns", j)), p.vector(), p.vector()
		sum := p.vector()
		p.VMULPD(p.at("sums", j), r, sum)
		p.VSUBPD(sum, column, lack)
		p.VMAXPD(p.zeroVector(), lack, lack)
		p.VMOVUPD(lack, p.at("sums", j))
		p.VMOVAPD(column, scale)
		p.ratio(scale, sum)
		p.VMINPD(p.wide("one"), scale, scale)
		p.VMULPD(scale, r, r)
		p.VMOVUPD(r, p.at("right", j))
	})
	missing := p.zeroVector()
	p.eachRow(width, func(i, row reg.Register) {
		lack := p.read(p.at("rows", i))
		p.VFNMADD231PD(p.at("left", i), p.products(row, width), lack)
		p.VMAXPD(p.zeroVector(), lack, lack)
		p.VADDPD(lack, missing, missing)
		p.VMOVUPD(lack, p.at("rows", i))
	})
	much, inverse := p.greater(missing, p.wide("negligible")), p.copyOf("one")
	p.VDIVPD(missing, inverse, inverse)
	p.clear(much, inverse)
	p.keep(normalLog)
	n, silent, end := p.length("entropy"), p.label("silent"), p.label("rounded")
	p.TESTQ(n, n)
	p.JZ(label(silent))
	entropy := p.zeroVector()
	p.finish(width, inverse, func(x reg.VecVirtual) {
		y := p.vector()
		p.VMAXPD(p.wide("smallestNormal"), x, y)
		p.VFNMADD231PD(x, p.of(normalLog, y), entropy)
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
		l, lack := p.read(p.at("left", i)), p.vector()
		p.VMULPD(p.at("rows", i), inverse, lack)
		p.each(width, func(j reg.Register) {
			x := p.read(bytes(row, j, 0))
			p.VMULPD(bytes(right, j, 0), x, x)
			p.VMULPD(l, x, x)
			p.VFMADD231PD(bytes(sums, j, 0), lack, x)
			p.VMOVUPD(x, bytes(row, j, 0))
			use(x)
		})
	})
}

// interleave puts rows into a panel, as many entries of each at a time as there are rows.
func (v vectors) interleave() {
	v.function(v.name("interleave"), "func(dst, src []float64, n int)",
		"puts as many rows of n entries into a panel as a vector has.")
	dst, src, s := v.base("dst"), v.base("src"), v.eightRows(v.intParam("n"))
	v.blocks(v.intParam("n"), func(left reg.Register) {
		rows, r, end := make([]reg.VecVirtual, v.lanes), (*rest)(nil), v.label("end")
		if left != nil {
			r = v.first(left)
		}
		for l := range rows {
			rows[l] = v.load(s.row(src, l), r)
		}
		for c, x := range v.transpose(rows) {
			v.unlessLess(left, c, end)
			v.VMOVUPD(x, operand.Mem{Base: dst, Disp: v.bytes() * c})
		}
		v.Label(end)
		v.ADDQ(operand.U32(v.bytes()), src)
		v.ADDQ(operand.U32(v.bytes()*v.lanes), dst)
	})
	v.end()
}

// separate is its inverse.
func (v vectors) separate() {
	v.function(v.name("separate"), "func(dst, src []float64, n int)",
		"takes as many rows of n entries out of a panel as a vector has.")
	dst, src, s := v.base("dst"), v.base("src"), v.eightRows(v.intParam("n"))
	v.blocks(v.intParam("n"), func(left reg.Register) {
		columns, r, end := v.zeros(v.lanes), (*rest)(nil), v.label("end")
		if left != nil {
			r = v.first(left)
		}
		for c, x := range columns {
			v.unlessLess(left, c, end)
			v.VMOVUPD(operand.Mem{Base: src, Disp: v.bytes() * c}, x)
		}
		v.Label(end)
		for l, row := range v.transpose(columns) {
			v.storeApart(row, s.row(dst, l), r)
		}
		v.ADDQ(operand.U32(v.bytes()), dst)
		v.ADDQ(operand.U32(v.bytes()*v.lanes), src)
	})
	v.end()
}
