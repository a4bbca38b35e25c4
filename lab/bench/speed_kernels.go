package bench

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/simd"
)

// KernelSpeed is a whole iteration with one implementation of the kernels.
type KernelSpeed struct {
	Name            string  `json:"name" table:"kernels"` // avx512, avx2, plain
	NsPerEdge       float64 `json:"ns_per_edge" table:"ns per edge;%.1f"`
	NsPerEdgeMedian float64 `json:"ns_per_edge_median" table:"median;%.1f"`
	// Speedup is how many times as fast as plain it is.
	Speedup float64 `json:"speedup_vs_plain_go" table:"times plain Go;%.2f"`
}

// kernels measures the whole iteration on the grid with every implementation of the
// kernels that this machine can run, in turns.
func (r *speedRun) kernels() error {
	names := simd.Names()
	r.say(fmt.Sprintf("kernels: a whole iteration with each of %q, %d states", names, r.plan.ReferenceStates))
	n, p, err := cutNetwork(gridSpec(r.plan.Grid), r.plan.ReferenceStates)
	if err != nil {
		return err
	}
	var runs []*watchedRun
	for _, name := range names {
		next := newPasses(r.ctx, p, n.settings())
		next.kernels = name
		runs = append(runs, next)
	}
	// The ratio of two of these times is a headline: it gets more rounds than others.
	timings, err := r.inTurns(len(names), runs...)
	if err != nil {
		return err
	}
	r.speed.Kernels = kernelSpeeds(names, timings, float64(n.graph.NumEdges()))
	r.speed.SpeedupVsPlainGo = r.speed.Kernels[0].Speedup
	return nil
}

// kernelSpeeds takes rates from timings, the last of which is that of plain Go.
func kernelSpeeds(names []string, timings []machine.Timing, edges float64) (speeds []KernelSpeed) {
	plain := timings[len(names)-1].Minimum
	for i, name := range names {
		t := timings[i]
		speeds = append(speeds, KernelSpeed{name, giga * t.Minimum / edges, giga * t.Median / edges, plain / t.Minimum})
	}
	return speeds
}
