//go:build unix

package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOutputIntoPipe: what is no regular file is written into or refused, but not
// replaced by a file: as root, -o /dev/null must leave the device.
func TestOutputIntoPipe(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	network := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("skipped: no pipes here: %v", err)
	}
	// With a reader, a writer does not wait.
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Skipf("skipped: a pipe cannot be opened for both ways here: %v", err)
	}
	defer reader.Close()
	for _, args := range [][]string{
		{"infer", network, "-o", pipe},
		{"train", gridData(t), "--max-iter", "1", "-o", filepath.Join(folder, "run"), "-m", pipe},
	} {
		o := run(t, args...)
		if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			t.Fatalf("%s: exit code %d, and the pipe was replaced by a file (%v, %v)", o.command(), o.code, info.Mode(), err)
		}
	}
}
