package atomicfile

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Fatalf("file holds %q (%v), want %q", got, err, text)
		}
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
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("file holds %q, want the old text", got)
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("%d files are left, want 1", len(entries))
	}
}

func TestWriteMissingFolder(t *testing.T) {
	err := Write(filepath.Join(t.TempDir(), "none", "x"), func(io.Writer) error { return nil })
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("error is %v, want one that says the folder does not exist", err)
	}
}

// TestAbandon: a program that ends in the middle of its writes leaves what was there, and nothing
// else.
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
	entries, err := os.ReadDir(folder)
	if text, _ := os.ReadFile(path); err != nil || len(entries) != 1 || string(text) != "old" {
		t.Errorf("%v (%v), the file holds %q, want it alone with \"old\"", entries, err, text)
	}
}
