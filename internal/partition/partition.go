package partition

import (
	"fmt"

	"github.com/blockbp/blockbp/graph"
)

// Partition is a frozen division of a graph's nodes into blocks together with the sub-network of every block. It may
// be shared by all instances that have the same graph.
type Partition struct {
	Graph  *graph.Graph
	Blocks []Block
	Of     []int32 // [nodes] block of each node
	// NumGroups is the number of edge groups: unordered pairs {a, b} of blocks,
	// a = b included, that share at least one edge or, for a = b, one node.
	NumGroups int
	Coloured  bool // runs are colours (chooseRuns)
}

// Block is the sub-network F_i = (V_i, E_i): its nodes, and every edge with at least one end among them.
type Block struct {
	// Nodes are V_i, ascending.
	Nodes []int32
	// Edges are E_i: first the edges inside the block, then the cut edges by
	// ascending number of the block at their other end.
	Edges []int32
	// Groups divides Edges: the group of the inside comes first and always
	// exists, even without edges, because it also carries the nodes.
	Groups []Group
	// Order [len(Nodes)] are the positions in Nodes in the order in which message passing visits them, and Runs [runs+1]
	// divides it: run r is Order[Runs[r]:Runs[r+1]]. No two nodes of a run are neighbours, so that they can be updated
	// at the same time.
	Order []int32
	Runs  []int32
	// InStart [len(Nodes)+1] and In, InEdge, InSource [directed edges into V_i] are,
	// for the i-th node of Order, the directed edges In[InStart[i]:InStart[i+1]] into
	// it, the position in Edges of the edge that each belongs to, and its source.
	InStart  []int32
	In       []int32
	InEdge   []int32
	InSource []int32
	// Out, OutEdge, OutSource [directed edges out of V_i] are the directed edges that lead to nodes of other
	// blocks, from nodes in the order of Order, the position in Edges of each, and its source.
	Out       []int32
	OutEdge   []int32
	OutSource []int32
}

// Group is a run of Block.Edges whose ends lie in the same pair of blocks.
type Group struct {
	ID     int32 // number of the pair of blocks, the same seen from both blocks
	Other  int32 // the block at the other end: the block itself for its inside
	Lo, Hi int32 // the run Edges[Lo:Hi]
}

// Work returns the message updates of one sweep over the block plus its node
// updates: what a sweep costs, in units that do not depend on the machine.
func (b *Block) Work() int { return len(b.In) + len(b.Nodes) }

// Elements returns how many nodes and edges the block has: what grounding it, and its part of a gradient, cost.
func (b *Block) Elements() int { return len(b.Nodes) + len(b.Edges) }

// Elements returns how many nodes and edges all blocks have together, each once: less
// than the sum over the blocks, of which two have every cut edge.
func (p *Partition) Elements() (n int) {
	for b := range p.Blocks {
		block := &p.Blocks[b]
		n += len(block.Nodes)
		for _, group := range block.Groups {
			if group.Other >= int32(b) {
				n += int(group.Hi - group.Lo)
			}
		}
	}
	return n
}

// EachList calls do for every list of node and edge numbers, which may put one with the same numbers in its place.
func (p *Partition) EachList(do func(list *[]int32)) {
	do(&p.Of)
	for b := range p.Blocks {
		p.Blocks[b].EachList(do)
	}
}

// EachList is that of one block.
func (b *Block) EachList(do func(list *[]int32)) {
	for _, list := range [...]*[]int32{&b.Nodes, &b.Edges, &b.Order, &b.Runs, &b.InStart, &b.In, &b.InEdge, &b.InSource,
		&b.Out, &b.OutEdge, &b.OutSource} {
		do(list)
	}
}

// CutShare returns the share of edges that lie between blocks, of [nodes] being the block of each node.
func CutShare(g *graph.Graph, of []int32) float64 {
	cut := 0
	u, v := g.Ends()
	for e := range u {
		if of[u[e]] != of[v[e]] {
			cut++
		}
	}
	return float64(cut) / float64(max(1, len(u)))
}

