package learn

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// Hidden states. Where no label has a state of some nodes, and neither another one, the
// objective is the same when the two change places. From weights that treat them alike, as
// zeros do, every gradient treats them alike too: learning ends at a saddle, where they
// stand for the same thing. So such weights begin at small random numbers.

// startScale is about the size of the potentials that weights of interchangeable states
// begin with: small beside what is learned, and far above rounding.
const startScale = 0.1

// unlabelled are, for each node type and each copy of its weights, the states that no
// label has, where there are several and hidden labels may have them.
type unlabelled [][][]bool // [type][copy][state]; nil for copies without

// findUnlabelled returns nil where nothing is interchangeable at the start: where no label
// is hidden at a node with neighbours, where weights are not zero, or where there are no
// labels at all, and nothing to learn.
func findUnlabelled(p *Problem) unlabelled {
	if slices.ContainsFunc(p.Model.Weights, func(w float64) bool { return w != 0 }) || !anyHidden(p.Data) {
		return nil
	}
	schema, anyLabel, found := &p.Model.Schema, false, false
	u, hidden := make(unlabelled, len(schema.NodeTypes)), make([][]bool, len(schema.NodeTypes))
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
	for _, in := range p.Data {
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
				several += oneIf(x)
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
func (u unlabelled) copyOf(in *crf.Instance, s int32) int {
	if len(u[in.NodeType(s)]) == 1 {
		return 0
	}
	return in.NodeRow(s)
}

// of returns the states of a node that are interchangeable, nil where there are none.
func (u unlabelled) of(in *crf.Instance, s int32) []bool { return u[in.NodeType(s)][u.copyOf(in, s)] }

// types names the node types that have such states.
func (u unlabelled) types(schema *crf.Schema) (names []string) {
	for a, copies := range u {
		if slices.ContainsFunc(copies, func(states []bool) bool { return states != nil }) {
			names = append(names, schema.NodeTypes[a].Name)
		}
	}
	return names
}

// begin returns the model with random weights where a state takes part that others could
// stand for. They are divided by the largest size of their feature.
func (u unlabelled) begin(p *Problem, seed uint64) *crf.Model {
	m := p.Model.Clone()
	largest := make([]float64, len(m.Weights)) // of the features of each weight that is drawn
	for _, in := range p.Data {
		for s := range int32(in.Graph.NumNodes()) {
			if states := u.of(in, s); states != nil {
				noteFeatures(largest, m.Layout.Node[in.NodeType(s)], in.NodeFeatures(in.NodeType(s)), in.NodeRow(s), func(x int) bool { return states[x] })
			}
		}
		for e := range int32(in.Graph.NumEdges()) {
			first, second := u.of(in, in.Graph.U(e)), u.of(in, in.Graph.V(e))
			if first == nil && second == nil {
				continue
			}
			t, k := in.EdgeType(e), in.States(in.Graph.V(e))
			noteFeatures(largest, m.Layout.Edge[t], in.EdgeFeatures(t), in.EdgeRow(e), func(joint int) bool {
				x, y := joint/k, joint%k
				return (first != nil && first[x] || second != nil && second[y]) && !slices.Contains(m.Schema.EdgeTypes[t].Forbidden, [2]int{x, y})
			})
		}
	}
	// One way round of a symmetric edge may have what the other has not. The mean of both has
	// half of each.
	m.Layout.Symmetrise(largest)
	rng := rand.New(rand.NewPCG(seed, 0x6869646465)) // apart from the order of blocks
	for _, span := range allSpans(&m.Layout) {
		for i := span.At; i < span.At+span.Len; i++ {
			if largest[i] > 0 {
				m.Weights[i] = startScale * rng.NormFloat64() / (largest[i] * math.Sqrt(float64(span.Features)))
			}
		}
	}
	m.Layout.Symmetrise(m.Weights)
	return m
}

// noteFeatures raises largest for the weights of an element's states that are drawn.
func noteFeatures(largest []float64, span crf.Span, f *crf.Features, row int, drawn func(state int) bool) {
	values := make([]float64, span.Features)
	f.Row(values, row)
	at := span.At
	if span.Untied {
		at += row * span.Copy()
	}
	for j, value := range values {
		for x := range span.States {
			if drawn(x) {
				w := &largest[at+j*span.States+x]
				*w = max(*w, math.Abs(value))
			}
		}
	}
}
