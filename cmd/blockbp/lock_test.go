package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// generated makes data to learn from.
func generated(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	mustRun(t, "generate", "-o", data, "--graph", "grid:5x5", "--states", "2", "--node-features", "2", "--edge-features", "2", "--samples", "2", "--sweeps", "5")
	return data
}

// code is how a process ended.
func code(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// TestLockOfRun: while a run goes on it cannot be resumed, but be looked at; when it was
// killed it can be resumed at once.
func TestLockOfRun(t *testing.T) {
	oracle.Long(t)
	data, dir := generated(t), filepath.Join(t.TempDir(), "run")
	running, _, said := command(t, "train", data, "-o", dir, "--tol", "1e-300", "--step", "fixed:1e-7", "--max-passes", "1e15", "--blocks", "4", "--checkpoint-every", "5ms", "-q", "--report=false")
	oracle.OK(t, running.Start())
	waitForIterations(t, dir)
	for _, args := range [][]string{{dir, "--resume"}, {data, "-o", dir}} {
		cmd, _, stderr := command(t, slices.Concat([]string{"train", "-q"}, args)...)
		oracle.OK(t, cmd.Start())
		waiting := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		got := code(t, cmd.Wait())
		waiting.Stop()
		if want := fmt.Sprintf("in use by process %d on ", running.Process.Pid); got != 1 || !strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(), "wait") {
			t.Errorf("train %s while the run goes on: exit code %d, want 1: %s", args, got, stderr)
		}
	}
	mustRun(t, "plot", dir)
	mustRun(t, "info", data)
	oracle.OK(t, running.Process.Kill())
	if err := running.Wait(); err == nil {
		t.Fatalf("the run ended before it was killed: %s", said)
	}
	if _, err := os.Stat(filepath.Join(dir, ".lock")); err != nil {
		t.Errorf("a killed process removed its lock file: %v", err)
	}
	limit := fmt.Sprint(len(iterations(t, dir)) + 500)
	mustRun(t, "train", dir, "--resume", "-q", "--max-iter", limit)
	if _, err := os.Stat(filepath.Join(dir, ".lock")); err == nil {
		t.Error("a run that ended left its lock file")
	}
}

// TestInterruptedStart sends the signal of Ctrl-C, and others that ask to end, at many
// moments of the start: the process ends soon with 130, and what it leaves is nothing, an
// empty folder, or a run that can be resumed.
func TestInterruptedStart(t *testing.T) {
	oracle.Long(t)
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows sends a process no interrupt; the test runs on Unix")
	}
	data, folder := generated(t), t.TempDir()
	endless := []string{"--tol", "1e-300", "--step", "fixed:1e-7", "--max-passes", "1e15", "--max-time", "30s", "-q"}
	states := map[string]int{}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if ossignal.Ignored(signal) {
			continue // this test runs under nohup, and so do the processes that it starts
		}
		for _, options := range [][]string{endless, append([]string{"--l2", "auto", "--eval", "dev=" + data}, endless...)} {
			for _, after := range []time.Duration{0, 5, 10, 20, 50, 100} {
				dir := filepath.Join(folder, fmt.Sprintf("%v-%d-%d", signal, len(options), after))
				cmd, _, stderr := command(t, slices.Concat([]string{"train", data, "-o", dir}, options)...)
				oracle.OK(t, cmd.Start())
				time.Sleep(after * time.Millisecond)
				oracle.OK(t, cmd.Process.Signal(signal))
				sent := time.Now()
				code := code(t, cmd.Wait())
				// Before the program itself begins the system ends it, and shells say 130.
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == signal {
					code = 130
					states["before the program began"]++
				}
				what := fmt.Sprintf("%v after %d ms, %d options", signal, after, len(options))
				if code != 130 {
					t.Errorf("%s: exit code %d: %s", what, code, stderr)
				}
				if took := time.Since(sent); took > 10*time.Second {
					t.Errorf("%s: the process took %v to end", what, took)
				}
				states[leftBy(t, dir)]++
			}
		}
	}
	t.Log(states)
}

// leftBy says what a training that was interrupted left, and fails unless that is
// nothing, or can be gone on with.
func leftBy(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "nothing"
	}
	oracle.OK(t, err)
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "config.json" }) {
		mustRun(t, "train", dir, "--resume", "-q", "--max-iter", "1", "--report=false")
		return "a run"
	}
	// The folder is looked into before the data are.
	cmd, _, stderr := command(t, "train", filepath.Join(dir, "none"), "-o", dir)
	if err := cmd.Run(); err == nil || strings.Contains(stderr.String(), "empty") || strings.Contains(stderr.String(), "in use") {
		t.Errorf("%s cannot be used again: it holds %v: %s", dir, entries, stderr)
	}
	return "an empty folder"
}

// TestHangUp: a process that was told to outlive its terminal does.
func TestHangUp(t *testing.T) {
	if _, err := exec.LookPath("nohup"); err != nil {
		t.Skip("skipped: the system has no nohup; the test runs where the PATH has one")
	}
	data, dir := generated(t), filepath.Join(t.TempDir(), "run")
	cmd, _, stderr := command(t, "train", data, "-o", dir, "--tol", "1e-300", "--step", "fixed:1e-7", "--max-passes", "1e15", "--max-time", "1s", "--checkpoint-every", "5ms", "-q", "--report=false")
	cmd.Path, cmd.Args = oracle.Must(exec.LookPath("nohup"))(t), append([]string{"nohup"}, cmd.Args...)
	oracle.OK(t, cmd.Start())
	waitForIterations(t, dir)
	oracle.OK(t, cmd.Process.Signal(syscall.SIGHUP))
	if err := cmd.Wait(); err != nil || !strings.Contains(read(t, dir, "result.json"), "time_limit") {
		t.Errorf("it ended with %v: %s", err, stderr)
	}
}
