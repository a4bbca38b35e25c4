package main

import "github.com/mmcloughlin/avo/operand"

// prefetchRows asks for rows of an array, of so many bytes each, line by line.
func (g *generator) prefetchRows() {
	g.function("prefetchRows", "func(array *byte, rows []int32, size int)", "is PrefetchRows for rows of size bytes.")
	array, size := g.Load(g.Param("array"), g.GP64()), g.intParam("size")
	row, left := g.base("rows"), g.length("rows")
	again, line, done := g.label("row"), g.label("line"), g.label("done")
	g.TESTQ(left, left)
	g.JLE(label(done))
	g.Label(again)
	p, end := g.GP64(), g.GP64()
	g.MOVLQSX(operand.Mem{Base: row}, p)
	g.IMULQ(size, p)
	g.ADDQ(array, p)
	g.LEAQ(operand.Mem{Base: p, Index: size, Scale: 1}, end)
	g.Label(line)
	g.PREFETCHT0(operand.Mem{Base: p})
	g.ADDQ(operand.U8(64), p)
	g.CMPQ(p, end)
	g.JL(label(line))
	// The row may begin within a line and end in one more.
	g.PREFETCHT0(operand.Mem{Base: end, Disp: -1})
	g.ADDQ(operand.U8(4), row)
	g.DECQ(left)
	g.JNZ(label(again))
	g.Label(done)
	g.RET()
}
