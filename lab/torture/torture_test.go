//go:build linux

package torture

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// sham is a command that pretends to be blockbp, written as a shell script.
func sham(t *testing.T, script string) *campaign {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sham")
	oracle.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	return &campaign{ctx: t.Context(), blockbp: path, seed: 1}
}

// TestTrialsFail: every kind of bad end of a command fails a trial.
func TestTrialsFail(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0": "", "exit 3": "",
		"exit 70":                           "crashed",
		"echo 'goroutine 1 [running]:' >&2": "crashed",
		"kill -SEGV $$":                     "signal",
	} {
		c := sham(t, script)
		one := c.newTrial("x", 0, filepath.Join(t.TempDir(), "trial"))
		one.try(func(t *trial) { t.run("verb") })
		if (one.fault == "") != (want == "") || !strings.Contains(one.fault, want) {
			t.Errorf("%q: the fault is %q, want %q", script, one.fault, want)
		}
	}
}

// TestMutationsRepeat: the same source gives the same files, so that a failure can be
// repeated, and others give others.
func TestMutationsRepeat(t *testing.T) {
	good := npz(gridInstance(rand.New(rand.NewPCG(1, 1)))...)
	distinct := map[string]bool{}
	for _, f := range formats() {
		for i := range 5 {
			draw := func() []byte { return f.mutate(rand.New(rand.NewPCG(7, uint64(i))), good) }
			if !bytes.Equal(draw(), draw()) {
				t.Errorf("%s: mutation %d is not repeated", f.name, i)
			}
			distinct[string(draw())] = true
		}
	}
	if len(distinct) < 30 {
		t.Errorf("%d distinct mutations, want 30", len(distinct))
	}
}

// TestSpread: in the end everything on a list is tried, whatever its length.
func TestSpread(t *testing.T) {
	for length := 1; length < 200; length++ {
		tried := map[int]bool{}
		for n := range length {
			tried[spread(n, length)] = true
		}
		if len(tried) != length {
			t.Errorf("%d of %d are tried", len(tried), length)
		}
	}
}
