package learn

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
)

// hessianSample is the sample in one part of one unit, with the edges of its nodes.
type hessianSample struct {
	unit   int
	u      *unit
	blocks []int32 // those of the part; nil: they belong to another process
	block  partition.Block
	// nodeScale and edgeScale say how many nodes and edges each one drawn stands for: 0
	// for edges that only belong to a node that was.
	nodeScale, edgeScale []float64
	place                map[int32]int // position in the block, by edge
	// tells is what each node (or edge) of the blocks tells, −1 if it is of another type;
	// count and total are of those of the type.
	tells        []float32
	count, total float64
}

// deal finds the samples, and the rows that are added up here.
func (c *hessian) deal() {
	l := c.l
	type place struct{ part, unit, block int32 }
	var places []place
	for _, b := range l.bundles {
		first := len(c.units)
		number := make([]int32, len(b.units))
		for i, u := range b.units {
			if number[i] = -1; u.isFree() {
				number[i] = int32(len(c.units))
				c.units = append(c.units, u)
			}
		}
		if first == len(c.units) {
			continue
		}
		for at, part := range b.part {
			if n := number[at%len(b.units)]; n >= 0 {
				places = append(places, place{part, n, int32(at / len(b.units))})
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.unit, b.unit), cmp.Compare(a.block, b.block))
	})
	for i, x := range places {
		if i == 0 || x.part != places[i-1].part || x.unit != places[i-1].unit {
			c.samples = append(c.samples, hessianSample{unit: int(x.unit), u: c.units[x.unit]})
		}
		if s := &c.samples[len(c.samples)-1]; l.executor.owns(x.part) {
			s.blocks = append(s.blocks, x.block)
		}
	}
	// Rows of parts, as many as make a share of the lower triangle.
	c.lo, c.hi = c.size, 0
	for lo := 0; lo < c.size; lo += rowsOfPart {
		middle := (float64(lo) + float64(min(c.size, lo+rowsOfPart))) / 2 / float64(c.size)
		if l.executor.owns(int32(middle * middle * mostParts)) {
			c.lo, c.hi = min(c.lo, lo), min(c.size, lo+rowsOfPart)
		}
	}
	c.lo = min(c.lo, c.hi) // where there are none
}

// draw chooses the sample: elements whose beliefs of the moment are less sure, and those with features that few have,
// are drawn more often, and count less. Most of a model that is sure of itself has no covariance worth the work.
func (c *hessian) draw() {
	layout := &c.l.model.Layout
	if c.leverage == nil {
		c.leverage = newLeverage(c.l)
	}
	c.unsure = make([][]float32, len(c.units))
	for i, u := range c.units {
		c.unsure[i] = slices.Repeat([]float32{-1}, u.in.Graph.NumNodes())
	}
	for i := range c.samples {
		c.samples[i].begin()
	}
	c.l.each(len(c.samples), func(worker, i int) { c.findUnsure(&c.workers[worker], &c.samples[i]) })
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
	c.unsure = nil
}

// begin forgets the last sample.
func (s *hessianSample) begin() {
	s.block.Nodes, s.block.Edges, s.nodeScale, s.edgeScale = s.block.Nodes[:0], nil, s.nodeScale[:0], s.edgeScale[:0]
	s.place = nil
}

// complete adds the edges of the nodes that were drawn, and sorts the edges.
func (s *hessianSample) complete() {
	s.tells = nil
	if len(s.block.Nodes)+len(s.block.Edges) == 0 {
		return
	}
	drawn := s.block.Edges
	s.block.Edges, s.place = slices.Clone(drawn), map[int32]int{}
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
	c.l.each(len(c.samples), func(worker, i int) { c.tell(&c.workers[worker], &c.samples[i], t, nodes) })
	var own []float64
	for i := range c.samples {
		if s := &c.samples[i]; s.blocks != nil {
			own = append(own, s.count, s.total)
		}
	}
	c.told = c.l.executor.share(c.told, own)
	count, total := 0.0, 0.0
	for i := range c.samples {
		count += c.told[2*i]
		total += c.told[2*i+1]
	}
	if count == 0 {
		return
	}
	floor := leastTold
	if total > 0 {
		floor = leastTold * total / count
	}
	stretch := (total + floor*count) / float64(wanted)
	c.points = c.points[:0]
	for i := range wanted {
		c.points = append(c.points, stretch*(float64(i)+rng.Float64()))
	}
	before := 0.0
	points := c.points
	for i := range c.samples {
		s := &c.samples[i]
		end := before + (c.told[2*i+1] + floor*c.told[2*i])
		inside := 0
		for inside < len(points) && points[inside] < end {
			inside++
		}
		switch {
		case s.blocks == nil:
		case float64(wanted) >= count:
			s.each(nodes, func(at int, e int32) {
				if s.tells[at] >= 0 {
					s.take(nodes, e, 1)
				}
			})
		default:
			s.takeAt(nodes, points[:inside], before, floor, stretch)
		}
		points, before = points[inside:], end
	}
}

// takeAt draws the elements at some points of the sum of what all tell, which is before at the first element.
func (s *hessianSample) takeAt(nodes bool, points []float64, before, floor, stretch float64) {
	count, total := 0.0, 0.0
	s.each(nodes, func(at int, i int32) {
		tells := float64(s.tells[at])
		if tells < 0 {
			return
		}
		count++
		total += tells
		times := 0.0
		for len(points) > 0 && before+(total+floor*count) > points[0] {
			times++
			points = points[1:]
		}
		if times > 0 {
			s.take(nodes, i, times*stretch/(tells+floor))
		}
	})
}

