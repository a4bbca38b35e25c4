//go:build unix

package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestOutputIntoPipe: what is no regular file is written into or refused, but not
// replaced by a file: as root, -o /dev/null must leave the device.
func TestOutputIntoPipe(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	network := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	pipe := filepath.Join(folder, "pipe")
	oracle.OK(t, syscall.Mkfifo(pipe, 0o600))
	// With a reader, a writer does not wait.
	reader := oracle.Must(os.OpenFile(pipe, os.O_RDWR, 0))(t)
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
