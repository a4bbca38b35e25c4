package learn

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// hessian measures the Hessian of L where the beliefs are at the moment, but for
// what nodes answer to each other (docs/explanation/steps.md):
//
//	H ≈ Σ_s J_sᵀ Cov(τ_s) J_s / ρ_s + Σ_uv M_uv Cov⊥(τ_uv) M_uvᵀ / ρ_uv + l2 I
//
// A function φ of the states of an edge is, under its belief, the sum of one of each
// end and a rest without covariance to either: φ = a + b + φ⊥. Adding a and b to the
// potentials of the ends is the same as adding them to that of the edge, so J_s, from
// all weights to the potential of s, has the node's features and the answers a (coupling) to
// those of its edges; only the rest moves τ_uv at held τ_u and τ_v.
//
// Beliefs far from their mean, as most are where a model is sure, make this another
// matrix than fisher's Kronecker products: those know of a mean covariance only. The
// sums are over a sample of the nodes and of the edges.
//
// Beliefs of some elements are found one after another, as they lie in one workspace. What
// they come to is then computed on all threads, and added up by rows of H, of which each is
// of one thread: in the order of the elements, whatever the threads.
type hessian struct {
	l        *learner
	samples  []hessianSample
	leverage *leverage
	space    bp.Workspace
	size     int // weights

	most       int     // elements of a type that are looked at, 0: as many as sampleSize says
	labelShare float64 // of a belief that is taken from the label

	workers []hessianWorker
	beliefs []float64 // of the elements at hand
	nodes   []hessianNode
	edges   []hessianEdge
	// rests [edges][states²] are covariances of what is left of functions of the states, times
	// the scales, and features [edges][features] those of the edges at hand.
	rests, features []float64
	// roots [rootsTogether][size] are those of the terms of nodes; the first full of them
	// belong to nodes that are done, of which used lists those that are not zero.
	roots []float64
	full  int
	used  []int32
}

// hessianNode is a node at hand: its belief, then those of its edges, begin at.
type hessianNode struct {
	node  int32
	at    int
	root  int // its first
	count int // of them
	scale float64
}

// hessianEdge is an edge at hand.
type hessianEdge struct {
	edge  int32
	at    int
	scale float64
}

// hessianWorker is the scratch of one thread.
type hessianWorker struct {
	potential []float64 // [size][states] J_s
	active    []int32   // columns of J_s that are not zero
	isActive  []bool    // [size]
	feature   []float64
	coupling  coupling
	node      []float64 // a belief
	// columns [rootsTogether][rowsOfPart] and rows [rootsTogether][size] are of the roots that
	// are not zero, and sum [rowsOfPart][size] of their products.
	columns, rows, sum []float64
}

// hessianSample is the sample in one unit, with the edges of its nodes.
type hessianSample struct {
	u     *unit
	block partition.Block
	// nodeScale and edgeScale say how many nodes and edges each one drawn stands for: 0
	// for edges that only belong to a node that was.
	nodeScale, edgeScale []float64
	place                map[int32]int // position in the block, by edge
	unsure               []float32     // [nodes]
	tells                []float32     // [nodes or edges] what each tells, −1 if it is of another type
}

const (
	// nodesPerWeight and leastSampled bound the sample: how many nodes and edges of a type
	// are looked at, for each weight and state, and at least.
	nodesPerWeight = 4.0
	leastSampled   = 256
	// labelShare of a belief is taken from the label: a model that is sure of something
	// else has to go there, and would look free to move at no curvature.
	labelShare = 0.02
	// leastTold, of the mean of what elements tell, is added to each: the rest is not left
	// out.
	leastTold = 0.1
	// leastCovariance of a state, τ(1 − τ), is one that counts.
	leastCovariance = 1e-7
	// rootsTogether is how many roots are added up together: as many as make what threads
	// have to wait for, and reading H, small beside the products.
	rootsTogether = 128
	// rowsOfPart is how many rows of H one thread adds up at a time: only the columns up to
	// the last of them are wanted.
	rowsOfPart = 64
	// restsTogether bounds the numbers in covariances of edges that are added up together, and in
	// their features.
	restsTogether = 1 << 17
)

