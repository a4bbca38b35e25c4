package cli_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEvalLikelihood: what is said of the labels' likelihood, and that it can be left out.
func TestEvalLikelihood(t *testing.T) {
	t.Parallel()
	data, dir := gridData(t), gridRun(t)
	e := evaluate(t, data, "-m", dir, "--threads", "1")[0]
	e.check(t)
	if e.Bound == nil || *e.Bound != "upper" || e.NegativeLog == nil || !(*e.NegativeLog > 0) {
		t.Fatalf("%+v", e)
	}
	// bethe bounds nothing on a graph with loops.
	oracle.Equal(t, *evaluate(t, data, "-m", dir, "--counting", "bethe")[0].Bound, "none", "bethe")
	if without := evaluate(t, data, "-m", dir, "--likelihood=false")[0]; without.NegativeLog != nil || without.Bound != nil || without.Accuracy != e.Accuracy {
		t.Errorf("--likelihood=false: %+v", without)
	}
	run(t, "eval", data, "-m", dir, "--tol", "0").wantFailure(t, 2, "--tol 0")
	run(t, "eval", data, "-m", dir, "--max-sweeps", "0").wantFailure(t, 2, `--max-sweeps "0"`)
}

// chainData writes chains of two states whose feature tells of them, and whose neighbours differ with some probability.
func chainData(t *testing.T, folder string, differ float64) string {
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
		writeFile(t, filepath.Join(folder, fmt.Sprintf("%d.npz", i)), npz(t, arrays{
			"edges": npy(t, []int{len(edges) / 2, 2}, edges), "labels": npy(t, []int{nodes}, labels), "node_features": npy(t, []int{nodes, 2}, features),
		}))
	}
	return folder
}

// TestEvalOfLearned: labels that were learned from are told of, others not.
func TestEvalOfLearned(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	alike, opposed := chainData(t, in("alike"), 0.2), chainData(t, in("opposed"), 1)
	train(t, alike, "-o", in("run"))
	for path, want := range map[string]bool{alike: true, opposed: false} {
		o := mustRun(t, "eval", path, "-m", in("run"), "-o", filepath.Join(in("learned"), filepath.Base(path)))
		oracle.Equal(t, strings.Contains(o.stderr, "were learned from, so that these measures are too good"), want,
			"%s: it warns: %s", o.command(), o.stderr)
	}
	// With costs, that of labels is a measure.
	if e := evaluate(t, opposed, "-m", in("run"), "--cost", "1=3")[0]; e.MeanCost == nil || !(*e.MeanCost > 0) {
		t.Errorf("the mean cost is %v", e.MeanCost)
	}
}
