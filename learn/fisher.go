package learn

import (
	"math"

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
	layout    *crf.Layout
	spans     []crf.Span   // of all types: nodes, then edges
	at        []int        // [types] where their π begin
	parts     []*kronecker // [types] nil: a marginal has it
	marginals []*marginal  // [node types]
	source    []float64    // scratch: the vector that is solved for
}

// newFisher sums the second moments of everything in the data.
func newFisher(p *StepProblem) (*fisher, error) {
	layout, schema, at := &p.Model.Layout, &p.Model.Schema, 0
	f := &fisher{layout: layout, spans: allSpans(layout), source: make([]float64, layout.Size)}
	squares := make([][]float64, len(f.spans))
	f.parts = make([]*kronecker, len(f.spans))
	for kind, span := range f.spans {
		f.at = append(f.at, at)
		at += span.States
		b := kind - len(layout.Node)
		if b < 0 {
			m, err := newMarginal(p, kind)
			if err != nil {
				return nil, err
			}
			f.marginals, squares[kind] = append(f.marginals, m), m.squares[:m.node]
			if m.node > 0 {
				continue
			}
		}
		k, err := newKronecker(span.Features, span.States, p.statistics.ofType(kind), p.L2)
		if err != nil {
			return nil, err
		}
		if b >= 0 && !span.Untied {
			alone := [2][]float64{make([]float64, k.states), make([]float64, k.states)}
			k.rows = &interaction{endsOf(layout, schema, b), k.floor, alone}
		}
		f.parts[kind], squares[kind] = k, k.squares
	}
	p.statistics.squares = squares
	return f, nil
}

// solve computes dst = P⁻¹ g; dst may be g. beliefs are the mean beliefs of all types.
func (f *fisher) solve(dst, g, beliefs []float64) {
	copy(f.source, g)
	for kind, span := range f.spans {
		if k := f.parts[kind]; k != nil {
			k.solve(dst[span.At:][:span.Len], f.source[span.At:][:span.Len], beliefs[f.at[kind]:][:span.States])
		}
	}
	for a, m := range f.marginals {
		m.gather(f.source)
		m.kronecker.solve(m.stack, m.stack, beliefs[f.at[a]:][:m.states])
		m.scatter(dst)
	}
	for b, span := range f.layout.Edge { // weights of what is forbidden have no gradient, and stay
		mean := beliefs[f.at[len(f.layout.Node)+b]:][:span.States]
		for i := 0; f.layout.Masked && i < span.Len; i++ {
			if mean[i%span.States] == 0 {
				dst[span.At+i] = 0
			}
		}
	}
	f.layout.Symmetrise(dst) // rounding, and interaction takes one end before the other
}

// edgeEnd is one end of the edges of a type, and where its states are in a table of joint ones: state
// i of this end and j of the other are at i·step + j·otherStep.
type edgeEnd struct {
	span            crf.Span
	kind            int // edge type
	first           bool
	step, otherStep int
	states, others  int     // of this end, and of the other one
	at              int     // first row of a marginal
	scale           float64 // makes a function without a mean as long as its weights
}

// endsOf returns the ends of a type, U first.
func endsOf(layout *crf.Layout, schema *crf.Schema, b int) [2]edgeEnd {
	u, v := schema.EdgeStates(b)
	scale := [2]float64{1 / math.Sqrt(float64(v)), 1 / math.Sqrt(float64(u))}
	if schema.EdgeTypes[b].Symmetric { // f(x_u) + f(x_v)
		scale[0], scale[1] = scale[0]*math.Sqrt2/2, scale[1]*math.Sqrt2/2
	}
	return [2]edgeEnd{
		{span: layout.Edge[b], kind: b, first: true, step: v, otherStep: 1, states: u, others: v, scale: scale[0]},
		{span: layout.Edge[b], kind: b, step: 1, otherStep: v, states: v, others: u, scale: scale[1]},
	}
}

// marginal is what the nodes of a type see. Its rows are the node's features, if
// they belong here, and functions of an end of its edges, by their types and ends.
type marginal struct {
	*kronecker
	kind  int // node type
	span  crf.Span
	node  int // rows of the node's features
	ends  []edgeEnd
	stack []float64 // [rows*states]
}

// marginalRows returns how many rows the marginal of a node type has, how many of them are features of the
// node itself, and the ends that the others are of: those of a symmetric type have the same ones.
func marginalRows(layout *crf.Layout, schema *crf.Schema, a int) (rows, node int, ends []edgeEnd) {
	for b, span := range layout.Edge {
		t := &schema.EdgeTypes[b]
		for i, end := range endsOf(layout, schema, b) {
			if end.at = rows; span.Untied || [2]int{t.U, t.V}[i] != a {
				continue
			}
			if ends = append(ends, end); !t.Symmetric || i == 1 {
				rows += span.Features
			}
		}
	}
	if rows > maxRotated {
		rows, ends = 0, nil
	}
	if span := layout.Node[a]; !span.Untied && span.Features+rows <= maxRotated {
		node = span.Features
	}
	for i := range ends {
		ends[i].at += node
	}
	return rows + node, node, ends
}

