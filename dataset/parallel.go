package dataset

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// each calls work(0) … work(n-1), on as many goroutines as there are
// processors. Every call writes to its own slot, so that results do not depend
// on the order.
func each(n int, work func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	group.Wait()
}