// FromAssignment builds the blocks of the partition in which node s belongs to block of[s], from 0 to numBlocks-1; a
// block may be empty. of is kept without copying. Cost: O(nodes + edges) and sorting, for each block, its neighbours.
func FromAssignment(g *graph.Graph, of []int32, numBlocks int) (*Partition, error) {
	if len(of) != g.NumNodes() {
		return nil, fmt.Errorf("partition: %d assignments for %d nodes", len(of), g.NumNodes())
	}
	if numBlocks < 1 {
		return nil, fmt.Errorf("partition: number of blocks is %d, want at least 1", numBlocks)
	}
	for s, b := range of {
		if b < 0 || int(b) >= numBlocks {
			return nil, fmt.Errorf("partition: node %d is in block %d, want 0 to %d", s, b, numBlocks-1)
		}
	}
	return (&Partition{Graph: g, Of: of}).divide(numBlocks), nil
}

// divide makes the blocks of an assignment.
func (p *Partition) divide(numBlocks int) *Partition {
	p.Blocks = make([]Block, numBlocks)
	p.distributeNodes()
	p.orderRuns()
	p.distributeEdges()
	p.indexMessages(nil)
	return p
}

// Whole returns the partition into a single block: the setting of full BP and of inner-dual learning.
func Whole(g *graph.Graph) *Partition {
	return (&Partition{Graph: g, Of: make([]int32, g.NumNodes())}).divide(1)
}

// Coloured is Whole with nodes in another order: of every window first those of one colour, of which no two are
// neighbours, then those of the next. There are few colours, so that many nodes are updated at a time.
func Coloured(g *graph.Graph) *Partition {
	return (&Partition{Graph: g, Of: make([]int32, g.NumNodes()), Coloured: true}).divide(1)
}

func (p *Partition) distributeNodes() {
	count := make([]int, len(p.Blocks))
	for _, b := range p.Of {
		count[b]++
	}
	flat := make([]int32, len(p.Of))
	for b := range p.Blocks {
		p.Blocks[b].Nodes, flat = flat[:0:count[b]], flat[count[b]:]
	}
	for s, b := range p.Of {
		p.Blocks[b].Nodes = append(p.Blocks[b].Nodes, int32(s))
	}
}

// indexMessages records, per block, the directed edges into its nodes and those out of it, and where in the block's
// edge list each of them is found. With keep, of all nodes, none leads out to a node that is not kept.
func (p *Partition) indexMessages(keep []bool) {
	nodes, incoming, cut := 0, 0, 0
	for b := range p.Blocks {
		block := &p.Blocks[b]
		nodes += len(block.Nodes)
		cut += len(block.Edges) - int(block.Groups[0].Hi)
		for _, s := range block.Nodes {
			incoming += p.Graph.Degree(s)
		}
	}
	// The lists of all blocks lie one behind the other.
	starts := make([]int32, nodes+len(p.Blocks))
	in, inEdge, inSource := make([]int32, incoming), make([]int32, incoming), make([]int32, incoming)
	out, outEdge, outSource := make([]int32, cut), make([]int32, cut), make([]int32, cut)
	local := make([]int32, p.Graph.NumEdges())
	for b := range p.Blocks {
		block := &p.Blocks[b]
		for i, e := range block.Edges {
			local[e] = int32(i)
		}
		block.InStart, starts = starts[:len(block.Nodes)+1:len(block.Nodes)+1], starts[len(block.Nodes)+1:]
		n, m := int32(0), int32(0)
		for i, at := range block.Order {
			s := block.Nodes[at]
			for _, d := range p.Graph.Incoming(s) {
				t := p.Graph.Source(d)
				in[n], inEdge[n], inSource[n] = d, local[d>>1], t
				n++
				if int(p.Of[t]) != b && (keep == nil || keep[t]) {
					out[m], outEdge[m], outSource[m] = d^1, local[d>>1], s
					m++
				}
			}
			block.InStart[i+1] = n
		}
		block.In, in = in[:n:n], in[n:]
		block.InEdge, inEdge = inEdge[:n:n], inEdge[n:]
		block.InSource, inSource = inSource[:n:n], inSource[n:]
		block.Out, out = out[:m:m], out[m:]
		block.OutEdge, outEdge = outEdge[:m:m], outEdge[m:]
		block.OutSource, outSource = outSource[:m:m], outSource[m:]
	}
}
