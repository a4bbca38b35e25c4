package partition_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// TestMETISKeepsSignalHandlers: a program must still be able to end in good
// order after a call.
func TestMETISKeepsSignalHandlers(t *testing.T) {
	if withoutMETIS(t) {
		return
	}
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGTERM)
	defer signal.Stop(received)
	before := handlerFlags(syscall.SIGTERM)
	must(partition.METIS(must(graph.Grid(20, 20, graph.GridOptions{})), 4, 0))
	if after := handlerFlags(syscall.SIGTERM); after != before {
		t.Fatalf("flags of the SIGTERM handler are %#x after the call, want %#x", after, before)
	}
	oracle.OK(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	select {
	case <-received:
	case <-time.After(5 * time.Second):
		t.Error("SIGTERM was lost after METIS had run")
	}
}

// handlerFlags returns sa_flags of the handler of a signal. In the kernel's
// struct sigaction the flags follow the handler, a word each.
func handlerFlags(s syscall.Signal) uint64 {
	var action [4]uint64
	const setSize = 8 // bytes of a signal set
	syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&action)), setSize, 0, 0)
	return action[1]
}
