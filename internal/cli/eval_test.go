package cli_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEvalLikelihood: what is said of the labels' likelihood, and that it can be
// left out.
func TestEvalLikelihood(t *testing.T) {
	t.Parallel()
	data, dir := gridData(t), gridRun(t)
	e := evaluate(t, data, "-m", dir, "--threads", "1")[0]
	e.check(t)
	if e.Bound == nil || *e.Bound != "upper" || e.NegativeLog == nil || !(*e.NegativeLog > 0) || e.Pseudo == nil || !(*e.Pseudo < 0) {
		t.Fatalf("%+v", e)
	}
	// bethe bounds nothing on a graph with loops.
	if b := evaluate(t, data, "-m", dir, "--counting", "bethe")[0]; *b.Bound != "none" || *b.Pseudo != *e.Pseudo {
		t.Errorf("bethe: %s, pseudo-likelihood %v and %v", *b.Bound, *b.Pseudo, *e.Pseudo)
	}
	if b := evaluate(t, data, "-m", dir, "--counting", "trw", "--max-sweeps", "20000")[0]; *b.Bound != "upper" || !(*b.NegativeLog < *e.NegativeLog) {
		t.Errorf("trw: %v (%s), convex: %v", *b.NegativeLog, *b.Bound, *e.NegativeLog)
	}
	// Without edges all of it is the same sum of logarithms.
	alone := filepath.Join(t.TempDir(), "alone")
	train(t, data, "-o", alone, "--no-edges")
	if a := evaluate(t, data, "-m", alone)[0]; *a.Bound != "exact" || math.Abs(*a.NegativeLog-a.LogLoss) > 1e-9 || math.Abs(*a.Pseudo+a.LogLoss) > 1e-9 {
		t.Errorf("without edges: %v (%s), pseudo-likelihood %v, log loss %v", *a.NegativeLog, *a.Bound, *a.Pseudo, a.LogLoss)
	}
	if without := evaluate(t, data, "-m", dir, "--likelihood=false")[0]; without.NegativeLog != nil || without.Bound != nil || without.Pseudo != nil || without.Accuracy != e.Accuracy {
		t.Errorf("--likelihood=false: %+v", without)
	}
	run(t, "eval", data, "-m", dir, "--tol", "0").wantFailure(t, 2, "--tol 0")
	run(t, "eval", data, "-m", dir, "--max-sweeps", "0").wantFailure(t, 2, "--max-sweeps 0")
}

