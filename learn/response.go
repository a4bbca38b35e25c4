package learn

import (
	"errors"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// response is linear response: how beliefs change with potentials, and so the exact Hessian
// of L and the tangents of messages, for networks that are small enough to solve for that.
//
// B is the largest value of ⟨θ,τ⟩ + Σ c H(τ) over consistent beliefs. A change dθ of the
// potentials moves the beliefs to where
//
//	⟨dθ,dτ⟩ − ½ Σ_s c_s Σ dτ_s²/τ_s − ½ Σ_uv ρ_uv Σ dτ_uv²/τ_uv
//
// is largest. As in hessian, dθ_uv is a part a of each end, which acts as a potential of
// that node, and a rest, which moves τ_uv alone. What an edge costs at given dτ_u and dτ_v
// is ρ/2 times their square under the inverse of [D_u T; Tᵀ D_v]. With dτ_s = √τ_s z_s what
// is left is a system of the nodes, for c_s of any sign,
//
//	Q = Σ_s c_s I + Σ_uv ρ_uv S_uv,   S = [I C; Cᵀ I]⁻¹,   C = T/√(τ_u τ_vᵀ) − √(τ_u τ_vᵀ)
//
// that is positive definite where the beliefs are a maximum. With rows √τ_s (J_s − E J_s)
// the Hessian is Jᵀ Q⁻¹ J and the sum over the rests. Along √τ_s, Q is ρ_s I, and the rows
// have no part there: sums of beliefs stay 1. A clamped unit has the same of its hidden
// nodes, and counts with its negative weight.
//
// A belief changes as log τ_uv = f(x_u) + g(x_v), so that its messages change by
// dm_u = z_u/√τ_u + a/ρ − f, with f and g in S (z_u; z_v). Sums of an edge that differ from
// the beliefs of its nodes are one more right-hand side, (τ − sum)/√τ: Newton's step towards
// where messages settle.
type response struct {
	l        *learner
	size     int // weights
	large    bool
	patience int // passes at the same weights that it waits for
	units    []responseUnit
	work     float64 // of the Hessian
	leanWork float64 // of lean

	space     bp.Workspace
	project   projection
	belief    []float64 // of an edge
	sums      []float64 // of an edge's belief over either end, before it is made consistent
	pair      []float64 // S of an edge
	own       []float64 // room for it
	along     []float64 // √τ of both ends
	images    []float64 // S √τ
	feature   []float64
	change    []float64 // of an edge's potential
	root      []float64 // √τ, as in Q
	values    []float64 // Q
	unsettled float64   // how far sums were from beliefs, relatively, the largest in the last lean
	far       float64   // that of the unit at hand so far
	rows      []float64 // [states][weights] J, then Q's factor⁻¹ J
	signed    []float64 // some rows times the sign
	z         []float64
	ends      []float64 // [edge][states of both ends] a
	lacks     []float64 // likewise, (τ − sum)/√τ
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
	system *skyline
	large  *conjugate // in the place of system where that takes too much
	place  []int32    // [states] which node of the block they are of, for large
	// A line of log-messages and log-beliefs: where it begins, and its tangents.
	fromMessages, fromBeliefs []float64
	messages, beliefs         []float64
}

const (
	// responseFree is the work, in multiplications of messages, that a Hessian may take in any
	// case, about 40 ms; a larger one may take that of responsePasses passes: it replaces as many.
	responseFree, responsePasses = 2e7, 25.0
	// leanFree and leanPasses are the same for tangents, which are found in every pass.
	leanFree, leanPasses = 2e6, 2.0
	// responseNumbers bounds the memory of a system, 32 MiB, and of rows.
	responseNumbers = 1 << 22
	// largePatience is how many passes messages of a large network get first, at least: as
	// many as take as long as a solution.
	largePatience = 8
	// surely is the root of the smallest belief that has surely not underflowed.
	surely = 1e-140
	// farFromSettled is how far, relatively, the sums of an edge may be from beliefs for
	// linear equations to be of use.
	farFromSettled = 0.1
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
	r := &response{l: l, patience: 1, size: layout.Size}
	p, passes := float64(r.size), l.passWork()
	most, mostLean := max(responseFree, responsePasses*passes), max(leanFree, leanPasses*passes)
	for _, u := range l.units {
		n := u.hiddenStates()
		if n*p > responseNumbers || n > responseNumbers { // before anything is as large
			return nil
		}
		s := newResponseUnit(u)
		s.system = newSkyline(s.narrow())
		if float64(s.system.at[s.size]) > responseNumbers {
			return nil
		}
		factor := s.system.factorWork()/solveWork + l.pairsWork(u, &s.block)
		r.leanWork += factor
		r.work += factor + (p*float64(s.system.at[s.size])+n*p*p/2)/solveWork + l.interactionsWork(u, &s.block)
		if r.work > most || r.leanWork > mostLean {
			return nil
		}
		r.units = append(r.units, *s)
	}
	return r
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
	for _, node := range narrowOrder(g) {
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
	s.endsAt = make([]int, len(s.block.Edges)+1)
	for q, e := range s.block.Edges {
		s.endsAt[q+1] = s.endsAt[q] + u.in.States(g.U(e)) + u.in.States(g.V(e))
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

// newLargeResponse is for networks that are too large for newResponse and where messages can
// be slow: with convex counting numbers of which some are negative. It has no Hessian.
func newLargeResponse(l *learner) *response {
	layout := &l.model.Layout
	if l.ascends || !l.certified {
		return nil
	}
	r := &response{l: l, large: true, size: layout.Size}
	least, numbers := 0.0, 0
	for _, u := range l.units {
		if least += u.hiddenStates() + u.pairNumbers(); least > responseNumbers { // before anything is as large
			return nil
		}
	}
	for _, u := range l.units {
		s := newResponseUnit(u)
		s.large = newConjugate(s)
		s.place = make([]int32, s.size)
		for i := range s.block.Nodes {
			for x := s.large.nodeAt[i]; x < s.large.nodeAt[i+1]; x++ {
				s.place[x] = int32(i)
			}
		}
		if numbers += s.large.numbers(); numbers > responseNumbers {
			return nil
		}
		r.units = append(r.units, *s)
	}
	work := 0.0
	for i := range r.units {
		work += l.pairsWork(r.units[i].unit, &r.units[i].block)
	}
	r.patience = max(largePatience, int(min(work/max(1, l.passWork()), maxCheckPasses)))
	return r
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

// listMemory lists what newResponse and allocate take, and what a measurement does.
func (r *response) listMemory(m *Memory) {
	var lines, indices, system, rows float64
	for i := range r.units {
		s := &r.units[i]
		lines += 2 * float64(s.net.Messages()+s.net.Beliefs())
		indices += 2*float64(s.size) + float64(len(s.at)+len(s.endsAt)) + 0.5*float64(len(s.block.Nodes)+len(s.block.Edges))
		if r.large {
			system += float64(s.large.numbers() + 5*len(s.block.Edges))
			continue
		}
		system = max(system, float64(s.system.at[s.size]))
		rows = max(rows, 2*float64(s.size*r.size))
	}
	m.Add("linear response", doubleBytes*(lines+indices+system+rows), "lines of messages in %d inferences, the system of the largest, and 2 × its states × %d weights, × 8 bytes", len(r.units), r.size)
}

// measure writes the Hessian of L at settled messages into dst [size*size], row-major, of
// which only the lower triangle counts.
func (r *response) measure(dst []float64) error {
	clear(dst)
	for i := range r.units {
		if err := r.addUnit(dst, &r.units[i]); err != nil {
			return err
		}
	}
	for i := range r.size {
		dst[i*r.size+i] += r.l.problem.L2
	}
	return nil
}

func (r *response) addUnit(dst []float64, s *responseUnit) error {
	r.rows = numeric.Resize(r.rows, s.size*r.size)
	clear(r.rows)
	if err := r.couple(s, true, func(q int, e int32) {
		weights, span := r.edgeFeature(s, e)
		r.addInteraction(dst, weights, span, s.weight/s.net.Counting.Edge[e])
		r.eachEnd(s, e, func(_, at, from, states int) { r.addEnd(at, from > 0, states, weights, span) })
	}); err != nil {
		return err
	}
	for _, node := range s.block.Nodes {
		r.addNode(s, node)
	}
	s.system.divide(r.rows, r.size)
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

// couple makes the factor of Q, and calls pair with the projections of each edge.
func (r *response) couple(s *responseUnit, each bool, pair func(q int, e int32)) error {
	if err := r.space.Ground(r.l.model, s.in, s.net, &s.block); err != nil {
		return err
	}
	m := s.system
	r.far, r.root = 0, numeric.Resize(r.root, s.size)
	if r.large {
		s.large.clear()
	} else {
		r.values = numeric.Resize(r.values, m.at[s.size])
		clear(r.values)
		m.values = r.values
	}
	for i, node := range s.block.Nodes {
		at := s.at[node]
		root := r.root[at:][:s.in.States(node)]
		s.net.Belief(root, s.state, node)
		for x, p := range root {
			root[x] = math.Sqrt(p)
			if r.large {
				s.large.diagonal[s.large.blockAt[i]+x*len(root)+x] += s.net.Counting.Node[node]
			} else {
				m.add(at+x, at+x, s.net.Counting.Node[node])
			}
		}
	}
	for q, e := range s.block.Edges {
		if err := r.projectEdge(s, q, each); err != nil {
			return err
		}
		if pair(q, e); r.far > farFromSettled {
			return errFar
		}
		r.invertPair()
		rho, k := s.net.Counting.Edge[e], r.project.ku+r.project.kv
		if r.large {
			s.large.add(q, rho, r.pair, s.place)
			continue
		}
		r.eachEnd(s, e, func(_, row, i, n int) {
			r.eachEnd(s, e, func(_, column, j, o int) {
				for x := range n {
					for y := 0; y < o && column+y <= row+x; y++ {
						m.add(row+x, column+y, rho*r.pair[(i+x)*k+j+y])
					}
				}
			})
		})
	}
	if r.large && !s.large.factorise() || !r.large && !m.factorise() {
		return errNoMaximum
	}
	return nil
}

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

// projectEdge finds the belief of an edge, and what projections need, or those of each joint
// state.
func (r *response) projectEdge(s *responseUnit, q int, each bool) error {
	e := s.block.Edges[q]
	ku, kv := s.in.States(s.in.Graph.U(e)), s.in.States(s.in.Graph.V(e))
	r.belief = numeric.Resize(r.belief, ku*kv)
	belief := r.belief
	if _, err := r.space.EdgeBeliefs(belief, nil, s.net, s.state, &s.block, q, q+1); err != nil {
		return err
	}
	r.sums = numeric.Resize(r.sums, ku+kv)
	clear(r.sums)
	for i, t := range belief {
		r.sums[i/kv] += t
		r.sums[ku+i%kv] += t
	}
	if r.unlike(s, e) > farFromSettled {
		r.space.Consistent(belief, s.net, s.state, &s.block, q, q+1, r.l.model.Layout.Masked)
	}
	if r.project.begin(belief, ku, kv); each {
		r.project.of(belief, ku, kv)
	}
	return nil
}

// unlike returns how far the sums of an edge are from the beliefs of its nodes, relatively.
func (r *response) unlike(s *responseUnit, e int32) (worst float64) {
	r.eachEnd(s, e, func(_, at, from, states int) {
		for x, p := range r.root[at:][:states] {
			if p > surely {
				worst = larger(worst, math.Abs(p*p-r.sums[from+x])/(p*p))
			}
		}
	})
	return worst
}

// invertPair finds S of the edge that was projected, from the inverse G that projections
// have, by which f and g are D_u⁻¹(dτ_u − T g) and G (dτ_v − Tᵀ D_u⁻¹ dτ_u). S is the
// identity along √τ.
func (r *response) invertPair() {
	p := &r.project
	ku, kv := p.ku, p.kv
	k := ku + kv
	r.own, r.along, r.images = numeric.Resize(r.own, k*k), numeric.Resize(r.along, k), numeric.Resize(r.images, 2*k)
	for i, t := range p.u {
		r.along[i] = math.Sqrt(t)
	}
	for j, t := range p.v {
		r.along[ku+j] = math.Sqrt(t)
	}
	r.pair = r.own
	root, s := r.along, r.pair
	for j := range kv {
		for o := range kv {
			s[(ku+j)*k+ku+o] = root[ku+j] * p.inverse[j*kv+o] * root[ku+o]
		}
		if root[ku+j] == 0 {
			s[(ku+j)*k+ku+j] = 1 // the state is forbidden: it moves nothing
		}
	}
	for i := range ku {
		mean := p.means[i*kv:][:kv]
		for j := range kv { // G is symmetric
			x := -root[i] * dotShort(p.inverse[j*kv:][:kv], mean) * root[ku+j]
			s[i*k+ku+j], s[(ku+j)*k+i] = x, x
		}
	}
	for i := range ku {
		for o := range ku {
			sum := 0.0
			for j, m := range p.means[i*kv:][:kv] {
				if m > 0 && root[ku+j] > 0 {
					sum -= m * s[o*k+ku+j] / root[ku+j]
				}
			}
			s[i*k+o] = root[i] * sum
		}
		s[i*k+i]++
	}
	// P S P + √τ√τᵀ with P the projection away from both.
	ends := [2][2]int{{0, ku}, {ku, k}}
	for n, end := range ends {
		for i := range k {
			r.images[n*k+i] = dotShort(s[i*k+end[0]:i*k+end[1]], root[end[0]:end[1]])
		}
	}
	for n, end := range ends {
		for m, other := range ends {
			corner := dotShort(r.images[m*k+end[0]:m*k+end[1]], root[end[0]:end[1]])
			if n == m {
				corner++
			}
			for i := end[0]; i < end[1]; i++ {
				for j := other[0]; j < other[1]; j++ {
					s[i*k+j] += root[i]*corner*root[j] - root[i]*r.images[n*k+j] - r.images[m*k+i]*root[j]
				}
			}
		}
	}
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

// addEnd adds the projections of an edge's features on one end to the rows from at on.
func (r *response) addEnd(at int, second bool, states, weights int, span *crf.Span) {
	part := r.project.left
	if second {
		part = r.project.right
	}
	for x := range states {
		row := r.rows[(at+x)*r.size+weights:]
		for j, f := range r.feature {
			if f == 0 {
				continue
			}
			out := row[j*span.States:][:span.States]
			for i := range out {
				out[i] += f * part[i*states+x]
			}
		}
	}
}

// addNode adds the features of a node to its rows, and makes them √τ (J − E J).
func (r *response) addNode(s *responseUnit, node int32) {
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
}

// lean moves messages to where linear equations have them settled, and finds their tangents
// along a direction of the weights, unless that is nil. It reports whether it did: far from
// settled messages linear equations say nothing, tangents are zero, and messages stay in all
// units but those that were moved before.
func (r *response) lean(direction []float64) (ok bool) {
	r.unsettled, ok = 0, true
	for i := range r.units {
		ok = ok && r.leanUnit(&r.units[i], direction)
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

func (r *response) leanUnit(s *responseUnit, direction []float64) bool {
	numbers := s.endsAt[len(s.block.Edges)]
	r.ends, r.lacks = numeric.Resize(r.ends, numbers), numeric.Resize(r.lacks, numbers)
	clear(r.ends)
	clear(r.lacks)
	worst := 0.0
	if r.couple(s, false, func(q int, e int32) {
		lacks := r.lacks[s.endsAt[q]:]
		r.eachEnd(s, e, func(_, at, from, states int) {
			for x, p := range r.root[at:][:states] {
				if p > surely {
					lacks[from+x] = (p*p - r.sums[from+x]) / p
					worst = larger(worst, math.Abs(lacks[from+x])/p)
				}
			}
		})
		r.far = worst
		if direction != nil {
			weights, span := r.edgeFeature(s, e)
			r.projectDirection(r.ends[s.endsAt[q]:], direction[weights:], span)
		}
	}) != nil || !(worst <= farFromSettled) {
		return false
	}
	r.unsettled = max(r.unsettled, worst)
	r.z = numeric.Resize(r.z, s.size)
	if worst > 0 {
		clear(r.z)
		for q, e := range s.block.Edges {
			if !r.pairOf(s, q) {
				return false
			}
			lacks := r.lacks[s.endsAt[q]:s.endsAt[q+1]]
			r.eachEnd(s, e, func(_, at, from, states int) {
				for x := range states {
					r.z[at+x] -= s.net.Counting.Edge[e] * dotShort(r.pair[(from+x)*len(lacks):][:len(lacks)], lacks)
				}
			})
		}
		if !s.solve(r.z) {
			return false
		}
		r.messages, r.beliefs = numeric.Resize(r.messages, len(s.messages)), numeric.Resize(r.beliefs, len(s.beliefs))
		clear(r.messages)
		clear(r.beliefs)
		if !r.spread(s, r.messages, r.beliefs, r.lacks, nil) {
			return false
		}
		move(s.state.LogMessage, s.state.LogMessage, r.messages, 1)
		move(s.state.LogBelief, s.state.LogBelief, r.beliefs, 1)
	}
	if direction == nil {
		return true
	}
	clear(r.z)
	for q, e := range s.block.Edges {
		ends := r.ends[s.endsAt[q]:]
		r.eachEnd(s, e, func(_, at, from, states int) { addShort(r.z[at:], ends[from:][:states], 1) })
	}
	for _, node := range s.block.Nodes {
		weights, span := r.nodeFeature(s, node)
		z, root := r.z[s.at[node]:][:span.States], r.root[s.at[node]:]
		for j, f := range r.feature {
			addShort(z, direction[weights+j*span.States:][:span.States], f)
		}
		mean := 0.0
		for x := range z {
			mean += root[x] * root[x] * z[x]
		}
		for x := range z {
			z[x] = root[x] * (z[x] - mean)
		}
	}
	return s.solve(r.z) && r.spread(s, s.messages, s.beliefs, nil, r.ends)
}

// projectDirection adds the parts of an edge's change of potential along a direction.
func (r *response) projectDirection(ends, direction []float64, span *crf.Span) {
	p := &r.project
	r.change = numeric.Resize(r.change, span.States)
	clear(r.change)
	for j, f := range r.feature {
		if f != 0 {
			addShort(r.change, direction[j*span.States:][:span.States], f)
		}
	}
	p.project(ends[:p.ku], ends[p.ku:], r.change)
}

// addInteraction adds Cov⊥(τ_uv), times the features, to dst, scaled.
func (r *response) addInteraction(dst []float64, weights int, span *crf.Span, scale float64) {
	for i := range span.States {
		row := r.project.rest(i)
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

// pairOf finds S of an edge anew.
func (r *response) pairOf(s *responseUnit, q int) bool {
	if r.large {
		p := &s.large.pairs[q]
		r.project.ku, r.project.kv = p.ku, p.kv
		r.pair = s.large.kept[p.kept:][:(p.ku+p.kv)*(p.ku+p.kv)]
		return true
	}
	if r.projectEdge(s, q, false) != nil {
		return false
	}
	r.invertPair()
	return true
}

// spread writes the changes of log-messages and log-beliefs for z, given what sums lack and the
// parts of the change of potentials; nil: nothing.
func (r *response) spread(s *responseUnit, messages, beliefs, lacks, ends []float64) bool {
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
		if !r.pairOf(s, q) {
			return false
		}
		k := r.project.ku + r.project.kv
		r.both = numeric.Resize(r.both, k)
		clear(r.both)
		if lacks != nil {
			copy(r.both, lacks[s.endsAt[q]:])
		}
		r.eachEnd(s, e, func(_, at, from, states int) { addShort(r.both[from:], r.z[at:][:states], 1) })
		r.eachEnd(s, e, func(d, at, from, states int) {
			out := messages[s.net.MessageAt(int32(d)):][:states]
			for x, p := range r.root[at:][:states] {
				out[x] = 0
				if ends != nil {
					out[x] = ends[s.endsAt[q]+from+x] / s.net.Counting.Edge[e]
				}
				if p > surely {
					out[x] += (r.z[at+x] - dotShort(r.pair[(from+x)*k:][:k], r.both)) / p
				}
			}
		})
	}
	return true
}

// solve replaces z by Q⁻¹ z, and reports whether there is that.
func (s *responseUnit) solve(z []float64) bool {
	if s.large != nil {
		return s.large.solve(z) && finite(z)
	}
	s.system.solve(z)
	return finite(z)
}

// place moves messages and beliefs to so much of the tangents from where lean left them.
func (r *response) place(along float64) {
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

// addShort adds a·x to the beginning of dst.
func addShort(dst, x []float64, a float64) {
	dst = dst[:len(x)]
	for i, y := range x {
		dst[i] += a * y
	}
}
