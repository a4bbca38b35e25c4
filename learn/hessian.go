package learn

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
)

// hessian measures a Hessian of stars (linear.Stars) where the beliefs are at the moment: each node answers, with the
// messages along its edges, while its neighbours hold their beliefs (docs/explanation/equations.md, section 8). A star
// is exactly what a visit of the paper finds whose block is one node (TestStars).
//
// Beliefs far from their mean, as most are where a model is sure, make this another
// matrix than fisher's Kronecker products: those know of a mean covariance only. The
// sums are over a sample of the nodes, and over half of each of their edges.
//
// Each process draws from its own blocks, and records what the sample has: features and beliefs. All processes
// are told all records, in the order of the parts (parts.go). Each thread then adds up some rows of H, in the
// order of the records: so H has the same bits whatever the processes and threads.
type hessian struct {
	l      *learner
	size   int // weights
	most   int // nodes of a type that are drawn; 0: as many as sampleSize says
	jobs   []hessianJob
	totals []float64 // [node types][2] how many nodes there are, and what all tell
	lo, hi int       // rows that are added up here

	stars, edges []float64 // records of nodes and of edges: see draw
	sum          *linear.Stars
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
	space   bp.Workspace
	feature []float64
}

const (
	// rootsPerWeight and leastSampled bound the sample: how many terms nodes of a type have in it for each
	// weight, and how many nodes there are at least.
	rootsPerWeight = 4.0
	leastSampled   = 256
	// evenShare of the sample is drawn evenly: no node is left out.
	evenShare = 0.1
)

// newHessian returns a measurement, of which work tells the cost, or nil for models with
// weights of their own for every node or edge, or with more than maxDense weights.
func newHessian(l *learner) *hessian {
	layout := &l.model.Layout
	if layout.UntiedSize > 0 || layout.Size > maxDense {
		return nil
	}
	c := &hessian{l: l, size: layout.Size}
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
	for row := 0; row < c.size; row += linear.RowsOfPart {
		if l.executor.owns(int32(row * mostParts / c.size)) {
			c.lo, c.hi = min(c.lo, row), min(c.size, row+linear.RowsOfPart)
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
		used := float64(span.States * ground.UsedFeatures(&c.l.model.Layout, c.l.units[0].in, b))
		rests += used * used / linear.SolveWork
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
	c.sum.Add(dst, c.stars, c.edges, c.l.each)
	c.l.executor.share(dst, dst[c.lo*c.size:c.hi*c.size])
	for i := range c.size {
		dst[i*c.size+i] += c.l.problem.L2
	}
	return nil
}

// makeScratch allocates what measurements need, at the first.
func (c *hessian) makeScratch() {
	if c.sum == nil {
		c.sum = linear.NewStars(c.l.model, c.lo, c.hi, c.l.settings.Threads)
		c.workers = make([]hessianWorker, c.l.settings.Threads)
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

// draw draws nodes of a block, and records them and their edges as linear.Stars wants them.
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

// extend appends n numbers.
func extend(x *[]float64, n int) []float64 {
	*x = append(*x, make([]float64, n)...)
	return (*x)[len(*x)-n:]
}
