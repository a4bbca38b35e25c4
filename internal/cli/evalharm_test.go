package cli_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// chainData writes chains of two states whose feature tells of them, and whose neighbours
// differ with some probability.
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
			"edges": npy(t, []int{nodes - 1, 2}, edges), "labels": npy(t, []int{nodes}, labels), "node_features": npy(t, []int{nodes, 2}, features),
		}))
	}
	return folder
}

// TestEvalHarm: where edges make predictions worse, eval says so, and its report; elsewhere not.
func TestEvalHarm(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	alike, opposed := chainData(t, in("alike"), 0.2), chainData(t, in("opposed"), 1)
	train(t, alike, "-o", in("run"))
	train(t, alike, "-o", in("alone"), "--no-edges")
	const harm = "is worse than its node potentials alone: accuracy"
	if o := mustRun(t, "eval", opposed, "-m", in("run"), "-o", in("out")); !strings.Contains(o.stderr, "note: run "+harm) || !strings.Contains(readFile(t, in("out"), "report.html"), harm) {
		t.Errorf("%s: no note, or not in the report: %s", o.command(), o.stderr)
	}
	for _, args := range [][]string{{alike, "-m", in("run")}, {opposed, "-m", in("alone")}, {opposed, "-m", in("run"), "--cost", "1=3"}, {opposed, "-m", in("run"), "--decode", "map"}} {
		if o := mustRun(t, append([]string{"eval"}, args...)...); strings.Contains(o.stderr, harm) {
			t.Errorf("%s: %s", o.command(), o.stderr)
		}
	}
}
