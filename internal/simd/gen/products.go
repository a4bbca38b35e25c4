package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// productPanel is how many vectors of a row are summed at a time.
const productPanel = 4

// products has loops of their own for rows of 8 entries: for them tests of a shape take as long as what is in them.
func (v vectors) products() {
	v.function(v.name("products"), "func(o, w, t []float64, d, e []int32, p []int, x, y int, xs, ys []int32)",
		"is Products, from x states to y, or for the i-th from xs[i] to ys[i].")
	o, w, left, other, done := v.base("o"), v.base("w"), v.length("d"), v.label("other"), v.label("done")
	for _, end := range []string{"x", "y"} {
		v.CMPQ(v.intParam(end), operand.U8(8))
		v.JNE(label(other))
	}
	v.eachMessage(o, w, left, nil, v.eightForward, v.eightBackward)
	v.JMP(label(done))
	v.Label(other)
	v.eachMessage(o, w, left, []string{"x", "y"}, v.forward, v.backward)
	v.Label(done)
	v.end()
}

// eachMessage walks over a list of messages: forward and backward get where what a message sends is stored, its weights
// and its table, the first lines of which are asked for ahead. The sizes of ends may differ from message to message.
func (v vectors) eachMessage(
	o, w, left reg.Register, ends []string, forward, backward func(o, w, t reg.Register),
) {
	v.times(left, func() {
		next, back, last, i := v.label("next"), v.label("back"), v.label("last"), v.length("d")
		v.SUBQ(left, i)
		for _, end := range ends {
			n := v.intParam(end)
			v.sizeOf(end+"s", i, n)
			v.Store(n, v.Param(end))
		}
		v.CMPQ(left, operand.U8(lookahead))
		v.JLE(label(last))
		ahead := v.table(i, lookahead)
		for line := range 8 {
			v.PREFETCHT0(operand.Mem{Base: ahead, Disp: 64 * line})
		}
		v.Label(last)
		t, d := v.table(i, 0), v.base("d")
		v.TESTL(operand.U32(1), operand.Mem{Base: d, Index: i, Scale: 4})
		v.JNZ(label(back))
		forward(o, w, t)
		v.JMP(label(next))
		v.Label(back)
		backward(o, w, t)
		v.Label(next)
		v.LEAQ(at64(w, v.intParam("x"), 0), w)
		v.LEAQ(at64(o, v.intParam("y"), 0), o)
	})
}

// table returns the address of the table of the i-th edge of a list.
func (v vectors) table(i reg.Register, ahead int) reg.Register {
	p := v.base("e")
	v.MOVLQSX(operand.Mem{Base: p, Index: i, Scale: 4, Disp: 4 * ahead}, p)
	v.MOVQ(at64(v.base("p"), p, 0), p)
	v.LEAQ(at64(v.base("t"), p, 0), p)
	return p
}

// lookahead is how many messages before it is needed a table is asked for: the order of the tables is nothing
// that the processor could guess.
const lookahead = 8

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

// forward stores Σ_y w[y]·row y of a table.
func (v vectors) forward(o, w, t reg.Register) {
	const unroll = 2
	s, weight, row := strides{one: v.rowBytes(v.intParam("y"))}, v.GP64(), v.GP64()
	v.panels(v.intParam("y"), productPanel, func(offset reg.Register, n int, r *rest) {
		sums := v.zeros(unroll * n)
		v.MOVQ(w, weight)
		v.LEAQ(bytes(t, offset, 0), row)
		v.rows(v.intParam("x"), unroll, func(u int) {
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
func (v vectors) backward(o, w, row reg.Register) {
	s, column, begin := v.eightRows(v.intParam("x")), v.GP64(), v.AllocLocal(8)
	v.MOVQ(o, begin)
	v.blocks(v.intParam("y"), func(left reg.Register) {
		sums, weight := v.zeros(v.lanes), v.GP64()
		v.MOVQ(w, weight)
		v.MOVQ(row, column)
		v.loop(v.intParam("x"), 1, func(_ reg.Register, _ int, r *rest) {
			x, end := v.load(operand.Mem{Base: weight}, r), v.label("column")
			for i, sum := range sums {
				v.unlessLess(left, i, end)
				v.VFMADD231PD(v.load(s.row(column, i), r), x, sum)
			}
			v.Label(end)
			v.ADDQ(operand.U32(v.bytes()), weight)
			v.ADDQ(operand.U32(v.bytes()), column)
		})
		v.VMOVUPD(v.transposeSum(sums), operand.Mem{Base: o})
		v.ADDQ(operand.U32(v.bytes()), o)
		v.LEAQ(operand.Mem{Base: row, Index: s.one, Scale: uint8(v.lanes)}, row)
	})
	v.MOVQ(begin, o)
}
