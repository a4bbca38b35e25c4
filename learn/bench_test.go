package learn

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/partition"
)

// BenchmarkGradient is the gradient phase of a visit alone, of one block of 12×12 nodes: the
// least time, which other work on the machine does not change, as ns/edge.
func BenchmarkGradient(b *testing.B) {
	for _, k := range []int{2, 8, 16, 21} {
		for _, bins := range []bool{false, true} {
			b.Run(fmt.Sprintf("states=%d/bins=%v", k, bins), func(b *testing.B) {
				p := randomProblem(b, 1, problemOptions{rows: 48, cols: 48, states: k, nodeDim: 20, edgeDim: 10, bins: bins, l2: 1})
				s := Settings{Method: BBPL, RelativeTolerance: 1e-300, Assign: tiles(4, 4)}
				s = s.Resolved()
				l := must(newLearner(&p, &s))
				defer l.pool.Close()
				for l.progress.Check.Active {
					must(l.visitInWholePass())
				}
				for range 3 * l.schedule.perPass() {
					if err := l.iterate(); err != nil {
						b.Fatal(err)
					}
				}
				w, u := l.workers[0], l.units[0]
				block := &u.partition.Blocks[0]
				if err := w.space.Ground(l.model, u.in, u.net, u.state, block); err != nil {
					b.Fatal(err)
				}
				must(w.space.Iterate(b.Context(), u.net, u.state, block, l.messages.innerLimits()))
				w.visit, w.result, w.unit, w.block, w.scale = &visit{}, &l.results[0], u, block, 1
				least := math.Inf(1)
				for b.Loop() {
					start := time.Now()
					if err := w.contribute(); err != nil {
						b.Fatal(err)
					}
					least = min(least, float64(time.Since(start).Nanoseconds()))
				}
				b.ReportMetric(least/float64(len(block.Edges)), "least-ns/edge")
			})
		}
	}
}

func tiles(rows, cols int) func(*crf.Instance) ([]int32, int, error) {
	return func(in *crf.Instance) ([]int32, int, error) {
		return partition.Tiles(in.Rows, in.Cols, rows, cols), rows * cols, nil
	}
}

// BenchmarkSequences learns from many chains, such as sentences, for a few whole passes.
func BenchmarkSequences(b *testing.B) {
	p := randomProblem(b, 1, problemOptions{rows: 1, cols: 16, states: 8, nodeDim: 20, edgeDim: 1, l2: 1, instances: 4000})
	for b.Loop() {
		must(Fit(b.Context(), p, Settings{Method: BBPL, Threads: 1, MaxPasses: 20, GradientTolerance: 1e-300}))
	}
}
