package linear

import (
	"errors"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Response is linear response: how messages and beliefs answer to a change of the weights. That gives the exact Hessian
// of L, the tangents of messages, and Newton's steps of weights and messages together, in networks small enough to
// solve a system for.
//
// In the dual variables λ', D of (7) has a Hessian with a block M/ρ for each edge (Coupling), and Cov(τ_s)/c_s for the
// sum of all λ' into a node s. With P = I − √τ_s √τ_sᵀ the latter is W Wᵀ/c_s, W = √τ_s P. If z_s = √τ_s dlog τ_s takes
// the place of these sums, the variables of each edge can be eliminated by themselves. Let J be the change of a node's
// potentials, a the answer of an edge's messages to the change of its own (Coupling), and √τ e what the sums of an
// edge's belief exceed the beliefs of nodes by. Then Newton's step is
//
//	dλ' = a − ρ M⁻¹ (W z + √τ e),   Q z = W (J + Σ_uv a) − Σ_uv ρ_uv S_uv e
//
// with a system of the nodes
//
//	Q = Σ_s c_s I + Σ_uv ρ_uv S_uv,   S = W M⁻¹ W + √τ √τᵀ
//
// that is positive definite where the beliefs are a maximum of the free energy, for c_s of any sign. With the rows J of
// all weights the Hessian of L is Jᵀ Q⁻¹ J, and a sum over the rests of edges. Log-messages are λ'/ρ + log τ. A
// clamped unit has the same of its hidden nodes, and counts with its negative weight.
//
// Where all c_s > 0 and all labels are known, F is convex in weights and messages. If both are damped, all of that
// holds far from settled messages too: the step is then one of Levenberg and Marquardt on F (learn/descent.go).
type Response struct {
	// Damps: F is convex and smooth in weights and messages, so that these can make damped steps together.
	Damps bool
	// Work is that of measuring the Hessian, in multiplications of messages.
	Work float64
	// Unsettled is how far, relatively, any sum of an edge's belief was from a node's when Tangents was called last.
	Unsettled float64

	model        *crf.Model
	size         int // weights
	units        []responseUnit
	tangentsWork float64 // of Tangents

	space    bp.Workspace
	coupling Coupling  // of the edge at hand
	kept     []float64 // S of each edge of the unit at hand
	feature  []float64
	change   []float64 // of an edge's potential
	root     []float64 // √τ, as in Q
	values   []float64 // Q
	rows     []float64 // [states][weights] J, then Q's factor⁻¹ J
	signed   []float64 // some rows times the sign
	z        []float64
	ends     []float64 // [edge][states of both ends] answers
	excess   []float64 // likewise, (sum − τ)/√τ
	both     []float64

	messages, beliefs []float64 // changes of a unit's log-messages and log-beliefs
}

// Unit is a network whose messages and beliefs answer: one term of the objective, with its weight there.
type Unit struct {
	In     *crf.Instance
	Net    *bp.Net
	State  *bp.State // nil until Allocate
	Weight float64
}

// responseUnit is a unit with the shape of its system.
type responseUnit struct {
	Unit
	block  partition.Block // hidden nodes, in an order that keeps the system narrow, and their edges
	size   int
	at     []int // where the states of each node begin in Q; −1: observed
	endsAt []int // where each edge of the block begins in Response.ends
	keptAt []int // where it begins in Response.kept
	system *skyline
	// A line of log-messages and log-beliefs: where it begins, and its tangents.
	fromMessages, fromBeliefs []float64
	messages, beliefs         []float64
}

const (
	// responseFree is the work, in multiplications of messages, that a Hessian may take in any
	// case, about 40 ms; a larger one may take that of responsePasses passes: it replaces as many.
	responseFree, responsePasses = 2e7, 25.0
	// tangentsFree and tangentsPasses are the same for tangents, which are found in every pass but where steps are damped.
	tangentsFree, tangentsPasses = 2e6, 2.0
	// responseNumbers bounds the memory of a system, 32 MiB, and of rows.
	responseNumbers = 1 << 22
	// surely is the root of the smallest belief that has surely not underflowed.
	surely = 1e-140
	// farFromSettled is how far, relatively, the sums of an edge may be from beliefs for linear equations to be of use.
	farFromSettled = 0.1
	// leastCount is the smallest c_s for damped steps: for c_s = 0 (7) has a maximum in the
	// place of a sum of exponentials, and near it quadratic functions say little.
	leastCount = 1e-3
	// longestChange is the most by which linear equations may move a log-message.
	longestChange = 100
)

var (
	errNoMaximum = errors.New("the beliefs are no maximum")
	errFar       = errors.New("messages are far from settled")
)

// NewResponse returns nil where linear response takes too much work, beside that of a pass, or too much memory.
func NewResponse(m *crf.Model, units []Unit, pass float64) *Response {
	damps := !slices.ContainsFunc(units, func(u Unit) bool { return !u.smooth() })
	r := &Response{model: m, size: m.Layout.Size, Damps: damps}
	p := float64(r.size)
	most, mostTangents := max(responseFree, responsePasses*pass), max(tangentsFree, tangentsPasses*pass)
	for _, u := range units {
		n := u.hiddenStates()
		if n*p > responseNumbers || n+u.pairNumbers() > responseNumbers { // before anything is as large
			return nil
		}
		s := newResponseUnit(u)
		s.system = newSkyline(s.narrow())
		if float64(s.system.Numbers()) > responseNumbers {
			return nil
		}
		factor := s.system.FactorWork()/solveWork + s.pairsWork()
		r.tangentsWork += factor
		r.Work += factor + (p*float64(s.system.Numbers())+n*p*p/2)/solveWork + s.interactionsWork(&m.Layout)
		if r.Work > most || r.tangentsWork > mostTangents && !r.Damps {
			return nil
		}
		r.units = append(r.units, *s)
	}
	return r
}

// smooth reports whether F is convex and smooth in the weights and the messages of the unit.
func (u Unit) smooth() bool {
	return u.Weight > 0 && !slices.ContainsFunc(u.Net.Counting.Node, func(c float64) bool { return !(c >= leastCount) })
}

// pairsWork is the work of finding S for all edges of the system.
func (s *responseUnit) pairsWork() (work float64) {
	for q := range s.block.Edges {
		k := float64(s.endsAt[q+1] - s.endsAt[q])
		work += k * k * k * 2
	}
	return work
}

// interactionsWork is the work of the rests and the rows of all edges.
func (s *responseUnit) interactionsWork(layout *crf.Layout) (work float64) {
	for q, e := range s.block.Edges {
		t, k := s.In.EdgeType(e), float64(s.endsAt[q+1]-s.endsAt[q])
		features, joint := float64(ground.UsedFeatures(layout, s.In, t)), float64(layout.Edge[t].States)
		work += joint * features * (k + joint*features/solveWork)
	}
	return work
}

// hiddenStates counts the states of all nodes that are not observed.
func (u Unit) hiddenStates() (states float64) {
	for i := range int32(u.In.Graph.NumNodes()) {
		if u.Net.Observed == nil || u.Net.Observed[i] < 0 {
			states += float64(u.In.States(i))
		}
	}
	return states
}

// pairNumbers is how many numbers S of all edges have.
func (u Unit) pairNumbers() (numbers float64) {
	g := u.In.Graph
	for e := range int32(g.NumEdges()) {
		k := float64(u.In.States(g.U(e)) + u.In.States(g.V(e)))
		numbers += k * k
	}
	return numbers
}

func newResponseUnit(u Unit) *responseUnit {
	g := u.In.Graph
	s := &responseUnit{Unit: u, at: make([]int, g.NumNodes())}
	observed := func(i int32) bool { return u.Net.Observed != nil && u.Net.Observed[i] >= 0 }
	neighbours := make([][]int32, g.NumNodes())
	for i := range neighbours {
		neighbours[i] = numeric.Map(g.Incoming(int32(i)), g.Source)
	}
	for _, node := range numeric.NarrowOrder(neighbours) {
		s.at[node] = -1
		if !observed(node) {
			s.block.Nodes = append(s.block.Nodes, node)
			s.at[node] = s.size
			s.size += u.In.States(node)
		}
	}
	s.block.Edges = slices.DeleteFunc(numeric.To(g.NumEdges()), func(e int32) bool {
		return s.at[g.U(e)] < 0 && s.at[g.V(e)] < 0
	})
	s.endsAt, s.keptAt = make([]int, len(s.block.Edges)+1), make([]int, len(s.block.Edges)+1)
	for q, e := range s.block.Edges {
		k := u.In.States(g.U(e)) + u.In.States(g.V(e))
		s.endsAt[q+1], s.keptAt[q+1] = s.endsAt[q]+k, s.keptAt[q]+k*k
	}
	return s
}

// narrow returns the column where each row of Q begins.
func (s *responseUnit) narrow() []int {
	g := s.In.Graph
	first := make([]int, 0, s.size)
	for _, node := range s.block.Nodes {
		from := s.at[node]
		for _, d := range g.Incoming(node) {
			if at := s.at[g.Source(d)]; at >= 0 {
				from = min(from, at)
			}
		}
		for range s.In.States(node) {
			first = append(first, from)
		}
	}
	return first
}

// Allocate makes room for the lines, given the model whose weights move and the state of each unit.
func (r *Response) Allocate(m *crf.Model, state func(unit int) *bp.State) {
	r.model = m
	for i := range r.units {
		s := &r.units[i]
		s.State = state(i)
		for _, x := range []*[]float64{&s.messages, &s.fromMessages} {
			*x = make([]float64, s.Net.Messages())
		}
		for _, x := range []*[]float64{&s.beliefs, &s.fromBeliefs} {
			*x = make([]float64, s.Net.Beliefs())
		}
	}
}

// Lines returns, of each unit, the tangents of messages and of beliefs, and where these begin. They are what a resumed
// run goes on from.
func (r *Response) Lines() (all [][]float64) {
	for i := range r.units {
		s := &r.units[i]
		all = append(all, s.messages, s.beliefs, s.fromMessages, s.fromBeliefs)
	}
	return all
}

// Block has the hidden nodes of a unit and their edges, and Numbers is how many numbers a measurement has of it.
func (r *Response) Block(unit int) *partition.Block { return &r.units[unit].block }
func (r *Response) Numbers(unit int) int {
	s := &r.units[unit]
	return 2 * (s.size*r.size + s.system.Numbers())
}

// Measure adds the Hessian of L at settled messages, without that of the regulariser, to dst [size*size], row-major, of
// which only the lower triangle counts. With a damping it is the system of the weights in a damped step, and to
// gradient [size] is added that of Σ D less what messages answer to it. Without one gradient is nil.
func (r *Response) Measure(dst, gradient []float64, damping float64) error {
	for i := range r.units {
		if err := r.addUnit(dst, gradient, damping, &r.units[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Response) addUnit(dst, gradient []float64, damping float64, s *responseUnit) error {
	r.rows = numeric.Resize(r.rows, s.size*r.size)
	clear(r.rows)
	r.begin(s)
	if err := r.couple(s, damping, func(q int, e int32) bool {
		weights, span := r.edgeFeature(s, e)
		r.coupling.Divide()
		if gradient != nil {
			r.exceed(s, q, e)
			r.addElement(dst, gradient, s.Weight, damping/s.Net.Counting.Edge[e], weights, r.coupling.Belief,
				r.coupling.Answered(r.excess[s.endsAt[q]:]))
		}
		r.addInteraction(dst, weights, span, s.Weight/s.Net.Counting.Edge[e])
		r.eachEnd(s, e, func(_, at, from, states int) { r.addEnd(at, from, states, weights, span) })
		return true
	}); err != nil {
		return err
	}
	for _, node := range s.block.Nodes {
		weights, belief := r.addNode(s, node)
		if gradient != nil {
			r.addElement(dst, gradient, s.Weight, damping/s.Net.Counting.Node[node], weights, belief, belief)
		}
	}
	s.system.Divide(r.rows, r.size)
	if gradient != nil {
		s.system.Divide(r.z, 1)
		for x, z := range r.z {
			simd.AddScaled(gradient, r.rows[x*r.size:][:r.size], -s.Weight*z)
		}
	}
	scale := math.Sqrt(math.Abs(s.Weight))
	for from := 0; from < s.size; from += ground.RowsPerBatch {
		count := min(ground.RowsPerBatch, s.size-from)
		rows := r.rows[from*r.size:][:count*r.size]
		r.signed = numeric.Resize(r.signed, len(rows))
		for i, x := range rows {
			rows[i], r.signed[i] = scale*x, math.Copysign(scale, s.Weight)*x
		}
		simd.ScatterMatrix(dst, rows, r.signed, count, r.size, r.size)
	}
	return nil
}

// addElement adds sums, times the features, to the gradient, and the damping of the weights to the diagonal of dst.
func (r *Response) addElement(dst, gradient []float64, weight, damping float64, weights int, belief, sums []float64) {
	k := len(belief)
	for j, f := range r.feature {
		if f == 0 {
			continue
		}
		AddShort(gradient[weights+j*k:], sums, weight*f)
		for x, p := range belief {
			dst[(weights+j*k+x)*(r.size+1)] += weight * damping * f * f * Damped(p, k)
		}
	}
}

// begin clears what the callbacks of couple add to.
func (r *Response) begin(s *responseUnit) {
	numbers := s.endsAt[len(s.block.Edges)]
	r.ends, r.excess, r.z = numeric.Resize(r.ends, numbers), numeric.Resize(r.excess, numbers), numeric.Resize(r.z, s.size)
	clear(r.ends)
	clear(r.excess)
	clear(r.z)
}

// couple finds the factor of Q, and calls each for every edge once r.coupling is that of the edge. It ends where each
// reports false.
func (r *Response) couple(s *responseUnit, damping float64, each func(q int, e int32) bool) error {
	if err := r.space.Ground(r.model, s.In, s.Net, nil, &s.block); err != nil {
		return err
	}
	m := s.system
	r.root, r.kept = numeric.Resize(r.root, s.size), numeric.Resize(r.kept, s.keptAt[len(s.block.Edges)])
	r.values = numeric.Resize(r.values, m.Numbers())
	clear(r.values)
	m.Values = r.values
	for _, node := range s.block.Nodes {
		at := s.at[node]
		root := r.root[at:][:s.In.States(node)]
		s.Net.Belief(root, s.State, node)
		for x, p := range root {
			root[x] = math.Sqrt(p)
			m.Add(at+x, at+x, s.Net.Counting.Node[node])
		}
	}
	for q, e := range s.block.Edges {
		if err := r.coupleEdge(s, q, damping); err != nil {
			return err
		}
		if !each(q, e) {
			return errFar
		}
		rho, pair, k := s.Net.Counting.Edge[e], r.pair(s, q), s.endsAt[q+1]-s.endsAt[q]
		r.eachEnd(s, e, func(_, row, i, n int) {
			r.eachEnd(s, e, func(_, column, j, o int) {
				for x := range n {
					for y := 0; y < o && column+y <= row+x; y++ {
						m.Add(row+x, column+y, rho*pair[(i+x)*k+j+y])
					}
				}
			})
		})
	}
	if !m.Factorise() {
		return errNoMaximum
	}
	return nil
}

// pair returns S of an edge.
func (r *Response) pair(s *responseUnit, q int) []float64 { return r.kept[s.keptAt[q]:s.keptAt[q+1]] }

// eachEnd calls f for the ends of an edge that are not observed: with the message into that
// end, where its states begin in Q and, of both ends', in S, and how many there are.
func (r *Response) eachEnd(s *responseUnit, e int32, f func(d, at, from, states int)) {
	u, v := s.In.Graph.U(e), s.In.Graph.V(e)
	ku := s.In.States(u)
	if s.at[u] >= 0 {
		f(int(2*e+1), s.at[u], 0, ku)
	}
	if s.at[v] >= 0 {
		f(int(2*e), s.at[v], ku, s.In.States(v))
	}
}

// coupleEdge finds the coupling of an edge, and S.
func (r *Response) coupleEdge(s *responseUnit, q int, damping float64) error {
	e, c := s.block.Edges[q], &r.coupling
	c.Resize(s.In.States(s.In.Graph.U(e)), s.In.States(s.In.Graph.V(e)))
	if _, err := r.space.EdgeBeliefs(c.Belief, s.Net, s.State, &s.block, q, q+1); err != nil {
		return err
	}
	c.Sum()
	if damping == 0 && r.unlike(s, e) > farFromSettled {
		r.space.Consistent(c.Belief, nil, s.Net, s.State, &s.block, q, q+1, r.model.Layout.Masked, 0)
		c.Sum()
	}
	clear(c.Root)
	r.eachEnd(s, e, func(_, at, from, states int) { copy(c.Root[from:][:states], r.root[at:]) })
	if !c.Invert(damping) {
		return errNoMaximum
	}
	c.Respond(r.pair(s, q))
	return nil
}

// unlike returns how far, relatively, the sums of an edge's belief are from the beliefs of its nodes.
func (r *Response) unlike(s *responseUnit, e int32) (worst float64) {
	r.eachEnd(s, e, func(_, at, from, states int) {
		for x, p := range r.root[at:][:states] {
			if p > surely {
				worst = max(worst, math.Abs(p*p-r.coupling.Sums[from+x])/(p*p))
			}
		}
	})
	return worst
}

// exceed finds by how much the sums of an edge exceed the beliefs of its nodes, and adds to z the part of the right-
// hand side that moves messages to where they agree.
func (r *Response) exceed(s *responseUnit, q int, e int32) {
	excess, pair := r.excess[s.endsAt[q]:s.endsAt[q+1]], r.pair(s, q)
	r.eachEnd(s, e, func(_, at, from, states int) {
		for x, p := range r.root[at:][:states] {
			if p > surely {
				excess[from+x] = (r.coupling.Sums[from+x] - p*p) / p
			}
		}
	})
	r.eachEnd(s, e, func(_, at, from, states int) {
		for x := range states {
			r.z[at+x] -= s.Net.Counting.Edge[e] * dotShort(pair[(from+x)*len(excess):][:len(excess)], excess)
		}
	})
}

// edgeFeature reads the features of an edge, and returns where its weights begin.
func (r *Response) edgeFeature(s *responseUnit, e int32) (at int, span *crf.Span) {
	t := s.In.EdgeType(e)
	return r.read(&r.model.Layout.Edge[t], s.In.EdgeFeatures(t), s.In.EdgeRow(e))
}

// nodeFeature does the same for a node.
func (r *Response) nodeFeature(s *responseUnit, node int32) (at int, span *crf.Span) {
	t := s.In.NodeType(node)
	return r.read(&r.model.Layout.Node[t], s.In.NodeFeatures(t), s.In.NodeRow(node))
}

func (r *Response) read(span *crf.Span, features *crf.Features, row int) (int, *crf.Span) {
	r.feature = numeric.Resize(r.feature, span.Features)
	features.Row(r.feature, row)
	if span.Untied {
		return span.At + row*span.Copy(), span
	}
	return span.At, span
}

// addEnd adds the answers to an edge's features of one end to the rows from at on.
func (r *Response) addEnd(at, from, states, weights int, span *crf.Span) {
	k := r.coupling.KU + r.coupling.KV
	for x := range states {
		row := r.rows[(at+x)*r.size+weights:]
		for j, f := range r.feature {
			if f == 0 {
				continue
			}
			out := row[j*span.States:][:span.States]
			for i := range out {
				out[i] += f * r.coupling.Parts[i*k+from+x]
			}
		}
	}
}

// addNode adds the features of a node to its rows, and makes them √τ (J − E J). It returns
// where its weights begin, and its belief.
func (r *Response) addNode(s *responseUnit, node int32) (weights int, belief []float64) {
	at := s.at[node]
	weights, span := r.nodeFeature(s, node)
	r.both = numeric.Resize(r.both, r.size)
	clear(r.both)
	root := r.root[at:][:span.States]
	for x, p := range root {
		row := r.rows[(at+x)*r.size:][:r.size]
		for j, f := range r.feature {
			row[weights+j*span.States+x] += f
		}
		simd.AddScaled(r.both, row, -p*p)
	}
	for x, p := range root {
		row := r.rows[(at+x)*r.size:][:r.size]
		simd.AddScaled(row, r.both, 1)
		for w := range row {
			row[w] *= p
		}
	}
	r.change = numeric.Resize(r.change, len(root))
	for x, p := range root {
		r.change[x] = p * p
	}
	return weights, r.change
}

// Tangents moves messages to where they settle, by linear equations, and finds their tangents along a direction of the
// weights, unless that is nil. It reports whether it did: far from settled messages linear equations say nothing,
// tangents are zero, and messages stay in all units but those that were moved before. With a damping messages stay, and
// tangents have the part that settles them, with the sign of a line against the direction.
func (r *Response) Tangents(direction []float64, damping float64) (ok bool) {
	r.Unsettled, ok = 0, true
	for i := range r.units {
		ok = ok && r.unitTangents(&r.units[i], direction, damping)
	}
	for i := range r.units {
		s := &r.units[i]
		if direction == nil {
			break
		}
		if !ok {
			clear(s.messages)
			clear(s.beliefs)
		}
		copy(s.fromMessages, s.State.LogMessage)
		copy(s.fromBeliefs, s.State.LogBelief)
	}
	return ok
}

func (r *Response) unitTangents(s *responseUnit, direction []float64, damping float64) bool {
	worst := 0.0
	r.begin(s)
	if r.couple(s, damping, func(q int, e int32) bool {
		if worst = max(worst, r.unlike(s, e)); damping == 0 && !(worst <= farFromSettled) {
			return false
		}
		r.exceed(s, q, e)
		if direction != nil {
			weights, span := r.edgeFeature(s, e)
			r.projectDirection(r.ends[s.endsAt[q]:s.endsAt[q+1]], direction[weights:], span)
		}
		return true
	}) != nil {
		return false
	}
	r.Unsettled = max(r.Unsettled, worst)
	if damping == 0 && worst > 0 {
		if !s.solve(r.z) {
			return false
		}
		r.messages, r.beliefs = numeric.Resize(r.messages, len(s.messages)), numeric.Resize(r.beliefs, len(s.beliefs))
		clear(r.messages)
		clear(r.beliefs)
		r.spread(s, r.messages, r.beliefs, false)
		move(s.State.LogMessage, s.State.LogMessage, r.messages, -1)
		move(s.State.LogBelief, s.State.LogBelief, r.beliefs, -1)
		clear(r.excess)
		clear(r.z)
	}
	if direction == nil {
		return true
	}
	for _, node := range s.block.Nodes {
		weights, span := r.nodeFeature(s, node)
		r.change = numeric.Resize(r.change, span.States)
		clear(r.change)
		for j, f := range r.feature {
			AddShort(r.change, direction[weights+j*span.States:][:span.States], f)
		}
		r.push(s.at[node], r.change)
	}
	for q, e := range s.block.Edges {
		ends := r.ends[s.endsAt[q]:]
		r.eachEnd(s, e, func(_, at, from, states int) { r.push(at, ends[from:][:states]) })
	}
	if !s.solve(r.z) {
		return false
	}
	r.spread(s, s.messages, s.beliefs, true)
	return true
}

// push adds √τ (a − E a) to z of the node from at on, for a change a of its potential.
func (r *Response) push(at int, a []float64) {
	root, mean := r.root[at:][:len(a)], 0.0
	for x, p := range root {
		mean += p * p * a[x]
	}
	for x, p := range root {
		r.z[at+x] += p * (a[x] - mean)
	}
}

// projectDirection adds the answers of messages to an edge's change of potential along a direction.
func (r *Response) projectDirection(ends, direction []float64, span *crf.Span) {
	r.change = numeric.Resize(r.change, span.States)
	clear(r.change)
	for j, f := range r.feature {
		if f != 0 {
			AddShort(r.change, direction[j*span.States:][:span.States], f)
		}
	}
	r.coupling.Project(ends, r.change)
}

// addInteraction adds Cov⊥(τ_uv), times the features, to dst, scaled.
func (r *Response) addInteraction(dst []float64, weights int, span *crf.Span, scale float64) {
	for i := range span.States {
		row := r.coupling.Rest(i)
		for j, x := range r.feature {
			if x == 0 {
				continue
			}
			out := dst[(weights+j*span.States+i)*r.size+weights:]
			for k, y := range r.feature[:j+1] {
				if y != 0 {
					simd.AddScaled(out[k*span.States:][:span.States], row, scale*x*y)
				}
			}
		}
	}
}

// spread writes the changes of log-messages and log-beliefs, given z, e and, where ends is set, the answers in r.ends.
func (r *Response) spread(s *responseUnit, messages, beliefs []float64, ends bool) {
	for _, node := range s.block.Nodes {
		out := beliefs[s.Net.BeliefAt(node):][:s.In.States(node)]
		for x, p := range r.root[s.at[node]:][:len(out)] {
			out[x] = 0
			if p > surely {
				out[x] = r.z[s.at[node]+x] / p
			}
		}
	}
	for q, e := range s.block.Edges {
		k, pair := s.endsAt[q+1]-s.endsAt[q], r.pair(s, q)
		r.both = numeric.Resize(r.both, k)
		copy(r.both, r.excess[s.endsAt[q]:])
		r.eachEnd(s, e, func(_, at, from, states int) { AddShort(r.both[from:], r.z[at:][:states], 1) })
		r.eachEnd(s, e, func(d, at, from, states int) {
			out := messages[s.Net.MessageAt(int32(d)):][:states]
			for x, p := range r.root[at:][:states] {
				out[x] = 0
				if ends {
					out[x] = r.ends[s.endsAt[q]+from+x] / s.Net.Counting.Edge[e]
				}
				if p > surely {
					out[x] += (r.z[at+x] - dotShort(pair[(from+x)*k:][:k], r.both)) / p
				}
			}
		})
	}
}

// solve replaces z by Q⁻¹ z, and reports whether that is finite.
func (s *responseUnit) solve(z []float64) bool {
	s.system.Solve(z)
	return finite(z)
}

// Follow moves messages and beliefs along their tangents, so far from where they were when these were found.
func (r *Response) Follow(along float64) {
	for i := range r.units {
		s := &r.units[i]
		move(s.State.LogMessage, s.fromMessages, s.messages, along)
		move(s.State.LogBelief, s.fromBeliefs, s.beliefs, along)
	}
}

// move sets dst = from + along·tangent, as far as linear equations may lead.
func move(dst, from, tangent []float64, along float64) {
	for i, t := range tangent {
		dst[i] = from[i] + min(max(along*t, -longestChange), longestChange)
	}
}

func finite(x []float64) bool { return simd.Dot(x, x) <= math.MaxFloat64 }
