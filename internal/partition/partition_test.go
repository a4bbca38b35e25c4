package partition_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// must returns the value of a call that may not fail here.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// drawGraph returns a graph with few or many edges, often disconnected.
func drawGraph(t *rapid.T) *graph.Graph {
	n := rapid.IntRange(1, 40).Draw(t, "nodes")
	p := rapid.SampledFrom([]float64{0, 0.02, 0.1, 0.5, 1}).Draw(t, "probability")
	return oracle.Must(gen.ErdosRenyi(n, p, source(rapid.Uint64().Draw(t, "seed"))))(t)
}

// checkPartition checks everything that Partition and Block promise.
func checkPartition(t oracle.TB, p *partition.Partition) {
	checkNodes(t, p)
	checkEdges(t, p)
	checkGroups(t, p)
	checkIncoming(t, p)
}

// checkNodes: every node is in exactly one block, the one Of names, and a block's nodes ascend.
func checkNodes(t oracle.TB, p *partition.Partition) {
	total := 0
	for b := range p.Blocks {
		nodes := p.Blocks[b].Nodes
		total += len(nodes)
		if len(nodes) == 0 || !slices.IsSorted(nodes) {
			t.Fatalf("block %d has the nodes %v, want some, ascending", b, nodes)
		}
		for _, s := range nodes {
			oracle.MustEqual(t, p.Of[s], int32(b), "block of node %d, which block %d lists", s, b)
		}
	}
	oracle.MustEqual(t, total, p.Graph.NumNodes(), "nodes that blocks list")
}

// checkEdges: every edge is once in each block that has one of its ends, and nowhere else.
func checkEdges(t oracle.TB, p *partition.Partition) {
	times := make([]int, p.Graph.NumEdges())
	for b := range p.Blocks {
		for _, e := range p.Blocks[b].Edges {
			times[e]++
			if p.Of[p.Graph.U(e)] != int32(b) && p.Of[p.Graph.V(e)] != int32(b) {
				t.Fatalf("block %d lists edge %d, which has no end in it", b, e)
			}
		}
		oracle.MustEqual(t, len(slices.Compact(sorted(slices.Clone(p.Blocks[b].Edges)))), len(p.Blocks[b].Edges),
			"block %d: different edges of %v", b, p.Blocks[b].Edges)
	}
	for e, got := range times {
		want := 1
		if p.Of[p.Graph.U(int32(e))] != p.Of[p.Graph.V(int32(e))] {
			want = 2
		}
		oracle.MustEqual(t, got, want, "blocks that have edge %d", e)
	}
}

// checkElements: nodes and edges of all blocks are counted once each, though lists of edges may be in two.
func checkElements(t oracle.TB, p *partition.Partition) {
	nodes, edges := map[int32]bool{}, map[int32]bool{}
	for b := range p.Blocks {
		for _, s := range p.Blocks[b].Nodes {
			nodes[s] = true
		}
		for _, e := range p.Blocks[b].Edges {
			edges[e] = true
		}
	}
	oracle.MustEqual(t, p.Elements(), len(nodes)+len(edges), "elements of %d nodes and %d edges", len(nodes), len(edges))
}

func sorted(x []int32) []int32 { slices.Sort(x); return x }

// checkGroups: the groups of a block are consecutive runs that cover its edges, the inside first and then by ascending
// other block; a number means the same edges seen from both blocks; all numbers below NumGroups are used.
func checkGroups(t oracle.TB, p *partition.Partition) {
	type pair struct{ a, b int32 }
	edgesOf, pairOf := map[int32][]int32{}, map[int32]pair{}
	for b := range int32(len(p.Blocks)) {
		block := &p.Blocks[b]
		lo, previous := int32(0), int32(-1)
		for i, group := range block.Groups {
			if group.Lo != lo || group.Hi < group.Lo || i > 0 && group.Hi == group.Lo {
				t.Fatalf("group %d of block %d is the run %d:%d, want it to start at %d", i, b, group.Lo, group.Hi, lo)
			}
			lo = group.Hi
			edges, other := block.Edges[group.Lo:group.Hi], group.Other
			if i == 0 && other != b {
				t.Fatalf("the first group of block %d leads to block %d", b, other)
			}
			if i > 0 {
				if other <= previous || other == b {
					t.Fatalf("group %d of block %d leads to block %d after block %d", i, b, other, previous)
				}
				previous = other
			}
			for _, e := range edges {
				oracle.MustEqual(t, otherBlock(p, b, e), other, "edge %d of block %d: block of the group", e, b)
			}
			key := pair{min(b, other), max(b, other)}
			if known, ok := pairOf[group.ID]; ok && (known != key || !slices.Equal(edgesOf[group.ID], edges)) {
				t.Fatalf("group %d is %v with edges %v, and %v with edges %v", group.ID, known, edgesOf[group.ID], key, edges)
			}
			pairOf[group.ID], edgesOf[group.ID] = key, edges
		}
		oracle.MustEqual(t, int(lo), len(block.Edges), "groups of block %d end at", b)
	}
	for id := range int32(p.NumGroups) {
		if _, ok := pairOf[id]; !ok {
			t.Fatalf("group %d of %d is in no block", id, p.NumGroups)
		}
		if a, b := pairOf[id-1], pairOf[id]; id > 0 && (a.a > b.a || a.a == b.a && a.b >= b.b) {
			t.Fatalf("group %d is %v after %v", id, b, a)
		}
	}
	oracle.MustEqual(t, len(pairOf), p.NumGroups, "groups")
}