// newMarginal sums the second moments of the rows of node type a.
func newMarginal(p *StepProblem, a int) (m *marginal, err error) {
	rows, node, ends := marginalRows(&p.Model.Layout, &p.Model.Schema, a)
	m = &marginal{kind: a, span: p.Model.Layout.Node[a], node: node, ends: ends}
	m.stack = make([]float64, rows*m.span.States)
	m.kronecker, err = newKronecker(rows, m.span.States, p.statistics.moments(a, rows, m.reader), p.L2)
	return m, err
}

// reader reads the rows of a node: an edge's features are divided by the root of the other end's
// states, over which its weights repeat the same function.
func (m *marginal) reader(in *crf.Instance) func(row []float64, s int32, at int) {
	read, nodes, x := readers(in), len(in.Schema().NodeTypes), make([]float64, maxRotated)
	return func(row []float64, s int32, at int) {
		clear(row)
		if m.node > 0 {
			read[m.kind](row[:m.node], at)
		}
		for _, d := range in.Graph.Incoming(s) {
			e := d >> 1
			for i := range m.ends {
				if end := &m.ends[i]; end.kind == in.EdgeType(e) && end.first == (in.Graph.U(e) == s) {
					read[nodes+end.kind](x[:end.span.Features], in.EdgeRow(e))
					simd.AddScaled(row[end.at:][:end.span.Features], x[:end.span.Features], end.scale)
				}
			}
		}
	}
}

// gather fills the stack with the gradient of the node's weights and, for each
// feature of an edge, of a function of this end alone.
func (m *marginal) gather(g []float64) {
	clear(m.stack[copy(m.stack, g[m.span.At:][:m.node*m.states]):])
	m.eachRow(func(end *edgeEnd, row []float64, table int) {
		for i := range row {
			for j := range end.others {
				row[i] += end.scale * g[table+i*end.step+j*end.otherStep]
			}
		}
	})
	m.halveMeans()
}

// scatter puts the node's rows of the stack in their place and adds each function
// of an end alone to the weights that it changes.
func (m *marginal) scatter(dst []float64) {
	copy(dst[m.span.At:], m.stack[:m.node*m.states])
	m.halveMeans()
	m.eachRow(func(end *edgeEnd, row []float64, table int) {
		for i, x := range row {
			for j := range end.others {
				dst[table+i*end.step+j*end.otherStep] += end.scale * x
			}
		}
	})
}

// eachRow calls do for each row of an end, with the place of its table among the weights.
func (m *marginal) eachRow(do func(end *edgeEnd, row []float64, table int)) {
	for i := range m.ends {
		end := &m.ends[i]
		for j := range end.span.Features {
			do(end, m.stack[(end.at+j)*m.states:][:m.states], end.span.At+j*end.span.States)
		}
	}
}

// halveMeans leaves √½ of the mean of functions of ends. Both ends have the same constants: each answers to half of
// their gradient, as this is done before and after P⁻¹.
func (m *marginal) halveMeans() {
	for at := m.node * m.states; at < len(m.stack); at += m.states {
		row, mean := m.stack[at:][:m.states], 0.0
		for _, x := range row {
			mean += x / float64(m.states)
		}
		for i := range row {
			row[i] -= (1 - math.Sqrt2/2) * mean
		}
	}
}

// interaction is the part of an edge type that no node sees. With every entry divided by the root of its own curvature
// aπ + l2, functions of one end alone are spanned by √(π_ij/π_i) for each state i of the first end, and by √(π_ij/π_j)
// for each j of the second. Those of the first, of the second and again of the first are taken out.
type interaction struct {
	ends  [2]edgeEnd
	floor float64
	alone [2][]float64 // [joint states] these vectors, for all states of an end
}

// begin and solveRow are those of kronecker.
func (x *interaction) begin(joint []float64) {
	for side, end := range x.ends {
		alone := x.alone[side]
		for i := range end.states {
			at, sum := i*end.step, 0.0
			for j := range end.others {
				sum += joint[at+j*end.otherStep]
			}
			for n := at; n < at+end.others*end.otherStep; n += end.otherStep {
				if alone[n] = 0; sum > 0 {
					alone[n] = math.Sqrt(joint[n] / sum)
				}
			}
		}
	}
}

func (x *interaction) solveRow(r []float64, a float64, joint []float64) {
	for i, p := range joint {
		r[i] /= math.Sqrt(a*p + x.floor)
	}
	for _, side := range []int{0, 1, 0} {
		x.ends[side].without(r, x.alone[side])
	}
	for i, p := range joint {
		r[i] /= math.Sqrt(a*p + x.floor)
	}
}

// without takes the functions of one end out of r.
func (end *edgeEnd) without(r, alone []float64) {
	for i := range end.states {
		at, sum := i*end.step, 0.0
		for j := range end.others {
			sum += alone[at+j*end.otherStep] * r[at+j*end.otherStep]
		}
		for j := range end.others {
			r[at+j*end.otherStep] -= alone[at+j*end.otherStep] * sum
		}
	}
}
