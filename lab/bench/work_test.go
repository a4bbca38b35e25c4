package bench

import (
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/lab/ceilings"
)

// numberBytes are the bytes of a number, all of which are float64.
const numberBytes = 8

// giga is 10⁹, such as nanoseconds in a second.
const giga = 1e9

// Operations are counts of arithmetic. Flops are additions, multiplications and
// comparisons.
type Operations struct{ Flops, Exps, Logs float64 }

func (o Operations) plus(p Operations) Operations {
	return Operations{o.Flops + p.Flops, o.Exps + p.Exps, o.Logs + p.Logs}
}

func (o Operations) times(n float64) Operations {
	return Operations{n * o.Flops, n * o.Exps, n * o.Logs}
}

// seconds is what they take at some rates.
func (o Operations) seconds(rates *ceilings.Compute) float64 {
	return (o.Flops/rates.FMA + o.Exps*rates.Exp + o.Logs*rates.Log) / giga
}

// Work is what a phase of learning has to do at least, counted from the equations
// and not from the program: lab/README.md has the sums of these terms.
type Work struct {
	// BlockBytes and NetworkBytes are what has to be read and written, every number
	// once: of arrays that the block at hand has used before in the same visit, and
	// of those it uses for the first time since the visit before.
	BlockBytes, NetworkBytes float64
	Operations
}

// plus adds two phases that follow each other.
func (w Work) plus(o Work) Work {
	return Work{w.BlockBytes + o.BlockBytes, w.NetworkBytes + o.NetworkBytes, w.Operations.plus(o.Operations)}
}

// times repeats a phase, or takes a part of it.
func (w Work) times(n float64) Work {
	return Work{n * w.BlockBytes, n * w.NetworkBytes, w.Operations.times(n)}
}

// bytes is all that is read and written.
func (w Work) bytes() float64 { return w.BlockBytes + w.NetworkBytes }

// modelShape is what the work depends on besides the graph.
type modelShape struct {
	states                     float64
	nodeFeatures, edgeFeatures float64
}

// tableBytes returns the bytes of the tables of so many edges.
func (m modelShape) tableBytes(edges float64) float64 {
	return numberBytes * m.states * m.states * edges
}

// weights returns the number of weights.
func (m modelShape) weights() float64 {
	return m.nodeFeatures*m.states + m.edgeFeatures*m.states*m.states
}

// contribution returns the length of what is kept per group of edges: M τ, the sums
// of the beliefs, and the entropy.
func (m modelShape) contribution() float64 {
	return m.weights() + m.states + m.states*m.states + 1
}

// perKeptEdge returns the length of what is kept of an edge where that is less than
// a contribution: its belief and its entropy.
func (m modelShape) perKeptEdge() float64 { return m.states*m.states + 1 }

// blockShape is what the work on a block depends on.
type blockShape struct {
	nodes, edges float64
	messages     float64 // directed edges into the nodes, and those along cut edges out of the block
	outside      float64 // distinct nodes at the other ends of cut edges
	cutEdges     float64 // which keep their beliefs
}

// shapeOf measures block id of a partition.
func (m modelShape) shapeOf(p *partition.Partition, id int32) blockShape {
	b, outside := &p.Blocks[id], map[int32]bool{}
	messages := float64(len(b.In) + len(b.Out))
	shape := blockShape{nodes: float64(len(b.Nodes)), edges: float64(len(b.Edges)), messages: messages}
	shape.cutEdges = shape.edges - float64(b.Groups[0].Hi)
	for _, e := range b.Edges {
		for _, s := range [2]int32{p.Graph.U(e), p.Graph.V(e)} {
			if p.Of[s] != id {
				outside[s] = true
			}
		}
	}
	shape.outside = float64(len(outside))
	return shape
}

// shapesOf measures every block of a partition.
func (m modelShape) shapesOf(p *partition.Partition) []blockShape {
	shapes := make([]blockShape, len(p.Blocks))
	for i := range p.Blocks {
		shapes[i] = m.shapeOf(p, int32(i))
	}
	return shapes
}

// groundWork: θ_s = W f_s and θ_uv = W f_uv. Features are read for the first time in
// this visit; potentials are written.
func groundWork(m modelShape, b blockShape) Work {
	k := m.states
	return Work{
		Operations:   Operations{Flops: 2*m.edgeFeatures*k*k*b.edges + 2*m.nodeFeatures*k*b.nodes},
		NetworkBytes: numberBytes * (m.nodeFeatures*b.nodes + m.edgeFeatures*b.edges),
		BlockBytes:   numberBytes*k*b.nodes + m.tableBytes(b.edges),
	}
}

// expWork: exp((θ_uv − max θ_uv)/ρ), in place: a comparison, a subtraction, a
// multiplication and an exponential per entry.
func expWork(m modelShape, b blockShape) Work {
	entries := m.states * m.states * b.edges
	return Work{Operations: Operations{Flops: 3 * entries, Exps: entries}, BlockBytes: 2 * m.tableBytes(b.edges)}
}

