package distributed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// recursive is the sum as the text of Tree has it.
func recursive(parts []float64, from, size int) (sum float64, exists bool) {
	if from >= len(parts) {
		return 0, false
	}
	if size == 1 {
		return parts[from], true
	}
	left, _ := recursive(parts, from, size/2)
	if right, exists := recursive(parts, from+size/2, size/2); exists {
		return left + right, true
	}
	return left, true
}

// uneven draws numbers whose sums depend on the order.
func uneven(parts, n int, seed uint64) [][]float64 {
	source := rand.New(rand.NewPCG(seed, uint64(parts)))
	x := make([][]float64, parts)
	for p := range x {
		x[p] = make([]float64, n)
		for i := range x[p] {
			x[p][i] = source.NormFloat64() * math.Exp(8*source.NormFloat64())
		}
	}
	return x
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// TestTreeIsRecursive holds the sum against its definition, for dst of its own and for one
// that is a part.
func TestTreeIsRecursive(t *testing.T) {
	var tree Tree
	for _, parts := range []int{1, 2, 3, 5, 7, 8, 13, 64, 100} {
		for _, n := range []int{0, 1, 3, chunk, 2*chunk + 7} {
			x := uneven(parts, n, 1)
			want := make([]float64, n)
			column := make([]float64, parts)
			for i := range want {
				for p := range x {
					column[p] = x[p][i]
				}
				want[i], _ = recursive(column, 0, 1<<20)
			}
			got := make([]float64, n)
			if tree.Sum(got, x); !sameBits(got, want) {
				t.Errorf("the sum of %d parts of %d numbers is not that of the tree", parts, n)
			}
			if tree.Sum(x[parts-1], x); !sameBits(x[parts-1], want) {
				t.Errorf("the sum of %d parts of %d numbers differs where it replaces a part", parts, n)
			}
		}
	}
}

// boundsOf deals parts to ranks at random; some get none.
func boundsOf(parts, ranks int, source *rand.Rand) []int {
	bounds := []int{0, parts}
	for len(bounds) <= ranks {
		bounds = append(bounds, source.IntN(parts+1))
	}
	slices.Sort(bounds)
	return bounds
}

// TestSumsHaveTheSameBits: whoever has which parts.
func TestSumsHaveTheSameBits(t *testing.T) {
	source := rand.New(rand.NewPCG(3, 4))
	for _, parts := range []int{1, 2, 5, 16, 37, 64} {
		x := uneven(parts, 300, 2)
		want := make([]float64, 300)
		new(Tree).Sum(want, x)
		for ranks := 1; ranks <= 6; ranks++ {
			bounds := boundsOf(parts, ranks, source)
			err := Local(ranks, Options{}, func(g *Group) error {
				for range 2 {
					got := make([]float64, len(want))
					if g.Sum(got, x[bounds[g.Rank()]:bounds[g.Rank()+1]], bounds); !sameBits(got, want) {
						return fmt.Errorf("the sum of rank %d differs", g.Rank())
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("%d parts, bounds %v: %v", parts, bounds, err)
			}
		}
	}
}

// TestSubtreesAreFew: a rank sends about two for each level at most, and one where its
// parts are a subtree.
func TestSubtreesAreFew(t *testing.T) {
	for from := range 64 {
		for to := from; to <= 64; to++ {
			nodes := appendSubtrees(nil, from, to, 64)
			next := from
			for _, n := range nodes {
				if n.first != next {
					t.Fatalf("subtrees of [%d, %d) are %v: %d is missing", from, to, nodes, next)
				}
				next += n.size
			}
			if next != to || len(nodes) > 10 {
				t.Errorf("subtrees of [%d, %d) are %v", from, to, nodes)
			}
		}
	}
	for _, c := range []struct{ from, to, parts int }{{0, 64, 64}, {32, 64, 64}, {32, 50, 50}, {48, 50, 50}, {0, 1, 1}, {0, 5, 5}} {
		if nodes := appendSubtrees(nil, c.from, c.to, c.parts); len(nodes) != 1 {
			t.Errorf("subtrees of [%d, %d) of %d are %v, want one", c.from, c.to, c.parts, nodes)
		}
	}
}
