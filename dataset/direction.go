package dataset

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// Direction of edges. Where both ends of an edge are of one node type and nothing says that the first and the second
// end differ, the order in which data name them tells nothing, and a model must not learn from it.

// chain counts the edges of a network, and those that lead from a row to the next, less those to the one before. row
// is that of each node, or nil.
func (l *loader) chain(u, v, row []int32) {
	for e := range u {
		from, to := u[e], v[e]
		if row != nil {
			from, to = row[from], row[to]
		}
		if l.edges++; max(from-to, to-from) == 1 {
			l.steps += int(to - from)
		}
	}
}

// leadsOn reports whether edges lead in turn, so that chains say what comes after what, and are enough to learn that:
// with fewer for a pair of states, weights that could have been one cost more than they tell.
func (l *loader) leadsOn(states int) bool {
	const perPair = 4
	return l.inTurn() && l.edges >= perPair*states*states && !l.tied && !l.o.Tied && !l.set.Recipe.Untied
}

// inTurn reports whether all edges so far lead from a row to the next, or all to the row before.
func (l *loader) inTurn() bool { return max(l.steps, -l.steps) == l.edges }

// direct decides, for training data, which edge types are symmetric.
func (l *loader) direct(s *crf.Schema) {
	m := &l.manifest
	if l.set.Recipe.Kind == kindText {
		return // its edge types are made as they are
	}
	for b := range s.EdgeTypes {
		t, said := &s.EdgeTypes[b], m.directed() || l.directed || l.o.Directed
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
			l.warn("{note=directed}every edge leads from a row to the next, or to the one before: edges of type %q are learned "+
				"directed, as of what comes after what; if the order means nothing, {!say \"directed\": false in %s, or "+
				"}give {directed=false}", t.Name, ManifestName)
		}
	}
}

// findDirection takes what the instance files say, which must be the same in all.
func (l *npzLoader) findDirection() {
	says := func(in *npzInstance, what int32) bool {
		return slices.Equal(in.Arrays[directedArray].Ints, []int32{what})
	}
	for _, in := range l.instances {
		directed := says(in, 1)
		if directed != says(l.instances[0], 1) {
			are := map[bool]string{true: "are directed", false: "are not"}
			l.at(in, directedArray, "make the two agree", "its edges %s, those of %s %s", are[directed], l.instances[0].File,
				are[!directed])
			return
		}
		l.directed, l.tied = directed, l.tied || says(in, 0) || l.o.Tied
		u, v := in.spec.Graph.Ends()
		l.chain(u, v, nil)
	}
}
