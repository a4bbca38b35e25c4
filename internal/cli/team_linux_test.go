package cli_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// launchers are the ways to start several processes that this machine has, by name.
func launchers(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for name, options := range map[string][]string{
		// Idle ranks of Open MPI spin, which tests on few cores can't afford.
		"mpirun.openmpi": {"--bind-to", "none", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-np"},
		"mpirun.mpich":   {"-np"},
	} {
		if path, err := exec.LookPath(name); err == nil {
			found[name] = append([]string{path}, options...)
		}
	}
	if len(found) == 0 {
		t.Skip("skipped: neither mpirun.openmpi nor mpirun.mpich is here; the test runs after apt-get install openmpi-bin mpich, as .ci/run does")
	}
	for name, value := range map[string]string{"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_ERROR_SIGNALS": ""} {
		t.Setenv(name, value)
	}
	return found
}

// teamData is a network that blocks pay for, and its evaluation set.
func teamData(t *testing.T) (data, dev string) {
	t.Helper()
	dir := t.TempDir()
	data, dev = filepath.Join(dir, "data"), filepath.Join(dir, "dev")
	mustRun(t, "generate", "-o", data, "--graph", "grid:60x60", "--samples", "2", "--seed", "3", "--states", "6")
	mustRun(t, "generate", "-o", dev, "--graph", "grid:10x10", "--seed", "4", "--states", "6")
	return data, dev
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	return oracle.Must(os.ReadFile(path))(t)
}

// Ranks of a job learn what one process does, to the last byte, say what it says, and leave one
// run folder.
func TestTeam(t *testing.T) {
	oracle.Long(t)
	data, dev := teamData(t)
	options := []string{"train", data, "--blocks", "6x6", "--together", "9", "--step", "auto", "--l2", "20", "--max-passes", "12", "--eval", "dev=" + dev, "--eval-every", "4"}
	alone := filepath.Join(t.TempDir(), "alone")
	want := mustRun(t, append(slices.Clone(options), "-o", alone)...)
	for name, start := range launchers(t) {
		for size := 1; size <= 4; size++ {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "run")
				o := runProcess(t, append(slices.Clone(start), strconv.Itoa(size)), append(slices.Clone(options), "-o", out)...)
				if o.code != 0 {
					t.Fatalf("%s: exit code %d, want 0; stderr:\n%s", o.command(), o.code, o.stderr)
				}
				if !bytes.Equal(bytesOf(t, filepath.Join(out, "model.safetensors")), bytesOf(t, filepath.Join(alone, "model.safetensors"))) {
					t.Error("the model is another one than that of one process")
				}
				for _, line := range strings.Split(want.stdout, "\n") {
					for _, quantity := range []string{"objective", "gradient norm", "iterations", "passes", "accuracy@dev", "log_loss@dev"} {
						if strings.HasPrefix(line, quantity) && strings.Count(o.stdout, line) != 1 {
							t.Errorf("%q is printed %d times, want once:\n%s", line, strings.Count(o.stdout, line), o.stdout)
						}
					}
				}
			})
		}
	}
}

// Ranks let go of features, which they have put on another scale in mapped files, of blocks of others:
// and learn what one process does all the same, with a Hessian.
func TestTeamOfMappedFeatures(t *testing.T) {
	oracle.Long(t)
	dir := t.TempDir()
	mustRun(t, "generate", "-o", dir+"/data", "--graph", "grid:60x60", "--seed", "3", "--states", "3", "--samples", "1")
	packed := oracle.Must(zip.OpenReader(dir + "/data/0.npz"))(t)
	defer packed.Close()
	for _, name := range []string{"edges.npy", "grid_shape.npy", "labels.npy", "node_features.npy", "edge_features.npy"} {
		array := oracle.Must(fs.ReadFile(packed, name))(t)
		writeFile(t, filepath.Join(dir, "arrays", name), string(array))
	}
	options := []string{"train", dir + "/arrays", "--blocks", "6x6", "--together", "9", "--l2", "20", "--standardise", "--counting", "convex", "--max-passes", "60"}
	mustRun(t, append(slices.Clone(options), "-o", dir+"/alone")...)
	for name, start := range launchers(t) {
		o := runProcess(t, append(slices.Clone(start), "3"), append(slices.Clone(options), "-o", dir+"/"+name)...)
		if o.code != 0 || !bytes.Equal(bytesOf(t, dir+"/"+name+"/model.safetensors"), bytesOf(t, dir+"/alone/model.safetensors")) {
			t.Errorf("%s: exit code %d, or another model; stderr:\n%s", name, o.code, o.stderr)
		}
	}
}

