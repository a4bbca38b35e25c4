//go:build linux

package main

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// sham is a command that pretends to be blockbp, written as a shell script.
func sham(t *testing.T, script string) *campaign {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sham")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return &campaign{ctx: context.Background(), options: options{blockbp: path, seed: 1}}
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

// TestOverwriteFails: a command that destroys its input is found out.
func TestOverwriteFails(t *testing.T) {
	for script, want := range map[string]string{
		`echo new > "$4"`: "destroyed", "exit 0": "want a refusal", "exit 2": "", "touch stray; exit 2": "made stray",
	} {
		c := sham(t, script)
		one := c.newTrial("x", 0, filepath.Join(t.TempDir(), "trial"))
		one.try(func(t *trial) {
			t.write("net.uai", []byte(treeNetwork))
			tryOverwrite(t, overwrite{"infer net.uai -o OUT", "net.uai", "hard link"})
		})
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

// TestEnumeration: a network by hand.
func TestEnumeration(t *testing.T) {
	n := &network{card: []int{2, 2}, scopes: [][]int{{0, 1}, {1}}, tables: [][]float64{{1, 2, 3, 4}, {1, 10}}, held: map[int]int{}}
	z, best, marginals := n.sum()
	if z != 1+20+3+40 || best != 40 || math.Abs(marginals[0][1]-43.0/64) > 1e-15 {
		t.Errorf("Z %v, best %v, marginals %v", z, best, marginals)
	}
	n.held[0] = 0
	if z, best, _ := n.sum(); z != 21 || best != 20 {
		t.Errorf("given x0 = 0: Z %v, best %v", z, best)
	}
}

// TestClaimsFail: a command that starts a program is found out, and one that fails.
func TestClaimsFail(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":  "",
		"exit 3":  "exit code 3",
		"python3": "started python3",
	} {
		c := sham(t, script)
		one := c.newTrial("claims", 0, filepath.Join(t.TempDir(), "trial"))
		one.try(func(t *trial) { tryClaim(t, "train DATA/grid", ".") })
		if (one.fault == "") != (want == "") || !strings.Contains(one.fault, want) {
			t.Errorf("%q: the fault is %q, want %q", script, one.fault, want)
		}
	}
}

// TestSmallLimits: a command under a small limit works, or says which to raise.
func TestSmallLimits(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0": "", "echo 'no more can be open at a time; raise the limit' >&2; exit 1": "",
		"exit 1": "want 0, or 1", "echo 'fatal error: netpollinit' >&2; exit 2": "crashed",
	} {
		c := sham(t, script)
		one := c.newTrial("x", 20, filepath.Join(t.TempDir(), "trial"))
		one.try(func(t *trial) { tryLimit(t, "data") })
		if (one.fault == "") != (want == "") || !strings.Contains(one.fault, want) {
			t.Errorf("%q: the fault is %q, want %q", script, one.fault, want)
		}
	}
}

// TestSocketsAreFound: sockets of a process are seen, and those that listen on this machine alone.
func TestSocketsAreFound(t *testing.T) {
	for address, want := range map[string]int{"127.0.0.1:0": 1, "0.0.0.0:0": 0} {
		before := socketsOf(os.Getpid())
		listener, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		opened := slices.DeleteFunc(socketsOf(os.Getpid()), func(s string) bool { return slices.Contains(before, s) })
		if here := listening(os.Getpid(), opened); len(opened) != 1 || here != want {
			t.Errorf("%s: %d sockets are new, %d listen here, want 1 and %d", address, len(opened), here, want)
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLibrariesAreFound: a library in the memory of a process is seen.
func TestLibrariesAreFound(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "libother.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(1); err != nil {
		t.Fatal(err)
	}
	before := reached(os.Getpid())
	memory, err := syscall.Mmap(int(file.Fd()), 0, 1, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	if got := reached(os.Getpid()); before != "" || got != "loaded libother.so.1" {
		t.Errorf("before: %q, then %q; want nothing, and libother.so.1", before, got)
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