// newHessian returns a measurement, of which work tells the cost, or nil for models with
// weights of their own for every node or edge, or with more than maxDense weights.
func newHessian(l *learner) *hessian {
	layout := &l.model.Layout
	if layout.UntiedSize > 0 || layout.Size > maxDense {
		return nil
	}
	return &hessian{l: l, size: layout.Size, labelShare: labelShare, workers: make([]hessianWorker, l.settings.Threads)}
}

// each calls do for all i < n, on all threads where there are any yet.
func (l *learner) each(n int, do func(worker, i int)) {
	if l.pool != nil {
		l.pool.run(visit{task: do}, n)
		return
	}
	serially(n, do)
}

// work returns about how many multiplications a measurement takes, in terms of those
// of messages: of a sample drawn evenly, for which no feature and no belief is looked at.
func (c *hessian) work() (total float64) {
	layout, n := &c.l.model.Layout, float64(c.size)
	for a, span := range layout.Node {
		c.evenly(c.sampleSize(span), func(each func(u *unit, i int32)) { c.l.eachNode(a, each) }, func(u *unit, i int32) {
			total += float64(span.States) * n * n / listWork
			for _, d := range u.in.Graph.Incoming(i) {
				total += c.edgeWork(u.in, d>>1)
			}
		})
	}
	for b, span := range layout.Edge {
		joint := float64(span.States)
		c.evenly(c.sampleSize(span), func(each func(u *unit, i int32)) { c.l.eachEdge(b, each) }, func(u *unit, i int32) {
			features := float64(c.l.usedFeatures(i, u.in))
			total += c.edgeWork(u.in, i) + joint*joint*features*features/solveWork
		})
	}
	return total
}

// evenly calls use for so many of the elements that all goes through, or for all of them.
func (c *hessian) evenly(wanted int, all func(each func(u *unit, i int32)), use func(u *unit, i int32)) {
	count, at := 0, 0
	all(func(*unit, int32) { count++ })
	wanted = min(wanted, count)
	all(func(u *unit, i int32) {
		if (at+1)*wanted/count > at*wanted/count {
			use(u, i)
		}
		at++
	})
}

// eachNode calls do for the nodes of a type that a Hessian can be measured at.
func (l *learner) eachNode(t int, do func(u *unit, i int32)) {
	for _, u := range l.units {
		if u.isFree() {
			for i := range int32(u.in.Graph.NumNodes()) {
				if u.in.NodeType(i) == t && u.nodeCurvature(i) > 0 {
					do(u, i)
				}
			}
		}
	}
}

// eachEdge is eachNode for edges.
func (l *learner) eachEdge(t int, do func(u *unit, i int32)) {
	for _, u := range l.units {
		if u.isFree() {
			for e := range int32(u.in.Graph.NumEdges()) {
				if u.in.EdgeType(e) == t && u.edgeCurvature(e) > 0 {
					do(u, e)
				}
			}
		}
	}
}

// edgeWork is that of a coupling, and of adding its answers to J_s.
func (c *hessian) edgeWork(in *crf.Instance, e int32) float64 {
	joint := float64(c.l.model.Layout.Edge[in.EdgeType(e)].States)
	states := float64(max(in.States(in.Graph.U(e)), in.States(in.Graph.V(e))))
	return joint*joint + float64(c.l.usedFeatures(e, in))*joint*states
}

