package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// tripContext is cancelled when it is asked for the calls-th time: an interruption
// at an exact point of a run, which asks before every iteration.
type tripContext struct {
	context.Context
	done   chan struct{}
	tripIf func(calls int64) bool
	calls  atomic.Int64
	once   sync.Once
	over   atomic.Bool
}

func tripAfter(ctx context.Context, calls int64) *tripContext {
	return &tripContext{Context: ctx, done: make(chan struct{}), tripIf: func(n int64) bool { return n > calls }}
}

func (c *tripContext) Done() <-chan struct{} { return c.done }

func (c *tripContext) Err() error {
	if c.over.Load() || c.tripIf(c.calls.Add(1)) {
		c.over.Store(true)
		c.once.Do(func() { close(c.done) })
		return context.Canceled
	}
	return nil
}

// resumeForms are the ways to say which run is to go on. With all of them options are those of the run.
var resumeForms = map[string]func(data, dir string) []string{
	"RUN --resume":         func(_, dir string) []string { return []string{dir, "--resume"} },
	"-o RUN --resume":      func(_, dir string) []string { return []string{"-o", dir, "--resume"} },
	"DATA -o RUN --resume": func(data, dir string) []string { return []string{data, "-o", dir, "--resume"} },
	"--resume RUN DATA":    func(data, dir string) []string { return []string{"--resume", dir, data} },
}

// wantSameRun checks that a resumed run ended as the one never interrupted did.
func wantSameRun(t *testing.T, what, dir, never string) {
	t.Helper()
	for _, name := range []string{"model.safetensors"} {
		want, err := os.ReadFile(filepath.Join(never, name))
		if os.IsNotExist(err) {
			continue
		}
		oracle.Equal(t, readFile(t, dir, name), string(want),
			"%s: %s differs from that of a run never interrupted", what, name)
	}
	got, want := metricsOf(t, dir), metricsOf(t, never)
	if len(got) != len(want) {
		t.Errorf("%s: metrics of %d iterations, want %d", what, len(got), len(want))
		return
	}
	seconds := 0.0
	for i := range got {
		if *got[i].WallS < seconds {
			t.Errorf("%s: seconds go back at iteration %d", what, i)
			return
		}
		seconds = *got[i].WallS
		got[i].WallS, want[i].WallS = nil, nil
		g, _ := json.Marshal(got[i])
		if w, _ := json.Marshal(want[i]); string(g) != string(w) {
			t.Errorf("%s: metrics of iteration %d are %s, want %s", what, i, g, w)
			return
		}
	}
	var results [2]trainResult
	for i, folder := range []string{dir, never} {
		oracle.OK(t, json.Unmarshal([]byte(readFile(t, folder, "result.json")), &results[i]))
	}
	g, w := results[0], results[1]
	if g.Status != w.Status || g.Reason != w.Reason || g.Objective != w.Objective || g.GradNorm != w.GradNorm || g.Passes != w.Passes || g.CheckPasses != w.CheckPasses || g.ThetaSHA256 != w.ThetaSHA256 {
		t.Errorf("%s: the result is\n%+v, want\n%+v", what, g, w)
	}
}

// TestResume interrupts runs at many points, resumes them in all forms, and compares with runs never interrupted.
func TestResume(t *testing.T) {
	t.Parallel()
	data := gridData(t)
	var forms []string
	for name := range resumeForms {
		forms = append(forms, name)
	}
	slices.Sort(forms)
	tried := 0
	for _, c := range []struct {
		name    string
		options []string
	}{
		{"converging", []string{"--l2", "0.5", "--blocks", "4", "--rtol", "1e-4"}},
		{"limited", []string{"--blocks", "2x3", "--max-iter", "50", "--order", "random", "--seed", "3"}},
		{"inner-dual", []string{"--method", "inner-dual", "--step", "adagrad:0.5", "--max-iter", "9", "--counting", "trw", "--seed", "4"}},
		{"early stop", []string{"--eval", "dev=" + data, "--eval-every", "0.5", "--early-stop", "accuracy@dev:3", "--threads", "1"}},
	} {
		folder := t.TempDir()
		never := filepath.Join(folder, "never")
		counted := tripAfter(t.Context(), 1<<60)
		if o := runContext(counted, slices.Concat([]string{"train", data, "-o", never, "-q", noReport}, c.options)...); o.code != 0 {
			t.Fatalf("%s: exit code %d: %s", c.name, o.code, o.stderr)
		}
		calls := counted.calls.Load()
		for _, at := range slices.Compact(slices.Sorted(slices.Values([]int64{7, calls / 2, calls - 1}))) {
			dir := filepath.Join(folder, fmt.Sprintf("it's {%d}", at))
			o := runContext(tripAfter(t.Context(), at), slices.Concat([]string{"train", data, "-o", dir, "-q", noReport}, c.options)...)
			form := forms[tried%len(forms)]
			tried++
			what := fmt.Sprintf("%s, interrupted at point %d of %d, %s", c.name, at, calls, form)
			if o.code != 130 {
				t.Errorf("%s: exit code %d, want 130: %s", what, o.code, o.stderr)
				continue
			}
			o.wantFailure(t, 130, "interrupted", fmt.Sprintf(`blockbp train '%s/it'\''s {%d}' --resume`, folder, at))
			mustRun(t, slices.Concat([]string{"train", "-q", noReport}, resumeForms[form](data, dir))...)
			wantSameRun(t, what, dir, never)
		}
	}
}

