package crf

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/simd"
)

// Features is the frozen feature matrix of all nodes (or edges) of one type in
// one instance: rows × dim, in one of several forms that give the same numbers.
// The zero value has no features.
type Features struct {
	rows, dim int
	form      form
	dense     []float64 // [rows*dim]
	dense32   []float32 // [rows*dim]
	bins      []int32   // [rows] index of the feature that is one
	start     []int     // [rows+1] sparse rows
	index     []int32
	value     []float64 // nil: all ones
}

type form uint8

const (
	formConstant form = iota // every row is the vector of ones, usually of length one
	formDense
	formDense32
	formBins
	formSparse
)

// ValueError locates a feature that cannot be used.
type ValueError struct {
	Row, Column int // −1 where it does not apply
	Reason      string
}

// Error implements error.
func (e *ValueError) Error() string {
	if e.Column < 0 {
		return fmt.Sprintf("[%d]: %s", e.Row, e.Reason)
	}
	return fmt.Sprintf("[%d,%d]: %s", e.Row, e.Column, e.Reason)
}

// Constant returns rows × dim ones: the feature of an untied type (dim = 1), or
// no features at all (dim = 0).
func Constant(rows, dim int) Features { return Features{rows: rows, dim: dim} }

// Dense returns the features x[row*dim+column]; x is kept without copying. A
// value that is not finite is reported as *ValueError.
func Dense(x []float64, dim int) (Features, error) {
	rows, err := denseRows(len(x), dim)
	if err != nil {
		return Features{}, err
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Features{}, &ValueError{i / dim, i % dim, fmt.Sprintf("feature is %v, want a finite number", v)}
		}
	}
	return Features{rows: rows, dim: dim, form: formDense, dense: x}, nil
}

// Dense32 is Dense for single-precision features; arithmetic is in double
// precision all the same.
func Dense32(x []float32, dim int) (Features, error) {
	rows, err := denseRows(len(x), dim)
	if err != nil {
		return Features{}, err
	}
	for i, v := range x {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return Features{}, &ValueError{i / dim, i % dim, fmt.Sprintf("feature is %v, want a finite number", v)}
		}
	}
	return Features{rows: rows, dim: dim, form: formDense32, dense32: x}, nil
}

func denseRows(n, dim int) (int, error) {
	if dim < 1 || n%dim != 0 {
		return 0, fmt.Errorf("features: %d values do not divide into rows of %d", n, dim)
	}
	return n / dim, nil
}

// Bins returns one-hot features: row r has a one at column bins[r] and zeros
// elsewhere. Rows with the same bin share one potential table, which is computed
// once per block. bins is kept without copying; a bin outside [0, dim) is
// reported as *ValueError.
func Bins(bins []int32, dim int) (Features, error) {
	for r, b := range bins {
		if b < 0 || int(b) >= dim {
			return Features{}, &ValueError{r, -1, fmt.Sprintf("bin is %d, want 0 to %d", b, dim-1)}
		}
	}
	return Features{rows: len(bins), dim: dim, form: formBins, bins: bins}, nil
}

// Sparse returns features given by rows: row r has value[i] at column index[i]
// for start[r] ≤ i < start[r+1]. A nil value means ones. The slices are kept
// without copying.
func Sparse(start []int, index []int32, value []float64, dim int) (Features, error) {
	if dim < 0 || len(start) == 0 || start[0] != 0 || start[len(start)-1] != len(index) || (value != nil && len(value) != len(index)) {
		return Features{}, fmt.Errorf("features: sparse rows are inconsistent")
	}
	for r := range len(start) - 1 {
		if start[r] > start[r+1] || start[r+1] > len(index) {
			return Features{}, fmt.Errorf("features: sparse row %d ends before it begins, or beyond the data", r)
		}
		for i := start[r]; i < start[r+1]; i++ {
			if index[i] < 0 || int(index[i]) >= dim {
				return Features{}, &ValueError{r, -1, fmt.Sprintf("feature index is %d, want 0 to %d", index[i], dim-1)}
			}
			if value != nil && (math.IsNaN(value[i]) || math.IsInf(value[i], 0)) {
				return Features{}, &ValueError{r, int(index[i]), fmt.Sprintf("feature is %v, want a finite number", value[i])}
			}
		}
	}
	return Features{rows: len(start) - 1, dim: dim, form: formSparse, start: start, index: index, value: value}, nil
}

