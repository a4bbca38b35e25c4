package cli_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// before is a folder that v0.1.0 has written: data, and a run that ended early.
var before = filepath.Join("testdata", "v0.1.0")

// TestModelsOfBefore: a model of an earlier version is used as one of this version is.
func TestModelsOfBefore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data, model := filepath.Join(before, "data", "0.npz"), filepath.Join(before, "run", "model.safetensors")
	for _, args := range [][]string{
		{"eval", data, "-m", model, "-q"},
		{"predict", data, "-m", model, "-o", filepath.Join(folder, "predicted"), "-q"},
		{"info", model},
		{"check", model},
		{"check", data, "-m", model},
		{"sample", data, "-m", model, "-o", filepath.Join(folder, "drawn"), "--samples", "4", "-q"},
		{"train", data, "--init", model, "--reference", model, "--max-iter", "1", noReport, "-q", "-o", filepath.Join(folder, "run")},
	} {
		if o := mustRun(t, args...); strings.Contains(o.stderr, "format") {
			t.Errorf("%s: %s", o.command(), o.stderr)
		}
	}
	now := filepath.Join(folder, "run", "model.safetensors")
	if o := mustRun(t, "check", now); strings.Count(o.stderr, "note:") != 1 || !strings.Contains(o.stderr, "the training ended at --max-iter") {
		t.Errorf("a model of this version is noted, but for its limit: %s", o.stderr)
	}
}

// TestModelsOfLimits: whoever uses a model whose training a limit ended is told so, once; a model
// that converged is used in silence.
func TestModelsOfLimits(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data := filepath.Join(before, "data", "0.npz")
	for _, c := range []struct {
		options []string
		want    string
	}{
		{[]string{"--max-iter", "1"}, "the training ended at --max-iter, before the optimum; blockbp train DIR --resume goes on, with a higher limit"},
		{[]string{"--max-passes", "1"}, "the training ended at --max-passes, before the optimum; blockbp train DIR --resume goes on, with a higher limit"},
		{[]string{"--max-passes", "1", "--checkpoint=false"}, "the training ended at --max-passes, before the optimum; train again, with a higher limit"},
		{nil, ""},
	} {
		run := filepath.Join(folder, "run"+strings.Join(c.options, ""))
		mustRun(t, append([]string{"train", data, "--l2", "1", noReport, "-q", "-o", run}, c.options...)...)
		for _, args := range [][]string{
			{"eval", data, "-m", run, "-q"},
			{"predict", data, "-m", run, "-o", run + ".predicted", "-q"},
			{"check", filepath.Join(run, "model.safetensors")},
		} {
			o := mustRun(t, args...)
			want := strings.ReplaceAll(c.want, "DIR", run)
			if n := strings.Count(o.stderr, "the training ended"); want == "" && n > 0 || want != "" && (n != 1 || !strings.Contains(o.stderr, want)) {
				t.Errorf("%s: want once %q: %s", o.command(), want, o.stderr)
			}
		}
	}
}

// TestRunsOfBefore: a run that an earlier version began is refused with what to do, and stays as it is.
func TestRunsOfBefore(t *testing.T) {
	t.Parallel()
	dir := copyFolder(t, filepath.Join(before, "run"), filepath.Join(t.TempDir(), "run"))
	state := filepath.Join(dir, "checkpoint", "state.safetensors")
	was := readFile(t, state)
	o := run(t, "train", filepath.Join(before, "data", "0.npz"), "-o", dir, "--resume", "--counting", "trw", "--blocks", "2", "--l2", "1", "--max-iter", "9", noReport)
	if o.code != 3 || !strings.Contains(o.stderr, "cannot be resumed, start a new one") || readFile(t, state) != was {
		t.Errorf("%d: %s", o.code, o.stderr)
	}
}

// TestForeignMetadata: a model that says more than this program understands is refused.
func TestForeignMetadata(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	for want, more := range map[string]map[string]string{
		`"cuonting"`:         {"cuonting": "trw"},
		`"edges" are "nome"`: {"edges": "nome"},
		`"seed" are "-1"`:    {"seed": "-1"},
		"no problems found":  {"edges": "none", "seed": "18446744073709551615", "synthetic": "{}"},
	} {
		meta := map[string]string{
			"format": "blockbp-model", "format_version": "3", "checksum": "", "recipe": `{"kind":"npz","node_form":"dense","edge_form":"constant"}`,
			"schema": `{"node_types":[{"name":"node","states":["a","b"],"features":1}],"edge_types":[]}`,
		}
		for key, value := range more {
			meta[key] = value
		}
		tensors := []safetensors.Tensor{safetensors.New("node.node", []int{2, 1}, []float64{1, 2})}
		oracle.OK(t, safetensors.WriteFile(path, meta, tensors))
		checked, info := run(t, "check", path), run(t, "info", path)
		checked.prints(t, want)
		if sound := len(more) == 3; sound != (info.code == 0) || !sound && (info.code != 3 || !strings.Contains(info.stderr, want)) {
			t.Errorf("info: %d, %s", info.code, info.stderr)
		}
	}
}

// TestModelNamesNoFile: what stands in a model is never opened, whatever it names, and counting
// numbers of its own are used.
func TestModelNamesNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data, model := filepath.Join(before, "data", "0.npz"), filepath.Join(before, "run", "model.safetensors")
	f := oracle.Must(safetensors.Open(model))(t)
	defer f.Close()
	meta := maps.Clone(f.Metadata())
	meta["checksum"], meta["counting"] = "", data // a file that is there
	var tensors []safetensors.Tensor
	for _, info := range f.Tensors() {
		values := oracle.Must(safetensors.Read(f, info.Name))(t)
		tensors = append(tensors, safetensors.New(info.Name, info.Shape, values))
	}
	write := func(name string) string {
		path := filepath.Join(folder, name)
		oracle.OK(t, safetensors.WriteFile(path, meta, tensors))
		return path
	}
	run(t, "info", write("named.safetensors")).wantFailure(t, 3, "named.safetensors", "counting", "damaged")
	meta["counting"] = "numbers" // of its own
	run(t, "info", write("without.safetensors")).wantFailure(t, 3, "without.safetensors", "counting", "damaged")
	ones := slices.Repeat([]float64{1}, 12) // those of the grid are the numbers of convex
	tensors = append(tensors, safetensors.New("counting.node", []int{9}, ones[:9]), safetensors.New("counting.edge", []int{12}, ones))
	own := write("own.safetensors")
	if a, b := mustRun(t, "eval", data, "-m", own).stdout, mustRun(t, "eval", data, "-m", own, "--counting", "convex").stdout; a != b {
		t.Errorf("by numbers of its own %s, by the same of convex %s", a, b)
	}
	// A training that begins with the model goes on with its numbers, and so does one that is resumed.
	first, second := filepath.Join(folder, "own", "run"), filepath.Join(folder, "convex", "run")
	mustRun(t, "train", data, "--init", own, "-o", first, "--max-iter", "3", noReport, "-q")
	mustRun(t, "train", first, "--resume", "--max-iter", "5", noReport, "-q")
	mustRun(t, "train", data, "--init", own, "--counting", "convex", "-o", second, "--max-iter", "5", noReport, "-q")
	oracle.Equal(t, mustRun(t, "eval", data, "-m", first).stdout, mustRun(t, "eval", data, "-m", second).stdout,
		"eval after a training by numbers of its own")
	meta["counting"] = "trw"
	run(t, "info", write("both.safetensors")).wantFailure(t, 3, "both.safetensors", "counting", "damaged")
}
