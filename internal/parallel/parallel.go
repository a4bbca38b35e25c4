// Package parallel runs the same work for many numbers on several goroutines.
package parallel

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each calls job(0) … job(n-1) on at most so many goroutines, the caller's among them. Which one does what is left to
// chance: jobs write to places of their own. Once ctx has ended no more jobs begin, and its error is returned; then
// some places are empty. A panic of a job goes on in the goroutine of the caller, who could not recover from it
// elsewhere, as a text with the stack of where it began.
func Each(ctx context.Context, n, threads int, job func(i int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	var failure atomic.Pointer[string]
	take := func() {
		defer func() {
			if r := recover(); r != nil {
				text := fmt.Sprintf("%v\n\n%s", r, debug.Stack())
				failure.CompareAndSwap(nil, &text)
				next.Store(int64(n)) // the others end what they are at
			}
		}()
		for i := int(next.Add(1)) - 1; i < n && Ended(ctx) == nil; i = int(next.Add(1)) - 1 {
			job(i)
		}
	}
	for range min(threads, n) - 1 {
		group.Go(take)
	}
	take()
	group.Wait()
	if text := failure.Load(); text != nil {
		panic(*text)
	}
	return Ended(ctx)
}

// Ended returns the error of ctx if it has ended. It asks the channel, which costs no lock.
func Ended(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		return nil
	}
}

// Loop calls do for all i < n, on some goroutines, of which each is one worker.
type Loop func(n int, do func(worker, i int))

// Serially is a Loop of the caller's goroutine.
func Serially(n int, do func(worker, i int)) {
	for i := range n {
		do(0, i)
	}
}
