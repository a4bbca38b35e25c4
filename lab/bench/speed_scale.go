package bench

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// ThreadSpeed is a whole iteration by some threads, over several instances or over
// several blocks of one network.
type ThreadSpeed struct {
	Graph                string  `json:"graph" table:"graph"`
	Instances            int     `json:"instances" table:"instances"`
	BlocksAtATime        int     `json:"blocks_at_a_time" table:"blocks at a time"`
	Threads              int     `json:"threads" table:"threads"`
	MsPerIteration       float64 `json:"ms_per_iteration" table:"ms per iteration;%.3f"`
	MsPerIterationMedian float64 `json:"ms_per_iteration_median" table:"median;%.3f"`
	NsPerEdge            float64 `json:"ns_per_edge" table:"ns per edge;%.1f"`
	// Speedup is over one thread.
	Speedup float64 `json:"speedup" table:"times one thread;%.2f"`
}

// threads measures whole iterations on several instances, and on one large network.
func (r *speedRun) threads() error {
	n, p, err := r.manyInstances()
	if err != nil {
		return err
	}
	if err := n.cut(p); err != nil {
		return err
	}
	if err := r.threadsOn(n, p); err != nil {
		return err
	}
	side := r.plan.ThreadSide
	if need := sizeBytes(side, r.plan.ReferenceStates); need > float64(r.plan.MostMemory) {
		r.leave(fmt.Sprintf("threads on a network of %d nodes: it needs about %.0f MB", side*side, need/1e6))
		return nil
	}
	if n, p, err = cutNetwork(gridSpec(side), r.plan.ReferenceStates); err != nil {
		return err
	}
	return r.threadsOn(n, p)
}

// threadsOn measures with one thread, two and one per core, in turns.
func (r *speedRun) threadsOn(n *speedNetwork, p learn.Problem) error {
	counts := slices.Compact([]int{1, min(2, runtime.GOMAXPROCS(0)), runtime.GOMAXPROCS(0)})
	r.say(fmt.Sprintf("threads: %s, instances: %d, blocks at a time: %d, threads: %d", n.name, len(p.Data), n.together, counts))
	var runs []*watchedRun
	for _, threads := range counts {
		settings := n.settings()
		settings.Threads = threads
		runs = append(runs, newPasses(r.ctx, p, settings))
	}
	timings, err := r.inTurns(1, runs...)
	if err != nil {
		return err
	}
	edges := float64(len(p.Data) * n.graph.NumEdges())
	for i, t := range timings {
		iterations := float64(runs[i].done[0].iterations)
		r.speed.Threads = append(r.speed.Threads, ThreadSpeed{
			Graph: n.name, Instances: len(p.Data), BlocksAtATime: n.together, Threads: counts[i],
			MsPerIteration: milli * t.Minimum / iterations, MsPerIterationMedian: milli * t.Median / iterations,
			NsPerEdge: giga * t.Minimum / edges, Speedup: timings[0].Minimum / t.Minimum,
		})
	}
	return nil
}

// manyInstances is learning from several instances on one grid, each with features
// of its own.
func (r *speedRun) manyInstances() (*speedNetwork, learn.Problem, error) {
	n, err := newSpeedNetwork(gridSpec(r.plan.ThreadGrid))
	if err != nil {
		return nil, learn.Problem{}, err
	}
	p, err := n.problem(r.plan.ReferenceStates)
	source := synthetic.Synthetic{Seed: speedSeed}
	for i := 1; i < r.plan.ThreadInstances && err == nil; i++ {
		var next learn.Problem
		n.draw(source.Source(synthetic.StreamFeatures, uint64(i)))
		next, err = n.problem(r.plan.ReferenceStates)
		p.Data = append(p.Data, next.Data...)
	}
	return n, p, err
}

// SizeSpeed is a whole iteration on a grid in blocks that do not grow with it.
type SizeSpeed struct {
	Nodes                int     `json:"nodes" table:"nodes"`
	Edges                int     `json:"edges" table:"edges"`
	Blocks               int     `json:"blocks" table:"blocks"`
	BlockNodes           int     `json:"block_nodes" table:"nodes per block"`
	MsPerIteration       float64 `json:"ms_per_iteration" table:"ms per iteration;%.3f"`
	MsPerIterationMedian float64 `json:"ms_per_iteration_median" table:"median;%.3f"`
	// NsPerEdge is a pass over all blocks per edge of the network.
	NsPerEdge float64 `json:"ns_per_edge" table:"ns per edge and pass;%.1f"`
}

// sizeIterations is how many iterations on a network of some size are timed at a
// time: as many for each size, so that a disturbance hits all alike.
const sizeIterations = 40

// sizes measures whole iterations on larger and larger grids, in turns.
func (r *speedRun) sizes() error {
	var networks []*speedNetwork
	var problems []learn.Problem
	total := 0.0
	for _, side := range r.plan.SizeSides {
		if total += sizeBytes(side, r.plan.ReferenceStates); total > float64(r.plan.MostMemory) {
			r.leave(fmt.Sprintf("a network of %d nodes: with the smaller ones it needs about %.0f MB", side*side, total/1e6))
			break
		}
		r.say(fmt.Sprintf("sizes: grid %d×%d in blocks of %d×%d", side, side, r.plan.SizeTile, r.plan.SizeTile))
		tiles := side / r.plan.SizeTile
		n, err := tiledNetwork(side, tiles, tiles)
		if err != nil {
			return err
		}
		p, err := n.problem(r.plan.ReferenceStates)
		if err != nil {
			return err
		}
		networks, problems = append(networks, n), append(problems, p)
	}
	runs := make([]*watchedRun, len(networks))
	for i, n := range networks {
		runs[i] = newStretches(r.ctx, problems[i], n.settings(), len(n.part.Blocks), sizeIterations)
	}
	timings, err := r.inTurns(len(runs), runs...)
	if err != nil {
		return err
	}
	for i, n := range networks {
		r.speed.Sizes = append(r.speed.Sizes, sizeSpeed(n, timings[i]))
	}
	return nil
}

// sizeBytes is about how much memory a grid takes in learning: features, messages
// and beliefs, and as much again for labels, graph and partition.
func sizeBytes(side, states int) float64 {
	nodes := float64(side * side)
	return 2 * networkBytes(speedShape(states), nodes, 2*nodes)
}

// sizeSpeed takes rates from the times of stretches.
func sizeSpeed(n *speedNetwork, t machine.Timing) SizeSpeed {
	blocks, edges := len(n.part.Blocks), n.graph.NumEdges()
	return SizeSpeed{
		Nodes: n.graph.NumNodes(), Edges: edges, Blocks: blocks, BlockNodes: n.graph.NumNodes() / blocks,
		MsPerIteration: milli * t.Minimum / sizeIterations, MsPerIterationMedian: milli * t.Median / sizeIterations,
		NsPerEdge: giga * t.Minimum / sizeIterations * float64(blocks) / float64(edges),
	}
}
