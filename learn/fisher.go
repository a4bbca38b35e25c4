package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/simd"
)

// fisher is the estimate P of the Hessian of L. With τ_uv near τ_u τ_v it is exact
// (docs/explanation/steps.md):
//
//   - A potential of an edge that depends on one end alone is a potential of that
//     node. So a node of a type sees the weights of its own features and those parts
//     of the weights of its edges, through all their features together, and answers
//     with Cov(τ_s)/ρ_s: a marginal part per node type.
//   - What is left of the weights of an edge, the interaction of its ends, is
//     answered with Cov(τ_uv)/ρ_uv: an interaction part per edge type.
//
// Untied types, and those with too many features, are kept apart.
type fisher struct {
	layout       *crf.Layout
	interactions []*interaction
	marginals    []*marginal
	apart        []apart
	source       []float64 // scratch: the vector that is solved for
}

// apart is a type for which nothing is known of its coupling to others.
type apart struct {
	*kronecker
	belief int // place of its π
}

// interaction is the part of an edge type that no node sees.
type interaction struct {
	*kronecker
	belief int
	u, v   int       // states of the ends
	sums   []float64 // [max(u, v)] scratch
	// What follows is of the mean belief joint, [u*v].
	joint       []float64
	left, right []float64 // [u*v]
	roots       []float64 // [features][u*v] 1/√(aπ + l2)
}

// marginal is what the nodes of a type see. Its rows are the node's features, if
// they belong here, and the features of its edges by type and end.
type marginal struct {
	*kronecker // whose weights are the stack
	belief     int
	node       *crf.Span // nil: apart
	ends       []edgeEnd
	stack      []float64 // [rows*states]
	row        []float64 // [rows] scratch
}

// edgeEnd is the place of an edge type's features in a marginal.
type edgeEnd struct {
	span   crf.Span
	kind   int  // edge type
	first  bool // the end is U
	both   bool // the ends of a symmetric type, which are one: a function f(x_u) + f(x_v)
	at     int  // first row
	others int  // states of the other end
	// forbidden lists joint states whose weights are to stay zero.
	forbidden []int
}

// newFisher sums the second moments of everything in the data.
func newFisher(p *StepProblem) (*fisher, error) {
	layout, schema := &p.Model.Layout, &p.Model.Schema
	f := &fisher{layout: layout, source: make([]float64, layout.Size)}
	at := 0
	var places []int
	for _, span := range allSpans(layout) {
		places = append(places, at)
		at += span.States
	}
	for b, span := range layout.Edge {
		k := p.statistics.ofEdges(b)
		place := places[len(layout.Node)+b]
		if span.Untied || span.Features == 0 {
			f.apart = append(f.apart, apart{k, place})
			continue
		}
		u, v := schema.EdgeStates(b)
		f.interactions = append(f.interactions, &interaction{
			kronecker: k, belief: place, u: u, v: v,
			left: make([]float64, u*v), right: make([]float64, u*v), roots: make([]float64, span.Copy()), sums: make([]float64, max(u, v)),
		})
	}
	for a := range layout.Node {
		m := newMarginal(p, a)
		m.belief = places[a]
		if m.node == nil {
			f.apart = append(f.apart, apart{p.statistics.ofNodes(a), places[a]})
		}
		if len(m.stack) > 0 {
			f.marginals = append(f.marginals, m)
		}
	}
	return f, f.diagonalise(p.L2)
}

