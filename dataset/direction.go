package dataset

import (
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/sets"
)

// Direction of edges. Where both ends of an edge are of one node type and nothing says that
// the first and the second end differ, the order in which data name them tells nothing, and
// a model must not learn from it.

// chain counts the edges of a network, and those that lead from a row to the next.
func (l *loader) chain(u, v, place []int32) {
	row := slices.Clone(place) // of each node
	for r, node := range place {
		row[node] = int32(r)
	}
	for e := range u {
		l.edges++
		if nodeOf(row, v[e]) == nodeOf(row, u[e])+1 {
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
				l.failAt(l.manifestPath, fmt.Sprintf("edge_types[%d].directed", b), "say \"directed\" of all, or use the option Directed", "untied weights have types of their own")
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
		all := sets.Of(t.Forbidden)
		for _, x := range t.Forbidden {
			if states := s.NodeTypes[t.U].States; t.Symmetric && !all[[2]int{x[1], x[0]}] {
				l.failAt(l.manifestPath, "", `forbid both, or say "directed": true`, "edges of type %q have no direction, but %s, %s is forbidden and %s, %s is not",
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
			l.at(in, directedArray, "make the two agree", "its edges %s, those of %s %s", says[in.directed], l.instances[0].path, says[!in.directed])
			return
		}
		// Edges that are there both ways round lead nowhere.
		l.directed, l.tied = in.directed, l.tied || in.tied || in.both != nil || l.o.Tied
		u, v := in.graph.Ends()
		l.chain(u, v, nil)
	}
}

const (
	// directionLevel is the chance, where the order of ends means nothing, of a note that it
	// may mean something.
	directionLevel = 1e-6
	// leastDirection is the least that the order has to tell for one: 0 where pairs of
	// states are as often one way round as the other, 1 where they always are one way round.
	// Two of three the same way round are 0.11.
	leastDirection = 0.1
)

// noteDirection warns where labels of the ends of symmetric edges are much more often one way
// round than the other, by Bowker's test of symmetry (1948). If each edge's ends were in
// any order, which is one order for all samples, the difference of the counts of a pair of
// states both ways would be a sum of an edge's differences with signs by chance, whatever
// labels do. Pixels are joined in an order that no file has, and weights of each node's own
// tell what is of its state and not of the direction.
func (l *loader) noteDirection() {
	s := &l.set.Schema
	if l.set.Recipe.Kind == KindImages || l.set.Recipe.Untied || l.tied || l.o.Tied || l.manifest.Directed != nil {
		return
	}
	counts := make([]map[[2]int32]*pairCount, len(s.EdgeTypes)) // [type] by the larger state and the smaller
	for b, t := range s.EdgeTypes {
		if t.Symmetric {
			counts[b] = map[[2]int32]*pairCount{}
		}
	}
	for _, in := range l.set.Instances {
		u, v := in.Graph.Ends()
		var met []*pairCount // on the edge at hand
		for e := range u {
			of := counts[in.EdgeType(int32(e))]
			if of == nil {
				continue
			}
			for _, labels := range in.Samples() {
				x, y := l.asGiven(in.Graph, e, labels[u[e]], labels[v[e]])
				if x == y || x == crf.Unobserved || y == crf.Unobserved {
					continue
				}
				pair := [2]int32{max(x, y), min(x, y)}
				n := of[pair]
				if n == nil {
					n = &pairCount{}
					of[pair] = n
				}
				if met = append(met, n); x > y {
					n.there, n.difference = n.there+1, n.difference+1
				} else {
					n.back, n.difference = n.back+1, n.difference-1
				}
			}
			for _, n := range met {
				n.square += n.difference * n.difference
				n.difference = 0
			}
			met = met[:0]
		}
	}
	for b, t := range s.EdgeTypes {
		states := s.NodeTypes[t.U].States
		if d := directionOf(counts[b]); d.evident() {
			l.warn("edges of type %q look directed: %s → %s %d times, the other way round %d; if the first end means something else than the second, say \"directed\": true in %s, or use the option Directed",
				t.Name, states[d.from], states[d.to], d.there, d.back, ManifestName)
		}
	}
}

// pairCount counts how often the states of a pair are those of the ends of an edge, the larger state
// first, and the other way round.
type pairCount struct {
	there, back int
	difference  float64 // of the samples of one edge
	square      float64 // Σ over edges of squared differences
}

// direction is how one-sided a table of pairs of states is.
type direction struct {
	square      float64 // Σ (n_ab − n_ba)²/Σ_e (n_abe − n_bae)² over pairs that differ on some edge
	pairs       float64 // how many these are
	edges       float64 // with these pairs; samples that agree count once
	from, to    int     // of the pair with the largest difference
	there, back int     // how often it occurs
}

func directionOf(counts map[[2]int32]*pairCount) (d direction) {
	pairs := slices.SortedFunc(maps.Keys(counts), func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	for _, pair := range pairs {
		n := counts[pair]
		if n.square == 0 {
			continue
		}
		from, to, there, back := int(pair[0]), int(pair[1]), n.there, n.back
		if there < back {
			from, to, there, back = to, from, back, there
		}
		difference, sum := float64(there-back), float64(there+back)
		d.square += difference * difference / n.square
		d.pairs++
		d.edges += sum * sum / n.square
		if there-back > d.there-d.back {
			d.from, d.to, d.there, d.back = from, to, there, back
		}
	}
	return d
}

// evident reports whether the order of ends is sure to tell something, and much.
func (d *direction) evident() bool {
	return d.square-d.pairs >= leastDirection*d.edges && d.pairs > 0 && mathext.GammaIncRegComp(d.pairs/2, d.square/2) < directionLevel
}
