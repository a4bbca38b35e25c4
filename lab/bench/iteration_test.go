package bench

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/lab/ceilings"
	"github.com/blockbp/blockbp/learn"
)

// sweeps is how many a visit makes, whatever the default of learning is, and passes how many
// passes over all blocks are timed in a run: so few that none comes near its optimum.
const sweeps, passes = 2, 10

// BenchmarkIteration learns the paper's synthetic problem on one thread, cut as training cuts it.
// It reports nanoseconds per edge of the network and pass over all blocks, and what share that is of the roofline.
// BenchmarkKernels times its steps one by one.
func BenchmarkIteration(b *testing.B) {
	for name, spec := range specs(200, 20_000) {
		for _, states := range []int{2, 8, 16, 21} {
			b.Run(fmt.Sprintf("%s/states=%d", name, states), func(b *testing.B) {
				n := newNetwork(b, spec, states)
				var total timed
				for b.Loop() {
					total.add(n.run(b))
				}
				n.report(b, total)
			})
		}
	}
}

// measured are the ceilings of this machine.
var measured = sync.OnceValues(func() (*ceilings.Ceilings, error) {
	rounds := ceilings.Rounds{Least: 5, Budget: 1500 * time.Millisecond}
	return ceilings.Measure(context.Background(), rounds, memory.AvailableMemory()/4)
})

// network is a problem to learn, cut into blocks.
type network struct {
	problem  learn.Problem
	part     *partition.Partition
	together int // blocks that an iteration visits
	shape    modelShape
}

// specs are a square grid and a Barabási–Albert graph.
func specs(side, nodes int) map[string]synthetic.Synthetic {
	ba := synthetic.Synthetic{Seed: 1}
	ba.Graph = must(gen.BarabasiAlbert(nodes, 2, ba.Source(synthetic.StreamGraph, 0)))
	return map[string]synthetic.Synthetic{"grid": synthetic.Grid(side, side, 1), "ba": ba}
}

func newNetwork(tb testing.TB, spec synthetic.Synthetic, states int) *network {
	tb.Helper()
	// Labels play no part in what an iteration takes: one sample that is drawn in haste will do.
	spec.States, spec.Samples, spec.Sweeps, spec.WeightScale = states, 1, 1, 0.3
	drawn := synthetic.Generate(spec, 1)
	clear(drawn.Truth.Weights)
	n := &network{
		// So little regularisation that small networks, too, are far from their optimum.
		problem: learn.Problem{Model: drawn.Truth, Data: drawn.Instances, L2: 1e-3},
		shape:   modelShape{float64(states), float64(drawn.Spec.NodeFeatures), float64(drawn.Spec.EdgeFeatures)},
	}
	cuts, together, err := cut.Cut{}.Resolve(n.problem.Model, n.problem.Data, cut.Cache())
	if err != nil {
		tb.Fatal(err)
	}
	of, blocks := cuts[0].Assign(n.problem.Data[0])
	n.part, n.together = must(partition.FromAssignment(n.problem.Data[0].Graph, of, blocks)), max(1, together)
	return n
}

// timed is the time of a number of passes.
type timed struct {
	seconds float64
	runs    int
}

func (t *timed) add(run timed) {
	t.runs++
	t.seconds += run.seconds
}

// run learns for a while, and times all passes but the first, which touches everything for the
// first time.
func (n *network) run(tb testing.TB) (t timed) {
	var began time.Time
	pass := (len(n.part.Blocks) + n.together - 1) / n.together // iterations
	s := n.settings()
	s.MaxIterations = (1 + passes) * pass
	s.Recorder = func(e learn.Event) error {
		switch {
		case e.Check && !began.IsZero() && t.seconds == 0:
			return fmt.Errorf("a check is among the iterations %d to %d", pass, s.MaxIterations)
		case e.Check:
		case e.Iteration == pass:
			began = time.Now()
		case e.Iteration == s.MaxIterations:
			t.seconds = time.Since(began).Seconds()
		}
		return nil
	}
	if _, err := learn.Fit(tb.Context(), n.problem, s); err != nil {
		tb.Fatal(err)
	}
	return t
}

// settings are those of BBPL as it is by default, except for the number of sweeps, that no gradient
// is small enough to end the run, and that steps are fixed, and too short to diverge: a Hessian of
// all weights would fall into some of what is timed.
func (n *network) settings() learn.Settings {
	return learn.Settings{
		Method: learn.BBPL, Threads: 1, InnerSweeps: sweeps, Step: must(learn.ParseStep("fixed:0.05")),
		Assign:         func(*crf.Instance) ([]int32, int, error) { return n.part.Of, len(n.part.Blocks), nil },
		Together:       n.together,
		InnerTolerance: math.SmallestNonzeroFloat64, GradientTolerance: math.SmallestNonzeroFloat64,
	}
}

// report says what a pass took, beside the roofline.
func (n *network) report(b *testing.B, t timed) {
	limits, err := measured()
	if err != nil {
		b.Fatal(err)
	}
	w, edges := countWork(n.shape, n.part, sweeps), float64(n.part.Graph.NumEdges())
	seconds := t.seconds / float64(t.runs*passes)
	b.ReportMetric(1e9*seconds/edges, "ns/edge")
	b.ReportMetric(100*roofline(limits, w.work, w.blockBytes, w.totalBytes)/seconds, "%roofline")
	b.ReportMetric(0, "ns/op") // of which nobody knows how many passes it is
}
