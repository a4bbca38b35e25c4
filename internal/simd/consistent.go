package simd

import "math"

// largestScale keeps products of two factors finite: an infinite one would turn the
// zeros beside it into NaN.
const largestScale = 1e150

// negligibleMass is the inconsistency that beliefs may keep: it changes values by
// no more than rounding does. A tenth of it ends the scaling.
const negligibleMass = 1e-13

// maxScalings bounds the alternating scalings of Consistent.
const maxScalings = 100

// Consistent changes the beliefs of edges of one shape, tables of ku rows and kv columns one
// behind the other, so that the sums of their rows are those of rows, ku for each, and the
// sums of their columns those of columns; and returns their entropies, one for each edge.
//
// Rows and columns are scaled in turn (Sinkhorn), which keeps zeros, until no more than a
// share of the first distance is left, or nothing but rounding. What is left then is taken
// out of columns that are too heavy, and spread as an outer product over rows and columns
// that are too light (Altschuler, Weed and Rigollet 2017). That is done too where scaling
// does not get there, as where a row has less than 1/largestScale of its mass.
//
// len(beliefs) ≥ len(entropy)·ku·kv, len(rows) ≥ len(entropy)·ku, len(columns) ≥
// len(entropy)·kv, len(scratch) ≥ ConsistentRoom(ku, kv); rows and columns are left with
// rubbish. ku, kv > 0.
func Consistent(beliefs, entropy, rows, columns, scratch []float64, ku, kv int, share float64) {
	n := len(entropy)
	active.consistent(beliefs[:n*ku*kv], entropy, rows[:n*ku], columns[:n*kv], scratch[:ConsistentRoom(ku, kv)], ku, kv, share)
}

func (with *implementation) consistent(beliefs, entropy, rows, columns, scratch []float64, ku, kv int, share float64) {
	if with.panels != nil && ku*kv <= panelEntries {
		with.panels.all(beliefs, entropy, rows, columns, scratch, ku, kv, share)
		return
	}
	for i := range entropy {
		entropy[i] = with.consistentTable(beliefs[i*ku*kv:][:ku*kv], rows[i*ku:][:ku], columns[i*kv:][:kv], scratch, share)
	}
}

// panelEntries is how many entries tables have at most for several edges to be done
// together, each in one entry of vectors: what they take stays in the nearest cache.
const panelEntries = 256

// mostLanes is how many edges the largest panel has.
const mostLanes = 8

// ConsistentRoom returns the length of scratch that Consistent wants.
func ConsistentRoom(ku, kv int) int {
	if ku*kv > panelEntries {
		return ku + 2*kv
	}
	// A panel with its vectors, and a copy of edges that are too few for one.
	return mostLanes * (2*ku*kv + 3*ku + 4*kv + 1)
}

// consistentTable is Consistent for one edge, row after row.
func (with *implementation) consistentTable(table, row, column, scratch []float64, share float64) (entropy float64) {
	ku, kv := len(row), len(column)
	left, right, sums := scratch[:ku], scratch[ku:][:kv], scratch[ku+kv:][:kv]
	for j := range right {
		right[j] = 1
	}
	limit := 0.0
	for scaling := 0; ; scaling++ {
		with.tableVector(left, right, table)
		for i, want := range row {
			left[i] = ratio(want, left[i])
		}
		with.vectorTable(sums, left, table)
		distance := 0.0
		for j, want := range column {
			distance += math.Abs(want - right[j]*sums[j])
		}
		if scaling == 0 {
			limit = max(share*distance, negligibleMass/10)
		}
		if !(distance > limit) || scaling == maxScalings {
			break
		}
		for j, want := range column {
			right[j] = ratio(want, sums[j])
		}
	}
	for j, want := range column {
		sum := right[j] * sums[j]
		right[j] *= min(1, ratio(want, sum))
		sums[j] = max(0, want-sum) // what the column lacks
	}
	with.pairProduct(table, left, right, table)
	for j := range right {
		right[j] = 1
	}
	with.tableVector(left, right, table)
	missing := 0.0
	for i, want := range row {
		left[i] = max(0, want-left[i])
		missing += left[i]
	}
	if missing > negligibleMass { // to spread less could only hit forbidden states
		for i, lack := range left {
			with.addScaled(table[i*kv:][:kv], sums, lack/missing)
		}
	}
	return with.entropy(table)
}

// ratio returns a/b, at most largestScale, and 0 for b = 0.
func ratio(a, b float64) float64 {
	if b > 0 {
		return min(a/b, largestScale)
	}
	return 0
}

// panelKernels make beliefs consistent for as many edges at a time as a vector has entries.
type panelKernels struct {
	lanes int
	// interleave puts rows of n entries into a panel, and separate takes them out of it.
	interleave, separate func(dst, src []float64, n int)
	// consistent leaves the entropies, one for each edge of the panel.
	consistent func(pairs, rows, columns, left, right, sums, entropy []float64, share float64)
}

// all is Consistent with panels. Edges that are too few for one go through a copy, where
// others follow that nobody asks for: what an edge gets does not depend on them.
func (k *panelKernels) all(beliefs, entropy, rows, columns, scratch []float64, ku, kv int, share float64) {
	size := ku * kv
	room := func(n int) (part []float64) {
		part, scratch = scratch[:k.lanes*n:k.lanes*n], scratch[k.lanes*n:]
		return part
	}
	pairs, panelRows, panelColumns := room(size), room(ku), room(kv)
	left, right, sums := room(ku), room(kv), room(kv)
	panel := func(beliefs, entropy, rows, columns []float64) {
		k.interleave(pairs, beliefs, size)
		k.interleave(panelRows, rows, ku)
		k.interleave(panelColumns, columns, kv)
		k.consistent(pairs, panelRows, panelColumns, left, right, sums, entropy, share)
		k.separate(beliefs, pairs, size)
	}
	for ; len(entropy) >= k.lanes; entropy = entropy[k.lanes:] {
		panel(beliefs, entropy, rows, columns)
		beliefs, rows, columns = beliefs[k.lanes*size:], rows[k.lanes*ku:], columns[k.lanes*kv:]
	}
	if len(entropy) == 0 {
		return
	}
	copied, copiedRows, copiedColumns, entropies := room(size), room(ku), room(kv), room(1)
	repeatLast(copied, beliefs, size)
	repeatLast(copiedRows, rows, ku)
	repeatLast(copiedColumns, columns, kv)
	panel(copied, entropies, copiedRows, copiedColumns)
	copy(beliefs, copied)
	copy(entropy, entropies)
}

// repeatLast copies rows of n entries to dst, and the last of them as often as it has room.
func repeatLast(dst, src []float64, n int) {
	for at := copy(dst, src); at < len(dst); at += n {
		copy(dst[at:], src[len(src)-n:])
	}
}
