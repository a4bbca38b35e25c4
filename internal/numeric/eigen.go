package numeric

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// Eigen returns the eigenvalues [n], ascending, of the symmetric matrix whose upper triangle a [n*n] has, and puts
// their vectors into its columns. It reports false where the iteration for them fails.
func Eigen(a []float64, n int) (values []float64, ok bool) {
	values = make([]float64, n)
	size := []float64{0}
	solve := gonum.Implementation{}.Dsyev // no interface, for which all of LAPACK would be linked
	solve(lapack.EVCompute, blas.Upper, n, a, max(1, n), values, size, -1)
	work := make([]float64, int(size[0]))
	return values, solve(lapack.EVCompute, blas.Upper, n, a, max(1, n), values, work, len(work))
}
