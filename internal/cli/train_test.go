package cli_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/safetensors"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// TestDryRun: sizes are printed, nothing is written.
func TestDryRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	args := []string{"train", gridData(t), "-o", filepath.Join(folder, "run"), "--blocks", "4", "--dry-run"}
	o := mustRun(t, args...)
	o.prints(t, "nodes", "72", "edges", "120", "weights", "24", "memory")
	mustRun(t, append(args, "--json")...).object(t)
	oracle.Equal(t, len(namesIn(folder)), 0, "files that train --dry-run wrote")
}

// TestRequireConvergence: the model is written, the exit code tells.
func TestRequireConvergence(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"train", gridData(t), "-o", dir, "--max-iter", "3", "--json"}
	o := run(t, append(args, "--require-convergence")...)
	o.wantFailure(t, 5, "not converged", "iterations 3 ≥ limit 3")
	if r := o.object(t, "objective", "grad_norm", "iterations", "passes", "status"); r["status"] != "iteration_limit" || r["iterations"] != 3.0 {
		t.Errorf("result is %v", r)
	}
	if _, _, err := crf.Load(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Error(err)
	}
	// The same run without the option is a success.
	o = mustRun(t, "train", gridData(t), "-o", filepath.Join(t.TempDir(), "run"), "--max-iter", "3")
	o.prints(t, "status", "iteration_limit", "objective", "gradient norm", "peak memory", "model.safetensors", "report.html")
}

// TestNoEdges: a baseline of independent nodes, which stays one.
func TestNoEdges(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	r := train(t, gridData(t), "-o", dir, "--no-edges", "--l2", "0.5", "--tol", "1e-9")
	m, meta, err := crf.Load(filepath.Join(dir, "model.safetensors"))
	oracle.OK(t, err)
	for i, w := range m.Weights {
		if strings.HasPrefix(m.WeightName(i), "edge.") && w != 0 {
			t.Errorf("weight %s is %v, want 0", m.WeightName(i), w)
		}
	}
	if meta["edges"] != "none" || r.Status != "converged" {
		t.Errorf("metadata say edges %q, status %s", meta["edges"], r.Status)
	}
	if results := evaluate(t, gridData(t), "-m", dir, "-m", gridRun(t)); results[0].Accuracy > results[1].Accuracy {
		t.Errorf("without edges the accuracy is %v, with them %v", results[0].Accuracy, results[1].Accuracy)
	}
}

// TestDiverging: the run stops and says where and why, with exit code 4, and
// keeps a checkpoint from before it went wrong.
func TestDiverging(t *testing.T) {
	t.Parallel()
	for _, options := range [][]string{
		{"--step", "fixed:1e6"},
		{"--step", "fixed:1e6", "--checkpoint-every", "1ns"},
		{"--step", "fixed:1e300", "--checkpoint-every", "1ns"},
		{"--step", "fixed:1e6", "--method", "full"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		o := run(t, slices.Concat([]string{"train", gridData(t), "-o", dir, "--blocks", "4", "--json", "-q"}, options)...)
		o.wantFailure(t, 4, "diverged at iteration ", "block ", "step", "try auto")
		object := o.object(t, "status", "reason", "iterations", "block")
		oracle.Equal(t, object["status"], "diverged", "%q: status", options)
		if readFile(t, dir, "result.json") == "" || len(metricsOf(t, dir)) < 2 {
			t.Errorf("%q: result and metrics are not kept", options)
		}
		for i, w := range checkpointArray(t, dir, "weights") {
			if math.IsNaN(w) || math.Abs(w) > 1e3 {
				t.Errorf("%q: weight %d of the last good checkpoint is %v", options, i, w)
				break
			}
		}
		// From there the run goes the same way again.
		again := run(t, "train", dir, "--resume", "--force", "-q")
		again.wantFailure(t, 4, strings.TrimPrefix(o.errorLines()[0], "blockbp: "))
	}
}

// checkpointArray reads an array of a run's checkpoint.
func checkpointArray(t testing.TB, dir, name string) []float64 {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(dir, "checkpoint", "state.safetensors"))
	if err != nil {
		t.Errorf("there is no checkpoint: %v", err)
		return nil
	}
	defer f.Close()
	return oracle.Must(safetensors.Read(f, name))(t)
}

