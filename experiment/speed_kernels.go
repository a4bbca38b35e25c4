package experiment

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/simd"
)

// KernelSpeed is a whole iteration with one implementation of the kernels.
type KernelSpeed struct {
	Name            string  `json:"name"` // avx512, avx2, plain
	NsPerEdge       float64 `json:"ns_per_edge"`
	NsPerEdgeMedian float64 `json:"ns_per_edge_median"`
	// Speedup is how many times as fast as plain it is.
	Speedup float64 `json:"speedup_vs_plain_go"`
}

// kernels measures the whole iteration on the grid with every implementation of the
// kernels that this machine can run, in turns.
func (r *speedRun) kernels() error {
	names := simd.Names()
	r.say(fmt.Sprintf("kernels: a whole iteration with each of %q, %d states", names, r.plan.ReferenceStates))
	n, err := gridNetwork(r.plan.Grid, r.plan.TileRows, r.plan.TileCols)
	if err != nil {
		return err
	}
	var tasks []machine.Task
	for _, name := range names {
		p, err := n.problem(r.plan.ReferenceStates)
		if err != nil {
			return err
		}
		learning := newPasses(r.ctx, p, n.settings(), len(n.part.Blocks))
		defer learning.stop()
		tasks = append(tasks, withKernels{name, learning})
	}
	// The ratio of two of these times is a headline: it gets more rounds than others.
	timings, err := r.interleaveLonger(len(names), tasks...)
	if err != nil {
		return err
	}
	const nano = 1e9
	edges, plain := float64(n.graph.NumEdges()), timings[len(timings)-1].Minimum
	for i, t := range timings {
		r.speed.Kernels = append(r.speed.Kernels, KernelSpeed{names[i], nano * t.Minimum / edges, nano * t.Median / edges, plain / t.Minimum})
	}
	r.speed.SpeedupVsPlainGo = r.speed.Kernels[0].Speedup
	return nil
}

// withKernels runs a task with an implementation of the kernels.
type withKernels struct {
	name string
	task machine.Task
}

// Run implements machine.Task.
func (w withKernels) Run() (seconds float64, err error) {
	restore, err := simd.Use(w.name)
	if err != nil {
		return 0, err
	}
	defer restore()
	return w.task.Run()
}
