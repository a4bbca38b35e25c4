package bench

import (
	"fmt"
	"time"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// scaleCase is a network to be measured.
type scaleCase struct {
	spec      synthetic.GraphSpec
	states    int
	nodes     int
	edges     int
	blocks    int
	assign    func(*graph.Graph) ([]int32, error)
	groups    int // of edges that a contribution is kept of, at most
	keptEdges int // edges that beliefs are kept of, at most
}

// grid is a square grid in tiles.
func (p *ScalePlan) grid(side int) scaleCase {
	rows, cols := max(1, side/p.TileHeight), max(1, side/p.TileWidth)
	c := scaleCase{
		spec: gridSpec(side), states: p.States,
		nodes: side * side, edges: 2 * side * (side - 1), blocks: rows * cols,
		assign: func(*graph.Graph) ([]int32, error) {
			of, _, err := partition.Tiles(side, side, rows, cols)
			return of, err
		},
	}
	c.groups = 3 * c.blocks // a tile, with the one to its right, with the one below
	return c
}

// ba is a Barabási–Albert graph with two edges per new node, grown into blocks.
func (p *ScalePlan) ba(nodes int) scaleCase {
	spec := baSpec(nodes)
	blocks := max(1, nodes/(p.TileHeight*p.TileWidth))
	c := scaleCase{
		spec: spec, states: p.States,
		nodes: nodes, edges: spec.Attach * nodes, blocks: blocks,
		assign: func(g *graph.Graph) ([]int32, error) { return partition.BreadthFirst(g, blocks) },
	}
	// Where there are so many pairs of blocks that beliefs take less, they are kept.
	m := speedShape(c.states)
	if pairs := blocks * (blocks - 1) / 2; m.contribution()*float64(pairs) < m.perKeptEdge()*float64(c.edges) {
		c.groups = blocks + pairs
	} else {
		c.groups, c.keptEdges = blocks, c.edges
	}
	return c
}

func (c *scaleCase) name() string { return nameOf(c.spec) }

// Bytes per node and per edge besides features, messages and beliefs, and
// contributions.
const (
	// topologyPerNode: offset of the incoming edges 4, block 4, position in it 8; label
	// and states 8; c_s and ρ_s 16.
	topologyPerNode = 40
	// topologyPerEdge: ends 8, incoming edges 8; edge lists of the blocks 8 at most, their
	// incoming edges 16; c_uv and its class 9.
	topologyPerEdge = 49
	// building is what is needed besides, as a share: what is thrown away after building,
	// and the program.
	building = 1.25
)

// needBytes is about how much memory learning on this network takes.
func (c *scaleCase) needBytes() float64 {
	m := speedShape(c.states)
	nodes, edges := float64(c.nodes), float64(c.edges)
	return networkBytes(m, nodes, edges) + topologyPerNode*nodes + topologyPerEdge*edges + numberBytes*(m.contribution()*float64(c.groups)+m.perKeptEdge()*float64(c.keptEdges))
}

// scaleNetwork is a network on which learning has begun.
type scaleNetwork struct {
	result NetworkScale
	run    *watchedRun
}

// begin builds a network and learns on it for a pass.
func (r *scaleRun) begin(c scaleCase) (*scaleNetwork, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	machine.ForgetPeak()
	n := &scaleNetwork{result: NetworkScale{Kind: c.spec.Kind, Graph: c.name(), States: c.states, NeedBytes: c.needBytes()}}
	r.say(fmt.Sprintf("%s: building, partitioning", c.name()))
	network, err := c.build(&n.result)
	if err != nil {
		return nil, err
	}
	problem, err := network.problem(c.states)
	if err != nil {
		return nil, err
	}
	network.node, network.edge = nil, nil // the problem has them
	r.say(fmt.Sprintf("%s: learning in %d blocks", c.name(), n.result.Blocks))
	watch := &startWatch{perPass: n.result.Blocks, last: time.Now()}
	settings := network.settings()
	settings.Recorder = watch.Record
	n.run = newStretches(r.ctx, problem, settings, n.result.Blocks, sizeIterations)
	if _, err := n.run.Run(); err != nil {
		n.run.stop()
		return nil, err
	}
	n.result.SetupSeconds, n.result.PassSeconds = watch.setup, watch.pass
	n.result.PeakBytes, n.result.PeakBytesPerNode = watch.peak, float64(watch.peak)/float64(n.result.Nodes)
	return n, nil
}

// build makes the graph and its blocks, and draws features.
func (c *scaleCase) build(result *NetworkScale) (*speedNetwork, error) {
	n, err := newSpeedNetwork(c.spec)
	if err != nil {
		return nil, err
	}
	started, g := time.Now(), n.graph
	of, err := c.assign(g)
	if err != nil {
		return nil, err
	}
	if err := n.cutInto(of, c.blocks); err != nil {
		return nil, err
	}
	result.BuildSeconds = n.built.Seconds()
	result.PartitionSeconds = time.Since(started).Seconds()
	result.Nodes, result.Edges, result.Blocks, result.BlockNodes = g.NumNodes(), g.NumEdges(), c.blocks, g.NumNodes()/c.blocks
	result.Cut, result.Groups = n.part.Quality().CutFraction, n.part.NumGroups
	result.TouchedGroups = float64(2*n.part.NumGroups-c.blocks) / float64(c.blocks)
	return n, nil
}

// startWatch times the beginning of the first run that it sees.
type startWatch struct {
	perPass     int
	last        time.Time // end of what was timed last
	setup, pass float64   // seconds
	peak        int64     // bytes, at the end of the pass; 0: unknown
}

// Record is a recorder of learn.Settings.
func (w *startWatch) Record(e learn.Event) error {
	switch {
	case e.Check && w.setup == 0:
		w.setup = time.Since(w.last).Seconds()
		w.last = time.Now()
	case !e.Check && e.Iteration == w.perPass && w.pass == 0:
		w.pass = time.Since(w.last).Seconds()
		w.peak, _ = machine.PeakMemory()
	}
	return nil
}

// take takes rates from the times of stretches, those of the smallest network beside.
func (n *scaleNetwork) take(t, beside machine.Timing, smallest *scaleNetwork) {
	s := &n.result
	perPass := func(n *NetworkScale, perTurn float64) float64 {
		return giga * perTurn / sizeIterations * float64(n.Blocks) / float64(n.Edges)
	}
	s.NsPerEdge = perPass(s, t.Mean)
	s.MsPerIteration = milli * t.Mean / sizeIterations
	s.MsPerIterationBest, s.MsPerIterationMedian = milli*t.Minimum/sizeIterations, milli*t.Median/sizeIterations
	s.NsRatio = s.NsPerEdge / perPass(&smallest.result, beside.Mean)
	s.IterationRatio = t.Median / beside.Median
}
