package learn

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// hessian measures a Hessian of stars where the beliefs are at the moment: each node answers, with
// the messages along its edges, while its neighbours hold their beliefs (docs/explanation/equations.md, section 8):
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
// sums are over a sample of the nodes, and over half of each of their edges.
//
// Each process draws from its own blocks, and records what the sample has: features and beliefs. All processes
// are told all records, in the order of the parts (parts.go). Each thread then adds up some rows of H, in the
// order of the records: so H has the same bits whatever the processes and threads.
type hessian struct {
	l             *learner
	size          int // weights
	states, joint int // the most of a node, and of an edge
	edgesTogether int // of whose covariances there is room
	most          int // nodes of a type that are drawn; 0: as many as sampleSize says
	jobs          []hessianJob
	totals        []float64 // [node types][2] how many nodes there are, and what all tell
	lo, hi        int       // rows that are added up here

	// stars and edges are records of nodes and of edges, one behind the other: see draw. batch are those at
	// hand, which roots [batch][states][size] and rests [batch][joint states²] are made of.
	stars, edges []float64
	batch        [][]float64
	roots, rests []float64
	workers      []hessianWorker
}

// hessianJob is a block that is visited here.
type hessianJob struct {
	part         int32
	number       uint64
	u            *unit
	block        int
	tells        []float32 // of its nodes
	sums         []float64 // its part of totals
	stars, edges []float64
	err          error
}

// hessianWorker is the scratch of one thread.
type hessianWorker struct {
	space    bp.Workspace
	coupling linear.Coupling
	feature  []float64
	// root [states] is √τ_s, q [states][states] Q of a node, and mean [size] that of J_s.
	root, q, mean []float64
	// columns [roots][rowsOfPart] and rows [roots][size] are parts of the roots, and sum [rowsOfPart][size]
	// of their products.
	columns, rows, sum []float64
}

const (
	// rootsPerWeight and leastSampled bound the sample: how many terms nodes of a type have in it for each
	// weight, and how many nodes there are at least.
	rootsPerWeight = 4.0
	leastSampled   = 256
	// evenShare of the sample is drawn evenly: no node is left out.
	evenShare = 0.1
	// leastCovariance of a state, τ(1 − τ), is one that counts.
	leastCovariance = 1e-7
	// recordsTogether are added up together, and rowsOfPart is how many rows of H one thread adds up at a
	// time: only the columns up to the last of them are wanted.
	recordsTogether = 32
	rowsOfPart      = 64
	// restsTogether bounds the numbers in covariances of edges that are added up together.
	restsTogether = 1 << 17
)

