package cli_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/safetensors"
)

// TestModelNamesNoFile: what stands in a model is never opened, whatever it names, and counting
// numbers that an earlier version has put into one are used.
func TestModelNamesNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data, old := filepath.Join(before, "data", "0.npz"), filepath.Join(before, "counted.safetensors")
	counts := filepath.Join(before, "counts.txt")
	f, err := safetensors.Open(old)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meta := maps.Clone(f.Metadata())
	delete(meta, safetensors.DataChecksumKey)
	meta["format_version"], meta["checksum"], meta["counting"] = "3", "", counts // a file that is there, and fits
	var tensors []safetensors.Tensor
	for _, info := range f.Tensors() {
		values, err := safetensors.Read[float64](f, info.Name)
		if err != nil {
			t.Fatal(err)
		}
		tensors = append(tensors, safetensors.New(info.Name, info.Shape, values))
	}
	write := func(name string) string {
		path := filepath.Join(folder, name)
		if err := safetensors.WriteFile(path, meta, tensors); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named := write("named.safetensors")
	for _, model := range []string{old, named} {
		o := run(t, "eval", data, "-m", model)
		o.wantFailure(t, 3, model, "counts.txt", "--counting")
		if strings.Count(o.stderr, "is not opened") != 1 {
			t.Errorf("no note: %s", o.stderr)
		}
		mustRun(t, "eval", data, "-m", model, "--counting", "trw")
		mustRun(t, "info", model)
	}
	meta["counting"] = "numbers" // of its own
	run(t, "info", write("without.safetensors")).wantFailure(t, 3, "without.safetensors", "counting", "damaged")
	ones := slices.Repeat([]float64{1}, 12) // those of the grid are the numbers of convex
	tensors = append(tensors, safetensors.New("counting.node", []int{9}, ones[:9]), safetensors.New("counting.edge", []int{12}, ones))
	own := write("own.safetensors")
	if a, b := mustRun(t, "eval", data, "-m", own).stdout, mustRun(t, "eval", data, "-m", own, "--counting", "convex").stdout; a != b {
		t.Errorf("by numbers of its own %s, by the same of convex %s", a, b)
	}
	meta["counting"] = "trw"
	run(t, "info", write("both.safetensors")).wantFailure(t, 3, "both.safetensors", "counting", "damaged")
}
