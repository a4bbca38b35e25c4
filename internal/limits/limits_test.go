//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package limits

import (
	"strings"
	"syscall"
	"testing"
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
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := limit
	few.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
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
