package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/parallel"
)

// TestPanic: a panic is reported with exit code 70, and with what a developer needs
// to know.
func TestPanic(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	a := &app{ctx: t.Context(), stderr: &stderr}
	if code := a.guard(func() error { panic("a slip") }); code != exitBug {
		t.Errorf("exit code %d, want %d", code, exitBug)
	}
	for _, part := range []string{"internal error: a slip", "progress_test.go", "please report it"} {
		if !strings.Contains(stderr.String(), part) {
			t.Errorf("stderr does not contain %q:\n%s", part, &stderr)
		}
	}
	stderr.Reset()
	a.events = &events{to: &stderr}
	var event errorEvent
	if code := a.guard(func() error { panic("a slip") }); code != exitBug || json.Unmarshal(stderr.Bytes(), &event) != nil || event.Code != code || !strings.Contains(event.Error, "internal error: a slip") {
		t.Errorf("exit code %d, and for a program %q", code, &stderr)
	}
}

// TestFileCutShort: a file that is cut short while its memory is in use, by any goroutine, ends
// the command with an error that names it.
func TestFileCutShort(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "array.npy")
	oracle.OK(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	file := oracle.Must(fileio.MapOwn(path, "an array", nil))(t)
	if err := os.Truncate(path, 10); err != nil || runtime.GOOS != "linux" {
		t.Skip("skipped: files in use cannot be cut here, or that does no harm; the test runs on Linux")
	}
	var stderr bytes.Buffer
	a := &app{ctx: t.Context(), stderr: &stderr}
	code := a.guard(func() error {
		return parallel.Each(t.Context(), 8, 4, func(i int) { file.Bytes()[1<<19+i]++ })
	})
	if code == exitDone || code == exitBug || !strings.Contains(stderr.String(), path+": it was cut short") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
