package cli_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// TestCountingNumbersOfAModel: numbers that were given as a file are in the model, which
// predicts the same without the file, for networks of the same size.
func TestCountingNumbersOfAModel(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	counts, dir := writeFile(t, in("counts.txt"), countsOfGrid(2)), in("run")
	mustRun(t, "train", gridData(t), "-o", dir, "--counting", counts, "--max-iter", "5", "-q", noReport, "--eval", "dev="+gridData(t), "--early-stop", "accuracy@dev")
	mustRun(t, "predict", gridData(t), "-m", dir, "-o", in("with"), "--threads", "1", "--counting", counts)
	oracle.OK(t, os.Remove(counts))
	mustRun(t, "predict", gridData(t), "-m", dir, "-o", in("without"), "--threads", "1")
	mustRun(t, "predict", gridData(t), "-m", filepath.Join(dir, "model.best.safetensors"), "-o", in("best"), "--threads", "1")
	mustRun(t, "predict", gridData(t), "-m", dir, "-o", in("convex"), "--threads", "1", "--counting", "convex")
	if a, b, other := readFile(t, in("with"), "0.npz"), readFile(t, in("without"), "0.npz"), readFile(t, in("convex"), "0.npz"); a != b || a == other {
		t.Errorf("predictions with the file and with the model's own numbers agree: %v; with other numbers: %v", a == b, a == other)
	}
	o := mustRun(t, "info", dir)
	if !strings.Contains(o.stdout, "numbers of its own, for 36 nodes and 60 edges") {
		t.Errorf("info says %s", o.stdout)
	}
	mustRun(t, "check", filepath.Join(dir, "model.safetensors"))

	mustRun(t, "generate", "-o", in("other"), "--graph", "grid:3x5", "--states", "3", "--node-features", "2", "--edge-features", "2", "--samples", "1", "--instances", "1", "--sweeps", "1")
	run(t, "predict", in("other"), "-m", dir, "-o", in("none")).wantFailure(t, 3, "instance 0", "36 nodes and 60 edges", "15 and 22", "--counting")
	mustRun(t, "predict", in("other"), "-m", dir, "-o", in("told"), "--counting", "trw")
	// Training from such a model with other numbers keeps nothing of them.
	mustRun(t, "train", in("other"), "--init", dir, "-o", in("on"), "--max-iter", "2", "-q", noReport)
	mustRun(t, "predict", in("other"), "-m", in("on"), "-o", in("again"))
}

// TestModelNamesNoFile: what stands in a model is never opened, whatever it names.
func TestModelNamesNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data, old := filepath.Join(before, "data", "0.npz"), filepath.Join(before, "counted.safetensors")
	counts := filepath.Join(before, "counts.txt")
	f := oracle.Must(safetensors.Open(old))(t)
	defer f.Close()
	meta := maps.Clone(f.Metadata())
	delete(meta, safetensors.DataChecksumKey)
	meta["format_version"], meta["checksum"], meta["counting"] = "3", "", counts // a file that is there, and fits
	var tensors []safetensors.Tensor
	for _, info := range f.Tensors() {
		values := oracle.Must(safetensors.Read[float64](f, info.Name))(t)
		tensors = append(tensors, safetensors.New(info.Name, info.Shape, values))
	}
	write := func(name string) string {
		path := filepath.Join(folder, name)
		oracle.OK(t, safetensors.WriteFile(path, meta, tensors))
		return path
	}
	named := write("named.safetensors")
	for _, model := range []string{old, named} {
		o := run(t, "eval", data, "-m", model)
		o.wantFailure(t, 3, model, "counts.txt", "--counting")
		if strings.Count(o.stderr, "is not opened") != 1 {
			t.Errorf("no note: %s", o.stderr)
		}
		mustRun(t, "eval", data, "-m", model, "--counting", counts)
		mustRun(t, "info", model)
	}
	meta["counting"] = "numbers"
	run(t, "info", write("without.safetensors")).wantFailure(t, 3, "without.safetensors", "counting", "damaged")
	meta["counting"] = "trw"
	tensors = append(tensors, safetensors.New("counting.node", []int{1}, []float64{1}), safetensors.New("counting.edge", []int{0}, []float64{}))
	run(t, "info", write("both.safetensors")).wantFailure(t, 3, "both.safetensors", "counting", "damaged")
}
