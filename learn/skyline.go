package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/simd"
)

// skyline is a symmetric matrix, then its Cholesky factor: of each row the numbers from the
// first that is not zero to the diagonal. The factor fills nothing before (Jennings 1966).
type skyline struct {
	first  []int // column where each row begins
	at     []int // where in values, [size+1]
	values []float64
}

// newSkyline returns a matrix with rows from these columns on.
func newSkyline(first []int) *skyline {
	m := &skyline{first: first, at: make([]int, len(first)+1)}
	for i, f := range first {
		m.at[i+1] = m.at[i] + i - f + 1
	}
	return m
}

// row returns row i from its first column on, the diagonal last.
func (m *skyline) row(i int) []float64 { return m.values[m.at[i]:m.at[i+1]] }

// add adds x at row i and column j ≤ i.
func (m *skyline) add(i, j int, x float64) { m.values[m.at[i]+j-m.first[i]] += x }

// factorWork is how many multiplications factorise takes.
func (m *skyline) factorWork() (work float64) {
	for i, f := range m.first {
		work += float64(i-f) * float64(i-f) / 2
	}
	return work
}

// factorise replaces the matrix by its Cholesky factor. It reports false where the matrix is
// not positive definite.
func (m *skyline) factorise() bool {
	for i, f := range m.first {
		row := m.row(i)
		for j := f; j < i; j++ {
			other, g := m.row(j), m.first[j]
			from := max(f, g)
			row[j-f] = (row[j-f] - simd.Dot(row[from-f:j-f], other[from-g:j-g])) / other[j-g]
		}
		pivot := row[i-f] - simd.Dot(row[:i-f], row[:i-f])
		if !(pivot > 0 && pivot <= math.MaxFloat64) {
			return false
		}
		row[i-f] = math.Sqrt(pivot)
	}
	return true
}

// solve replaces x by the solution of the system, given the factor.
func (m *skyline) solve(x []float64) {
	for i, f := range m.first {
		row := m.row(i)
		x[i] = (x[i] - simd.Dot(row[:i-f], x[f:i])) / row[i-f]
	}
	for i := len(x) - 1; i >= 0; i-- {
		f, row := m.first[i], m.row(i)
		x[i] /= row[i-f]
		simd.AddScaled(x[f:i], row[:i-f], -x[i])
	}
}

// divide replaces the rows X [size][width] by L⁻¹ X, given the factor L.
func (m *skyline) divide(x []float64, width int) {
	for i, f := range m.first {
		factor, row := m.row(i), x[i*width:][:width]
		for j := f; j < i; j++ {
			if a := factor[j-f]; a != 0 {
				simd.AddScaled(row, x[j*width:][:width], -a)
			}
		}
		for w := range row {
			row[w] /= factor[i-f]
		}
	}
}

// narrowOrder numbers the nodes of a graph so that neighbours are near each other: breadth
// first from a node with few neighbours, those with few of their own first (Cuthill and
// McKee 1969).
func narrowOrder(g *graph.Graph) []int32 {
	n := g.NumNodes()
	starts := make([]int32, n)
	for i := range starts {
		starts[i] = int32(i)
	}
	byDegree := func(a, b int32) int { return g.Degree(a) - g.Degree(b) }
	slices.SortStableFunc(starts, byDegree)
	seen := make([]bool, n)
	order := make([]int32, 0, n)
	for _, s := range starts {
		if seen[s] {
			continue
		}
		seen[s] = true
		next := len(order)
		order = append(order, s)
		for ; next < len(order); next++ {
			from := len(order)
			for _, d := range g.Incoming(order[next]) {
				if t := g.Source(d); !seen[t] {
					seen[t] = true
					order = append(order, t)
				}
			}
			slices.SortStableFunc(order[from:], byDegree)
		}
	}
	return order
}
