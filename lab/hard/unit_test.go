package hard

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/learn"
)

// unit is one inference: an instance with all variables free, or with the known labels
// of a sample held. Entries are the states of all nodes, then the pairs of states of all
// edges, row by row. Only states that can have a probability are there.
type unit struct {
	weight   float64 // of its free energy in (8), negative where labels are held
	convex   bool    // its counting numbers are proved convex
	dual     bool    // all c_s ≥ 0: sweeps can not fail to converge
	strict   bool    // all c_s > 0: the dual value (7) is smooth
	nodes    []node
	edges    []edge
	entries  int
	messages int
	// rows [entries] are those of Mᵀ: θ = rows · weights.
	rows []row
	// labels [entries] are the share of samples that have an entry, of those that miss no
	// label: w_n of (8).
	labels []float64
}

// row is the potential of an entry as a sparse combination of weights.
type row struct {
	at    []int32
	value []float64
}

// node is a variable.
type node struct {
	states []int32 // that are allowed
	at     int     // its first entry
	c, rho float64 // counting number, and ρ of (3)
	in     []half
}

// half is an edge as one of its ends sees it.
type half struct {
	edge, other int // other end
	message     int // the first entry of the message that arrives here
}

// edge joins nodes u and v.
type edge struct {
	u, v     int
	c        float64
	at       int // its first entry
	toU, toV int // the first entries of its messages
	// banned [pairs] are those without probability; nil: none.
	banned []bool
}

// flat is a learning problem as plain sums over units.
type flat struct {
	units   []*unit
	weights int
	l2      float64
	// convex: no labels are missing and all counting numbers are proved convex. dual:
	// the value (7) applies too, with c_s > 0.
	convex, dual bool
}

// flatten reads a problem.
func flatten(p *learn.Problem) (*flat, error) {
	f := &flat{weights: len(p.Model.Weights), l2: p.L2, convex: true, dual: true}
	total := 0.0
	for _, in := range p.Data {
		total += in.Weight() * float64(len(in.Samples()))
	}
	for _, in := range p.Data {
		numbers, err := p.Counting.Of(in.Graph)
		if err != nil {
			return nil, err
		}
		free, err := newUnit(p.Model, in, numbers, nil)
		if err != nil {
			return nil, err
		}
		free.weight = in.Weight() * float64(len(in.Samples())) / total
		f.units = append(f.units, free)
		f.convex = f.convex && numbers.Facts.Convex
		f.dual = f.dual && free.strict
		for _, labels := range in.Samples() {
			if !slices.Contains(labels, crf.Unobserved) {
				free.count(labels, 1/float64(len(in.Samples())))
				continue
			}
			held, err := newUnit(p.Model, in, numbers, labels)
			if err != nil {
				return nil, err
			}
			held.weight = -in.Weight() / total
			f.units = append(f.units, held)
			f.convex, f.dual = false, false
		}
	}
	return f, nil
}

// count adds a sample to the labels.
func (u *unit) count(labels []int32, share float64) {
	index := func(s int) int { return slices.Index(u.nodes[s].states, labels[s]) }
	for s := range u.nodes {
		u.labels[u.nodes[s].at+index(s)] += share
	}
	for i := range u.edges {
		e := &u.edges[i]
		u.labels[e.at+index(e.u)*len(u.nodes[e.v].states)+index(e.v)] += share
	}
}

// addTo adds a multiple of the row to dst [weights].
func (r *row) addTo(dst []float64, scale float64) {
	for i, at := range r.at {
		dst[at] += scale * r.value[i]
	}
}

// newUnit lays out an instance; labels, unless nil, are held.
func newUnit(m *crf.Model, in *crf.Instance, numbers *counting.Numbers, labels []int32) (*unit, error) {
	u := &unit{convex: numbers.Facts.Convex, dual: numbers.Facts.Dual, strict: slices.Min(numbers.Node) > 0}
	for s := range in.Graph.NumNodes() {
		t := &m.Schema.NodeTypes[in.NodeType(int32(s))]
		n := node{c: numbers.Node[s], rho: numbers.Node[s]}
		for x := range t.States {
			if !slices.Contains(t.Forbidden, x) && (labels == nil || labels[s] < 0 || int(labels[s]) == x) {
				n.states = append(n.states, int32(x))
			}
		}
		u.nodes = append(u.nodes, n)
	}
	ends, others := in.Graph.Ends()
	for e := range ends {
		u.edges = append(u.edges, edge{u: int(ends[e]), v: int(others[e]), c: numbers.Edge[e]})
		u.nodes[ends[e]].rho += numbers.Edge[e]
		u.nodes[others[e]].rho += numbers.Edge[e]
	}
	if err := u.prune(m, in); err != nil {
		return nil, err
	}
	u.layNodes(m, in)
	u.layEdges(m, in)
	u.labels = make([]float64, u.entries)
	return u, nil
}

