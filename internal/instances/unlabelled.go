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

// fewHidden is how many labels are hidden for each known one, at most, where states that no label has are taken for
// classes that do not occur, as in a few photographs of a larger set, and not for some to be found in what is hidden.
const fewHidden = 0.05

// Unlabelled are, for each node type and each copy of its weights, the states that no
// label has, where there are several and hidden labels may have them.
type Unlabelled [][][]bool // [type][copy][state]; nil for copies without

// FindUnlabelled returns nil where nothing is interchangeable at the start: where few labels are hidden at nodes with
// neighbours, or none, where weights are not zero, or where there are no labels at all, and nothing to learn.
func FindUnlabelled(m *crf.Model, data []*crf.Instance) Unlabelled {
	if slices.ContainsFunc(m.Weights, func(w float64) bool { return w != 0 }) || !AnyHidden(data) {
		return nil
	}
	schema, anyLabel, found := &m.Schema, false, false
	u, hidden := make(Unlabelled, len(schema.NodeTypes)), make([][]float64, len(schema.NodeTypes)) // labels, beyond a few
	for a, t := range schema.NodeTypes {
		hidden[a] = make([]float64, max(1, t.Copies))
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
				a, copied := in.NodeType(int32(s)), u.copyOf(in, int32(s))
				if y != crf.Unobserved {
					u[a][copied][y], anyLabel = false, true
					hidden[a][copied] -= fewHidden
				} else if in.Graph.NumEdges() > 0 {
					hidden[a][copied]++
				}
			}
		}
	}
	for a := range u {
		for c, states := range u[a] {
			first := slices.Index(states, true)
			if hidden[a][c] > 0 && first >= 0 && slices.Contains(states[first+1:], true) {
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
		features := Features(in)
		for kind, span := range slices.Concat(m.Layout.Node, m.Layout.Edge) {
			read, x := features[kind].Reader(), make([]float64, span.Features)
			note := func(row int, first, second []bool, k int) { // an element whose second end has k states
				if first == nil && second == nil {
					return
				}
				own := largest[span.At:]
				if span.Untied {
					own = own[row*span.Copy():]
				}
				read(x, row)
				for i := range span.Copy() {
					if joint := i % span.States; first != nil && first[joint/k] || second != nil && second[joint%k] {
						own[i] = max(own[i], math.Abs(x[i/span.States]))
					}
				}
			}
			if kind < len(m.Layout.Node) {
				for s := range int32(in.Graph.NumNodes()) {
					if in.NodeType(s) == kind {
						note(in.NodeRow(s), u.of(in, s), nil, 1)
					}
				}
				continue
			}
			for e := range int32(in.Graph.NumEdges()) {
				if v := in.Graph.V(e); in.EdgeType(e) == kind-len(m.Layout.Node) {
					note(in.EdgeRow(e), u.of(in, in.Graph.U(e)), u.of(in, v), in.States(v))
				}
			}
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
