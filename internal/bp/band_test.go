package bp

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/mrf"
)

// bands are tables with bands of such widths, of which the last is none.
var bands = []struct {
	name  string
	width float64
	at    func(x, y, width float64) float64
}{
	{"Potts", 1, func(x, y, _ float64) float64 { return 2 * max(0, 1-math.Abs(x-y)) }},
	{"apart", 1, func(x, y, _ float64) float64 { return math.Log(min(1, math.Abs(x-y))) }},
	{"truncated linear", 12, func(x, y, width float64) float64 { return -min(width, math.Abs(x-y)) / 4 }},
	{"directed", 3, func(x, y, _ float64) float64 {
		return 50*max(0, 1-math.Abs(x-y-2)) + (60+math.Sin(x))*max(0, 1-math.Abs(y-x-1)) - 3
	}},
	{"linear", 0, func(x, y, _ float64) float64 { return -math.Abs(x-y) / 4 }},
}

// banded draws a network whose edges have the i-th of them.
func banded(g *graph.Graph, k, i int) *mrf.Pairwise {
	p := oracle.RandomPairwise(source(1), g, randomCards(source(1), g.NumNodes(), k, k), 3, 0)
	for j := range p.Edge {
		p.Edge[j] = bands[i].at(float64(j%(k*k)/k), float64(j%k), bands[i].width)
	}
	return p
}

// TestBand: messages along a band are those of the whole table, by logarithms and by enumeration, and edges that share
// a table have the same bits as those with tables of their own.
func TestBand(t *testing.T) {
	const k = simd.LeastBanded
	for i, x := range bands {
		pair := legal(gen.Chain(2))
		compareWithOracle(t, x.name, banded(pair, k, i), counting.Bethe(pair))
		g := legal(graph.Grid(2, 2, graph.GridOptions{}))
		p := banded(g, k, i)
		for _, c := range countingsOf(g)[:2] {
			name := x.name + ", " + c.Name
			own, shared, logs := newInference(t, p, c), newInference(t, p, c), newInference(t, p, c)
			shared.share, logs.logForm = true, true
			for range 3 {
				for _, r := range []*inference{own, shared, logs} {
					r.sweep(t, r.blocks())
				}
			}
			for q := range int32(g.NumEdges()) {
				oracle.Equal(t, own.space.form(q).band != simd.Band{}, x.width > 0, "%s: edge %d has a band", name, q)
				oracle.Equal(t, shared.space.form(q), own.space.form(q), "%s: edge %d, with a table of its own", name, q)
			}
			compareRuns(t, name, own, logs, 1e-12)
			if !slices.Equal(shared.state.LogMessage, own.state.LogMessage) {
				t.Errorf("%s: shared tables give other bits", name)
			}
		}
	}
}

// BenchmarkBand measures a sweep over a grid, for each message, along bands and across the whole table.
func BenchmarkBand(b *testing.B) {
	g := legal(graph.Grid(4, 4, graph.GridOptions{}))
	for i, x := range bands {
		for _, k := range []int{simd.LeastBanded, 256, 1024} {
			for _, whole := range []bool{false, true} {
				r := newInference(b, banded(g, k, i), counting.Convex(g))
				r.share = true
				block := legal(r.load(0))
				if whole {
					clear(r.space.forms)
				}
				b.Run(fmt.Sprintf("%s/states=%d/whole=%v", x.name, k, whole), func(b *testing.B) {
					for b.Loop() {
						legal(r.space.Sweep(r.net, r.state, block, 0))
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*g.NumEdges()), "ns/message")
				})
			}
		}
	}
}
