package learn

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// hessian measures the Hessian of L where the beliefs are at the moment, but for
// what nodes answer to each other (docs/steps.md):
//
//	H ≈ Σ_s J_sᵀ Cov(τ_s) J_s / ρ_s + Σ_uv M_uv Cov⊥(τ_uv) M_uvᵀ / ρ_uv + l2 I
//
// A function φ of the states of an edge is, under its belief, the sum of one of each
// end and a rest without covariance to either: φ = a + b + φ⊥. Adding a and b to the
// potentials of the ends is the same as adding them to that of the edge, so J_s, from
// all weights to the potential of s, has the node's features and the projections a of
// those of its edges; only the rest moves τ_uv at held τ_u and τ_v.
//
// Beliefs far from their mean, as most are where a model is sure, make this another
// matrix than fisher's Kronecker products: those know of a mean covariance only. The
// sums are over a sample of the nodes and of the edges.
type hessian struct {
	l       *learner
	samples []hessianSample
	space   bp.Workspace
	size    int // weights

	most       int     // elements of a type that are looked at, 0: as many as wanted says
	labelShare float64 // of a belief that is taken from the label

	nodeScale, edgeScale []float64 // [types] nodes (edges) per sampled one

	rows       []float64 // [rowsTogether][size] scratch: roots of the terms of nodes
	count      int       // of them in use
	potential  []float64 // [size][states] scratch: J_s
	active     []int32   // columns of J_s that are not zero
	isActive   []bool    // [size]
	feature    []float64
	node, edge []float64
	project    projection
}

// hessianSample is the sample in one unit, with the edges of its nodes.
type hessianSample struct {
	u     *unit
	block partition.Block
	// drawn [edges of the block] are those that were, beside those of a node that was.
	drawn []bool
	place map[int32]int // position in the block, by edge
}

const (
	// nodesPerWeight and leastSampled bound the sample: how many nodes and edges of a type
	// are looked at, for each weight and state, and at least.
	nodesPerWeight = 4.0
	leastSampled   = 256
	// labelShare of a belief is taken from the label: a model that is sure of something
	// else has to go there, and would look free to move at no curvature.
	labelShare = 0.02
	// leastCovariance of a state, τ(1 − τ), is one that counts.
	leastCovariance = 1e-7
	// rowsTogether is how many roots are added up in one call.
	rowsTogether = crf.RowsPerBatch
)

// newHessian draws the sample, or returns nil for models with weights of their own
// for every node or edge, or with more than maxDense weights.
func newHessian(l *learner) *hessian {
	layout := &l.model.Layout
	if layout.UntiedSize > 0 || layout.Size > maxDense {
		return nil
	}
	most, pairs := 1, 1
	for _, t := range layout.Node {
		most = max(most, t.States)
	}
	for _, t := range layout.Edge {
		pairs = max(pairs, t.States)
	}
	c := &hessian{
		l: l, size: layout.Size, labelShare: labelShare, nodeScale: make([]float64, len(layout.Node)), edgeScale: make([]float64, len(layout.Edge)),
		rows: make([]float64, rowsTogether*layout.Size), potential: make([]float64, layout.Size*most), isActive: make([]bool, layout.Size),
		node: make([]float64, most), edge: make([]float64, pairs),
	}
	c.draw()
	return c
}

// work returns about how many multiplications a measurement takes, in terms of those
// of messages.
func (c *hessian) work() float64 {
	total, n := 0.0, float64(c.size)
	for i := range c.samples {
		s := &c.samples[i]
		for _, node := range s.block.Nodes {
			total += float64(s.u.in.States(node)) * n * n / listWork
			for _, d := range s.u.in.Graph.Incoming(node) {
				total += c.edgeWork(s, d>>1)
			}
		}
		for q, e := range s.block.Edges {
			if s.drawn[q] {
				features := float64(c.l.usedFeatures(e, s.u.in))
				joint := float64(c.l.model.Layout.Edge[s.u.in.EdgeType(e)].States)
				total += c.edgeWork(s, e) + joint*joint*features*features/solveWork
			}
		}
	}
	return total
}

// edgeWork is that of a projection.
func (c *hessian) edgeWork(s *hessianSample, e int32) float64 {
	joint := float64(c.l.model.Layout.Edge[s.u.in.EdgeType(e)].States)
	return joint * joint
}

