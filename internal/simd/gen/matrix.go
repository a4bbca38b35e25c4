package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A tile keeps sums in registers: panel vectors of columns times so many rows (or
// features). Each vector that is read then serves all rows of the tile and each
// broadcast number all its columns, so that multiply-adds, not loads, are the
// limit. Every sum is one chain in the order of its terms, whatever the tile.
//
// These are the sizes that fit 32 registers, or 16: sums, one vector for each
// column, and one broadcast.
const (
	panel512 = 4
	panel256 = 2
)

// multiplyTiles are the numbers of rows that a tile of so many vectors has, tried
// in this order. The second is for what is left of a batch: eight sums or so hide
// the time that each addition takes.
func multiplyTiles512(vectors int) []int {
	return [][]int{nil, {12, 4, 1}, {8, 4, 1}, {8, 2, 1}, {6, 2, 1}}[vectors]
}
func multiplyTiles256(int) []int { return []int{6, 2, 1} }

// scatterTiles are the numbers of features that a tile has, tried in this order.
func scatterTiles512(vectors int) []int {
	if vectors == 1 {
		return []int{10, 5, 2, 1}
	}
	return []int{5, 2, 1}
}
func scatterTiles256(int) []int { return []int{5, 2, 1} }

// vectorSet is what the matrix kernels need of a vector size. rest is the mask of
// the last vector of a panel, nil if it is whole.
type vectorSet[R any] struct {
	vector     func() reg.VecVirtual
	width      int // bytes
	zeros      func(n int) []reg.VecVirtual
	load       func(m operand.Mem, rest R) reg.VecVirtual
	store      func(z reg.VecVirtual, m operand.Mem, rest R)
	last       func(c, vectors int, rest R) R
	panels     func(n reg.Register, body func(offset reg.Register, vectors int, rest R))
	tileRows   func(vectors int) []int
	tileScales func(vectors int) []int
}

func (g *generator) vectors512() vectorSet[*reg.OpmaskVirtual] {
	return vectorSet[*reg.OpmaskVirtual]{
		g.ZMM, 64, g.zeros512, g.load512,
		func(z reg.VecVirtual, m operand.Mem, mask *reg.OpmaskVirtual) { g.store512(z, m, mask) },
		only,
		func(n reg.Register, body func(reg.Register, int, *reg.OpmaskVirtual)) {
			g.somePanels512(n, panel512, body)
		},
		multiplyTiles512, scatterTiles512,
	}
}

func (g avx2) vectors256() vectorSet[*rest256] {
	return vectorSet[*rest256]{
		g.YMM, 32, g.zeros256, g.load256, g.store256, last256,
		func(n reg.Register, body func(reg.Register, int, *rest256)) { g.panels256(n, panel256, body) },
		multiplyTiles256, scatterTiles256,
	}
}

func (g *generator) matrix512() {
	multiplyMatrix(g, "multiplyMatrix512", g.vectors512())
	scatterMatrix(g, "scatterMatrix512", g.vectors512())
}

func (g avx2) matrix256() {
	multiplyMatrix(g.generator, "multiplyMatrix256", g.vectors256())
	scatterMatrix(g.generator, "scatterMatrix256", g.vectors256())
}

// rowBytes returns the length in bytes of a row of n entries.
func (g *generator) rowBytes(n reg.Register) reg.Register {
	r := g.GP64()
	g.MOVQ(n, r)
	g.SHLQ(operand.U8(3), r)
	return r
}

func (g *generator) intParam(name string) reg.Register {
	return g.Load(g.Param(name), g.GP64())
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

// times emits body as often as the parameter n says; it may be 0.
func (g *generator) times(n string, body func()) {
	left, again, done := g.intParam(n), g.label("again"), g.label("done")
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

func multiplyMatrix[R any](g *generator, name string, set vectorSet[R]) {
	g.function(name, "func(dst, f, w []float64, rows, d, k int)", "is MultiplyMatrix.")
	rowOut, rowIn := g.rowBytes(g.intParam("k")), g.rowBytes(g.intParam("d"))
	feature, weight, p, out := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	set.panels(g.intParam("k"), func(offset reg.Register, vectors int, rest R) {
		g.Load(g.Param("f").Base(), feature)
		g.Load(g.Param("dst").Base(), out)
		g.ADDQ(offset, out)
		g.tiles("rows", set.tileRows(vectors), func(size int) {
			sums := set.zeros(size * vectors)
			g.Load(g.Param("w").Base(), weight)
			g.ADDQ(offset, weight)
			g.times("d", func() {
				columns := make([]reg.VecVirtual, vectors)
				for c := range columns {
					columns[c] = set.load(operand.Mem{Base: weight, Disp: set.width * c}, set.last(c, vectors, rest))
				}
				g.MOVQ(feature, p)
				g.walk(p, rowIn, size, func(i int) {
					a := set.vector()
					g.VBROADCASTSD(operand.Mem{Base: p}, a)
					for c, column := range columns {
						g.VFMADD231PD(column, a, sums[i*vectors+c])
					}
				})
				g.ADDQ(operand.U8(8), feature)
				g.ADDQ(rowOut, weight)
			})
			// On to the next rows of features: d entries have been passed.
			if size > 1 {
				g.MOVQ(rowIn, p)
				g.IMUL3Q(operand.U8(size-1), p, p)
				g.ADDQ(p, feature)
			}
			g.walk(out, rowOut, size, func(i int) {
				for c := range vectors {
					set.store(sums[i*vectors+c], operand.Mem{Base: out, Disp: set.width * c}, set.last(c, vectors, rest))
				}
			})
			g.ADDQ(rowOut, out)
		})
	})
	g.end()
}

func scatterMatrix[R any](g *generator, name string, set vectorSet[R]) {
	g.function(name, "func(w, f, t []float64, rows, d, k int)", "is ScatterMatrix.")
	rowTarget, rowIn := g.rowBytes(g.intParam("k")), g.rowBytes(g.intParam("d"))
	feature, p, target, out := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	set.panels(g.intParam("k"), func(offset reg.Register, vectors int, rest R) {
		g.Load(g.Param("f").Base(), feature)
		g.Load(g.Param("w").Base(), out)
		g.ADDQ(offset, out)
		g.tiles("d", set.tileScales(vectors), func(size int) {
			sums := set.zeros(size * vectors)
			g.Load(g.Param("t").Base(), target)
			g.ADDQ(offset, target)
			g.MOVQ(feature, p)
			g.times("rows", func() {
				columns := make([]reg.VecVirtual, vectors)
				for c := range columns {
					columns[c] = set.load(operand.Mem{Base: target, Disp: set.width * c}, set.last(c, vectors, rest))
				}
				for j := range size {
					a := set.vector()
					g.VBROADCASTSD(operand.Mem{Base: p, Disp: 8 * j}, a)
					for c, column := range columns {
						g.VFMADD231PD(column, a, sums[j*vectors+c])
					}
				}
				g.ADDQ(rowIn, p)
				g.ADDQ(rowTarget, target)
			})
			g.walk(out, rowTarget, size, func(j int) {
				for c := range vectors {
					sum, m, rest := sums[j*vectors+c], operand.Mem{Base: out, Disp: set.width * c}, set.last(c, vectors, rest)
					g.VADDPD(set.load(m, rest), sum, sum)
					set.store(sum, m, rest)
				}
			})
			g.ADDQ(rowTarget, out)
			g.ADDQ(operand.U32(8*size), feature)
		})
	})
	g.end()
}
