package cli_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// runBound runs the command so that the permissions of files bind it. They do not bind root, who therefore runs it in a
// process without that privilege: it is taken from the set that a new program of root's starts with, on a thread that
// starts this process and nothing else.
func runBound(t *testing.T, args ...string) (o outcome) {
	t.Helper()
	if os.Geteuid() != 0 {
		return run(t, args...)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		const (
			dropFromBoundingSet = 24 // PR_CAPBSET_DROP
			overridePermissions = 1  // CAP_DAC_OVERRIDE
		)
		// Where it cannot be taken away, the caller finds out that files can be written.
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, dropFromBoundingSet, overridePermissions, 0)
		o = runProcess(t, args...)
	}()
	<-done
	return o
}