// TestNoCheckpoint: without checkpoints an interrupted run leaves its model and nothing to go on from, and says both.
func TestNoCheckpoint(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	ctx := &tripContext{Context: t.Context(), done: make(chan struct{})}
	ctx.tripIf = func(calls int64) bool {
		metrics, _ := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		return len(metrics) > 0 || calls > 1e6
	}
	o := runContext(ctx, slices.Concat([]string{"train", gridData(t), "-o", dir, "--checkpoint=false", "-q"}, endless)...)
	model := filepath.Join(dir, "model.safetensors")
	o.wantFailure(t, 130, "interrupted after iteration", "weights so far is in "+model, "nothing to go on from")
	if names := namesIn(dir); slices.Contains(names, "checkpoint") || !slices.Contains(names, "model.safetensors") {
		t.Errorf("the run leaves %q", names)
	}
	if strings.Contains(o.stderr, "iteration 0;") {
		t.Errorf("nothing was learned: %s", o.stderr)
	}
	run(t, "train", dir, "--resume", "-q").wantFailure(t, 3, "state.safetensors", "is missing", "new run")
}

// TestProgress: lines on stderr, none with --quiet, and nothing on stdout but the result.
func TestProgress(t *testing.T) {
	t.Parallel()
	args := slices.Concat([]string{"train", gridData(t), noReport, "--blocks", "4", "--json"}, endless, []string{"--max-passes", "1000"})
	o := mustRun(t, append(args, "-o", filepath.Join(t.TempDir(), "run"))...)
	if !regexp.MustCompile(`(?m)^iteration \d+  pass [\d.]+  objective [\d.]+  gradient [\de.+-]+  at most \d+ s left$`).MatchString(o.stderr) {
		t.Errorf("progress is %q", o.stderr)
	}
	o.object(t, "status")
	if o = mustRun(t, append(args, "-q", "-o", filepath.Join(t.TempDir(), "run"))...); o.stderr != "" {
		t.Errorf("with --quiet stderr is %q", o.stderr)
	}
}

// TestProgressOfEvaluation: predictions that take long are counted, wherever they are made.
func TestProgressOfEvaluation(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	data, other := filepath.Join(folder, "data"), filepath.Join(folder, "other")
	for out, instances := range map[string]int{data: 40, other: 1} {
		writeGrid(t, out, 16, 16, synthetic.Synthetic{States: 4, Samples: 1, Instances: instances, Sweeps: 1, Seed: uint64(instances)})
	}
	truth := filepath.Join(data, "truth.safetensors")
	for _, c := range []struct {
		labels string
		args   []string
	}{
		{"evaluating truth", []string{"eval", data, "-m", truth}},
		{"predicting", []string{"predict", data, "-m", truth, "-o", filepath.Join(folder, "predicted")}},
		{"evaluating dev|final evaluation on dev", []string{"train", filepath.Join(other, "0.npz"), "--eval", "dev=" +
			data, noReport, "--eval-every", "1", "--counting", "convex", "--init", truth, "--max-iter", "1", "-o",
			filepath.Join(folder, "run")}},
	} {
		o := mustRun(t, append(c.args, "--threads", "1")...)
		for label := range strings.SplitSeq(c.labels, "|") {
			if !regexp.MustCompile(`(?m)^` + label + `: \d+ of 40 (instances|done)(  about \S+ left)?$`).MatchString(o.stderr) {
				t.Errorf("%s: stderr has no progress of %q: %q", o.command(), label, o.stderr)
			}
		}
		if last := len(c.args) - 1; c.args[0] != "eval" {
			c.args[last] += "-quietly"
		}
		if o = mustRun(t, append(c.args, "--threads", "1", "-q")...); o.stderr != "" {
			t.Errorf("%s: stderr is %q", o.command(), o.stderr)
		}
	}
}

