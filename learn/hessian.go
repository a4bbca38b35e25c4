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
// all weights to the potential of s, has the node's features and the projections a of
// those of its edges; only the rest moves τ_uv at held τ_u and τ_v.
//
// Beliefs far from their mean, as most are where a model is sure, make this another
// matrix than fisher's Kronecker products: those know of a mean covariance only. The
// sums are over a sample of the nodes and of the edges.
type hessian struct {
	l        *learner
	samples  []hessianSample
	leverage *leverage
	space    bp.Workspace
	size     int // weights

	most       int     // elements of a type that are looked at, 0: as many as sampleSize says
	labelShare float64 // of a belief that is taken from the label

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
	// nodeScale and edgeScale say how many nodes and edges each one drawn stands for: 0
	// for edges that only belong to a node that was.
	nodeScale, edgeScale []float64
	place                map[int32]int // position in the block, by edge
	unsure               []float32     // [nodes]
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
	// rowsTogether is how many roots are added up in one call.
	rowsTogether = ground.RowsPerBatch
)

// newHessian returns a measurement, of which work tells the cost, or nil for models with
// weights of their own for every node or edge, or with more than maxDense weights.
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
		l: l, size: layout.Size, labelShare: labelShare,
		rows: make([]float64, rowsTogether*layout.Size), potential: make([]float64, layout.Size*most), isActive: make([]bool, layout.Size),
		node: make([]float64, most), edge: make([]float64, pairs),
	}
	c.leverage = newLeverage(l)
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
			if s.edgeScale[q] > 0 {
				features := float64(c.l.usedFeatures(e, s.u.in))
				joint := float64(c.l.model.Layout.Edge[s.u.in.EdgeType(e)].States)
				total += c.edgeWork(s, e) + joint*joint*features*features/solveWork
			}
		}
	}
	return total
}

// edgeWork is that of a projection, and of adding it to J_s.
func (c *hessian) edgeWork(s *hessianSample, e int32) float64 {
	in := s.u.in
	joint := float64(c.l.model.Layout.Edge[in.EdgeType(e)].States)
	states := float64(max(in.States(in.Graph.U(e)), in.States(in.Graph.V(e))))
	return joint*joint + float64(c.l.usedFeatures(e, in))*joint*states
}

// draw chooses the sample: elements whose beliefs of the moment are less sure, and those
// with features that few have, are drawn more often, and count less. Most of a model that
// is sure of itself has no covariance worth the work.
func (c *hessian) draw() {
	layout := &c.l.model.Layout
	c.samples = c.samples[:0]
	for _, u := range c.l.units {
		if u.weight > 0 {
			c.samples = append(c.samples, hessianSample{u: u, place: map[int32]int{}, unsure: c.unsure(u)})
		}
	}
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
	s.unsure = nil
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
	count, total := 0, 0.0
	c.eachOf(t, nodes, func(_ *hessianSample, _ int32, tells float64) {
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
	c.eachOf(t, nodes, func(s *hessianSample, i int32, tells float64) {
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

// eachOf calls f for all nodes (or edges) of type t, with what each tells: its leverage
// times how unsure it is, the probability of all states of a node but one, or of the end
// of an edge that is surer.
func (c *hessian) eachOf(t int, nodes bool, f func(s *hessianSample, i int32, tells float64)) {
	for k := range c.samples {
		s := &c.samples[k]
		in := s.u.in
		if nodes {
			for i := range int32(in.Graph.NumNodes()) {
				if in.NodeType(i) == t {
					f(s, i, float64(s.unsure[i])*c.leverage.node(in, i))
				}
			}
			continue
		}
		for e := range int32(in.Graph.NumEdges()) {
			if in.EdgeType(e) == t {
				f(s, e, float64(min(s.unsure[in.Graph.U(e)], s.unsure[in.Graph.V(e)]))*c.leverage.edge(in, e))
			}
		}
	}
}

// unsure returns, for each node, the probability of all states but the likeliest, with
// the label's share.
func (c *hessian) unsure(u *unit) []float32 {
	unsure := make([]float32, u.in.Graph.NumNodes())
	for i := range unsure {
		belief := c.node[:u.in.States(int32(i))]
		u.net.Belief(belief, u.state, int32(i))
		c.mixNode(belief, u.in, int32(i))
		unsure[i] = float32(1 - slices.Max(belief))
	}
	return unsure
}

// measure writes H into dst [size*size], row-major, of which only the lower triangle
// counts.
func (c *hessian) measure(dst []float64) error {
	clear(dst)
	c.forget()
	c.draw()
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

// forget drops what a measurement that failed has left.
func (c *hessian) forget() {
	c.count, c.active = 0, c.active[:0]
	clear(c.isActive)
}

func (c *hessian) addSample(dst []float64, s *hessianSample) error {
	layout := &c.l.model.Layout
	in := s.u.in
	for q, e := range s.block.Edges {
		if s.edgeScale[q] == 0 {
			continue
		}
		if err := c.projectEdge(s, q); err != nil {
			return err
		}
		t := in.EdgeType(e)
		c.addInteraction(dst, s, e, &layout.Edge[t], s.u.weight*s.edgeScale[q]/s.u.net.Counting.Edge[e])
	}
	for p, node := range s.block.Nodes {
		t := in.NodeType(node)
		span := &layout.Node[t]
		c.feature = numeric.Resize(c.feature, span.Features)
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
		c.addNode(dst, belief, s.u.weight*s.nodeScale[p]/s.u.net.Counting.Rho[node])
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
	c.feature = numeric.Resize(c.feature, span.Features)
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
	c.feature = numeric.Resize(c.feature, span.Features)
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

// hessianMemory lists what newHessian takes, and what a measurement does.
func hessianMemory(m *Memory, l *learner) {
	layout := &l.model.Layout
	size := float64(layout.Size)
	states := float64(largestTable(layout.Node))
	nodes, edges, units := 0.0, 0.0, 0.0
	for _, u := range l.units {
		if u.weight > 0 {
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
	m.Add("scratch of the Hessian", doubleBytes*size*(rowsTogether+states)+singleBytes*nodes+listedBytes*(sampled+joined),
		"%d weights × (%d + %.0f states) × 8 bytes, 4 for each node, and lists of %.0f nodes and %.0f edges", layout.Size, rowsTogether, states, sampled, joined)
	if denseFits(l) {
		m.perhaps("potentials of the sample", joined/units*doubleBytes*table, "tables of %.0f edges, where steps go wrong or after %d passes", joined/units, firstRenewal)
	}
}

// listedBytes is about what lists and the map of a hessianSample take for an element.
const listedBytes = 30.0
