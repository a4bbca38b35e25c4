package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile keeps sums in registers: panel vectors of columns times so many rows (or features). Each vector that is
// read then serves all rows of the tile and each broadcast number all its columns, so that multiply-adds, not loads,
// are the limit. Every sum is one chain in the order of its terms, whatever the tile.
//
// These are the sizes that fit 32 registers, or 16: sums, one vector for each column, and one broadcast. A tile of
// rows, or of features, has the first of these numbers, and then the next for what is left of a batch.
func (v vectors) tileSizes() (panel int, rows, features func(vectors int) []int) {
	if v.lanes == 4 {
		few := func(int) []int { return []int{6, 2, 1} }
		return 2, few, func(int) []int { return []int{5, 2, 1} }
	}
	return 3, func(n int) []int { return [][]int{nil, {12, 4, 1}, {8, 4, 1}, {8, 2, 1}}[n] },
		func(n int) []int { return [][]int{nil, {10, 5, 2, 1}, {10, 5, 1}, {5, 2, 1}}[n] }
}

func (v vectors) matrix() {
	v.multiplyMatrix()
	v.scatterMatrix()
}

// tiles emits body for as many tiles of sizes[0] as the parameter n holds, then of
// sizes[1] and so on; the last size is 1.
func (g *generator) tiles(n string, sizes []int, body func(size int)) {
	left := g.intParam(n)
	for _, size := range sizes {
		again, done := g.label("tile"), g.label("tiles")
		g.CMPQ(left, operand.U32(size))
		g.JLT(label(done))
		g.Label(again)
		body(size)
		g.SUBQ(operand.U32(size), left)
		g.CMPQ(left, operand.U32(size))
		g.JGE(label(again))
		g.Label(done)
	}
}

// times emits body as often as a register says, which counts down and may be 0.
func (g *generator) times(left reg.Register, body func()) {
	again, done := g.label("again"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	body()
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
}

// walk emits body for n places one after the other: p moves by step bytes.
func (g *generator) walk(p, step reg.Register, n int, body func(i int)) {
	for i := range n {
		if i > 0 {
			g.ADDQ(step, p)
		}
		body(i)
	}
}

func (v vectors) multiplyMatrix() {
	panel, tileRows, _ := v.tileSizes()
	v.function(v.name("multiplyMatrix"), "func(dst, f, w []float64, rows, d, k int, a float64) bool",
		"is MultiplyMatrix, or, where a is not 0, MultiplyExp.")
	rowOut, rowIn := v.rowBytes(v.intParam("k")), v.rowBytes(v.intParam("d"))
	feature, weight, p, out, done := v.GP64(), v.GP64(), v.GP64(), v.GP64(), v.GP8()
	v.MOVB(operand.U8(1), done)
	v.Store(done, v.ReturnIndex(0))
	v.panels(v.intParam("k"), panel, func(offset reg.Register, n int, r *rest) {
		v.Load(v.Param("f").Base(), feature)
		v.Load(v.Param("dst").Base(), out)
		v.ADDQ(offset, out)
		v.tiles("rows", tileRows(n), func(size int) {
			sums := v.zeros(size * n)
			v.Load(v.Param("w").Base(), weight)
			v.ADDQ(offset, weight)
			v.times(v.intParam("d"), func() {
				columns := make([]reg.VecVirtual, n)
				for c := range columns {
					columns[c] = v.load(operand.Mem{Base: weight, Disp: v.bytes() * c}, last(c, n, r))
				}
				v.MOVQ(feature, p)
				v.walk(p, rowIn, size, func(i int) {
					a := v.broadcast(operand.Mem{Base: p})
					for c, column := range columns {
						v.VFMADD231PD(column, a, sums[i*n+c])
					}
				})
				v.ADDQ(operand.U8(8), feature)
				v.ADDQ(rowOut, weight)
			})
			// On to the next rows of features: d entries have been passed.
			if size > 1 {
				v.MOVQ(rowIn, p)
				v.IMUL3Q(operand.U8(size-1), p, p)
				v.ADDQ(p, feature)
			}
			v.walk(out, rowOut, size, func(i int) {
				for c := range n {
					v.storeApart(sums[i*n+c], operand.Mem{Base: out, Disp: v.bytes() * c}, last(c, n, r))
				}
			})
			v.ADDQ(rowOut, out)
		})
		v.exponentiate(offset, rowOut, n, r)
	})
	v.end()
}

// exponentiate makes exponentials of what a panel has, which is in the nearest cache still, and notes what is not safe.
func (v vectors) exponentiate(offset, step reg.Register, n int, r *rest) {
	plain, out, left, x := v.label("plain"), v.base("dst"), v.intParam("rows"), make([]reg.VecVirtual, n)
	a, largest, size := v.parameter("a"), v.zeroVector(), v.vector()
	v.VUCOMISD(largest.AsX(), a.AsX())
	v.JE(label(plain))
	v.ADDQ(offset, out)
	v.times(left, func() {
		for c := range x {
			x[c] = v.load(operand.Mem{Base: out, Disp: v.bytes() * c}, last(c, n, r))
			v.VMULPD(a, x[c], x[c])
			v.VANDPD(v.wide("magnitude"), x[c], size)
			v.largerBits(size, largest)
		}
		for c, y := range v.functions(moderateExp, x) {
			v.storeApart(y, operand.Mem{Base: out, Disp: v.bytes() * c}, last(c, n, r))
		}
		v.ADDQ(step, out)
	})
	v.ifNone(v.compare(cmpNotLessEqual, v.wide("moderate"), largest), plain)
	unsafe := v.GP8()
	v.XORB(unsafe, unsafe)
	v.Store(unsafe, v.ReturnIndex(0))
	v.Label(plain)
}

func (v vectors) scatterMatrix() {
	panel, _, tileFeatures := v.tileSizes()
	v.function(v.name("scatterMatrix"), "func(w, f, t []float64, rows, d, k int)", "is ScatterMatrix.")
	rowTarget, rowIn := v.rowBytes(v.intParam("k")), v.rowBytes(v.intParam("d"))
	feature, p, target, out := v.GP64(), v.GP64(), v.GP64(), v.GP64()
	v.panels(v.intParam("k"), panel, func(offset reg.Register, n int, r *rest) {
		v.Load(v.Param("f").Base(), feature)
		v.Load(v.Param("w").Base(), out)
		v.ADDQ(offset, out)
		v.tiles("d", tileFeatures(n), func(size int) {
			sums := v.zeros(size * n)
			v.Load(v.Param("t").Base(), target)
			v.ADDQ(offset, target)
			v.MOVQ(feature, p)
			v.times(v.intParam("rows"), func() {
				columns := make([]reg.VecVirtual, n)
				for c := range columns {
					columns[c] = v.load(operand.Mem{Base: target, Disp: v.bytes() * c}, last(c, n, r))
				}
				for j := range size {
					a := v.broadcast(operand.Mem{Base: p, Disp: 8 * j})
					for c, column := range columns {
						v.VFMADD231PD(column, a, sums[j*n+c])
					}
				}
				v.ADDQ(rowIn, p)
				v.ADDQ(rowTarget, target)
			})
			v.walk(out, rowTarget, size, func(j int) {
				for c := range n {
					sum, m, r := sums[j*n+c], operand.Mem{Base: out, Disp: v.bytes() * c}, last(c, n, r)
					v.VADDPD(v.load(m, r), sum, sum)
					v.storeApart(sum, m, r)
				}
			})
			v.ADDQ(rowTarget, out)
			v.ADDQ(operand.U32(8*size), feature)
		})
	})
	v.end()
}
