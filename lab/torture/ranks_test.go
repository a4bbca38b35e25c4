//go:build linux

package torture

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
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

// underLaunchers makes a trial under each launcher, in a folder with the data sets that commands make.
func underLaunchers(t *testing.T, commands []string, try func(t *trial, start []string)) {
	c, dir := built(t), t.TempDir()
	for _, line := range commands {
		oracle.Must(c.must(dir, strings.Fields(line)...))(t)
	}
	for name, start := range launchers(t) {
		t.Run(name, func(t *testing.T) {
			attempt(t, c, "ranks", 0, func(t *trial) {
				t.must(os.CopyFS(t.dir, os.DirFS(dir)))
				try(t, start)
			})
		})
	}
}

// job runs a command of so many ranks.
func (t *trial) job(start []string, ranks int, args ...string) *result {
	r := t.startAs(slices.Concat(start, []string{strconv.Itoa(ranks), t.c.blockbp}, args)...).end()
	t.whole(r)
	return r
}

// sameModel fails where two runs have different models.
func (t *trial) sameModel(a, b string) {
	if !bytes.Equal(t.read(a+"/model.safetensors"), t.read(b+"/model.safetensors")) {
		t.failf("%s has another model than %s", a, b)
	}
}

const (
	teamData = "example grid -o data"
	teamDev  = "example grid -o dev --seed 4"
)

// TestTeam: ranks of a job learn what one process does, to the last byte, say what it says, and leave one run folder.
func TestTeam(t *testing.T) {
	options := strings.Fields("train data --blocks 6x6 --together 9 --step auto --l2 20 --max-passes 12 --eval dev=dev --eval-every 4")
	underLaunchers(t, []string{teamData, teamDev}, func(t *trial, start []string) {
		want := t.works(append(options, "-o", "alone")...)
		for size := 1; size <= 4; size++ {
			out := fmt.Sprint("run", size)
			r := t.job(start, size, append(options, "-o", out)...)
			if r.code != 0 {
				t.failf("%d ranks: exit code %d: %s", size, r.code, r.stderr)
			}
			t.sameModel(out, "alone")
			for line := range strings.SplitSeq(want.stdout, "\n") {
				for _, quantity := range []string{"objective", "gradient norm", "iterations", "passes", "accuracy@dev", "log_loss@dev"} {
					if strings.HasPrefix(line, quantity) && strings.Count(r.stdout, line) != 1 {
						t.failf("%q is printed %d times, want once:\n%s", line, strings.Count(r.stdout, line), r.stdout)
					}
				}
			}
		}
	})
}

// TestTeamOfMappedFeatures: ranks let go of features, which they have put on another scale in mapped files, of blocks
// of others: and learn what one process does all the same, with a Hessian.
func TestTeamOfMappedFeatures(t *testing.T) {
	options := strings.Fields("train arrays --blocks 6x6 --together 9 --l2 20 --standardise --counting convex --max-passes 60")
	underLaunchers(t, []string{teamData}, func(t *trial, start []string) {
		packed, err := zip.OpenReader(t.path("data/0.npz"))
		t.must(err)
		defer packed.Close()
		for _, name := range []string{"edges.npy", "grid_shape.npy", "labels.npy", "node_features.npy", "edge_features.npy"} {
			array, err := fs.ReadFile(packed, name)
			t.must(err)
			t.write("arrays/"+name, array)
		}
		t.works(append(options, "-o", "alone")...)
		if r := t.job(start, 3, append(options, "-o", "run")...); r.code != 0 {
			t.failf("exit code %d: %s", r.code, r.stderr)
		}
		t.sameModel("run", "alone")
	})
}

// TestTeamMistakes: a mistake is told once, wherever it is met, and the job ends.
func TestTeamMistakes(t *testing.T) {
	underLaunchers(t, []string{teamData, "train data -o begun --l2 1 --max-passes 3 --report=false"}, func(t *trial, start []string) {
		for _, c := range []struct{ args, say string }{
			{"train data --method pseudo", "--method pseudo runs in one process"},
			{"train data.missing", ".missing"},
			{"train data --l2 1 --step fixed:1e9 --max-passes 50", "diverged"},
			{"train begun --resume --method full", "--method full: the run in begun began with"}, // process 0 alone looks
			{"train data --l2 1 --stall -1s", "--stall \"-1s\": want a time with its unit, above 0"},
			{"train data --mpi some", `--mpi "some": want auto, on or off`},
			{"predict model data", "predict: one process does all of that, and a launcher has started 3: start it alone"},
		} {
			began := time.Now()
			r := t.job(start, 3, strings.Fields(c.args)...)
			if n, took := strings.Count(r.stderr, c.say), time.Since(began); r.code == 0 || n != 1 || took > 30*time.Second {
				t.failf("%s: exit code %d after %v, %q is said %d times, want a failure and once:\n%s",
					c.args, r.code, took, c.say, n, r.stderr)
			}
		}
		if r := t.run("train", "data", "--mpi", "on"); r.code != 2 || !strings.Contains(r.stderr, "mpirun -np 4 blockbp train") {
			t.failf("exit code %d: %s", r.code, r.stderr)
		}
	})
}

