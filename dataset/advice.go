package dataset

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

// Questions that are asked of data once they are read. What they find is no error, and changes nothing: a note says
// what the data may have been meant to be, and how to say so.

// placeholders are labels, in lower case, that people write where none is known.
var placeholders = []string{"unknown", "none", "unlabeled", "unlabelled", "not labeled", "not labelled", "missing",
	"undefined", "unassigned", "not available", "n.a.", "nil", "tbd", "todo"}

// marks are such labels in tables; in tagged text they are those of punctuation.
var marks = []string{"-", "--", ".", "_"}

// warnOfPlaceholders tells of states that may stand for labels which are not known.
func (l *loader) warnOfPlaceholders(t *labelTexts) {
	list, hide := slices.Concat(placeholders, marks), "leave the cell empty"
	if t.tokens {
		list, hide = placeholders, "write "+missingFeatures
	}
	for i, text := range t.texts {
		if slices.Contains(list, strings.ToLower(text)) {
			l.warn("the label %q, %d of %d, is taken for a state like the others; %s where a label is not known",
				abbreviate(text), t.count[i], t.total, hide)
		}
	}
}

// warnOfCase tells of states or splits that differ in the case of letters alone, and what
// the two are.
func (l *loader) warnOfCase(what, are string, states []string) {
	lower := map[string]string{}
	for _, s := range states {
		if before, twice := lower[strings.ToLower(s)]; twice {
			l.warn("the %s %q and %q differ in the case of letters alone, and %s", what, abbreviate(before), abbreviate(s), are)
			return
		}
		lower[strings.ToLower(s)] = s
	}
}

// noteOtherLabels tells of columns of features that are called as columns of labels are.
func (l *tableLoader) noteOtherLabels(s *table, r nodeRoles) {
	if r.label < 0 || l.o.Recipe != nil {
		return
	}
	for _, i := range l.features(s, r.id, r.label, r.split) {
		name := s.header[i]
		if slices.ContainsFunc(labelNames, func(usual string) bool { return strings.EqualFold(name, usual) }) {
			l.warn("%s: the column %q has the labels, and %q is taken as a feature: say {columns=label=%s} if that has the "+
				"labels, and ignore=NAME to leave one out", s.path, abbreviate(s.header[r.label]), name, name)
		}
	}
}

// noteAlike tells of columns whose cells are labels by other names: each label goes with one cell, and each cell with
// one label.
func (l *tableLoader) noteAlike(g *tableGraph, f *featureRows) {
	for i := range f.columns {
		cells, labels, seen, differ := map[int32]string{}, map[string]int32{}, 0, l.o.Recipe != nil
		for r := 0; r < len(g.labels) && !differ; r++ {
			y, cell := g.labels[r], g.nodes.rows[r][f.at[i]]
			if y < 0 {
				continue
			}
			seen++
			had, known := cells[y]
			of, taken := labels[cell]
			differ = known != taken || known && (had != cell || of != y)
			cells[y], labels[cell] = cell, y
		}
		if name := f.columns[i].Name; !differ && len(cells) > 1 && seen-len(cells) >= leastAlike {
			l.warn("%s: column %q tells the label of all %d nodes that have one, by a value for each: "+
				"say {columns=ignore=%s} if it was made of the labels", g.nodes.path, abbreviate(name), seen, name)
		}
	}
}

// leastAlike is so many labels, beyond one of each, that cells hardly go with them by chance: of two states once in a
// thousand columns.
const leastAlike = 10

// countsRows reports whether the cells are 0, 1, 2, … or 1, 2, 3, …, as a program numbers rows.
func (c *columnSurvey) countsRows() bool {
	for i, x := range c.values {
		if first := c.values[0]; first != 0 && first != 1 || x != first+float64(i) {
			return false
		}
	}
	return len(c.values) > fewCells && c.missing == 0
}

// codeNames are what columns of codes are called, alone or behind another word.
var codeNames = []string{"type", "kind", "category", "code", "zip", "zipcode", "postcode"}

