package fileio

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

func TestWriteReplacesWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, text := range []string{"first, long", "second"} {
		oracle.OK(t, Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}))
		wantText(t, path, text)
	}
}

func TestWriteFailureLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "x")
	oracle.OK(t, os.WriteFile(path, []byte("old"), 0o644))
	full := errors.New("disk full")
	err := Write(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return full
	})
	if !errors.Is(err, full) {
		t.Fatalf("error is %v, want %v", err, full)
	}
	wantText(t, path, "old")
	wantEntries(t, folder, 1)
}

func TestWriteMissingFolder(t *testing.T) {
	err := Write(filepath.Join(t.TempDir(), "none", "x"), func(io.Writer) error { return nil })
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("error is %v, want one that says the folder does not exist", err)
	}
}

// TestAbandon: a program that ends in the middle of its writes leaves what was there, and nothing else.
func TestAbandon(t *testing.T) {
	if folder := os.Getenv("ATOMICFILE_FOLDER"); folder != "" {
		_ = Target{Path: filepath.Join(folder, "y")}.Via(func(path string) error {
			return Write(path, func(w io.Writer) error {
				Abandon()
				os.Exit(0)
				return nil
			})
		})
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "x")
	oracle.OK(t, os.WriteFile(path, []byte("old"), 0o644))
	other := exec.Command(os.Args[0], "-test.run=^TestAbandon$")
	other.Env = append(os.Environ(), "ATOMICFILE_FOLDER="+folder)
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantText(t, path, "old")
	wantEntries(t, folder, 1)
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func wantText(t *testing.T, path, want string) {
	t.Helper()
	oracle.Equal(t, string(oracle.Must(os.ReadFile(path))(t)), want, "%s", path)
}

func wantEntries(t *testing.T, folder string, want int) {
	t.Helper()
	entries := oracle.Must(os.ReadDir(folder))(t)
	oracle.Equal(t, len(entries), want, "entries of %s, %v", folder, entries)
}

// text writes a text, and first does something that another program could do.
func text(s string, meanwhile func()) func(io.Writer) error {
	return func(w io.Writer) error {
		if meanwhile != nil {
			meanwhile()
		}
		_, err := io.WriteString(w, s)
		return err
	}
}

// TestTargetKeepsWhatAppears: a file, a link to nothing and a folder that appear while
// a file is written are not replaced.
func TestTargetKeepsWhatAppears(t *testing.T) {
	folder := t.TempDir()
	free := filepath.Join(folder, "free")
	oracle.OK(t, (Target{Path: free}).Write(text("new", nil)))
	wantText(t, free, "new")
	appear := map[string]func(path string){
		"file":   func(path string) { put(t, path, "theirs") },
		"folder": func(path string) { os.Mkdir(path, 0o755) },
		"link":   func(path string) { os.Symlink("nowhere", path) },
	}
	for what, make := range appear {
		path := filepath.Join(folder, what)
		err := Target{Path: path}.Write(text("new", func() { make(path) }))
		var exists *ExistsError
		if !errors.As(err, &exists) || !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v, want an *ExistsError of %s", what, err, path)
		}
	}
	wantText(t, filepath.Join(folder, "file"), "theirs")
	wantEntries(t, folder, 1+len(appear)) // and nothing temporary
}

func TestTargetReplaces(t *testing.T) {
	folder := t.TempDir()
	file := put(t, filepath.Join(folder, "file"), "old")
	symlink, dangling := filepath.Join(folder, "symlink"), filepath.Join(folder, "dangling")
	if os.Symlink("file", symlink) != nil || os.Symlink("new", dangling) != nil {
		t.Skip("skipped: the file system has no symbolic links; the test runs where links can be made")
	}
	for path, target := range map[string]string{file: file, symlink: file, dangling: filepath.Join(folder, "new")} {
		oracle.OK(t, (Target{path, Always}).Write(text("by "+path, nil)))
		wantText(t, target, "by "+path)
	}
	if info, err := os.Lstat(symlink); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the symbolic link was replaced: %v, %v", info, err)
	}
	no := errors.New("no")
	before, _ := os.ReadFile(file)
	for _, path := range []string{file, symlink} {
		if err := (Target{path, func() error { return no }}).Write(text("never", nil)); !errors.Is(err, no) {
			t.Errorf("the error is %v, want that of Replace", err)
		}
	}
	wantText(t, file, string(before))
	wantEntries(t, folder, 4)
	inner := filepath.Join(t.TempDir(), "real", "run") // a relative link is followed from the folder that it lies in
	oracle.OK(t, os.MkdirAll(inner, 0o755))
	oracle.OK(t, os.Symlink("../model", filepath.Join(inner, "out")))
	oracle.OK(t, os.Symlink(inner, filepath.Join(folder, "run")))
	oracle.OK(t, (Target{filepath.Join(folder, "run", "out"), Always}).Write(text("new", nil)))
	wantText(t, filepath.Join(inner, "..", "model"), "new")
}

// TestTargetErrors name the file, not where it is being made.
func TestTargetErrors(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "x.txt")
	full := errors.New("disk full")
	err := Target{Path: path}.Via(func(made string) error {
		oracle.Equal(t, filepath.Ext(made), ".txt", "extension of %s", made)
		return &fs.PathError{Op: "write", Path: made, Err: full}
	})
	if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "write "+path+":") {
		t.Errorf("the error is %q, want one of %s", err, path)
	}
	wantEntries(t, folder, 0)
}

// TestStreams are written to where they lead, whatever that is.
func TestStreams(t *testing.T) {
	if _, err := os.Stat("/dev/stdout"); err != nil {
		t.Skip("skipped: the system has no /dev/stdout; the test runs on Unix")
	}
	file := oracle.Must(os.Create(filepath.Join(t.TempDir(), "out")))(t)
	defer file.Close()
	oracle.Must(file.WriteString("before\n"))(t)
	for _, path := range []string{os.DevNull, filepath.Join("/dev/fd", strconv.Itoa(int(file.Fd()))), filepath.Join("/proc/self/fd", strconv.Itoa(int(file.Fd())))} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := (Target{Path: path}).Write(text(path+"\n", nil)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	got, _ := os.ReadFile(file.Name())
	if text := string(got); !strings.HasPrefix(text, "before\n") || strings.Contains(text, os.DevNull) || strings.Count(text, "\n") < 2 {
		t.Errorf("the stream holds %q", got)
	}
}