// newHessian returns a measurement, of which work tells the cost, or nil for models with
// weights of their own for every node or edge, or with more than maxDense weights.
func newHessian(l *learner) *hessian {
	layout := &l.model.Layout
	if layout.UntiedSize > 0 || layout.Size > maxDense {
		return nil
	}
	c := &hessian{l: l, size: layout.Size, states: largestTable(layout.Node), joint: largestTable(layout.Edge)}
	c.edgesTogether = max(1, min(recordsTogether, restsTogether/(c.joint*c.joint)))
	number := uint64(0)
	for _, b := range l.bundles {
		for at, part := range b.part {
			u := b.units[at%len(b.units)]
			if number++; u.isFree() && l.executor.owns(part) {
				c.jobs = append(c.jobs, hessianJob{part: part, number: number, u: u, block: at / len(b.units)})
			}
		}
	}
	slices.SortStableFunc(c.jobs, func(a, b hessianJob) int { return cmp.Compare(a.part, b.part) })
	c.lo, c.hi = c.size, 0
	for row := 0; row < c.size; row += rowsOfPart {
		if l.executor.owns(int32(row * mostParts / c.size)) {
			c.lo, c.hi = min(c.lo, row), min(c.size, row+rowsOfPart)
		}
	}
	c.lo = min(c.lo, c.hi) // where there are none
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

// work returns about how many multiplications a measurement takes, in terms of those of messages.
func (c *hessian) work() (total float64) {
	n, rests := float64(c.size), 0.0
	for b, span := range c.l.model.Layout.Edge {
		used := float64(span.States * c.l.usedOfType(b, c.l.units[0].in))
		rests += used * used / solveWork
	}
	for _, span := range c.l.model.Layout.Node {
		total += c.sampleSize(span) * (float64(span.States)*n*n/listWork + rests)
	}
	return total
}

// sampleSize returns how many elements of a type are to be drawn.
func (c *hessian) sampleSize(span crf.Span) float64 {
	if c.most > 0 {
		return float64(c.most)
	}
	return max(leastSampled, rootsPerWeight*float64(c.size)/float64(max(1, span.States-1)))
}

// measure writes H into dst [size*size], row-major, of which only the lower triangle counts. squares are those
// of fisher.
func (c *hessian) measure(dst []float64, squares [][]float64) error {
	c.makeScratch()
	if err := c.drawAll(squares); err != nil {
		return err
	}
	clear(dst)
	c.inBatches(recordsTogether, c.stars, c.star, func(w *hessianWorker, lo, hi int) { c.addProducts(dst, w, lo, hi) })
	c.inBatches(c.edgesTogether, c.edges, c.rest, func(_ *hessianWorker, lo, hi int) { c.addRests(dst, lo, hi) })
	c.l.executor.share(dst, dst[c.lo*c.size:c.hi*c.size])
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
	n := recordsTogether * c.states
	c.roots, c.rests = make([]float64, n*c.size), make([]float64, c.edgesTogether*c.joint*c.joint)
	c.workers = make([]hessianWorker, c.l.settings.Threads)
	for i := range c.workers {
		w := &c.workers[i]
		w.root, w.mean = make([]float64, c.states), make([]float64, c.size)
		w.columns, w.rows, w.sum = make([]float64, n*rowsOfPart), make([]float64, n*c.size),
			make([]float64, rowsOfPart*c.size)
	}
}

// errElsewhere stands for the error of another process.
var errElsewhere = errors.New("learn: another process cannot measure its part of the Hessian")

// drawAll draws the sample, and tells all processes its records. squares are those of fisher.
func (c *hessian) drawAll(squares [][]float64) error {
	types := len(c.l.model.Layout.Node)
	c.l.each(len(c.jobs), func(worker, i int) { c.weigh(&c.workers[worker], &c.jobs[i], squares) })
	var sums, stars, edges []float64
	for i := range c.jobs {
		sums = append(sums, c.jobs[i].sums...)
	}
	c.totals = make([]float64, 2*types)
	for i, x := range c.l.executor.share(nil, sums) {
		c.totals[i%(2*types)] += x
	}
	c.l.each(len(c.jobs), func(worker, i int) { c.jobs[i].err = c.draw(&c.workers[worker], &c.jobs[i]) })
	var err error
	for i := range c.jobs {
		j := &c.jobs[i]
		stars, edges, err = append(stars, j.stars...), append(edges, j.edges...), cmp.Or(err, j.err)
		j.stars, j.edges, j.tells = nil, nil, nil
	}
	if c.l.settings.any(err != nil) {
		return cmp.Or(err, errElsewhere)
	}
	c.stars, c.edges = c.l.executor.share(nil, stars), c.l.executor.share(nil, edges)
	return nil
}

// weigh finds what the nodes of a block tell: of the node and its edges the curvature times how unsure they are, the
// probability of all states of a node but one, or of the end of an edge that is surer, times the leverage
//
//	Σ_j x_j² / Σ_{elements of the type} x_j²
//
// Most of a model that is sure of itself has no covariance worth the work. A sample drawn without regard to leverage
// misses features that few elements have, and a Hessian measured on it would have no curvature for their weights.
func (c *hessian) weigh(w *hessianWorker, j *hessianJob, squares [][]float64) {
	in, u, read, types := j.u.in, j.u, readers(j.u.in), len(c.l.model.Layout.Node)
	j.tells, j.sums = j.tells[:0], make([]float64, 2*types)
	doubt := func(s int32) float64 {
		return -math.Expm1(min(0, slices.Max(u.state.LogBelief[u.net.BeliefAt(s):][:in.States(s)])))
	}
	leverage := func(kind, row int) (sum float64) {
		w.feature = numeric.Resize(w.feature, len(squares[kind]))
		read[kind](w.feature, row)
		for n, x := range w.feature {
			if x != 0 && squares[kind][n] > 0 {
				sum += x * x / squares[kind][n]
			}
		}
		return sum
	}
	for _, s := range j.u.part.Blocks[j.block].Nodes {
		kind, unsure := in.NodeType(s), doubt(s)
		tells := unsure * u.nodeCurvature(s) * leverage(kind, in.NodeRow(s))
		for _, d := range in.Graph.Incoming(s) {
			e := d >> 1
			tells += min(unsure, doubt(in.Graph.Source(d))) * u.edgeCurvature(e) * leverage(types+in.EdgeType(e), in.EdgeRow(e))
		}
		j.tells = append(j.tells, float32(tells))
		j.sums[2*kind]++
		j.sums[2*kind+1] += float64(float32(tells))
	}
}

// pick draws nodes of a block, each by itself, and finds how many nodes each stands for.
func (c *hessian) pick(j *hessianJob) (nodes []int32, weights []float64) {
	rng := rand.New(rand.NewPCG(j.number, 2))
	for at, s := range j.u.part.Blocks[j.block].Nodes {
		t := j.u.in.NodeType(s)
		p, count, total := 1.0, c.totals[2*t], c.totals[2*t+1]
		if wanted := c.sampleSize(c.l.model.Layout.Node[t]); wanted < count {
			p = evenShare / count
			if total > 0 {
				p += (1 - evenShare) * float64(j.tells[at]) / total
			}
			p = min(1, wanted*p)
		}
		if rng.Float64() < p {
			nodes, weights = append(nodes, s), append(weights, 1/p)
		}
	}
	return nodes, weights
}

// draw draws nodes of a block, and records them and their edges. A record begins with its length. That of a node has
// its type, weight, c_s, ρ_s and number of edges, features and belief, and of each edge the type, whether the node is
// V, ρ_uv, features and belief. That of an edge has its type, weight, features and belief.
func (c *hessian) draw(w *hessianWorker, j *hessianJob) error {
	in, net, read, layout := j.u.in, j.u.net, readers(j.u.in), &c.l.model.Layout
	nodes, weights := c.pick(j)
	var block partition.Block
	for _, s := range nodes {
		for _, d := range in.Graph.Incoming(s) {
			block.Edges = append(block.Edges, d>>1)
		}
	}
	if err := w.space.Ground(c.l.model, in, net, &block); err != nil {
		return err
	}
	q := 0
	for i, s := range nodes {
		t, first, edges := in.NodeType(s), len(j.stars), in.Graph.Incoming(s)
		j.stars = append(j.stars, 0, float64(t), weights[i]*j.u.nodeCurvature(s),
			net.Counting.Node[s], net.Counting.Rho[s], float64(len(edges)))
		read[t](extend(&j.stars, layout.Node[t].Features), in.NodeRow(s))
		net.Belief(extend(&j.stars, in.States(s)), j.u.state, s)
		for _, d := range edges {
			e := d >> 1
			b, rho := in.EdgeType(e), net.Counting.Edge[e]
			j.stars = append(j.stars, float64(b), float64(oneIf(in.Graph.U(e) != s)), rho)
			span := &layout.Edge[b]
			of := extend(&j.stars, span.Features+span.States)
			read[len(layout.Node)+b](of[:span.Features], in.EdgeRow(e))
			if _, err := w.space.EdgeBelief(of[span.Features:], net, j.u.state, &block, q); err != nil {
				return err
			}
			q++
			if weight := weights[i] * j.u.edgeCurvature(e) / 2; weight > 0 { // the other half is of its other end
				j.edges = append(append(j.edges, float64(3+len(of)), float64(b), weight/rho), of...)
			}
		}
		j.stars[first] = float64(len(j.stars) - first)
	}
	return nil
}

// extend appends n numbers, and take cuts them off the front.
func extend(x *[]float64, n int) []float64 {
	*x = append(*x, make([]float64, n)...)
	return (*x)[len(*x)-n:]
}

func take(x *[]float64, n int) []float64 {
	front := (*x)[:n]
	*x = (*x)[n:]
	return front
}

// inBatches prepares some records at a time, and adds them to rows of H.
func (c *hessian) inBatches(most int, records []float64,
	prepare func(w *hessianWorker, i int, record []float64), add func(w *hessianWorker, lo, hi int),
) {
	for len(records) > 0 {
		c.batch = c.batch[:0]
		for len(records) > 0 && len(c.batch) < most {
			n := int(records[0])
			c.batch, records = append(c.batch, records[1:n]), records[n:]
		}
		c.l.each(len(c.batch), func(worker, i int) { prepare(&c.workers[worker], i, c.batch[i]) })
		parts := (c.hi - c.lo + rowsOfPart - 1) / rowsOfPart
		c.l.each(parts, func(worker, i int) { // those with long rows come first
			lo := c.lo + (parts-1-i)*rowsOfPart
			add(&c.workers[worker], lo, min(c.hi, lo+rowsOfPart))
		})
	}
}

// star writes the roots of J_sᵀ √τ Q⁻¹ √τ J_s, one for each state, of the i-th record at hand, a node.
func (c *hessian) star(w *hessianWorker, i int, record []float64) {
	n := c.states * c.size
	roots := c.roots[i*n:][:n] // J_sᵀ at first
	clear(roots)
	head := take(&record, 5)
	span := &c.l.model.Layout.Node[int(head[0])]
	k := span.States
	for j, x := range take(&record, span.Features) {
		for y := range k {
			roots[y*c.size+span.At+j*k+y] = x
		}
	}
	belief := take(&record, k)
	w.q = numeric.Resize(w.q, k*k)
	clear(w.q)
	for x, p := range belief {
		w.root[x], w.q[x*k+x] = math.Sqrt(p), head[2]
		if !(p*(1-p) > leastCovariance) {
			w.root[x] = 0
		}
	}
	for range int(head[4]) {
		of := take(&record, 3)
		b := int(of[0])
		edge, feature := &c.l.model.Layout.Edge[b], take(&record, c.l.model.Layout.Edge[b].Features)
		ku, kv := c.l.model.Schema.EdgeStates(b)
		w.coupling.Of(take(&record, edge.States), ku, kv)
		from := int(of[1]) * ku
		for j, x := range feature {
			for y := 0; y < k && x != 0; y++ {
				for z := range edge.States {
					roots[y*c.size+edge.At+j*edge.States+z] += x * w.coupling.Parts[z*(ku+kv)+from+y]
				}
			}
		}
		w.addToStar(k, from, of[2])
	}
	w.solveStar(roots[:k*c.size], belief, head[1], head[3])
}

// addToStar adds an edge, the one at hand, to the Q of one of its ends, of k states.
func (w *hessianWorker) addToStar(k, from int, rho float64) {
	n := w.coupling.KU + w.coupling.KV
	for x, p := range w.root[:k] {
		for y, q := range w.root[:x+1] {
			w.q[x*k+y] += rho * p * q * w.coupling.Inverse[(from+x)*n+from+y]
		}
	}
}

// solveStar makes roots of J_sᵀ. States that do not count have none. Where messages are so far from settled that Q has
// no factor, it is taken for ρ_s I.
func (w *hessianWorker) solveStar(roots, belief []float64, scale, rho float64) {
	k := len(belief)
	size := len(roots) / k
	clear(w.mean)
	for x, p := range belief {
		simd.AddScaled(w.mean, roots[x*size:][:size], p)
		if w.root[x] == 0 {
			w.q[x*k+x] = 1
		}
	}
	if !linear.Factorise(w.q, k, parallel.Serially) {
		clear(w.q)
		for x := range k {
			w.q[x*k+x] = math.Sqrt(rho)
		}
	}
	for x := range k {
		row, s := roots[x*size:][:size], math.Sqrt(scale)*w.root[x]
		for i, mean := range w.mean {
			row[i] = s * (row[i] - mean)
		}
		for y, l := range w.q[x*k:][:x] {
			simd.AddScaled(row, roots[y*size:][:size], -l)
		}
		for i := range row {
			row[i] /= w.q[x*k+x]
		}
	}
}

// addProducts adds the products of all roots to some rows of dst.
func (c *hessian) addProducts(dst []float64, w *hessianWorker, lo, hi int) {
	n, height := len(c.batch)*c.states, hi-lo
	for i := range n {
		root := c.roots[i*c.size:][:c.size]
		copy(w.columns[i*height:][:height], root[lo:])
		copy(w.rows[i*hi:][:hi], root)
	}
	sum := w.sum[:height*hi]
	clear(sum)
	simd.ScatterMatrix(sum, w.columns, w.rows, n, height, hi)
	for i := range height {
		simd.AddScaled(dst[(lo+i)*c.size:][:hi], sum[i*hi:], 1)
	}
}

// rest writes Cov⊥(τ_uv), scaled, of the i-th record at hand, an edge.
func (c *hessian) rest(w *hessianWorker, i int, record []float64) {
	b := int(record[0])
	span := &c.l.model.Layout.Edge[b]
	ku, kv := c.l.model.Schema.EdgeStates(b)
	w.coupling.Of(record[2+span.Features:], ku, kv)
	rests := c.rests[i*c.joint*c.joint:]
	for x := range span.States {
		for y, rest := range w.coupling.Rest(x) {
			rests[x*span.States+y] = record[1] * rest
		}
	}
}

// addRests adds those of the edges at hand, times the products of their features, to some rows of dst.
func (c *hessian) addRests(dst []float64, lo, hi int) {
	for i, record := range c.batch {
		span := &c.l.model.Layout.Edge[int(record[0])]
		n, feature := span.States, record[2:][:span.Features]
		for r := max(lo, span.At); r < min(hi, span.At+span.Len); r++ {
			j, x := (r-span.At)/n, (r-span.At)%n
			for k, y := range feature[:j+1] {
				if scale := feature[j] * y; scale != 0 {
					simd.AddScaled(dst[r*c.size+span.At+k*n:][:n], c.rests[i*c.joint*c.joint+x*n:][:n], scale)
				}
			}
		}
	}
}