// draw chooses the sample: elements whose beliefs of the moment are less sure, and those
// with features that few have, are drawn more often, and count less. Most of a model that
// is sure of itself has no covariance worth the work.
func (c *hessian) draw() {
	layout := &c.l.model.Layout
	if c.leverage == nil {
		c.leverage = newLeverage(c.l)
	}
	c.samples = c.samples[:0]
	for _, u := range c.l.units {
		if u.isFree() {
			c.samples = append(c.samples, hessianSample{u: u, place: map[int32]int{}})
		}
	}
	c.l.each(len(c.samples), func(worker, i int) { c.samples[i].unsure = c.unsure(&c.workers[worker], c.samples[i].u) })
	rng := rand.New(rand.NewPCG(1, 3))
	for a, span := range layout.Node {
		c.pick(rng, c.sampleSize(span), a, true)
	}
	for b, span := range layout.Edge {
		c.pick(rng, c.sampleSize(span), b, false)
	}
	for i := range c.samples {
		c.samples[i].complete()
	}
	c.samples = slices.DeleteFunc(c.samples, func(s hessianSample) bool { return len(s.block.Nodes)+len(s.block.Edges) == 0 })
}

// complete adds the edges of the nodes that were drawn, and sorts the edges.
func (s *hessianSample) complete() {
	drawn := s.block.Edges
	s.block.Edges = slices.Clone(drawn)
	for _, node := range s.block.Nodes {
		for _, d := range s.u.in.Graph.Incoming(node) {
			s.block.Edges = append(s.block.Edges, d>>1)
		}
	}
	slices.Sort(s.block.Edges)
	s.block.Edges = slices.Compact(s.block.Edges)
	for q, e := range s.block.Edges {
		s.place[e] = q
	}
	s.unsure, s.tells = nil, nil
	scales := s.edgeScale
	s.edgeScale = make([]float64, len(s.block.Edges))
	for i, e := range drawn {
		s.edgeScale[s.place[e]] = scales[i]
	}
}

// sampleSize returns how many elements of a type are to be looked at.
func (c *hessian) sampleSize(span crf.Span) int {
	if c.most > 0 {
		return c.most
	}
	return max(leastSampled, int(nodesPerWeight*float64(c.size)/float64(max(1, span.States-1))))
}

// pick draws nodes (or edges) of type t in proportion to what they tell, one from each of
// so many stretches of equal sums, and notes for each how many it stands for.
func (c *hessian) pick(rng *rand.Rand, wanted, t int, nodes bool) {
	c.l.each(len(c.samples), func(_, i int) { c.samples[i].tell(c.leverage, t, nodes) })
	count, total := 0, 0.0
	c.eachTelling(func(_ *hessianSample, _ int32, tells float64) {
		count++
		total += tells
	})
	if count == 0 {
		return
	}
	all := wanted >= count
	floor := leastTold
	if total > 0 {
		floor = leastTold * total / float64(count)
	}
	stretch := (total + floor*float64(count)) / float64(wanted)
	sum, next := 0.0, stretch*rng.Float64()
	drawn := 0
	c.eachTelling(func(s *hessianSample, i int32, tells float64) {
		scale := 1.0
		if !all {
			sum += tells + floor
			times := 0.0
			for sum > next && drawn < wanted {
				times++
				drawn++
				next = stretch * (float64(drawn) + rng.Float64())
			}
			if times == 0 {
				return
			}
			scale = times * stretch / (tells + floor)
		}
		if nodes {
			s.block.Nodes, s.nodeScale = append(s.block.Nodes, i), append(s.nodeScale, scale)
		} else {
			s.block.Edges, s.edgeScale = append(s.block.Edges, i), append(s.edgeScale, scale)
		}
	})
}

// eachTelling calls f for all elements of the type at hand, with what each tells.
func (c *hessian) eachTelling(f func(s *hessianSample, i int32, tells float64)) {
	for k := range c.samples {
		s := &c.samples[k]
		for i, tells := range s.tells {
			if tells >= 0 {
				f(s, int32(i), float64(tells))
			}
		}
	}
}

