package dataset

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// each calls work(0) … work(n-1), on as many goroutines as there are
// processors. Every call writes to its own slot, so that results do not depend
// on the order. A panic of work goes on in the goroutine of the caller, who could
// not recover from it elsewhere, with the stack of where it began.
func each(n int, work func(i int)) {
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
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	group.Wait()
	if text := failure.Load(); text != nil {
		panic(*text)
	}
}
