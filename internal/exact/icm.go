package exact

import (
	"context"
	"slices"

	"github.com/blockbp/blockbp/mrf"
)

// localSearch improves joint states by iterated conditional modes (Besag 1986): variable after variable takes its
// best state given all others, until none changes. It never makes a state worse.
type localSearch struct {
	network *mrf.Network
	touch   [][]touched // [variables] the factors that it is in
	entry   []int       // [factors] entry of the table at the current states
	scores  []score
}

// touched is a factor seen from one of its variables.
type touched struct{ factor, stride int }

func newLocalSearch(n *mrf.Network) *localSearch {
	l := &localSearch{network: n, touch: make([][]touched, len(n.Card)), entry: make([]int, len(n.Factors)),
		scores: make([]score, slices.Max(append([]int{0}, n.Card...)))}
	for f := range n.Factors {
		stride := 1
		for _, v := range slices.Backward(n.Factors[f].Scope) {
			l.touch[v] = append(l.touch[v], touched{f, stride})
			stride *= n.Card[v]
		}
	}
	return l
}

// place computes where in every table the joint state x is, and returns its score.
func (l *localSearch) place(x []int) score {
	var total score
	for f := range l.network.Factors {
		factor, entry := &l.network.Factors[f], 0
		for _, v := range factor.Scope {
			entry = entry*l.network.Card[v] + x[v]
		}
		l.entry[f] = entry
		total.add(factor.LogTable[entry])
	}
	return total
}

// slackShare is by how much of its size a variable's score must grow for a change:
// less may be rounding, on which the search could go in circles.
const slackShare = 1e-12

// improve changes x, in place, until no variable alone can be improved, or ctx ends, and returns the score.
func (l *localSearch) improve(ctx context.Context, x []int) score {
	l.place(x)
	for changed := true; changed && ctx.Err() == nil; {
		changed = false
		for v := range x {
			if state := l.best(v, x[v]); state != x[v] {
				for _, t := range l.touch[v] {
					l.entry[t.factor] += (state - x[v]) * t.stride
				}
				x[v], changed = state, true
			}
		}
	}
	return l.place(x)
}

// best returns the best state of variable v, which is in the given one: that
// unless another is better by more than rounding.
func (l *localSearch) best(v, current int) int {
	scores := l.scores[:l.network.Card[v]]
	clear(scores)
	for _, t := range l.touch[v] {
		table := l.network.Factors[t.factor].LogTable[l.entry[t.factor]-current*t.stride:]
		for i := range scores {
			scores[i].add(table[i*t.stride])
		}
	}
	best := current
	for i := range scores {
		slack := 0.0
		if best == current {
			slack = slackShare * scores[current].size
		}
		if scores[i].above(scores[best], slack) {
			best = i
		}
	}
	return best
}
