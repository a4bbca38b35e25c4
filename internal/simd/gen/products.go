package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// productPanel is how many vectors of a row are summed at a time.
const productPanel = 4

// products stores whole vectors, as cavities does. Rows of 8 entries and, with AVX2, tables of 2×2 are cases of
// their own: for them loops take as long as what is in them.
func (v vectors) products() {
	v.function(v.name("products"), "func(out, weights, tables []float64, list *int, count int)", "is Products.")
	v.items(messageSize, func(item, left reg.Register, _ string) {
		next := v.label("next")
		v.prefetchTable(item, left)
		o, w, t := v.shortPlace(item, messageOut, v.base("out")), v.shortPlace(item, messageWeight, v.base("weights")),
			v.place(item, messageTable, v.base("tables"))
		for _, k := range map[int][]int{4: {8, 2}, 8: {8}}[v.lanes] {
			v.ofStates(item, k, o, w, t, next)
		}
		backward := v.label("backward")
		v.CMPL(operand.Mem{Base: item, Disp: messageBackward}, operand.U8(0))
		v.JNE(label(backward))
		v.forward(item, o, w, t)
		v.JMP(label(next))
		v.Label(backward)
		v.backward(item, o, t)
		v.Label(next)
	})
	v.end()
}

// lookahead is how many messages before it is needed a table is asked for: the order of the tables is nothing
// that the processor could guess.
const lookahead = 8

// prefetchTable asks for the first lines of a table that is needed soon.
func (v vectors) prefetchTable(item, left reg.Register) {
	last := v.label("last")
	v.CMPQ(left, operand.U8(lookahead))
	v.JLE(label(last))
	t := v.place(item, lookahead*messageSize+messageTable, v.base("tables"))
	for line := range 8 {
		v.PREFETCHT0(operand.Mem{Base: t, Disp: 64 * line})
	}
	v.Label(last)
}

// ofStates emits messages between k states and k states, and goes to next from there.
func (v vectors) ofStates(item reg.Register, k int, o, w, t reg.Register, next string) {
	other, back, both := v.label("other"), v.label("back"), v.GP64()
	v.MOVQ(operand.U64(uint64(k)<<32|uint64(k)), both)
	v.CMPQ(both, operand.Mem{Base: item, Disp: messageSource}) // and the target
	v.JNE(label(other))
	forward, backward := v.eightForward, v.eightBackward
	if k == 2 {
		forward, backward = v.twoForward, v.twoBackward
	}
	v.CMPL(operand.Mem{Base: item, Disp: messageBackward}, operand.U8(0))
	v.JNE(label(back))
	forward(o, w, t)
	v.JMP(label(next))
	v.Label(back)
	backward(o, w, t)
	v.JMP(label(next))
	v.Label(other)
}

// eightForward stores the sum of the eight rows of a table, each times a weight.
func (v vectors) eightForward(o, w, t reg.Register) {
	n := 8 / v.lanes // vectors of a row
	sums := make([]reg.VecVirtual, 4)
	for y := range 8 {
		a := v.broadcast(operand.Mem{Base: w, Disp: 8 * y})
		for c := range n {
			m, chain := operand.Mem{Base: t, Disp: 64*y + v.bytes()*c}, (y*n+c)%4
			if sums[chain] == nil {
				sums[chain] = v.vector()
				v.VMULPD(m, a, sums[chain])
			} else {
				v.VFMADD231PD(m, a, sums[chain])
			}
		}
	}
	for half := 2; half >= n; half /= 2 {
		for c := range half {
			v.VADDPD(sums[half+c], sums[c], sums[c])
		}
	}
	for c := range n {
		v.VMOVUPD(sums[c], operand.Mem{Base: o, Disp: v.bytes() * c})
	}
}

