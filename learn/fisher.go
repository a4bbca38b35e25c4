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
	layout       *crf.Layout
	spans        []crf.Span     // of all types: nodes, then edges
	at           []int          // [types] where their π begin
	apart        []*kronecker   // [types] nil: the type has a part below
	interactions []*interaction // [types]
	marginals    []*marginal    // [node types]
	squares      [][]float64    // [types][features] Σ f²/ρ
	source       []float64      // scratch: the vector that is solved for
}

// newFisher sums the second moments of everything in the data.
func newFisher(p *StepProblem) (f *fisher, err error) {
	layout, at := &p.Model.Layout, 0
	spans := allSpans(layout)
	n := len(spans)
	f = &fisher{
		layout: layout, spans: spans, source: make([]float64, layout.Size),
		apart: make([]*kronecker, n), interactions: make([]*interaction, n), squares: make([][]float64, n),
	}
	for kind, span := range spans {
		f.at = append(f.at, at)
		at += span.States
		if kind < len(layout.Node) {
			m, err := newMarginal(p, kind)
			if err != nil {
				return nil, err
			}
			f.marginals, f.squares[kind] = append(f.marginals, m), m.squares[:m.node]
			if m.node > 0 {
				continue
			}
		}
		k, err := newKronecker(span.Features, span.States, p.statistics.ofType(kind), p.L2)
		if err != nil {
			return nil, err
		}
		if f.squares[kind] = k.squares; kind < len(layout.Node) || span.Untied {
			f.apart[kind] = k
			continue
		}
		f.interactions[kind] = newInteraction(k, p, kind-len(layout.Node))
	}
	return f, nil
}

// solve computes dst = P⁻¹ g; dst may be g. beliefs are the mean beliefs of all types.
func (f *fisher) solve(dst, g, beliefs []float64) {
	copy(f.source, g)
	for kind, span := range f.spans {
		to, from, mean := dst[span.At:][:span.Len], f.source[span.At:][:span.Len], beliefs[f.at[kind]:][:span.States]
		if k := f.apart[kind]; k != nil {
			k.solve(to, from, mean, k)
		} else if x := f.interactions[kind]; x != nil {
			x.solve(to, from, mean)
		}
	}
	for a, m := range f.marginals {
		m.gather(f.source)
		m.kronecker.solve(m.stack, m.stack, beliefs[f.at[a]:][:m.states], m)
		m.scatter(dst)
	}
	if f.layout.Masked { // weights of what is forbidden have no gradient, and stay
		for b, span := range f.layout.Edge {
			mean := beliefs[f.at[len(f.layout.Node)+b]:][:span.States]
			for i := range span.Len {
				if mean[i%span.States] == 0 {
					dst[span.At+i] = 0
				}
			}
		}
	}
	f.layout.Symmetrise(dst) // rounding
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
func endsOf(p *StepProblem, b int) [2]edgeEnd {
	u, v := p.Model.Schema.EdgeStates(b)
	span := p.Model.Layout.Edge[b]
	return [2]edgeEnd{
		{span: span, kind: b, first: true, step: v, otherStep: 1, states: u, others: v},
		{span: span, kind: b, step: 1, otherStep: v, states: v, others: u},
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
func newMarginal(p *StepProblem, a int) (m *marginal, err error) {
	layout, types := &p.Model.Layout, p.Model.Schema.EdgeTypes
	rows := marginalRows(layout, &p.Model.Schema, a)
	m = &marginal{kind: a, span: layout.Node[a], node: rows.node}
	at := rows.node
	for b, span := range layout.Edge {
		if span.Untied || rows.ends == 0 {
			continue
		}
		for i, end := range endsOf(p, b) {
			if [2]int{types[b].U, types[b].V}[i] != a {
				continue
			}
			end.at, end.scale = at, 1/math.Sqrt(float64(end.others))
			if types[b].Symmetric { // f(x_u) + f(x_v): both ends have the same rows
				end.scale *= math.Sqrt2 / 2
			}
			if m.ends = append(m.ends, end); !types[b].Symmetric || i == 1 {
				at += span.Features
			}
		}
	}
	m.stack = make([]float64, at*m.span.States)
	m.kronecker, err = newKronecker(at, m.span.States, p.statistics.moments(a, at, m.reader), p.L2)
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
	*kronecker
	ends  [2]edgeEnd
	alone [2][]float64 // [joint states] these vectors, for all states of an end
}

func newInteraction(k *kronecker, p *StepProblem, b int) *interaction {
	return &interaction{k, endsOf(p, b), [2][]float64{make([]float64, k.states), make([]float64, k.states)}}
}

func (x *interaction) solve(dst, g, joint []float64) {
	for side, end := range x.ends {
		for i := range end.states {
			at, sum := i*end.step, 0.0
			for j := range end.others {
				sum += joint[at+j*end.otherStep]
			}
			for j := range end.others {
				n := at + j*end.otherStep
				if x.alone[side][n] = 0; sum > 0 {
					x.alone[side][n] = math.Sqrt(joint[n] / sum)
				}
			}
		}
	}
	x.kronecker.solve(dst, g, joint, x)
}

// solveRow is that of kronecker.
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

// fisherMemory lists what newFisher takes.
func fisherMemory(m *Memory, l *learner) {
	layout, schema := &l.model.Layout, &l.model.Schema
	bytes := doubleBytes * float64(layout.Size) // source
	for b, span := range layout.Edge {
		bytes += kroneckerBytes(span, l.problem.Data, false, b)
		if !span.Untied && span.Features > 0 {
			u, v := schema.EdgeStates(b)
			// left, right and joint, roots, sums.
			bytes += doubleBytes * (3*float64(span.States) + float64(span.Copy()) + float64(max(u, v)))
		}
	}
	for a, span := range layout.Node {
		rows := marginalRows(layout, schema, a)
		if rows.node == 0 {
			bytes += kroneckerBytes(span, l.problem.Data, true, a)
		}
		if n := float64(rows.node + rows.ends); n > 0 {
			// stack, rotated, row, values, and the second moments with eigenvectors both ways.
			bytes += doubleBytes * (2*n*float64(span.States) + 2*n + eigenCopies*n*n)
		}
	}
	m.Add("curvature by types", bytes, "second moments of features, their eigenvectors, and %d weights rotated, × 8 bytes", layout.Size)
}