// tell finds what all nodes (or edges) of type t tell: their leverage times how unsure they
// are, the probability of all states of a node but one, or of the end of an edge that is
// surer.
func (s *hessianSample) tell(v *leverage, t int, nodes bool) {
	in := s.u.in
	if nodes {
		of := v.ofNodes(in, t)
		s.tells = numeric.Resize(s.tells, in.Graph.NumNodes())
		for i := range int32(len(s.tells)) {
			s.tells[i] = -1
			if in.NodeType(i) == t && s.u.nodeCurvature(i) > 0 {
				s.tells[i] = float32(float64(s.unsure[i]) * of(in.NodeRow(i)))
			}
		}
		return
	}
	of := v.ofEdges(in, t)
	s.tells = numeric.Resize(s.tells, in.Graph.NumEdges())
	for e := range int32(len(s.tells)) {
		s.tells[e] = -1
		if in.EdgeType(e) == t && s.u.edgeCurvature(e) > 0 {
			s.tells[e] = float32(float64(min(s.unsure[in.Graph.U(e)], s.unsure[in.Graph.V(e)])) * of(in.EdgeRow(e)))
		}
	}
}

// unsure returns, for each node, the probability of all states but the likeliest, with
// the label's share.
func (c *hessian) unsure(w *hessianWorker, u *unit) []float32 {
	unsure := make([]float32, u.in.Graph.NumNodes())
	for i := range unsure {
		w.node = numeric.Resize(w.node, u.in.States(int32(i)))
		u.net.Belief(w.node, u.state, int32(i))
		c.mixNode(w.node, u.in, int32(i))
		unsure[i] = float32(1 - slices.Max(w.node))
	}
	return unsure
}

// measure writes H into dst [size*size], row-major, of which only the lower triangle
// counts.
func (c *hessian) measure(dst []float64) error {
	clear(dst)
	c.makeScratch()
	c.full, c.used = 0, c.used[:0] // what a measurement that failed has left
	c.draw()
	for i := range c.samples {
		s := &c.samples[i]
		if err := c.space.Ground(c.l.model, s.u.in, s.u.net, &s.block); err != nil {
			return err
		}
		if err := c.addEdges(dst, s); err != nil {
			return err
		}
		if err := c.addNodes(dst, s); err != nil {
			return err
		}
	}
	c.flush(dst)
	for i := range c.size {
		dst[i*c.size+i] += c.l.problem.L2
	}
	return nil
}

// makeScratch allocates what measurements need, at the first.
func (c *hessian) makeScratch() {
	if c.roots != nil {
		return
	}
	layout := &c.l.model.Layout
	states := largestTable(layout.Node)
	c.roots = make([]float64, max(rootsTogether, states)*c.size)
	for i := range c.workers {
		w := &c.workers[i]
		w.potential, w.isActive = make([]float64, c.size*states), make([]bool, c.size)
		w.columns, w.rows, w.sum = make([]float64, len(c.roots)/c.size*rowsOfPart), make([]float64, len(c.roots)), make([]float64, rowsOfPart*c.size)
	}
}

// addEdges adds the interactions of a sample's edges, some of one type at a time.
func (c *hessian) addEdges(dst []float64, s *hessianSample) error {
	layout := &c.l.model.Layout
	for t := range layout.Edge {
		span := &layout.Edge[t]
		most := restsAtATime(span)
		c.edges, c.beliefs = c.edges[:0], c.beliefs[:0]
		for q, e := range s.block.Edges {
			if s.edgeScale[q] == 0 || s.u.in.EdgeType(e) != t {
				continue
			}
			c.edges = append(c.edges, hessianEdge{e, len(c.beliefs), s.u.edgeCurvature(e) * s.edgeScale[q] / s.u.net.Counting.Edge[e]})
			if err := c.addEdgeBelief(s, q); err != nil {
				return err
			}
			if len(c.edges) == most {
				c.addInteractions(dst, s, span)
			}
		}
		c.addInteractions(dst, s, span)
	}
	return nil
}

// restsAtATime returns how many edges of a type are added up together.
func restsAtATime(span *crf.Span) int {
	return max(1, restsTogether/max(span.States*span.States, span.Features))
}

