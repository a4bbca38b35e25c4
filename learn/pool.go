package learn

import (
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/blockbp/blockbp/internal/parallel"
)

// pool runs a job for indices 0 … n-1 on a fixed number of goroutines. Which
// goroutine gets which index is left to chance; jobs must not depend on it. Jobs of a
// run have an argument in common, which is kept here for a run to allocate nothing.
type pool[T any] struct {
	job     func(argument *T, worker, index int)
	common  T
	limit   int64
	next    atomic.Int64
	start   []chan struct{}
	done    sync.WaitGroup
	alive   sync.WaitGroup
	failure atomic.Pointer[any]
}

func newPool[T any](workers int, job func(argument *T, worker, index int)) *pool[T] {
	p, onFault := &pool[T]{job: job}, parallel.PanicsOnFault()
	for w := 1; w < workers; w++ {
		start := make(chan struct{})
		p.start = append(p.start, start)
		p.alive.Go(func() {
			debug.SetPanicOnFault(onFault)
			for range start {
				p.takePart(w)
			}
		})
	}
	return p
}

// run returns when the job was done for the argument and every index below n. A panic of a job is
// passed on to the caller, who can recover from it, when no goroutine works any
// more.
func (p *pool[T]) run(argument T, n int) {
	p.common = argument
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
func (p *pool[T]) work() {
	defer p.done.Wait()
	p.drain(0)
}

// takePart is another worker's part of a run. A panic is kept for the goroutine
// that called run: nobody could recover from it here.
func (p *pool[T]) takePart(worker int) {
	defer p.done.Done()
	defer p.rescue()
	p.drain(worker)
}

// rescue keeps the first panic. It is a function of its own, and so is keep, so
// that a run without one allocates nothing.
func (p *pool[T]) rescue() {
	if r := recover(); r != nil {
		p.keep(r)
	}
}

func (p *pool[T]) keep(failure any) { p.failure.CompareAndSwap(nil, &failure) }

func (p *pool[T]) drain(worker int) {
	for {
		i := p.next.Add(1) - 1
		if i >= p.limit {
			return
		}
		p.job(&p.common, worker, int(i))
	}
}

// close ends the goroutines.
func (p *pool[T]) close() {
	for _, start := range p.start {
		close(start)
	}
	p.alive.Wait()
}