// TestInterruptedAtOnce: what is not known yet is not given as a number.
func TestInterruptedAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	o := runContext(tripAfter(t.Context(), 0), "train", gridData(t), "-o", dir, "--json", "-q", noReport)
	o.wantFailure(t, 130, "interrupted", "--resume")
	object := o.object(t, "objective", "grad_norm", "first_grad_norm")
	for _, key := range []string{"objective", "grad_norm", "first_grad_norm"} {
		oracle.Equal(t, object[key], nil, "%s before anything was computed", key)
	}
}

// TestInterruptedEvaluation: the model is trained and saved when the evaluation of
// it is interrupted; a resumed run makes up for that.
func TestInterruptedEvaluation(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	args := []string{"train", data, "--eval", "dev=" + data, "--max-iter", "4", "-q", "--threads", "1", noReport, "-o"}
	counted := tripAfter(t.Context(), 1<<60)
	if o := runContext(counted, append(args, filepath.Join(folder, "never"))...); o.code != 0 {
		t.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	dir := filepath.Join(folder, "run")
	o := runContext(tripAfter(t.Context(), counted.calls.Load()-1), append(args, dir)...)
	o.wantFailure(t, 130, "interrupted after the training (iteration_limit)", dir, "--resume")
	var result trainResult
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, dir, "result.json")), &result))
	if result.Status != "iteration_limit" || result.Eval != nil {
		t.Errorf("the result is %+v", result)
	}
	mustRun(t, "train", dir, "--resume", "-q")
	wantSameRun(t, "interrupted during the evaluation", dir, filepath.Join(folder, "never"))
	if err := json.Unmarshal([]byte(readFile(t, dir, "result.json")), &result); err != nil || len(result.Eval) != 8 {
		t.Errorf("resumed, the evaluation is %v (%v)", result.Eval, err)
	}
}

// TestResumeOptionsLast: what was asked for when a run was resumed holds when it is resumed again.
func TestResumeOptionsLast(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	never, dir := filepath.Join(folder, "never"), filepath.Join(folder, "run")
	mustRun(t, "train", gridData(t), "-o", never, "--max-iter", "60", "--blocks", "4", "--step", "adagrad:0.05", "-q",
		noReport)
	mustRun(t, "train", gridData(t), "-o", dir, "--max-iter", "9", "--blocks", "4", "--step", "adagrad:0.05", "-q",
		noReport)
	if o := runContext(tripAfter(t.Context(), 6), "train", dir, "--resume", "--max-iter", "60", "-q"); o.code != 130 {
		t.Fatalf("exit code %d, want 130: %s", o.code, o.stderr)
	}
	mustRun(t, "train", dir, "--resume", "-q")
	wantSameRun(t, "resumed twice, the first time with --max-iter 60", dir, never)
}

