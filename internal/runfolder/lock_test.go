package runfolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// wantInUse fails unless err says that a folder is in use, and all of the parts.
func wantInUse(t *testing.T, err error, parts ...string) {
	t.Helper()
	var inUse *InUseError
	if !errors.As(err, &inUse) {
		t.Errorf("the error is %v, want that the folder is in use", err)
		return
	}
	oracle.WantError(t, err, parts...)
}

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run := oracle.Must(Create(dir))(t)
	for name, open := range map[string]func(string) (*Run, error){"Create": Create, "Open": Open} {
		_, err := open(dir)
		if wantInUse(t, err, dir, "this very process", "since 2", "wait", "another folder"); t.Failed() {
			t.Fatalf("by %s", name)
		}
	}
	wantInUse(t, CheckFree(dir))
	if other, err := CreateFree(dir); err != nil || other.Dir() != dir+"-2" {
		t.Errorf("the first free folder beside one in use: %v, %v", other, err)
	}
	oracle.OK(t, run.WriteJSON("a.json", 1))
	for range 2 {
		oracle.OK(t, run.Close())
	}
	onlyFile(t, dir, "a.json")
	again := oracle.Must(Open(dir))(t)
	oracle.OK(t, again.Close())
	onlyFile(t, dir, "a.json")
}

// TestLockRemovesEmpty: a run that ends before it wrote anything leaves things as they were.
func TestLockRemovesEmpty(t *testing.T) {
	parent := t.TempDir()
	there, fresh := filepath.Join(parent, "there"), filepath.Join(parent, "fresh")
	oracle.OK(t, os.Mkdir(there, 0o777))
	for _, dir := range []string{there, fresh} {
		run := oracle.Must(Create(dir))(t)
		oracle.OK(t, run.Close())
	}
	onlyFile(t, parent, "there")
}

// TestLockOfTheDead: what a killed process leaves is no obstacle, and no content.
func TestLockOfTheDead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{LockFile: `{"pid":1,"host":"elsewhere"}`, ".config.json123456789": "{", ".blockbp-1234567": ""} {
		oracle.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	run := oracle.Must(Create(dir))(t)
	_, err := Open(dir)
	wantInUse(t, err, "this very process") // not the one before
	oracle.OK(t, run.Close())
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// TestLockOfAnother: who holds a folder is named; where that cannot be read, it is held all the same.
func TestLockOfAnother(t *testing.T) {
	dir := t.TempDir()
	run := mustCreate(t, dir)
	for text, parts := range map[string][]string{
		`{"pid":4711,"host":"fa\u001br","since":"2026-01-02T03:04:05Z"}`: {"process 4711", `fa\x1br`, "2026-01-02 03:04:05"},
		"":        {"another process"},
		"garbage": {"another process"},
	} {
		oracle.OK(t, os.WriteFile(run.Path(LockFile), []byte(text), 0o666))
		_, err := Open(dir)
		wantInUse(t, err, parts...)
	}
}

// TestLockIsOfOne: of many that make, keep and remove the same folder at a time, one has it at any moment, and in the
// end it is free. How often each is refused is up to the scheduler: they go on until the folder was taken often enough.
func TestLockIsOfOne(t *testing.T) {
	const often = 100
	dir := filepath.Join(t.TempDir(), "run")
	var inside, taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for taken.Load() < often {
				run, err := Create(dir)
				var inUse *InUseError
				if errors.As(err, &inUse) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				taken.Add(1)
				oracle.Equal(t, inside.Add(1), 1, "how many have the folder")
				inside.Add(-1)
				if err := run.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if entries, err := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// TestLockOfGoneFile: between the opening of a lock file and its lock, its owner can end
// and a third process can come. The lock of a file without a name is worth nothing.
func TestLockOfGoneFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows removes no open file; the test runs on Unix")
	}
	defer func() { lockFile = tryLock }()
	dir := t.TempDir()
	first := mustCreate(t, dir)
	lockFile = func(file *os.File, alone bool) error {
		lockFile = tryLock
		oracle.OK(t, first.Close())
		mustCreate(t, dir)
		return tryLock(file, alone)
	}
	_, err := Open(dir)
	wantInUse(t, err)
}

// TestNoLocks: a file system without locks is no reason not to work.
func TestNoLocks(t *testing.T) {
	defer func() { lockFile = tryLock }()
	lockFile = func(*os.File, bool) error { return syscall.ENOLCK }
	dir := filepath.Join(t.TempDir(), "run")
	run := oracle.Must(Create(dir))(t)
	oracle.OK(t, errors.Join(run.WriteJSON("a.json", 1), run.Close()))
	onlyFile(t, dir, "a.json")
}

// TestRemoveLeftovers: what is ours by its name goes, and nothing else.
func TestRemoveLeftovers(t *testing.T) {
	run := newRun(t)
	kept := []string{
		"metrics.jsonl", "checkpoint/state.safetensors", ".model.safetensors2", ".notes123456", "state.safetensors123456", ".state.safetensors123456x",
		"deep/er/.state.safetensors123456", ".blockbp-x",
	}
	for _, name := range append(kept, ".metrics.jsonl9876543210", "checkpoint/.state.safetensors123456789", "plots/.objective-passes.svg1234567", ".blockbp-1234567/model.safetensors", "plots/.blockbp-7654321/a.png") {
		path := run.Path(name)
		oracle.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)))
	}
	oracle.OK(t, run.RemoveLeftovers())
	left := map[string]bool{LockFile: true}
	for _, name := range kept {
		left[name] = true
	}
	err := filepath.WalkDir(run.Dir(), func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(run.Dir(), path)
		if name = filepath.ToSlash(name); err == nil && !e.IsDir() && !left[name] {
			t.Errorf("%s is still there", name)
		}
		delete(left, name)
		return err
	})
	if err != nil || len(left) > 0 {
		t.Errorf("missing is %s (%v)", fmt.Sprint(left), err)
	}
}
