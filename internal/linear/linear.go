// Package linear has the Hessian of learning's objective, exactly or nearly. Messages and beliefs answer to a change of
// potentials, to first order; what a Hessian takes into account of these answers decides what work it is:
//
//	Fisher     nothing: it is a Kronecker product for each type of nodes and of edges
//	Stars      of one node and the messages along its edges (Coupling) at a time; Sample draws such nodes
//	Response   everything, by a system of equations for each network; it also moves messages along with weights
//	Dense      has the factor of one of the last two, and decides when to renew it
package linear

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

const (
	// rowsFactored is how many rows of a factor are computed together: many for what threads do side by side, few beside
	// what only comes one row after another. rowsOfThread of them take each row above at a time.
	rowsFactored = 48
	rowsOfThread = 4
)

// solveWork is how many times faster a multiplication in solving a system is than one for a message: work is counted
// in the latter.
const solveWork = 2.0

// Factorise replaces the lower triangle of h [n*n] by its Cholesky factor. It reports
// false where h is not positive definite.
func Factorise(h []float64, n int, each parallel.Loop) bool {
	// solve finds the entries of the rows lo ≤ i < hi of the factor in the columns from to to.
	solve := func(lo, hi, from, to int) {
		for j := from; j < to; j++ {
			other := h[j*n:][:j+1]
			for i := lo; i < hi; i++ {
				row := h[i*n:][:n]
				row[j] = (row[j] - simd.Dot(row[:j], other[:j])) / other[j]
			}
		}
	}
	for lo := 0; lo < n; lo += rowsFactored {
		hi := min(n, lo+rowsFactored)
		if lo > 0 {
			each((hi-lo+rowsOfThread-1)/rowsOfThread, func(_, part int) {
				first := lo + part*rowsOfThread
				solve(first, min(hi, first+rowsOfThread), 0, lo)
			})
		}
		for i := lo; i < hi; i++ {
			solve(i, i+1, lo, i)
			row := h[i*n:][:n]
			pivot := row[i] - simd.Dot(row[:i], row[:i])
			if !(pivot > 0 && pivot <= math.MaxFloat64) {
				return false
			}
			row[i] = math.Sqrt(pivot)
		}
	}
	return true
}

// solveFactor replaces x [n] by H⁻¹ x, given the Cholesky factor of H in its lower triangle.
func solveFactor(factor []float64, n int, x []float64) {
	substitute(x, func(i int) []float64 { return factor[i*n:][:i+1] })
}

// substitute solves with a Cholesky factor and with its transpose. Rows of the factor have what comes before the
// diagonal, as far as it is not zero, and the diagonal last.
func substitute(x []float64, row func(i int) []float64) {
	for i := range x {
		row := row(i)
		before := len(row) - 1
		x[i] = (x[i] - simd.Dot(row[:before], x[i-before:i])) / row[before]
	}
	for i := len(x) - 1; i >= 0; i-- {
		row := row(i)
		before := len(row) - 1
		x[i] /= row[before]
		simd.AddScaled(x[i-before:i], row[:before], -x[i])
	}
}

// absolute gives h [n*n], in its lower triangle, the eigenvalues without their signs, none below a share of the
// largest. Weights that are coupled to no other, as those of forbidden states, stay so: they must stay zero. It reports
// false where eigenvalues cannot be found.
func absolute(h []float64, n int, share float64) bool {
	all, coupled := make([]float64, n*n), make([]bool, n)
	for i := range n {
		for j, x := range h[i*n:][:i+1] {
			if all[j*n+i] = x; x != 0 && i != j {
				coupled[i], coupled[j] = true, true
			}
		}
	}
	if !finite(all) {
		return false
	}
	values, ok := numeric.Eigen(all, n)
	if !ok {
		return false
	}
	rows, product := make([]float64, n*n), make([]float64, n*n)
	largest := max(-values[0], values[n-1])
	for i := range n {
		for k, x := range values {
			rows[k*n+i] = all[i*n+k] * math.Sqrt(max(math.Abs(x), share*largest))
		}
	}
	simd.ScatterMatrix(product, rows, rows, n, n, n)
	for i := range n {
		for j := range i + 1 {
			if coupled[i] && coupled[j] {
				h[i*n+j] = product[i*n+j]
			}
		}
	}
	return true
}

// Stiffen raises the diagonal of h [n*n] by a share of itself, or by the square of the share
// of its mean where that is more.
func Stiffen(h []float64, n int, share float64) {
	mean := 0.0
	for i := range n {
		mean += h[i*n+i] / float64(n)
	}
	for i := range n {
		if x := &h[i*n+i]; *x > 0 {
			*x += share * max(*x, share*mean)
		} else {
			*x = mean
		}
	}
}

// dotShort is the product of vectors that are too short for vector kernels.
func dotShort(a, b []float64) (sum float64) {
	b = b[:len(a)]
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// AddShort adds a·x to the beginning of dst.
func AddShort(dst, x []float64, a float64) {
	dst = dst[:len(x)]
	for i, y := range x {
		dst[i] += a * y
	}
}

// skyline is a symmetric matrix, later its Cholesky factor: of each row it has the numbers from the first that is not
// zero to the diagonal. The factor has zeros before that, too (Jennings 1966).
type skyline struct {
	first  []int // column where each row begins
	at     []int // where in Values, [size+1]
	Values []float64
}

// Numbers returns how many Values there are to be.
func (m *skyline) Numbers() int { return m.at[len(m.first)] }

// newSkyline returns a matrix with rows from these columns on, without Values.
func newSkyline(first []int) *skyline {
	m := &skyline{first: first, at: make([]int, len(first)+1)}
	for i, f := range first {
		m.at[i+1] = m.at[i] + i - f + 1
	}
	return m
}

// row returns row i from its first column on, the diagonal last.
func (m *skyline) row(i int) []float64 { return m.Values[m.at[i]:m.at[i+1]] }

// Add adds x at row i and column j ≤ i.
func (m *skyline) Add(i, j int, x float64) { m.Values[m.at[i]+j-m.first[i]] += x }

// FactorWork is how many multiplications Factorise takes.
func (m *skyline) FactorWork() (work float64) {
	for i, f := range m.first {
		work += float64(i-f) * float64(i-f) / 2
	}
	return work
}

// Factorise replaces the matrix by its Cholesky factor. It reports false where the matrix is not positive definite.
func (m *skyline) Factorise() bool {
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

// Solve replaces x by the solution of the system, given the factor.
func (m *skyline) Solve(x []float64) { substitute(x, m.row) }

// Divide replaces the rows X [size][width] by L⁻¹ X, given the factor L.
func (m *skyline) Divide(x []float64, width int) {
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
