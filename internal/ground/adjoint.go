package ground

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/upsample"
)

// Adjoint adds beliefs, multiplied by features, to gradients: M τ, the adjoint of grounding. It carries the scratch
// that this needs; one per goroutine. The zero value is ready.
//
// Beliefs of nodes whose features are upsampled over pixels are held back, until Release adds all of them at once.
type Adjoint struct {
	scratch   scratch
	indicator []float64        // [rows of a batch*states] of one state each
	held      []upsample.Patch // [node types] beliefs at the cells of upsampled features
}

// AddNodes adds f_s ⊗ belief of at most RowsPerBatch nodes of one type to the places of their weights in gradient, laid
// out like all weights; beliefs [nodes × states] follow each other. ReleaseAll follows the last of an instance.
func (a *Adjoint) AddNodes(gradient []float64, m *crf.Model, in *crf.Instance, nodes []int32, beliefs []float64) {
	span := &m.Layout.Node[in.NodeType(nodes[0])]
	for n := copiedTogether(span, len(nodes)); len(nodes) > 0; nodes, beliefs = nodes[n:], beliefs[n*span.States:] {
		a.ScatterNodes(copyOf(span, gradient, in.NodeRow(nodes[0])), in, nodes[:n], beliefs[:n*span.States])
	}
}

// AddEdges is AddNodes for edges; a belief is row-major with the state of U(e) slow.
func (a *Adjoint) AddEdges(gradient []float64, m *crf.Model, in *crf.Instance, edges []int32, beliefs []float64) {
	span := &m.Layout.Edge[in.EdgeType(edges[0])]
	for n := copiedTogether(span, len(edges)); len(edges) > 0; edges, beliefs = edges[n:], beliefs[n*span.States:] {
		a.ScatterEdges(copyOf(span, gradient, in.EdgeRow(edges[0])), in, edges[:n], beliefs[:n*span.States])
	}
}

// Range are some of the nodes of an instance, and of its edges.
type Range struct{ Nodes, Edges [2]int } // from the first to before the second

// Whole is all of an instance.
func Whole(in *crf.Instance) Range {
	return Range{[2]int{0, in.Graph.NumNodes()}, [2]int{0, in.Graph.NumEdges()}}
}

// AddChange adds weight · M (w − w') to dst [weights], w being the one-hot statistics of labels in a range: of nodes
// that have one and edges both of whose ends do, and w' those of from, or nil. What is the same takes but a look.
func (a *Adjoint) AddChange(dst []float64, m *crf.Model, in *crf.Instance, r Range, from, labels []int32,
	weight float64) {
	a.addNodeStatistics(dst, m, in, r.Nodes, from, labels, weight)
	u, v := in.Graph.Ends()
	for e := r.Edges[0]; e < r.Edges[1]; e++ {
		k, was := in.States(v[e]), crf.Unobserved
		if from != nil {
			was = joint(from[u[e]], from[v[e]], k)
		}
		if is := joint(labels[u[e]], labels[v[e]], k); is != was {
			t, row := in.EdgeType(int32(e)), in.EdgeRow(int32(e))
			a.change(&m.Layout.Edge[t], dst, edgeFeatures(in, t), row, was, is, weight)
		}
	}
	a.ReleaseAll(dst, m, in)
}

// joint is the joint state of two labels, the second being of a node of so many states.
func joint(yu, yv int32, states int) int {
	if yu == crf.Unobserved || yv == crf.Unobserved {
		return crf.Unobserved
	}
	return int(yu)*states + int(yv)
}

// change adds what a row of features has of the state that is there, less what it has of the one that was.
func (a *Adjoint) change(span *crf.Span, dst []float64, f *matrix, row, was, is int, weight float64) {
	w := copyOf(span, dst, row)
	if is != crf.Unobserved {
		f.add(w, row, is, span.States, weight, &a.scratch)
	}
	if was != crf.Unobserved {
		f.add(w, row, was, span.States, -weight, &a.scratch)
	}
}

