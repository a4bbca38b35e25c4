package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The feasible belief of an edge, with cavities a and c of its ends, is made in the steps of
// edgeBeliefs256. To scale its rows to sums t takes the cavity a out of it:
//
//	r[i] = Σ_j values[i,j] c[j]        l[i] = t[i] / r[i]
//
// Sums of columns with l say how far off the belief is, and those with a are the rest of the total
// and of its weighted sum. Columns that are too heavy get smaller factors; what rows then lack
// is spread over columns that lack mass (consistentTable).

// Places in the scratch, from the weights of an edge: those of edgeBeliefs256 with the beliefs
// of the nodes behind. In the end the belief is left·right·values + lackLeft·lackRight/missing.
type feasible256 struct{ edgeBatch256 }

// batchMissing is where the scratch has 1/missing of each edge.
const (
	batchMissing      = batchBytes256
	feasibleBytes256  = batchMissing + 8*chunkEdges256
	feasibleVectors   = 4 // of a row whose sums are made at a time
	productFromWeight = batchProduct - batchWeight
)

func (g avx2) feasibleEdges256() {
	g.function("feasibleEdges256", "func(dst, logZ, product, off, beliefs, messages, tables []float64, edges *int, count, ku, kv int, enough float64) (done int)",
		fmt.Sprintf("is feasibleEdges for 1 to %d states, as far as edges are safe and inside the slices.", maxStates512))
	f := feasible256{edgeBatch256{g, g.alignedScratch(feasibleBytes256), g.GP64(), g.GP64(), g.GP64()}}
	f.chunks(2, f.allCavities, [][2]func(){{f.rowsOfEight, f.rows}, {f.columnsOfEight, f.columns}, {f.missingOfEight, f.missing}}, [2]func(){f.writeEight, f.write})
}

// half is where the beliefs of the nodes begin, from the weights of the edge.
func (g feasible256) half() reg.Register {
	p := g.GP64()
	g.MOVQ(g.slot(slotStride), p)
	g.SHRQ(operand.U8(1), p)
	g.ADDQ(g.weights, p)
	return p
}

// allCavities is cavities, with the log-beliefs of the nodes.
func (g feasible256) allCavities(stop string) {
	g.cavities(stop)
	to := g.half()
	for _, end := range []struct {
		states string
		field  int
	}{{"ku", edgeBeliefU}, {"kv", edgeBeliefV}} {
		belief := g.place(g.edge, end.field, g.base("beliefs"))
		g.row256(g.intParam(end.states), func(i reg.Register, offset int, rest *rest256) {
			g.VMOVUPD(g.orInfinity256(g.load256(at64(belief, i, offset), rest), rest), at64(to, i, offset))
		})
		if end.field == edgeBeliefU {
			g.ADDQ(g.slot(slotRight), to)
		}
	}
}

// ratio replaces x by x/y, at most largestScale, and 0 where y is not positive.
func (g feasible256) ratio(x, y reg.VecVirtual) {
	positive := g.zero256()
	g.VCMPPD(operand.U8(1), y, positive, positive)
	g.VDIVPD(y, x, x)
	g.VMINPD(g.wide("largestScale"), x, x)
	g.VANDPD(positive, x, x)
}

// scaleRows scales a vector of rows, whose sums are r, but for those that are forbidden, and adds to
// the weighted sum. weight is where a is.
func (g feasible256) scaleRows(weight, row operand.Mem, r, weighted reg.VecVirtual) {
	l, possible := g.load256(row, nil), g.zero256()
	g.VFMADD231PD(g.product(weight), r, weighted)
	g.VCMPPD(operand.U8(1), weight, possible, possible)
	g.ratio(l, r)
	g.VANDPD(possible, l, l)
	g.VMOVUPD(l, g.product(weight))
}

