package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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

// strides holds multiples of a row's length in bytes, three times that where more than two rows are at hand.
type strides struct{ one, three reg.Register }

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
