package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// spillData is a grid as a folder of arrays, whose messages and beliefs take some tens of megabytes.
func spillData(t *testing.T) string {
	t.Helper()
	const side, states, features = 300, 8, 2
	rng := rand.New(rand.NewPCG(1, 2))
	var edges, labels []int32
	var seen []float32
	for s := range int32(side * side) {
		if (s+1)%side != 0 {
			edges = append(edges, s, s+1)
		}
		if s+side < side*side {
			edges = append(edges, s, s+side)
		}
		labels = append(labels, (s/side/10+s%side/10)%states)
		seen = append(seen, 1, float32(labels[s])+float32(rng.NormFloat64()))
	}
	folder := t.TempDir()
	for name, array := range map[string]string{
		"edges": npy(t, []int{len(edges) / 2, 2}, edges), "labels": npy(t, []int{len(labels)}, labels),
		"node_features": npy(t, []int{len(labels), features}, seen), "grid_shape": npy(t, []int{2}, []int32{side, side}),
	} {
		writeFile(t, filepath.Join(folder, name+".npy"), array)
	}
	return folder
}

// spillArgs train for a moment.
func spillArgs(data, out string, more ...string) []string {
	return append([]string{"train", data, "-o", out, "--max-passes", "1", "--threads", "2", "-q", "--report=false"}, more...)
}

// spillCommand is a process of the command that is not yet started.
func spillCommand(t *testing.T, prefix []string, args ...string) *exec.Cmd {
	t.Helper()
	self := oracle.Must(os.Executable())(t)
	line := append(append(prefix[:len(prefix):len(prefix)], self), args...)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// memoryGroup makes a control group below that of the test, with a limit in bytes, and returns what
// starts a command in it.
func memoryGroup(t *testing.T, limit int) (prefix []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip("skipped: no control groups are here; the test runs where /proc/self/cgroup is: ", err)
	}
	for line := range strings.Lines(string(text)) {
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
	oracle.Long(t)
	const limit = 48 << 20 // of about 65 MB that are needed without, and 35 with it
	data, folder := spillData(t), t.TempDir()
	prefix := memoryGroup(t, limit)
	free, bound, without := filepath.Join(folder, "free"), filepath.Join(folder, "bound"), filepath.Join(folder, "without")
	mustRun(t, spillArgs(data, free)...)
	train := func(args ...string) (string, error) {
		cmd := spillCommand(t, prefix, append(args, "--memory", "1GiB")...)
		killer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }) // systems may be slow to do it
		defer killer.Stop()
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := train(spillArgs(data, bound, "--spill", folder)...); err != nil {
		t.Fatalf("with --spill: %v\n%s", err, out)
	}
	if !bytes.Equal(bytesOf(t, filepath.Join(free, "model.safetensors")), bytesOf(t, filepath.Join(bound, "model.safetensors"))) {
		t.Error("the models differ")
	}
	if out, err := train(spillArgs(data, without)...); err == nil {
		t.Errorf("the limit does not bind without --spill:\n%s", out)
	}
}

// TestSpillLeavesNothing: a training that is killed leaves nothing in the folder, where its file had
// no name before.
func TestSpillLeavesNothing(t *testing.T) {
	data, folder, spilled := spillData(t), t.TempDir(), t.TempDir()
	cmd := spillCommand(t, nil, spillArgs(data, filepath.Join(folder, "run"), "--spill", spilled, "--max-passes", "2000", "--rtol", "1e-12", "--checkpoint=false")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	oracle.OK(t, cmd.Start())
	inUse := func() bool {
		maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
		return bytes.Contains(maps, []byte(spilled+"/"))
	}
	deadline := time.Now().Add(time.Minute)
	for !inUse() {
		if time.Now().After(deadline) {
			t.Fatal("no file of the folder is mapped: ", stderr.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	check := func(when string) {
		t.Helper()
		if entries, err := os.ReadDir(spilled); err != nil || len(entries) > 0 {
			t.Errorf("%s the folder has %v: %v", when, entries, err)
		}
	}
	check("while it trains")
	oracle.OK(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	check("after it was killed")
}

// TestSpillOnFullDisk: a disk without room is said at the start, with its folder, and no model is
// written.
func TestSpillOnFullDisk(t *testing.T) {
	data, folder, disk := spillData(t), t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("skipped: no small disk can be made here; the test runs where root may mount one: ", err)
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	o := run(t, spillArgs(data, filepath.Join(folder, "run"), "--spill", disk)...)
	if o.code == 0 || !strings.Contains(o.stderr, "--spill "+disk) || !strings.Contains(o.stderr, "are free") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	if _, err := os.Stat(filepath.Join(folder, "run", "model.safetensors")); err == nil {
		t.Error("there is a model")
	}
}
