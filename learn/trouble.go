package learn

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/ground"
)

// where names the blocks of a set, and the instance, where it is of one.
func (l *learner) where(blocks blockSet) string {
	text := fmt.Sprintf("block %d", blocks[0])
	if n := len(blocks); n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	if data := l.problem.given().Data; len(data) == 1 {
		text += " of instance " + data[0].Name
	}
	return text
}

// separable reports that the model gives every sample more than half of its probability: B is no less than A, and so
// w log 2 > N L ≥ −w log p for each, w being the smallest weight of a sample. Then every other labelling has a
// smaller product with θ, and L falls to zero as θ grows in its direction.
func (l *learner) separable() bool {
	least := math.Inf(1)
	for _, in := range l.problem.Data {
		least = min(least, in.Weight())
	}
	if l.problem.L2 > 0 || l.problem.ClassWeights != nil || l.problem.Statistics != nil || !l.convex ||
		!(l.progress.Objective*l.samples < least*math.Ln2) {
		return false
	}
	for _, u := range l.units {
		if u.net.Counting.Facts.Bound == counting.None {
			return false
		}
	}
	return true
}

// impossible says why what the model forbids leaves a unit no joint state, whatever the weights: by itself, or with
// the labels of a clamped unit. It returns "" where that is not proved.
func (l *learner) impossible(u *unit) string {
	if !l.model.Layout.Masked {
		return ""
	}
	p := ground.Condition(l.model, u.in)
	if _, ok := gibbs.Possible(p); !ok {
		return "what is forbidden leaves no joint state: correct forbidden_states and forbidden_pairs, or the edges"
	}
	for s, y := range u.net.Observed {
		for i := range p.Card[s] {
			if y >= 0 && i != y {
				p.Node[p.NodeAt[s]+int(i)] = math.Inf(-1)
			}
		}
	}
	if _, ok := gibbs.Possible(p); !ok {
		return "what is forbidden leaves no joint state with the labels that are known: correct forbidden_states and " +
			"forbidden_pairs, the labels or the edges"
	}
	return ""
}