// otherBlock returns the block at the other end of an edge of block b.
func otherBlock(p *partition.Partition, b, e int32) int32 {
	return p.Of[p.Graph.U(e)] + p.Of[p.Graph.V(e)] - b
}

// checkIncoming: In lists the incoming directed edges of the nodes, and InEdge their places in Edges.
func checkIncoming(t oracle.TB, p *partition.Partition) {
	checkRuns(t, p, true)
	for b := range p.Blocks {
		block := &p.Blocks[b]
		if len(block.InStart) != len(block.Nodes)+1 || len(block.InEdge) != len(block.In) {
			t.Fatalf("block %d: %d starts for %d nodes, %d places for %d directed edges", b, len(block.InStart), len(block.Nodes), len(block.InEdge), len(block.In))
		}
		for i, at := range block.Order {
			s := block.Nodes[at]
			oracle.MustEqual(t, block.In[block.InStart[i]:block.InStart[i+1]], p.Graph.Incoming(s),
				"block %d, node %d: incoming", b, s)
		}
		for i, d := range block.In {
			oracle.MustEqual(t, block.InSource[i], p.Graph.Source(d),
				"block %d: the source of directed edge %d is said to be", b, d)
			oracle.MustEqual(t, block.Edges[block.InEdge[i]], d>>1, "block %d: directed edge %d is said to be edge", b, d)
		}
		checkOutgoing(t, p, b)
		oracle.MustEqual(t, block.Work(), len(block.Nodes)+len(block.In), "block %d: work", b)
	}
}

// checkOutgoing: in the order of visits, every directed edge from a node of the block to one that another block has.
func checkOutgoing(t oracle.TB, p *partition.Partition, b int) {
	block := &p.Blocks[b]
	var want []int32
	for _, at := range block.Order {
		for _, d := range p.Graph.Incoming(block.Nodes[at]) {
			if t := p.Graph.Source(d); int(p.Of[t]) != b && slices.Contains(p.Blocks[p.Of[t]].Nodes, t) {
				want = append(want, d^1)
			}
		}
	}
	oracle.MustEqual(t, block.Out, want, "block %d: directed edges out", b)
	for i, d := range block.Out {
		if block.OutSource[i] != p.Graph.Source(d) || block.Edges[block.OutEdge[i]] != d>>1 {
			e := block.Edges[block.OutEdge[i]]
			t.Fatalf("block %d: directed edge %d out is said to be edge %d, from %d", b, d, e, block.OutSource[i])
		}
	}
}