// scaleColumns finds how far a vector of columns is off, and makes its factors: x and u are the
// sums with a and with l. weight is where c is; column is what is wanted.
func (g feasible256) scaleColumns(weight, column operand.Mem, x, u, total, weighted, distance reg.VecVirtual) {
	c, lack := g.load256(weight, nil), g.load256(column, nil)
	want := g.YMM()
	g.VFMADD231PD(g.product(weight), x, weighted)
	g.VFMADD231PD(c, x, total)
	g.VMULPD(c, u, u)
	g.VMOVUPD(lack, want)
	g.VSUBPD(u, lack, lack)
	g.ratio(want, u)
	g.VMINPD(g.wide("one"), want, want)
	g.VMULPD(want, c, c)
	g.VMOVUPD(c, g.product(weight))
	size := u
	g.VANDPD(g.wide("magnitude"), lack, size)
	g.VADDPD(size, distance, distance)
	g.VMAXPD(g.zero256(), lack, lack)
	g.VMOVUPD(lack, column)
}

// addMissing adds what a vector of rows lacks, whose sums are r.
func (g feasible256) addMissing(left, row operand.Mem, r, sum reg.VecVirtual) {
	lack := g.load256(row, nil)
	g.VFNMADD231PD(left, r, lack)
	g.VMAXPD(g.zero256(), lack, lack)
	g.VADDPD(lack, sum, sum)
	g.VMOVUPD(lack, row)
}

// off is how far edge n is off.
func (g feasible256) off() operand.Mem {
	at, off := g.GP64(), g.base("off")
	g.MOVQ(g.slot(slotDone), at)
	g.ADDQ(g.n, at)
	return at64(off, at, 0)
}

// storeSums stores what the sums of columns tell of edge n.
func (g feasible256) storeSums(total, weighted, distance reg.VecVirtual) {
	g.storeTotals(total, weighted)
	g.spread256(g.VADDPD, distance)
	g.VMOVSD(distance.AsX(), g.off())
}

// unlessFar emits body, and for edges that are too far off what keeps the weights c of columns.
func (g feasible256) unlessFar(body, keep func()) {
	far, end := g.label("far"), g.label("near")
	distance := g.XMM()
	g.VMOVSD(g.off(), distance)
	g.VUCOMISD(distance, g.broadcastParam256("enough").AsX())
	g.JCS(label(far)) // below, or not a number
	body()
	g.JMP(label(end))
	g.Label(far)
	keep()
	none := g.zero()
	g.MOVQ(none, g.ofEdge(batchMissing))
	g.Label(end)
}

// storeMissing stores 1/missing, 0 if there is nothing to spread.
func (g feasible256) storeMissing(sum reg.VecVirtual) {
	g.spread256(g.VADDPD, sum)
	much, inverse := g.XMM(), g.XMM()
	g.VMOVSD(g.constant("one"), inverse)
	g.VDIVSD(sum.AsX(), inverse, inverse)
	negligible := g.copyWide("negligible")
	g.VCMPPD(operand.U8(1), sum.AsX(), negligible.AsX(), much)
	g.VANDPD(much, inverse, inverse)
	g.VMOVSD(inverse, g.ofEdge(batchMissing))
}

// Of tables of 8×8 all offsets are known.
const (
	eightRight  = 64
	eightRow    = 128
	eightColumn = 192
)

// eightSums returns the sums of the rows of a table of 8×8, weighted with what is in the scratch.
func (g feasible256) eightSums(table reg.Register, right operand.Mem) (sums [2]reg.VecVirtual) {
	c := []reg.VecVirtual{g.load256(right, nil), g.load256(right.Offset(32), nil)}
	for half := range sums {
		rows := make([]reg.VecVirtual, 4)
		for i := range rows {
			rows[i] = g.YMM()
			at := 64 * (4*half + i)
			g.VMULPD(operand.Mem{Base: table, Disp: at}, c[0], rows[i])
			g.VFMADD231PD(operand.Mem{Base: table, Disp: at + 32}, c[1], rows[i])
		}
		sums[half] = g.transposeSum256(rows)
	}
	return sums
}

func (g feasible256) weight(at int) operand.Mem { return operand.Mem{Base: g.weights, Disp: at} }

func (g feasible256) rowsOfEight() {
	weighted := g.zero256()
	for half, r := range g.eightSums(g.table(), g.weight(eightRight)) {
		g.scaleRows(g.weight(32*half), g.weight(eightRow+32*half), r, weighted)
	}
	g.VMOVUPD(weighted, g.product(g.weight(eightColumn)))
}

