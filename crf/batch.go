package crf

import "github.com/blockbp/blockbp/internal/simd"

// RowsPerBatch is how many nodes or edges of one type are ground, or scattered, in
// one call: enough to hide the cost of a call and to use a weight more than once
// per load, and few enough for the beliefs of a batch to stay in the nearest cache.
const RowsPerBatch = 24

// batched reports whether rows of f are multiplied in batches: those of other forms
// have ways of their own.
func (f *Features) batched() bool {
	return f.form == formDense || f.form == formDense32
}

// matrix returns rows of dense features, one behind the other: the features
// themselves where the rows are neighbours, else a copy in scratch
// [len(rows)*dim].
func (f *Features) matrix(rows []int32, scratch []float64) []float64 {
	n, d := len(rows), f.dim
	if end := run(rows); f.form == formDense && end == n {
		return f.dense[int(rows[0])*d:][:n*d]
	}
	scratch = scratch[:n*d]
	for to := scratch; len(rows) > 0; {
		end := run(rows)
		first := int(rows[0]) * d
		if f.form == formDense {
			copy(to, f.dense[first:][:end*d])
		} else {
			for i, v := range f.dense32[first:][:end*d] {
				to[i] = float64(v)
			}
		}
		to, rows = to[end*d:], rows[end:]
	}
	return scratch
}

// prefetch asks for the features of the nodes or edges of the next batch, as far as they
// are dense and of this type, whose rows are row[id], or id if there is no row.
func (f *Features) prefetch(row, ids []int32) {
	if !f.batched() || len(ids) == 0 {
		return
	}
	var scratch [RowsPerBatch]int32
	rows := rowsOf(row, ids, scratch[:])
	if f.form == formDense {
		simd.PrefetchRows(f.dense, rows, f.dim)
	} else {
		simd.PrefetchRows(f.dense32, rows, f.dim)
	}
}

// run returns how many rows at the beginning follow each other without a gap.
func run(rows []int32) int {
	end := 1
	for end < len(rows) && rows[end] == rows[0]+int32(end) {
		end++
	}
	return end
}

// multiplyRows computes dst[i*k+x] = Σ_j f[rows[i],j] w[j*k+x]: grounding of nodes
// or edges that share their weights. scratch has room for RowsPerBatch rows.
func (f *Features) multiplyRows(dst, w []float64, rows []int32, k int, scratch []float64) {
	if f.batched() {
		simd.MultiplyMatrix(dst, f.matrix(rows, scratch), w, len(rows), f.dim, k)
		return
	}
	for i, r := range rows {
		f.multiply(dst[i*k:][:k], w, int(r), scratch)
	}
}

// scatterRows computes w[j*k+x] += Σ_i f[rows[i],j] t[i*k+x], the adjoint of
// multiplyRows.
func (f *Features) scatterRows(w, t []float64, rows []int32, k int, scratch []float64) {
	if f.batched() {
		simd.ScatterMatrix(w, f.matrix(rows, scratch), t, len(rows), f.dim, k)
		return
	}
	for i, r := range rows {
		f.scatter(w, t[i*k:][:k], int(r), scratch)
	}
}

// nodeRows returns the rows of nodes among the features of their type; they are in
// scratch where these are not the nodes' own numbers.
func (in *Instance) nodeRows(nodes, scratch []int32) []int32 {
	return rowsOf(in.nodeRow, nodes, scratch)
}

// edgeRows is nodeRows for edges.
func (in *Instance) edgeRows(edges, scratch []int32) []int32 {
	return rowsOf(in.edgeRow, edges, scratch)
}

func rowsOf(row, ids, scratch []int32) []int32 {
	if row == nil {
		return ids
	}
	scratch = scratch[:len(ids)]
	for i, id := range ids {
		scratch[i] = row[id]
	}
	return scratch
}

// NodeRun returns the end of the run of nodes of one type that begins at lo, and at
// most hi.
func (in *Instance) NodeRun(nodes []int32, lo, hi int) int {
	return typeRun(in.nodeType, nodes, lo, hi)
}

// EdgeRun is NodeRun for edges.
func (in *Instance) EdgeRun(edges []int32, lo, hi int) int {
	return typeRun(in.edgeType, edges, lo, hi)
}

func typeRun(types, ids []int32, lo, hi int) int {
	if types == nil {
		return hi
	}
	end := lo + 1
	for end < hi && types[ids[end]] == types[ids[lo]] {
		end++
	}
	return end
}

// SharesTables reports whether edges of the instance may share potential tables:
// those of a tied type whose features are one-hot or constant.
func (in *Instance) SharesTables() bool {
	for b := range in.edgeFeat {
		if in.edgeFeat[b].Tables() > 0 && in.schema.EdgeTypes[b].Copies == 0 {
			return true
		}
	}
	return false
}
