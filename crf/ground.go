package crf

import (
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
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
	// Table32 holds the tables instead, where they are ground in single precision.
	Table32 []float32
	// TableID numbers the distinct tables: the q-th edge has number TableID[q],
	// below NumTables. Edges with equal numbers share their table.
	TableID   []int32
	NumTables int
	// Forbidding says that some potentials may be −Inf. Ground makes those that the
	// schema forbids.
	Forbidding bool

	features []float64 // [RowsPerBatch*dim] scratch
	rows     []int32   // [RowsPerBatch] scratch
	single   single
	shared   []int32 // by type and bin: position of the first edge of the block with that table, or −1
}

// Ground computes the potentials of a block from the model's weights:
// θ_s(i) = Σ_j W[i,j] f_s[j] and θ_uv(i,i') = Σ_j W[i,i',j] f_uv[j]
// (docs/explanation/equations.md, section 1).
func (m *Model) Ground(pot *Potentials, in *Instance, block *partition.Block) {
	m.GroundNodes(pot, in, block)
	for lo := 0; lo < len(block.Edges); {
		lo = m.GroundEdges(pot, in, block, lo)
	}
}

// GroundNodes begins with a block: it forgets the one before and computes the
// potentials of its nodes.
func (m *Model) GroundNodes(pot *Potentials, in *Instance, block *partition.Block) {
	pot.reset(m)
	for lo := 0; lo < len(block.Nodes); {
		hi := in.NodeRun(block.Nodes, lo, min(lo+RowsPerBatch, len(block.Nodes)))
		nodes := block.Nodes[lo:hi]
		a := in.NodeType(nodes[0])
		span := &m.Layout.Node[a]
		at := len(pot.Node)
		pot.Node = numeric.Resize(pot.Node, len(pot.Node)+len(nodes)*span.States)
		f := &in.nodeFeat[a]
		f.prefetch(in.nodeRow, block.Nodes[hi:min(hi+RowsPerBatch, len(block.Nodes))])
		m.ground(pot, pot.Node[at:], span, f, in.nodeRows(nodes, pot.rows))
		for range nodes {
			at += span.States
			pot.NodeAt = append(pot.NodeAt, at)
		}
		lo = hi
	}
	m.forbidNodes(pot, in, block.Nodes)
}

// GroundEdges computes the potentials of some more edges of the block, those from
// the lo-th on, and returns the first that it did not. GroundNodes comes first.
func (m *Model) GroundEdges(pot *Potentials, in *Instance, block *partition.Block, lo int) (hi int) {
	hi = in.EdgeRun(block.Edges, lo, min(lo+RowsPerBatch, len(block.Edges)))
	edges := block.Edges[lo:hi]
	b := in.EdgeType(edges[0])
	span, f := &m.Layout.Edge[b], &in.edgeFeat[b]
	rows := in.edgeRows(edges, pot.rows)
	f.prefetch(in.edgeRow, block.Edges[hi:min(hi+RowsPerBatch, len(block.Edges))])
	if f.Tables() > 0 && !span.Untied {
		for _, r := range rows {
			pot.groundShared(m, span, f, b, int(r))
		}
		m.forbidEdges(pot, b, lo)
		return hi
	}
	at := len(pot.Table)
	pot.Table = numeric.Resize(pot.Table, len(pot.Table)+len(edges)*span.States)
	m.ground(pot, pot.Table[at:], span, f, rows)
	for range edges {
		pot.EdgeAt = append(pot.EdgeAt, at)
		pot.TableID = append(pot.TableID, int32(pot.NumTables))
		pot.NumTables++
		at += span.States
	}
	m.forbidEdges(pot, b, lo)
	return hi
}

// groundShared gives an edge the table of the first one with the same features.
func (pot *Potentials) groundShared(m *Model, span *Span, f *Features, edgeType, r int) {
	first := &pot.shared[m.Layout.tableBase[edgeType]+f.TableOf(r)]
	if *first >= 0 {
		pot.EdgeAt = append(pot.EdgeAt, pot.EdgeAt[*first])
		pot.TableID = append(pot.TableID, pot.TableID[*first])
		return
	}
	*first = int32(len(pot.EdgeAt))
	at := len(pot.Table)
	pot.Table = numeric.Resize(pot.Table, len(pot.Table)+span.States)
	f.multiply(pot.Table[at:], span.of(m.Weights, r), r, pot.features)
	pot.EdgeAt = append(pot.EdgeAt, at)
	pot.TableID = append(pot.TableID, int32(pot.NumTables))
	pot.NumTables++
}

// ground computes the potentials of rows of one type.
func (m *Model) ground(pot *Potentials, dst []float64, span *Span, f *Features, rows []int32) {
	k := span.States
	if !span.Untied {
		f.multiplyRows(dst, span.of(m.Weights, 0), rows, k, pot.features)
		return
	}
	for i, r := range rows {
		f.multiply(dst[i*k:][:k], span.of(m.Weights, int(r)), int(r), pot.features)
	}
}

func (pot *Potentials) reset(m *Model) {
	pot.Node, pot.Table, pot.Table32 = pot.Node[:0], pot.Table[:0], pot.Table32[:0]
	pot.single.forget()
	pot.NodeAt = append(pot.NodeAt[:0], 0)
	pot.EdgeAt = pot.EdgeAt[:0]
	pot.TableID, pot.NumTables, pot.Forbidding = pot.TableID[:0], 0, false
	if n := RowsPerBatch * m.Layout.maxDim; len(pot.features) < n {
		pot.features = make([]float64, n)
	}
	if pot.rows == nil {
		pot.rows = make([]int32, RowsPerBatch)
	}
	pot.shared = pot.shared[:0]
	for range m.Layout.tableBase[len(m.Layout.Edge)] {
		pot.shared = append(pot.shared, -1)
	}
}