// addNodes lists the terms of a sample's nodes, as many at a time as there is room for.
func (c *hessian) addNodes(dst []float64, s *hessianSample) error {
	in, next := s.u.in, c.full
	c.nodes, c.beliefs = c.nodes[:0], c.beliefs[:0]
	for p, node := range s.block.Nodes {
		states := in.States(node)
		if next+states > len(c.roots)/c.size {
			c.list(s, next)
			c.flush(dst)
			next = 0
		}
		c.nodes = append(c.nodes, hessianNode{node: node, at: len(c.beliefs), root: next, scale: s.u.nodeCurvature(node) * s.nodeScale[p] / s.u.net.Counting.Rho[node]})
		next += states
		at := len(c.beliefs)
		c.beliefs = append(c.beliefs, make([]float64, states)...)
		c.space.NodeBelief(c.beliefs[at:], s.u.net, s.u.state, &s.block, p)
		c.mixNode(c.beliefs[at:], in, node)
		for _, d := range in.Graph.Incoming(node) {
			if err := c.addEdgeBelief(s, s.place[d>>1]); err != nil {
				return err
			}
		}
	}
	c.list(s, next)
	return nil
}

// addEdgeBelief appends the belief of the q-th edge of the sample to those at hand.
func (c *hessian) addEdgeBelief(s *hessianSample, q int) error {
	e := s.block.Edges[q]
	u, v := s.u.in.Graph.U(e), s.u.in.Graph.V(e)
	kv, at := s.u.in.States(v), len(c.beliefs)
	c.beliefs = append(c.beliefs, make([]float64, s.u.in.States(u)*kv)...)
	if _, err := c.space.EdgeBeliefs(c.beliefs[at:], nil, s.u.net, s.u.state, &s.block, q, q+1); err != nil {
		return err
	}
	c.mixEdge(c.beliefs[at:], s.u.in, u, v, kv)
	return nil
}

// list computes the roots of the nodes at hand, which then are done up to a number of roots.
func (c *hessian) list(s *hessianSample, full int) {
	c.l.each(len(c.nodes), func(worker, i int) { c.rootsOf(&c.workers[worker], s, &c.nodes[i]) })
	for _, n := range c.nodes {
		for i := range n.count {
			c.used = append(c.used, int32(n.root+i))
		}
	}
	c.nodes, c.beliefs, c.full = c.nodes[:0], c.beliefs[:0], full
}

// rootsOf computes the roots of a node.
func (c *hessian) rootsOf(w *hessianWorker, s *hessianSample, n *hessianNode) {
	layout, in := &c.l.model.Layout, s.u.in
	t := in.NodeType(n.node)
	span := &layout.Node[t]
	w.feature = numeric.Resize(w.feature, span.Features)
	in.NodeFeatures(t).Row(w.feature, in.NodeRow(n.node))
	for j, x := range w.feature {
		if x != 0 {
			for i := range span.States {
				w.activate(span.At+j*span.States+i, span.States)[i] += x
			}
		}
	}
	belief := c.beliefs[n.at:][:span.States]
	at := n.at + span.States
	for _, d := range in.Graph.Incoming(n.node) {
		e := d >> 1
		ku, kv := in.States(in.Graph.U(e)), in.States(in.Graph.V(e))
		w.coupling.of(c.beliefs[at:][:ku*kv], ku, kv)
		at += ku * kv
		w.addAnswers(&layout.Edge[in.EdgeType(e)], in, e, in.Graph.U(e) == n.node, span.States)
	}
	n.count = c.addRoots(w, belief, n.root, n.scale)
}

// activate returns the row of J_s of a weight.
func (w *hessianWorker) activate(weight, states int) []float64 {
	row := w.potential[weight*states:][:states]
	if !w.isActive[weight] {
		w.isActive[weight] = true
		w.active = append(w.active, int32(weight))
		clear(row)
	}
	return row
}