func (g feasible256) columnsOfEight() {
	table, total, weighted, distance := g.table(), g.zero256(), g.load256(g.product(g.weight(eightColumn)), nil), g.zero256()
	x, u := g.zeros256(2), g.zeros256(2)
	for i := range 8 {
		a, l, w := g.YMM(), g.YMM(), g.weight(8*i)
		g.VBROADCASTSD(w, a)
		g.VBROADCASTSD(g.product(w), l)
		for c := range x {
			z := g.load256(operand.Mem{Base: table, Disp: 64*i + 32*c}, nil)
			g.VFMADD231PD(z, a, x[c])
			g.VFMADD231PD(z, l, u[c])
		}
	}
	for c := range x {
		g.scaleColumns(g.weight(eightRight+32*c), g.weight(eightColumn+32*c), x[c], u[c], total, weighted, distance)
	}
	g.storeSums(total, weighted, distance)
}

func (g feasible256) missingOfEight() {
	g.unlessFar(func() {
		sum := g.zero256()
		for half, r := range g.eightSums(g.table(), g.product(g.weight(eightRight))) {
			g.addMissing(g.product(g.weight(32*half)), g.weight(eightRow+32*half), r, sum)
		}
		g.storeMissing(sum)
	}, func() {
		for c := range 2 {
			g.VMOVUPD(g.load256(g.weight(eightRight+32*c), nil), g.product(g.weight(eightRight+32*c)))
		}
	})
}

func (g feasible256) writeEight() {
	table, to, inverse := g.table(), g.to(), g.YMM()
	g.VBROADCASTSD(g.ofEdge(batchMissing), inverse)
	var right, lack [2]reg.VecVirtual
	for c := range right {
		right[c], lack[c] = g.load256(g.product(g.weight(eightRight+32*c)), nil), g.YMM()
		g.VMULPD(g.weight(eightColumn+32*c), inverse, lack[c])
	}
	for i := range 8 {
		l, more := g.YMM(), g.YMM()
		g.VBROADCASTSD(g.product(g.weight(8*i)), l)
		g.VBROADCASTSD(g.weight(eightRow+8*i), more)
		for c := range right {
			z := g.YMM()
			at := 64*i + 32*c
			g.VMULPD(operand.Mem{Base: table, Disp: at}, l, z)
			g.VMULPD(right[c], z, z)
			g.VFMADD231PD(lack[c], more, z)
			g.VMOVUPD(z, operand.Mem{Base: to, Disp: at})
		}
	}
}

// rowSums gives use, for each four rows, the sums of their entries with weights, and the offset in
// bytes of the first. Rows that are none repeat the last.
func (g feasible256) rowSums(right reg.Register, use func(at reg.Register, sums reg.VecVirtual)) {
	p := [4]reg.Register{g.table(), g.GP64(), g.GP64(), g.GP64()}
	at, last, one := g.zero(), g.GP64(), g.GP64()
	g.MOVQ(g.rowBytes(g.intParam("kv")), one)
	g.MOVQ(one, g.slot(slotRow))
	g.MOVQ(g.intParam("ku"), last)
	g.MOVQ(last, g.slot(slotRows))
	g.DECQ(last)
	g.IMULQ(one, last)
	g.ADDQ(p[0], last)
	g.MOVQ(last, g.slot(slotEnd))
	again := g.label("rows")
	g.Label(again)
	for i := 1; i < 4; i++ {
		g.MOVQ(p[i-1], p[i])
		g.ADDQ(g.slot(slotRow), p[i])
		g.CMPQ(p[i], g.slot(slotEnd))
		g.CMOVQHI(g.slot(slotEnd), p[i])
	}
	sums := g.zeros256(4)
	g.row256(g.intParam("kv"), func(j reg.Register, offset int, rest *rest256) {
		c := g.load256(at64(right, j, offset), nil)
		for i, sum := range sums {
			g.operate256(g.VFMADD231PD, at64(p[i], j, offset), rest, c, sum)
		}
	})
	use(at, g.transposeSum256(sums))
	g.MOVQ(p[3], p[0])
	g.ADDQ(g.slot(slotRow), p[0])
	g.ADDQ(operand.U8(32), at)
	g.SUBQ(operand.U8(4), g.slot(slotRows))
	g.JG(label(again))
}

