package crf

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
)

// masked reports whether the schema forbids states or pairs of states.
func (s *Schema) masked() bool {
	return slices.ContainsFunc(s.NodeTypes, func(t NodeType) bool { return len(t.Forbidden) > 0 }) ||
		slices.ContainsFunc(s.EdgeTypes, func(t EdgeType) bool { return len(t.Forbidden) > 0 })
}

// validateMask reports the first forbidden state or pair that does not exist, or types that have nothing allowed.
func (s *Schema) validateMask() error {
	for a, t := range s.NodeTypes {
		where := fmt.Sprintf("schema: node_types[%d] (%q)", a, t.Name)
		for i, x := range t.Forbidden {
			if x < 0 || x >= len(t.States) {
				return fmt.Errorf("%s: forbidden[%d] is state %d, want 0 to %d", where, i, x, len(t.States)-1)
			}
		}
		if len(numeric.SetOf(t.Forbidden)) == len(t.States) {
			return fmt.Errorf("%s: every state is forbidden", where)
		}
	}
	for b, t := range s.EdgeTypes {
		if err := s.validatePairs(&t); err != nil {
			return fmt.Errorf("schema: edge_types[%d] (%q): %w", b, t.Name, err)
		}
	}
	return nil
}

func (s *Schema) validatePairs(t *EdgeType) error {
	u, v := &s.NodeTypes[t.U], &s.NodeTypes[t.V]
	all, first, second := numeric.SetOf(t.Forbidden), numeric.SetOf(u.Forbidden), numeric.SetOf(v.Forbidden)
	for i, x := range t.Forbidden {
		if x[0] < 0 || x[0] >= len(u.States) || x[1] < 0 || x[1] >= len(v.States) {
			return fmt.Errorf("forbidden[%d] is the pair of states %d and %d, want below %d and %d",
				i, x[0], x[1], len(u.States), len(v.States))
		}
		if t.Symmetric && !all[[2]int{x[1], x[0]}] {
			return fmt.Errorf("forbidden[%d] is the pair %s, %s; the type has no direction: forbid %s, %s too, or "+
				"say that it has one", i, u.States[x[0]], v.States[x[1]], v.States[x[1]], u.States[x[0]])
		}
	}
	for x := range u.States {
		for y := range v.States {
			if !first[x] && !second[y] && !all[[2]int{x, y}] {
				return nil
			}
		}
	}
	return fmt.Errorf("every pair of states is forbidden")
}

// CheckLabels returns an *Error of the first label, or pair of labels of neighbours, that the schema forbids: no
// weights make such a sample possible. The schema must have the types of the instance's own.
func (in *Instance) CheckLabels(s *Schema) error {
	m := s.mask()
	for i, labels := range in.labels {
		if found := in.forbidden(m, labels, i); found != nil {
			return found
		}
	}
	return nil
}

// CheckHeld is CheckLabels for labels [nodes] that are held while the others are inferred; Unobserved stands for
// those, and nil for no labels. Other numbers of labels, and states that do not exist, are refused, too. Inference
// given forbidden labels has no meaning, and where the ends of an edge are all held it would not meet what forbids
// them.
func (in *Instance) CheckHeld(s *Schema, labels []int32) error {
	if labels == nil {
		return nil
	}
	found := in.misfit(0, labels)
	if found == nil {
		if found = in.forbidden(s.mask(), labels, 0); found == nil {
			return nil
		}
		found.Reason += " by the model, so nothing can be inferred from them; hold other labels"
	}
	found.Array = "held " + found.Array
	return found
}

// mask is what a schema forbids, by its types.
type mask struct {
	*Schema
	states []map[int]bool
	pairs  []map[[2]int]bool
}

// mask returns nil for a schema that forbids nothing.
func (s *Schema) mask() *mask {
	if !s.masked() {
		return nil
	}
	return &mask{s, numeric.Map(s.NodeTypes, func(t NodeType) map[int]bool { return numeric.SetOf(t.Forbidden) }),
		numeric.Map(s.EdgeTypes, func(t EdgeType) map[[2]int]bool { return numeric.SetOf(t.Forbidden) })}
}

// forbidden returns the first forbidden label, or pair of labels, of one sample.
func (in *Instance) forbidden(m *mask, labels []int32, sample int) *Error {
	if labels == nil || m == nil {
		return nil
	}
	for n, y := range labels {
		a := in.NodeType(int32(n))
		if t := &m.NodeTypes[a]; m.states[a][int(y)] {
			return &Error{"labels", []int{sample, n}, fmt.Sprintf("state %s of node type %q is forbidden", t.States[y], t.Name)}
		}
	}
	u, v := in.Graph.Ends()
	for e := range u {
		b := in.EdgeType(int32(e))
		x, y := labels[u[e]], labels[v[e]]
		if t := &m.EdgeTypes[b]; x >= 0 && y >= 0 && m.pairs[b][[2]int{int(x), int(y)}] {
			return &Error{fmt.Sprintf("labels of sample %d at edges", sample), []int{e},
				fmt.Sprintf("the pair %s, %s of edge type %q is forbidden", m.NodeTypes[t.U].States[x],
					m.NodeTypes[t.V].States[y], t.Name)}
		}
	}
	return nil
}
