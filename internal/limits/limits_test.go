//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package limits

import (
	"strings"
	"syscall"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestCheck: what the test itself can have is enough, and what nobody can is told with its remedy.
func TestCheck(t *testing.T) {
	if problem := check(leastFiles, leastSpace); problem != "" {
		t.Error(problem)
	}
	if problem := check(leastFiles, 1<<60); !strings.Contains(problem, "address space") || !strings.Contains(problem, "ulimit -v 4194304") {
		t.Errorf("%q", problem)
	}
	var limit syscall.Rlimit
	oracle.OK(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	few := limit
	few.Cur = 64
	oracle.OK(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}()
	if problem := check(80, leastSpace); !strings.Contains(problem, "too many open files") || !strings.Contains(problem, "ulimit -n 256") {
		t.Errorf("%q", problem)
	}
	if problem := check(leastFiles, leastSpace); problem != "" {
		t.Errorf("descriptors are left open: %s", problem)
	}
}
