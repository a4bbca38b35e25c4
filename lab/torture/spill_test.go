//go:build linux

package torture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// spilling makes a trial in a folder with a grid as arrays, whose messages and beliefs take some tens of megabytes.
func spilling(t *testing.T, try func(t *trial)) {
	c := built(t)
	const side, states, features = 300, 8, 2
	rng := rand.New(rand.NewPCG(1, 2))
	var labels []int
	var seen []float64
	for s := range side * side {
		labels = append(labels, (s/side/10+s%side/10)%states)
		seen = append(seen, 1, float64(labels[s])+rng.NormFloat64())
	}
	edges := gridEdges(side)
	arrays := []array{
		ints("edges", []int{len(edges) / 2, 2}, edges), ints("labels", []int{len(labels)}, labels),
		{"node_features", "<f4", []int{len(labels), features}, seen}, ints("grid_shape", []int{2}, []int{side, side}),
	}
	attempt(t, c, t.Name(), 0, func(t *trial) {
		for _, a := range arrays {
			t.write("data/"+a.name+".npy", a.npy())
		}
		t.must(os.Mkdir(t.path("spilled"), 0o755))
		try(t)
	})
}

// spillArgs train for a moment.
func spillArgs(out string, more ...string) []string {
	args := []string{"train", "data", "-o", out, "--max-passes", "1", "--threads", "2", "-q", "--report=false"}
	return append(args, more...)
}

// memoryGroup makes a control group below that of the test, with a limit in bytes, and returns what
// starts a command in it.
func memoryGroup(t *testing.T, limit int) (prefix []string) {
	t.Helper()
	for line := range strings.Lines(string(oracle.Must(os.ReadFile("/proc/self/cgroup"))(t))) {
		_, of, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(of, ":")
		root, file, tasks := "/sys/fs/cgroup", "memory.max", "cgroup.procs"
		switch controllers {
		case "":
		case "memory":
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		group := filepath.Join(root, path, fmt.Sprintf("blockbp-test-%d", os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() {
			for i := 0; os.Remove(group) != nil && i < 50; i++ { // its processes may be ending yet
				time.Sleep(20 * time.Millisecond)
			}
		})
		if err := os.WriteFile(filepath.Join(group, file), fmt.Append(nil, limit), 0o644); err == nil {
			return []string{"sh", "-c", fmt.Sprintf(`echo $$ > '%s' && exec "$@"`, filepath.Join(group, tasks)), "sh"}
		}
	}
	t.Skip("skipped: no control group with a limit of memory can be made here; the test runs as root where there are such")
	return nil
}

// TestSpillWithinLimit: with --spill a training ends, with the same model, within a limit of memory
// that ends it without.
func TestSpillWithinLimit(t *testing.T) {
	const limit = 48 << 20 // of about 65 MB that are needed without, and 35 with it
	prefix := memoryGroup(t, limit)
	spilling(t, func(t *trial) {
		t.works(spillArgs("free")...)
		within := func(args ...string) *result {
			return t.startAs(append(append(prefix, t.c.blockbp), append(args, "--memory", "1GiB")...)...).end()
		}
		if r := within(spillArgs("bound", "--spill", "spilled")...); r.code != 0 {
			t.failf("with --spill: exit code %d: %s", r.code, r.stderr)
		}
		t.sameModel("free", "bound")
		if r := within(spillArgs("without")...); r.code == 0 {
			t.failf("the limit does not bind without --spill")
		}
	})
}

// TestSpillLeavesNothing: a training that is killed leaves nothing in the folder, where its file had
// no name before.
func TestSpillLeavesNothing(t *testing.T) {
	spilling(t, func(t *trial) {
		p := t.start(spillArgs("run", "--spill", "spilled", "--max-passes", "2000", "--rtol", "1e-12", "--checkpoint=false")...)
		inUse := func() bool {
			maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.Process.Pid))
			return bytes.Contains(maps, []byte(t.path("spilled")+"/"))
		}
		for !inUse() {
			if !waited(p, 5*time.Millisecond) {
				t.failf("it ended, and no file of the folder was mapped: %s", p.end().stderr)
			}
		}
		check := func(when string) {
			if entries, err := os.ReadDir(t.path("spilled")); err != nil || len(entries) > 0 {
				t.failf("%s the folder has %v: %v", when, entries, err)
			}
		}
		check("while it trains")
		_ = p.Process.Kill()
		p.end()
		check("after it was killed")
	})
}

// TestSpillOnFullDisk: a disk without room is said at the start, with its folder, and no model is
// written.
func TestSpillOnFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("skipped: no small disk can be made here; the test runs where root may mount one: ", err)
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	spilling(t, func(t *trial) {
		r := t.run(spillArgs("run", "--spill", disk)...)
		if r.code == 0 || !strings.Contains(r.stderr, "--spill "+disk) || !strings.Contains(r.stderr, "are free") {
			t.failf("exit code %d: %s", r.code, r.stderr)
		}
		if t.exists("run/model.safetensors") {
			t.failf("there is a model")
		}
	})
}