// A mistake is told once, wherever it is met, and the job ends.
func TestTeamMistakes(t *testing.T) {
	oracle.Long(t)
	data, _ := teamData(t)
	begun := filepath.Join(t.TempDir(), "begun")
	mustRun(t, "train", data, "-o", begun, "--l2", "1", "--max-passes", "3", "--report=false")
	config := filepath.Join(t.TempDir(), "mpi.toml")
	oracle.OK(t, os.WriteFile(config, []byte("mpi = \"off\"\n"), 0o644))
	for name, start := range launchers(t) {
		for _, c := range []struct{ args, say string }{
			{"train " + data + " --l2 auto", "--l2 auto runs in one process, and this job has 3"},
			{"train " + data + " --method pseudo", "--method pseudo runs in one process"},
			{"train " + data + ".missing", ".missing"},
			{"train " + data + " --l2 1 --step fixed:1e9 --max-passes 50", "diverged"},
			{"train " + begun + " --resume --method full", "--method full: the run in " + begun + " began with"}, // process 0 alone looks
			{"train " + data + " --l2 1 --config " + config, `option "mpi" is not for a file: give --mpi on the command line`},
			{"train " + data + " --l2 1 --stall -1s", "--stall \"-1s\": want a time with its unit, above 0"},
			{"train " + data + " --mpi some", `--mpi "some": want auto, on or off`},
			{"predict model " + data, "predict: one process does all of that, and a launcher has started 3: start it alone"},
		} {
			t.Run(name+" "+strings.ReplaceAll(c.args, data, "DATA"), func(t *testing.T) {
				t.Chdir(t.TempDir())
				began := time.Now()
				o := runProcess(t, append(slices.Clone(start), "3"), strings.Fields(c.args)...)
				if n := strings.Count(o.stderr, c.say); o.code == 0 || n != 1 {
					t.Errorf("exit code %d, %q is said %d times, want a failure and once:\n%s", o.code, c.say, n, o.stderr)
				}
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		}
	}
	if o := run(t, "train", data, "--mpi", "on"); o.code != 2 || !strings.Contains(o.stderr, "mpirun -np 4 blockbp train") {
		t.Errorf("exit code %d, stderr:\n%s", o.code, o.stderr)
	}
}

// A job of which a rank is killed, at any moment, ends; others, of any number of ranks, go on to the
// bytes of a process that was not.
func TestTeamIsKilled(t *testing.T) {
	oracle.Long(t)
	data, _ := teamData(t)
	options := []string{"--blocks", "6x6", "--together", "9", "--l2", "20", "--max-passes", "150", "--tol", "1e-12", "--checkpoint-every", "1ms"}
	alone := filepath.Join(t.TempDir(), "alone")
	mustRun(t, slices.Concat([]string{"train", data, "-o", alone}, options)...)
	self := oracle.Must(os.Executable())(t)
	for name, start := range launchers(t) {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			args, killed := slices.Concat([]string{"train", data, "-o", out}, options), 0
			for size := 4; size > 1 && killOne(t, self, out, append(slices.Clone(start), strconv.Itoa(size)), args); size-- {
				args, killed = []string{"train", out, "--resume"}, killed+1
			}
			if killed == 0 {
				t.Fatal("the job ended well before a rank was killed")
			}
			t.Logf("killed %d times", killed)
			other := copyFolder(t, out, filepath.Join(t.TempDir(), "other"))
			for dir, start := range map[string][]string{out: append(slices.Clone(start), "2"), other: nil} {
				mustRun(t, "check", filepath.Join(dir, "checkpoint/state.safetensors"))
				o := runProcess(t, start, "train", dir, "--resume")
				if o.code != 0 {
					t.Fatalf("exit code %d, want 0; stderr:\n%s", o.code, o.stderr)
				}
				if !bytes.Equal(bytesOf(t, filepath.Join(dir, "model.safetensors")), bytesOf(t, filepath.Join(alone, "model.safetensors"))) {
					t.Errorf("resumed by %v it ends with other bytes than one process", start)
				}
			}
			// The parts are files of a run.
			mustRun(t, slices.Concat([]string{"train", data, "-o", out, "--force"}, options, []string{"--max-passes", "2"})...)
		})
	}
}

// killOne starts a job and kills a rank some time after there is a checkpoint; false if it ended before.
func killOne(t *testing.T, self, out string, start, args []string) bool {
	t.Helper()
	mark := "BLOCKBP_TEST_JOB=" + out
	cmd := exec.CommandContext(t.Context(), start[0], slices.Concat(start[1:], []string{self}, args)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", mark)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	oracle.OK(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	checkpoint := filepath.Join(out, "checkpoint/state.safetensors")
	for waited := 0; waited < 3000; waited++ {
		if _, err := os.Stat(checkpoint); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("the job ended by itself, %v:\n%s", err, stderr.String())
		}
		return false
	case <-time.After(time.Duration(rand.IntN(1000)) * time.Millisecond):
	}
	killed := time.Now()
	if !kill(t, self, mark) {
		return <-ended != nil
	}
	select {
	case err := <-ended:
		if err == nil {
			return false
		}
	case <-time.After(20 * time.Second):
		if alive := ranksOf(t, self, mark); len(alive) > 0 {
			t.Fatalf("%d ranks go on 20 s after one was killed:\n%s", len(alive), stderr.String())
		}
		// Open MPI's own process waits at times for a rank that was killed within MPI_Init.
		t.Logf("the ranks have ended, and %s waits for them: it is ended", start[0])
		oracle.OK(t, cmd.Process.Kill())
		<-ended
	}
	t.Logf("it ended %v after a rank was killed", time.Since(killed).Round(10*time.Millisecond))
	return true
}

// kill ends rank 1 of the job with a mark in its environment; false if there is none.
func kill(t *testing.T, self, mark string) bool {
	t.Helper()
	for pid, environment := range ranksOf(t, self, mark) {
		if strings.Contains(environment, "OMPI_COMM_WORLD_RANK=1") || strings.Contains(environment, "PMI_RANK=1") {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// ranksOf returns the environments of the ranks of the job with a mark in them, by the numbers of their processes.
func ranksOf(t *testing.T, self, mark string) map[int]string {
	t.Helper()
	folders := oracle.Must(filepath.Glob("/proc/[0-9]*"))(t)
	ranks := map[int]string{}
	for _, folder := range folders {
		environment, err := os.ReadFile(filepath.Join(folder, "environ"))
		program, linkErr := os.Readlink(filepath.Join(folder, "exe"))
		if err != nil || linkErr != nil || program != self || !bytes.Contains(environment, []byte(mark)) {
			continue
		}
		pid := oracle.Must(strconv.Atoi(filepath.Base(folder)))(t)
		ranks[pid] = string(environment)
	}
	return ranks
}
