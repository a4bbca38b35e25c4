package runfolder

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/oracle"
)

// newRun is a fresh run folder.
func newRun(t *testing.T) *Run {
	t.Helper()
	return mustCreate(t, filepath.Join(t.TempDir(), "runs", "first"))
}

func mustCreate(t *testing.T, dir string) *Run {
	t.Helper()
	run := oracle.Must(Create(dir))(t)
	t.Cleanup(func() { run.Close() })
	return run
}

// onlyFile fails unless the folder holds just one file of that name: no temporary file was left behind.
func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	entries := oracle.Must(os.ReadDir(dir))(t)
	if len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("%s holds %v, want only %s", dir, entries, name)
	}
}

func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // an empty folder may be used again
		oracle.OK(t, os.MkdirAll(dir, 0o777))
		run := oracle.Must(Create(dir))(t)
		oracle.OK(t, run.Close())
	}
	oracle.OK(t, os.WriteFile(filepath.Join(dir, "config.json"), nil, 0o666))
	_, err := Create(dir)
	var notEmpty *NotEmptyError
	if !errors.As(err, &notEmpty) || notEmpty.Holds != "config.json" || notEmpty.Dir != dir {
		t.Fatalf("Create of a full folder: %v", err)
	}
	oracle.WantError(t, err, dir, "config.json", "another folder", "resume")
	if run, err := Open(dir); err != nil || run.Dir() != dir {
		t.Errorf("Open: %v", err)
	}
}

func TestCreateOnFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	oracle.OK(t, os.WriteFile(path, nil, 0o666))
	oracle.Fails(Create(path))(t, path)
	oracle.Fails(Open(path))(t, "not a folder")
}

func TestOpenMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	_, err := Open(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("Open made the folder")
	}
}

func TestNotWritable(t *testing.T) {
	if os.Geteuid() == 0 {
		oracle.Fails(Create("/proc/self/blockbp"))(t, "/proc/self/blockbp")
		return // the superuser may write to any other folder
	}
	dir := t.TempDir()
	oracle.OK(t, os.Chmod(dir, 0o555))
	oracle.Fails(Open(dir))(t, "not writable")
}

func TestWriteFile(t *testing.T) {
	run := newRun(t)
	write := func(text string) error {
		return run.WriteFile("plots/a.svg", func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	for _, text := range []string{"old", "new"} {
		oracle.OK(t, write(text))
	}
	broken := errors.New("broken")
	err := run.WriteFile("plots/a.svg", func(w io.Writer) error {
		if _, err := io.WriteString(w, strings.Repeat("half", 10_000)); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), run.Path("plots/a.svg")) {
		t.Errorf("failing fill: %v", err)
	}
	got := oracle.Must(os.ReadFile(run.Path("plots/a.svg")))(t)
	oracle.Equal(t, string(got), "new", "file")
	onlyFile(t, run.Path("plots"), "a.svg")
	for _, name := range []string{"../outside", "/outside", ""} {
		if err := run.WriteFile(name, func(io.Writer) error { return nil }); err == nil {
			t.Errorf("WriteFile(%q) succeeded", name)
		}
	}
}

func TestFullDevice(t *testing.T) {
	const full = "/dev/full" // every write to it fails as on a full disk
	if _, err := os.Stat(full); err != nil {
		t.Skipf("there is no %s here; this runs on Linux: %v", full, err)
	}
	run := newRun(t)
	oracle.OK(t, os.Symlink(full, run.Path("report.html")))
	if err := run.WriteFile("report.html", func(w io.Writer) error { _, err := w.Write(make([]byte, 1<<20)); return err }); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a report on a full disk: %v", err)
	}
	metrics := &MetricsWriter{path: full, file: oracle.Must(os.OpenFile(full, os.O_WRONLY, 0))(t), flushed: time.Now()}
	if err := metrics.Write(NewMetric(1)); err != nil {
		t.Errorf("a line that fits the buffer: %v", err)
	}
	for i, step := range []func() error{metrics.Flush, metrics.Close} {
		if err := step(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "resume the run") {
			t.Errorf("step %d on a full disk: %v", i, err)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	run := newRun(t)
	type result struct {
		Value, Bound, Best Float
		Name               string
	}
	in := result{Value: Float(math.NaN()), Bound: Float(math.Inf(-1)), Best: 1e-300, Name: "a<b"}
	oracle.OK(t, run.WriteJSON("result.json", in))
	text := oracle.Must(os.ReadFile(run.Path("result.json")))(t)
	want := "{\n  \"Value\": null,\n  \"Bound\": null,\n  \"Best\": 1e-300,\n  \"Name\": \"a<b\"\n}\n"
	oracle.Equal(t, string(text), want, "the file")
	var out result
	oracle.OK(t, json.Unmarshal(text, &out))
	if !math.IsNaN(float64(out.Value)) || !math.IsNaN(float64(out.Bound)) || out.Best != in.Best {
		t.Errorf("read back %+v", out)
	}
	run.Close()
	onlyFile(t, run.Dir(), "result.json")
}

// TestCreateFree: the first name that is free, and an error where none can be made.
func TestCreateFree(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run")
	for _, want := range []string{name, name + "-2", name + "-3"} {
		run := oracle.Must(CreateFree(name))(t)
		oracle.Equal(t, run.Dir(), want, "the folder")
		oracle.OK(t, run.WriteJSON("a.json", 1))
	}
	oracle.Fails(CreateFree(filepath.Join(name, "a.json", "run")))(t, "making folder", "a.json")
	// Of those that start in the same second each has its own, and none leaves an empty one.
	parent := t.TempDir()
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			run, err := CreateFree(filepath.Join(parent, "run"))
			if err == nil {
				time.Sleep(time.Millisecond)
				err = run.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if left := oracle.Must(os.ReadDir(parent))(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestFilesThatAppear: a run replaces what it has written itself, and nothing that
// appeared in its folder, unless it was made to.
func TestFilesThatAppear(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := oracle.Must(Create(dir))(t)
	theirs := run.Path("theirs.json")
	oracle.OK(t, os.WriteFile(theirs, []byte("theirs"), 0o644))
	for range 2 {
		oracle.OK(t, run.WriteJSON("ours.json", 1))
	}
	var exists *fileio.ExistsError
	if err := run.WriteJSON("theirs.json", 1); !errors.As(err, &exists) {
		t.Errorf("the error is %v, want an *ExistsError", err)
	}
	oracle.OK(t, run.Close())

	no := errors.New("no")
	over := oracle.Must(CreateOver(dir, func(path string) error {
		if path == theirs {
			return no
		}
		return nil
	}))(t)
	defer over.Close()
	if err := over.WriteJSON("theirs.json", 1); !errors.Is(err, no) {
		t.Errorf("the error is %v, want that of the one who was asked", err)
	}
	oracle.OK(t, over.WriteJSON("ours.json", 2))
	ours, _ := os.ReadFile(run.Path("ours.json"))
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "theirs" || string(ours) != "2\n" {
		t.Errorf("the files hold %q and %q (%v)", text, ours, err)
	}
}

func TestEnvironment(t *testing.T) {
	environment := Environment()
	for _, key := range []string{"go_version", "os", "arch", "cores", "gomaxprocs", "kernels", "time", "blockbp_version"} {
		if v, ok := environment[key]; !ok || v == "" {
			t.Errorf("%s is missing: %v", key, environment)
		}
	}
}
