package cli_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
)

// expectedOptimum reads Lstar and wstar of an expected_METHOD.txt.
func expectedOptimum(t *testing.T, path string) (objective float64, weights []float64) {
	t.Helper()
	for line := range strings.Lines(readFile(t, path)) {
		fields := strings.Fields(line)
		if fields[0] != "Lstar" && fields[0] != "wstar" {
			continue
		}
		for _, f := range fields[1:] {
			x, err := strconv.ParseFloat(f, 64)
			if err != nil {
				t.Fatal(err)
			}
			if fields[0] == "Lstar" {
				objective = x
			} else {
				weights = append(weights, x)
			}
		}
	}
	return objective, weights
}

// claimed is the status of a run with a small gradient, by whether the objective is convex.
var claimed = map[bool]string{true: "converged", false: "stationary_point"}

// TestReferenceProblem learns the problem whose optimum independent code found.
func TestReferenceProblem(t *testing.T) {
	t.Parallel()
	folder := oracle.SharedData(t, "learning", "crf_grid4x4_K3")
	half := writeFile(t, filepath.Join(t.TempDir(), "half.txt"), countsOf(16, gridEdges(4, 4), nil, func(int) float64 { return 0.5 }))
	for _, c := range []struct {
		expected, counting string
		convex             bool
	}{
		{"ones", "convex", true},
		{"bethe", "bethe", false},
		{"trw_half", half, true},
	} {
		objective, weights := expectedOptimum(t, filepath.Join(folder, "expected_"+c.expected+".txt"))
		for _, method := range []string{"bbpl", "inner-dual", "full"} {
			dir := filepath.Join(t.TempDir(), "run")
			r := train(t, folder, "--directed", "-o", dir, "--method", method, "--blocks", "4", "--counting", c.counting, "--l2", "0.5", "--tol", "1e-8")
			if r.Status != claimed[c.convex] || !closeTo(r.Objective, objective, 1e-9) || r.GradNorm > 1e-8 {
				t.Errorf("%s %s: %s with objective %.12g and gradient %.3g, want a claim with %.12g", c.expected, method, r.Status, r.Objective, r.GradNorm, objective)
			}
			if c.convex && !r.Convex {
				t.Errorf("%s %s: the objective is not said to be convex", c.expected, method)
			}
			m, _, err := crf.Load(filepath.Join(dir, "model.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			difference, square := 0.0, 0.0
			for i, w := range weightsByState(m) {
				difference += (w - weights[i]) * (w - weights[i])
				square += weights[i] * weights[i]
			}
			if math.Sqrt(difference/square) > 1e-7 {
				t.Errorf("%s %s: the weights are %.3g from the optimum, relatively", c.expected, method, math.Sqrt(difference/square))
			}
		}
	}
}

// weightsByState are the weights in the reference's order: [state, feature] of
// the nodes, then of the edges.
func weightsByState(m *crf.Model) []float64 {
	var weights []float64
	for _, span := range slices.Concat(m.Layout.Node, m.Layout.Edge) {
		for i := range span.States {
			for f := range span.Features {
				weights = append(weights, m.Weights[span.At+f*span.States+i])
			}
		}
	}
	return weights
}

// gridEdges lists the edges of a grid in this module's order; only how many there
// are at each node matters here.
func gridEdges(rows, cols int) [][2]int {
	var edges [][2]int
	for r := range rows {
		for c := range cols {
			if c+1 < cols {
				edges = append(edges, [2]int{r*cols + c, r*cols + c + 1})
			}
			if r+1 < rows {
				edges = append(edges, [2]int{r*cols + c, (r+1)*cols + c})
			}
		}
	}
	return edges
}

// countsOf writes counting numbers of tree-reweighted form: c_e = ρ_e and
// c_s = 1 − Σ ρ_e over the edges at s, which are in the order given.
func countsOf(nodes int, edges [][2]int, rho []float64, rhoOf func(e int) float64) string {
	node := make([]float64, nodes)
	for s := range node {
		node[s] = 1
	}
	var b strings.Builder
	for e, ends := range edges {
		r := 0.0
		if rhoOf != nil {
			r = rhoOf(e)
		} else {
			r = rho[e]
		}
		node[ends[0]] -= r
		node[ends[1]] -= r
		fmt.Fprintf(&b, "edge %d %v\n", e, r)
	}
	for s, c := range node {
		fmt.Fprintf(&b, "node %d %v\n", s, c)
	}
	return b.String()
}

// TestReferenceModels infers the models that independent code solved to about
// 1e-13.
func TestReferenceModels(t *testing.T) {
	t.Parallel()
	folder := oracle.SharedData(t, "reference")
	for _, name := range namesIn(folder) {
		dir := filepath.Join(folder, name)
		if _, err := os.Stat(filepath.Join(dir, "model.uai")); err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			reference, err := oracle.LoadReference(dir)
			if err != nil {
				t.Fatal(err)
			}
			inferReference(t, dir, name, reference)
		})
	}
}