// eightBackward stores the products of the eight rows of a table with the weights.
func (v vectors) eightBackward(o, w, t reg.Register) {
	n := 8 / v.lanes
	weight := make([]reg.VecVirtual, n)
	for c := range weight {
		weight[c] = v.load(operand.Mem{Base: w, Disp: v.bytes() * c}, nil)
	}
	for first := 0; first < 8; first += v.lanes {
		products := v.several(v.lanes)
		for i, product := range products {
			v.VMULPD(operand.Mem{Base: t, Disp: 64 * (first + i)}, weight[0], product)
			for c := 1; c < n; c++ {
				v.VFMADD231PD(operand.Mem{Base: t, Disp: 64*(first+i) + v.bytes()*c}, weight[c], product)
			}
		}
		v.VMOVUPD(v.transposeSum(products), operand.Mem{Base: o, Disp: 8 * first})
	}
}

// twoForward is for a table of 2×2, which is one vector of four.
func (v vectors) twoForward(o, w, t reg.Register) {
	weight, high := v.YMM(), v.XMM()
	v.VBROADCASTF128(operand.Mem{Base: w}, weight)
	v.VPERMILPD(operand.U8(0x0c), weight, weight)
	v.VMULPD(operand.Mem{Base: t}, weight, weight)
	v.VEXTRACTF128(operand.U8(1), weight, high)
	v.VADDPD(high, weight.AsX(), high)
	v.VMOVUPD(high, operand.Mem{Base: o})
}

func (v vectors) twoBackward(o, w, t reg.Register) {
	weight, high := v.YMM(), v.XMM()
	v.VBROADCASTF128(operand.Mem{Base: w}, weight)
	v.VMULPD(operand.Mem{Base: t}, weight, weight)
	v.VEXTRACTF128(operand.U8(1), weight, high)
	v.VHADDPD(high, weight.AsX(), high)
	v.VMOVUPD(high, operand.Mem{Base: o})
}

// forward stores Σ_y w[y]·row y of a table.
func (v vectors) forward(item, o, w, t reg.Register) {
	const unroll = 2
	s, weight, row := v.strides(v.short(item, messageTarget), unroll), v.GP64(), v.GP64()
	v.panels(v.short(item, messageTarget), productPanel, func(offset reg.Register, n int, r *rest) {
		sums := v.zeros(unroll * n)
		v.MOVQ(w, weight)
		v.LEAQ(bytes(t, offset, 0), row)
		v.rows(v.short(item, messageSource), unroll, func(u int) {
			a := v.broadcast(operand.Mem{Base: weight, Disp: 8 * u})
			for c := range n {
				v.VFMADD231PD(v.load(s.row(row, u, v.bytes()*c), last(c, n, r)), a, sums[u*n+c])
			}
		}, func(rows int) {
			v.ADDQ(operand.U32(8*rows), weight)
			v.advance(s, row, rows)
		})
		for c := range n {
			v.VADDPD(sums[n+c], sums[c], sums[c])
			v.VMOVUPD(sums[c], bytes(o, offset, v.bytes()*c))
		}
	})
}

// backward stores the products of w with the rows of a table, as many at a time as a vector has entries.
func (v vectors) backward(item, to, row reg.Register) {
	s, column := v.eightRows(v.short(item, messageSource)), v.GP64()
	v.blocks(v.short(item, messageTarget), func(left reg.Register) {
		sums, weight := v.zeros(v.lanes), v.shortPlace(item, messageWeight, v.base("weights"))
		v.MOVQ(row, column)
		v.loop(v.short(item, messageSource), 1, func(_ reg.Register, _ int, r *rest) {
			x, end := v.load(operand.Mem{Base: weight}, r), v.label("column")
			for i, sum := range sums {
				v.unlessLess(left, i, end)
				v.VFMADD231PD(v.load(s.row(column, i), r), x, sum)
			}
			v.Label(end)
			v.ADDQ(operand.U32(v.bytes()), weight)
			v.ADDQ(operand.U32(v.bytes()), column)
		})
		v.VMOVUPD(v.transposeSum(sums), operand.Mem{Base: to})
		v.ADDQ(operand.U32(v.bytes()), to)
		v.LEAQ(operand.Mem{Base: row, Index: s.one, Scale: uint8(v.lanes)}, row)
	})
}
