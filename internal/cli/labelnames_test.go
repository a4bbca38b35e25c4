package cli_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
)

// TestLabelNames: classes 1001, 1002 and 1003 are learned as three states, and predictions
// are labels of these numbers, also of a network that was partitioned.
func TestLabelNames(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data, rng := filepath.Join(folder, "0.npz"), rand.New(rand.NewPCG(1, 2))
	a := &dataset.Arrays{NodeFeatures: &dataset.Matrix{Columns: 4}, Labels: [][]int32{nil}}
	for s := range int32(60) {
		class := s / 10 % 3
		a.Labels[0] = append(a.Labels[0], 1001+class)
		x := []float64{rng.NormFloat64() / 3, rng.NormFloat64() / 3, rng.NormFloat64() / 3, 1}
		x[class]++
		a.NodeFeatures.Data = append(a.NodeFeatures.Data, x...)
		if s > 0 {
			a.Edges = append(a.Edges, [2]int32{s - 1, s})
		}
	}
	if err := dataset.WriteNPZ(data, a); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	mustRun(t, "partition", data, "-o", at("parted"), "--parts", "2", "--blocks", "4")
	for _, source := range []string{data, at("parted")} {
		run, out := at("run"), at("out")
		mustRun(t, "train", source, "-o", run, "--force", "-q", noReport)
		if info := mustRun(t, "info", run).stdout; !strings.Contains(info, "3 states (1001, 1002, 1003)") {
			t.Errorf("%s: %s", source, info)
		}
		mustRun(t, "predict", data, "-m", run, "-o", out, "--force", "-q")
		_, labels := npyOf(t, filepath.Join(out, "0.npz"), "labels")
		right := 0
		for s, y := range labels {
			if !slices.Contains([]float64{1001, 1002, 1003}, y) {
				t.Fatalf("%s: label %v", source, y)
			}
			if int32(y) == a.Labels[0][s] {
				right++
			}
		}
		if right < 55 {
			t.Errorf("%s: %d of 60 labels are right", source, right)
		}
		if eval := mustRun(t, "eval", data, "-m", run).stdout; !strings.Contains(eval, "nodes compared") {
			t.Errorf("%s: %s", source, eval)
		}
	}
}
