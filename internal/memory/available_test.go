package memory

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	oracle.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestSecondLevelCache(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		level, size string
		want        int
	}{{"1", "48K", usualCache}, {"2", "many", usualCache}, {"2", "2048K", 2 << 20}} {
		write(t, filepath.Join(folder, "index2", "level"), c.level+"\n")
		write(t, filepath.Join(folder, "index2", "size"), c.size+"\n")
		oracle.Equal(t, readSecondLevel(folder), c.want, "level %s of %s: bytes", c.level, c.size)
	}
}

func TestAvailableMemory(t *testing.T) {
	if AvailableMemory() <= 0 {
		t.Error("this machine has no memory")
	}
}

// TestGroupMemory: the least of what control groups of either version leave counts, with what the
// system can take back of files, wherever the bound is.
func TestGroupMemory(t *testing.T) {
	folder, groups := t.TempDir(), "0::/job/step\n7:cpu,cpuacct:/job\n5:hugetlb,memory:/slurm/job_1\n"
	membership := write(t, filepath.Join(folder, "cgroup"), groups)
	within := func(want int64, name string) {
		t.Helper()
		oracle.Equal(t, groupMemory(membership, folder), want, "%s: bytes", name)
	}
	set := func(group, limit, used string) {
		at := filepath.Join(folder, group)
		oracle.OK(t, os.MkdirAll(at, 0o700))
		version1 := strings.HasPrefix(group, "memory/")
		if version1 {
			write(t, filepath.Join(at, "memory.limit_in_bytes"), limit)
			write(t, filepath.Join(at, "memory.usage_in_bytes"), used)
			write(t, filepath.Join(at, "memory.stat"), "cache 77\ninactive_file 1\ntotal_inactive_file 100\n")
			return
		}
		write(t, filepath.Join(at, "memory.max"), limit)
		write(t, filepath.Join(at, "memory.current"), used)
	}
	within(math.MaxInt64, "no files")
	set("job/step", "max", "500")
	within(math.MaxInt64, "no bound")
	set("job", "5000", "1000")
	within(4000, "the group above")
	set("job/step", "3000", "500")
	within(2500, "its own")
	set("memory/slurm", "2000", "500")
	within(1600, "version 1, above, with files in memory")
	set("memory/slurm/job_1", "9223372036854771712", "50")
	within(1600, "the largest number is none")
	set("memory/slurm/job_1", "700", "900")
	within(0, "more is used than allowed")
	oracle.Equal(t, groupMemory(filepath.Join(folder, "none"), folder), math.MaxInt64, "no groups")
}

// TestPeakMemory: memory that is written to raises the peak by what it is.
func TestPeakMemory(t *testing.T) {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins anew, where the system can
	before, ok := PeakMemory()
	if !ok {
		if runtime.GOOS == "linux" || before != 0 {
			t.Errorf("no peak, and %d bytes", before)
		}
		return // PeakMemory says so
	}
	const size = 64 << 20
	data := make([]float64, size/8)
	for i := range data {
		data[i] = float64(i)
	}
	after, _ := PeakMemory()
	if after < before+size*9/10 {
		t.Errorf("the peak rose from %d to %d by %d bytes that were written to", before, after, 8*len(data))
	}
}
