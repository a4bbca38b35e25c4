package parallel_test

import (
	"context"
	"errors"
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
			oracle.Equal(t, done[i].Load(), 1, "%d threads: runs of job %d", threads, i)
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
		oracle.Contains(t, text, "a slip", "parallel_test.go")
		oracle.Equal(t, running.Load(), 0, "jobs under way")
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
