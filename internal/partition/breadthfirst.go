package partition

import "github.com/blockbp/blockbp/graph"

// BreadthFirst returns an assignment to exactly the given number of non-empty blocks, each grown breadth first from a
// node next to the blocks before it. A block is full when its share of the remaining work is reached; the work of a
// node is its number of incident edges plus one, as in Block.Work. A single node with more work than a share, such as
// a hub, is a block that exceeds it. Then nodes move between blocks for fewer edges to be cut (refine).
//
// The result depends on the graph alone. blocks is at most the number of nodes. Cost: O(nodes + edges).
func BreadthFirst(g *graph.Graph, blocks int) (of []int32) {
	w := &growth{
		g: g, of: make([]int32, g.NumNodes()), queuedBy: make([]int32, g.NumNodes()),
		nodesLeft: g.NumNodes(), workLeft: g.NumNodes() + 2*g.NumEdges(),
	}
	for s := range w.of {
		w.of[s], w.queuedBy[s] = unassigned, unassigned
	}
	for block := range int32(blocks) {
		w.grow(block, blocks-int(block))
	}
	refine(g, w.of, blocks)
	return w.of
}

// unassigned marks a node that no block has taken yet.
const unassigned = -1

// growth is the state of BreadthFirst between blocks.
type growth struct {
	g        *graph.Graph
	of       []int32 // [nodes] block, or unassigned
	queuedBy []int32 // [nodes] last block that queued the node, or unassigned

	queue []int32 // nodes met by the growing block, in the order of meeting
	head  int
	// border are nodes that earlier blocks met, oldest first; all that are still unassigned are next to a finished block.
	border     []int32
	borderHead int
	firstFree  int32 // nodes below it are assigned

	nodesLeft, workLeft int
}

// grow fills one block; blocksLeft counts it too.
func (w *growth) grow(block int32, blocksLeft int) {
	share := w.workLeft / blocksLeft
	work := 0
	w.queue, w.head = w.queue[:0], 0
	for w.nodesLeft > 0 {
		s := w.next(block)
		cost := w.g.Degree(s) + 1
		// The last block takes everything. Others leave a node for each block to
		// come, and take a node only if that brings them nearer to their share.
		if blocksLeft > 1 && work > 0 && (w.nodesLeft < blocksLeft || work+cost/2 > share) {
			break
		}
		w.head++
		w.of[s] = block
		w.nodesLeft--
		w.workLeft -= cost
		work += cost
		w.meet(s, block)
	}
	w.border = append(w.border, w.queue[w.head:]...)
}

// next returns the node at the head of the queue, which it fills with a new start if the block has nowhere to grow.
func (w *growth) next(block int32) int32 {
	if w.head == len(w.queue) {
		start := w.start()
		w.queuedBy[start] = block
		w.queue = append(w.queue, start)
	}
	return w.queue[w.head]
}

// start returns an unassigned node to grow from: the oldest on the border, which
// leaves no gaps behind, else the smallest.
func (w *growth) start() int32 {
	for ; w.borderHead < len(w.border); w.borderHead++ {
		if s := w.border[w.borderHead]; w.of[s] == unassigned {
			return s
		}
	}
	for w.of[w.firstFree] != unassigned {
		w.firstFree++
	}
	return w.firstFree
}

// meet queues the unassigned neighbours of s.
func (w *growth) meet(s, block int32) {
	for _, d := range w.g.Incoming(s) {
		t := w.g.Source(d)
		if w.of[t] == unassigned && w.queuedBy[t] != block {
			w.queuedBy[t] = block
			w.queue = append(w.queue, t)
		}
	}
}
