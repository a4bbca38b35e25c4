package infer

import (
	"context"
	"sync"
	"sync/atomic"
)

// inParallel calls job(0) … job(n-1) on at most so many goroutines. Which one does
// what is left to chance; jobs must not depend on it. Once ctx has ended no more
// begin, and its error is returned. A panic of a job goes on in the goroutine of
// the caller, who could not recover from it elsewhere.
func inParallel(ctx context.Context, n, threads int, job func(i int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	var failure atomic.Pointer[any]
	take := func() {
		defer func() {
			if r := recover(); r != nil {
				failure.CompareAndSwap(nil, &r)
			}
		}()
		for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			job(i)
		}
	}
	for range min(threads, n) - 1 {
		group.Go(take)
	}
	take()
	group.Wait()
	if r := failure.Load(); r != nil {
		panic(*r)
	}
	return ctx.Err()
}
