package learn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestSumsInChunks holds sums over data of several chunks, also of ranges of one instance, against sums
// one after another, by their definitions, and sums on several threads and in several processes
// against those on one, to the last bit.
func TestSumsInChunks(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	for _, c := range []struct{ rows, cols, instances, samples int }{{60, 80, 15, 1}, {60, 80, 15, 2}, {220, 300, 1, 1}} {
		s := mixedShape(t, must(graph.Grid(c.rows, c.cols, graph.GridOptions{})))
		s.instances, s.samples, s.missing = c.instances, c.samples, 0.05
		p := s.build(t, 3)
		if n := (p.Data[0].Graph.NumNodes() + p.Data[0].Graph.NumEdges()) * len(p.Data) >> 16; n < 3 {
			t.Fatalf("%d chunks: the data are too few", n)
		}
		sums := func(settings Settings, check bool) [][]float64 {
			settings.Method, settings.Step = BBPL, must(ParseStep("fixed:0.1"))
			settings = settings.Resolved()
			l := must(newLearner(&p, &settings))
			defer l.close()
			data := l.statistics()
			if check {
				checkSums(t, l, data.Moments(0, linear.MaxRotated))
			}
			of := func(kind int) []float64 { return data.Moments(kind, linear.MaxRotated) }
			s := l.sums
			return [][]float64{s.data, {s.magnitude}, s.reference, of(0), of(len(s.layout.Node)), data.Frequencies()}
		}
		one := sums(Settings{}, true)
		same := func(got [][]float64, where string) {
			for i, sum := range got {
				if !slices.Equal(sum, one[i]) {
					t.Errorf("%v: sum %d differs %s", c, i, where)
				}
			}
		}
		same(sums(Settings{Threads: 3}, false), "on 3 threads")
		all := make([][][]float64, 3)
		processes(t, len(all), func(g Group) { all[g.Rank()] = sums(Settings{Group: g}, false) })
		for rank, got := range all {
			same(got, fmt.Sprintf("in process %d of %d", rank, len(all)))
		}
	}
}

// checkSums compares sums with their definitions, element by element.
func checkSums(t *testing.T, l *learner, got []float64) {
	t.Helper()
	near := func(what string, got, want []float64) {
		t.Helper()
		scale := 0.0
		for _, x := range want {
			scale = max(scale, math.Abs(x))
		}
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-11*scale) {
				t.Errorf("%s: number %d is %v, want %v", what, i, got[i], want[i])
			}
		}
	}
	size := len(l.sums.data)
	data, whole, reference := make([]float64, size), make([]float64, size), make([]float64, size)
	var adjoint ground.Adjoint
	for _, in := range l.problem.Data {
		for _, labels := range in.Samples() {
			adjoint.AddChange(data, l.model, in, ground.Whole(in), nil, labels, 1/l.samples)
			adjoint.AddChange(whole, l.model, in, ground.Whole(in), nil, instances.WithoutHidden(labels), 1/l.samples)
		}
	}
	for _, u := range l.units {
		if u.reference != nil {
			adjoint.AddChange(reference, l.model, u.in, ground.Whole(u.in), nil, u.reference, u.weight)
			if u.net.Observed != nil {
				adjoint.AddChange(reference, l.model, u.in, ground.Whole(u.in), nil, u.net.Observed, -u.weight)
			}
		}
	}
	norm := 0.0
	for _, x := range whole {
		norm += x * x
	}
	near("statistics of labels", l.sums.data, data)
	near("their magnitude", []float64{l.sums.magnitude}, []float64{math.Sqrt(norm)})
	near("labellings of the bound", l.sums.reference, reference)

	d := l.model.Layout.Node[0].Features // Σ f fᵀ/ρ of the nodes of type 0
	second, f := make([]float64, d*d), make([]float64, d)
	for _, u := range l.units {
		if !u.isFree() {
			continue
		}
		in := u.in
		for s := range int32(in.Graph.NumNodes()) {
			if in.NodeType(s) != 0 {
				continue
			}
			in.NodeFeatures(0).Row(f, in.NodeRow(s))
			for i, x := range f {
				for j, y := range f {
					second[i*d+j] += x * y * u.nodeCurvature(s) / u.net.Counting.Rho[s]
				}
			}
		}
	}
	near("second moments of features", got, second)
}
