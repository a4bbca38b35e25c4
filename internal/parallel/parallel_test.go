package parallel_test

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/parallel"
)

// TestEach: every job runs once, and no more than so many at a time.
func TestEach(t *testing.T) {
	for _, threads := range []int{-1, 1, 3, 100} {
		var done [20]atomic.Int64
		var running, most atomic.Int64
		oracle.OK(t, parallel.Each(t.Context(), len(done), threads, func(i int) {
			if now := running.Add(1); now > most.Load() {
				most.Store(now)
			}
			done[i].Add(1)
			running.Add(-1)
		}))
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%d threads: job %d ran %d times", threads, i, n)
			}
		}
		if most.Load() > int64(max(1, threads)) {
			t.Errorf("%d threads: %d ran", threads, most.Load())
		}
	}
}

// TestEachPassesPanicsOn: a panic of a job reaches the goroutine that waits, where the
// command can report it, after the others have ended; it says where it began.
func TestEachPassesPanicsOn(t *testing.T) {
	var running atomic.Int64
	defer func() {
		text, _ := recover().(string)
		if !strings.Contains(text, "a slip") || !strings.Contains(text, "parallel_test.go") {
			t.Errorf("recovered %q, want the panic with its stack", text)
		}
		if running.Load() != 0 {
			t.Errorf("%d jobs are under way", running.Load())
		}
	}()
	_ = parallel.Each(t.Context(), 8, 4, func(i int) {
		running.Add(1)
		defer running.Add(-1)
		if i == 5 {
			panic("a slip")
		}
	})
	t.Error("there was no panic")
}

// TestEachEnds: no job begins once the context has ended.
func TestEachEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := parallel.Each(ctx, 8, 4, func(int) { t.Error("a job ran") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// fault is one of the runtime's at an address.
type fault struct{}

func (fault) Error() string { return "a fault" }
func (fault) RuntimeError() {}
func (fault) Addr() uintptr { return 16 }

// TestEachPassesFaultsOn: where faults are panics for the caller, they are for all who work for
// it, and the panic says where the fault was and where it began.
func TestEachPassesFaultsOn(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var inherited atomic.Int64
	defer func() {
		r := recover()
		at, ok := r.(interface{ Addr() uintptr })
		if err, isError := r.(error); !ok || !isError || at.Addr() != 16 || !strings.Contains(err.Error(), "parallel_test.go") {
			t.Errorf("recovered %v, want the fault with its address and stack", r)
		}
		if inherited.Load() != 8 {
			t.Errorf("faults are panics in %d of 8 jobs", inherited.Load())
		}
		if !parallel.PanicsOnFault() {
			t.Error("faults are no panics for the caller any more")
		}
	}()
	var all sync.WaitGroup
	all.Add(4)
	_ = parallel.Each(t.Context(), 8, 4, func(i int) {
		if parallel.PanicsOnFault() {
			inherited.Add(1)
		}
		if i < 4 { // each on a goroutine of its own
			all.Done()
			all.Wait()
		}
		if inherited.Load() == 8 {
			panic(fault{})
		}
	})
}
