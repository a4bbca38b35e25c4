package crf

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// Features is the frozen feature matrix of all nodes (or edges) of one type in one instance: rows × dim, in one of
// several forms that give the same numbers. The zero value has no features.
type Features struct{ data FeatureData }

// FeatureData is how Features keeps its matrix: in the one form that is not nil, or
// in none where all entries are ones. It must not be changed.
type FeatureData struct {
	Rows, Dim int
	Double    []float64 // [Rows*Dim] dense
	Single    []float32 // [Rows*Dim] dense
	Bins      []int32   // [Rows] the column of the one in each row, or with Book the row of that
	Book      []float64 // [distinct rows*Dim] the rows that Bins choose among; nil: those of the identity
	Start     []int     // [Rows+1] where sparse rows begin in Column and Value
	Column    []int32
	Value     []float64 // nil: all ones
	Computed  Computed  // rows are made when they are read
	// Owner is what arrays lie in whose memory is not Go's, such as a mapped file: whoever keeps an array
	// keeps it as well.
	Owner any
}

// Computed makes rows of features when they are asked for, such as those of a picture's
// pixels from a map of fewer cells. They are the same each time, and finite. Several goroutines may ask.
type Computed interface {
	Rows() int
	Dim() int
	Row(dst []float64, r int)
	// Reader returns what does as Row does, for one goroutine. It may remember rows, so that
	// reading neighbours one after another takes less time.
	Reader() func(dst []float64, r int)
	Pick(rows []int32) Computed
}

// Constant returns rows × dim ones: the feature of an untied type (dim = 1), or no features at all (dim = 0).
func Constant(rows, dim int) Features { return Features{FeatureData{Rows: rows, Dim: dim}} }

// Dense returns the features x[row*dim+column]; x is kept without copying. In single precision features take half the
// memory; arithmetic is in double precision all the same. A value that is not finite is reported as *Error.
func Dense[T float32 | float64](x []T, dim int) (Features, error) {
	if dim < 1 || len(x)%dim != 0 {
		return Features{}, fmt.Errorf("features: %d values do not divide into rows of %d", len(x), dim)
	}
	for i, v := range x {
		if isNotFinite(float64(v)) {
			return Features{}, notFinite(i/dim, i%dim, float64(v))
		}
	}
	f := FeatureData{Rows: len(x) / dim, Dim: dim}
	switch x := any(kept(x)).(type) {
	case []float64:
		f.Double = x
	case []float32:
		f.Single = x
	}
	return Features{f}, nil
}

func isNotFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

func notFinite(row, column int, v float64) *Error {
	return &Error{"", []int{row, column}, fmt.Sprintf("feature is %v, want a finite number", v)}
}

// Bins returns one-hot features: row r has a one at column bins[r] and zeros elsewhere. Rows with the same bin share
// one potential table, which is computed once per block. bins is kept without copying; a bin outside [0, dim) is
// reported as *Error.
func Bins(bins []int32, dim int) (Features, error) {
	for r, b := range bins {
		if b < 0 || int(b) >= dim {
			return Features{}, &Error{"", []int{r}, fmt.Sprintf("bin is %d, want 0 to %d", b, dim-1)}
		}
	}
	return Features{FeatureData{Rows: len(bins), Dim: dim, Bins: kept(bins)}}, nil
}

// Coded returns features of which many rows are equal: row r is row codes[r] of book [distinct rows*dim]. Rows of one
// code share one potential table, as with Bins, which are the codes of the identity. Both are kept without copying; a
// code outside the book, or a value in it that is not finite, is reported as *Error.
func Coded(codes []int32, book []float64, dim int) (Features, error) {
	if dim < 1 || len(book)%dim != 0 {
		return Features{}, fmt.Errorf("features: a book of %d values does not divide into rows of %d", len(book), dim)
	}
	for i, v := range book {
		if isNotFinite(v) {
			return Features{}, notFinite(i/dim, i%dim, v)
		}
	}
	f, err := Bins(codes, len(book)/dim)
	f.data.Dim, f.data.Book = dim, kept(book)
	return f, err
}

// kept returns x, never nil: it is the form of a matrix.
func kept[T any](x []T) []T {
	if x == nil {
		return []T{}
	}
	return x
}