// addAnswers adds the answers to an edge's features of one end to J_s.
func (w *hessianWorker) addAnswers(span *crf.Span, in *crf.Instance, e int32, first bool, states int) {
	w.feature = numeric.Resize(w.feature, span.Features)
	in.EdgeFeatures(in.EdgeType(e)).Row(w.feature, in.EdgeRow(e))
	k, part := w.coupling.ku+w.coupling.kv, w.coupling.parts
	if !first {
		part = part[w.coupling.ku:]
	}
	for j, x := range w.feature {
		if x == 0 {
			continue
		}
		for i := range span.States {
			row := w.activate(span.At+j*span.States+i, states)
			for y, a := range part[i*k:][:states] {
				row[y] += x * a
			}
		}
	}
}

// addRoots writes the roots of J_sᵀ Cov(τ_s) J_s from a place on, one for each state that
// counts, forgets J_s, and returns how many they are.
func (c *hessian) addRoots(w *hessianWorker, belief []float64, at int, scale float64) (count int) {
	states := len(belief)
	for x, p := range belief {
		if !(p*(1-p) > leastCovariance) {
			continue
		}
		row := c.roots[(at+count)*c.size:][:c.size]
		clear(row)
		count++
		root := math.Sqrt(scale * p)
		for _, weight := range w.active {
			j := w.potential[int(weight)*states:][:states]
			row[weight] = root * (j[x] - dotShort(belief, j))
		}
	}
	for _, weight := range w.active {
		w.isActive[weight] = false
	}
	w.active = w.active[:0]
	return count
}