func (f *fisher) diagonalise(l2 float64) error {
	for _, x := range f.apart {
		if err := x.diagonalise(l2); err != nil {
			return err
		}
	}
	for _, x := range f.interactions {
		if err := x.diagonalise(l2); err != nil {
			return err
		}
	}
	for _, x := range f.marginals {
		if err := x.diagonalise(l2); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf are the numbers of rows of a marginal: of features of the node itself, and of
// those of its edges; 0 for what is apart.
type rowsOf struct{ node, ends int }

func marginalRows(layout *crf.Layout, schema *crf.Schema, a int) (rows rowsOf) {
	for b := range layout.Edge {
		if !layout.Edge[b].Untied {
			ends := oneIf(schema.EdgeTypes[b].U == a) + oneIf(schema.EdgeTypes[b].V == a)
			if schema.EdgeTypes[b].Symmetric {
				ends /= 2
			}
			rows.ends += layout.Edge[b].Features * ends
		}
	}
	if rows.ends > maxRotated {
		rows.ends = 0
	}
	if span := layout.Node[a]; !span.Untied && span.Features+rows.ends <= maxRotated {
		rows.node = span.Features
	}
	return rows
}

// newMarginal collects the rows of node type a and sums their second moments.
func newMarginal(p *StepProblem, a int) *marginal {
	layout, schema := &p.Model.Layout, &p.Model.Schema
	m := &marginal{}
	span := layout.Node[a]
	rows := marginalRows(layout, schema, a)
	at := rows.node
	if at > 0 {
		m.node = &layout.Node[a]
	}
	for b := range layout.Edge {
		edge := layout.Edge[b]
		if edge.Untied || edge.Features == 0 || rows.ends == 0 {
			continue
		}
		u, v := schema.EdgeStates(b)
		var forbidden []int
		for _, pair := range schema.EdgeTypes[b].Forbidden {
			forbidden = append(forbidden, pair[0]*v+pair[1])
		}
		if schema.EdgeTypes[b].U == a {
			m.ends = append(m.ends, edgeEnd{span: edge, kind: b, first: true, both: schema.EdgeTypes[b].Symmetric, at: at, others: v, forbidden: forbidden})
			at += edge.Features
		}
		if schema.EdgeTypes[b].V == a && !schema.EdgeTypes[b].Symmetric {
			m.ends = append(m.ends, edgeEnd{span: edge, kind: b, at: at, others: u, forbidden: forbidden})
			at += edge.Features
		}
	}
	m.stack, m.row = make([]float64, at*span.States), make([]float64, at)
	m.kronecker = &kronecker{
		span:   crf.Span{Len: len(m.stack), Features: at, States: span.States},
		values: make([]float64, at), rotated: make([]float64, len(m.stack)), shares: make([]float64, span.States),
	}
	if at > 0 {
		m.sum(p.statistics, a)
	}
	return m
}

func oneIf(x bool) int {
	if x {
		return 1
	}
	return 0
}

// solve computes dst = P⁻¹ g; dst may be g. beliefs are the mean beliefs of all
// types.
func (f *fisher) solve(dst, g, beliefs []float64) {
	copy(f.source, g)
	for _, x := range f.apart {
		x.solve(dst, f.source, beliefs[x.belief:][:x.span.States])
	}
	for _, x := range f.interactions {
		x.solve(dst, f.source, beliefs[x.belief:][:x.span.States])
	}
	for _, m := range f.marginals {
		m.gather(f.source)
		m.kronecker.solve(m.stack, m.stack, beliefs[m.belief:][:m.span.States])
		m.scatter(dst)
	}
	f.layout.Symmetrise(dst) // interaction takes one end before the other
}

// gather fills the stack with the gradient of the node's weights and, for each
// feature of an edge, of a function of this end alone.
func (m *marginal) gather(g []float64) {
	k := m.span.States
	if m.node != nil {
		copy(m.stack, g[m.node.At:][:m.node.Len])
	}
	for _, end := range m.ends {
		scale := end.scale()
		for j := range end.span.Features {
			row := m.stack[(end.at+j)*k:][:k]
			clear(row)
			end.sum(row, g[end.span.At+j*end.span.States:][:end.span.States], scale)
			end.center(row)
		}
	}
}

// scatter puts the node's rows of the stack in their place and adds each function
// of an end alone to the weights that it changes.
func (m *marginal) scatter(dst []float64) {
	k := m.span.States
	if m.node != nil {
		copy(dst[m.node.At:][:m.node.Len], m.stack)
	}
	for _, end := range m.ends {
		scale := end.scale()
		for j := range end.span.Features {
			row := m.stack[(end.at+j)*k:][:k]
			end.center(row)
			out := dst[end.span.At+j*end.span.States:][:end.span.States]
			end.spread(out, row, scale)
			for _, i := range end.forbidden {
				out[i] = 0
			}
		}
	}
}

// scale makes the weights of f = 1 in one state, and 0 in others, a vector of length 1.
func (e *edgeEnd) scale() float64 {
	if e.both {
		return 1 / math.Sqrt(2*float64(e.others))
	}
	return 1 / math.Sqrt(float64(e.others))
}

// center takes the mean out of a function of the second end: that of the first end
// has the same constants. Constants of both ends at once have weights √2 times as long as
// other functions.
func (e *edgeEnd) center(row []float64) {
	share := 1.0
	switch {
	case e.both:
		share = 1 - math.Sqrt2/2
	case e.first:
		return
	}
	mean := 0.0
	for _, x := range row {
		mean += x / float64(len(row))
	}
	for i := range row {
		row[i] -= share * mean
	}
}

// sum adds a function of the joint states, scaled and summed over those of the other
// end, to row.
func (e *edgeEnd) sum(row, joint []float64, scale float64) {
	if e.both {
		scale *= 2 // joint is symmetric
	}
	if e.first {
		for i := range row {
			for _, x := range joint[i*e.others:][:e.others] {
				row[i] += scale * x
			}
		}
		return
	}
	for at := 0; at < len(joint); at += len(row) {
		for i, x := range joint[at:][:len(row)] {
			row[i] += scale * x
		}
	}
}

// spread adds a function of this end, scaled, to one of the joint states.
func (e *edgeEnd) spread(joint, row []float64, scale float64) {
	if e.first {
		for i, x := range row {
			out := joint[i*e.others:][:e.others]
			for j := range out {
				out[j] += scale * x
			}
		}
	}
	if e.first && !e.both {
		return
	}
	for at := 0; at < len(joint); at += len(row) {
		out := joint[at:][:len(row)]
		for i, x := range row {
			out[i] += scale * x
		}
	}
}

// solve computes the part of P⁻¹g that no node sees. In the eigenbasis of A, and
// with every entry divided by the root of its own curvature aπ + l2, it takes out what
// is a function of one end alone: those are spanned by √(π_ij/π_i) for each state i of
// the first end, and by √(π_ij/π_j) for each j of the second.
func (x *interaction) solve(dst, g, joint []float64) {
	if !slices.Equal(x.joint, joint) {
		x.prepare(joint)
	}
	span := x.span
	x.rotate(x.rotated, g[span.At:][:span.Len], true)
	for j := range x.values {
		r, roots := x.rotated[j*span.States:][:span.States], x.roots[j*span.States:][:span.States]
		for i, w := range roots {
			r[i] *= w
		}
		x.without(r, true)
		x.without(r, false)
		x.without(r, true)
		for i, w := range roots {
			r[i] *= w
		}
	}
	x.rotate(dst[span.At:][:span.Len], x.rotated, false)
}

// prepare sets left and right to the vectors of solve, and the roots.
func (x *interaction) prepare(joint []float64) {
	x.joint = append(x.joint[:0], joint...)
	for j, a := range x.values {
		for i, p := range joint {
			x.roots[j*x.span.States+i] = 1 / math.Sqrt(max(0, a)*p+x.floor)
		}
	}
	for _, first := range []bool{true, false} {
		clear(x.sums)
		for i, p := range joint {
			x.sums[x.end(i, first)] += p
		}
		out := x.right
		if first {
			out = x.left
		}
		for i, p := range joint {
			out[i] = 0
			if sum := x.sums[x.end(i, first)]; sum > 0 {
				out[i] = math.Sqrt(p / sum)
			}
		}
	}
}

// end returns the state of the first or second end in a joint state.
func (x *interaction) end(joint int, first bool) int {
	if first {
		return joint / x.v
	}
	return joint % x.v
}

// without takes the functions of one end out of r.
func (x *interaction) without(r []float64, first bool) {
	if first {
		for at := 0; at < len(r); at += x.v {
			row, d := r[at:][:x.v], x.left[at:][:x.v]
			sum := simd.Dot(d, row)
			for j, direction := range d {
				row[j] -= direction * sum
			}
		}
		return
	}
	sums := x.sums[:x.v]
	clear(sums)
	for at := 0; at < len(r); at += x.v {
		row, d := r[at:][:x.v], x.right[at:][:x.v]
		for j := range sums {
			sums[j] += d[j] * row[j]
		}
	}
	for at := 0; at < len(r); at += x.v {
		row, d := r[at:][:x.v], x.right[at:][:x.v]
		for j := range sums {
			row[j] -= d[j] * sums[j]
		}
	}
}
