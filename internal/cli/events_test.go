package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEvents: where a program asks for it, standard error is one JSON object a line: who
// speaks, notes, progress, and the error with its code.
func TestEvents(t *testing.T) {
	t.Setenv("BLOCKBP_PROGRESS", "json")
	data := gridData(t)
	events := func(code int, args ...string) (keys []string, last map[string]any) {
		t.Helper()
		o := run(t, args...)
		if o.code != code {
			t.Errorf("%s: exit code %d, want %d", o.command(), o.code, code)
		}
		for line := range strings.Lines(o.stderr) {
			last = nil
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			for _, key := range []string{"version", "note", "progress", "error"} {
				if _, ok := last[key]; ok && !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
		}
		return keys, last
	}
	dir := filepath.Join(t.TempDir(), "run")
	keys, last := events(0, "train", data, "-o", dir, "--plots=false", "--no-edges", "--max-passes", "1000")
	if !slices.Equal(keys[:1], []string{"version"}) || !slices.Contains(keys, "progress") || last["total"] != 1000.0 && last["note"] == nil {
		t.Errorf("events %q, the last %v", keys, last)
	}
	if names := namesIn(dir); !slices.Contains(names, "report.html") || slices.Contains(names, "plots") {
		t.Errorf("without plots there are %q", names)
	}
	keys, last = events(3, "train", filepath.Join(writeArrays(t, arrays{"edges": npy(t, []int{1, 2}, []int32{0, 5}), "labels": npy(t, []int{2}, []int32{0, 1})})), "-o", dir+"2", "-q")
	if !slices.Equal(keys, []string{"version", "error"}) || last["code"] != 3.0 || !strings.Contains(last["error"].(string), "edges[0]: is (0, 5)") {
		t.Errorf("events %q, the last %v", keys, last)
	}
	keys, _ = events(0, "demo", "--side", "5", "-o", dir+"3")
	if !slices.Equal(keys[:2], []string{"version", "progress"}) {
		t.Errorf("events of the demo %q", keys)
	}
	keys, last = events(2, "predict", "--nonsense")
	if !slices.Contains(keys, "error") || last["code"] != 2.0 {
		t.Errorf("events %q, the last %v", keys, last)
	}
}

// writeArrays writes arrays into a folder, a file each.
func writeArrays(t testing.TB, a arrays) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range a {
		oracle.OK(t, os.WriteFile(filepath.Join(folder, name+".npy"), []byte(text), 0o600))
	}
	return folder
}

// TestPredictArrays: the arrays of all instances hold what the files of each do.
func TestPredictArrays(t *testing.T) {
	t.Parallel()
	data, model, folder := gridData(t), gridRun(t), t.TempDir()
	apart, together := filepath.Join(folder, "apart"), filepath.Join(folder, "together")
	mustRun(t, "predict", data, "-m", model, "-o", apart, "-q")
	mustRun(t, "predict", data, "-m", model, "-o", together, "-q", "--arrays")
	if names := namesIn(together); !slices.Equal(names, []string{"beliefs.npy", "labels.npy", "predict.json"}) {
		t.Errorf("there are %q", names)
	}
	var p struct {
		Instances []struct {
			File  string
			Nodes int
		}
	}
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, apart, "predict.json")), &p))
	for _, name := range []string{"labels", "beliefs"} {
		var want []byte
		for _, in := range p.Instances {
			_, raw := rawArray(t, in.File, name)
			want = append(want, raw...)
		}
		shape, got := splitArray([]byte(readFile(t, together, name+".npy")))
		if !bytes.Equal(got, want) || !bytes.Contains(shape, []byte("'shape': (72,")) {
			t.Errorf("%s: %d bytes, want %d; %s", name, len(got), len(want), shape)
		}
	}
	run(t, "predict", data, "-m", model, "-o", filepath.Join(folder, "x.csv"), "--arrays").wantFailure(t, 2, "--arrays", "folder")
}
