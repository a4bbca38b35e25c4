package crf

// Adjoint adds beliefs, multiplied by features, to gradients: M τ, the adjoint of
// grounding. It carries the scratch that this needs; one per goroutine.
type Adjoint struct {
	row     []float64
	batch   batch
	beliefs []float64 // [rowsPerBatch*states] of the batch
	dst     []float64 // where the batch belongs
	states  int
}

// NewAdjoint returns an Adjoint for the model.
func NewAdjoint(m *Model) *Adjoint {
	states := 0
	for _, spans := range [][]Span{m.Layout.Node, m.Layout.Edge} {
		for _, span := range spans {
			states = max(states, span.States)
		}
	}
	return &Adjoint{row: make([]float64, m.Layout.maxDim), beliefs: make([]float64, rowsPerBatch*states)}
}

// ScatterNode adds f_s ⊗ belief to dst, the weights of one copy of the type of
// node s, at the latest with the next Flush.
func (a *Adjoint) ScatterNode(dst []float64, in *Instance, s int32, belief []float64) {
	t := in.NodeType(s)
	a.scatter(dst, &in.nodeFeat[t], in.NodeRow(s), belief)
}

// ScatterEdge adds f_uv ⊗ belief to dst, the weights of one copy of the type of
// edge e, at the latest with the next Flush; belief is row-major with the state of U(e) slow.
func (a *Adjoint) ScatterEdge(dst []float64, in *Instance, e int32, belief []float64) {
	t := in.EdgeType(e)
	a.scatter(dst, &in.edgeFeat[t], in.EdgeRow(e), belief)
}

// Flush does what is still to be done of all scattering so far: dense rows are
// multiplied in batches. dst of earlier calls is complete only now.
func (a *Adjoint) Flush() {
	if n := len(a.batch.rows); n > 0 {
		a.batch.scatter(a.dst, a.beliefs[:n*a.states], a.states)
	}
}

func (a *Adjoint) scatter(dst []float64, f *Features, r int, belief []float64) {
	if len(dst) == 0 {
		return
	}
	if !f.inBatches() {
		f.scatter(dst, belief, r, a.row)
		return
	}
	if len(a.batch.rows) > 0 && &a.dst[0] != &dst[0] || !a.batch.add(f, r) {
		a.Flush()
		a.batch.add(f, r)
	}
	a.dst, a.states = dst, len(belief)
	copy(a.beliefs[(len(a.batch.rows)-1)*a.states:], belief)
}