func (s *hessianSample) take(nodes bool, i int32, scale float64) {
	if nodes {
		s.block.Nodes, s.nodeScale = append(s.block.Nodes, i), append(s.nodeScale, scale)
	} else {
		s.block.Edges, s.edgeScale = append(s.block.Edges, i), append(s.edgeScale, scale)
	}
}

// each calls do for all nodes of the blocks, or for their edges, where those between two blocks are of the first.
func (s *hessianSample) each(nodes bool, do func(at int, i int32)) {
	at := 0
	for _, x := range s.blocks {
		block := &s.u.part.Blocks[x]
		if nodes {
			for _, i := range block.Nodes {
				do(at, i)
				at++
			}
			continue
		}
		for _, group := range block.Groups {
			if group.Other < x {
				continue
			}
			for _, e := range block.Edges[group.Lo:group.Hi] {
				do(at, e)
				at++
			}
		}
	}
}

// tell finds what all nodes (or edges) of type t tell: their leverage times how unsure they are, the probability of
// all states of a node but one, or of the end of an edge that is surer.
func (c *hessian) tell(w *hessianWorker, s *hessianSample, t int, nodes bool) {
	in := s.u.in
	s.tells, s.count, s.total = s.tells[:0], 0, 0
	if s.blocks == nil {
		return
	}
	of := c.leverage.of(in, t, nodes)
	tells := func(i int32) float64 {
		if in.NodeType(i) != t || !(s.u.nodeCurvature(i) > 0) {
			return -1
		}
		return float64(c.unsureOf(w, s, i)) * of(in.NodeRow(i))
	}
	if !nodes {
		tells = func(e int32) float64 {
			if in.EdgeType(e) != t || !(s.u.edgeCurvature(e) > 0) {
				return -1
			}
			return float64(min(c.unsureOf(w, s, in.Graph.U(e)), c.unsureOf(w, s, in.Graph.V(e)))) * of(in.EdgeRow(e))
		}
	}
	s.each(nodes, func(_ int, i int32) {
		x := float32(tells(i))
		if s.tells = append(s.tells, x); x >= 0 {
			s.count++
			s.total += float64(x)
		}
	})
}

// findUnsure finds for the nodes of a sample's blocks the probability of all states but the
// likeliest, with the label's share.
func (c *hessian) findUnsure(w *hessianWorker, s *hessianSample) {
	for _, x := range s.blocks {
		for _, i := range s.u.part.Blocks[x].Nodes {
			c.unsure[s.unit][i] = c.doubt(w, s.u, i)
		}
	}
}

// unsureOf returns what findUnsure has found, or finds it for a node of another process.
func (c *hessian) unsureOf(w *hessianWorker, s *hessianSample, i int32) float32 {
	if x := c.unsure[s.unit][i]; x >= 0 {
		return x
	}
	return c.doubt(w, s.u, i)
}

func (c *hessian) doubt(w *hessianWorker, u *unit, i int32) float32 {
	w.node = numeric.Resize(w.node, u.in.States(i))
	u.net.Belief(w.node, u.state, i)
	c.mixNode(w.node, u.in, i)
	return max(0, float32(1-slices.Max(w.node)))
}

// leverage tells, for an element (a node or an edge) of a type, how much of what the data
// know of any one feature it has:
//
//	Σ_j x_j² / Σ_{elements of the type} x_j²
//
// A sample drawn without regard to it misses features that few elements have, and a
// Hessian measured on it would have no curvature for their weights.
type leverage struct {
	nodes, edges [][]float64 // [type][feature] 1 / Σ x_j², or 0
}

// newLeverage sums the squares of the features of all free units.
func newLeverage(l *learner) *leverage {
	v := &leverage{}
	sums := func(spans []crf.Span, node bool) (all [][]float64) {
		for t, span := range spans {
			squares := l.adder().sumOver(l.problem.Data, span.Features, func(sum []float64, _, i int, r ground.Range) {
				in := l.problem.Data[i]
				f, of, typeOf, rowOf := in.EdgeFeatures(0), r.Edges, in.EdgeType, in.EdgeRow
				if node {
					f, of, typeOf, rowOf = in.NodeFeatures(t), r.Nodes, in.NodeType, in.NodeRow
				} else {
					f = in.EdgeFeatures(t)
				}
				for i := range of.All() {
					if typeOf(int32(i)) == t {
						for j, x := range f.Entries(rowOf(int32(i))) {
							sum[j] += x * x
						}
					}
				}
			})
			for j, x := range squares {
				if x > 0 {
					squares[j] = 1 / x
				}
			}
			all = append(all, squares)
		}
		return all
	}
	v.nodes, v.edges = sums(l.model.Layout.Node, true), sums(l.model.Layout.Edge, false)
	return v
}

// of returns the leverage of rows of features of a type in an instance, for one goroutine.
func (v *leverage) of(in *crf.Instance, t int, nodes bool) func(row int) float64 {
	if nodes {
		return leverageOf(in.NodeFeatures(t), v.nodes[t])
	}
	return leverageOf(in.EdgeFeatures(t), v.edges[t])
}

func leverageOf(f *crf.Features, inverse []float64) func(row int) float64 {
	of := func(x []float64) (sum float64) {
		for j, x := range x {
			sum += x * x * inverse[j]
		}
		return sum
	}
	if data := f.Data(); data.Book != nil {
		each := make([]float64, ground.Tables(f))
		for c := range each {
			each[c] = of(data.Book[c*data.Dim:][:data.Dim])
		}
		return func(row int) float64 { return each[data.Bins[row]] }
	}
	x, read := make([]float64, len(inverse)), f.Reader()
	return func(row int) float64 {
		read(x, row)
		return of(x)
	}
}
