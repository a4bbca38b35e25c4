package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// limited trains until a limit, in a way that takes long enough to have a past.
func limited(t *testing.T, data, dir string, limit string) {
	t.Helper()
	mustRun(t, "train", data, "-o", dir, "--blocks", "9", "--order", "random", "--step", "adagrad:0.05", "--max-iter",
		limit, "-q", noReport)
}

// wantNoHidden fails if there is anything hidden in a folder or right below it.
func wantNoHidden(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{".*", "*/.*"} {
		if found, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(found) > 0 {
			t.Errorf("there is %v (%v)", found, err)
		}
	}
}

// TestResumeLostMetrics: what is missing of the metrics is said, and takes nothing away
// from the run.
func TestResumeLostMetrics(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	never, begun := filepath.Join(folder, "never"), filepath.Join(folder, "begun")
	limited(t, data, never, "40")
	limited(t, data, begun, "20")
	lines := strings.SplitAfter(readFile(t, begun, "metrics.jsonl"), "\n") // of iterations 0 to 20, and ""
	if len(lines) != 22 {
		t.Fatalf("%d lines of metrics", len(lines))
	}
	join := func(parts ...[]string) (text string) {
		for _, p := range parts {
			text += strings.Join(p, "")
		}
		return text
	}
	for name, c := range map[string]struct {
		text string
		says []string
		has  int // records in the end
	}{
		"whole":     {join(lines), nil, 41},
		"further":   {join(lines) + `{"iter":21}` + "\n" + `{"iter":22`, nil, 41},
		"shortened": {join(lines[:11]), []string{"10 of the 21 iterations", "(11–20)"}, 31},
		"torn":      {join(lines[:10]) + lines[10][:9], []string{"11 of the 21 iterations", "(10–20)"}, 30},
		"hole":      {join(lines[:3], lines[4:8], lines[12:]), []string{"5 of the 21 iterations", "(3, 8–11)"}, 36},
		"damaged":   {join(lines[:3], []string{"{\x00}\n"}, lines[4:]), []string{"(3)", "left out: 1", "metrics.jsonl:4"}, 40},
		"twice":     {join(lines[:5], lines[2:]), []string{"left out: 3", "there already"}, 41},
		"empty":     {"", []string{"21 of the 21 iterations", "(0–20)"}, 20},
		"missing":   {"-", []string{"is missing", "(0–20)"}, 20},
	} {
		dir := copyFolder(t, begun, filepath.Join(folder, name))
		if file := filepath.Join(dir, "metrics.jsonl"); c.text == "-" {
			oracle.OK(t, os.Remove(file))
		} else {
			writeFile(t, file, c.text)
		}
		o := mustRun(t, "train", dir, "--resume", "--max-iter", "40", "-q")
		for _, part := range c.says {
			if !strings.Contains(o.stderr, part) {
				t.Errorf("%s: %q is not in %s", name, part, o.stderr)
			}
		}
		if strings.Contains(o.stderr, "metrics.jsonl") != (c.says != nil) {
			t.Errorf("%s: it says %s", name, o.stderr)
		}
		if readFile(t, dir, "model.safetensors") != readFile(t, never, "model.safetensors") {
			t.Errorf("%s: the model is another one", name)
		}
		if got := strings.Count(readFile(t, dir, "metrics.jsonl"), "\n"); got != c.has {
			t.Errorf("%s: %d records, want %d", name, got, c.has)
		}
	}
	// A run that has nothing left to do says so too, and mends what it can.
	oracle.OK(t, os.Remove(filepath.Join(never, "metrics.jsonl")))
	if o := mustRun(t, "train", never, "--resume", "-q"); !strings.Contains(o.stderr, "(0–40)") {
		t.Errorf("of a run at its limit it says %s", o.stderr)
	}
}

// TestResumeLeftovers: what killed writes left is removed when the run goes on, and not
// before.
func TestResumeLeftovers(t *testing.T) {
	t.Parallel()
	data, dir := gridData(t), filepath.Join(t.TempDir(), "run")
	limited(t, data, dir, "5")
	for _, name := range []string{"checkpoint/.state.safetensors5577006791947779410", ".metrics.jsonl8674665223082153551", ".blockbp-1234567/result.json", ".lock"} {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), "half")
	}
	before := tree(t, dir)
	o := run(t, "train", dir, "--resume", "--seed", "8", "-q")
	o.wantFailure(t, 2, "--seed 8", "--seed 1")
	delete(before, filepath.Join(dir, ".lock")) // of a process that is gone
	wantUntouched(t, o, before, tree(t, dir))
	mustRun(t, "train", dir, "--resume", "--max-iter", "9", "-q")
	wantNoHidden(t, dir)
}

