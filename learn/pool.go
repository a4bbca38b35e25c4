package learn

import (
	"sync"
	"sync/atomic"
)

// pool runs a job for indices 0 … n-1 on a fixed number of goroutines. Which
// goroutine gets which index is left to chance; jobs must not depend on it.
type pool struct {
	workers int
	job     func(worker, index int)
	limit   int64
	next    atomic.Int64
	start   []chan struct{}
	done    sync.WaitGroup
	failure atomic.Pointer[any]
}

func newPool(workers int, job func(worker, index int)) *pool {
	p := &pool{workers: workers, job: job}
	for w := 1; w < workers; w++ {
		start := make(chan struct{})
		p.start = append(p.start, start)
		go func() {
			for range start {
				p.takePart(w)
			}
		}()
	}
	return p
}

// run returns when the job was done for every index below n. A panic of a job is
// passed on to the caller, who can recover from it, when no goroutine works any
// more.
func (p *pool) run(n int) {
	p.limit = int64(n)
	p.failure.Store(nil)
	p.next.Store(0)
	for i := range min(len(p.start), n-1) {
		p.done.Add(1)
		p.start[i] <- struct{}{}
	}
	p.work()
	if failure := p.failure.Swap(nil); failure != nil {
		panic(*failure)
	}
}

// work is the caller's part of a run: it waits for the other workers also where
// the job panics here.
func (p *pool) work() {
	defer p.done.Wait()
	p.drain(0)
}

// takePart is another worker's part of a run. A panic is kept for the goroutine
// that called run: nobody could recover from it here.
func (p *pool) takePart(worker int) {
	defer p.done.Done()
	defer p.rescue()
	p.drain(worker)
}

// rescue keeps the first panic. It is a function of its own, and so is keep, so
// that a run without one allocates nothing.
func (p *pool) rescue() {
	if r := recover(); r != nil {
		p.keep(r)
	}
}

func (p *pool) keep(failure any) { p.failure.CompareAndSwap(nil, &failure) }

func (p *pool) drain(worker int) {
	for {
		i := p.next.Add(1) - 1
		if i >= p.limit {
			return
		}
		p.job(worker, int(i))
	}
}

// close ends the goroutines.
func (p *pool) close() {
	for _, start := range p.start {
		close(start)
	}
}