// TestLocalMethods: pseudo-likelihood and piecewise training leave the same run folder.
func TestLocalMethods(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	for method, kind := range map[string]string{"exact": "likelihood", "composite": "composite_likelihood",
		"pseudo": "pseudo_likelihood", "piecewise": "piecewise", "bbpl": "variational"} {
		dir := filepath.Join(folder, method)
		o := mustRun(t, "train", gridData(t), "-o", dir, "--method", method, "--eval", "self="+gridData(t), "--json")
		r := o.object(t, "objective_kind", "status", "convex", "checked", "passes")
		if r["objective_kind"] != kind || r["status"] != "converged" || r["convex"] != true || r["checked"] != true {
			t.Errorf("%s: %v", method, r)
		}
		oracle.Equal(t, strings.Contains(readFile(t, dir, "report.html"), "running estimates"), method == "bbpl",
			"%s: the report speaks of running estimates: %v", method, method != "bbpl")
	}
	// What was learned exactly predicts so, unless counting numbers are asked for.
	for asked, bound := range map[string]string{"": "exact", "--counting=convex": "upper"} {
		args := []string{"eval", gridData(t), "-m", filepath.Join(folder, "exact"), "--json"}
		if asked != "" {
			args = append(args, asked)
		}
		mustRun(t, args...).prints(t, `"negative_log_likelihood_bound":"`+bound+`"`)
	}
}

// TestTruncated: a model predicts by the sweeps that it was trained for, unless others are asked for, a resumed run
// keeps their number, and a training begins with another's weights.
func TestTruncated(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, run := filepath.Join(folder, "first"), filepath.Join(folder, "run")
	mustRun(t, "train", gridData(t), "-o", first, "-q", noReport)
	mustRun(t, "train", gridData(t), "-o", run, "--init", first, "--method", "truncated:3", "--max-passes", "2",
		"-q", noReport)
	resumed := mustRun(t, "train", run, "--resume", "--max-passes", "500", "-q", noReport, "--json")
	again := resumed.object(t, "method", "status")
	if again["method"] != "truncated:3" || again["status"] != "stationary_point" {
		t.Errorf("resumed: %v", again)
	}
	for _, c := range []struct {
		options []string
		sweeps  bool
	}{{nil, true}, {[]string{"--max-sweeps", "200"}, false}, {[]string{"--counting", "trw"}, false}} {
		out := filepath.Join(t.TempDir(), "out")
		mustRun(t, append([]string{"predict", gridData(t), "-m", run, "-o", out, "-q"}, c.options...)...)
		oracle.Equal(t, strings.Contains(readFile(t, out, "predict.json"), `"sweeps": 3,`), c.sweeps, "3 sweeps: %v", c)
	}
}

// claimed is the status of a run with a small gradient, by whether the objective is convex.
var claimed = map[bool]string{true: "converged", false: "stationary_point"}

// TestTrainingSaysWhatItConvergedTo: with an objective that is not known to be convex, whatever tells people of a
// training whose gradient is small says that it is at a stationary point, and not that it converged.
func TestTrainingSaysWhatItConvergedTo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for counting, optimum := range map[string]string{"convex": "global", "bethe": "stationary"} {
		run := filepath.Join(folder, counting)
		trained := mustRun(t, "train", gridData(t), "-o", run, "--counting", counting, "--l2", "2")
		if object := mustRun(t, "train", gridData(t), noReport, "-o", run+"-json", "--counting", counting, "--l2", "2", "--json", "-q").object(t); object["optimum"] != optimum || object["status"] != claimed[counting == "convex"] || object["converged"] != true {
			t.Errorf("%s: optimum %v, status %v, want %s, %s", counting, object["optimum"], object["status"], optimum, claimed[counting == "convex"])
		}
		for where, text := range map[string]string{
			"summary": trained.stdout + trained.stderr,
			"info":    mustRun(t, "info", filepath.Join(run, "model.safetensors")).stdout,
			"report":  regexp.MustCompile(`<[^>]*>`).ReplaceAllString(readFile(t, run, "report.html"), " "),
		} {
			oracle.Equal(t, strings.Contains(text, "stationary point"), counting == "bethe",
				"%s of %s: does it speak of a stationary point?", where, counting)
			if counting == "bethe" && regexp.MustCompile(`\bconverged\b`).MatchString(text) {
				t.Errorf("%s of %s says just converged:\n%s", where, counting, text)
			}
		}
	}
	stopped := mustRun(t, "train", gridData(t), noReport, "-o", filepath.Join(folder, "stopped"), "--counting", "bethe", "--max-iter", "4", "--json", "-q").object(t)
	oracle.Equal(t, stopped["optimum"], "none", "optimum of a run that a limit ended")
}

