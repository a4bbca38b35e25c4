package learn

import (
	"fmt"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// BenchmarkIteration is one iteration of the paper's Algorithm 2, ground to
// gradient, with 20 node and 10 edge features: of the whole network, and of blocks
// of 4×5 tiles, with directed and with symmetric edges.
func BenchmarkIteration(b *testing.B) {
	for _, k := range []int{2, 8, 21} {
		p := randomProblem(b, 1, problemOptions{rows: 100, cols: 100, states: k, nodeDim: 20, edgeDim: 10, l2: 1000})
		symmetric := p.turned(b, nil)
		for _, run := range []struct {
			method    Method
			symmetric string
		}{{InnerDual, ""}, {BBPL, ""}, {BBPL, "/symmetric"}} {
			p := p
			if run.symmetric != "" {
				p = symmetric
			}
			b.Run(fmt.Sprintf("states=%d/%s%s", k, run.method, run.symmetric), func(b *testing.B) {
				s := Settings{Method: run.method, Step: &fixedStep{alpha: 0.01}, RelativeTolerance: 1e-300, InnerSweeps: 1, Assign: tiles(4, 5)}
				s = s.Resolved()
				l := oracle.Must(newLearner(&p, &s))(b)
				defer l.pool.Close()
				for l.progress.Check.Active {
					if _, err := l.visitInPass(); err != nil {
						b.Fatal(err)
					}
				}
				before := l.progress.GradientPasses
				for b.Loop() {
					oracle.OK(b, l.iterate())
				}
				edges := (l.progress.GradientPasses - before) * l.gradientWork * 2 / 3 // of nodes and edges
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/edges, "ns/edge")
			})
		}
	}
}

func tiles(rows, cols int) func(*crf.Instance) ([]int32, int, error) {
	return func(in *crf.Instance) ([]int32, int, error) { return partition.Tiles(in.Rows, in.Cols, rows, cols) }
}
