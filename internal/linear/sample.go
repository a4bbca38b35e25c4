package linear

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
)

// Sample measures a Hessian of stars (Stars) at the beliefs of the moment: each node answers, with the messages along
// its edges, while its neighbours hold their beliefs (docs/explanation/equations.md, section 8). A star is how the
// block of one node answers in a visit of the paper's Algorithm 2. Kronecker products (Fisher) know the mean covariance
// of beliefs only: where a model is sure, most beliefs are far from their mean, and stars are another matrix.
//
// The sums are over a sample of the nodes, and over half of each of their edges. Each process draws from its own
// blocks, and records the features and beliefs of what it draws. All processes are told all records, in the order of
// the parts. Each thread then adds up some rows of H, in the order of the records: so H has the same bits whatever the
// processes and threads.
type Sample struct {
	// Most is about how many nodes of a type are drawn; 0: as many as SampleSize says.
	Most int

	model  *crf.Model
	size   int // weights
	blocks []SampleBlock
	group  Group
	each   parallel.Loop
	totals []float64 // [node types][2] how many nodes there are, and the sum of what they tell (weigh)
	lo, hi int       // the rows that this process adds up

	stars, edges []float64 // records of nodes and of edges: see draw
	sum          *Stars
	workers      []sampleWorker
	threads      int
}

// Group is some processes that share the work.
type Group interface {
	instances.Group
	// Any reports whether a flag is set in any process.
	Any(flag bool) bool
}

// SampleBlock is a block of an inference with all nodes free. Those of this process come in the order of their parts.
type SampleBlock struct {
	Unit
	Block  *partition.Block
	Number uint64 // which block it is, of all: the draws depend on it
	// NodeCurvature and EdgeCurvature are the weights of an element's curvature in the objective.
	NodeCurvature, EdgeCurvature func(element int32) float64

	tells        []float32 // what its nodes tell (weigh)
	sums         []float64 // its part of Sample.totals
	stars, edges []float64
	err          error
}

// sampleWorker is the scratch of one thread.
type sampleWorker struct {
	space   bp.Workspace
	feature []float64
}

const (
	// rootsPerWeight and leastSampled bound the sample: how many terms nodes of a type have in it for each
	// weight, and how many nodes there are at least.
	rootsPerWeight = 4.0
	leastSampled   = 256
	// evenShare of the sample is drawn with the same probability for all nodes, so that none is left out.
	evenShare = 0.1
	// TiedDamping lets the messages of stars go half of their way (Coupling). Without damping a node moves only as far as
	// neighbours that hold their beliefs allow: nodes tied to each other would not move, though they move together. On
	// photographs the curvature of undamped stars was too small by factors of 10 to 1,000 (results/README.md).
	TiedDamping = 1.0
	// listWork is how many times faster a multiplication of stars is than one for a message.
	listWork = 30.0
)

// NewSample returns a measurement on so many threads, from the blocks of this process.
func NewSample(m *crf.Model, blocks []SampleBlock, group Group, each parallel.Loop, threads int) *Sample {
	c := &Sample{model: m, size: m.Layout.Size, blocks: blocks, group: group, each: each, threads: threads}
	c.lo, c.hi = c.size, 0
	for row := 0; row < c.size; row += rowsOfPart {
		if group.Owns(int32(row * instances.Parts / c.size)) {
			c.lo, c.hi = min(c.lo, row), min(c.size, row+rowsOfPart)
		}
	}
	c.lo = min(c.lo, c.hi) // where there are none
	return c
}

// sampleWork returns about how much work a measurement is, in multiplications for messages.
func sampleWork(m *crf.Model, in *crf.Instance) (total float64) {
	n, rests := float64(m.Layout.Size), 0.0
	for b, span := range m.Layout.Edge {
		used := float64(span.States * ground.UsedFeatures(&m.Layout, in, b))
		rests += used * used / solveWork
	}
	for _, span := range m.Layout.Node {
		total += SampleSize(m, span) * (float64(span.States)*n*n/listWork + rests)
	}
	return total
}

// SampleSize returns how many elements of a type are drawn for a model.
func SampleSize(m *crf.Model, span crf.Span) float64 {
	return max(leastSampled, rootsPerWeight*float64(m.Layout.Size)/float64(max(1, span.States-1)))
}

// Measure writes H, without a regulariser, into dst [size*size], row-major, of which only the lower triangle counts.
// squares [types][features] are Σ f²/ρ of all types, nodes' before edges'. The damping is of the messages of stars.
func (c *Sample) Measure(dst []float64, squares [][]float64, damping float64) error {
	if c.sum == nil {
		c.sum = NewStars(c.model, c.lo, c.hi, c.threads)
		c.workers = make([]sampleWorker, c.threads)
	}
	c.sum.damping = damping
	if err := c.drawAll(squares); err != nil {
		return err
	}
	clear(dst)
	c.sum.Add(dst, c.stars, c.edges, c.each)
	c.group.Share(dst, dst[c.lo*c.size:c.hi*c.size])
	return nil
}

// Drawn returns how many nodes the last measurement has drawn.
func (c *Sample) Drawn() (n int) {
	for records := c.stars; len(records) > 0; n++ {
		records = records[int(records[0]):]
	}
	return n
}

// errElsewhere stands for the error of another process.
var errElsewhere = errors.New("learn: another process cannot measure its part of the Hessian")