// TestNothingLearned: a run that a limit ends at weights of 0 fails when all is written, and
// goes on with a higher limit. Weights of a model that it began with are a note's matter.
func TestNothingLearned(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	dir, second := filepath.Join(folder, "run"), filepath.Join(folder, "second")
	const note = "so that the model has the weights that the run began with; go on with a higher limit"
	limited := []string{"train", data, "--method", "full", "--max-time", "1ns", "--threads", "1", "-q"}
	o := run(t, append(limited, "-o", dir)...)
	o.wantFailure(t, 4, "nothing was learned", "model.safetensors", "seconds", "blockbp train "+dir+" --resume")
	if !strings.Contains(o.stderr, note) || !strings.Contains(readFile(t, dir, "result.json"), note) || !strings.Contains(readFile(t, dir, "report.html"), note) {
		t.Errorf("the note is not on standard error, %q, in result.json and in the report", o.stderr)
	}
	mustRun(t, "train", dir, "--resume", "--max-time", "1h", "--rtol", "1e-2", "-q", noReport)
	mustRun(t, append(limited, "-o", second, "--init", dir, noReport)...).says(t, note)
}

// TestMagnitudes: numbers within the range of the page on files are learned from, to a
// result that is JSON and a run that goes on; check and train refuse others alike.
func TestMagnitudes(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	const least, most = 1e-150, 1e150 // those of weights of instances; small features are as good as none
	for name, of := range map[string]func(x float64) arrays{
		"node features": func(x float64) arrays {
			return arrays{"node_features": npy(t, []int{3, 2}, []float64{1, x, 1, -x / 2, 1, 0})}
		},
		"all node features": func(x float64) arrays { return arrays{"node_features": npy(t, []int{3, 1}, []float64{x, -x, x / 2})} },
		"edge features":     func(x float64) arrays { return arrays{"edge_features": npy(t, []int{3, 1}, []float64{x, x / 2, 0})} },
		"weight":            func(x float64) arrays { return arrays{"weight": npy(t, nil, []float64{x})} },
	} {
		for _, x := range []float64{math.SmallestNonzeroFloat64, 1e-160, math.Nextafter(least, 0), least, 1, most, math.Nextafter(most, math.Inf(1)), 1e160, math.MaxFloat64} {
			folder := t.TempDir()
			file, out := filepath.Join(folder, "x.npz"), filepath.Join(folder, "r")
			writeFile(t, file, with(t, of(x))["bad.npz"])
			checked := run(t, "check", file)
			trained := run(t, "train", file, "-o", out, "-q", "--report=false", "--max-passes", "3")
			if x > most || x < least && name == "weight" {
				checked.wantFailure(t, 3)
				if trained.wantFailure(t, 3, "to 1e150"); !strings.Contains(checked.stdout, "to 1e150") {
					t.Errorf("%s of %v: check says %q", name, x, checked.stdout)
				}
				continue
			}
			resumed := run(t, "train", out, "--resume", "-q", "--max-passes", "5")
			for _, o := range []outcome{checked, trained, resumed} {
				if o.code != 0 && o.code != 4 { // nothing was learned, of so few passes
					t.Errorf("%s of %v: %s ended with code %d: %s", name, x, o.command(), o.code, o.stderr)
				}
			}
			if !json.Valid([]byte(readFile(t, out, "result.json"))) {
				t.Errorf("%s of %v: result.json is no JSON", name, x)
			}
		}
	}
}