func (g feasible256) rows() {
	weighted, row := g.zero256(), g.half()
	g.rowSums(g.rightWeights(), func(at reg.Register, r reg.VecVirtual) {
		g.scaleRows(bytes(g.weights, at, 0), bytes(row, at, 0), r, weighted)
	})
	g.ADDQ(g.slot(slotRight), row)
	g.VMOVUPD(weighted, g.product(operand.Mem{Base: row}))
}

func (g feasible256) columns() {
	table, right, column, row, w := g.table(), g.rightWeights(), g.half(), g.GP64(), g.GP64()
	g.ADDQ(g.slot(slotRight), column)
	total, weighted, distance := g.zero256(), g.load256(g.product(operand.Mem{Base: column}), nil), g.zero256()
	s := g.strides(g.intParam("kv"), 1)
	g.panels256(g.intParam("kv"), feasibleVectors, func(offset reg.Register, vectors int, rest *rest256) {
		g.MOVQ(g.weights, w)
		g.LEAQ(bytes(table, offset, 0), row)
		x, u := g.zeros256(vectors), g.zeros256(vectors)
		g.generator.rows(g.intParam("ku"), 1, func(int) {
			a, l, weight := g.YMM(), g.YMM(), operand.Mem{Base: w}
			g.VBROADCASTSD(weight, a)
			g.VBROADCASTSD(g.product(weight), l)
			for c := range vectors {
				z := g.load256(operand.Mem{Base: row, Disp: 32 * c}, last256(c, vectors, rest))
				g.VFMADD231PD(z, a, x[c])
				g.VFMADD231PD(z, l, u[c])
			}
		}, func(rows int) {
			g.ADDQ(operand.U32(8*rows), w)
			g.advance(s, row, rows)
		})
		for c := range vectors {
			g.scaleColumns(bytes(right, offset, 32*c), bytes(column, offset, 32*c), x[c], u[c], total, weighted, distance)
		}
	})
	g.storeSums(total, weighted, distance)
}

func (g feasible256) missing() {
	g.unlessFar(func() {
		sum, right, row := g.zero256(), g.rightWeights(), g.half()
		g.ADDQ(operand.U32(productFromWeight), right)
		g.rowSums(right, func(at reg.Register, r reg.VecVirtual) {
			g.addMissing(g.product(bytes(g.weights, at, 0)), bytes(row, at, 0), r, sum)
		})
		g.storeMissing(sum)
	}, func() {
		right, i, again := g.rightWeights(), g.zero(), g.label("keep")
		g.Label(again)
		g.VMOVUPD(g.load256(at64(right, i, 0), nil), g.product(at64(right, i, 0)))
		g.ADDQ(operand.U8(4), i)
		g.CMPQ(i, g.intParam("kv"))
		g.JL(label(again))
	})
}

func (g feasible256) write() {
	right, column, half := g.rightWeights(), g.GP64(), g.GP64()
	g.MOVQ(g.slot(slotStride), half)
	g.SHRQ(operand.U8(1), half)
	g.LEAQ(bytes(right, half, 0), column)
	l, lack, inverse := g.YMM(), g.YMM(), g.YMM()
	g.VBROADCASTSD(g.ofEdge(batchMissing), inverse)
	g.beliefOf(func(weight operand.Mem) {
		g.VBROADCASTSD(g.product(weight), l)
		g.VBROADCASTSD(bytes(weight.Base, half, 0), lack)
		g.VMULPD(inverse, lack, lack)
	}, func(z reg.VecVirtual, i reg.Register) {
		g.VMULPD(g.product(at64(right, i, 0)), z, z)
		g.VMULPD(l, z, z)
		g.VFMADD231PD(at64(column, i, 0), lack, z)
	})
}