// forbids reports whether an edge's type bans a pair of states.
func forbids(m *crf.Model, in *crf.Instance, e int, x, y int32) bool {
	return slices.Contains(m.Schema.EdgeTypes[in.EdgeType(int32(e))].Forbidden, [2]int{int(x), int(y)})
}

// prune takes states away that some neighbour leaves no partner, until there are none.
func (u *unit) prune(m *crf.Model, in *crf.Instance) error {
	for changed := true; changed; {
		changed = false
		for e := range u.edges {
			a, b := &u.nodes[u.edges[e].u], &u.nodes[u.edges[e].v]
			before := len(a.states) + len(b.states)
			a.states = slices.DeleteFunc(a.states, func(x int32) bool {
				return !slices.ContainsFunc(b.states, func(y int32) bool { return !forbids(m, in, e, x, y) })
			})
			b.states = slices.DeleteFunc(b.states, func(y int32) bool {
				return !slices.ContainsFunc(a.states, func(x int32) bool { return !forbids(m, in, e, x, y) })
			})
			if len(a.states) == 0 || len(b.states) == 0 {
				return fmt.Errorf("hard: nothing is possible at edge %d", e)
			}
			changed = changed || len(a.states)+len(b.states) < before
		}
	}
	return nil
}

// newRow returns the row of one entry: state x of states, of a type with features f.
func newRow(span crf.Span, f *crf.Features, of, x int, scratch []float64) row {
	f.Row(scratch, of)
	at := span.At + x
	if span.Untied {
		at += of * span.Copy()
	}
	var r row
	for j, value := range scratch {
		if value != 0 {
			r.at, r.value = append(r.at, int32(at+j*span.States)), append(r.value, value)
		}
	}
	return r
}

func (u *unit) layNodes(m *crf.Model, in *crf.Instance) {
	for s := range u.nodes {
		n := &u.nodes[s]
		n.at = u.entries
		u.entries += len(n.states)
		a := in.NodeType(int32(s))
		f := in.NodeFeatures(a)
		scratch := make([]float64, f.Dim())
		for _, x := range n.states {
			u.rows = append(u.rows, newRow(m.Layout.Node[a], f, in.NodeRow(int32(s)), int(x), scratch))
		}
	}
}

func (u *unit) layEdges(m *crf.Model, in *crf.Instance) {
	for i := range u.edges {
		e := &u.edges[i]
		a, b := &u.nodes[e.u], &u.nodes[e.v]
		e.at, e.toU, e.toV = u.entries, u.messages, u.messages+len(a.states)
		u.entries += len(a.states) * len(b.states)
		u.messages += len(a.states) + len(b.states)
		a.in = append(a.in, half{i, e.v, e.toU})
		b.in = append(b.in, half{i, e.u, e.toV})
		t := in.EdgeType(int32(i))
		f := in.EdgeFeatures(t)
		scratch := make([]float64, f.Dim())
		_, second := m.Schema.EdgeStates(t)
		for _, x := range a.states {
			for _, y := range b.states {
				e.banned = append(e.banned, forbids(m, in, i, x, y))
				u.rows = append(u.rows, newRow(m.Layout.Edge[t], f, in.EdgeRow(int32(i)), int(x)*second+int(y), scratch))
			}
		}
		if !slices.Contains(e.banned, true) {
			e.banned = nil
		}
	}
}

// potentials writes θ [entries] at weights: −Inf where a pair is banned.
func (u *unit) potentials(dst, weights []float64) {
	for i := range u.rows {
		r := &u.rows[i]
		dst[i] = 0
		for j, at := range r.at {
			dst[i] += weights[at] * r.value[j]
		}
	}
	for i := range u.edges {
		e := &u.edges[i]
		for j, banned := range e.banned {
			if banned {
				dst[e.at+j] = math.Inf(-1)
			}
		}
	}
}

// logSumExp returns log Σ exp x, of which one at least is finite.
func logSumExp(x []float64) float64 {
	top := slices.Max(x)
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

// softmax makes x the probabilities of which it holds the logarithms.
func softmax(x []float64) {
	z := logSumExp(x)
	for i, v := range x {
		x[i] = math.Exp(v - z)
	}
}