// drawAll draws the sample, and tells all processes its records.
func (c *Sample) drawAll(squares [][]float64) error {
	types := len(c.model.Layout.Node)
	c.each(len(c.blocks), func(worker, i int) { c.weigh(&c.workers[worker], &c.blocks[i], squares) })
	var sums, stars, edges []float64
	for i := range c.blocks {
		sums = append(sums, c.blocks[i].sums...)
	}
	c.totals = make([]float64, 2*types)
	for i, x := range c.group.Share(nil, sums) {
		c.totals[i%(2*types)] += x
	}
	c.each(len(c.blocks), func(worker, i int) { c.blocks[i].err = c.draw(&c.workers[worker], &c.blocks[i]) })
	var err error
	for i := range c.blocks {
		b := &c.blocks[i]
		stars, edges, err = append(stars, b.stars...), append(edges, b.edges...), cmp.Or(err, b.err)
		b.stars, b.edges, b.tells = nil, nil, nil
	}
	if c.group.Any(err != nil) {
		return cmp.Or(err, errElsewhere)
	}
	c.stars, c.edges = c.group.Share(nil, stars), c.group.Share(nil, edges)
	return nil
}

// weigh finds what the nodes of a block tell, the weights by which they are drawn: the sum, over a node and its edges,
// of the curvature, times the doubt, which is the probability of all states but the most likely one, of an edge that of
// its surer end, times the leverage
//
//	Σ_j x_j² / Σ_{elements of the type} x_j²
//
// Most of a model that is sure of itself has no covariance worth the work. A sample drawn without regard to leverage
// misses features that few elements have, and a Hessian measured on it would have no curvature for their weights.
func (c *Sample) weigh(w *sampleWorker, b *SampleBlock, squares [][]float64) {
	in, read, types := b.In, instances.Readers(b.In), len(c.model.Layout.Node)
	b.tells, b.sums = b.tells[:0], make([]float64, 2*types)
	doubt := func(s int32) float64 {
		return -math.Expm1(min(0, slices.Max(b.State.LogBelief[b.Net.BeliefAt(s):][:in.States(s)])))
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
	for _, s := range b.Block.Nodes {
		kind, unsure := in.NodeType(s), doubt(s)
		tells := unsure * b.NodeCurvature(s) * leverage(kind, in.NodeRow(s))
		for _, d := range in.Graph.Incoming(s) {
			e := d >> 1
			tells += min(unsure, doubt(in.Graph.Source(d))) * b.EdgeCurvature(e) * leverage(types+in.EdgeType(e), in.EdgeRow(e))
		}
		b.tells = append(b.tells, float32(tells))
		b.sums[2*kind]++
		b.sums[2*kind+1] += float64(float32(tells))
	}
}

// pick draws nodes of a block, each by itself, and finds how many nodes each stands for.
func (c *Sample) pick(b *SampleBlock) (nodes []int32, weights []float64) {
	rng := rand.New(rand.NewPCG(b.Number, 2))
	for at, s := range b.Block.Nodes {
		t := b.In.NodeType(s)
		p, count, total := 1.0, c.totals[2*t], c.totals[2*t+1]
		wanted := SampleSize(c.model, c.model.Layout.Node[t])
		if c.Most > 0 {
			wanted = float64(c.Most)
		}
		if wanted < count {
			p = evenShare / count
			if total > 0 {
				p += (1 - evenShare) * float64(b.tells[at]) / total
			}
			p = min(1, wanted*p)
		}
		if rng.Float64() < p {
			nodes, weights = append(nodes, s), append(weights, 1/p)
		}
	}
	return nodes, weights
}

// draw draws nodes of a block, and records them and their edges as Stars wants them.
func (c *Sample) draw(w *sampleWorker, b *SampleBlock) error {
	in, net, read, layout := b.In, b.Net, instances.Readers(b.In), &c.model.Layout
	nodes, weights := c.pick(b)
	var block partition.Block
	for _, s := range nodes {
		for _, d := range in.Graph.Incoming(s) {
			block.Edges = append(block.Edges, d>>1)
		}
	}
	if err := w.space.Ground(c.model, in, net, nil, &block); err != nil {
		return err
	}
	q := 0
	for i, s := range nodes {
		t, first, edges := in.NodeType(s), len(b.stars), in.Graph.Incoming(s)
		b.stars = append(b.stars, 0, float64(t), weights[i]*b.NodeCurvature(s),
			net.Counting.Node[s], net.Counting.Rho[s], float64(len(edges)))
		read[t](extend(&b.stars, layout.Node[t].Features), in.NodeRow(s))
		net.Belief(extend(&b.stars, in.States(s)), b.State, s)
		for _, d := range edges {
			e := d >> 1
			kind, rho, back := in.EdgeType(e), net.Counting.Edge[e], numeric.OneIf(in.Graph.U(e) != s)
			b.stars = append(b.stars, float64(kind), float64(back), rho)
			span := &layout.Edge[kind]
			of := extend(&b.stars, span.Features+span.States)
			read[len(layout.Node)+kind](of[:span.Features], in.EdgeRow(e))
			if _, err := w.space.EdgeBelief(of[span.Features:], net, b.State, &block, q); err != nil {
				return err
			}
			q++
			if weight := weights[i] * b.EdgeCurvature(e) / 2; weight > 0 { // the other half is of its other end
				b.edges = append(append(b.edges, float64(3+len(of)), float64(kind), weight/rho), of...)
			}
		}
		b.stars[first] = float64(len(b.stars) - first)
	}
	return nil
}

// extend appends n numbers.
func extend(x *[]float64, n int) []float64 {
	*x = append(*x, make([]float64, n)...)
	return (*x)[len(*x)-n:]
}