// Rows returns the number of rows.
func (f *Features) Rows() int { return f.rows }

// Dim returns the length of a row.
func (f *Features) Dim() int { return f.dim }

// Memory returns the values as they are kept, in one precision or the other; both are
// empty for bins and constants. They must not be changed.
func (f *Features) Memory() (double []float64, single []float32) {
	if f.form == formSparse {
		return f.value, nil
	}
	return f.dense, f.dense32
}

// Tables returns how many distinct potential tables the rows can have, or 0
// where every row has its own.
func (f *Features) Tables() int {
	switch {
	case f.form == formBins:
		return f.dim
	case f.form == formConstant:
		return 1
	}
	return 0
}

// TableOf returns which of the Tables() distinct tables row r has.
func (f *Features) TableOf(r int) int {
	if f.form == formBins {
		return int(f.bins[r])
	}
	return 0
}

// Row writes row r into dst [Dim()].
func (f *Features) Row(dst []float64, r int) {
	switch f.form {
	case formConstant:
		for j := range dst {
			dst[j] = 1
		}
	case formDense:
		copy(dst, f.dense[r*f.dim:(r+1)*f.dim])
	case formDense32:
		for j, v := range f.dense32[r*f.dim : (r+1)*f.dim] {
			dst[j] = float64(v)
		}
	case formBins:
		clear(dst)
		dst[f.bins[r]] = 1
	case formSparse:
		clear(dst)
		for i := f.start[r]; i < f.start[r+1]; i++ {
			dst[f.index[i]] += f.at(i)
		}
	}
}

func (f *Features) at(i int) float64 {
	if f.value == nil {
		return 1
	}
	return f.value[i]
}

// multiply computes dst[x] = Σ_j f[r,j] w[j*len(dst)+x]: one row of grounding.
// row is scratch of at least Dim() entries.
func (f *Features) multiply(dst, w []float64, r int, row []float64) {
	k := len(dst)
	switch f.form {
	case formBins:
		b := int(f.bins[r])
		copy(dst, w[b*k:(b+1)*k])
	case formSparse:
		clear(dst)
		for i := f.start[r]; i < f.start[r+1]; i++ {
			j := int(f.index[i])
			simd.AddScaled(dst, w[j*k:(j+1)*k], f.at(i))
		}
	case formConstant:
		clear(dst)
		for j := range f.dim {
			simd.AddScaled(dst, w[j*k:(j+1)*k], 1)
		}
	default:
		if f.form == formDense {
			row = f.dense[r*f.dim : (r+1)*f.dim]
		} else {
			row = row[:f.dim]
			f.Row(row, r)
		}
		simd.MultiplyRows(dst, row, w)
	}
}

// scatter computes w[j*len(t)+x] += f[r,j] t[x], the adjoint of multiply.
func (f *Features) scatter(w, t []float64, r int, row []float64) {
	k := len(t)
	switch f.form {
	case formBins:
		b := int(f.bins[r])
		simd.AddScaled(w[b*k:(b+1)*k], t, 1)
	case formSparse:
		for i := f.start[r]; i < f.start[r+1]; i++ {
			j := int(f.index[i])
			simd.AddScaled(w[j*k:(j+1)*k], t, f.at(i))
		}
	case formConstant:
		for j := range f.dim {
			simd.AddScaled(w[j*k:(j+1)*k], t, 1)
		}
	default:
		if f.form == formDense {
			row = f.dense[r*f.dim : (r+1)*f.dim]
		} else {
			row = row[:f.dim]
			f.Row(row, r)
		}
		simd.ScatterRows(w, row, t)
	}
}
