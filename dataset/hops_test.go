package dataset

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
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
	g, err := graph.FromEdges(n, u, v)
	if err != nil {
		t.Fatal(err)
	}
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
	sparse, err := crf.Sparse(start, index, value, dim)
	if err != nil {
		t.Fatal(err)
	}
	dense, err := crf.Dense(flat, dim)
	if err != nil {
		t.Fatal(err)
	}
	for hops := 1; hops <= 4; hops++ {
		s := smoother{ctx: context.Background(), graph: g, known: known, hops: hops}
		entries := 0
		for form, f := range []crf.Features{sparse, dense} {
			before := slices.Clone(flat)
			means, reached, err := s.smooth(&f)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(before, flat) {
				t.Error("the features were written over")
			}
			if form == 0 {
				entries = len(means.Data().Column)
			}
			for i := range n {
				want, any := walkMeans(t, g, x, known, hops, i)
				got := row(&means, i)
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
		if bound := s.entries(sparse.Data()); float64(entries) > bound || bound > n*dim {
			t.Errorf("%d entries, want at most %v, and that at most %d", entries, bound, n*dim)
		}
	}
}

// TestHopsOfTables: both kinds of tables have means, the recipe keeps how many hops, and
// new data of the model have them without being told.
func TestHopsOfTables(t *testing.T) {
	edges := "a\tb\nb\tc\nd\te\n"
	plain := writeFiles(t, tables("a\t0\t\t0:3\nb\t1\t\t?\nc\t0\t\t0:6 1\nd\t1\t\t?\ne\t-1\t\t?\n", edges))
	set := mustOpen(t, plain, Options{Hops: 1, States: []string{"p", "q"}})
	f := set.Instances[0].NodeFeatures(0)
	for node, want := range [][]float64{{3, 0, 1, 0}, {4.5, .5, 1, 0}, {6, 1, 1, 0}, {0, 0, 0, 1}, {0, 0, 0, 1}} {
		if got := row(f, node); !slices.Equal(got, want) {
			t.Errorf("means of node %d are %v, want %v", node, got, want)
		}
	}
	if text := strings.Join(set.Warnings, "\n"); set.Recipe.Hops != 1 || !strings.Contains(text, "the features of 3 nodes are not known; means over 1 hops leave 2 of them without") {
		t.Errorf("recipe %+v, warnings %s", set.Recipe, text)
	}
	model := Options{Schema: &set.Schema, Recipe: &set.Recipe}
	again := mustOpen(t, plain, model)
	if got, want := again.Instances[0].NodeFeatures(0).Data(), f.Data(); !slices.Equal(got.Value, want.Value) {
		t.Errorf("means are %v with the model, and were %v", got.Value, want.Value)
	}
	model.Hops = 2
	if w := strings.Join(mustOpen(t, plain, model).Warnings, "\n"); !strings.Contains(w, "the option Hops is 2, but the model was trained with 1, which holds") {
		t.Errorf("warnings are %q", w)
	}
	headed := writeFiles(t, map[string]string{"nodes.csv": "id,label,x,kind\na,p,1,red\nb,q,2,blue\nc,p,9,red\n", "edges.csv": "source,target,w\na,b,1\nc,b,2\n"})
	set = mustOpen(t, headed, Options{Hops: 1})
	f = set.Instances[0].NodeFeatures(0)
	for node, want := range [][]float64{{1.5, .5, .5, 1}, {4, 1. / 3, 2. / 3, 1}, {5.5, .5, .5, 1}} {
		if got := row(f, node); !slices.Equal(got, want) {
			t.Errorf("means of node %d with a header are %v, want %v (%q)", node, got, want, set.Schema.NodeTypes[0].FeatureNames)
		}
	}
	if got := row(set.Instances[0].EdgeFeatures(0), 1); !slices.Equal(got, []float64{2, 1}) {
		t.Errorf("features of an edge are %v", got)
	}
	_, err := Open(context.Background(), []string{plain}, Options{Hops: 99})
	wantError(t, err, fmt.Sprintf("it is 99, want 0 to %d", mostHops))
	_, err = Open(context.Background(), []string{plain}, Options{Hops: 2, Memory: 100})
	wantError(t, err, "means of features over 2 hops")
}
