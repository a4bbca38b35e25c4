package dataset

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// each calls work(0) … work(n-1), on as many goroutines as there are
// processors. Every call writes to its own slot, so that results do not depend
// on the order. Once ctx has ended no more calls begin, and its error is
// returned: then some slots are empty. A panic of work goes on in the goroutine of the caller, who could
// not recover from it elsewhere, with the stack of where it began.
func each(ctx context.Context, n int, work func(i int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	var failure atomic.Pointer[string]
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					text := fmt.Sprintf("%v\n\n%s", r, debug.Stack())
					failure.CompareAndSwap(nil, &text)
				}
			}()
			for i := int(next.Add(1)) - 1; i < n && ended(ctx) == nil; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	group.Wait()
	if text := failure.Load(); text != nil {
		panic(*text)
	}
	return ended(ctx)
}

// ended returns the error of ctx if it has ended. It asks the channel, which
// costs no lock.
func ended(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		return nil
	}
}
