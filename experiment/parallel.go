package experiment

import "sync"

// inParallel calls job for 0 … n-1, at most so many at a time. A panic of a job
// is passed on to the caller when the others have ended: in a goroutine of its
// own nobody could recover from it.
func inParallel(n, atATime int, job func(i int)) {
	var group sync.WaitGroup
	failures := make(chan any, n)
	slots := make(chan struct{}, max(1, atATime))
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					failures <- r
				}
				<-slots
			}()
			job(i)
		})
	}
	group.Wait()
	select {
	case r := <-failures:
		panic(r)
	default:
	}
}
