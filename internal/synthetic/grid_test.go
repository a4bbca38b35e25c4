package synthetic

import (
	"slices"
	"testing"
)

// TestGenerateIsDetermined: one seed gives one problem whatever the threads, of which more samples leave all else as
// it is; another seed gives another problem.
func TestGenerateIsDetermined(t *testing.T) {
	generate := func(seed uint64, samples, threads int) *Generated {
		s := Grid(8, 7, seed)
		s.States, s.NodeFeatures, s.EdgeFeatures, s.Samples, s.Sweeps = 3, 3, 2, samples, 20
		return Generate(s, threads)
	}
	features := func(x *Generated) []float64 { return x.Instances[0].NodeFeatures(0).Data().Double }
	same := func(x, y *Generated) bool {
		return slices.Equal(x.Truth.Weights, y.Truth.Weights) && slices.Equal(features(x), features(y)) &&
			slices.EqualFunc(x.Instances[0].Samples(), y.Instances[0].Samples()[:6], slices.Equal)
	}
	one := generate(3, 6, 1)
	if !same(one, generate(3, 6, 8)) || !same(one, generate(3, 9, 2)) {
		t.Error("other threads, or more samples, give another problem")
	}
	if same(one, generate(4, 6, 1)) {
		t.Error("two seeds give the same problem")
	}
	if in := one.Instances[0]; in.Rows != 8 || in.Cols != 7 || in.Graph.NumNodes() != 56 || len(in.Samples()) != 6 {
		t.Errorf("%d nodes in %d×%d, %d samples", in.Graph.NumNodes(), in.Rows, in.Cols, len(in.Samples()))
	}
}
