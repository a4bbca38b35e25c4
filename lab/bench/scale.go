package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/machine"
)

// ScalePlan says what MeasureScale measures. QuickScalePlan and FullScalePlan are
// the ones to use; docs/explanation/performance.md describes them.
type ScalePlan struct {
	// Grids are the sides of square grids and BA the numbers of nodes of
	// Barabási–Albert graphs, both ascending.
	Grids, BA []int
	// TileHeight × TileWidth nodes of a grid are a block; they divide the sides. A
	// Barabási–Albert graph is cut into blocks of as many nodes, grown breadth first.
	TileHeight, TileWidth int
	States                int
	// Stretches is how many stretches of iterations are timed at least; more are taken
	// where a pass over all blocks needs more.
	Stretches int
	// MostMemory bounds what a network may need, in bytes. Those that need more are left
	// out.
	MostMemory int64
}

// QuickScalePlan goes to 2·10⁵ nodes, in less than half a minute.
func QuickScalePlan() ScalePlan {
	p := FullScalePlan()
	p.Grids, p.BA = []int{100, 200, 400}, []int{10_000, 50_000, 200_000}
	return p
}

// FullScalePlan goes to 4·10⁶ nodes, in a few minutes.
func FullScalePlan() ScalePlan {
	return ScalePlan{
		Grids: []int{100, 200, 500, 1000, 2000}, BA: []int{10_000, 50_000, 200_000, 1_000_000},
		TileHeight: 20, TileWidth: 50, States: 8, Stretches: 15,
		MostMemory: machine.AvailableMemory() / 2,
	}
}

// Scale is what MeasureScale found.
type Scale struct {
	Networks []NetworkScale `json:"networks"`
	// Growth compares the sizes of each kind of graph.
	Growth []Growth `json:"growth"`
	// Disturbance is that of Speed, over the stretches of all networks.
	Disturbance float64 `json:"disturbance"`
	// Left are networks that were left out, and why.
	Left []string `json:"left_out,omitempty"`
}

// NetworkScale is what it takes to learn on one network, on one thread.
type NetworkScale struct {
	Kind       string  `json:"kind"` // grid or ba
	Graph      string  `json:"graph" cost:"graph" iteration:"graph"`
	Nodes      int     `json:"nodes" cost:"nodes" iteration:"nodes"`
	Edges      int     `json:"edges" cost:"edges"`
	States     int     `json:"states"`
	Blocks     int     `json:"blocks" iteration:"blocks"`
	BlockNodes int     `json:"block_nodes"`
	Cut        float64 `json:"cut_fraction" iteration:"cut;percent"` // of the edges
	// Groups is the number of pairs of blocks that share edges, and TouchedGroups how
	// many of them a block is in, in the mean.
	Groups        int     `json:"groups"`
	TouchedGroups float64 `json:"touched_groups" iteration:"groups a block;%.1f"`

	BuildSeconds     float64 `json:"build_seconds" cost:"graph built;%.3f"`    // the graph
	PartitionSeconds float64 `json:"partition_seconds" cost:"blocks cut;%.3f"` // its blocks
	// SetupSeconds are from the call of learn.Fit to its first exact gradient: counting
	// numbers, messages, second moments of the features, statistics of the labels, and
	// a visit of every block.
	SetupSeconds float64 `json:"setup_seconds" cost:"set-up;%.3f"`
	// PassSeconds are those of the first pass of iterations over all blocks.
	PassSeconds float64 `json:"pass_seconds" cost:"first pass;%.3f"`
	// MsPerIteration is the mean over the iterations of this pass; Best and Median are
	// those of stretches of sizeIterations iterations.
	MsPerIteration       float64 `json:"ms_per_iteration" iteration:"ms per iteration;%.3f"`
	MsPerIterationBest   float64 `json:"ms_per_iteration_best" iteration:"best;%.3f"`
	MsPerIterationMedian float64 `json:"ms_per_iteration_median" iteration:"median;%.3f"`
	// IterationRatio and NsRatio are MsPerIterationMedian and NsPerEdge over those of the
	// smallest network of the kind, measured in the same turns.
	IterationRatio float64 `json:"ms_per_iteration_over_smallest" iteration:"over smallest;%.2f"`
	// NsPerEdge is a pass, but a later one than the first, per edge of the network.
	NsPerEdge float64 `json:"ns_per_edge" iteration:"ns per edge and pass;%.1f"`
	NsRatio   float64 `json:"ns_per_edge_over_smallest" iteration:"over smallest;%.2f"`

	// NeedBytes is what features, messages, graph, blocks and gradient should need by
	// the counts of needBytes.
	NeedBytes float64 `json:"need_bytes"`
	// PeakBytes is the most memory that the process had, from the building of the graph
	// to the end of the first pass; 0 where the system does not tell.
	PeakBytes        int64   `json:"peak_bytes" cost:"peak memory;bytes;–"`
	PeakBytesPerNode float64 `json:"peak_bytes_per_node" cost:"bytes per node;%.0f;–"`
}

