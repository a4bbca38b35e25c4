package cli_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
)

// taggedChains is a set of chains whose labels never go from O to I.
func taggedChains(t testing.TB, folder string) {
	t.Helper()
	for i := range 3 {
		const nodes = 12
		a := &dataset.Arrays{NodeFeatures: &dataset.Matrix{Columns: 2}, Labels: [][]int32{make([]int32, nodes)}}
		for s := range int32(nodes) {
			y := []int32{0, 1, 2, 2, 0, 0, 1, 0, 1, 2, 0, 1}[(int(s)+4*i)%nodes]
			if s > 0 {
				a.Edges = append(a.Edges, [2]int32{s - 1, s})
				if a.Labels[0][s-1] == 0 && y == 2 {
					y = 0
				}
			}
			a.Labels[0][s] = y
			a.NodeFeatures.Data = append(a.NodeFeatures.Data, math.Sin(float64(5*i)+float64(s)*1.7)+float64(y), 1)
		}
		oracle.OK(t, a.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.npz", i))))
	}
}

// TestForbiddenPairs: a mask goes from dataset.json through the training into the model and its predictions.
func TestForbiddenPairs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	writeFile(t, filepath.Join(data, "dataset.json"), `{"states": ["O", "B", "I"], "directed": true, "forbidden_pairs": [["O", "I"]]}`)
	taggedChains(t, data)
	mustRun(t, "check", data)
	dir := filepath.Join(folder, "run")
	oracle.Equal(t, train(t, data, "-o", dir, "--counting", "bethe", "--blocks", "3").Status, "converged", "status")
	m, _, err := crf.Load(filepath.Join(dir, "model.safetensors"))
	if err != nil || len(m.Schema.EdgeTypes[0].Forbidden) != 1 {
		t.Fatalf("%v, schema %+v", err, m.Schema)
	}
	// A most probable joint state has no forbidden pair, with held labels or without.
	for _, clamp := range []string{"--clamp=false", "--clamp"} {
		joint := filepath.Join(folder, "joint"+clamp)
		mustRun(t, "predict", data, "-m", dir, "-o", joint, "--decode", "map", clamp)
		_, labels := npyOf(t, filepath.Join(joint, "0.npz"), "labels")
		for s := range labels[1:] {
			if labels[s] == 0 && labels[s+1] == 2 {
				t.Errorf("%s: labels %v have the forbidden pair at node %d", clamp, labels, s)
			}
		}
	}
	// So is a mask that allows nothing.
	writeFile(t, filepath.Join(folder, "nothing", "dataset.json"), `{"states": ["O", "B", "I"], "forbidden_states": ["O", "B", "I"]}`)
	taggedChains(t, filepath.Join(folder, "nothing"))
	run(t, "train", filepath.Join(folder, "nothing"), "-o", filepath.Join(folder, "no")).wantFailure(t, 3, "dataset.json", "every state is forbidden")
	if o := run(t, "check", filepath.Join(folder, "nothing")); o.code != 3 || !strings.Contains(o.stdout, "dataset.json: ") {
		t.Errorf("check: exit code %d, %s", o.code, o.stdout)
	}
	mustRun(t, "info", dir).prints(t, "O – I")
	// Labels that are forbidden are found before training.
	writeFile(t, filepath.Join(data, "dataset.json"), `{"states": ["O", "B", "I"], "directed": true, "forbidden_pairs": [["B", "I"]]}`)
	run(t, "check", data).wantFailure(t, 3, "problems found")
	run(t, "train", data, "-o", filepath.Join(folder, "no")).wantFailure(t, 3, "0.npz", "the pair B, I")
}

// maskedModel trains on the tagged chains with a mask, and returns their folder and the run's.
func maskedModel(t *testing.T, mask string) (data, model string) {
	t.Helper()
	folder := t.TempDir()
	data, model = filepath.Join(folder, "data"), filepath.Join(folder, "run")
	writeFile(t, filepath.Join(data, "dataset.json"), mask)
	taggedChains(t, data)
	train(t, data, "-o", model, "--max-iter", "3")
	return data, model
}

// TestMaskOfInitialModel: training goes on only where data and initial model forbid
// the same; other commands say that the model's mask holds.
func TestMaskOfInitialModel(t *testing.T) {
	t.Parallel()
	const names = `{"states": ["O", "B", "I"]`
	data, model := maskedModel(t, names+`}`)
	mustRun(t, "train", data, "--init", model, "-o", filepath.Join(t.TempDir(), "same"), "--max-iter", "1", noReport)
	writeFile(t, filepath.Join(data, "dataset.json"), names+`, "forbidden_pairs": [["O", "I"]]}`)
	out := filepath.Join(t.TempDir(), "run")
	run(t, "train", data, "--init", model, "-o", out).wantFailure(t, 3, "dataset.json", "not what the model forbids", "without an initial model")
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
	for _, args := range [][]string{
		{"predict", data, "-m", model, "-o", filepath.Join(t.TempDir(), "p")}, {"eval", data, "-m", model}, {"check", data, "-m", model},
	} {
		mustRun(t, args...).says(t, "note: ", "not what the model forbids", "the model's mask holds")
	}
}
