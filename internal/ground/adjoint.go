package ground

import (
	"iter"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/stretch"
)

// Adjoint adds beliefs, multiplied by features, to gradients: M τ, the adjoint of grounding. It carries the scratch
// that this needs; one per goroutine. The zero value is ready.
//
// Beliefs of nodes whose features are stretched over pixels are held back, until Release adds all of them at once.
type Adjoint struct {
	scratch   scratch
	indicator []float64       // [rows of a batch*states] of one state each
	held      []stretch.Patch // [node types] beliefs at the cells of stretched features
	one       [1]int32
}

// ScatterNode adds f_s ⊗ belief to dst, the weights of one copy of the type of node s.
func (a *Adjoint) ScatterNode(dst []float64, in *crf.Instance, s int32, belief []float64) {
	nodeFeatures(in, in.NodeType(s)).scatter(dst, belief, in.NodeRow(s), &a.scratch)
}

// ScatterEdge adds f_uv ⊗ belief to dst, the weights of one copy of the type of
// edge e; belief is row-major with the state of U(e) slow.
func (a *Adjoint) ScatterEdge(dst []float64, in *crf.Instance, e int32, belief []float64) {
	edgeFeatures(in, in.EdgeType(e)).scatter(dst, belief, in.EdgeRow(e), &a.scratch)
}

// AddNode is ScatterNode to the place of the node's weights in gradient, which is
// laid out like all weights. ReleaseAll follows the last node of an instance.
func (a *Adjoint) AddNode(gradient []float64, m *crf.Model, in *crf.Instance, s int32, belief []float64) {
	t := in.NodeType(s)
	if f := nodeFeatures(in, t); f.pixels() != nil {
		a.one[0] = int32(in.NodeRow(s))
		a.hold(in, t, a.one[:], belief)
		return
	}
	a.ScatterNode(copyOf(&m.Layout.Node[t], gradient, in.NodeRow(s)), in, s, belief)
}

// AddEdge is AddNode for an edge.
func (a *Adjoint) AddEdge(gradient []float64, m *crf.Model, in *crf.Instance, e int32, belief []float64) {
	a.ScatterEdge(copyOf(&m.Layout.Edge[in.EdgeType(e)], gradient, in.EdgeRow(e)), in, e, belief)
}

// AddStatistics adds weight · M w to dst [weights], w being the one-hot statistics of the labels: of every node that
// has one, and of every edge both of whose ends have one.
func (a *Adjoint) AddStatistics(dst []float64, m *crf.Model, in *crf.Instance, labels []int32, weight float64) {
	a.AddChange(dst, m, in, Whole(in), nil, labels, weight)
}

// Range are some of the nodes of an instance, and of its edges.
type Range struct{ Nodes, Edges Interval }

// Interval are the numbers from the first to before the second.
type Interval [2]int

// All goes through the numbers.
func (x Interval) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := x[0]; i < x[1] && yield(i); i++ {
		}
	}
}

// Whole is all of an instance.
func Whole(in *crf.Instance) Range {
	return Range{Interval{0, in.Graph.NumNodes()}, Interval{0, in.Graph.NumEdges()}}
}

// AddChange adds what AddStatistics adds of labels in a range, less what it adds of from: elements that
// have the same in both take but a look. from may be nil: it has no labels.
func (a *Adjoint) AddChange(dst []float64, m *crf.Model, in *crf.Instance, r Range, from, labels []int32,
	weight float64) {
	a.addNodeStatistics(dst, m, in, r.Nodes, from, labels, weight)
	u, v := in.Graph.Ends()
	for e := range r.Edges.All() {
		yu, yv := labels[u[e]], labels[v[e]]
		xu, xv := int32(crf.Unobserved), int32(crf.Unobserved)
		if from != nil {
			if xu, xv = from[u[e]], from[v[e]]; xu == yu && xv == yv {
				continue
			}
		}
		is, was := yu != crf.Unobserved && yv != crf.Unobserved, xu != crf.Unobserved && xv != crf.Unobserved
		if !is && !was {
			continue
		}
		t, row, k := in.EdgeType(int32(e)), in.EdgeRow(int32(e)), in.States(v[e])
		f, w, table := edgeFeatures(in, t), copyOf(&m.Layout.Edge[t], dst, row), in.States(u[e])*k
		if is {
			f.add(w, row, int(yu)*k+int(yv), table, weight, &a.scratch)
		}
		if was {
			f.add(w, row, int(xu)*k+int(xv), table, -weight, &a.scratch)
		}
	}
	a.ReleaseAll(dst, m, in)
}

// addNodeStatistics is the part of nodes in AddChange. Nodes that are held back go there in
// batches: neighbours lie on the same cells.
func (a *Adjoint) addNodeStatistics(dst []float64, m *crf.Model, in *crf.Instance, nodes Interval, from,
	labels []int32, weight float64) {
	held, n := -1, 0 // type and number of the nodes of the batch
	flush := func() {
		if n > 0 {
			a.hold(in, held, a.scratch.rows[:n], a.indicator)
		}
		n = 0
	}
	for i := range nodes.All() {
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
			w := copyOf(&m.Layout.Node[t], dst, row)
			if y != crf.Unobserved {
				f.add(w, row, int(y), k, weight, &a.scratch)
			}
			if x != crf.Unobserved {
				f.add(w, row, int(x), k, -weight, &a.scratch)
			}
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

// ScatterNodes is ScatterNode for at most RowsPerBatch nodes of one tied type;
// beliefs [nodes × states] follow each other. Release follows the last of some nodes.
func (a *Adjoint) ScatterNodes(dst []float64, in *crf.Instance, nodes []int32, beliefs []float64) {
	t := in.NodeType(nodes[0])
	f, rows := nodeFeatures(in, t), nodeRows(in, nodes, &a.scratch.rows)
	if f.pixels() != nil {
		a.hold(in, t, rows, beliefs)
		return
	}
	a.scatterRows(dst, f, rows, beliefs)
}

// ScatterEdges is ScatterEdge for at most RowsPerBatch edges of one tied type;
// beliefs [edges × joint states] follow each other.
func (a *Adjoint) ScatterEdges(dst []float64, in *crf.Instance, edges []int32, beliefs []float64) {
	a.scatterRows(dst, edgeFeatures(in, in.EdgeType(edges[0])), edgeRows(in, edges, &a.scratch.rows), beliefs)
}

// scatterRows computes w[j*k+x] += Σ_i f[rows[i],j] t[i*k+x], the adjoint of Potentials.multiply.
func (a *Adjoint) scatterRows(w []float64, f *matrix, rows []int32, t []float64) {
	k := len(t) / len(rows)
	if f.dense() || f.Book != nil {
		simd.ScatterMatrix(w, f.doubles(rows, &a.scratch), t, len(rows), f.Dim, k)
		return
	}
	for i, r := range rows {
		f.scatter(w, t[i*k:][:k], int(r), &a.scratch)
	}
}
