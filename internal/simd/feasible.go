package simd

import "github.com/blockbp/blockbp/internal/numeric"

// Feasible makes beliefs of edges that are consistent with those of nodes. It carries the scratch
// that this needs; one per goroutine. The zero value is ready.
type Feasible struct {
	off                   []float64 // how far the beliefs of edges are from consistent ones
	tables, rows, columns []float64 // of edges that are too far
	scratch               []float64
}

// Edges is EdgeBeliefs, and then Consistent, with the sums of the beliefs of the nodes. Kernels scale
// rows, spread what is left, and leave to Consistent the edges where that is more than
// how.Enough.
func (f *Feasible) Edges(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int, how Scaling) (done int) {
	return f.edges(&active, dst, logZ, product, beliefs, messages, tables, edges, ku, kv, how)
}

// feasibleAtOnce reports whether there is a kernel for tables of a shape, and it is the quicker way.
func (with *implementation) feasibleAtOnce(ku, kv int) bool {
	return with.feasibleEdges != nil && fused(ku, kv) && ku*kv >= with.leastFeasible
}

func (f *Feasible) edges(with *implementation, dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int, how Scaling) (done int) {
	n, size := len(edges), ku*kv
	dst, logZ, product = dst[:n*size], logZ[:n], product[:n]
	if !with.feasibleAtOnce(ku, kv) {
		done = with.edgeBeliefs(dst, logZ, product, beliefs, messages, tables, edges, ku, kv)
		f.rows, f.columns = f.rows[:0], f.columns[:0]
		for i := range edges[:done] {
			f.addSums(beliefs, &edges[i], ku, kv)
		}
		f.scale(with, dst[:done*size], ku, kv, how)
		return done
	}
	f.off = numeric.Resize(f.off, n)
	done = with.feasibleEdges(dst, logZ, product, f.off, beliefs, messages, tables, edges, ku, kv, how.Enough)
	f.tables, f.rows, f.columns = f.tables[:0], f.rows[:0], f.columns[:0]
	for i, off := range f.off[:done] {
		if !(off <= how.Enough) {
			f.tables = append(f.tables, dst[i*size:][:size]...)
			f.addSums(beliefs, &edges[i], ku, kv)
		}
	}
	f.scale(with, f.tables, ku, kv, how)
	left := f.tables
	for i, off := range f.off[:done] {
		if !(off <= how.Enough) {
			left = left[copy(dst[i*size:][:size], left):]
		}
	}
	return done
}

// addSums appends the log-beliefs of the ends of an edge to rows and columns.
func (f *Feasible) addSums(beliefs []float64, e *Edge, ku, kv int) {
	f.rows = append(f.rows, beliefs[e.BeliefU:][:ku]...)
	f.columns = append(f.columns, beliefs[e.BeliefV:][:kv]...)
}

// scale makes tables consistent whose sums have the logarithms rows and columns.
func (f *Feasible) scale(with *implementation, tables []float64, ku, kv int, how Scaling) {
	if len(tables) == 0 {
		return
	}
	with.exp(f.rows, f.rows)
	with.exp(f.columns, f.columns)
	f.scratch = numeric.Resize(f.scratch, ConsistentRoom(ku, kv))
	with.consistent(tables, nil, f.rows, f.columns, f.scratch, ku, kv, how)
}
