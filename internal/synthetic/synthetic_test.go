package synthetic

import (
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// small is a grid that takes milliseconds.
func small() Synthetic { return smallOn("grid") }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func smallOn(kind string) Synthetic {
	return Synthetic{
		Graph: GraphSpec{Kind: kind, Rows: 8, Cols: 8, Nodes: 60}, States: 3, NodeFeatures: 3, EdgeFeatures: 2,
		Samples: 6, WeightScale: 0.5, Sweeps: 20, Seed: 3,
	}
}

func generate(t *testing.T, s Synthetic, threads int) *Generated {
	t.Helper()
	return oracle.Must(Generate(s, threads))(t)
}

// Same seed, same problem, whatever the threads; another seed, another problem.
func TestGenerateIsDetermined(t *testing.T) {
	for _, kind := range []string{"grid", "chain", "ba"} {
		s := smallOn(kind)
		a, b := generate(t, s, 1), generate(t, s, 8)
		s.Seed++
		c := generate(t, s, 1)
		same := func(x, y *Generated) bool {
			return slices.Equal(x.Truth.Weights, y.Truth.Weights) && slices.Equal(x.NodeFeatures[0], y.NodeFeatures[0]) &&
				slices.EqualFunc(x.Instances[0].Samples(), y.Instances[0].Samples(), func(p, q []int32) bool { return slices.Equal(p, q) })
		}
		if !same(a, b) {
			t.Errorf("%s: one thread and eight give different problems", kind)
		}
		if same(a, c) {
			t.Errorf("%s: two seeds give the same problem", kind)
		}
	}
}

// More samples leave graph, features and weights, and the samples there were.
func TestMoreSamplesKeepTheRest(t *testing.T) {
	s := smallOn("ba")
	few := generate(t, s, 2)
	s.Samples += 3
	many := generate(t, s, 2)
	for i, labels := range few.Instances[0].Samples() {
		if !slices.Equal(labels, many.Instances[0].Samples()[i]) {
			t.Errorf("sample %d changed", i)
		}
	}
}

// TestGenerateRefuses: what cannot be drawn is said, with the field and its range.
func TestGenerateRefuses(t *testing.T) {
	for _, test := range []struct {
		want   string
		change func(s *Synthetic)
	}{
		{"1 ≤ States ≤", func(s *Synthetic) { s.States = -1 }},
		{"1 ≤ NodeFeatures ≤", func(s *Synthetic) { s.NodeFeatures = -2 }},
		{"1 ≤ EdgeFeatures ≤", func(s *Synthetic) { s.EdgeFeatures = -1 }},
		{"1 ≤ Samples ≤ 65536, got -1", func(s *Synthetic) { s.Samples = -1 }},
		{"1 ≤ Samples ≤ 65536, got 65537", func(s *Synthetic) { s.Samples = 65537 }}, // sample 65536 would be sample 0 of the next instance
		{"1 ≤ Instances ≤ 65536", func(s *Synthetic) { s.Instances = -3 }},
		{"1 ≤ Sweeps ≤", func(s *Synthetic) { s.Sweeps = -1 }},
		{"0 < WeightScale < ∞, got NaN", func(s *Synthetic) { s.WeightScale = math.NaN() }},
		{"0 < WeightScale < ∞, got -1", func(s *Synthetic) { s.WeightScale = -1 }},
		{`graph "star"`, func(s *Synthetic) { s.Graph.Kind = "star" }},
	} {
		s := small()
		test.change(&s)
		oracle.Fails(Generate(s, 1))(t, test.want)
	}
}

// TestOnlyGridsHaveRows: another graph with as many nodes is no picture.
func TestOnlyGridsHaveRows(t *testing.T) {
	for _, kind := range []string{"grid", "chain", "ba"} {
		s := smallOn(kind)
		s.Graph.Nodes = s.Graph.Rows * s.Graph.Cols
		in := generate(t, s, 1).Instances[0]
		if grid := kind == "grid"; (in.Rows == 8 && in.Cols == 8) != grid || !grid && in.Rows+in.Cols != 0 {
			t.Errorf("%s: %d rows and %d columns", kind, in.Rows, in.Cols)
		}
	}
}