// messageWork is what equation (5) takes for a message of k states: the product of a
// vector and a table, and nine operations per state around it: the cavity, maxima and
// shifts before the exponential and after the logarithm, the difference to the old message
// and its maximum, and a multiply-add into the sum of (4).
func messageWork(k float64) Work {
	return Work{Operations: Operations{Flops: 2*k*k + 9*k, Exps: k, Logs: k}}
}

// beliefWork is what (4) takes per node of k states besides: maximum, shift,
// division by ρ, exponential, sum and subtraction of its logarithm.
func beliefWork(k float64) Work {
	return Work{Operations: Operations{Flops: 5 * k, Exps: k, Logs: 1}}
}

// sweepsWork: sweeps sweeps over a block. The first meets messages and beliefs that
// were last used in the visit before, the others find them where the block's tables
// are.
func sweepsWork(m modelShape, b blockShape, sweeps float64) Work {
	k := m.states
	potentials := m.tableBytes(b.edges) + numberBytes*k*b.nodes
	// Both messages of every edge are read and written; beliefs of the block are written, and those
	// next to it read.
	state := numberBytes * k * (2*b.edges + b.messages + 2*b.nodes + b.outside)
	w := messageWork(k).times(b.messages).plus(beliefWork(k).times(b.nodes)).times(sweeps)
	w.BlockBytes, w.NetworkBytes = sweeps*potentials+(sweeps-1)*state, state
	return w
}

// gradientWork: the beliefs (6) of nodes and of edges, their free energies, and M τ.
// Per entry of an edge's belief: a multiply-add into the sum of its row, and one into that of its column; two
// multiplications for the belief; the sum of beliefs, and a multiply-add per feature. Per state of each of its ends:
// cavity, exponential, and for Z and the free energy two operations, a sum and a multiply-add; division by Z at one.
// Per state of a node: exponential, four operations for the free energy, the sum of beliefs and
// a multiply-add per feature.
// All that is read was used in the same visit; a contribution is written,
// and beliefs that were last used in the visit before.
func gradientWork(m modelShape, b blockShape) Work {
	k := m.states
	read := numberBytes*((m.nodeFeatures+k)*b.nodes+k*(b.nodes+b.outside)+ // features, potentials and beliefs
		(m.edgeFeatures+2*k)*b.edges) + m.tableBytes(b.edges) // features, messages and tables
	return Work{
		Operations: Operations{
			Flops: ((2*m.edgeFeatures+7)*k*k+13*k)*b.edges + (2*m.nodeFeatures+5)*k*b.nodes,
			Exps:  2*k*b.edges + k*b.nodes, Logs: b.edges,
		},
		BlockBytes:   read + numberBytes*m.contribution(),
		NetworkBytes: numberBytes * m.perKeptEdge() * b.cutEdges,
	}
}

// visitBytes is how much memory a visit of the block touches.
func visitBytes(m modelShape, b blockShape) float64 {
	k := m.states
	return m.tableBytes(b.edges) + numberBytes*(m.weights()+(m.nodeFeatures+k)*b.nodes+k*(b.nodes+b.outside)+
		(m.edgeFeatures+2*k)*b.edges+m.contribution()+m.perKeptEdge()*b.cutEdges)
}

// networkBytes is how much memory a pass over a network of so many nodes and edges
// touches that is not scratch: features, messages and beliefs.
func networkBytes(m modelShape, nodes, edges float64) float64 {
	return numberBytes * ((m.nodeFeatures+m.states)*nodes + (m.edgeFeatures+2*m.states)*edges)
}

// roofline returns the least time that some work can take by the ceilings, in seconds: the larger
// of the bytes over the bandwidth of the levels where they live, and the operations over their
// measured rates. blockSet and networkSet are the sizes of what BlockBytes and NetworkBytes come
// back to.
func roofline(c *ceilings.Ceilings, w Work, blockSet, networkSet float64) (seconds float64) {
	moving := (w.BlockBytes/c.RateAt(blockSet) + w.NetworkBytes/c.RateAt(networkSet)) / giga
	return max(moving, w.seconds(&c.Compute))
}

// passWork is the work of a pass over all blocks. What the step of the weights takes is not in it: it does not grow
// with the block.
type passWork struct {
	work                   Work
	blockBytes, totalBytes float64 // that a visit touches, and a pass
}

func countWork(m modelShape, part *partition.Partition, sweeps int) *passWork {
	c, cutEdges, largest := &passWork{}, 0.0, 0.0
	blocks := m.shapesOf(part)
	for _, b := range blocks {
		c.work = c.work.plus(groundWork(m, b)).plus(expWork(m, b)).plus(sweepsWork(m, b, float64(sweeps)))
		c.work = c.work.plus(gradientWork(m, b))
		cutEdges += b.cutEdges / 2 // they are in two blocks
		c.blockBytes += visitBytes(m, b) / float64(len(blocks))
		largest = max(largest, m.tableBytes(b.edges))
	}
	// The scratch of a block comes between two uses of a feature or a message too.
	network := networkBytes(m, float64(part.Graph.NumNodes()), float64(part.Graph.NumEdges()))
	c.totalBytes = network + numberBytes*m.perKeptEdge()*cutEdges + largest
	return c
}
