//go:build linux

package torture

import (
	"fmt"
	"math/rand/v2"
	"os"
	ossignal "os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestKills: trainings that are killed, or asked to end, at any moment, resumed: same bytes.
func TestKills(t *testing.T) { attack(t, 10, 200, setupKills) }

// killable are trainings that write a checkpoint whenever they may.
var killable = []problem{
	{"grid", "grid", "--blocks 3x3 --order random --rtol 1e-7 --max-passes 150"},
	{"grid-blocks", "grid", "--blocks 2x3 --rtol 1e-6 --max-passes 150"},
	{"hidden", "ba", "--counting trw --l2 0.1 --max-passes 100"},
	{"hidden-full", "ba", "--method full --l2 0.1 --rtol 1e-7 --max-passes 150"},
	{"images", "images", "--list IMAGES/train.txt --eval dev=IMAGES/test.txt --eval-every 2 --max-passes 6"},
	{"tables", "graph", "--observed train --blocks 5 --partition bfs --max-passes 60"},
	{"sentences", "sentences/train", "--method inner-dual --l2 0.01 --rtol 1e-7 --max-passes 60"},
	{"early-stop", "sentences/train",
		"--eval dev=SENTENCES/test --eval-every 1 --early-stop log_loss@dev:5 --max-passes 60"},
	{"pseudo", "ising/spins.npz", "--untied --method pseudo --l2 0.01 --rtol 1e-9 --max-iter 7"},
	{"piecewise", "grid", "--method piecewise --l2 0.01 --rtol 1e-10"},
}

// victim is a training that was also left alone.
type victim struct {
	args    []string
	alone   *ran
	seconds float64
}

// setupKills leaves every training alone once, when its turn comes.
func setupKills(c *campaign, dir string) (func(t *trial), error) {
	alone := make([]func() (victim, error), len(killable))
	paths := strings.NewReplacer("IMAGES", c.data("images"), "SENTENCES", c.data("sentences"))
	for i, p := range killable {
		p.args = paths.Replace(p.args)
		args := c.train(p, "--checkpoint-every", "5ms")
		alone[i] = sync.OnceValues(func() (victim, error) { return c.leaveAlone(dir, p.name, args) })
	}
	return func(t *trial) {
		v, err := alone[t.n%len(alone)]()
		t.must(err)
		kill(t, v)
	}, nil
}

// leaveAlone runs a training to its end.
func (c *campaign) leaveAlone(dir, name string, args []string) (v victim, err error) {
	v.args = args
	began := time.Now()
	if _, err = c.must(dir, append(args, "-o", name)...); err != nil {
		return v, err
	}
	v.seconds = time.Since(began).Seconds()
	v.alone, err = readRun(filepath.Join(dir, name))
	return v, err
}

// kill kills a training once or more often, resumes it, and compares.
func kill(t *trial, v victim) {
	threads := func() string { return fmt.Sprint(1 + t.rng.IntN(3)) }
	killed := 0
	args := append(v.args, "-o", "r", "--threads", threads())
	for range 1 + t.rng.IntN(3) {
		if !killOnce(t, v, args) {
			break
		}
		killed++
		args = []string{"train", "r", "--resume", "-q", "--threads", threads()}
		if !t.exists("r/checkpoint/state.safetensors") {
			break
		}
	}
	if killed == 0 {
		t.skip()
	}
	if !t.exists("r/checkpoint/state.safetensors") {
		// Too early: to begin again is right, and to say that there is nothing to go on
		// from is too.
		if t.run(args...).code == 0 {
			same(t, "r", v.alone)
		}
		return
	}
	t.works(args...)
	same(t, "r", v.alone)
}

// same fails a trial whose run is not what it should be.
func same(t *trial, dir string, want *ran) {
	got, err := readRun(t.path(dir))
	if err != nil {
		t.failf("the run was resumed, but: %v", err)
	}
	if text := got.differs(want); text != "" {
		t.failf("the resumed run is another: %s", text)
	}
	if strays := got.strays(want); len(strays) > 0 {
		t.failf("files of killed writes are left: %s", strings.Join(strays, ", "))
	}
}

// endings are the signals that end a training: half of the time without its knowledge.
var endings = []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGHUP}

// killOnce starts a command and ends it by a signal at a moment drawn, or in the first write of a
// checkpoint after that moment; false if it ended before.
func killOnce(t *trial, v victim, args []string) bool {
	wait := time.Duration(t.rng.Float64() * v.seconds * float64(time.Second))
	inWrite := t.rng.IntN(2) == 0
	p := t.start(args...)
	hit := waited(p, wait)
	for hit && inWrite && !writesCheckpoint(t.path("r/checkpoint")) {
		hit = waited(p, time.Duration(50+rand.IntN(100))*time.Microsecond)
	}
	signal := endings[t.rng.IntN(len(endings))]
	if ossignal.Ignored(signal) {
		signal = syscall.SIGKILL // these tests run under nohup, and so do the processes that they start
	}
	_ = p.Process.Signal(signal)
	r := p.end()
	if r.signal == signal || r.code == 130 && signal != syscall.SIGKILL { // also before the program began
		t.notef("# %v after %v, in a write: %v", signal, wait, inWrite)
		return true
	}
	t.bounded(r)
	if r.code != 0 {
		t.failf("%s: exit code %d: %s", r.line, r.code, cut(r.stderr, 300))
	}
	return false
}

// waited waits, and reports whether the command is still under way.
func waited(p *process, wait time.Duration) bool {
	select {
	case <-p.ended:
		return false
	case <-time.After(wait):
		return true
	}
}

// writesCheckpoint reports whether a write to a folder is under way.
func writesCheckpoint(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name() != "state.safetensors" {
			return true
		}
	}
	return false
}