// draw chooses the sample.
func (c *hessian) draw() {
	layout := &c.l.model.Layout
	var units []*unit
	for _, b := range c.l.bundles {
		for _, u := range b.units {
			if u.weight > 0 {
				units = append(units, u)
			}
		}
	}
	sampleOf := map[*unit]*hessianSample{}
	for _, u := range units {
		sampleOf[u] = &hessianSample{u: u, place: map[int32]int{}}
	}
	rng := rand.New(rand.NewPCG(1, 3))
	drawnEdges := map[*unit][]int32{}
	for a, span := range layout.Node {
		c.nodeScale[a] = c.pick(units, rng, c.wanted(span), func(u *unit) (int, func(int32) int) { return u.in.Graph.NumNodes(), u.in.NodeType }, a,
			func(u *unit, s int32) { sampleOf[u].block.Nodes = append(sampleOf[u].block.Nodes, s) })
	}
	for b, span := range layout.Edge {
		c.edgeScale[b] = c.pick(units, rng, c.wanted(span), func(u *unit) (int, func(int32) int) { return u.in.Graph.NumEdges(), u.in.EdgeType }, b,
			func(u *unit, e int32) { drawnEdges[u] = append(drawnEdges[u], e) })
	}
	for _, u := range units {
		s := sampleOf[u]
		if len(s.block.Nodes) == 0 && len(drawnEdges[u]) == 0 {
			continue
		}
		slices.Sort(s.block.Nodes)
		edges := slices.Clone(drawnEdges[u])
		for _, node := range s.block.Nodes {
			for _, d := range u.in.Graph.Incoming(node) {
				edges = append(edges, d>>1)
			}
		}
		slices.Sort(edges)
		s.block.Edges = slices.Compact(edges)
		for q, e := range s.block.Edges {
			s.place[e] = q
		}
		s.drawn = make([]bool, len(s.block.Edges))
		for _, e := range drawnEdges[u] {
			s.drawn[s.place[e]] = true
		}
		c.samples = append(c.samples, *s)
	}
}

// wanted returns how many elements of a type are to be looked at.
func (c *hessian) wanted(span crf.Span) int {
	if c.most > 0 {
		return c.most
	}
	return max(leastSampled, int(nodesPerWeight*float64(c.size)/float64(max(1, span.States-1))))
}

// pick draws elements of type t from all units, one from each of so many stretches of
// equal length, and returns how many there are for each drawn.
func (c *hessian) pick(units []*unit, rng *rand.Rand, wanted int, elementsOf func(*unit) (int, func(int32) int), t int, take func(*unit, int32)) float64 {
	total := 0
	for _, u := range units {
		n, typeOf := elementsOf(u)
		for i := range int32(n) {
			if typeOf(i) == t {
				total++
			}
		}
	}
	if total == 0 {
		return 0
	}
	wanted = min(wanted, total)
	stretch := float64(total) / float64(wanted)
	next, drawn, at := 0, 0, 0
	aim := func() int {
		lo, hi := int(stretch*float64(drawn)), int(stretch*float64(drawn+1))
		return lo + rng.IntN(max(1, hi-lo))
	}
	next = aim()
	for _, u := range units {
		n, typeOf := elementsOf(u)
		for i := range int32(n) {
			if typeOf(i) != t {
				continue
			}
			if at == next && drawn < wanted {
				take(u, i)
				drawn++
				next = aim()
			}
			at++
		}
	}
	return float64(total) / float64(drawn)
}

// measure writes H into dst [size*size], row-major, of which only the lower triangle
// counts.
func (c *hessian) measure(dst []float64) error {
	clear(dst)
	for i := range c.samples {
		s := &c.samples[i]
		if err := c.space.Ground(c.l.model, s.u.in, s.u.net, &s.block); err != nil {
			return err
		}
		if err := c.addSample(dst, s); err != nil {
			return err
		}
	}
	c.flush(dst)
	for i := range c.size {
		dst[i*c.size+i] += c.l.problem.L2
	}
	return nil
}

