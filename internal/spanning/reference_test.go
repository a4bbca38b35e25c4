package spanning_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/spanning"
)

// referenceFolder holds models with edge appearance numbers and what independent
// code says about them. It is not part of the repository.
const referenceFolder = "../../../shared/data/reference"

// referenceModels returns the folders of the models, or skips the test.
func referenceModels(t *testing.T) []string {
	models, err := filepath.Glob(filepath.Join(referenceFolder, "*", "model.uai"))
	if err != nil {
		t.Fatal(err)
	}
	if len(models) == 0 {
		t.Skipf("no reference models in %s: they are not part of the repository", referenceFolder)
	}
	for i, model := range models {
		models[i] = filepath.Dir(model)
	}
	return models
}

func TestForestPolytopeOfReferenceModels(t *testing.T) {
	checked := 0
	for _, folder := range referenceModels(t) {
		g := readTopology(t, filepath.Join(folder, "model.uai"))
		results, err := filepath.Glob(filepath.Join(folder, "trw_*.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			want := spanning.Outside
			if strings.Contains(readFile(t, result), "in forest polytope (=> logZ is an upper bound): True") {
				want = spanning.Inside
			}
			mu := readNumbers(t, strings.Replace(result, "trw_", "rho_", 1))
			if verdict := spanning.CheckForestPolytope(g, mu); verdict.Status != want {
				t.Errorf("%s: %v %s, want %v", result, verdict.Status, verdict.Reason, want)
			} else if want == spanning.Outside {
				checkViolated(t, g, mu, verdict.Nodes)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("no model has a trw_*.txt")
	}
}

// TestUniformForestOfReferenceModels compares frequencies with the effective
// resistances in rho_ust.txt.
func TestUniformForestOfReferenceModels(t *testing.T) {
	const draws = 20000
	for _, folder := range referenceModels(t) {
		path := filepath.Join(folder, "rho_ust.txt")
		if _, err := os.Stat(path); err != nil {
			continue // a tree: all numbers are 1
		}
		g, want := readTopology(t, filepath.Join(folder, "model.uai")), readNumbers(t, path)
		rng, count := source(5), make([]float64, g.NumEdges())
		for range draws {
			for _, e := range spanning.UniformForest(g, rng) {
				count[e]++
			}
		}
		for e := range want {
			if got := count[e] / draws; math.Abs(got-want[e]) > 5*math.Sqrt(want[e]*(1-want[e])/draws) {
				t.Errorf("%s: edge %d is in %.4f of the forests, want %.4f", path, e, got, want[e])
			}
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// readNumbers returns the numbers of a file with one per line.
func readNumbers(t *testing.T, path string) []float64 {
	var numbers []float64
	for _, field := range strings.Fields(readFile(t, path)) {
		numbers = append(numbers, must(strconv.ParseFloat(field, 64)))
	}
	return numbers
}

// readTopology returns the graph of a file in UAI format: the pairwise factors
// are the edges, in their order.
func readTopology(t *testing.T, path string) *graph.Graph {
	fields := strings.Fields(readFile(t, path))[1:] // after the word MARKOV
	next := func() int32 {
		number := must(strconv.ParseInt(fields[0], 10, 32))
		fields = fields[1:]
		return int32(number)
	}
	nodes := next()
	fields = fields[nodes:] // cardinalities
	var u, v []int32
	for range next() {
		switch size := next(); size {
		case 1:
			next()
		case 2:
			u, v = append(u, next()), append(v, next())
		default:
			panic(fmt.Sprintf("%s: a factor of %d variables, want 1 or 2", path, size))
		}
	}
	return must(graph.FromEdges(int(nodes), u, v))
}
