package dataset

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/crf"
)

// Direction of edges. Where both ends of an edge are of one node type and nothing says that
// the first and the second end differ, the order in which data name them tells nothing, and
// a model must not learn from it.

// chain counts the edges of a network, and those that lead from a row to the next. row is that of each node; nil: they
// are as the rows.
func (l *loader) chain(u, v, row []int32) {
	for e := range u {
		from, to := u[e], v[e]
		if row != nil {
			from, to = row[from], row[to]
		}
		if l.edges++; to == from+1 {
			l.steps++
		}
	}
}

// perPair is how many edges a pair of states needs for the order of chains to be learned unasked: with
// fewer, weights that could have been one cost more than they tell.
const perPair = 4

// leadsOn reports whether every edge leads from a row to the next, so that chains say what comes after
// what, of enough edges to learn it from.
func (l *loader) leadsOn(states int) bool {
	return l.steps == l.edges && l.edges >= perPair*states*states && !l.tied && !l.o.Tied && !l.set.Recipe.Untied
}

// direct decides, for training data, which edge types are symmetric.
func (l *loader) direct(s *crf.Schema) {
	m := &l.manifest
	if l.set.Recipe.Kind == KindText {
		return // its edge types are made as they are
	}
	for b := range s.EdgeTypes {
		t := &s.EdgeTypes[b]
		said := m.directed() || l.directed || l.o.Directed
		directed := said || t.U == t.V && m.Directed == nil && l.leadsOn(s.NodeStates(t.U))
		if b < len(m.EdgeTypes) && m.EdgeTypes[b].Directed != nil {
			if l.set.Recipe.Untied {
				l.failAt(l.manifestPath, fmt.Sprintf("edge_types[%d].directed", b),
					"say \"directed\" of all, or use {directed}", "untied weights have types of their own")
				return
			}
			said = *m.EdgeTypes[b].Directed || l.o.Directed
			directed = said
		}
		if t.Symmetric = t.U == t.V && !directed; directed && !said && !l.noted {
			l.noted = true // types are decided on more than once
			l.warn("every edge leads from a row to the next: edges of type %q are learned directed, "+
				"as of what comes after what; say \"directed\": false in %s if the order means nothing", t.Name, ManifestName)
		}
	}
}

// checkMirrors refuses pairs that edges without direction are forbidden one way round only.
func (l *loader) checkMirrors(s *crf.Schema) {
	for _, t := range s.EdgeTypes {
		all := setOf(t.Forbidden)
		for _, x := range t.Forbidden {
			if states := s.NodeTypes[t.U].States; t.Symmetric && !all[[2]int{x[1], x[0]}] {
				l.failAt(l.manifestPath, "", `forbid both, or say "directed": true`,
					"edges of type %q have no direction, but %s, %s is forbidden and %s, %s is not",
					t.Name, states[x[0]], states[x[1]], states[x[1]], states[x[0]])
				return
			}
		}
	}
}

// findDirection takes what the instance files say, which must be the same in all.
func (l *npzLoader) findDirection() {
	for _, in := range l.instances {
		if in.directed != l.instances[0].directed {
			says := map[bool]string{true: "are directed", false: "are not"}
			l.at(in, directedArray, "make the two agree", "its edges %s, those of %s %s", says[in.directed],
				l.instances[0].path, says[!in.directed])
			return
		}
		// Edges that are there both ways round lead nowhere.
		l.directed, l.tied = in.directed, l.tied || in.tied || in.both != nil || l.o.Tied
		u, v := in.graph.Ends()
		l.chain(u, v, nil)
	}
}

const (
	// squareOfChance is what the square of a balance of n edges, over n, passes once in a million
	// times where the order of ends means nothing: each edge is as likely either way round.
	squareOfChance = 24
	// leastDirection is the least that the order has to tell for a note: 0 where a pair of
	// states is as often one way round as the other, 1 where it always is one way round.
	// Two of three the same way round are 0.11.
	leastDirection = 0.1
)

// pairCount counts how often the ends of an edge have the larger and the smaller of two states, and how often the
// smaller and the larger.
type pairCount struct{ there, back int }

// evident reports whether the order of ends is sure to tell something, and much: a test of signs. Of so many pairs,
// one is sooner met by chance.
func (n pairCount) evident(pairs int) bool {
	balance, edges := float64(n.there-n.back), float64(n.there+n.back)
	return balance*balance >= leastDirection*edges*edges &&
		balance*balance > (squareOfChance+2*math.Log(float64(pairs)))*edges
}

// noteDirection warns where labels of the ends of symmetric edges are much more often one way
// round than the other. Pixels are joined in an order that no file has, and weights of each node's own
// tell what is of its state and not of the direction.
func (l *loader) noteDirection() {
	s := &l.set.Schema
	if l.set.Recipe.Kind == KindImages || l.set.Recipe.Untied || l.tied || l.o.Tied || l.manifest.Directed != nil {
		return
	}
	for b, counts := range l.pairs() {
		t := &s.EdgeTypes[b]
		states, pair, most := s.NodeTypes[t.U].States, [2]int32{}, pairCount{}
		for x, n := range counts {
			by, before := abs(n.there-n.back), abs(most.there-most.back)
			if n.evident(len(counts)) && (by > before || by == before && comparePairs(x, pair) < 0) {
				pair, most = x, n
			}
		}
		from, to := states[pair[0]], states[pair[1]]
		if most.there < most.back {
			from, to = to, from
		}
		if most != (pairCount{}) {
			l.warn("edges of type %q look directed: %s → %s %d times, the other way round %d; if the first end means "+
				"something else than the second, say \"directed\": true in %s, or use {directed}",
				t.Name, from, to, max(most.there, most.back), min(most.there, most.back), ManifestName)
		}
	}
}

func abs(n int) int { return max(n, -n) }

// pairs counts the pairs of different states that symmetric edges of each type join, by the larger state and the
// smaller. Samples share one order of ends, so that the first stands for all.
func (l *loader) pairs() []map[[2]int32]pairCount {
	all := make([]map[[2]int32]pairCount, len(l.set.Schema.EdgeTypes))
	for b, t := range l.set.Schema.EdgeTypes {
		if t.Symmetric {
			all[b] = map[[2]int32]pairCount{}
		}
	}
	for _, in := range l.set.Instances {
		u, v := in.Graph.Ends()
		for _, labels := range in.Samples()[:min(1, len(in.Samples()))] {
			for e := range u {
				counts := all[in.EdgeType(int32(e))]
				x, y := l.asGiven(in.Graph, e, labels[u[e]], labels[v[e]])
				if counts == nil || x == y || x == crf.Unobserved || y == crf.Unobserved {
					continue
				}
				pair := [2]int32{max(x, y), min(x, y)}
				n := counts[pair]
				if x > y {
					n.there++
				} else {
					n.back++
				}
				counts[pair] = n
			}
		}
	}
	return all
}
