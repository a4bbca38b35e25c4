package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// asCommand makes the test binary the command itself.
const asCommand = "BLOCKBP_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main() // ends the process
	}
	os.Exit(m.Run())
}

func command(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	self := oracle.Must(os.Executable())(t)
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd = exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func mustRun(t *testing.T, args ...string) {
	t.Helper()
	cmd, _, stderr := command(t, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("blockbp %s: %v: %s", strings.Join(args, " "), err, stderr)
	}
}

// generated makes data to learn from.
func generated(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	s := synthetic.Grid(5, 5, 1)
	s.States, s.NodeFeatures, s.EdgeFeatures, s.Samples, s.Sweeps = 2, 2, 2, 2, 5
	oracle.OK(t, s.Write(data))
	return data
}

// TestInterruptedProcess ends a running training, by the signal of Ctrl-C and as a
// power cut would: a resumed run ends as one never interrupted.
func TestInterruptedProcess(t *testing.T) {
	signals := []os.Signal{os.Kill}
	if runtime.GOOS != "windows" { // where a process cannot be sent an interrupt
		signals = append(signals, os.Interrupt)
	}
	folder := t.TempDir()
	data := generated(t)
	// Without an end of its own, however fast the machine is: the steps are too short to get anywhere.
	options := []string{"--tol", "1e-300", "--step", "fixed:1e-7", "--max-passes", "1e15", "--blocks", "4", "-q", "--report=false"}
	for _, signal := range signals {
		dir, never := filepath.Join(folder, signal.String()), filepath.Join(folder, "never "+signal.String())
		cmd, stdout, stderr := command(t, slices.Concat([]string{"train", data, "-o", dir, "--json", "--checkpoint-every", "5ms"}, options)...)
		oracle.OK(t, cmd.Start())
		waitForIterations(t, dir)
		oracle.OK(t, cmd.Process.Signal(signal))
		_ = cmd.Wait() // the exit code tells
		if signal == os.Interrupt {
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Fatalf("exit code %d, want 130: %s", code, stderr)
			}
			if !strings.Contains(stdout.String(), `"status":"interrupted"`) || !strings.Contains(stderr.String(), "--resume") {
				t.Errorf("stdout %q, stderr %q", stdout, stderr)
			}
		}
		limit := []string{"--max-iter", strconv.Itoa(len(iterations(t, dir)) + 500)}
		mustRun(t, slices.Concat([]string{"train", dir, "--resume", "-q"}, limit)...)
		mustRun(t, slices.Concat([]string{"train", data, "-o", never}, options, limit)...)
		oracle.Equal(t, read(t, dir, "model.safetensors"), read(t, never, "model.safetensors"),
			"%v: the model, and that of a run never interrupted", signal)
		if got, want := iterations(t, dir), iterations(t, never); !slices.Equal(got, want) {
			t.Errorf("%v: the metrics have %d iterations, want %d, each once", signal, len(got), len(want))
		}
	}
}

// waitForIterations returns when a run has begun and some metrics are in its file.
func waitForIterations(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(filepath.Join(dir, "metrics.jsonl")); err == nil && info.Size() > 10_000 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the run did not begin")
		}
	}
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	text := oracle.Must(os.ReadFile(filepath.Join(elements...)))(t)
	return string(text)
}

// iterations lists the iterations in a run's metrics.
func iterations(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	for line := range strings.Lines(read(t, dir, "metrics.jsonl")) {
		iteration, _, _ := strings.Cut(line, ",")
		list = append(list, iteration)
	}
	return list
}

// TestProcess: exit code and streams of the process are those of the command.
func TestProcess(t *testing.T) {
	cmd, stdout, stderr := command(t, "trian")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("exit code %d, want 2", cmd.ProcessState.ExitCode())
	}
	if stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "blockbp: unknown command") {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	cmd, stdout, _ = command(t, "infer", "/dev/stdin", "--method", "exact")
	cmd.Stdin = strings.NewReader("MARKOV\n1\n2\n1\n1 0\n2 0.5 0.5\n")
	if err := cmd.Run(); err != nil || stdout.String() != "PR\n0\n" {
		t.Errorf("infer of standard input: %v, stdout %q", err, stdout)
	}
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
