package instances

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// Hidden states. Where no label has a state of some nodes, and neither another one, the objective is the same when
// the two change places. From weights that treat them alike, as zeros do, every gradient treats them alike too:
// learning ends at a saddle, where they stand for the same thing. So such weights begin at small random numbers.

// startScale is about the size of the potentials that weights of interchangeable states
// begin with: small beside what is learned, and far above rounding.
const startScale = 0.1

// Unlabelled are, for each node type and each copy of its weights, the states that no
// label has, where there are several and hidden labels may have them.
type Unlabelled [][][]bool // [type][copy][state]; nil for copies without

// FindUnlabelled returns nil where nothing is interchangeable at the start: where no label is hidden at a node with
// neighbours, where weights are not zero, or where there are no labels at all, and nothing to learn.
func FindUnlabelled(m *crf.Model, data []*crf.Instance) Unlabelled {
	if slices.ContainsFunc(m.Weights, func(w float64) bool { return w != 0 }) || !AnyHidden(data) {
		return nil
	}
	schema, anyLabel, found := &m.Schema, false, false
	u, hidden := make(Unlabelled, len(schema.NodeTypes)), make([][]bool, len(schema.NodeTypes))
	for a, t := range schema.NodeTypes {
		hidden[a] = make([]bool, max(1, t.Copies))
		for range hidden[a] {
			states := slices.Repeat([]bool{true}, len(t.States))
			for _, x := range t.Forbidden {
				states[x] = false
			}
			u[a] = append(u[a], states)
		}
	}
	for _, in := range data {
		for _, labels := range in.Samples() {
			for s, y := range labels {
				a := in.NodeType(int32(s))
				copied := u.copyOf(in, int32(s))
				if y != crf.Unobserved {
					u[a][copied][y], anyLabel = false, true
				} else if in.Graph.NumEdges() > 0 {
					hidden[a][copied] = true
				}
			}
		}
	}
	for a := range u {
		for c, states := range u[a] {
			several := 0
			for _, x := range states {
				if x {
					several++
				}
			}
			if hidden[a][c] && several > 1 {
				found = true
			} else {
				u[a][c] = nil
			}
		}
	}
	if !anyLabel || !found {
		return nil
	}
	return u
}

// copyOf returns the copy of weights that a node has.
func (u Unlabelled) copyOf(in *crf.Instance, s int32) int {
	if len(u[in.NodeType(s)]) == 1 {
		return 0
	}
	return in.NodeRow(s)
}

// of returns the states of a node that are interchangeable, nil where there are none.
func (u Unlabelled) of(in *crf.Instance, s int32) []bool { return u[in.NodeType(s)][u.copyOf(in, s)] }

// Types names the node types that have such states.
func (u Unlabelled) Types(schema *crf.Schema) (names []string) {
	for a, copies := range u {
		if slices.ContainsFunc(copies, func(states []bool) bool { return states != nil }) {
			names = append(names, schema.NodeTypes[a].Name)
		}
	}
	return names
}

// Begin returns the model with random weights where a state takes part that others could
// stand for. They are divided by the largest size of their feature.
func (u Unlabelled) Begin(m *crf.Model, data []*crf.Instance, seed uint64) *crf.Model {
	m = m.Clone()
	largest := make([]float64, len(m.Weights)) // of the features of each weight that is drawn
	for _, in := range data {
		nodes, edges := make([]featureSizes, len(m.Layout.Node)), make([]featureSizes, len(m.Layout.Edge))
		for t := range nodes {
			nodes[t].begin(&m.Layout.Node[t], 1, in.NodeFeatures(t))
		}
		for t := range edges {
			edges[t].begin(&m.Layout.Edge[t], m.Schema.NodeStates(m.Schema.EdgeTypes[t].V), in.EdgeFeatures(t))
		}
		for s := range int32(in.Graph.NumNodes()) {
			if states := u.of(in, s); states != nil {
				nodes[in.NodeType(s)].note(in.NodeRow(s), [2][]bool{states}, largest)
			}
		}
		for e := range int32(in.Graph.NumEdges()) {
			if ends := [2][]bool{u.of(in, in.Graph.U(e)), u.of(in, in.Graph.V(e))}; ends[0] != nil || ends[1] != nil {
				edges[in.EdgeType(e)].note(in.EdgeRow(e), ends, largest)
			}
		}
		for t := range nodes {
			nodes[t].raise(largest)
		}
		for t := range edges {
			edges[t].raise(largest)
		}
	}
	for t, edge := range m.Schema.EdgeTypes {
		span, k := &m.Layout.Edge[t], m.Schema.NodeStates(edge.V)
		for _, pair := range edge.Forbidden {
			for at := span.At + pair[0]*k + pair[1]; at < span.At+span.Len; at += span.States {
				largest[at] = 0
			}
		}
	}
	// One way round of a symmetric edge may have what the other has not. The mean of both has half of each.
	m.Layout.Symmetrise(largest)
	rng := rand.New(rand.NewPCG(seed, 0x6869646465)) // apart from the order of blocks
	for _, span := range slices.Concat(m.Layout.Node, m.Layout.Edge) {
		for i := span.At; i < span.At+span.Len; i++ {
			if largest[i] > 0 {
				m.Weights[i] = startScale * rng.NormFloat64() / (largest[i] * math.Sqrt(float64(span.Features)))
			}
		}
	}
	m.Layout.Symmetrise(m.Weights)
	return m
}

// featureSizes are the largest sizes of the features of elements of one type of an instance. They
// are noted of many elements, with the same weights and states that are drawn, before these weights
// are asked for: there are many more of them than features.
type featureSizes struct {
	span   *crf.Span
	second int // states of the second end; 1 for nodes
	read   func(dst []float64, row int)
	at     int       // first of the weights of the elements noted
	ends   [2][]bool // states that are drawn of their ends, or of the nodes
	most   []float64 // [features]
	row    []float64 // [features] scratch
}

func (f *featureSizes) begin(span *crf.Span, second int, of *crf.Features) {
	*f = featureSizes{span: span, second: second, read: of.Reader(), most: make([]float64, span.Features),
		row: make([]float64, span.Features)}
}

// note takes an element.
func (f *featureSizes) note(row int, ends [2][]bool, largest []float64) {
	at := f.span.At
	if f.span.Untied {
		at += row * f.span.Copy()
	}
	if at != f.at || !sameSlice(ends[0], f.ends[0]) || !sameSlice(ends[1], f.ends[1]) {
		f.raise(largest)
		f.at, f.ends = at, ends
	}
	f.read(f.row, row)
	for j, x := range f.row {
		if x = math.Abs(x); x > f.most[j] {
			f.most[j] = x
		}
	}
}

func sameSlice(a, b []bool) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// raise raises largest [weights] for the weights of the elements noted, in states that are drawn.
func (f *featureSizes) raise(largest []float64) {
	first, second := f.ends[0], f.ends[1]
	for joint := range f.span.States {
		if x, y := joint/f.second, joint%f.second; first != nil && first[x] || second != nil && second[y] {
			for j, size := range f.most {
				w := &largest[f.at+j*f.span.States+joint]
				*w = max(*w, size)
			}
		}
	}
	clear(f.most)
}
