package learn

import (
	"errors"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// response is linear response: how messages and beliefs answer to a change of the weights, and
// so the exact Hessian of L, the tangents of messages, and Newton's steps of both together, for
// networks that are small enough to solve for that.
//
// By the dual variables λ', D of (7) has a Hessian with a block M/ρ for each edge (coupling), and Cov(τ_s)/c_s for
// the sum of all λ' into a node. With P = I − √τ_s √τ_sᵀ the latter is W Wᵀ/c_s, W = √τ_s P. So with z_s = √τ_s dlog
// τ_s in the place of the sums, variables of an edge are eliminated without those of others. For a change whose
// answer along the edge is a, where sums exceed beliefs by √τ e,
//
//	dλ' = a − ρ M⁻¹ (W z + √τ e),   Q z = W (J + Σ_uv a) − Σ_uv ρ_uv S_uv e
//
// is Newton's step, of rows J that the weights have at a node, and a system of the nodes
//
//	Q = Σ_s c_s I + Σ_uv ρ_uv S_uv,   S = W M⁻¹ W + √τ √τᵀ
//
// that is positive definite where the beliefs are a maximum of the free energy, for c_s of any sign. The Hessian of L
// is Jᵀ Q⁻¹ J, of the rows of all weights, and the sum over the rests that edges leave. Log-messages are λ'/ρ + log
// τ. A clamped unit has the same of its hidden nodes, and counts with its negative weight.
//
// Where all c_s > 0 and all labels are known, F is convex in weights and messages. With a damping of both all that
// holds far from settled messages too: then the step is Levenberg's and Marquardt's on F (descent.go), and its gradient by
// the weights is that of L as far as linear equations know what messages lack.
type response struct {
	l            *learner
	size         int  // weights
	damps        bool // steps of weights and messages together: see joint
	units        []responseUnit
	work         float64 // of the Hessian
	tangentsWork float64 // of tangents

	space     bp.Workspace
	coupling  linear.Coupling // of the edge at hand
	kept      []float64       // S of each edge of the unit at hand
	feature   []float64
	change    []float64 // of an edge's potential
	root      []float64 // √τ, as in Q
	values    []float64 // Q
	unsettled float64   // how far sums were from beliefs, relatively, the largest when tangents were found last
	rows      []float64 // [states][weights] J, then Q's factor⁻¹ J
	signed    []float64 // some rows times the sign
	z         []float64
	ends      []float64 // [edge][states of both ends] answers
	excess    []float64 // likewise, (sum − τ)/√τ
	both      []float64

	messages, beliefs []float64 // changes of those of a unit
}

// responseUnit is a unit with the shape of its system.
type responseUnit struct {
	*unit
	block  partition.Block // hidden nodes, in an order that keeps the system narrow, and their edges
	size   int
	at     []int // where the states of each node begin in Q; −1: observed
	endsAt []int // where each edge of the block begins in ends
	keptAt []int // and in kept
	system *linear.Skyline
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
	// longestChange of a log-message is the most that they are trusted for.
	longestChange = 100
)

var (
	errNoMaximum = errors.New("the beliefs are no maximum")
	errFar       = errors.New("messages are far from settled")
)

// newResponse returns nil where the method takes too much.
func newResponse(l *learner) *response {
	layout := &l.model.Layout
	if layout.Size > maxDense {
		return nil
	}
	r := &response{l: l, size: layout.Size, damps: !slices.ContainsFunc(l.units,
		func(u *unit) bool { return !u.smooth() })}
	p, passes := float64(r.size), l.passWork()
	most, mostTangents := max(responseFree, responsePasses*passes), max(tangentsFree, tangentsPasses*passes)
	for _, u := range l.units {
		n := u.hiddenStates()
		if n*p > responseNumbers || n+u.pairNumbers() > responseNumbers { // before anything is as large
			return nil
		}
		s := newResponseUnit(u)
		s.system = linear.NewSkyline(s.narrow())
		if float64(s.system.Numbers()) > responseNumbers {
			return nil
		}
		factor := s.system.FactorWork()/solveWork + l.pairsWork(u, &s.block)
		r.tangentsWork += factor
		r.work += factor + (p*float64(s.system.Numbers())+n*p*p/2)/solveWork + l.interactionsWork(u, &s.block)
		if r.work > most || r.tangentsWork > mostTangents && !r.damps {
			return nil
		}
		r.units = append(r.units, *s)
	}
	return r
}

// smooth reports whether F is convex and smooth in the weights and the messages of the unit.
func (u *unit) smooth() bool {
	return u.weight > 0 && !slices.ContainsFunc(u.net.Counting.Node, func(c float64) bool { return !(c >= leastCount) })
}

// pairsWork is what S takes for all edges of a block.
func (l *learner) pairsWork(u *unit, block *partition.Block) (work float64) {
	for _, e := range block.Edges {
		k := float64(u.in.States(u.in.Graph.U(e)) + u.in.States(u.in.Graph.V(e)))
		work += k * k * k * 2
	}
	return work
}

// interactionsWork is what the rests, and the rows of edges, take.
func (l *learner) interactionsWork(u *unit, block *partition.Block) (work float64) {
	for _, e := range block.Edges {
		features := float64(l.usedFeatures(e, u.in))
		joint := float64(l.model.Layout.Edge[u.in.EdgeType(e)].States)
		k := float64(u.in.States(u.in.Graph.U(e)) + u.in.States(u.in.Graph.V(e)))
		work += joint * features * (k + joint*features/solveWork)
	}
	return work
}

// hiddenStates counts the states of all nodes that are not observed.
func (u *unit) hiddenStates() (states float64) {
	for i := range int32(u.in.Graph.NumNodes()) {
		if u.net.Observed == nil || u.net.Observed[i] < 0 {
			states += float64(u.in.States(i))
		}
	}
	return states
}

// pairNumbers is how many S of all edges have.
func (u *unit) pairNumbers() (numbers float64) {
	g := u.in.Graph
	for e := range int32(g.NumEdges()) {
		k := float64(u.in.States(g.U(e)) + u.in.States(g.V(e)))
		numbers += k * k
	}
	return numbers
}

func newResponseUnit(u *unit) *responseUnit {
	g := u.in.Graph
	s := &responseUnit{unit: u, at: make([]int, g.NumNodes())}
	observed := func(i int32) bool { return u.net.Observed != nil && u.net.Observed[i] >= 0 }
	for _, node := range linear.NarrowOrder(g) {
		s.at[node] = -1
		if !observed(node) {
			s.block.Nodes = append(s.block.Nodes, node)
			s.at[node] = s.size
			s.size += u.in.States(node)
		}
	}
	for e := range int32(g.NumEdges()) {
		if s.at[g.U(e)] >= 0 || s.at[g.V(e)] >= 0 {
			s.block.Edges = append(s.block.Edges, e)
		}
	}
	s.endsAt, s.keptAt = make([]int, len(s.block.Edges)+1), make([]int, len(s.block.Edges)+1)
	for q, e := range s.block.Edges {
		k := u.in.States(g.U(e)) + u.in.States(g.V(e))
		s.endsAt[q+1], s.keptAt[q+1] = s.endsAt[q]+k, s.keptAt[q]+k*k
	}
	return s
}

// narrow returns the column where each row of Q begins.
func (s *responseUnit) narrow() []int {
	g := s.in.Graph
	first := make([]int, 0, s.size)
	for _, node := range s.block.Nodes {
		from := s.at[node]
		for _, d := range g.Incoming(node) {
			if at := s.at[g.Source(d)]; at >= 0 {
				from = min(from, at)
			}
		}
		for range s.in.States(node) {
			first = append(first, from)
		}
	}
	return first
}

// allocate makes room for the lines.
func (r *response) allocate() {
	for i := range r.units {
		s := &r.units[i]
		for _, x := range []*[]float64{&s.messages, &s.fromMessages} {
			*x = make([]float64, s.net.Messages())
		}
		for _, x := range []*[]float64{&s.beliefs, &s.fromBeliefs} {
			*x = make([]float64, s.net.Beliefs())
		}
	}
}

// memory returns the lines.
func (r *response) memory() (all [][]float64) {
	for i := range r.units {
		s := &r.units[i]
		all = append(all, s.messages, s.beliefs, s.fromMessages, s.fromBeliefs)
	}
	return all
}

// measure writes the Hessian of L at settled messages into dst [size*size], row-major, of
// which only the lower triangle counts. With a damping it is the system of the weights in a
// damped step, and gradient [size] the gradient of F less what messages answer to it.
func (r *response) measure(dst, gradient []float64, damping float64) error {
	clear(dst)
	clear(gradient)
	for i := range r.units {
		if err := r.addUnit(dst, gradient, damping, &r.units[i]); err != nil {
			return err
		}
	}
	l2 := r.l.problem.L2
	for i := range r.size {
		dst[i*r.size+i] += l2
	}
	for i := range gradient {
		gradient[i] += l2*r.l.model.Weights[i] - r.l.data[i]
	}
	return nil
}

func (r *response) addUnit(dst, gradient []float64, damping float64, s *responseUnit) error {
	r.rows = numeric.Resize(r.rows, s.size*r.size)
	clear(r.rows)
	r.begin(s)
	if err := r.couple(s, damping, func(q int, e int32) bool {
		weights, span := r.edgeFeature(s, e)
		r.coupling.Divide()
		if gradient != nil {
			r.exceed(s, q, e)
			r.addElement(dst, gradient, s.weight, damping/s.net.Counting.Edge[e], weights, r.coupling.Belief,
				r.coupling.Answered(r.excess[s.endsAt[q]:]))
		}
		r.addInteraction(dst, weights, span, s.weight/s.net.Counting.Edge[e])
		r.eachEnd(s, e, func(_, at, from, states int) { r.addEnd(at, from, states, weights, span) })
		return true
	}); err != nil {
		return err
	}
	for _, node := range s.block.Nodes {
		weights, belief := r.addNode(s, node)
		if gradient != nil {
			r.addElement(dst, gradient, s.weight, damping/s.net.Counting.Node[node], weights, belief, belief)
		}
	}
	s.system.Divide(r.rows, r.size)
	if gradient != nil {
		s.system.Divide(r.z, 1)
		for x, z := range r.z {
			simd.AddScaled(gradient, r.rows[x*r.size:][:r.size], -s.weight*z)
		}
	}
	scale := math.Sqrt(math.Abs(s.weight))
	for from := 0; from < s.size; from += ground.RowsPerBatch {
		count := min(ground.RowsPerBatch, s.size-from)
		rows := r.rows[from*r.size:][:count*r.size]
		r.signed = numeric.Resize(r.signed, len(rows))
		for i, x := range rows {
			rows[i], r.signed[i] = scale*x, math.Copysign(scale, s.weight)*x
		}
		simd.ScatterMatrix(dst, rows, r.signed, count, r.size, r.size)
	}
	return nil
}

// addElement adds sums, times the features, to the gradient, and what damps the weights to the diagonal of dst.
func (r *response) addElement(dst, gradient []float64, weight, damping float64, weights int, belief, sums []float64) {
	k := len(belief)
	for j, f := range r.feature {
		if f == 0 {
			continue
		}
		linear.AddShort(gradient[weights+j*k:], sums, weight*f)
		for x, p := range belief {
			dst[(weights+j*k+x)*(r.size+1)] += weight * damping * f * f * linear.Damped(p, k)
		}
	}
}

// begin clears what couple adds to.
func (r *response) begin(s *responseUnit) {
	numbers := s.endsAt[len(s.block.Edges)]
	r.ends, r.excess, r.z = numeric.Resize(r.ends, numbers), numeric.Resize(r.excess, numbers), numeric.Resize(r.z, s.size)
	clear(r.ends)
	clear(r.excess)
	clear(r.z)
}

// couple makes the factor of Q, and calls each with every edge as its coupling is known. It
// ends where that reports false.
func (r *response) couple(s *responseUnit, damping float64, each func(q int, e int32) bool) error {
	if err := r.space.Ground(r.l.model, s.in, s.net, &s.block); err != nil {
		return err
	}
	m := s.system
	r.root, r.kept = numeric.Resize(r.root, s.size), numeric.Resize(r.kept, s.keptAt[len(s.block.Edges)])
	r.values = numeric.Resize(r.values, m.Numbers())
	clear(r.values)
	m.Values = r.values
	for _, node := range s.block.Nodes {
		at := s.at[node]
		root := r.root[at:][:s.in.States(node)]
		s.net.Belief(root, s.state, node)
		for x, p := range root {
			root[x] = math.Sqrt(p)
			m.Add(at+x, at+x, s.net.Counting.Node[node])
		}
	}
	for q, e := range s.block.Edges {
		if err := r.coupleEdge(s, q, damping); err != nil {
			return err
		}
		if !each(q, e) {
			return errFar
		}
		rho, pair, k := s.net.Counting.Edge[e], r.pair(s, q), s.endsAt[q+1]-s.endsAt[q]
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
func (r *response) pair(s *responseUnit, q int) []float64 { return r.kept[s.keptAt[q]:s.keptAt[q+1]] }

// eachEnd calls f for the ends of an edge that are not observed: with the message into that
// end, where its states begin in Q and, of both ends', in S, and how many there are.
func (r *response) eachEnd(s *responseUnit, e int32, f func(d, at, from, states int)) {
	u, v := s.in.Graph.U(e), s.in.Graph.V(e)
	ku := s.in.States(u)
	if s.at[u] >= 0 {
		f(int(2*e+1), s.at[u], 0, ku)
	}
	if s.at[v] >= 0 {
		f(int(2*e), s.at[v], ku, s.in.States(v))
	}
}

// coupleEdge finds the coupling of an edge, and S.
func (r *response) coupleEdge(s *responseUnit, q int, damping float64) error {
	e, c := s.block.Edges[q], &r.coupling
	c.Resize(s.in.States(s.in.Graph.U(e)), s.in.States(s.in.Graph.V(e)))
	if _, err := r.space.EdgeBeliefs(c.Belief, nil, s.net, s.state, &s.block, q, q+1); err != nil {
		return err
	}
	c.Sum()
	if damping == 0 && r.unlike(s, e) > farFromSettled {
		r.space.Consistent(c.Belief, s.net, s.state, &s.block, q, q+1, r.l.model.Layout.Masked, 0)
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

// unlike returns how far the sums of an edge are from the beliefs of its nodes, relatively.
func (r *response) unlike(s *responseUnit, e int32) (worst float64) {
	r.eachEnd(s, e, func(_, at, from, states int) {
		for x, p := range r.root[at:][:states] {
			if p > surely {
				worst = larger(worst, math.Abs(p*p-r.coupling.Sums[from+x])/(p*p))
			}
		}
	})
	return worst
}

// exceed finds by how much the sums of an edge exceed the beliefs of its nodes, and the part of
// the system's right-hand side that brings messages there.
func (r *response) exceed(s *responseUnit, q int, e int32) {
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
			r.z[at+x] -= s.net.Counting.Edge[e] * linear.DotShort(pair[(from+x)*len(excess):][:len(excess)], excess)
		}
	})
}

// edgeFeature reads the features of an edge, and returns where its weights begin.
func (r *response) edgeFeature(s *responseUnit, e int32) (at int, span *crf.Span) {
	t := s.in.EdgeType(e)
	span = &r.l.model.Layout.Edge[t]
	r.feature = numeric.Resize(r.feature, span.Features)
	s.in.EdgeFeatures(t).Row(r.feature, s.in.EdgeRow(e))
	return copyAt(span, int(s.in.EdgeRow(e))), span
}

// copyAt returns where the weights of a row begin.
func copyAt(span *crf.Span, row int) int {
	if span.Untied {
		return span.At + row*span.Copy()
	}
	return span.At
}

// nodeFeature does the same for a node.
func (r *response) nodeFeature(s *responseUnit, node int32) (at int, span *crf.Span) {
	t := s.in.NodeType(node)
	span = &r.l.model.Layout.Node[t]
	r.feature = numeric.Resize(r.feature, span.Features)
	s.in.NodeFeatures(t).Row(r.feature, s.in.NodeRow(node))
	return copyAt(span, int(s.in.NodeRow(node))), span
}

// addEnd adds the answers to an edge's features of one end to the rows from at on.
func (r *response) addEnd(at, from, states, weights int, span *crf.Span) {
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
func (r *response) addNode(s *responseUnit, node int32) (weights int, belief []float64) {
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

// tangents moves messages to where linear equations have them settled, and finds their tangents along a direction of
// the weights, unless that is nil. It reports whether it did: far from settled messages linear equations say nothing,
// tangents are zero, and messages stay in all units but those that were moved before. With a damping, messages stay,
// and tangents have the part that settles them, with the sign of a line against the direction.
func (r *response) tangents(direction []float64, damping float64) (ok bool) {
	r.unsettled, ok = 0, true
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
		copy(s.fromMessages, s.state.LogMessage)
		copy(s.fromBeliefs, s.state.LogBelief)
	}
	return ok
}

func (r *response) unitTangents(s *responseUnit, direction []float64, damping float64) bool {
	worst := 0.0
	r.begin(s)
	if r.couple(s, damping, func(q int, e int32) bool {
		if worst = larger(worst, r.unlike(s, e)); damping == 0 && !(worst <= farFromSettled) {
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
	r.unsettled = max(r.unsettled, worst)
	if damping == 0 && worst > 0 {
		if !s.solve(r.z) {
			return false
		}
		r.messages, r.beliefs = numeric.Resize(r.messages, len(s.messages)), numeric.Resize(r.beliefs, len(s.beliefs))
		clear(r.messages)
		clear(r.beliefs)
		r.spread(s, r.messages, r.beliefs, false)
		move(s.state.LogMessage, s.state.LogMessage, r.messages, -1)
		move(s.state.LogBelief, s.state.LogBelief, r.beliefs, -1)
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
			linear.AddShort(r.change, direction[weights+j*span.States:][:span.States], f)
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
func (r *response) push(at int, a []float64) {
	root, mean := r.root[at:][:len(a)], 0.0
	for x, p := range root {
		mean += p * p * a[x]
	}
	for x, p := range root {
		r.z[at+x] += p * (a[x] - mean)
	}
}

// projectDirection adds the answers of messages to an edge's change of potential along a direction.
func (r *response) projectDirection(ends, direction []float64, span *crf.Span) {
	r.change = numeric.Resize(r.change, span.States)
	clear(r.change)
	for j, f := range r.feature {
		if f != 0 {
			linear.AddShort(r.change, direction[j*span.States:][:span.States], f)
		}
	}
	r.coupling.Project(ends, r.change)
}

// addInteraction adds Cov⊥(τ_uv), times the features, to dst, scaled.
func (r *response) addInteraction(dst []float64, weights int, span *crf.Span, scale float64) {
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

// spread writes the changes of log-messages and log-beliefs for z and what sums exceed
// beliefs by, and for the answers in ends where there are some.
func (r *response) spread(s *responseUnit, messages, beliefs []float64, ends bool) {
	for _, node := range s.block.Nodes {
		out := beliefs[s.net.BeliefAt(node):][:s.in.States(node)]
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
		r.eachEnd(s, e, func(_, at, from, states int) { linear.AddShort(r.both[from:], r.z[at:][:states], 1) })
		r.eachEnd(s, e, func(d, at, from, states int) {
			out := messages[s.net.MessageAt(int32(d)):][:states]
			for x, p := range r.root[at:][:states] {
				out[x] = 0
				if ends {
					out[x] = r.ends[s.endsAt[q]+from+x] / s.net.Counting.Edge[e]
				}
				if p > surely {
					out[x] += (r.z[at+x] - linear.DotShort(pair[(from+x)*k:][:k], r.both)) / p
				}
			}
		})
	}
}

// solve replaces z by Q⁻¹ z, and reports whether there is that.
func (s *responseUnit) solve(z []float64) bool {
	s.system.Solve(z)
	return finite(z)
}

// follow moves messages and beliefs to so much of the tangents from where tangents left them.
func (r *response) follow(along float64) {
	for i := range r.units {
		s := &r.units[i]
		move(s.state.LogMessage, s.fromMessages, s.messages, along)
		move(s.state.LogBelief, s.fromBeliefs, s.beliefs, along)
	}
}

// move sets dst = from + along·tangent, as far as linear equations may lead.
func move(dst, from, tangent []float64, along float64) {
	for i, t := range tangent {
		dst[i] = from[i] + min(max(along*t, -longestChange), longestChange)
	}
}

func finite(x []float64) bool { return simd.Dot(x, x) <= math.MaxFloat64 }
