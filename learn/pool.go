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
				p.help(w)
			}
		}()
	}
	return p
}

// run returns when the job was done for every index below n.
func (p *pool) run(n int) {
	p.limit = int64(n)
	p.next.Store(0)
	helpers := min(len(p.start), n-1)
	for i := range max(0, helpers) {
		p.done.Add(1)
		p.start[i] <- struct{}{}
	}
	p.drain(0)
	p.done.Wait()
	if r := p.failure.Load(); r != nil {
		panic(*r) // where the caller can recover from it
	}
}

// help is a helper's part of a run. A panic is kept for the goroutine that called
// run: nobody could recover from it here.
func (p *pool) help(worker int) {
	defer p.done.Done()
	defer func() {
		if r := recover(); r != nil {
			p.failure.CompareAndSwap(nil, &r)
		}
	}()
	p.drain(worker)
}

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
