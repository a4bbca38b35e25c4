package crf

// Adjoint adds beliefs, multiplied by features, to gradients: M τ, the adjoint of
// grounding. It carries the scratch that this needs; one per goroutine.
type Adjoint struct {
	features []float64 // [RowsPerBatch*dim]
	rows     []int32   // [RowsPerBatch]
	single   single
}

// NewAdjoint returns an Adjoint for the model.
func NewAdjoint(m *Model) *Adjoint {
	return &Adjoint{features: make([]float64, RowsPerBatch*m.Layout.maxDim), rows: make([]int32, RowsPerBatch)}
}

// ScatterNode adds f_s ⊗ belief to dst, the weights of one copy of the type of
// node s.
func (a *Adjoint) ScatterNode(dst []float64, in *Instance, s int32, belief []float64) {
	in.nodeFeat[in.NodeType(s)].scatter(dst, belief, in.NodeRow(s), a.features)
}

// ScatterEdge adds f_uv ⊗ belief to dst, the weights of one copy of the type of
// edge e; belief is row-major with the state of U(e) slow.
func (a *Adjoint) ScatterEdge(dst []float64, in *Instance, e int32, belief []float64) {
	in.edgeFeat[in.EdgeType(e)].scatter(dst, belief, in.EdgeRow(e), a.features)
}

// PrefetchNodes asks for the features of nodes that ScatterNodes is about to need, at
// most RowsPerBatch of one type.
func (a *Adjoint) PrefetchNodes(in *Instance, nodes []int32) {
	in.nodeFeat[in.NodeType(nodes[0])].prefetch(in.nodeRow, nodes)
}

// PrefetchEdges is PrefetchNodes for edges.
func (a *Adjoint) PrefetchEdges(in *Instance, edges []int32) {
	in.edgeFeat[in.EdgeType(edges[0])].prefetch(in.edgeRow, edges)
}

// ScatterNodes is ScatterNode for at most RowsPerBatch nodes of one tied type;
// beliefs [nodes × states] follow each other.
func (a *Adjoint) ScatterNodes(dst []float64, in *Instance, nodes []int32, beliefs []float64) {
	t := in.NodeType(nodes[0])
	in.nodeFeat[t].scatterRows(dst, beliefs, in.nodeRows(nodes, a.rows), len(beliefs)/len(nodes), a.features)
}

// ScatterEdges is ScatterEdge for at most RowsPerBatch edges of one tied type;
// beliefs [edges × joint states] follow each other.
func (a *Adjoint) ScatterEdges(dst []float64, in *Instance, edges []int32, beliefs []float64) {
	t := in.EdgeType(edges[0])
	in.edgeFeat[t].scatterRows(dst, beliefs, in.edgeRows(edges, a.rows), len(beliefs)/len(edges), a.features)
}
