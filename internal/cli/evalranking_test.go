package cli_test

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEvalRankings: area under the ROC curve, average precision and mean cost are those of
// the predictions of the nodes of the split, whose labels training did not see, by
// their definitions.
func TestEvalRankings(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	mustRun(t, "example", "graph", "-o", in("graph"))
	train(t, in("graph"), "--observed", "train", "--no-edges", "-o", in("run"))
	costs := writeFile(t, in("costs.csv"), `truth,inference,learning,optimisation,vision
inference,0,1,1,2
learning,5,0,3,5
optimisation,1,1,0,1
vision,1,1,0.5,0
`)
	cost := [][]float64{{0, 1, 1, 2}, {5, 0, 3, 5}, {1, 1, 0, 1}, {1, 1, 0.5, 0}}
	e := evaluate(t, in("graph"), "--observed", "train", "--split", "test", "-m", in("run"), "--cost", costs)[0]
	mustRun(t, "predict", in("graph"), "--observed", "train", "-m", in("run"), "-o", in("predicted"), "--cost", costs)
	file := filepath.Join(in("predicted"), namesIn(in("predicted"))[0])
	_, beliefs := npyOf(t, file, "beliefs")
	_, labels := npyOf(t, file, "labels")
	// The nodes of the split, their labels and their beliefs.
	var truth []int
	var belief [][]float64
	paid, s := 0.0, 0
	for line := range strings.Lines(readFile(t, in("graph"), "papers.nodes.tsv")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if columns[2] == "test" {
			y, err := strconv.Atoi(columns[1])
			if err != nil {
				t.Fatal(err)
			}
			truth, belief = append(truth, y), append(belief, beliefs[4*s:][:4])
			paid += cost[y][int(labels[s])]
		}
		s++
	}
	if e.Nodes != len(truth) || e.MeanCost == nil || !closeTo(*e.MeanCost, paid/float64(len(truth)), 1e-12) {
		t.Errorf("%d nodes of mean cost %v, want %d of %v", e.Nodes, e.MeanCost, len(truth), paid/float64(len(truth)))
	}
	auc, ap := 0.0, 0.0
	for c := range 4 {
		won, pairs, precision, hits := 0.0, 0.0, 0.0, 0.0
		for i, b := range belief {
			if truth[i] != c {
				continue
			}
			hits++
			above, right := 0.0, 0.0
			for j, other := range belief {
				if truth[j] != c {
					pairs++
					if b[c] > other[c] {
						won++
					}
				}
				if other[c] >= b[c] {
					above++
					if truth[j] == c {
						right++
					}
				}
			}
			precision += right / above
		}
		got := e.Classes[c]
		if math.Abs(*got.AUC-won/pairs) > 1e-12 || math.Abs(*got.AP-precision/hits) > 1e-12 {
			t.Errorf("class %s: area %v, average precision %v, want %v and %v", got.Name, *got.AUC, *got.AP, won/pairs, precision/hits)
		}
		auc, ap = auc+*got.AUC/4, ap+*got.AP/4
	}
	if !closeTo(*e.AUC, auc, 1e-12) || !closeTo(*e.AP, ap, 1e-12) {
		t.Errorf("means %v and %v, want %v and %v", *e.AUC, *e.AP, auc, ap)
	}
	plain := evaluate(t, in("graph"), "--observed", "train", "--split", "test", "-m", in("run"))[0]
	if plain.MeanCost != nil || *plain.AUC != *e.AUC || plain.Accuracy <= e.Accuracy || plain.LogLoss != e.LogLoss {
		t.Errorf("without costs: %+v", plain)
	}

	// One class alone ranks nothing.
	var one []string
	for line := range strings.Lines(readFile(t, in("graph"), "papers.nodes.tsv")) {
		columns := strings.Split(line, "\t")
		if !strings.HasPrefix(line, "#") && columns[2] == "test" && columns[1] != "0" {
			line = strings.Replace(line, "\t"+columns[1]+"\t", "\t-1\t", 1)
		}
		one = append(one, line)
	}
	writeFile(t, filepath.Join(in("one"), "papers.nodes.tsv"), strings.Join(one, ""))
	writeFile(t, filepath.Join(in("one"), "papers.edges.tsv"), readFile(t, in("graph"), "papers.edges.tsv"))
	o := mustRun(t, "eval", in("one"), "--observed", "train", "--split", "test", "-m", in("run"))
	if rows := strings.Split(o.stdout, "\n"); !slices.ContainsFunc(rows, func(row string) bool {
		return strings.HasPrefix(row, "mean ROC AUC") && strings.HasSuffix(row, "n/a")
	}) {
		t.Errorf("%s", o.stdout)
	}
	if e := evaluate(t, in("one"), "--observed", "train", "--split", "test", "-m", in("run"))[0]; e.AUC != nil || e.Classes[0].AP != nil {
		t.Errorf("area %v and average precision %v of one class", e.AUC, e.Classes[0].AP)
	}
}