// TestResumeFromElsewhere: relative paths are those of the folder in which the run was started.
func TestResumeFromElsewhere(t *testing.T) {
	folder := t.TempDir()
	data := copyFolder(t, gridData(t), filepath.Join(folder, "data"))
	t.Chdir(folder)
	options := []string{"--init", "data/truth.safetensors", "--eval", "dev=data", "--l2", "0.5", "--blocks", "4", "--max-iter", "30", "--threads", "1", "-q", noReport}
	mustRun(t, slices.Concat([]string{"train", "data", "-o", "never"}, options)...)
	if o := runContext(tripAfter(t.Context(), 20), slices.Concat([]string{"train", "data", "-o", "run"}, options)...); o.code != 130 {
		t.Fatalf("exit code %d, want 130: %s", o.code, o.stderr)
	}
	oracle.OK(t, os.Mkdir("elsewhere", 0o755))
	t.Chdir("elsewhere")
	mustRun(t, "train", "../run", "--resume", "-q")
	wantSameRun(t, "resumed from another folder than "+data, filepath.Join(folder, "run"), filepath.Join(folder, "never"))
	// Where each value came from stays on the record, and the model can be used from anywhere.
	var saved struct{ Options map[string]savedOption }
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, folder, "run", "config.json")), &saved))
	wantOptions(t, saved.Options, map[string]savedOption{
		"l2": {0.5, "flag"}, "seed": {1.0, "default"}, "max-iter": {30.0, "flag"},
		"init": {filepath.Join(folder, "data", "truth.safetensors"), "flag"},
	})
	mustRun(t, "predict", "../data", "-m", "../run", "-o", "predicted", "--threads", "1")
}

// TestResumeAfterAChoice: a run whose options were chosen by folds of labels goes on with them, also with arrays.
func TestResumeAfterAChoice(t *testing.T) {
	t.Parallel()
	const nodes = 40
	a := &dataset.Arrays{NodeFeatures: &dataset.Matrix{Columns: 1}, Labels: [][]int32{make([]int32, nodes)}}
	for s := range int32(nodes) {
		a.Edges = append(a.Edges, [2]int32{s, (s + 1) % nodes})
		a.Labels[0][s] = s / 20
		if s%3 == 0 {
			a.Labels[0][s] = crf.Unobserved
		}
		a.NodeFeatures.Data = append(a.NodeFeatures.Data, float64(s/20)+math.Sin(float64(s)))
	}
	data, run := filepath.Join(t.TempDir(), "few.npz"), filepath.Join(t.TempDir(), "run")
	oracle.OK(t, a.WriteFile(data))
	mustRun(t, "train", data, "-o", run, noReport, "-q", "--max-iter", "1").says(t, "candidates were compared")
	mustRun(t, "train", run, "--resume", "-q", "--max-iter", "100")
}

// TestResumeOtherMetric: the best value on the record is that of a metric, which a
// resumed run must keep; its patience may change.
func TestResumeOtherMetric(t *testing.T) {
	t.Parallel()
	data, dir := gridData(t), filepath.Join(t.TempDir(), "run")
	mustRun(t, "train", data, "-o", dir, "--eval", "dev="+data, "--early-stop", "accuracy@dev", "--max-iter", "5", "-q", noReport)
	run(t, "train", dir, "--resume", "--early-stop", "log_loss@dev:9", "-q").wantFailure(t, 2, "--early-stop log_loss@dev:9", "--early-stop accuracy@dev:5")
	mustRun(t, "train", dir, "--resume", "--early-stop", "accuracy@dev:9", "--max-iter", "8", "-q")
}