// Growth is how much the cost varies over the sizes of one kind of graph: the
// largest over the smallest of the ratios to the smallest network.
type Growth struct {
	Kind           string  `json:"kind"`
	FromNodes      int     `json:"from_nodes"`
	ToNodes        int     `json:"to_nodes"`
	NsRatio        float64 `json:"ns_per_edge_ratio"`
	IterationRatio float64 `json:"ms_per_iteration_ratio"`
}

// scaleRun is a measurement on its way.
type scaleRun struct {
	ctx   context.Context
	plan  ScalePlan
	say   func(string)
	scale Scale
	// excess of the median stretch over the best, as a share of it, of every network.
	excess []float64
}

// MeasureScale measures building, partitioning and learning on networks of growing
// size, in blocks of one size. say is told what is measured next; it may be nil.
// When ctx ends, so does the measurement, with its error.
func MeasureScale(ctx context.Context, plan ScalePlan, say func(stage string)) (*Scale, error) {
	if say == nil {
		say = func(string) {}
	}
	r := &scaleRun{ctx: ctx, plan: plan, say: say}
	var grids, ba []scaleCase
	for _, side := range plan.Grids {
		grids = append(grids, plan.grid(side))
	}
	for _, nodes := range plan.BA {
		ba = append(ba, plan.ba(nodes))
	}
	for _, cases := range [][]scaleCase{grids, ba} {
		if err := r.measureKind(cases); err != nil {
			return nil, err
		}
	}
	r.scale.Disturbance = machine.Summarise(r.excess).Median
	return &r.scale, nil
}

// measureKind measures the networks of one kind. The smallest stays to be measured
// again in turns with each of the others, so that a disturbance of the machine
// hits both and ratios can be trusted.
func (r *scaleRun) measureKind(cases []scaleCase) error {
	var smallest *scaleNetwork
	var found []NetworkScale
	for _, c := range cases {
		if need := building * c.needBytes(); need > float64(r.plan.MostMemory) {
			r.scale.Left = append(r.scale.Left, fmt.Sprintf("%s: it needs about %.2g GB, and at most %.2g GB are to be used", c.name(), need/giga, float64(r.plan.MostMemory)/giga))
			continue
		}
		n, err := r.measure(c, smallest)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		if smallest == nil {
			smallest = n
			defer n.run.stop()
		}
		found = append(found, n.result)
	}
	r.scale.Networks = append(r.scale.Networks, found...)
	if len(found) > 0 {
		r.scale.Growth = append(r.scale.Growth, growthOf(found))
	}
	return nil
}

// measure measures one network. If it is the smallest, which stays, smallest is nil;
// of others only the result is left.
func (r *scaleRun) measure(c scaleCase, smallest *scaleNetwork) (*scaleNetwork, error) {
	n, err := r.begin(c)
	if err != nil {
		return nil, err
	}
	if smallest == nil {
		return n, r.timeStretches(n, n)
	}
	defer n.run.stop()
	err = r.timeStretches(n, smallest)
	return &scaleNetwork{result: n.result}, err
}

// growthOf compares networks of one kind, the smallest first.
func growthOf(networks []NetworkScale) Growth {
	spread := func(of func(*NetworkScale) float64) float64 {
		var ratios []float64
		for i := range networks {
			ratios = append(ratios, of(&networks[i]))
		}
		return slices.Max(ratios) / slices.Min(ratios)
	}
	return Growth{
		Kind: networks[0].Kind, FromNodes: networks[0].Nodes, ToNodes: networks[len(networks)-1].Nodes,
		NsRatio:        spread(func(n *NetworkScale) float64 { return n.NsRatio }),
		IterationRatio: spread(func(n *NetworkScale) float64 { return n.IterationRatio }),
	}
}

// timeStretches times iterations on a network in turns with the smallest of its kind:
// at least a pass over all blocks.
func (r *scaleRun) timeStretches(n, smallest *scaleNetwork) error {
	tasks := []machine.Task{n.run}
	if n != smallest {
		tasks = append(tasks, smallest.run)
	}
	stretches := max(r.plan.Stretches, (n.result.Blocks+sizeIterations-1)/sizeIterations)
	timings, err := machine.Interleave(r.ctx, machine.Rounds{Least: stretches}, tasks...)
	if err != nil {
		return err
	}
	n.take(timings[0], timings[len(timings)-1], smallest)
	r.excess = append(r.excess, timings[0].Median/timings[0].Minimum-1)
	return nil
}
