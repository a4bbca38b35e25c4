package exact

import (
	"context"

	"github.com/blockbp/blockbp/mrf"
)

// localSearch improves joint states by iterated conditional modes (Besag 1986): variable after variable takes its
// best state given all others, until none changes. It never makes a state worse.
type localSearch struct {
	network *mrf.Network
	// Variable v is in the factors touch[start[v]:start[v+1]].
	start  []int
	touch  []touched
	entry  []int // [factors] entry of the table at the current states
	scores []score
}

// touched is a factor seen from one of its variables.
type touched struct{ factor, stride int }

func newLocalSearch(n *mrf.Network) *localSearch {
	l := &localSearch{network: n, start: make([]int, len(n.Card)+1), entry: make([]int, len(n.Factors))}
	for f := range n.Factors {
		for _, v := range n.Factors[f].Scope {
			l.start[v+1]++
		}
	}
	most := 0
	for v, card := range n.Card {
		l.start[v+1] += l.start[v]
		most = max(most, card)
	}
	l.scores = make([]score, most)
	l.touch = make([]touched, l.start[len(n.Card)])
	next := append([]int(nil), l.start...)
	for f := range n.Factors {
		stride := 1
		scope := n.Factors[f].Scope
		for i := len(scope) - 1; i >= 0; i-- {
			l.touch[next[scope[i]]] = touched{f, stride}
			next[scope[i]]++
			stride *= n.Card[scope[i]]
		}
	}
	return l
}

// place computes where in every table the joint state x is, and returns its score.
func (l *localSearch) place(x []int) score {
	var total score
	for f := range l.network.Factors {
		factor := &l.network.Factors[f]
		entry := 0
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
				for _, t := range l.touch[l.start[v]:l.start[v+1]] {
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
	for _, t := range l.touch[l.start[v]:l.start[v+1]] {
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