// checkRuns: the order has every node once, in runs without neighbours, and visits
// neighbours in the order of Nodes if that is asked for.
func checkRuns(t oracle.TB, p *partition.Partition, inOrder bool) {
	for b := range p.Blocks {
		block := &p.Blocks[b]
		last := len(block.Runs) - 1
		if len(block.Order) != len(block.Nodes) || block.Runs[0] != 0 || int(block.Runs[last]) != len(block.Nodes) {
			t.Fatalf("block %d: runs %v of %d nodes in the order of %d", b, block.Runs, len(block.Order), len(block.Nodes))
		}
		runOf, place := map[int32]int{}, map[int32]int{}
		for r := range last {
			if block.Runs[r] >= block.Runs[r+1] {
				t.Fatalf("block %d: run %d of %v is empty", b, r, block.Runs)
			}
			for _, at := range block.Order[block.Runs[r]:block.Runs[r+1]] {
				runOf[block.Nodes[at]], place[block.Nodes[at]] = r, int(at)
			}
		}
		oracle.MustEqual(t, len(runOf), len(block.Nodes), "block %d: nodes in the order", b)
		for s, r := range runOf {
			for _, d := range p.Graph.Incoming(s) {
				if other, ok := runOf[p.Graph.Source(d)]; ok && (other == r || inOrder &&
					(other < r) != (place[p.Graph.Source(d)] < place[s])) {
					t.Fatalf("block %d: nodes %d and %d are neighbours, at places %d and %d, in runs %d and %d", b, s, p.Graph.Source(d), place[s], place[p.Graph.Source(d)], r, other)
				}
			}
		}
	}
}

// TestColoured: there are no more colours than the most neighbours of a node and one, of all nodes and of some.
func TestColoured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, most := drawGraph(t), 0
		keep := make([]bool, g.NumNodes())
		for s := range keep {
			keep[s], most = s%3 > 0, max(most, g.Degree(int32(s)))
		}
		whole := partition.Coloured(g)
		for _, p := range []*partition.Partition{whole, whole.Restrict(keep)} {
			checkRuns(t, p, false)
			if runs := len(p.Blocks[0].Runs) - 1; runs > most+1 {
				t.Fatalf("%d runs, and at most %d neighbours", runs, most)
			}
		}
	})
}

func TestFromAssignment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		n := g.NumNodes()
		blocks := rapid.IntRange(1, n).Draw(t, "blocks")
		of := make([]int32, n)
		for i, s := range source(rapid.Uint64().Draw(t, "order")).Perm(n) {
			of[s] = int32(i % blocks)
		}
		p := oracle.Must(partition.FromAssignment(g, of, blocks))(t)
		checkPartition(t, p)
		checkCut(t, p)
	})
}

// checkCut compares the share of edges that are cut with a count by the assignment.
func checkCut(t oracle.TB, p *partition.Partition) {
	cut := 0
	for e := range int32(p.Graph.NumEdges()) {
		if p.Of[p.Graph.U(e)] != p.Of[p.Graph.V(e)] {
			cut++
		}
	}
	if got, want := partition.CutShare(p.Graph, p.Of), float64(cut)/float64(max(1, p.Graph.NumEdges())); got != want {
		t.Fatalf("a share of %v of the edges is cut, want %v", got, want)
	}
}

func TestWhole(t *testing.T) {
	empty := partition.Whole(&graph.Graph{})
	if len(empty.Blocks) != 1 || len(empty.Blocks[0].Nodes) != 0 || empty.NumGroups != 1 {
		t.Errorf("the empty graph gives %+v", empty)
	}
}

func TestSquareTiles(t *testing.T) {
	for _, c := range []struct{ count, rows, cols, tileRows, tileCols int }{
		{20, 200, 200, 4, 5}, {1, 7, 9, 1, 1}, {60, 100, 400, 4, 15}, {61, 200, 200, 8, 8}, {100, 4, 5, 4, 5}, {6, 1, 100, 1, 6}, {6, 100, 1, 6, 1},
	} {
		if r, w := partition.SquareTiles(c.count, c.rows, c.cols); r != c.tileRows || w != c.tileCols {
			t.Errorf("%d tiles of a %d×%d grid: %d×%d, want %d×%d", c.count, c.rows, c.cols, r, w, c.tileRows, c.tileCols)
		}
	}
}

func TestTilesAreEvenRectangles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 20).Draw(t, "rows"), rapid.IntRange(1, 20).Draw(t, "cols")
		tileRows := rapid.IntRange(1, rows).Draw(t, "tile rows")
		tileCols := rapid.IntRange(1, cols).Draw(t, "tile columns")
		of := partition.Tiles(rows, cols, tileRows, tileCols)
		oracle.MustEqual(t, len(of), rows*cols, "nodes")
		heights, widths := make([]int, tileRows), make([]int, tileCols)
		for r := range rows {
			heights[int(of[r*cols])/tileCols]++
		}
		for c := range cols {
			widths[int(of[c])%tileCols]++
		}
		if slices.Max(heights)-slices.Min(heights) > 1 || slices.Max(widths)-slices.Min(widths) > 1 {
			t.Fatalf("heights %v, widths %v", heights, widths)
		}
		for s, b := range of {
			row, col := of[s/cols*cols]/int32(tileCols), of[s%cols]%int32(tileCols)
			oracle.MustEqual(t, b, row*int32(tileCols)+col, "tile of node %d, in row %d, column %d", s, row, col)
		}
	})
}