// TestResumeRefused: other data or settings cannot go on to the same result, so the run is left as it is.
func TestResumeRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	data := copyFolder(t, gridData(t), filepath.Join(folder, "data"))
	interrupted, converged := filepath.Join(folder, "interrupted"), filepath.Join(folder, "converged")
	base := []string{"--l2", "0.5", "--blocks", "4", "--order", "cyclic"}
	if o := runContext(tripAfter(t.Context(), 10), slices.Concat([]string{"train", data, "-o", interrupted, "-q", noReport}, base)...); o.code != 130 {
		t.Fatalf("exit code %d, want 130: %s", o.code, o.stderr)
	}
	mustRun(t, slices.Concat([]string{"train", data, "-o", converged, "-q", noReport}, base)...)
	other := filepath.Join(folder, "other")
	writeGrid(t, other, 6, 6, synthetic.Synthetic{States: 3, Samples: 3, Instances: 3, Sweeps: 5, Seed: 6})
	more := copyFolder(t, data, filepath.Join(folder, "more"))
	writeFile(t, filepath.Join(more, "2.npz"), readFile(t, other, "2.npz"))
	damaged := copyFolder(t, interrupted, filepath.Join(folder, "damaged"))
	state := filepath.Join("checkpoint", "state.safetensors")
	writeFile(t, filepath.Join(damaged, state), readFile(t, damaged, state)[:2000])
	flipped := copyFolder(t, interrupted, filepath.Join(folder, "flipped"))
	text := []byte(readFile(t, flipped, state))
	text[len(text)-9] ^= 0x10
	writeFile(t, filepath.Join(flipped, state), string(text))

	unconfigured, unlisted := copyFolder(t, interrupted, filepath.Join(folder, "unconfigured")), copyFolder(t, interrupted, filepath.Join(folder, "unlisted"))
	writeFile(t, filepath.Join(unconfigured, "config.json"), "{")
	writeFile(t, filepath.Join(unlisted, "data.json"), "[{]")
	counter, edited := copyFolder(t, interrupted, filepath.Join(folder, "counter")), copyFolder(t, interrupted, filepath.Join(folder, "edited"))
	writeFile(t, filepath.Join(counter, state), strings.Replace(readFile(t, counter, state), `\"SinceBest\":0`, `\"SinceBest\":1`, 1))
	writeFile(t, filepath.Join(edited, "config.json"), strings.Replace(readFile(t, edited, "config.json"), `"value": 0.5`, `"value": 0.4`, 1))
	covered := copyFolder(t, interrupted, filepath.Join(folder, "covered"))
	oracle.OK(t, os.RemoveAll(filepath.Join(covered, "checkpoint")))
	writeFile(t, filepath.Join(covered, "checkpoint"), "text")

	for i, c := range []struct {
		name  string
		code  int
		args  []string
		parts []string
	}{
		// Other settings are a mistake in the command line: the option, with both values.
		{"l2", 2, []string{"$I", "--resume", "--l2", "0.7"}, []string{"--l2 0.7", "--l2 0.5"}},
		{"method", 2, []string{"$I", "--resume", "--method", "full"}, []string{"--method full", "--method bbpl"}},
		{"step", 2, []string{"$I", "--resume", "--step", "fixed:0.1"}, []string{"--step fixed:0.1", "--step auto"}},
		{"blocks", 2, []string{"$I", "--resume", "--blocks", "6"}, []string{"--blocks 6", "--blocks 4"}},
		{"seed", 2, []string{"$I", "--resume", "--seed", "7"}, []string{"--seed 7", "--seed 1"}},
		{"no edges", 2, []string{"$I", "--resume", "--no-edges"}, []string{"--no-edges=true", "--no-edges=false"}},
		{"evaluation", 2, []string{"$I", "--resume", "--eval", "dev=" + data}, []string{"--eval dev=" + data, "no --eval"}},
		{"states", 2, []string{"$I", "--resume", "--states", "a,b,c"}, []string{"--states a b c", "no --states"}},
		{"l2 of a converged run", 2, []string{"$C", "--resume", "--l2", "0.7"}, []string{"--l2 0.7", "--l2 0.5"}},
		{"more data", 3, slices.Concat([]string{more, "-o", "$I", "--resume"}, base), []string{"2.npz"}},
		{"other data for a finished run", 3, slices.Concat([]string{other, "-o", "$C", "--resume"}, base), []string{"0.npz"}},
		{"damaged checkpoint", 3, []string{damaged, "--resume"}, []string{filepath.Join(damaged, state)}},
		{"flipped bit in a checkpoint", 3, []string{flipped, "--resume"}, []string{filepath.Join(flipped, state)}},
		{"bad configuration", 3, []string{unconfigured, "--resume"}, []string{filepath.Join(unconfigured, "config.json")}},
		{"changed counter in a checkpoint", 3, []string{counter, "--resume"}, []string{filepath.Join(counter, state), "checksum", "damaged"}},
		{"changed configuration", 3, []string{edited, "--resume"}, []string{state, "written with l2 0.5, this run has 0.4"}},
		{"file in place of the folder of the checkpoint", 1, []string{covered, "--resume"}, []string{filepath.Join(covered, state), "bring back the checkpoint"}},
		{"damaged list of data", 3, []string{unlisted, "--resume"}, []string{filepath.Join(unlisted, "data.json")}},
		{"two runs", 2, []string{"$I", "-o", "$C", "--resume"}, []string{"interrupted", "converged"}},
		{"two folders", 2, []string{data, "--resume", "$I", "-o", "$C"}, []string{"interrupted", "converged"}},
		{"no run", 1, []string{"-o", filepath.Join(folder, "nowhere"), "--resume"}, []string{filepath.Join(folder, "nowhere")}},
		{"no run folder", 3, []string{"-o", data, "--resume"}, []string{data, "config.json"}},
		{"no run in place of one", 1, []string{filepath.Join(folder, "nowhere"), "--resume"}, []string{filepath.Join(folder, "nowhere")}},
		{"data in place of a run", 2, []string{data, "--resume"}, []string{data, "no run folder", "config.json"}},
		{"nothing to resume", 2, []string{"--resume"}, []string{"--resume"}},
	} {
		fresh := filepath.Join(folder, fmt.Sprint(i))
		copies := strings.NewReplacer("$I", filepath.Join(fresh, "interrupted"), "$C", filepath.Join(fresh, "converged"))
		line := strings.Join(c.args, " ")
		if strings.Contains(line, "$I") {
			copyFolder(t, interrupted, filepath.Join(fresh, "interrupted"))
		}
		if strings.Contains(line, "$C") {
			copyFolder(t, converged, filepath.Join(fresh, "converged"))
		}
		for j, arg := range c.args {
			c.args[j] = copies.Replace(arg)
		}
		before := tree(t, folder)
		o := run(t, slices.Concat([]string{"train"}, c.args, []string{"-q", "--max-iter", "200"})...)
		o.wantFailure(t, c.code, c.parts...)
		wantUntouched(t, o, before, tree(t, folder))
	}
}

