package cli_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiagnoses: whatever is wrong with data or settings, train names the feature, the
// state or the block, says what to do, and keeps it in result.json.
func TestDiagnoses(t *testing.T) {
	t.Parallel()
	const side = 8
	const n = side * side
	value := []float64{0.3, -1.2, 0.8, 2.1, -0.4, 0.1, 1.3, -0.6, 0.9, -1.7, 0.2, 0.7, -0.8, 1.9, -0.3, -2.2}
	other := []float64{1.1, 0.2, -0.7, 0.4, 0.9, -2.2, 0.5, 1.4, -1.3, -0.1, 0.6, -0.9, 2.3, -0.5, 0.8, -1.6}
	mixed := func(i int) int32 { return int32(i*i+i/3) % 3 }
	left := func(i int) int32 { return int32(i % side * 2 / side) }
	ordinary := func(i int) (a, b float64) { return value[i%16], other[i%16] }
	for name, c := range map[string]struct {
		features func(i int) (a, b float64)
		label    func(i int) int32
		options  []string
		want     []string
	}{
		"nothing":    {ordinary, mixed, []string{"--l2", "0.1"}, nil},
		"scale":      {func(i int) (a, b float64) { return 1000 * value[i%16], other[i%16] }, mixed, []string{"--l2", "0.1"}, []string{`"red" has root mean square`, `"green" has`, "divide each feature by its standard deviation"}},
		"constant":   {func(i int) (a, b float64) { return value[i%16], 0.01 }, mixed, []string{"--l2", "0.1"}, []string{`the feature "green" is 0.01 everywhere`, "1e+04 times as hard", "make it 1"}},
		"duplicated": {func(i int) (a, b float64) { return value[i%16], -3 * value[i%16] }, mixed, []string{"--l2", "0.1"}, []string{`"green" is a multiple of "red"`, "leave one of them out"}},
		"never":      {ordinary, func(i int) int32 { return 2 * left(i) }, []string{"--l2", "0.1"}, []string{`state "tree" of node type "node" never occurs`, "label some, or leave such states out of the data"}},
		"separable":  {func(i int) (a, b float64) { return float64(left(i)), 1 }, left, []string{"--l2", "0"}, []string{"l2 is 0 and the data are separable", "give l2 a positive value"}},
		"early":      {func(i int) (a, b float64) { return float64(left(i)), 1 }, left, []string{"--l2", "0", "--rtol", "0.4"}, []string{"l2 is 0 and", "the data are probably separable", "give l2 a positive value"}},
		"bethe":      {func(i int) (a, b float64) { return value[i%16], 1 }, left, []string{"--l2", "0.1", "--counting", "bethe", "--method", "bbpl", "--max-passes", "300"}, nil}, // messages settle undamped
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			features, labels := make([]float64, 0, 2*n), make([]int32, n)
			var edges []int32
			for i := range n {
				a, b := c.features(i)
				features, labels[i] = append(features, a, b), c.label(i)
				if i%side+1 < side {
					edges = append(edges, int32(i), int32(i+1))
				}
				if i+side < n {
					edges = append(edges, int32(i), int32(i+side))
				}
			}
			data := writeFile(t, filepath.Join(folder, "data", "data.npz"), npz(t, arrays{
				"edges": npy(t, []int{len(edges) / 2, 2}, edges), "node_features": npy(t, []int{n, 2}, features), "labels": npy(t, []int{n}, labels),
			}))
			states := `["sky", "tree", "road"]`
			if name == "separable" || name == "early" || name == "bethe" {
				states = `["sky", "tree"]`
			}
			writeFile(t, filepath.Join(folder, "data", "dataset.json"), `{"states": `+states+`, "node_features": ["red", "green"]}`)
			dir := filepath.Join(folder, "run")
			o := run(t, append([]string{"train", filepath.Dir(data), "-o", dir, "-q", noReport, "--threads", "1"}, c.options...)...)
			var result struct {
				Objective float64
				Notes     []string
			}
			if err := json.Unmarshal([]byte(readFile(t, dir, "result.json")), &result); err != nil || math.IsNaN(result.Objective) {
				t.Fatalf("%v: %s", err, o.stderr)
			}
			if len(c.want) == 0 && (len(result.Notes) > 0 || strings.Contains(o.stderr, "note:")) {
				t.Errorf("there is nothing to say, and yet: %q", o.stderr)
			}
			kept := strings.Join(result.Notes, "\n")
			for _, want := range c.want {
				if !strings.Contains(o.stderr, want) || !strings.Contains(kept, want) {
					t.Errorf("%q is not in stderr, %q, or not in the notes %q", want, o.stderr, kept)
				}
			}
		})
	}
}

// TestNothingLearned: a run that a limit ends at weights of 0 fails when all is written, and
// goes on with a higher limit. Weights of a model that it began with are a note's matter.
func TestNothingLearned(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	dir, second := filepath.Join(folder, "run"), filepath.Join(folder, "second")
	const note = "a limit ended the run before its first step, so that the model has the weights that the run began with; go on with a longer --max-time"
	limited := []string{"train", data, "--method", "full", "--max-time", "1ns", "--threads", "1", "-q"}
	o := run(t, append(limited, "-o", dir)...)
	o.wantFailure(t, 4, "nothing was learned", "model.safetensors", "time_limit", "blockbp train "+dir+" --resume")
	if !strings.Contains(o.stderr, note) || !strings.Contains(readFile(t, dir, "result.json"), note) || !strings.Contains(readFile(t, dir, "report.html"), note) {
		t.Errorf("the note is not on standard error, %q, in result.json and in the report", o.stderr)
	}
	mustRun(t, "train", dir, "--resume", "--max-time", "1h", "--rtol", "1e-2", "-q", noReport)
	if o := mustRun(t, append(limited, "-o", second, "--init", dir, noReport)...); !strings.Contains(o.stderr, note) {
		t.Errorf("of a run that began with a model there is no note: %q", o.stderr)
	}
}
