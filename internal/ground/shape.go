package ground

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// SameShape reports whether weights laid out for one schema fit the other.
func SameShape(a, b *crf.Schema) bool {
	sameNode := func(x, y crf.NodeType) bool {
		return len(x.States) == len(y.States) && x.Features == y.Features && x.Copies == y.Copies &&
			slices.Equal(x.Forbidden, y.Forbidden)
	}
	sameEdge := func(x, y crf.EdgeType) bool {
		return x.U == y.U && x.V == y.V && x.Features == y.Features && x.Copies == y.Copies &&
			slices.Equal(x.Forbidden, y.Forbidden) && x.Symmetric == y.Symmetric
	}
	return a == b || slices.EqualFunc(a.NodeTypes, b.NodeTypes, sameNode) &&
		slices.EqualFunc(a.EdgeTypes, b.EdgeTypes, sameEdge)
}

// Largest returns the bytes that the largest table or weights of a type would take, what these are, and how the number
// comes about. Nothing of that size need exist: as floating point it does not overflow.
func Largest(s *crf.Schema) (bytes float64, name, reason string) {
	each := func(kind, of string, states, features, copies float64) {
		const double = 8
		if here := double * states * max(1, features*max(1, copies)); here > bytes {
			bytes, name = here, "weights of "+kind+" type "+of
			reason = fmt.Sprintf("%.6g states × %.6g features × %.6g × 8 bytes", states, features, max(1, copies))
		}
	}
	for a, t := range s.NodeTypes {
		each("node", t.Name, float64(s.NodeStates(a)), float64(t.Features), float64(t.Copies))
	}
	for b, t := range s.EdgeTypes {
		ku, kv := s.EdgeStates(b)
		each("edge", t.Name, float64(ku)*float64(kv), float64(t.Features), float64(t.Copies))
	}
	return bytes, name, reason
}