// TestInterruptedElsewhere: every other verb that works for long ends with 130 and one line.
func TestInterruptedElsewhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	network := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	unread := writeFile(t, filepath.Join(folder, "unread.npz"), "no archive")
	out := writeFile(t, filepath.Join(folder, "out.PR"), "old")
	for _, args := range [][]string{
		{"predict", gridData(t), "-m", gridRun(t), "-o", filepath.Join(folder, "predicted")},
		{"eval", gridData(t), "-m", gridRun(t)},
		{"infer", network, "--counting", "convex", "-o", out, "--force"},
		{"infer", network, "--method", "exact", "-o", out, "--force"},
		{"demo", "--side", "6", "-o", filepath.Join(folder, "demo")},
		{"check", gridData(t)},
		{"check", network},
		{"info", gridData(t)},
		{"info", network},
		{"train", gridData(t), "--dry-run"},
		{"info", unread}, // what was not read is not found wrong
		{"train", unread, "-o", filepath.Join(folder, "unread")},
		{"train", gridData(t), "-o", filepath.Join(folder, "loading")},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o := runContext(ctx, args...)
		o.wantFailure(t, 130, "interrupted")
		if got := readFile(t, out); got != "old" {
			t.Errorf("%s: interrupted, and yet it replaced the old answer by %q", o.command(), got)
			writeFile(t, out, "old")
		}
	}
}

// limited trains until a limit, in a way that takes long enough to have a past.
func limited(t *testing.T, data, dir string, limit string) {
	t.Helper()
	mustRun(t, "train", data, "-o", dir, "--blocks", "9", "--order", "random", "--step", "adagrad:0.05", "--max-iter",
		limit, "-q", noReport)
}

// TestResumeOnOtherKernels: processors whose kernels round differently are told of, and no others.
func TestResumeOnOtherKernels(t *testing.T) {
	data, dir := gridData(t), filepath.Join(t.TempDir(), "run")
	restore := oracle.Must(simd.Use("plain"))(t)
	limited(t, data, dir, "5")
	o := mustRun(t, "train", dir, "--resume", "--max-iter", "6", "-q")
	restore()
	oracle.Equal(t, strings.Contains(o.stderr, "kernels"), false, "told of the same kernels: %q", o.stderr)
	o = mustRun(t, "train", dir, "--resume", "--max-iter", "7", "-q")
	want := fmt.Sprintf("with the vector kernels \"plain\" and goes on with %q", simd.Name())
	oracle.Equal(t, strings.Contains(o.stderr, want), simd.Name() != "plain", "notes of other kernels: %q", o.stderr)
}

