package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// feasiblePanel is how many vectors of a row are summed at a time.
const feasiblePanel = 4

// Places on the stack where feasible keeps its way through tables, rows and columns: there are not registers enough.
const (
	feasibleTable = 8 * iota
	feasibleRow
	feasibleColumn
	feasibleBytes
)

// feasible emits the scaling of rows, and the spreading of what columns lack then.
func (v vectors) feasible() {
	v.function(v.name("feasible"), "func(tables, rows, columns, factors []float64, ku, kv int)",
		"is Feasible for one edge and more.")
	local := v.AllocLocal(feasibleBytes)
	// at is where a part of the edge at hand begins.
	at := func(part int) reg.Register {
		p := v.GP64()
		v.MOVQ(local.Offset(part), p)
		return p
	}
	left, again := v.length("rows"), v.label("edge")
	for i, slice := range []string{"tables", "rows", "columns"} {
		v.MOVQ(v.base(slice), local.Offset(8*i))
	}
	v.Label(again)
	v.rowFactors(at)
	rowBytes, row, i := v.rowBytes(v.intParam("kv")), v.GP64(), v.GP64()
	v.panels(v.intParam("kv"), feasiblePanel, func(offset reg.Register, n int, r *rest) {
		// ofRows emits body for the rows of the panel.
		ofRows := func(body func(factor reg.VecVirtual)) {
			next := v.label("row")
			v.MOVQ(at(feasibleTable), row)
			v.ADDQ(offset, row)
			v.XORQ(i, i)
			v.Label(next)
			body(v.broadcast(at64(v.base("factors"), i, 0)))
			v.ADDQ(rowBytes, row)
			v.INCQ(i)
			v.CMPQ(i, v.intParam("ku"))
			v.JLT(label(next))
		}
		lack := v.zeros(n)
		ofRows(func(factor reg.VecVirtual) {
			for c, sum := range lack {
				v.VFMADD231PD(v.load(operand.Mem{Base: row, Disp: v.bytes() * c}, last(c, n, r)), factor, sum)
			}
		})
		for c, sum := range lack {
			v.VSUBPD(sum, v.load(bytes(at(feasibleColumn), offset, v.bytes()*c), last(c, n, r)), sum)
		}
		ofRows(func(factor reg.VecVirtual) {
			share := v.broadcast(at64(at(feasibleRow), i, 0))
			for c := range n {
				m := operand.Mem{Base: row, Disp: v.bytes() * c}
				x := v.load(m, last(c, n, r))
				v.VMULPD(factor, x, x)
				v.VFMADD231PD(lack[c], share, x)
				v.storeApart(x, m, last(c, n, r))
			}
		})
	})
	ku := v.intParam("ku")
	v.SUBQ(ku, left)
	v.ADDQ(rowBytes, local.Offset(feasibleColumn))
	v.IMULQ(ku, rowBytes)
	v.ADDQ(rowBytes, local.Offset(feasibleTable))
	v.SHLQ(operand.U8(3), ku)
	v.ADDQ(ku, local.Offset(feasibleRow))
	v.TESTQ(left, left)
	v.JG(label(again))
	v.end()
}

// rowFactors writes what each row is multiplied by to have its sum.
func (v vectors) rowFactors(at func(part int) reg.Register) {
	s, row, i, column := v.eightRows(v.intParam("kv")), at(feasibleTable), v.zero(), v.GP64()
	v.blocks(v.intParam("ku"), func(left reg.Register) {
		sums, want := v.zeros(v.lanes), (*rest)(nil)
		v.MOVQ(row, column)
		v.loop(v.intParam("kv"), 1, func(_ reg.Register, _ int, r *rest) {
			end := v.label("column")
			for i, sum := range sums {
				v.unlessLess(left, i, end)
				v.VADDPD(v.load(s.row(column, i), r), sum, sum)
			}
			v.Label(end)
			v.ADDQ(operand.U32(v.bytes()), column)
		})
		if left != nil {
			want = v.first(left)
		}
		sum, factor := v.transposeSum(sums), v.load(at64(at(feasibleRow), i, 0), want)
		v.VMAXPD(v.wide("tooSmall"), sum, sum)
		v.VDIVPD(sum, factor, factor)
		v.VMOVUPD(factor, at64(v.base("factors"), i, 0))
		v.LEAQ(operand.Mem{Base: row, Index: s.one, Scale: uint8(v.lanes)}, row)
		v.ADDQ(operand.U8(v.lanes), i)
	})
}
