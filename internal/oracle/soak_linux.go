package oracle

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Soak calls do again and again, and fails where the process keeps something of each call: maps of memory,
// open files, disk of deleted files, goroutines, or memory. Numbers are compared after collections, as what
// nobody closes is left to the garbage collector.
//
// BLOCKBP_SOAK says how many calls there are, in the place of a few dozen.
func Soak(t *testing.T, do func()) {
	t.Helper()
	calls := 24
	if asked, err := strconv.Atoi(os.Getenv("BLOCKBP_SOAK")); err == nil {
		calls = max(calls, asked)
	}
	for range calls / 4 { // caches and scratch of the runtime are made
		do()
	}
	before := settled(t)
	for range calls {
		do()
	}
	after := settled(t)
	t.Logf("%d calls: %v, then %v", calls, before, after)
	for i, what := range kinds {
		// What is kept of one call in four is a leak; of memory, 8 KiB of each call.
		most := before[i] + calls/4
		if what == resident {
			most = before[i] + 8*calls + 2<<10
		}
		if after[i] > most && !(racing && what == resident) {
			t.Errorf("%d calls leave %d %s, and there were %d before", calls, after[i], what, before[i])
		}
	}
}

const resident = "KiB in memory"

// kinds are what is counted.
var kinds = [...]string{"maps", "open files", "maps and open files of deleted files", "goroutines", resident}

// settled counts when collections find nothing any more.
func settled(t *testing.T) (least [len(kinds)]int) {
	for try := range 10 {
		debug.FreeOSMemory()
		time.Sleep(5 * time.Millisecond) // cleanups follow a collection
		for i, n := range count(t) {
			if try == 0 || n < least[i] {
				least[i] = n
			}
		}
	}
	return least
}

func count(t *testing.T) (n [len(kinds)]int) {
	maps := Must(os.ReadFile("/proc/self/maps"))(t)
	const deleted = " (deleted)"
	n[0], n[2] = bytes.Count(maps, []byte("\n")), bytes.Count(maps, []byte(deleted))
	files := Must(os.ReadDir("/proc/self/fd"))(t)
	for _, file := range files {
		if to, _ := os.Readlink(filepath.Join("/proc/self/fd", file.Name())); strings.HasSuffix(to, deleted) {
			n[2]++
		}
	}
	n[1], n[3] = len(files), runtime.NumGoroutine()
	status := Must(os.ReadFile("/proc/self/status"))(t)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	n[4] = Must(strconv.Atoi(strings.Fields(rest)[0]))(t)
	return n
}