// TestResumeLostMetrics: what is missing of the metrics takes nothing away from the run.
func TestResumeLostMetrics(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	never, begun := filepath.Join(folder, "never"), filepath.Join(folder, "begun")
	limited(t, data, never, "40")
	limited(t, data, begun, "20")
	lines := strings.SplitAfter(readFile(t, begun, "metrics.jsonl"), "\n") // of iterations 0 to 20, and ""
	oracle.MustEqual(t, len(lines), 22, "lines of metrics")
	join := func(parts ...[]string) (text string) {
		for _, p := range parts {
			text += strings.Join(p, "")
		}
		return text
	}
	for name, c := range map[string]struct {
		text string
		has  int // records in the end
	}{
		"whole":   {join(lines), 41},
		"further": {join(lines) + `{"iter":21}` + "\n" + `{"iter":22`, 41},
		"torn":    {join(lines[:10]) + lines[10][:9], 30},
		"damaged": {join(lines[:3], []string{"{\x00}\n"}, lines[4:]), 40},
		"twice":   {join(lines[:5], lines[2:]), 41},
		"missing": {"-", 20},
	} {
		dir := copyFolder(t, begun, filepath.Join(folder, name))
		if file := filepath.Join(dir, "metrics.jsonl"); c.text == "-" {
			oracle.OK(t, os.Remove(file))
		} else {
			writeFile(t, file, c.text)
		}
		o := mustRun(t, "train", dir, "--resume", "--max-iter", "40", "-q")
		oracle.Equal(t, strings.Contains(o.stderr, "metrics.jsonl: "), name == "damaged" || name == "twice",
			"%s: it tells of the metrics in %q", name, o.stderr)
		oracle.Equal(t, readFile(t, dir, "model.safetensors"), readFile(t, never, "model.safetensors"), "%s: model", name)
		oracle.Equal(t, strings.Count(readFile(t, dir, "metrics.jsonl"), "\n"), c.has, "%s: records", name)
	}
}

// TestResumeLostCheckpoint: a run that was further than its start, by its metrics, does not begin anew without one.
func TestResumeLostCheckpoint(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	begun := filepath.Join(folder, "begun")
	limited(t, data, begun, "20")
	lost := copyFolder(t, begun, filepath.Join(folder, "lost"))
	oracle.OK(t, os.RemoveAll(filepath.Join(lost, "checkpoint")))
	before := tree(t, lost)
	o := run(t, "train", lost, "--resume", "-q")
	o.wantFailure(t, 3, "state.safetensors is missing", "tells of iterations", "bring it back", "new run")
	wantUntouched(t, o, before, tree(t, lost))
	// One that was killed before its first checkpoint starts from the beginning.
	killed := copyFolder(t, begun, filepath.Join(folder, "killed"))
	for _, name := range []string{"checkpoint", "model.safetensors", "result.json", "env.json"} {
		oracle.OK(t, os.RemoveAll(filepath.Join(killed, name)))
	}
	writeFile(t, filepath.Join(killed, "metrics.jsonl"), strings.SplitAfter(readFile(t, begun, "metrics.jsonl"), "\n")[0])
	mustRun(t, "train", killed, "--resume", "-q").says(t, "from the beginning")
	oracle.Equal(t, readFile(t, killed, "model.safetensors"), readFile(t, begun, "model.safetensors"),
		"the model of the run that was begun again")
}

// TestResumeLostData: a file of the data that is gone is named, whatever the reader of the data would say.
func TestResumeLostData(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	copyFolder(t, gridData(t), filepath.Join(folder, "data"))
	limited(t, "data", "run", "5")
	for _, name := range []string{"dataset.json", "0.npz", "1.npz"} {
		file := filepath.Join(folder, "data", name)
		text := readFile(t, file)
		oracle.OK(t, os.Remove(file))
		before := tree(t, folder)
		for _, args := range [][]string{{"run", "--resume"}, {"data", "-o", "run", "--resume", "--blocks", "9", "--order",
			"random", "--step", "adagrad:0.05"}} {
			o := run(t, append([]string{"train", "-q"}, args...)...)
			o.wantFailure(t, 3, filepath.Join("data", name)+" was part of the run in run and is missing now")
			wantUntouched(t, o, before, tree(t, folder))
		}
		writeFile(t, file, text)
	}
	// Where the data moved, what is missing there is named.
	oracle.OK(t, os.Rename("data", "moved"))
	oracle.OK(t, os.Remove(filepath.Join("moved", "1.npz")))
	o := run(t, "train", "-q", "moved", "-o", "run", "--resume", "--blocks", "9", "--order", "random", "--step",
		"adagrad:0.05")
	o.wantFailure(t, 3, "1.npz was part of the run in run and is missing now")
}