// TestEvalPictures: the folder has the figures of a model, of several those that set them
// beside each other too, and tables stand before figures. Nothing is drawn twice.
func TestEvalPictures(t *testing.T) {
	t.Parallel()
	data, other := gridData(t), filepath.Join(t.TempDir(), "other")
	train(t, data, "-o", other, "--no-edges")
	for _, c := range []struct {
		models, want []string
		tables       int // before the first figure
	}{
		{[]string{"-m", gridRun(t)}, []string{"reliability-grid-run"}, 3},
		{[]string{"-m", gridRun(t), "-m", other}, []string{"reliability"}, 1},
	} {
		out := filepath.Join(t.TempDir(), "out")
		mustRun(t, append([]string{"eval", data, "-o", out}, c.models...)...)
		var names []string
		for _, name := range namesIn(filepath.Join(out, "plots")) {
			if name, ok := strings.CutSuffix(name, ".svg"); ok {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, c.want) {
			t.Errorf("%q: figures %q, want %q", c.models, names, c.want)
		}
		page := readFile(t, out, "report.html")
		if before, _, _ := strings.Cut(page, "<figure"); strings.Count(before, "<table") != c.tables {
			t.Errorf("%q: %d tables before the first figure, want %d", c.models, strings.Count(before, "<table"), c.tables)
		}
	}
}

// chainData writes chains of two states whose feature tells of them, and whose neighbours
// differ with some probability; joined says whether there are edges.
func chainData(t *testing.T, folder string, differ float64, joined bool) string {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 30 {
		const nodes = 12
		var edges, labels []int32
		var features []float64
		label := int32(rng.IntN(2))
		for s := range int32(nodes) {
			if s > 0 {
				edges = append(edges, s-1, s)
				if rng.Float64() < differ {
					label = 1 - label
				}
			}
			labels, features = append(labels, label), append(features, float64(label)+rng.NormFloat64(), 1)
		}
		if !joined {
			edges = nil
		}
		writeFile(t, filepath.Join(folder, fmt.Sprintf("%d.npz", i)), npz(t, arrays{
			"edges": npy(t, []int{len(edges) / 2, 2}, edges), "labels": npy(t, []int{nodes}, labels), "node_features": npy(t, []int{nodes, 2}, features),
		}))
	}
	return folder
}

// TestEvalHarm: where edges make predictions worse, eval says so, and its report; elsewhere not.
func TestEvalHarm(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	alike, opposed := chainData(t, in("alike"), 0.2, true), chainData(t, in("opposed"), 1, true)
	train(t, alike, "-o", in("run"))
	train(t, alike, "-o", in("alone"), "--no-edges")
	const learned = "were learned from, so that these measures are too good"
	for path, want := range map[string]bool{alike: true, opposed: false} {
		if o := mustRun(t, "eval", path, "-m", in("run"), "-o",
			filepath.Join(in("learned"), filepath.Base(path))); strings.Contains(o.stderr, learned) != want {
			t.Errorf("%s: %s", o.command(), o.stderr)
		}
	}
	const harm = "is worse than its node potentials alone: accuracy"
	if o := mustRun(t, "eval", opposed, "-m", in("run"), "-o", in("out")); !strings.Contains(o.stderr, "note: run "+harm) || !strings.Contains(readFile(t, in("out"), "report.html"), harm) {
		t.Errorf("%s: no note, or not in the report: %s", o.command(), o.stderr)
	}
	// With costs, those of the labels are compared, which the same costs decide on.
	if o := mustRun(t, "eval", opposed, "-m", in("run"), "-o", in("costs"), "--cost", "1=3"); !strings.Contains(o.stderr, "note: run is worse than its node potentials alone: mean cost") {
		t.Errorf("%s: %s", o.command(), o.stderr)
	}
	row := regexp.MustCompile(`mean cost</td>\s*<td[^>]*>([0-9.]+)</td>\s*<td[^>]*>([0-9.]+)</td>`).FindStringSubmatch(readFile(t, in("costs"), "report.html"))
	apart := evaluate(t, chainData(t, in("apart"), 1, false), "-m", in("run"), "--cost", "1=3")[0]
	if alone := fmt.Sprintf("%.4g", *apart.MeanCost); len(row) != 3 || row[2] != alone {
		t.Errorf("the report has the mean costs %q, want %s without edges", row, alone)
	}
	for _, args := range [][]string{{alike, "-m", in("run")}, {opposed, "-m", in("alone")}, {opposed, "-m", in("run"), "--cost", "1=3"}, {opposed, "-m", in("run"), "--decode", "map"}} {
		if o := mustRun(t, append([]string{"eval"}, args...)...); strings.Contains(o.stderr, harm) {
			t.Errorf("%s: %s", o.command(), o.stderr)
		}
	}
}

// TestHarmWithoutPredictions: pseudo-likelihood on pictures learns couplings that predictions, with
// neighbours that are not known, can't use; a note says so, where there is an evaluation set.
func TestHarmWithoutPredictions(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	pictures := filepath.Join(folder, "pictures")
	mustRun(t, "example", "images", "-o", pictures)
	const harm = "the model is worse than a model of node features alone: accuracy"
	const reason = "--method pseudo learns from true neighbours"
	for _, options := range [][]string{nil, {"--eval", "test=test.txt", "--features", "features"}} {
		o := mustRun(t, append([]string{"train", pictures, "--list", "train.txt", "--method", "pseudo", "-o", filepath.Join(folder, fmt.Sprint("run", len(options)))}, options...)...)
		if told := strings.Contains(o.stderr, harm) && strings.Contains(o.stderr, reason); told != (options != nil) {
			t.Errorf("%v: %s", options, o.stderr)
		}
	}
	for list, want := range map[string]bool{"train.txt": true, "test.txt": false} { // as of other kinds of data
		o := mustRun(t, "eval", pictures, "--list", list, "-m", filepath.Join(folder, "run0"))
		if strings.Contains(o.stderr, "were learned from") != want {
			t.Errorf("%s: %s", o.command(), o.stderr)
		}
	}
	grid := filepath.Join(folder, "alike")
	chainData(t, grid, 0.5, true)
	if o := mustRun(t, "train", grid, "--method", "pseudo", "-o", filepath.Join(folder, "good")); strings.Contains(o.stderr, "worse") {
		t.Error(o.stderr)
	}
}
