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

	row    []float64 // one row of features
	shared []int32   // by type and bin: position of the first edge of the block with that table, or −1
}

// Ground computes the potentials of a block from the model's weights:
// θ_s(i) = Σ_j W[i,j] f_s[j] and θ_uv(i,i') = Σ_j W[i,i',j] f_uv[j]
// (docs/equations.md, section 1).
func (m *Model) Ground(pot *Potentials, in *Instance, block *partition.Block) {
	pot.reset(m)
	for _, s := range block.Nodes {
		a := in.NodeType(s)
		span := &m.Layout.Node[a]
		r := in.NodeRow(s)
		pot.Node = grow(pot.Node, span.States)
		in.nodeFeat[a].multiply(pot.Node[len(pot.Node)-span.States:], span.of(m.Weights, r), r, pot.row)
		pot.NodeAt = append(pot.NodeAt, len(pot.Node))
	}
	for _, e := range block.Edges {
		b := in.EdgeType(e)
		span := &m.Layout.Edge[b]
		r := in.EdgeRow(e)
		f := &in.edgeFeat[b]
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
		pot.Table = grow(pot.Table, span.States)
		f.multiply(pot.Table[len(pot.Table)-span.States:], span.of(m.Weights, r), r, pot.row)
	}
}

func (pot *Potentials) reset(m *Model) {
	pot.Node, pot.Table = pot.Node[:0], pot.Table[:0]
	pot.NodeAt = append(pot.NodeAt[:0], 0)
	pot.EdgeAt = pot.EdgeAt[:0]
	pot.TableID, pot.NumTables = pot.TableID[:0], 0
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

// Adjoint adds beliefs, multiplied by features, to gradients. It carries the
// scratch that this needs; one per goroutine.
type Adjoint struct{ row []float64 }

// NewAdjoint returns an Adjoint for the model.
func NewAdjoint(m *Model) *Adjoint {
	return &Adjoint{row: make([]float64, m.Layout.maxDim)}
}

// ScatterNode adds f_s ⊗ belief to dst, the weights of one copy of the type of
// node s.
func (a *Adjoint) ScatterNode(dst []float64, in *Instance, s int32, belief []float64) {
	t := in.NodeType(s)
	in.nodeFeat[t].scatter(dst, belief, in.NodeRow(s), a.row)
}

// ScatterEdge adds f_uv ⊗ belief to dst, the weights of one copy of the type of
// edge e; belief is row-major with the state of U(e) slow.
func (a *Adjoint) ScatterEdge(dst []float64, in *Instance, e int32, belief []float64) {
	t := in.EdgeType(e)
	in.edgeFeat[t].scatter(dst, belief, in.EdgeRow(e), a.row)
}