func (c *hessian) addSample(dst []float64, s *hessianSample) error {
	layout := &c.l.model.Layout
	in := s.u.in
	for q, e := range s.block.Edges {
		if !s.drawn[q] {
			continue
		}
		if err := c.projectEdge(s, q); err != nil {
			return err
		}
		t := in.EdgeType(e)
		c.addInteraction(dst, s, e, &layout.Edge[t], s.u.weight*c.edgeScale[t]/s.u.net.Counting.Edge[e])
	}
	for p, node := range s.block.Nodes {
		t := in.NodeType(node)
		span := &layout.Node[t]
		c.feature = resize(c.feature, span.Features)
		in.NodeFeatures(t).Row(c.feature, in.NodeRow(node))
		for j, x := range c.feature {
			if x != 0 {
				for i := range span.States {
					c.activate(span.At+j*span.States+i, span.States)[i] += x
				}
			}
		}
		for _, d := range in.Graph.Incoming(node) {
			e := d >> 1
			if err := c.projectEdge(s, s.place[e]); err != nil {
				return err
			}
			c.addProjection(s, e, in.Graph.U(e) == node, span.States)
		}
		belief := c.node[:span.States]
		c.space.NodeBelief(belief, s.u.net, s.u.state, &s.block, p)
		c.mixNode(belief, in, node)
		c.addNode(dst, belief, s.u.weight*c.nodeScale[t]/s.u.net.Counting.RhoNode(node))
	}
	return nil
}

// activate returns the row of J_s of a weight.
func (c *hessian) activate(weight, states int) []float64 {
	row := c.potential[weight*states:][:states]
	if !c.isActive[weight] {
		c.isActive[weight] = true
		c.active = append(c.active, int32(weight))
		clear(row)
	}
	return row
}

// projectEdge finds the belief of an edge and the projections under it.
func (c *hessian) projectEdge(s *hessianSample, q int) error {
	e := s.block.Edges[q]
	u, v := s.u.in.Graph.U(e), s.u.in.Graph.V(e)
	ku, kv := s.u.in.States(u), s.u.in.States(v)
	belief := c.edge[:ku*kv]
	if _, err := c.space.EdgeBeliefs(belief, nil, s.u.net, s.u.state, &s.block, q, q+1); err != nil {
		return err
	}
	c.mixEdge(belief, s.u.in, u, v, kv)
	c.project.of(belief, ku, kv)
	return nil
}

// addProjection adds the projections of an edge's features on one end to J_s.
func (c *hessian) addProjection(s *hessianSample, e int32, first bool, states int) {
	in := s.u.in
	t := in.EdgeType(e)
	span := &c.l.model.Layout.Edge[t]
	c.feature = resize(c.feature, span.Features)
	in.EdgeFeatures(t).Row(c.feature, in.EdgeRow(e))
	part := c.project.right
	if first {
		part = c.project.left
	}
	for j, x := range c.feature {
		if x == 0 {
			continue
		}
		for i := range span.States {
			row := c.activate(span.At+j*span.States+i, states)
			for y, a := range part[i*states:][:states] {
				row[y] += x * a
			}
		}
	}
}

// addNode lists the roots of J_sᵀ Cov(τ_s) J_s, one for each state, and forgets J_s.
func (c *hessian) addNode(dst, belief []float64, scale float64) {
	states := len(belief)
	for x, p := range belief {
		if !(p*(1-p) > leastCovariance) {
			continue
		}
		if c.count == rowsTogether {
			c.flush(dst)
		}
		row := c.rows[c.count*c.size:][:c.size]
		clear(row)
		c.count++
		root := math.Sqrt(scale * p)
		for _, w := range c.active {
			j := c.potential[int(w)*states:][:states]
			row[w] = root * (j[x] - dotShort(belief, j))
		}
	}
	for _, w := range c.active {
		c.isActive[w] = false
	}
	c.active = c.active[:0]
}

func dotShort(a, b []float64) (sum float64) {
	b = b[:len(a)]
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// flush adds what is listed to dst.
func (c *hessian) flush(dst []float64) {
	simd.ScatterMatrix(dst, c.rows, c.rows, c.count, c.size, c.size)
	c.count = 0
}

// addInteraction adds Cov⊥(τ_uv), times the features, to dst.
func (c *hessian) addInteraction(dst []float64, s *hessianSample, e int32, span *crf.Span, scale float64) {
	in := s.u.in
	t := in.EdgeType(e)
	c.feature = resize(c.feature, span.Features)
	in.EdgeFeatures(t).Row(c.feature, in.EdgeRow(e))
	for i := range span.States {
		row := c.project.rest(i)
		for j, x := range c.feature {
			if x == 0 {
				continue
			}
			out := dst[(span.At+j*span.States+i)*c.size+span.At:]
			for k, y := range c.feature[:j+1] {
				if y != 0 {
					simd.AddScaled(out[k*span.States:][:span.States], row, scale*x*y)
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
