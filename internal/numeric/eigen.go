package numeric

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Eigen returns the eigenvalues [n], ascending, of the symmetric matrix whose upper triangle a [n*n] has, and puts
// their vectors into its columns. It reports false where the iteration for them fails.
func Eigen(a []float64, n int) (values []float64, ok bool) {
	values = make([]float64, n)
	matrix := blas64.Symmetric{N: n, Stride: n, Data: a, Uplo: blas.Upper}
	size := []float64{0}
	lapack64.Syev(lapack.EVCompute, matrix, values, size, -1)
	work := make([]float64, int(size[0]))
	return values, lapack64.Syev(lapack.EVCompute, matrix, values, work, len(work))
}
