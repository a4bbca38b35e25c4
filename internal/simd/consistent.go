package simd

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// largestScale keeps products of two factors finite: an infinite one would turn the zeros beside it into NaN.
const largestScale = 1e150

// negligibleMass is the inconsistency that beliefs may keep: it changes values by no more than rounding does.
const negligibleMass = 1e-13

// MaxNewton bounds steps of Newton's method: plain scalings follow.
const MaxNewton = 20

// newtonStates is up to how many columns a table has for Newton's method, whose steps take a
// time that grows as their cube.
const newtonStates = 16

// firstNewton plain scalings come before steps of Newton's method: far from the end a quadratic function says little.
const firstNewton = 1

// Scaling says how near to the wanted sums tables are scaled.
type Scaling struct {
	Most   int // scalings that tables get at most
	Newton int // steps of Newton's method that small ones get: then no others, if below MaxNewton
	// Enough is how far the sums of columns may be from those wanted, taken together, for scaling to
	// end: what is left is spread.
	Enough float64
}

// Finest is for beliefs as near to those given as Consistent finds them: where so many steps went in
// circles others would not help, and what it leaves of a mass is rounding.
var Finest = Scaling{Most: 100, Newton: MaxNewton, Enough: negligibleMass / 10}

// mostScalings returns how many scalings and steps tables get.
func mostScalings(ku, kv int, how Scaling) int {
	if how.Newton >= MaxNewton || newtonRoom(ku, kv) == 0 {
		return how.Most
	}
	return firstNewton + how.Newton
}

// mostStep is the largest change of the logarithm of a factor that Newton's method may make:
// longer steps are made shorter.
const mostStep = 1

// leastPivot, of the sum of a column, is the smallest pivot that is trusted.
const leastPivot = 1e-9

// Consistent changes the beliefs of edges of one shape, tables of ku rows and kv columns one
// behind the other, so that the sums of their rows are those of rows, ku for each, and the
// sums of their columns those of columns; and leaves their entropies, one for each edge, unless
// entropy is nil.
//
// Rows and columns are scaled in turn (Sinkhorn), which keeps zeros, until that is enough.
// Small tables are scaled once, and then by
// steps of Newton's method: the sums of columns after scaling of rows are the gradient of a convex
// function of the logarithms of their factors, with the Hessian diag c − Σ_i p_i p_iᵀ/row_i,
// of sums c and rows p_i. To add c cᵀ leaves out that all factors may grow together. After
// MaxNewton of them plain scalings go on.
//
// What is left is taken out of columns that are too heavy, and spread as an outer product over
// rows and columns that are too light (Altschuler, Weed and Rigollet 2017). That is done too
// where scaling does not get there, as where a row has less than 1/largestScale of its mass.
//
// len(rows) is ku for each edge, len(beliefs) ≥ ku·kv and len(columns) ≥ kv for each, and
// len(scratch) ≥ ConsistentRoom(ku, kv); rows and columns are left with rubbish. ku, kv > 0.
func Consistent(beliefs, entropy, rows, columns, scratch []float64, ku, kv int, how Scaling) {
	n := len(rows) / ku
	if entropy != nil {
		entropy = entropy[:n]
	}
	active.consistent(beliefs[:n*ku*kv], entropy, rows, columns[:n*kv], scratch[:ConsistentRoom(ku, kv)], ku, kv, how)
}

func (with *implementation) consistent(beliefs, entropy, rows, columns, scratch []float64, ku, kv int, how Scaling) {
	how.Most = mostScalings(ku, kv, how)
	if with.panels != nil && ku*kv <= panelEntries {
		with.panels.all(beliefs, entropy, rows, columns, scratch, ku, kv, how)
		return
	}
	for i := range len(rows) / ku {
		table := beliefs[i*ku*kv:][:ku*kv]
		consistentTable(table, rows[i*ku:][:ku], columns[i*kv:][:kv], scratch, how)
		if entropy != nil {
			entropy[i] = plainEntropy(table)
		}
	}
}

// panelEntries is how many entries tables have at most for several edges to be done
// together, each in one entry of vectors: what they take stays in the second-level cache.
const panelEntries = 64 * 64

// newtonEntries is how many they have at most for Newton's method.
const newtonEntries = 256

// mostLanes is how many edges the largest panel has.
const mostLanes = 8

// ConsistentRoom returns the length of scratch that Consistent wants.
func ConsistentRoom(ku, kv int) int {
	if ku*kv > panelEntries {
		return ku + 2*kv
	}
	system := newtonRoom(ku, kv)
	// A panel with its vectors, and a copy of edges that are too few for one.
	return mostLanes * (2*ku*kv + 3*ku + 4*kv + 1 + system)
}

// newtonRoom returns how many numbers the system of Newton's method has: a matrix, steps, one
// over its pivots, and a row; 0 where there is none. One column is right when its rows are.
func newtonRoom(ku, kv int) int {
	if kv == 1 || kv > newtonStates || ku*kv > newtonEntries {
		return 0
	}
	return kv * (kv + 3)
}