// Sparse returns features given by rows: row r has value[i] at column index[i] for start[r] ≤ i < start[r+1]. A nil
// value means ones. The slices are kept without copying.
func Sparse(start []int, index []int32, value []float64, dim int) (Features, error) {
	if dim < 0 || len(start) == 0 || start[0] != 0 || start[len(start)-1] != len(index) ||
		(value != nil && len(value) != len(index)) {
		return Features{}, fmt.Errorf("features: sparse rows are inconsistent")
	}
	for r := range len(start) - 1 {
		if start[r] > start[r+1] || start[r+1] > len(index) {
			return Features{}, fmt.Errorf("features: sparse row %d ends before it begins, or beyond the data", r)
		}
		for i := start[r]; i < start[r+1]; i++ {
			if index[i] < 0 || int(index[i]) >= dim {
				return Features{}, &Error{"", []int{r}, fmt.Sprintf("feature index is %d, want 0 to %d", index[i], dim-1)}
			}
			if value != nil && isNotFinite(value[i]) {
				return Features{}, notFinite(r, int(index[i]), value[i])
			}
		}
	}
	return Features{FeatureData{Rows: len(start) - 1, Dim: dim, Start: start, Column: index, Value: value}}, nil
}

// Compute returns features whose rows are made when they are read.
func Compute(c Computed) Features {
	return Features{FeatureData{Rows: c.Rows(), Dim: c.Dim(), Computed: c}}
}

// Rows returns the number of rows.
func (f *Features) Rows() int { return f.data.Rows }

// Dim returns the length of a row.
func (f *Features) Dim() int { return f.data.Dim }

// Data returns the matrix as it is kept.
func (f *Features) Data() *FeatureData { return &f.data }

// Row writes row r into dst [Dim()].
func (f *Features) Row(dst []float64, r int) {
	if f.data.Computed != nil {
		f.data.Computed.Row(dst, r)
		return
	}
	clear(dst)
	var scratch []float64
	row := f.data.Entries(r, &scratch)
	for i := range row.N {
		j, x := row.At(i)
		dst[j] += x
	}
}

// Reader returns what does as Row does, for one goroutine. Of computed features it takes less
// time where rows follow each other.
func (f *Features) Reader() func(dst []float64, r int) {
	if f.data.Computed != nil {
		return f.data.Computed.Reader()
	}
	return f.Row
}

// Entries are the entries of a row that are kept: all, or of sparse and one-hot rows some,
// of which several may stand for one column.
type Entries struct {
	N       int
	Columns []int32   // [N], nil: 0, 1, 2, …
	Values  []float64 // [N], nil: ones
}

// At returns the i-th entry.
func (e *Entries) At(i int) (column int, value float64) {
	column, value = i, 1
	if e.Columns != nil {
		column = int(e.Columns[i])
	}
	if e.Values != nil {
		value = e.Values[i]
	}
	return column, value
}

// Entries returns row r. One that is not kept in double precision is made in scratch, which
// becomes as long as is needed.
func (m *FeatureData) Entries(r int, scratch *[]float64) Entries {
	all := Entries{N: m.Dim}
	switch {
	case m.Double != nil:
		all.Values = m.Double[r*m.Dim:][:m.Dim]
	case m.Book != nil:
		all.Values = m.Book[int(m.Bins[r])*m.Dim:][:m.Dim]
	case m.Bins != nil:
		return Entries{N: 1, Columns: m.Bins[r : r+1]}
	case m.Start != nil:
		from, to := m.Start[r], m.Start[r+1]
		some := Entries{N: to - from, Columns: m.Column[from:to]}
		if m.Value != nil {
			some.Values = m.Value[from:to]
		}
		return some
	case m.Single != nil:
		*scratch = numeric.Resize(*scratch, m.Dim)
		for j, x := range m.Single[r*m.Dim:][:m.Dim] {
			(*scratch)[j] = float64(x)
		}
		all.Values = *scratch
	case m.Computed != nil:
		*scratch = numeric.Resize(*scratch, m.Dim)
		m.Computed.Row(*scratch, r)
		all.Values = *scratch
	}
	return all
}

// Pick returns the matrix of some rows, in the form of the whole.
func (f *Features) Pick(rows []int32) Features {
	m := &f.data
	some := FeatureData{Rows: len(rows), Dim: m.Dim}
	switch {
	case m.Double != nil:
		some.Double = pickRows(m.Double, m.Dim, rows)
	case m.Single != nil:
		some.Single = pickRows(m.Single, m.Dim, rows)
	case m.Bins != nil:
		some.Bins, some.Book = pickRows(m.Bins, 1, rows), m.Book
	case m.Start != nil:
		some.Start, some.Column = []int{0}, []int32{}
		if m.Value != nil {
			some.Value = []float64{}
		}
		for _, r := range rows {
			some.Column = append(some.Column, m.Column[m.Start[r]:m.Start[r+1]]...)
			if m.Value != nil {
				some.Value = append(some.Value, m.Value[m.Start[r]:m.Start[r+1]]...)
			}
			some.Start = append(some.Start, len(some.Column))
		}
	case m.Computed != nil:
		some.Computed = m.Computed.Pick(rows)
	}
	return Features{some}
}

func pickRows[T any](x []T, dim int, rows []int32) []T {
	some := make([]T, 0, len(rows)*dim)
	for _, r := range rows {
		some = append(some, x[int(r)*dim:][:dim]...)
	}
	return some
}
