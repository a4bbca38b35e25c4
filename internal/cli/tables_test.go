package cli_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
)

// graphTables writes a graph of two communities that mostly link within: 40 nodes
// with noisy features, a few of them unknown, in splits train, val and test.
func graphTables(t testing.TB) string {
	return shared(t, "tables", func(folder string) {
		random := rand.New(rand.NewPCG(5, 6))
		var nodes, edges strings.Builder
		nodes.WriteString("# node\tlabel\tsplit\tfeatures\n")
		splits := []string{"train", "val", "test", ""}
		for v := range 40 {
			label := v % 2
			features := fmt.Sprintf("%d %d:%.3f", label, 2, 0.5*random.NormFloat64()+float64(label))
			if v%5 == 0 {
				features = fmt.Sprint(1 - label) // misleading
			}
			if v%11 == 3 {
				features = "?"
			}
			if split := splits[v/2%4]; split == "" {
				fmt.Fprintf(&nodes, "n%d\t-1\t\t%s\n", v, features)
			} else {
				fmt.Fprintf(&nodes, "n%d\t%d\t%s\t%s\n", v, label, split, features)
			}
			if v >= 2 {
				fmt.Fprintf(&edges, "n%d\tn%d\n", v, v-2)
			}
			if v >= 6 && random.Float64() < 0.5 {
				fmt.Fprintf(&edges, "n%d\tn%d\n", v, v-6)
			}
			if v%13 == 1 {
				fmt.Fprintf(&edges, "n%d\tn%d\n", v, v-1)
			}
		}
		edges.WriteString("n0\tn0\nn2\tn0\n") // a loop and a repetition are left out, with a note
		writeFile(t, filepath.Join(folder, "web.nodes.tsv"), nodes.String())
		writeFile(t, filepath.Join(folder, "web.edges.tsv"), edges.String())
	})
}

// tableRun is a run on graphTables.
func tableRun(t testing.TB) string {
	data := graphTables(t)
	return shared(t, "tables-run", func(folder string) {
		mustRun(t, "train", data, "-o", folder, "--observed", "train", "--max-iter", "5", "-q", noReport)
	})
}

// TestTables learns from the labels of one split and compares on others.
func TestTables(t *testing.T) {
	t.Parallel()
	data, folder := graphTables(t), t.TempDir()
	prefix, dir := filepath.Join(data, "web"), filepath.Join(folder, "run")
	o := mustRun(t, "train", prefix, noReport, "-o", dir, "--observed", "train", "--eval", "dev=val", "--eval", "held-out=test", "--l2", "0.5", "--blocks", "4", "--json", "-q", "--threads", "1")
	for _, note := range []string{"from a node to itself", "already"} { // once, though the tables are read three times
		if strings.Count(o.stderr, note) != 1 || !strings.Contains(o.stderr, "web.edges.tsv:") {
			t.Errorf("the notes do not mention %q once:\n%s", note, o.stderr)
		}
	}
	var r trainResult
	o.json(t, &r)
	if r.Status != "stationary_point" || r.Convex || len(r.Eval) != 16 || !(r.Eval["accuracy@dev"] > 0.6) {
		t.Errorf("train: %+v", r)
	}

	// eval says the same as the evaluation of the run: 10 nodes per split.
	results := evaluate(t, prefix, "-m", dir, "--observed", "train", "--split", "val", "--threads", "1")
	results[0].check(t)
	if results[0].Nodes != 10 || !closeTo(results[0].Accuracy, r.Eval["accuracy@dev"], 1e-12) || !closeTo(results[0].LogLoss, r.Eval["log_loss@dev"], 1e-6) {
		t.Errorf("eval --split val: %+v, train said %v", results[0], r.Eval)
	}
	if other := evaluate(t, data, "-m", dir, "--observed", "train", "--split", "test", "--threads", "1"); other[0].Nodes != 10 || !closeTo(other[0].Accuracy, r.Eval["accuracy@held-out"], 1e-12) {
		t.Errorf("eval --split test: %+v, train said %v", other[0], r.Eval)
	}
	// Without a split, on all that is labelled and not held.
	oracle.Equal(t, evaluate(t, data, "-m", dir, "--observed", "train", "--threads", "1")[0].Nodes, 20, "others")
	oracle.Equal(t, evaluate(t, data, "-m", dir, "--threads", "1")[0].Nodes, 30, "all nodes with labels")

	// Held labels stay as they are.
	out := filepath.Join(folder, "predicted")
	mustRun(t, "predict", prefix, "-m", dir, "-o", out, "--observed", "train", "--clamp", "--threads", "1")
	set := oracle.Must(dataset.Open(t.Context(), []string{prefix}, dataset.Options{}))(t)
	files := namesIn(out)
	if !slices.Contains(files, "web.npz") {
		t.Fatalf("predict made %q", files)
	}
	for s, y := range predictedLabels(t, filepath.Join(out, "web.npz"), 40, 2) {
		if truth := set.Instances[0].Samples()[0][s]; set.Splits[0][s] == "train" && y != truth {
			t.Errorf("node %d is held at %d and predicted to be %d", s, truth, y)
		}
	}
	mustRun(t, "check", data, "-m", dir)
	object := mustRun(t, "info", data, "--json").object(t, "kind", "nodes", "unobserved_labels")
	if object["kind"] != "graph" || object["nodes"] != 40.0 || object["unobserved_labels"] != 10.0 {
		t.Errorf("info: %v", object)
	}
}

// probabilities reads a table of predictions: the cells of each identifier, and the identifiers as they stand.
func probabilities(t *testing.T, path string) (of map[string][]string, ids []string) {
	t.Helper()
	file := oracle.Must(os.Open(path))(t)
	defer file.Close()
	rows := oracle.Must(csv.NewReader(file).ReadAll())(t)
	of = map[string][]string{}
	for _, row := range rows[1:] {
		of[row[0]], ids = row[1:], append(ids, row[0])
	}
	return of, ids
}

// TestPredictionsFollowRows: arrays and the door have nodes in the order of the rows, as tables of predictions do.
func TestPredictionsFollowRows(t *testing.T) {
	t.Parallel()
	data, model, dir := filepath.Join(graphTables(t), "web"), tableRun(t), t.TempDir()
	table, arrays := filepath.Join(dir, "out.csv"), filepath.Join(dir, "out")
	for _, out := range []string{table, arrays} {
		mustRun(t, "predict", data, "-q", "-m", model, "-o", out)
	}
	of, ids := probabilities(t, table)
	_, beliefs := npyOf(t, filepath.Join(arrays, "web.npz"), "beliefs")
	m := oracle.Must(blockbp.Load(model))(t)
	opened := oracle.Must(blockbp.Open(data))(t)
	all := oracle.Must(m.Predict(t.Context(), opened))(t)
	for row, id := range ids {
		want, err := strconv.ParseFloat(of[id][1], 64) // of the first state
		if err != nil || math.Abs(beliefs[2*row]-want) > 1e-5 || math.Abs(all[0].Beliefs[row][0]-want) > 1e-5 || all[0].Labels[row] != of[id][0] {
			t.Fatalf("row %d, %s: %q, in arrays %v, in Go %v (%v)", row, id, of[id], beliefs[2*row], all[0].Beliefs[row], err)
		}
	}
}