func TestRanges(t *testing.T) {
	oracle.Equal(t, partition.Ranges(7, 3), []int32{0, 0, 1, 1, 2, 2, 2}, "ranges of seven")
	oracle.Equal(t, len(partition.Ranges(0, 1)), 0, "ranges of no nodes")
}

func TestBreadthFirstFillsEveryBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		blocks := rapid.IntRange(1, g.NumNodes()).Draw(t, "blocks")
		of := partition.BreadthFirst(g, blocks)
		p := oracle.Must(partition.FromAssignment(g, of, blocks))(t)
		checkPartition(t, p)
		oracle.MustEqual(t, of, partition.BreadthFirst(g, blocks), "two calls differ")
	})
}

func TestQuality(t *testing.T) {
	grid := must(graph.Grid(200, 200, graph.GridOptions{}))
	scaleFree := must(gen.BarabasiAlbert(20000, 2, source(1)))
	tree := must(gen.Tree(20000, source(1)))
	tiles := partition.Tiles(200, 200, 4, 5)
	tests := []struct {
		name          string
		g             *graph.Graph
		of            []int32
		cut, cutSlack float64
		workMax       float64 // upper limit
	}{
		{"grid tiles", grid, tiles, 0.0176, 0.0001, 1.01},
		{"grid ranges", grid, partition.Ranges(40000, 20), 0.0477, 0.0001, 1.01},
		{"grid breadth first", grid, partition.BreadthFirst(grid, 20), 0.0258, 0.002, 1.02},
		{"scale-free ranges", scaleFree, partition.Ranges(20000, 20), 0.91, 0.01, 4.5},
		{"scale-free breadth first", scaleFree, partition.BreadthFirst(scaleFree, 20), 0.433, 0.01, 1.1},
		{"tree breadth first", tree, partition.BreadthFirst(tree, 20), 0.008, 0.003, 1.05},
	}
	for _, test := range tests {
		p := must(partition.FromAssignment(test.g, test.of, 20))
		cut := partition.CutShare(test.g, p.Of)
		if d := cut - test.cut; d > test.cutSlack || -d > test.cutSlack {
			t.Errorf("%s: a share of %v of the edges is cut, want %v ± %v", test.name, cut, test.cut, test.cutSlack)
		}
		if got := workBalance(p); got > test.workMax {
			t.Errorf("%s: largest over mean work is %.3f, want up to %v", test.name, got, test.workMax)
		}
	}
}

// workBalance returns the largest over the mean work of a block.
func workBalance(p *partition.Partition) float64 {
	largest, total := 0, 0
	for b := range p.Blocks {
		work := p.Blocks[b].Work()
		largest, total = max(largest, work), total+work
	}
	return float64(largest) * float64(len(p.Blocks)) / float64(total)
}

func TestErrors(t *testing.T) {
	for want, c := range map[string]struct {
		of     []int32
		blocks int
	}{
		"2 assignments for 3 nodes":              {[]int32{0, 0}, 1},
		"number of blocks is 0, want at least 1": {[]int32{0, 0, 0}, 0},
		"node 1 is in block 2, want 0 to 1":      {[]int32{0, 2, 1}, 2},
	} {
		oracle.Fails(partition.FromAssignment(must(gen.Chain(3)), c.of, c.blocks))(t, want)
	}
}

// TestFromAssignmentAllocations: the lists of all blocks lie one behind the other, so that a thousand blocks are not
// thousands of little slices: one of groups each, and scratch that grows by doubling.
func TestFromAssignmentAllocations(t *testing.T) {
	g := must(gen.BarabasiAlbert(4000, 2, source(3)))
	const shared = 48
	for _, blocks := range []int{10, 100, 1000} {
		of := partition.BreadthFirst(g, blocks)
		allocations := testing.AllocsPerRun(1, func() { must(partition.FromAssignment(g, of, blocks)) })
		if allocations > float64(blocks+shared) {
			t.Errorf("%d blocks take %v allocations, want at most %d", blocks, allocations, blocks+shared)
		}
	}
}