// TestTeamIsKilled: a job of which a rank is killed, at any moment, ends; others, of any number of ranks, go on to the
// bytes of a process that was not.
func TestTeamIsKilled(t *testing.T) {
	options := strings.Fields("--blocks 6x6 --together 9 --l2 20 --max-passes 150 --tol 1e-12 --checkpoint-every 1ms")
	underLaunchers(t, []string{teamData}, func(t *trial, start []string) {
		t.works(append([]string{"train", "data", "-o", "alone"}, options...)...)
		args, killed := append([]string{"train", "data", "-o", "run"}, options...), 0
		for size := 4; size > 1 && t.killOne(slices.Concat(start, []string{strconv.Itoa(size)}), args); size-- {
			args, killed = []string{"train", "run", "--resume"}, killed+1
		}
		if killed == 0 {
			t.skip() // the job ended well before a rank was killed
		}
		t.copy(t.path("run"), "other")
		if r := t.job(start, 2, "train", "run", "--resume"); r.code != 0 {
			t.failf("exit code %d: %s", r.code, r.stderr)
		}
		t.works("train", "other", "--resume")
		t.sameModel("run", "alone")
		t.sameModel("other", "alone")
		// The parts are files of a run.
		t.works(slices.Concat([]string{"train", "data", "-o", "run", "--force"}, options, []string{"--max-passes", "2"})...)
	})
}

// killOne starts a job and kills a rank some time after there is a checkpoint; false if it ended before.
func (t *trial) killOne(start, args []string) bool {
	mark := "BLOCKBP_TEST_JOB=" + t.dir
	cmd := exec.CommandContext(t.c.ctx, start[0], slices.Concat(start[1:], []string{t.c.blockbp}, args)...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), mark)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	t.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	checkpoint := t.path("run/checkpoint/state.safetensors")
	for waited := 0; waited < 3000; waited++ {
		if _, err := os.Stat(checkpoint); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.failf("the job ended by itself, %v:\n%s", err, stderr.String())
		}
		return false
	case <-time.After(time.Duration(t.rng.IntN(1000)) * time.Millisecond):
	}
	killed := time.Now()
	if !t.killRank(mark) {
		return <-ended != nil
	}
	select {
	case err := <-ended:
		if err == nil {
			return false
		}
	case <-time.After(20 * time.Second):
		if alive := t.ranksOf(mark); len(alive) > 0 {
			t.failf("%d ranks go on 20 s after one was killed:\n%s", len(alive), stderr.String())
		}
		// Open MPI's own process waits at times for a rank that was killed within MPI_Init.
		t.notef("the ranks have ended, and %s waits for them: it is ended", start[0])
		t.must(cmd.Process.Kill())
		<-ended
	}
	t.notef("it ended %v after a rank was killed", time.Since(killed).Round(10*time.Millisecond))
	return true
}

// killRank ends rank 1 of the job with a mark in its environment; false if there is none.
func (t *trial) killRank(mark string) bool {
	for pid, environment := range t.ranksOf(mark) {
		if strings.Contains(environment, "OMPI_COMM_WORLD_RANK=1") || strings.Contains(environment, "PMI_RANK=1") {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// ranksOf returns the environments of the ranks of the job with a mark in them, by the numbers of their processes.
func (t *trial) ranksOf(mark string) map[int]string {
	folders, err := filepath.Glob("/proc/[0-9]*")
	t.must(err)
	ranks := map[int]string{}
	for _, folder := range folders {
		environment, err := os.ReadFile(filepath.Join(folder, "environ"))
		program, linkErr := os.Readlink(filepath.Join(folder, "exe"))
		if err != nil || linkErr != nil || program != t.c.blockbp || !bytes.Contains(environment, []byte(mark)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		t.must(err)
		ranks[pid] = string(environment)
	}
	return ranks
}
