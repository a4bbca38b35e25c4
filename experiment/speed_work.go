package experiment

import (
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/internal/machine"
)

// Work is what a phase of learning has to do at least, counted from the equations
// and not from the program: docs/performance.md derives every term.
type Work struct {
	// BlockBytes and NetworkBytes are what has to be read and written, every number
	// once: of arrays that the block at hand has used before in the same visit, and
	// of those it uses for the first time since the visit before.
	BlockBytes, NetworkBytes float64
	// Flops are additions, multiplications and comparisons. Exps and Logs are counted
	// apart.
	Flops, Exps, Logs float64
}

// plus adds two phases that follow each other.
func (w Work) plus(o Work) Work {
	return Work{w.BlockBytes + o.BlockBytes, w.NetworkBytes + o.NetworkBytes, w.Flops + o.Flops, w.Exps + o.Exps, w.Logs + o.Logs}
}

// times repeats a phase, or takes a part of it.
func (w Work) times(n float64) Work {
	return Work{n * w.BlockBytes, n * w.NetworkBytes, n * w.Flops, n * w.Exps, n * w.Logs}
}

// bytes is all that is read and written.
func (w Work) bytes() float64 { return w.BlockBytes + w.NetworkBytes }

// modelShape is what the work depends on besides the graph.
type modelShape struct {
	states                     float64
	nodeFeatures, edgeFeatures float64
	numberBytes                float64 // of one number
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

// perLooseEdge returns the length of what is kept of an edge where that is less than
// a contribution: its belief and its entropy.
func (m modelShape) perLooseEdge() float64 { return m.states*m.states + 1 }

// blockShape is what the work on a block depends on.
type blockShape struct {
	nodes, edges float64
	messages     float64 // directed edges into the nodes
	outside      float64 // distinct nodes at the other ends of cut edges
	groups       float64
}

// shapeOf measures a block. seen is scratch [nodes of the graph], all below stamp.
func shapeOf(g *graph.Graph, b *partition.Block, of, seen []int32, id, stamp int32) blockShape {
	shape := blockShape{
		nodes: float64(len(b.Nodes)), edges: float64(len(b.Edges)),
		messages: float64(len(b.In)), groups: float64(len(b.Groups)),
	}
	for _, e := range b.Edges {
		for _, s := range [2]int32{g.U(e), g.V(e)} {
			if of[s] != id && seen[s] != stamp {
				seen[s] = stamp
				shape.outside++
			}
		}
	}
	return shape
}

// shapesOf measures every block of a partition.
func shapesOf(p *partition.Partition) []blockShape {
	seen := make([]int32, p.Graph.NumNodes())
	shapes := make([]blockShape, len(p.Blocks))
	for i := range p.Blocks {
		shapes[i] = shapeOf(p.Graph, &p.Blocks[i], p.Of, seen, int32(i), int32(i)+1)
	}
	return shapes
}

// groundWork: θ_s = W f_s and θ_uv = W f_uv. Features are read for the first time in
// this visit; potentials are written.
func groundWork(m modelShape, b blockShape) Work {
	k := m.states
	return Work{
		Flops:        2 * (m.nodeFeatures*k*b.nodes + m.edgeFeatures*k*k*b.edges),
		NetworkBytes: m.numberBytes * (m.nodeFeatures*b.nodes + m.edgeFeatures*b.edges),
		BlockBytes:   m.numberBytes * (k*b.nodes + k*k*b.edges),
	}
}

// expWork: exp((θ_uv − max θ_uv)/ρ), in place: a comparison, a subtraction, a
// multiplication and an exponential per entry.
func expWork(m modelShape, b blockShape) Work {
	entries := m.states * m.states * b.edges
	return Work{Flops: 3 * entries, Exps: entries, BlockBytes: 2 * m.numberBytes * entries}
}

// flopsPerMessage is what equation (5) takes for a message of k states: the product
// of a vector and a table, and nine operations per state around it: cavity, maximum
// and shift before the exponential, maximum and shift after the logarithm,
// difference to the old message and its maximum, and a multiply-add into the sum of
// (4).
func flopsPerMessage(k float64) float64 { return 2*k*k + 9*k }

// flopsPerBelief is what (4) takes per node of k states besides: maximum, shift,
// division by ρ, sum and subtraction of the logarithm.
func flopsPerBelief(k float64) float64 { return 5 * k }

// sweepsWork: sweeps sweeps over a block. The first meets messages and beliefs that
// were last used in the visit before, the others find them where the block's tables
// are.
func sweepsWork(m modelShape, b blockShape, sweeps float64) Work {
	k := m.states
	tables := m.numberBytes * (k*k*b.edges + k*b.nodes)
	// Both messages of every edge are read and those into the block written; so are
	// its beliefs, and those next to it read.
	state := m.numberBytes * k * (2*b.edges + b.messages + 2*b.nodes + b.outside)
	return Work{
		Flops:        sweeps * (flopsPerMessage(k)*b.messages + flopsPerBelief(k)*b.nodes),
		Exps:         sweeps * k * (b.messages + b.nodes),
		Logs:         sweeps * (k*b.messages + b.nodes),
		BlockBytes:   sweeps*tables + (sweeps-1)*state,
		NetworkBytes: state,
	}
}

// gradientWork: the beliefs (6) of nodes and edges, their free energies, and M τ.
// Per entry of an edge's belief: two multiplications, a row sum, a column sum, the
// normalisation, the sum of beliefs, and a multiply-add per feature; per state of
// each of its ends: cavity, maximum, shift, exponential and a multiply-add into the
// free energy. Per state of a node: exponential, four operations for the free
// energy, the sum of beliefs and a multiply-add per feature. All that is read was
// used in the same visit; a contribution per group is written.
func gradientWork(m modelShape, b blockShape) Work {
	k := m.states
	read := (m.nodeFeatures+k)*b.nodes + k*(b.nodes+b.outside) + // features, potentials and beliefs
		(m.edgeFeatures+k*k+2*k)*b.edges // features, tables and messages
	return Work{
		Flops:      ((2*m.edgeFeatures+6)*k*k+10*k)*b.edges + (2*m.nodeFeatures+5)*k*b.nodes,
		Exps:       2*k*b.edges + k*b.nodes,
		Logs:       b.edges,
		BlockBytes: m.numberBytes * (read + m.contribution()*b.groups),
	}
}

// visitBytes is how much memory a visit of the block touches.
func visitBytes(m modelShape, b blockShape) float64 {
	k := m.states
	return m.numberBytes * (m.weights() + (m.nodeFeatures+k)*b.nodes + k*(b.nodes+b.outside) +
		(m.edgeFeatures+k*k+2*k)*b.edges + m.contribution()*b.groups)
}

// sweepBytes is how much memory sweeps over the block touch.
func sweepBytes(m modelShape, b blockShape) float64 {
	k := m.states
	return m.numberBytes * (k*b.nodes + k*(b.nodes+b.outside) + (k*k+2*k)*b.edges)
}

// networkBytes is how much memory a pass over a network of so many nodes and edges
// touches that is not scratch: features, messages and beliefs.
func networkBytes(m modelShape, nodes, edges float64) float64 {
	return m.numberBytes * ((m.nodeFeatures+m.states)*nodes + (m.edgeFeatures+2*m.states)*edges)
}

// Roofline is the least time that some work can take on a machine.
type Roofline struct {
	Seconds float64
	// Bound is what takes that long: reading and writing ("bytes"), or arithmetic
	// ("operations").
	Bound string
}

// What can bound a phase.
const (
	BoundBytes      = "bytes"
	BoundOperations = "operations"
)

// roofline holds work against the ceilings: the larger of the bytes over the
// bandwidth of the levels where they live, and the operations over their measured
// rates. blockSet and networkSet are the sizes of what BlockBytes and NetworkBytes
// come back to.
func roofline(c *machine.Ceilings, precision string, w Work, blockSet, networkSet float64) Roofline {
	const nano = 1e-9
	moving := nano * (w.BlockBytes/c.RateAt(blockSet) + w.NetworkBytes/c.RateAt(networkSet))
	rates := c.Of(precision)
	computing := nano * (w.Flops/rates.FMA + w.Exps*rates.Exp + w.Logs*rates.Log)
	if moving >= computing {
		return Roofline{moving, BoundBytes}
	}
	return Roofline{computing, BoundOperations}
}
