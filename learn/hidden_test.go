package learn

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
)

// fewKnown hides all labels but about a share.
func fewKnown(p Problem, seed uint64, share float64) Problem {
	rng := source(seed)
	for i, in := range p.Data {
		spec := in.Spec()
		labels := make([]int32, in.Graph.NumNodes())
		for s, y := range in.Samples()[0] {
			if labels[s] = y; rng.Float64() >= share {
				labels[s] = crf.Unobserved
			}
		}
		spec.Labels = [][]int32{labels}
		p.Data[i] = must(crf.NewInstance(in.Schema(), spec))
	}
	return p
}

// TestFewLabelsEnd: a large network of which 5 % of the labels are known ends at a stationary
// point. Judged by dual values, whose messages lag, it makes 5,000 passes and does not.
func TestFewLabelsEnd(t *testing.T) {
	oracle.Long(t)
	p := fewKnown(regions(1, 48, 48, 4, 1./64, 0.1, 1), 1, 0.05).with("trw")
	if r := fit(t, p, Settings{Method: Full, MaxPasses: 3500}); r.Status != StationaryPoint {
		t.Errorf("%s at %v: %s", r.Status, r.Objective, r.Reason)
	}
}

// TestCurvatureOfHiddenLabels: without edges the free network and the clamped one have the
// same of every hidden node, and nothing is left of its curvature.
func TestCurvatureOfHiddenLabels(t *testing.T) {
	p := fewKnown(regions(2, 4, 4, 3, 0.1, 0.1, 1), 2, 0.5)
	s := Settings{Method: Full}
	resolved := oracle.Must(s.resolve(&p))(t)
	l := must(planLearner(&p, &resolved))
	labels := p.Data[0].Samples()[0]
	free := l.units[0]
	for node, y := range labels {
		want := free.weight
		if y == crf.Unobserved {
			want = 0
		}
		if got := free.nodeCurvature(int32(node)); math.Abs(got-want) > 1e-15 {
			t.Errorf("node %d of label %d: %v, want %v", node, y, got, want)
		}
	}
	g := p.Data[0].Graph
	for e := range int32(g.NumEdges()) {
		hidden := oneIf(labels[g.U(e)] == crf.Unobserved) + oneIf(labels[g.V(e)] == crf.Unobserved)
		if got, want := free.edgeCurvature(e), free.weight*(1-float64(hidden)/2); math.Abs(got-want) > 1e-15 {
			t.Errorf("edge %d with %d hidden ends: %v, want %v", e, hidden, got, want)
		}
	}
}