// addNodeStatistics is the part of nodes in AddChange. Nodes that are held back go there in
// batches: neighbours lie on the same cells.
func (a *Adjoint) addNodeStatistics(dst []float64, m *crf.Model, in *crf.Instance, nodes [2]int, from,
	labels []int32, weight float64) {
	held, n := -1, 0 // type and number of the nodes of the batch
	flush := func() {
		if n > 0 {
			a.hold(in, held, a.scratch.rows[:n], a.indicator)
		}
		n = 0
	}
	for i := nodes[0]; i < nodes[1]; i++ {
		x, y := int32(crf.Unobserved), labels[i]
		if from != nil {
			x = from[i]
		}
		if x == y {
			continue
		}
		s := int32(i)
		t, row, k := in.NodeType(s), in.NodeRow(s), in.States(s)
		f := nodeFeatures(in, t)
		if f.pixels() == nil {
			a.change(&m.Layout.Node[t], dst, f, row, int(x), int(y), weight)
			continue
		}
		if t != held || n == RowsPerBatch {
			flush()
			held = t
		}
		a.scratch.rows[n] = int32(row)
		n++
		a.indicator = numeric.Resize(a.indicator[:(n-1)*k], n*k)
		one := a.indicator[(n-1)*k:]
		clear(one)
		if y != crf.Unobserved {
			one[y] = weight
		}
		if x != crf.Unobserved {
			one[x] = -weight
		}
	}
	flush()
}

// PrefetchNodes asks for the features of nodes that ScatterNodes is about to need, at most RowsPerBatch of one type.
func (a *Adjoint) PrefetchNodes(in *crf.Instance, nodes []int32) {
	if f := nodeFeatures(in, in.NodeType(nodes[0])); f.dense() {
		f.prefetch(nodeRows(in, nodes, &a.scratch.next))
	}
}

// PrefetchEdges is PrefetchNodes for edges.
func (a *Adjoint) PrefetchEdges(in *crf.Instance, edges []int32) {
	if f := edgeFeatures(in, in.EdgeType(edges[0])); f.dense() {
		f.prefetch(edgeRows(in, edges, &a.scratch.next))
	}
}

// ScatterNodes adds f_s ⊗ belief of at most RowsPerBatch nodes of one type to dst, the weights that they share; beliefs
// [nodes × states] follow each other. Release follows the last of some nodes.
func (a *Adjoint) ScatterNodes(dst []float64, in *crf.Instance, nodes []int32, beliefs []float64) {
	t := in.NodeType(nodes[0])
	f, rows := nodeFeatures(in, t), nodeRows(in, nodes, &a.scratch.rows)
	if f.pixels() != nil {
		a.hold(in, t, rows, beliefs)
		return
	}
	a.scatterRows(dst, f, rows, beliefs)
}

// ScatterEdges is ScatterNodes for edges.
func (a *Adjoint) ScatterEdges(dst []float64, in *crf.Instance, edges []int32, beliefs []float64) {
	a.scatterRows(dst, edgeFeatures(in, in.EdgeType(edges[0])), edgeRows(in, edges, &a.scratch.rows), beliefs)
}

// scatterRows computes w[j*k+x] += Σ_i f[rows[i],j] t[i*k+x], the adjoint of Potentials.multiply.
func (a *Adjoint) scatterRows(w []float64, f *matrix, rows []int32, t []float64) {
	k := len(t) / len(rows)
	if f.dense() || f.Book != nil && len(rows) > 1 { // a lone row of a book may be mostly zeros
		simd.ScatterMatrix(w, f.doubles(rows, &a.scratch), t, len(rows), f.Dim, k)
		return
	}
	for i, r := range rows {
		row, t := f.entries(int(r), &a.scratch), t[i*k:][:k]
		for x := range row.N {
			if j, v := row.At(x); v != 0 {
				simd.AddScaled(w[j*k:][:k], t, v)
			}
		}
	}
}
