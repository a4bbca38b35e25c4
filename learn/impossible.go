package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/zeros"
)

// impossible says why what the model forbids leaves a unit no joint state, whatever
// the weights: by itself, or with the labels of a clamped unit. It returns "" where
// that is not proved.
func (l *learner) impossible(u *unit) string {
	if !l.model.Layout.Masked {
		return ""
	}
	p := ground.Condition(l.model, u.in)
	if _, ok := zeros.Possible(p); !ok {
		return "what is forbidden leaves no joint state: correct forbidden_states and forbidden_pairs, or the edges"
	}
	for s, y := range u.net.Observed {
		for i := range p.Card[s] {
			if y >= 0 && i != y {
				p.Node[p.NodeAt[s]+int(i)] = math.Inf(-1)
			}
		}
	}
	if _, ok := zeros.Possible(p); !ok {
		return "what is forbidden leaves no joint state with the labels that are known: correct forbidden_states and forbidden_pairs, the labels or the edges"
	}
	return ""
}