func inferReference(t *testing.T, dir, name string, reference *oracle.Reference) {
	path := filepath.Join(dir, "model.uai")
	exact := reference.Solutions["exact"]
	// model.uai holds what model.txt has in full precision, rounded where it is
	// beyond exp's range.
	tolerance := 1e-9
	if got := infer(t, path, "--method", "exact", "--task", "MAR"); !closeTo(*got.LogZ, exact.LogZ, tolerance) || got.Bound != "exact" {
		t.Errorf("exact: log Z is %.13g (%s), want %.13g", *got.LogZ, got.Bound, exact.LogZ)
	} else {
		compareMarginals(t, name+" exact", got.Marginals, exact.Nodes, 1e-8)
	}
	check := func(what, counting, bound string, want *oracle.Solution) {
		t.Helper()
		if want == nil {
			return
		}
		got := infer(t, path, "--task", "MAR", "--counting", counting, "--tol", "1e-12")
		if !got.Converged || !closeTo(*got.LogZ, want.LogZ, tolerance) {
			t.Errorf("%s: log Z is %.13g (converged: %v), want %.13g", what, *got.LogZ, got.Converged, want.LogZ)
			return
		}
		compareMarginals(t, name+" "+what, got.Marginals, want.Nodes, 1e-8)
		if got.Bound != bound {
			t.Errorf("%s: bound is %q, want %q", what, got.Bound, bound)
		}
		if got.Bound == "upper" && *got.LogZ < exact.LogZ-1e-9 {
			t.Errorf("%s: log Z %v is no upper bound of %v", what, *got.LogZ, exact.LogZ)
		}
	}
	forest := reference.Model.Graph.IsForest()
	betheBound := "none"
	if forest {
		betheBound = "exact"
	}
	check("convex", "convex", "upper", reference.Solutions["convex_ones"])
	for counts := range reference.Counts {
		solution := reference.Solutions["convex_"+strings.TrimPrefix(counts, "counts_")]
		check(counts, filepath.Join(dir, counts+".txt"), "upper", solution)
	}
	check("bethe", "bethe", betheBound, reference.Solutions["bp"])
	var edges [][2]int
	for e := range int32(reference.Model.Graph.NumEdges()) {
		edges = append(edges, [2]int{int(reference.Model.Graph.U(e)), int(reference.Model.Graph.V(e))})
	}
	for rho, values := range reference.Rho {
		solution := filepath.Join(dir, "trw_"+strings.TrimPrefix(rho, "rho_")+".txt")
		bound := "upper"
		switch text, err := os.ReadFile(solution); {
		case err != nil:
			continue
		case strings.Contains(string(text), "is an upper bound): False"):
			bound = "none"
		case rho == "rho_one": // of a chain: the tree itself
			bound = "exact"
		}
		counts := writeFile(t, filepath.Join(t.TempDir(), rho+".txt"), countsOf(len(reference.Model.Card), edges, values, nil))
		check(rho, counts, bound, reference.Solutions["trw_"+strings.TrimPrefix(rho, "rho_")])
	}
	if forest {
		check("trw", "trw", "exact", exact)
	} else if got := infer(t, path, "--counting", "trw", "--tol", "1e-10"); got.Bound != "upper" || *got.LogZ < exact.LogZ {
		t.Errorf("trw: log Z %v is a bound of kind %q of %v", *got.LogZ, got.Bound, exact.LogZ)
	}
}

// TestUAINetworks infers networks of the UAI 2014 competition that take well
// under a second.
func TestUAINetworks(t *testing.T) {
	t.Parallel()
	reader := csv.NewReader(strings.NewReader(readFile(t, oracle.SharedData(t, "uai", "exact_logZ.tsv"))))
	reader.Comma, reader.Comment = '\t', '#'
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	quick := map[string]bool{"Grids_12": true, "Segmentation_11": true, "Segmentation_12": true, "DBN_11": true, "CSP_12": true}
	for _, row := range rows {
		name := row[0]
		if !quick[name] {
			continue
		}
		delete(quick, name)
		want, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		path := oracle.SharedData(t, "uai", name+".uai")
		evidence := oracle.SharedData(t, "uai", name+".uai.evid")
		if got := infer(t, path, "--evidence", evidence, "--method", "exact"); math.Abs(*got.Log10Z-want) > 1e-7 {
			t.Errorf("%s: exact log10 Z is %v, want %v", name, *got.Log10Z, want)
		}
		got := infer(t, path, "--evidence", evidence, "--counting", "trw", "--max-sweeps", "200", "--tol", "1e-4")
		if got.Bound != "upper" || *got.Log10Z < want-1e-7 {
			t.Errorf("%s: trw gives %v as a bound of kind %q; exactly it is %v", name, *got.Log10Z, got.Bound, want)
		}
	}
	if len(quick) > 0 {
		t.Errorf("networks %v are not in the table", quick)
	}
}