// consistentTable is Consistent for one edge, row after row.
func consistentTable(table, row, column, scratch []float64, how Scaling) {
	ku, kv := len(row), len(column)
	left, right, sums, system := scratch[:ku], scratch[ku:][:kv], scratch[ku+kv:][:kv],
		scratch[ku+2*kv:][:newtonRoom(ku, kv)]
	numeric.Fill(right, 1)
	for scaling := 0; ; scaling++ {
		plainTableVector(left, right, table)
		for i, want := range row {
			left[i] = ratio(want, left[i])
		}
		plainVectorTable(sums, left, table)
		distance := 0.0
		for j, want := range column {
			distance += math.Abs(want - right[j]*sums[j])
		}
		if !(distance > how.Enough) || scaling == how.Most {
			break
		}
		if scaling >= firstNewton && scaling < MaxNewton && len(system) > 0 &&
			newton(system, table, row, column, left, right, sums) {
			continue
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
	for i, l := range left {
		for j, r := range right {
			table[i*kv+j] *= l * r
		}
	}
	numeric.Fill(right, 1)
	plainTableVector(left, right, table)
	missing := 0.0
	for i, want := range row {
		left[i] = max(0, want-left[i])
		missing += left[i]
	}
	if missing > negligibleMass { // to spread less could only hit forbidden states
		for i, lack := range left {
			plainAddScaled(table[i*kv:][:kv], sums, lack/missing)
		}
	}
}

// newton scales columns by a step of Newton's method. It reports false, and does nothing, where
// the pivots of its system are too small.
func newton(system, table, row, column, left, right, sums []float64) bool {
	k := len(column)
	matrix, steps, inverses, scaled := system[:k*k], system[k*k:][:k], system[k*k+k:][:k], system[k*k+2*k:][:k]
	for j, r := range right {
		c := r * sums[j]
		steps[j] = column[j] - c
		for m := range j + 1 {
			matrix[j*k+m] = c * sums[m] * right[m]
		}
		matrix[j*k+j] += c
	}
	for i, want := range row {
		for j, r := range right {
			scaled[j] = r * table[i*k+j]
		}
		l := ratio(left[i]*left[i], want)
		for j, x := range scaled {
			for m, y := range scaled[:j+1] {
				matrix[j*k+m] -= l * x * y
			}
		}
	}
	for i := range k {
		a := matrix[i*k:][:i+1]
		for j := range a {
			other := matrix[j*k:][:j+1]
			for m, x := range other[:j] {
				a[j] -= a[m] * x
			}
			if j < i {
				a[j] *= inverses[j]
			}
		}
		if !(a[i] > leastPivot*(right[i]*sums[i])) {
			return false
		}
		inverses[i] = 1 / math.Sqrt(a[i])
		for m, x := range a[:i] {
			steps[i] -= x * steps[m]
		}
		steps[i] *= inverses[i]
	}
	for i := k - 1; i >= 0; i-- {
		for m := i + 1; m < k; m++ {
			steps[i] -= matrix[m*k+i] * steps[m]
		}
		steps[i] *= inverses[i]
	}
	longest := float64(mostStep)
	for _, x := range steps {
		longest = max(longest, math.Abs(x))
	}
	for j, x := range steps {
		half := x * (0.5 * (mostStep / longest))
		right[j] = right[j] * (1 + half) / (1 - half) // nearly exp
	}
	return true
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
	// consistent leaves the entropies, one for each edge of the panel, unless entropy is empty.
	consistent func(pairs, rows, columns, left, right, sums, system, entropy []float64, first, scalings int,
		enough float64)
}

// all is Consistent with panels. Edges that are too few for one go through a copy, where
// others follow that nobody asks for: what an edge gets does not depend on them.
func (k *panelKernels) all(beliefs, entropy, rows, columns, scratch []float64, ku, kv int, how Scaling) {
	size := ku * kv
	room := func(n int) (part []float64) {
		part, scratch = scratch[:k.lanes*n:k.lanes*n], scratch[k.lanes*n:]
		return part
	}
	pairs, panelRows, panelColumns := room(size), room(ku), room(kv)
	left, right, sums, system := room(ku), room(kv), room(kv), room(newtonRoom(ku, kv))
	panel := func(beliefs, entropy, rows, columns []float64) {
		k.interleave(pairs, beliefs, size)
		k.interleave(panelRows, rows, ku)
		k.interleave(panelColumns, columns, kv)
		k.consistent(pairs, panelRows, panelColumns, left, right, sums, system, entropy, firstNewton, how.Most, how.Enough)
		k.separate(beliefs, pairs, size)
	}
	for ; len(rows) >= k.lanes*ku; rows = rows[k.lanes*ku:] {
		panel(beliefs, entropy, rows, columns)
		beliefs, columns = beliefs[k.lanes*size:], columns[k.lanes*kv:]
		if entropy != nil {
			entropy = entropy[k.lanes:]
		}
	}
	if len(rows) == 0 {
		return
	}
	copied, copiedRows, copiedColumns, entropies := room(size), room(ku), room(kv), room(1)
	if entropy == nil {
		entropies = nil
	}
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