// code returns a number of a column that looks like one of codes, "" where none does: the least of those that begin
// with a zero before other digits, or of all where the column is called so.
func (c *columnSurvey) code() string {
	zeros := ""
	for _, x := range c.given {
		if v := x.text; len(v) > 1 && v[0] == '0' && isDigit(v[1]) && (zeros == "" || v < zeros) {
			zeros = v
		}
	}
	name := strings.ToLower(c.name)
	if at := strings.LastIndexAny(name, "_ -"); at >= 0 {
		name = name[at+1:]
	}
	if zeros != "" || !slices.Contains(codeNames, name) {
		return zeros
	}
	const two = 2 // a number of two values says as much as two texts
	values := slices.Sorted(maps.Keys(c.texts()))
	if len(values) <= two || slices.ContainsFunc(values, func(v string) bool {
		return strings.Trim(wholeNumber(v), "0123456789") != ""
	}) {
		return ""
	}
	return values[0]
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

// pairCount counts how often the states of a pair are those of the ends of an edge, the larger state
// first, and the other way round.
type pairCount struct {
	there, back int // in all samples
	net         int // of the samples of the edge at hand
	edges       int // with more samples one way round than the other
	balance     int // how many more of these have the larger state first than second
}

// evident reports whether the order of ends is sure to tell something, and much: a test of signs, one for
// each edge, since its samples share one order. Of so many pairs, one is sooner met by chance.
func (n *pairCount) evident(pairs int) bool {
	square, edges := float64(n.balance)*float64(n.balance), float64(n.edges)
	return square >= leastDirection*edges*edges && square > (squareOfChance+2*math.Log(float64(pairs)))*edges
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
		states := s.NodeTypes[t.U].States
		var pair [2]int32
		most := &pairCount{}
		for _, x := range slices.SortedFunc(maps.Keys(counts), func(a, b [2]int32) int {
			return slices.Compare(a[:],
				b[:])
		}) {
			if n := counts[x]; n.evident(len(counts)) && max(n.balance, -n.balance) > max(most.balance, -most.balance) {
				pair, most = x, n
			}
		}
		from, to, there, back := states[pair[0]], states[pair[1]], most.there, most.back
		if most.balance < 0 {
			from, to, there, back = to, from, back, there
		}
		if most.edges > 0 {
			l.warn("edges of type %q look directed: %s → %s %d times, the other way round %d; if the first end means "+
				"something else than the second, say \"directed\": true in %s, or use {directed}",
				t.Name, from, to, there, back,
				ManifestName)
		}
	}
}

// pairs counts the pairs of different states that symmetric edges of each type join, by the larger state and the
// smaller.
func (l *loader) pairs() []map[[2]int32]*pairCount {
	all := make([]map[[2]int32]*pairCount, len(l.set.Schema.EdgeTypes))
	for b, t := range l.set.Schema.EdgeTypes {
		if t.Symmetric {
			all[b] = map[[2]int32]*pairCount{}
		}
	}
	for _, in := range l.set.Instances {
		u, v := in.Graph.Ends()
		var met []*pairCount // on the edge at hand
		for e := range u {
			counts := all[in.EdgeType(int32(e))]
			if counts == nil {
				continue
			}
			for _, labels := range in.Samples() {
				x, y := l.asGiven(in.Graph, e, labels[u[e]], labels[v[e]])
				if x == y || x == crf.Unobserved || y == crf.Unobserved {
					continue
				}
				pair := [2]int32{max(x, y), min(x, y)}
				n := counts[pair]
				if n == nil {
					n = &pairCount{}
					counts[pair] = n
				}
				if met = append(met, n); x > y {
					n.there, n.net = n.there+1, n.net+1
				} else {
					n.back, n.net = n.back+1, n.net-1
				}
			}
			for _, n := range met {
				if n.net != 0 {
					n.edges, n.balance = n.edges+1, n.balance+cmp.Compare(n.net, 0)
				}
				n.net = 0
			}
			met = met[:0]
		}
	}
	return all
}
