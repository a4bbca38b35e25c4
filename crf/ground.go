package crf

import (
	"github.com/blockbp/blockbp/graph/partition"
)

// Potentials are the ground potentials θ of one block: scratch that is filled
// when the block is picked, used, and filled again for the next one.
type Potentials struct {
	// Node holds θ_s(i) of the p-th node of the block at Node[NodeAt[p]+i].
	Node   []float64
	NodeAt []int
	// Table holds edge tables θ_uv(i,j), row-major with the state of U(e) slow.
	// The q-th edge of the block has the table at Table[EdgeAt[q]]. Edges that
	// have equal features may share one.
	Table  []float64
	EdgeAt []int
	// TableID numbers the distinct tables: the q-th edge has number TableID[q],
	// below NumTables. Edges with equal numbers share their table.
	TableID   []int32
	NumTables int
	// Forbidding says that some potentials may be −Inf. Ground makes none.
	Forbidding bool

	row       []float64 // one row of features
	batch     batch     // of which the last potentials are not computed yet
	batchSpan *Span
	shared    []int32 // by type and bin: position of the first edge of the block with that table, or −1
}

// Ground computes the potentials of a block from the model's weights:
// θ_s(i) = Σ_j W[i,j] f_s[j] and θ_uv(i,i') = Σ_j W[i,i',j] f_uv[j]
// (docs/equations.md, section 1).
func (m *Model) Ground(pot *Potentials, in *Instance, block *partition.Block) {
	pot.reset(m)
	for _, s := range block.Nodes {
		a, r := in.NodeType(s), in.NodeRow(s)
		span := &m.Layout.Node[a]
		pot.Node = pot.ground(pot.Node, m, span, &in.nodeFeat[a], r)
		pot.NodeAt = append(pot.NodeAt, len(pot.Node))
	}
	pot.flush(pot.Node, m)
	for _, e := range block.Edges {
		b, r := in.EdgeType(e), in.EdgeRow(e)
		span, f := &m.Layout.Edge[b], &in.edgeFeat[b]
		if f.Tables() > 0 && !span.Untied {
			first := &pot.shared[m.Layout.tableBase[b]+f.TableOf(r)]
			if *first >= 0 {
				pot.EdgeAt = append(pot.EdgeAt, pot.EdgeAt[*first])
				pot.TableID = append(pot.TableID, pot.TableID[*first])
				continue
			}
			*first = int32(len(pot.EdgeAt))
		}
		pot.EdgeAt = append(pot.EdgeAt, len(pot.Table))
		pot.TableID = append(pot.TableID, int32(pot.NumTables))
		pot.NumTables++
		pot.Table = pot.ground(pot.Table, m, span, f, r)
	}
	pot.flush(pot.Table, m)
}

// ground appends the potentials of one node or edge to dst. Those of dense
// features are computed together with their neighbours', at the latest by flush.
func (pot *Potentials) ground(dst []float64, m *Model, span *Span, f *Features, r int) []float64 {
	if span.Untied || !f.inBatches() {
		pot.flush(dst, m)
		dst = grow(dst, span.States)
		f.multiply(dst[len(dst)-span.States:], span.of(m.Weights, r), r, pot.row)
		return dst
	}
	if !pot.batch.add(f, r) {
		pot.flush(dst, m)
		pot.batch.add(f, r)
	}
	pot.batchSpan = span
	return grow(dst, span.States)
}

// flush computes the potentials that are still missing at the end of dst.
func (pot *Potentials) flush(dst []float64, m *Model) {
	if n := len(pot.batch.rows); n > 0 {
		k := pot.batchSpan.States
		pot.batch.multiply(dst[len(dst)-n*k:], pot.batchSpan.of(m.Weights, 0), k)
	}
}

func (pot *Potentials) reset(m *Model) {
	pot.Node, pot.Table = pot.Node[:0], pot.Table[:0]
	pot.NodeAt = append(pot.NodeAt[:0], 0)
	pot.EdgeAt = pot.EdgeAt[:0]
	pot.TableID, pot.NumTables, pot.Forbidding = pot.TableID[:0], 0, false
	if len(pot.row) < m.Layout.maxDim {
		pot.row = make([]float64, m.Layout.maxDim)
	}
	pot.shared = pot.shared[:0]
	for range m.Layout.tableBase[len(m.Layout.Edge)] {
		pot.shared = append(pot.shared, -1)
	}
}

// grow lengthens s by n entries of any value.
func grow(s []float64, n int) []float64 {
	if need := len(s) + n; need > cap(s) {
		bigger := make([]float64, len(s), max(need, cap(s)+cap(s)/2))
		copy(bigger, s)
		s = bigger
	}
	return s[:len(s)+n]
}
