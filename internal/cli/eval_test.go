package cli_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
