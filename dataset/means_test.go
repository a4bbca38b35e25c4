package dataset

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// walkMeans is the reference: the expectation of features where a random walk ends that takes a step to a neighbour or
// stays, each as likely, given that it ends where there is a bias, the last; where it cannot, the one before it is 1.
func walkMeans(t *testing.T, g *graph.Graph, x [][]float64, hops, node int) (mean []float64) {
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
	mean = make([]float64, len(x[0]))
	for i, p := range at {
		for c, v := range x[i] {
			mean[c] += p * v * x[i][len(mean)-1]
		}
	}
	share := mean[len(mean)-1]
	if share == 0 {
		mean[len(mean)-2] = 1
		return mean
	}
	for c := range mean {
		mean[c] /= share
	}
	return mean
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
	for _, share := range []float64{1, .3} { // of nodes whose features are known
		x := make([][]float64, n)
		start, index, value, flat := []int{0}, []int32(nil), []float64(nil), []float64(nil)
		for i := range x {
			x[i] = make([]float64, dim)
			if r.Float64() < share {
				x[i][dim-1] = 1
				for c := range dim - 2 {
					if r.Float64() < .3 {
						x[i][c] = r.NormFloat64()
					}
				}
			} else {
				x[i][dim-2] = 1
			}
			for c, y := range x[i] {
				if y != 0 {
					index, value = append(index, int32(c)), append(value, y)
				}
			}
			start, flat = append(start, len(index)), append(flat, x[i]...)
		}
		forms := []crf.Features{oracle.Must(crf.Sparse(start, index, value, dim))(t)}
		if share == 1 {
			forms = append(forms, oracle.Must(crf.Dense(flat, dim))(t))
		}
		wantMeans(t, g, x, forms, share < 1)
	}
}

func wantMeans(t *testing.T, g *graph.Graph, x [][]float64, forms []crf.Features, known bool) {
	t.Helper()
	dim := len(x[0])
	for hops := 1; hops <= 4; hops++ {
		for form, f := range forms {
			means := oracle.Must(averaged(t.Context(), &f, g, hops, known, 0))(t)
			for i := range x {
				want, got, before := walkMeans(t, g, x, hops, i), make([]float64, dim), make([]float64, dim)
				means.Row(got, i)
				for c := range want {
					oracle.Near(t, got[c], want[c], 1e-12, "%d hops, form %d, node %d, feature %d", hops, form, i, c)
				}
				oracle.Equal(t, got[dim-1], want[dim-1], "the constant of node %d has become", i)
				if f.Row(before, i); !slices.Equal(before, x[i]) {
					t.Error("the features were written over")
				}
			}
		}
	}
}
