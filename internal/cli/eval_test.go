package cli_test

import (
	"math"
	"path/filepath"
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

// TestEvalPictures: the folder has the figures of every model, and of all together.
func TestEvalPictures(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	mustRun(t, "eval", gridData(t), "-m", gridRun(t), "-o", out)
	names := strings.Join(namesIn(filepath.Join(out, "plots")), " ")
	for _, want := range []string{"iou.png", "f1.svg", "reliability.svg", "reliability-grid-run.png", "classes-grid-run.svg", "confusion-grid-run.png"} {
		if !strings.Contains(names, want) {
			t.Errorf("no %s among %s", want, names)
		}
	}
}
