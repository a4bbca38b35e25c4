package partition

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/blockbp/blockbp/graph"
)

// ErrNoMETIS says that the METIS library cannot be used here, and how to get it.
var ErrNoMETIS = errors.New("partition: the METIS 5 library is not available; install it " +
	"(Debian, Ubuntu: apt-get install libmetis5; Fedora: dnf install metis; macOS: brew install metis) " +
	"or choose another partition")

// metisNodesPerBlock is the least number of nodes per block for which METIS is
// asked. Below, its bisections run out of nodes, which it reports on standard
// output, where results belong.
const metisNodesPerBlock = 4

// METIS returns the assignment to blocks found by the multilevel k-way
// partitioning of METIS (Karypis & Kumar 1998), which cuts few edges and gives
// the blocks about the same work; the work of a node is its number of incident
// edges plus one, as in Block.Work. Blocks that METIS leaves empty get a node
// of the fullest ones, so that each has at least one.
//
// The library libmetis.so.5 is loaded when this is first called. Without it,
// and in programs built with the tag nometis or for systems other than Linux
// and macOS on amd64 and arm64, the error is ErrNoMETIS.
//
// With fewer than 4 nodes per block, or without edges, METIS is not asked and
// the result is that of BreadthFirst.
//
// Seed 0 gives METIS the nodes in their own order; any other seed in a random
// order drawn from it. The same graph, seed and library give the same result,
// but another version of the library may give another: keep the assignment
// where a run must be repeatable.
//
// It is an error if blocks is below 1 or above the number of nodes, or if
// nodes + 2·edges exceeds MaxInt32.
func METIS(g *graph.Graph, blocks int, seed uint64) (of []int32, err error) {
	n := g.NumNodes()
	if err := checkBlocks(n, blocks); err != nil {
		return nil, err
	}
	if size := int64(n) + 2*int64(g.NumEdges()); size > math.MaxInt32 {
		return nil, fmt.Errorf("partition: METIS on a graph with nodes + 2·edges = %d, at most %d is supported",
			size, math.MaxInt32)
	}
	library, err := loadMETIS()
	if err != nil {
		return nil, err
	}
	if blocks == 1 || g.NumEdges() == 0 || n < blocks*metisNodesPerBlock {
		return BreadthFirst(g, blocks)
	}
	order := metisOrder(n, seed)
	part, err := library.partition(relabel(g, order, meanBlockWork(g, blocks)), blocks)
	if err != nil {
		return nil, err
	}
	of = make([]int32, n)
	for label, s := range order {
		of[s] = part[label]
	}
	fillEmptyBlocks(g, of, blocks)
	return of, nil
}

// loadMETIS loads the library once for the whole process.
var loadMETIS = sync.OnceValues(openMETIS)

// weightedCSR is a graph as METIS wants it: the neighbours of node s are
// adjacent[start[s]:start[s+1]].
type weightedCSR struct {
	start, adjacent []int32
	weight          []int32 // [nodes] work of the node
}

// metisOrder returns the node that each label stands for. The seed acts through
// the labels because METIS's own seed is option 8 in version 5.1 and option 9,
// with another meaning of 8, in version 5.2.
func metisOrder(n int, seed uint64) []int32 {
	order := make([]int32, n)
	for s := range order {
		order[s] = int32(s)
	}
	if seed != 0 {
		rng := rand.New(rand.NewPCG(seed, 0))
		rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

// meanBlockWork returns the mean work of a block.
func meanBlockWork(g *graph.Graph, blocks int) int {
	return (g.NumNodes() + 2*g.NumEdges()) / blocks
}

// relabel returns the graph in which node order[label] is called label. No node
// weighs more than heaviest: a hub with more work than a block's share cannot
// be balanced, and METIS would run out of nodes trying.
func relabel(g *graph.Graph, order []int32, heaviest int) weightedCSR {
	label := make([]int32, len(order))
	for l, s := range order {
		label[s] = int32(l)
	}
	c := weightedCSR{
		start:    make([]int32, 1, len(order)+1),
		adjacent: make([]int32, 0, 2*g.NumEdges()),
		weight:   make([]int32, 0, len(order)),
	}
	for _, s := range order {
		for _, d := range g.Incoming(s) {
			c.adjacent = append(c.adjacent, label[g.Source(d)])
		}
		c.start = append(c.start, int32(len(c.adjacent)))
		c.weight = append(c.weight, int32(min(heaviest, g.Degree(s)+1)))
	}
	return c
}

// fillEmptyBlocks moves single nodes into the empty blocks: rounds over the
// blocks, those with the most work first, take the last node of each block that
// keeps at least one. There must be at least as many nodes as blocks.
func fillEmptyBlocks(g *graph.Graph, of []int32, blocks int) {
	nodes, work := make([][]int32, blocks), make([]int, blocks)
	for s, b := range of {
		nodes[b] = append(nodes[b], int32(s))
		work[b] += g.Degree(int32(s)) + 1
	}
	var empty, donors []int32
	for b := range int32(blocks) {
		if len(nodes[b]) == 0 {
			empty = append(empty, b)
		} else {
			donors = append(donors, b)
		}
	}
	slices.SortStableFunc(donors, func(a, b int32) int { return work[b] - work[a] })
	for len(empty) > 0 {
		for _, b := range donors {
			last := len(nodes[b]) - 1
			if last < 1 || len(empty) == 0 {
				continue
			}
			of[nodes[b][last]] = empty[0]
			nodes[b], empty = nodes[b][:last], empty[1:]
		}
	}
}
