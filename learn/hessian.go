package learn

import (
	"cmp"
	"errors"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

// hessian measures a Hessian of stars where the beliefs are at the moment: each node answers, with
// the messages along its edges, while its neighbours hold their beliefs (docs/explanation/steps.md):
//
//	H ≈ Σ_s J_sᵀ √τ_s Q_s⁻¹ √τ_s J_s + Σ_uv M_uv Cov⊥(τ_uv) M_uvᵀ / ρ_uv + l2 I
//	Q_s = c_s I + Σ_v ρ_sv S_sv
//
// Q_s is the block of s in the Q of linear response (response), and S_sv its part of an edge: I where
// the ends of the edge know nothing of each other, so that Q_s = ρ_s I. A star is exactly what a visit
// of the paper finds whose block is one node (TestStars).
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
// The sample is drawn from each part (parts.go), and beliefs of what was drawn found there, one
// after another, as they lie in one workspace. All processes are told these. What they come to is
// then computed on all threads, and added up by rows of H, of which each is of one process and
// thread: in the order of the elements, whatever the processes and threads.
type hessian struct {
	l        *learner
	units    []*unit         // free ones
	samples  []hessianSample // of each part, in its units: in the order of the parts
	leverage *leverage
	space    bp.Workspace
	size     int // weights
	lo, hi   int // rows that are added up here

	most       int     // elements of a type that are looked at, 0: as many as sampleSize says
	labelShare float64 // of a belief that is taken from the label

	unsure [][]float32 // [units][nodes]
	told   []float64   // of all samples: how many elements of a type there are, and what they tell
	points []float64   // places in the sum of what elements tell, of those that are drawn

	// nodeTold and edgeTold are what is known of the nodes and edges that were drawn, one after
	// another: see tellNode and tellEdge. The other two are those of this process.
	nodeTold, edgeTold, ownNodes, ownEdges []float64

	workers []hessianWorker
	nodes   []hessianNode // at hand
	edges   []hessianEdge
	// rests [edges][states²] are covariances of what is left of functions of the states, times
	// the scales, and features [edges][features] those of the edges at hand.
	rests, features []float64
	// roots [rootsTogether][size] are those of the terms of nodes, of which used lists those that
	// are not zero.
	roots []float64
	used  []int32
}

// hessianNode is a node at hand.
type hessianNode struct {
	*unit
	node  int32
	scale float64
	told  []float64 // its features and belief, and those of its edges
	root  int       // its first
	count int       // of them
}

// hessianEdge is an edge at hand.
type hessianEdge struct {
	in    *crf.Instance
	edge  int32
	scale float64
	told  []float64 // its features and belief
}

// hessianWorker is the scratch of one thread.
type hessianWorker struct {
	potential []float64 // [size][states] J_s
	active    []int32   // columns of J_s that are not zero
	isActive  []bool    // [size]
	feature   []float64
	coupling  linear.Coupling
	node      []float64 // a belief
	// root [states] is √τ_s, q [states][states] Q of a node, and counts lists its states that count.
	root, q []float64
	counts  []int
	// columns [rootsTogether][rowsOfPart] and rows [rootsTogether][size] are of the roots that
	// are not zero, and sum [rowsOfPart][size] of their products.
	columns, rows, sum []float64
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
	c := &hessian{l: l, size: layout.Size, labelShare: labelShare, workers: make([]hessianWorker, l.settings.Threads)}
	c.deal()
	return c
}

// each calls do for all i < n, on all threads where there are any yet.
func (l *learner) each(n int, do func(worker, i int)) {
	if l.pool != nil {
		l.pool.Run(visit{task: do}, n)
		return
	}
	parallel.Serially(n, do)
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

// measure writes H into dst [size*size], row-major, of which only the lower triangle
// counts.
func (c *hessian) measure(dst []float64) error {
	clear(dst)
	c.makeScratch()
	c.draw()
	err := c.tellSample()
	if c.l.settings.any(err != nil) {
		return cmp.Or(err, errElsewhere)
	}
	c.nodeTold, c.edgeTold = c.l.executor.share(c.nodeTold, c.ownNodes), c.l.executor.share(c.edgeTold, c.ownEdges)
	for t := range c.l.model.Layout.Edge {
		c.addEdges(dst, t)
	}
	c.addNodes(dst)
	c.l.executor.share(dst, dst[c.lo*c.size:c.hi*c.size])
	for i := range c.size {
		dst[i*c.size+i] += c.l.problem.L2
	}
	return nil
}

// errElsewhere stands for the error of another process.
var errElsewhere = errors.New("learn: another process cannot measure its part of the Hessian")

// tellSample finds beliefs of what was drawn, and tells all processes.
func (c *hessian) tellSample() error {
	c.ownNodes, c.ownEdges = c.ownNodes[:0], c.ownEdges[:0]
	for i := range c.samples {
		s := &c.samples[i]
		if len(s.block.Edges)+len(s.block.Nodes) == 0 {
			continue
		}
		if err := c.space.Ground(c.l.model, s.u.in, s.u.net, &s.block); err != nil {
			return err
		}
		for q := range s.block.Edges {
			if err := c.tellEdge(s, q); err != nil {
				return err
			}
		}
		for p := range s.block.Nodes {
			if err := c.tellNode(s, p); err != nil {
				return err
			}
		}
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

// headNumbers are told of an element first: its unit, its number and how much it counts. Features
// follow where not all are here, and then beliefs.
const headNumbers = 3

// tellEdge tells of the q-th edge of a sample, if it was drawn itself.
func (c *hessian) tellEdge(s *hessianSample, q int) (err error) {
	if s.edgeScale[q] == 0 {
		return nil
	}
	e := s.block.Edges[q]
	c.ownEdges = append(c.ownEdges, float64(s.unit), float64(e), s.u.edgeCurvature(e)*s.edgeScale[q]/s.u.net.Counting.Edge[e])
	c.ownEdges, err = c.tellBelief(c.ownEdges, s, q)
	return err
}

// tellNode tells of the p-th node of a sample, and of its edges.
func (c *hessian) tellNode(s *hessianSample, p int) (err error) {
	in, node := s.u.in, s.block.Nodes[p]
	x := append(c.ownNodes, float64(s.unit), float64(node), s.u.nodeCurvature(node)*s.nodeScale[p])
	x = c.tellFeatures(x, in.NodeFeatures(in.NodeType(node)), in.NodeRow(node))
	at := len(x)
	x = append(x, make([]float64, in.States(node))...)
	c.space.NodeBeliefs(x[at:], nil, s.u.net, s.u.state, &s.block, p, p+1)
	c.mixNode(x[at:], in, node)
	for _, d := range in.Graph.Incoming(node) {
		if x, err = c.tellBelief(x, s, s.place[d>>1]); err != nil {
			return err
		}
	}
	c.ownNodes = x
	return nil
}

// tellBelief tells features and belief of the q-th edge of a sample.
func (c *hessian) tellBelief(x []float64, s *hessianSample, q int) ([]float64, error) {
	in, e := s.u.in, s.block.Edges[q]
	u, v := in.Graph.U(e), in.Graph.V(e)
	x = c.tellFeatures(x, in.EdgeFeatures(in.EdgeType(e)), in.EdgeRow(e))
	kv, at := in.States(v), len(x)
	x = append(x, make([]float64, in.States(u)*kv)...)
	if _, err := c.space.EdgeBeliefs(x[at:], nil, s.u.net, s.u.state, &s.block, q, q+1); err != nil {
		return x, err
	}
	c.mixEdge(x[at:], in, u, v, kv)
	return x, nil
}

func (c *hessian) tellFeatures(x []float64, f *crf.Features, row int) []float64 {
	if !c.l.partial {
		return x
	}
	at := len(x)
	x = append(x, make([]float64, f.Dim())...)
	f.Row(x[at:], row)
	return x
}

// readFeatures writes a row of features to dst, as it was told or else as it is here, and returns what was
// told after them.
func (c *hessian) readFeatures(dst []float64, f *crf.Features, row int, told []float64) []float64 {
	if !c.l.partial {
		f.Row(dst, row)
		return told
	}
	return told[copy(dst, told):]
}

// head takes apart the beginning of what was told of an element.
func (c *hessian) head(told []float64) (u *unit, element int32, scale float64, rest []float64) {
	return c.units[int(told[0])], int32(told[1]), told[2], told[headNumbers:]
}

// toldOfEdge and toldOfNode return how many numbers follow the head.
func (c *hessian) toldOfEdge(in *crf.Instance, e int32) int {
	return in.States(in.Graph.U(e))*in.States(in.Graph.V(e)) + oneIf(c.l.partial)*in.EdgeFeatures(in.EdgeType(e)).Dim()
}

func (c *hessian) toldOfNode(in *crf.Instance, node int32) int {
	n := in.States(node) + oneIf(c.l.partial)*in.NodeFeatures(in.NodeType(node)).Dim()
	for _, d := range in.Graph.Incoming(node) {
		n += c.toldOfEdge(in, d>>1)
	}
	return n
}

// addEdges adds the interactions of the edges of a type, some of them at a time.
func (c *hessian) addEdges(dst []float64, t int) {
	span := &c.l.model.Layout.Edge[t]
	most := restsAtATime(span)
	c.edges = c.edges[:0]
	for told := c.edgeTold; len(told) > 0; {
		e, u := hessianEdge{}, (*unit)(nil)
		u, e.edge, e.scale, told = c.head(told)
		e.in = u.in
		n := c.toldOfEdge(e.in, e.edge)
		e.told, told = told[:n], told[n:]
		if e.in.EdgeType(e.edge) != t {
			continue
		}
		if c.edges = append(c.edges, e); len(c.edges) == most {
			c.addInteractions(dst, span)
		}
	}
	c.addInteractions(dst, span)
}

// restsAtATime returns how many edges of a type are added up together.
func restsAtATime(span *crf.Span) int {
	return max(1, restsTogether/max(span.States*span.States, span.Features))
}

// addNodes adds the terms of the nodes, of as many at a time as there is room for.
func (c *hessian) addNodes(dst []float64) {
	next := 0
	c.nodes, c.used = c.nodes[:0], c.used[:0]
	for told := c.nodeTold; len(told) > 0; {
		n := hessianNode{}
		n.unit, n.node, n.scale, told = c.head(told)
		states, length := n.in.States(n.node), c.toldOfNode(n.in, n.node)
		n.told, told = told[:length], told[length:]
		if next+states > len(c.roots)/c.size {
			c.list()
			c.flush(dst)
			next = 0
		}
		n.root = next
		c.nodes = append(c.nodes, n)
		next += states
	}
	c.list()
	c.flush(dst)
}

// list computes the roots of the nodes at hand, which then are done.
func (c *hessian) list() {
	c.l.each(len(c.nodes), func(worker, i int) { c.rootsOf(&c.workers[worker], &c.nodes[i]) })
	for _, n := range c.nodes {
		for i := range n.count {
			c.used = append(c.used, int32(n.root+i))
		}
	}
	c.nodes = c.nodes[:0]
}

// rootsOf computes the roots of a node.
func (c *hessian) rootsOf(w *hessianWorker, n *hessianNode) {
	layout, in := &c.l.model.Layout, n.in
	t := in.NodeType(n.node)
	span := &layout.Node[t]
	w.feature = numeric.Resize(w.feature, span.Features)
	told := c.readFeatures(w.feature, in.NodeFeatures(t), in.NodeRow(n.node), n.told)
	for j, x := range w.feature {
		if x != 0 {
			for i := range span.States {
				w.activate(span.At+j*span.States+i, span.States)[i] += x
			}
		}
	}
	belief, told := told[:span.States], told[span.States:]
	w.star(belief, n.net.Counting.Node[n.node])
	for _, d := range in.Graph.Incoming(n.node) {
		e := d >> 1
		b, ku, kv := in.EdgeType(e), in.States(in.Graph.U(e)), in.States(in.Graph.V(e))
		w.feature = numeric.Resize(w.feature, layout.Edge[b].Features)
		told = c.readFeatures(w.feature, in.EdgeFeatures(b), in.EdgeRow(e), told)
		w.coupling.Of(told[:ku*kv], ku, kv)
		told = told[ku*kv:]
		first := in.Graph.U(e) == n.node
		w.addAnswers(&layout.Edge[b], first, span.States)
		w.addToStar(first, n.net.Counting.Edge[e])
	}
	n.count = c.addRoots(w, belief, n.root, n.scale, n.net.Counting.Rho[n.node])
}

// star begins Q of a node, which its edges are added to.
func (w *hessianWorker) star(belief []float64, count float64) {
	k := len(belief)
	w.root, w.q = numeric.Resize(w.root, k), numeric.Resize(w.q, k*k)
	clear(w.q)
	for x, p := range belief {
		w.root[x], w.q[x*k+x] = math.Sqrt(p), count
	}
}

// addToStar adds an edge, the one at hand, to the Q of one of its ends.
func (w *hessianWorker) addToStar(first bool, rho float64) {
	n, from := w.coupling.KU+w.coupling.KV, 0
	if !first {
		from = w.coupling.KU
	}
	k := len(w.root)
	for x, p := range w.root {
		if w.coupling.Inverse[(from+x)*n+from+x] == 0 { // there is none: the ends count as independent
			w.q[x*k+x] += rho
			continue
		}
		for y, q := range w.root[:x+1] {
			w.q[x*k+y] += rho * p * q * w.coupling.Inverse[(from+x)*n+from+y]
		}
	}
}

// factorStar replaces Q, of the states that count, by its Cholesky factor. Where messages are so far from
// settled that it has none, it is that of ρ_s I.
func (w *hessianWorker) factorStar(k int, rho float64) {
	q, n := w.q, len(w.counts)
	for i, x := range w.counts {
		for j, y := range w.counts[:i+1] {
			q[i*n+j] = q[x*k+y]
		}
	}
	if !linear.Factorise(q, n, parallel.Serially) {
		clear(q)
		for i := range n {
			q[i*n+i] = math.Sqrt(rho)
		}
	}
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

// addAnswers adds the answers to the features of an edge, those at hand, of one end to J_s.
func (w *hessianWorker) addAnswers(span *crf.Span, first bool, states int) {
	k, part := w.coupling.KU+w.coupling.KV, w.coupling.Parts
	if !first {
		part = part[w.coupling.KU:]
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

// addRoots writes the roots of J_sᵀ √τ Q⁻¹ √τ J_s from a place on, one for each state that
// counts, forgets J_s, and returns how many they are.
func (c *hessian) addRoots(w *hessianWorker, belief []float64, at int, scale, rho float64) int {
	states := len(belief)
	w.counts = w.counts[:0]
	for x, p := range belief {
		if p*(1-p) > leastCovariance {
			w.counts = append(w.counts, x)
		}
	}
	n := len(w.counts)
	w.factorStar(states, rho)
	clear(c.roots[at*c.size : (at+n)*c.size])
	for _, weight := range w.active {
		j := w.potential[int(weight)*states:][:states]
		mean := linear.DotShort(belief, j)
		for i, x := range w.counts {
			sum := math.Sqrt(scale) * w.root[x] * (j[x] - mean)
			for k, l := range w.q[i*n:][:i] {
				sum -= l * c.roots[(at+k)*c.size+int(weight)]
			}
			c.roots[(at+i)*c.size+int(weight)] = sum / w.q[i*n+i]
		}
		w.isActive[weight] = false
	}
	w.active = w.active[:0]
	return n
}

// flush adds the products of all roots to dst. Parts with long rows come first.
func (c *hessian) flush(dst []float64) {
	parts := (c.hi - c.lo + rowsOfPart - 1) / rowsOfPart
	if len(c.used) > 0 {
		c.l.each(parts, func(worker, i int) { c.addPart(dst, &c.workers[worker], c.lo+(parts-1-i)*rowsOfPart) })
	}
	c.used = c.used[:0]
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
func (c *hessian) addInteractions(dst []float64, span *crf.Span) {
	if len(c.edges) == 0 {
		return
	}
	n := span.States * span.States
	c.rests, c.features = numeric.Resize(c.rests, len(c.edges)*n), numeric.Resize(c.features, len(c.edges)*span.Features)
	c.l.each(len(c.edges), func(worker, i int) {
		e, w := &c.edges[i], &c.workers[worker]
		belief := c.readFeatures(c.features[i*span.Features:][:span.Features], e.in.EdgeFeatures(e.in.EdgeType(e.edge)), e.in.EdgeRow(e.edge), e.told)
		w.coupling.Of(belief, e.in.States(e.in.Graph.U(e.edge)), e.in.States(e.in.Graph.V(e.edge)))
		for x := range span.States {
			row := c.rests[i*n+x*span.States:][:span.States]
			for y, rest := range w.coupling.Rest(x) {
				row[y] = e.scale * rest
			}
		}
	})
	// Features with many before them come first.
	c.l.each(span.Features, func(_, i int) { c.addFeature(dst, span, span.Features-1-i) })
	c.edges = c.edges[:0]
}

// addFeature adds what the edges at hand have to the rows of dst of the j-th feature, as far as they
// are added up here.
func (c *hessian) addFeature(dst []float64, span *crf.Span, j int) {
	n, first := span.States*span.States, span.At+j*span.States
	lo, hi := max(0, c.lo-first), min(span.States, c.hi-first)
	for i := range c.edges {
		features := c.features[i*span.Features:][:j+1]
		if features[j] == 0 {
			continue
		}
		for x := lo; x < hi; x++ {
			row := c.rests[i*n+x*span.States:][:span.States]
			out := dst[(first+x)*c.size+span.At:]
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

// listedBytes is about what lists and the map of a hessianSample take for an element.
const listedBytes = 30.0
