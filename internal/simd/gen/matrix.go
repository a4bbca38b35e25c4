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
	entry      int // bytes of an entry
	number     string
	broadcast  func(...operand.Op)
	fma        func(...operand.Op)
	// accumulate adds a vector of sums to what is at m, of entries of so many bytes.
	accumulated int
	accumulate  func(sum reg.VecVirtual, m operand.Mem, rest R)
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
		8, "float64", g.VBROADCASTSD, g.VFMADD231PD,
		8, func(sum reg.VecVirtual, m operand.Mem, mask *reg.OpmaskVirtual) {
			g.VADDPD(g.load512(m, mask), sum, sum)
			g.store512(sum, m, mask)
		},
	}
}

func (g avx2) vectors256() vectorSet[*rest256] {
	set := vectorSet[*rest256]{
		g.YMM, 32, g.zeros256, g.load256, g.store256, last256,
		func(n reg.Register, body func(reg.Register, int, *rest256)) { g.panels256(n, panel256, body) },
		multiplyTiles256, scatterTiles256,
		g.entry, g.number, g.broadcast, g.fma231,
		8, func(sum reg.VecVirtual, m operand.Mem, rest *rest256) {
			g.VADDPD(g.load256(m, rest), sum, sum)
			g.store256(sum, m, rest)
		},
	}
	if g.single() {
		set.accumulate = g.accumulateSingles256
	}
	return set
}

// accumulateSingles256 adds float32 sums to float64 numbers.
func (g avx2) accumulateSingles256(sum reg.VecVirtual, m operand.Mem, rest *rest256) {
	d, halves, high := g.doubles256(), []reg.VecVirtual{g.YMM(), g.YMM()}, g.XMM()
	g.VCVTPS2PD(sum.AsX(), halves[0])
	g.VEXTRACTF128(operand.U8(1), sum, high)
	g.VCVTPS2PD(high, halves[1])
	addTo := func(half int, rest *rest256) {
		p := m.Offset(32 * half)
		g.VADDPD(d.load256(p, rest), halves[half], halves[half])
		d.store256(halves[half], p, rest)
	}
	if rest == nil {
		addTo(0, nil)
		addTo(1, nil)
		return
	}
	few, done, left := g.label("few"), g.label("added"), g.GP64()
	g.MOVQ(rest.count, left)
	g.CMPQ(left, operand.U8(4))
	g.JLE(label(few))
	addTo(0, nil)
	g.SUBQ(operand.U8(4), left)
	addTo(1, d.rest256(left))
	g.JMP(label(done))
	g.Label(few)
	addTo(0, d.rest256(left))
	g.Label(done)
}

func (g *generator) matrix512() {
	multiplyMatrix(g, "multiplyMatrix512", g.vectors512())
	scatterMatrix(g, "scatterMatrix512", g.vectors512())
}

func (g avx2) matrix256() {
	multiplyMatrix(g.generator, "multiplyMatrix"+g.mark+"256", g.vectors256())
	scatterMatrix(g.generator, "scatterMatrix"+g.mark+"256", g.vectors256())
}

// rowBytes returns the length in bytes of a row of n entries, of 4 or 8 bytes.
func (g *generator) rowBytes(n reg.Register, entry int) reg.Register {
	r := g.GP64()
	g.MOVQ(n, r)
	g.SHLQ(operand.U8(entry/4+1), r)
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
	g.function(name, "func(dst, f, w []"+set.number+", rows, d, k int)", "is MultiplyMatrix for "+set.number+".")
	rowOut, rowIn := g.rowBytes(g.intParam("k"), set.entry), g.rowBytes(g.intParam("d"), set.entry)
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
					set.broadcast(operand.Mem{Base: p}, a)
					for c, column := range columns {
						set.fma(column, a, sums[i*vectors+c])
					}
				})
				g.ADDQ(operand.U8(set.entry), feature)
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
	g.function(name, "func(w []float64, f, t []"+set.number+", rows, d, k int)", "is ScatterMatrix for "+set.number+".")
	rowTarget, rowIn := g.rowBytes(g.intParam("k"), set.entry), g.rowBytes(g.intParam("d"), set.entry)
	rowOut, times := rowTarget, set.accumulated/set.entry
	if times > 1 {
		rowOut = g.rowBytes(g.intParam("k"), set.accumulated)
	}
	feature, p, target, out := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	set.panels(g.intParam("k"), func(offset reg.Register, vectors int, rest R) {
		g.Load(g.Param("f").Base(), feature)
		g.Load(g.Param("w").Base(), out)
		for range times {
			g.ADDQ(offset, out)
		}
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
					set.broadcast(operand.Mem{Base: p, Disp: set.entry * j}, a)
					for c, column := range columns {
						set.fma(column, a, sums[j*vectors+c])
					}
				}
				g.ADDQ(rowIn, p)
				g.ADDQ(rowTarget, target)
			})
			g.walk(out, rowOut, size, func(j int) {
				for c := range vectors {
					set.accumulate(sums[j*vectors+c], operand.Mem{Base: out, Disp: times * set.width * c}, set.last(c, vectors, rest))
				}
			})
			g.ADDQ(rowOut, out)
			g.ADDQ(operand.U32(set.entry*size), feature)
		})
	})
	g.end()
}
