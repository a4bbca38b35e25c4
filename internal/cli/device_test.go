//go:build unix

package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// With a reader, a writer does not wait.
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
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

// TestFullDisk: a limit on the size of files stands in for the disk. What was
// there before is there after, and no part of a file is left behind.
func TestFullDisk(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	limited := func(blocks string) []string { // of 512 bytes
		return []string{"/bin/sh", "-c", "ulimit -f " + blocks + ` && exec "$@"`, "sh"}
	}
	folder := t.TempDir()
	out := writeFile(t, filepath.Join(folder, "out.MAR"), "old answer")
	model := writeFile(t, filepath.Join(folder, "m.safetensors"), "old model")
	wide := writeFile(t, filepath.Join(folder, "many.uai"), "MARKOV\n300\n"+strings.Repeat("2 ", 300)+"\n0\n")
	for _, c := range []struct {
		blocks string
		args   []string
		places []string // one of them is named
	}{
		{"4", []string{"infer", wide, "--task", "MAR", "-o", out, "--force"}, []string{"out.MAR"}},
		{"1", []string{"train", gridData(t), "-o", filepath.Join(folder, "a"), "-m", model, "--force"}, []string{"config.json", "data.json", "env.json", "metrics.jsonl", "state.safetensors"}},
		{"16", []string{"train", gridData(t), "-o", filepath.Join(folder, "b"), "-m", model, "--force", "--l2", "0.5", "--tol", "1e-9"}, []string{"metrics.jsonl", "state.safetensors"}},
		{"1", []string{"predict", gridData(t), "-m", gridRun(t), "-o", filepath.Join(folder, "c"), "--threads", "1"}, []string{"0.npz"}},
		{"4", []string{"generate", "--graph", "grid:9x9", "--samples", "1", "--sweeps", "1", "-o", filepath.Join(folder, "d")}, []string{"0.npz"}},
		{"1", []string{"eval", gridData(t), "-m", gridRun(t), "-o", filepath.Join(folder, "e"), "--threads", "1"}, []string{"eval.json"}},
		{"1", []string{"compare", gridRun(t), gridRun(t), "-o", filepath.Join(folder, "f")}, []string{"compare.json"}},
	} {
		o := runProcess(t, limited(c.blocks), c.args...)
		o.wantFailure(t, 1, "file too large")
		if !slices.ContainsFunc(c.places, func(place string) bool { return strings.Contains(o.stderr, place) }) {
			t.Errorf("%s: the message names none of %q: %s", o.command(), c.places, o.stderr)
		}
		for path := range tree(t, folder) {
			if name := filepath.Base(path); strings.HasPrefix(name, ".") {
				t.Errorf("%s: the temporary file %s is left behind", o.command(), path)
			}
		}
	}
	if got := readFile(t, out); got != "old answer" {
		t.Errorf("the old answer became %q", got)
	}
	if got := readFile(t, model); got != "old model" {
		t.Errorf("the old model became %q", got)
	}
}
