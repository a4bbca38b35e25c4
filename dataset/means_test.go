package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// walkMeans is the reference: the expectation of features where a random walk ends that
// takes a step to a neighbour or stays, each as likely, given that they are known there.
func walkMeans(t *testing.T, g *graph.Graph, x [][]float64, known []bool, hops, node int) (mean []float64, reached bool) {
	t.Helper()
	at := make([]float64, g.NumNodes())
	at[node] = 1
	for range hops {
		next := make([]float64, len(at))
		for i, p := range at {
			share := p / float64(1+g.Degree(int32(i)))
			next[i] += share
			for _, d := range g.Incoming(int32(i)) {
				next[g.Source(d)] += share
			}
		}
		at = next
	}
	mean, all := make([]float64, len(x[0])), 0.0
	for i, p := range at {
		if known[i] {
			all += p
			for c, v := range x[i] {
				mean[c] += p * v
			}
		}
	}
	for c := range mean {
		mean[c] /= max(all, math.SmallestNonzeroFloat64)
	}
	return mean, all > 0
}

func TestMeansOverHops(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, dim = 40, 6
	var u, v []int32
	for i := range int32(n) {
		for j := range i {
			if r.Float64() < .05 {
				u, v = append(u, i), append(v, j)
			}
		}
	}
	g := oracle.Must(graph.FromEdges(n, u, v))(t)
	x, known := make([][]float64, n), make([]bool, n)
	start, index, value, flat := []int{0}, []int32(nil), []float64(nil), []float64(nil)
	for i := range x {
		x[i], known[i] = make([]float64, dim), r.Float64() < .3
		if known[i] {
			x[i][dim-1] = 1 // a constant
			for c := range dim - 1 {
				if r.Float64() < .3 {
					x[i][c] = r.NormFloat64()
				}
			}
		}
		for c, y := range x[i] {
			if y != 0 {
				index, value = append(index, int32(c)), append(value, y)
			}
		}
		start, flat = append(start, len(index)), append(flat, x[i]...)
	}
	sparse := oracle.Must(crf.Sparse(start, index, value, dim))(t)
	dense := oracle.Must(crf.Dense(flat, dim))(t)
	for hops := 1; hops <= 4; hops++ {
		s := hopMeans{Context: t.Context(), Graph: g, Known: known, Hops: hops}
		for form, f := range []crf.Features{sparse, dense} {
			before := slices.Clone(flat)
			means, reached, err := s.Of(&f)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(before, flat) {
				t.Error("the features were written over")
			}
			for i := range n {
				want, any := walkMeans(t, g, x, known, hops, i)
				got := make([]float64, dim)
				means.Row(got, i)
				if reached[i] != any {
					t.Errorf("node %d is reached: %v, want %v", i, reached[i], any)
				}
				for c := range want {
					if math.Abs(got[c]-want[c]) > 1e-12 {
						t.Errorf("%d hops, form %d, node %d, feature %d: %v, want %v", hops, form, i, c, got[c], want[c])
					}
				}
				if any && got[dim-1] != 1 {
					t.Errorf("the constant of node %d has become %v", i, got[dim-1])
				}
			}
		}
	}
}