func dotShort(a, b []float64) (sum float64) {
	b = b[:len(a)]
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// flush adds the products of all roots to dst. Parts with long rows come first.
func (c *hessian) flush(dst []float64) {
	parts := (c.size + rowsOfPart - 1) / rowsOfPart
	if len(c.used) > 0 {
		c.l.each(parts, func(worker, i int) { c.addPart(dst, &c.workers[worker], (parts-1-i)*rowsOfPart) })
	}
	c.full, c.used = 0, c.used[:0]
}

// addPart adds the products of all roots to rowsOfPart rows of dst, from lo on.
func (c *hessian) addPart(dst []float64, w *hessianWorker, lo int) {
	hi := min(c.size, lo+rowsOfPart)
	height, width := hi-lo, hi
	for i, r := range c.used {
		root := c.roots[int(r)*c.size:][:c.size]
		copy(w.columns[i*height:][:height], root[lo:])
		copy(w.rows[i*width:][:width], root)
	}
	sum := w.sum[:height*width]
	clear(sum)
	simd.ScatterMatrix(sum, w.columns, w.rows, len(c.used), height, width)
	for i := range height {
		simd.AddScaled(dst[(lo+i)*c.size:][:width], sum[i*width:], 1)
	}
}

// addInteractions adds Cov⊥(τ_uv), times the features, of the edges at hand, all of one type,
// to dst, and forgets them.
func (c *hessian) addInteractions(dst []float64, s *hessianSample, span *crf.Span) {
	if len(c.edges) == 0 {
		return
	}
	in, n := s.u.in, span.States*span.States
	c.rests, c.features = numeric.Resize(c.rests, len(c.edges)*n), numeric.Resize(c.features, len(c.edges)*span.Features)
	c.l.each(len(c.edges), func(worker, i int) {
		e, w := &c.edges[i], &c.workers[worker]
		in.EdgeFeatures(in.EdgeType(e.edge)).Row(c.features[i*span.Features:][:span.Features], in.EdgeRow(e.edge))
		w.coupling.of(c.beliefs[e.at:][:span.States], in.States(in.Graph.U(e.edge)), in.States(in.Graph.V(e.edge)))
		for x := range span.States {
			row := c.rests[i*n+x*span.States:][:span.States]
			for y, rest := range w.coupling.rest(x) {
				row[y] = e.scale * rest
			}
		}
	})
	// Features with many before them come first.
	c.l.each(span.Features, func(_, i int) { c.addFeature(dst, span, span.Features-1-i) })
	c.edges, c.beliefs = c.edges[:0], c.beliefs[:0]
}

// addFeature adds what the edges at hand have to the rows of dst of the j-th feature.
func (c *hessian) addFeature(dst []float64, span *crf.Span, j int) {
	n := span.States * span.States
	for i := range c.edges {
		features := c.features[i*span.Features:][:j+1]
		if features[j] == 0 {
			continue
		}
		for x := range span.States {
			row := c.rests[i*n+x*span.States:][:span.States]
			out := dst[(span.At+j*span.States+x)*c.size+span.At:]
			for k, y := range features {
				if y != 0 {
					simd.AddScaled(out[k*span.States:][:span.States], row, features[j]*y)
				}
			}
		}
	}
}

// mixNode moves a belief towards the labels of a node.
func (c *hessian) mixNode(belief []float64, in *crf.Instance, s int32) {
	known := 0
	for _, labels := range in.Samples() {
		known += oneIf(labels[s] != crf.Unobserved)
	}
	if known == 0 {
		return
	}
	for i := range belief {
		belief[i] *= 1 - c.labelShare
	}
	for _, labels := range in.Samples() {
		if y := labels[s]; y != crf.Unobserved {
			belief[y] += c.labelShare / float64(known)
		}
	}
}

// mixEdge does the same for an edge.
func (c *hessian) mixEdge(belief []float64, in *crf.Instance, u, v int32, kv int) {
	known := 0
	for _, labels := range in.Samples() {
		known += oneIf(labels[u] != crf.Unobserved && labels[v] != crf.Unobserved)
	}
	if known == 0 {
		return
	}
	for i := range belief {
		belief[i] *= 1 - c.labelShare
	}
	for _, labels := range in.Samples() {
		if x, y := labels[u], labels[v]; x != crf.Unobserved && y != crf.Unobserved {
			belief[int(x)*kv+int(y)] += c.labelShare / float64(known)
		}
	}
}

// hessianMemory lists what newHessian takes, and what a measurement does.
func hessianMemory(m *Memory, l *learner) {
	layout := &l.model.Layout
	size := float64(layout.Size)
	states := float64(largestTable(layout.Node))
	nodes, edges, units := 0.0, 0.0, 0.0
	for _, u := range l.units {
		if u.isFree() {
			units++
			nodes += float64(u.in.Graph.NumNodes())
			edges += float64(u.in.Graph.NumEdges())
		}
	}
	c := hessian{size: layout.Size}
	sampled, joined, table := 0.0, 0.0, float64(largestTable(layout.Edge))
	for _, span := range layout.Node {
		sampled += float64(c.sampleSize(span))
	}
	for _, span := range layout.Edge {
		joined += float64(c.sampleSize(span))
	}
	sampled = min(sampled, nodes)
	joined = min(edges, joined+sampled*2*edges/max(1, nodes))
	if ground.SharesTables(l.units[0].in) {
		table = 0
	}
	m.Add("sample for the Hessian", singleBytes*(nodes+max(nodes, edges))+listedBytes*(sampled+joined),
		"4 bytes for each node and edge, and lists of %.0f nodes and %.0f edges", sampled, joined)
	if denseFits(l) {
		threads, roots, rests := float64(l.settings.Threads), max(rootsTogether, states), 0.0
		for _, span := range layout.Edge {
			together := min(float64(restsAtATime(&span)), float64(c.sampleSize(span)), edges)
			rests = max(rests, together*float64(span.States*span.States+span.Features+span.States))
		}
		m.perhaps("scratch of the Hessian", doubleBytes*(roots*size+threads*(size*states+roots*(rowsOfPart+size)+rowsOfPart*size)+rests),
			"%d weights × %.0f terms at a time × 8 bytes, twice, and of %.0f threads", layout.Size, roots, threads)
		m.perhaps("potentials of the sample", joined/units*doubleBytes*table, "tables of %.0f edges, where steps go wrong or after %d passes", joined/units, firstRenewal)
	}
}

// listedBytes is about what lists and the map of a hessianSample take for an element.
const listedBytes = 30.0