// TestResumeLostCheckpoint: a run that was further than its start does not start again
// because its checkpoint is out of reach.
func TestResumeLostCheckpoint(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	begun := filepath.Join(folder, "begun")
	limited(t, data, begun, "20")
	state := filepath.Join("checkpoint", "state.safetensors")
	for name, c := range map[string]struct {
		spoil func(dir string) error
		says  []string
	}{
		"link":        {func(dir string) error { return relink(filepath.Join(dir, state), "elsewhere") }, []string{state, "is a link to elsewhere", "bring that back"}},
		"folder link": {func(dir string) error { return relink(filepath.Join(dir, "checkpoint"), "nowhere") }, []string{"checkpoint is a link to nowhere"}},
		"missing":     {func(dir string) error { return os.Remove(filepath.Join(dir, state)) }, []string{state, "is missing", "model.safetensors"}},
		"no model": {func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
				return err
			}
			return os.RemoveAll(filepath.Join(dir, "checkpoint"))
		}, []string{state, "is missing", "iteration 1", "metrics.jsonl"}},
	} {
		dir := copyFolder(t, begun, filepath.Join(folder, name))
		oracle.OK(t, c.spoil(dir))
		before := tree(t, dir)
		o := run(t, "train", dir, "--resume", "-q")
		o.wantFailure(t, 3, append(c.says, "new run")...)
		wantUntouched(t, o, before, tree(t, dir))
	}
	// One that was killed before its first checkpoint starts from the beginning.
	killed := copyFolder(t, begun, filepath.Join(folder, "killed"))
	for _, name := range []string{"checkpoint", "model.safetensors", "result.json", "metrics.csv", "data.json", "env.json"} {
		oracle.OK(t, os.RemoveAll(filepath.Join(killed, name)))
	}
	writeFile(t, filepath.Join(killed, "metrics.jsonl"), strings.SplitAfter(readFile(t, begun, "metrics.jsonl"), "\n")[0])
	if o := mustRun(t, "train", killed, "--resume", "-q"); !strings.Contains(o.stderr, "from the beginning") {
		t.Errorf("it says %s", o.stderr)
	}
	if readFile(t, killed, "model.safetensors") != readFile(t, begun, "model.safetensors") || readFile(t, killed, "data.json") != readFile(t, begun, "data.json") {
		t.Error("the run that was begun again is another one")
	}
}

// relink replaces a file or folder by a link to nothing.
func relink(path, to string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.Symlink(to, path)
}

// TestResumeLostData: a file of the data that is gone is named, whatever the reader of
// the data would say.
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
			o.wantFailure(t, 3, file+" is missing", "was part of the run in run", "bring it back")
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

// TestBrokenEnd: what cannot be written at the end takes nothing away from what is, and
// the error says so.
func TestBrokenEnd(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	const full = "/dev/full" // every write to it fails as on a full disk
	if _, err := os.Stat(full); err != nil {
		t.Skipf("there is no %s here; this runs on Linux: %v", full, err)
	}
	folder := t.TempDir()
	begun := filepath.Join(folder, "begun")
	limited(t, gridData(t), begun, "20")
	for name, saved := range map[string][]string{
		"report.html":       {"the model in ", "the result in ", "the checkpoint in "},
		"metrics.csv":       {"the model in ", "the result in ", "the checkpoint in "},
		"result.json":       {"the model in ", "the checkpoint in "},
		"model.safetensors": {"the checkpoint in "},
	} {
		dir := copyFolder(t, begun, filepath.Join(folder, name))
		oracle.OK(t, relink(filepath.Join(dir, name), full))
		o := run(t, "train", dir, "--resume", "--max-iter", "30", "-q", "--report")
		o.wantFailure(t, 1, append(saved, filepath.Join(dir, name), "no space left on device", "blockbp train "+dir+" --resume")...)
		for _, what := range []string{"the model in ", "the result in "} {
			if has := strings.Contains(o.stderr, what); has != strings.Contains(strings.Join(saved, ""), what) {
				t.Errorf("%s: saved is %v, and it says %s", name, saved, o.stderr)
			}
		}
		oracle.OK(t, os.Remove(filepath.Join(dir, name)))
		mustRun(t, "train", dir, "--resume", "--max-iter", "30", "-q", "--report")
		if info, err := os.Stat(filepath.Join(dir, "report.html")); err != nil || info.Size() == 0 {
			t.Errorf("%s: the rest was not made up for: %v", name, err)
		}
		wantNoHidden(t, dir)
	}
}
