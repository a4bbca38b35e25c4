package experiment

import (
	"slices"
	"testing"
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
		Graph: GraphSpec{Kind: kind, Rows: 8, Cols: 8, Nodes: 60, EdgeChance: 0.06}, States: 3, NodeFeatures: 3, EdgeFeatures: 2,
		Samples: 6, WeightScale: 0.5, Sweeps: 20, Seed: 3,
	}
}

func generate(t *testing.T, s Synthetic, threads int) *Generated {
	t.Helper()
	g, err := Generate(s, threads)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Same seed, same problem, whatever the threads; another seed, another problem.
func TestGenerateIsDetermined(t *testing.T) {
	for _, kind := range []string{"grid", "grid8", "torus", "chain", "tree", "er", "ba"} {
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
