package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Pool runs a job for indices 0 … n-1 on a fixed number of goroutines. Which
// goroutine gets which index is left to chance; jobs must not depend on it. Jobs of a
// run have an argument in common, which is kept here for a run to allocate nothing.
//
// Between the runs of small iterations there is less time than it takes to wake a goroutine. Who
// waits looks again and again for a while, where that was long enough the last time: see signal.
type Pool[T any] struct {
	job     func(argument *T, worker, index int)
	common  T
	limit   int64
	next    atomic.Int64
	asked   []signal // [workers-1] 0: to take part in a run
	left    signal   // of those that were asked, how many have not ended
	closing bool
	alive   sync.WaitGroup
	failure atomic.Pointer[any]
}

// States of Pool.asked but 0.
const (
	isIdle    = 1
	isWorking = 2
)

func NewPool[T any](workers int, job func(argument *T, worker, index int)) *Pool[T] {
	p := &Pool[T]{job: job, asked: make([]signal, max(0, workers-1))}
	patient := workers <= runtime.GOMAXPROCS(0) // else who looks keeps others from what is looked for
	p.left.init(patient)
	for i := range p.asked {
		p.asked[i].init(patient)
		p.asked[i].n.Store(isIdle)
		p.alive.Go(func() {
			for p.takePart(i + 1) {
			}
		})
	}
	return p
}

// Run returns when the job was done for the argument and every index below n. A panic of a job is passed on to the
// caller, who can recover from it, when no goroutine works any more.
func (p *Pool[T]) Run(argument T, n int) {
	p.common = argument
	p.limit = int64(n)
	p.failure.Store(nil)
	p.next.Store(0)
	asked := max(0, min(len(p.asked), n-1))
	p.left.n.Store(int32(asked))
	for i := range asked {
		p.ask(i)
	}
	p.work(asked)
	var none T
	p.common = none // what it refers to can go
	if failure := p.failure.Swap(nil); failure != nil {
		panic(*failure)
	}
}

// ask has a worker take part in a run.
func (p *Pool[T]) ask(i int) {
	p.asked[i].n.Store(0)
	p.asked[i].tell()
}

// work is the caller's part of a run: it waits for the other workers also where the job panics here.
func (p *Pool[T]) work(asked int) {
	defer p.await(asked)
	p.drain(0)
}

// await waits for those that were asked, but for those that have not begun: nothing is left to do.
func (p *Pool[T]) await(asked int) {
	for i := range asked {
		if p.asked[i].n.CompareAndSwap(0, isIdle) {
			p.left.n.Add(-1)
		}
	}
	p.left.await()
}

// takePart is another worker's part of a run, and reports whether there may be more. A panic is kept
// for the goroutine that called Run: nobody could recover from it here.
func (p *Pool[T]) takePart(worker int) bool {
	asked := &p.asked[worker-1]
	asked.await()
	if !asked.n.CompareAndSwap(0, isWorking) {
		return true // it was too late
	}
	if p.closing {
		return false
	}
	defer p.end(asked)
	defer p.rescue()
	p.drain(worker)
	return true
}

func (p *Pool[T]) end(asked *signal) {
	asked.n.Store(isIdle)
	if p.left.n.Add(-1) == 0 {
		p.left.tell()
	}
}

// rescue keeps the first panic. It is a function of its own, and so is keep, so
// that a run without one allocates nothing.
func (p *Pool[T]) rescue() {
	if r := recover(); r != nil {
		p.keep(r)
	}
}

func (p *Pool[T]) keep(failure any) { p.failure.CompareAndSwap(nil, &failure) }

func (p *Pool[T]) drain(worker int) {
	for {
		i := p.next.Add(1) - 1
		if i >= p.limit {
			return
		}
		p.job(&p.common, worker, int(i))
	}
}

// Close ends the goroutines.
func (p *Pool[T]) Close() {
	p.closing = true
	for i := range p.asked {
		p.ask(i)
	}
	p.alive.Wait()
}

// signal is a number that one goroutine waits for to become zero. It looks again and again where
// the last wait was shorter than briefly, and sleeps otherwise, or after that time.
type signal struct {
	n       atomic.Int32
	asleep  atomic.Bool   // who waits is, or is about to be
	patient bool          // it may look again and again
	brief   bool          // the last wait was
	told    time.Time     // when the last sleep was to end
	wake    chan struct{} // ends it
	_       [64]byte      // others look at the next one
}

// briefly is how long who waits looks, at most: longer than the serial part of an iteration, up to 150 µs on a grid
// of 200×200 nodes. Waking a goroutine takes 100 to 200 µs on a virtual machine, which gives idle cores back. Where
// other programs want the core, looking for longer costs more than it brings (results/README.md).
const briefly = 200 * time.Microsecond

func (s *signal) init(patient bool) { s.patient, s.wake = patient, make(chan struct{}, 1) }

// await returns when the number is zero.
func (s *signal) await() {
	began, slept := time.Now(), false
	for s.n.Load() != 0 {
		if s.patient && s.brief && time.Since(began) < briefly {
			continue
		}
		// Who makes the number zero looks at asleep afterwards: one of the two sees the other.
		if s.asleep.Store(true); s.n.Load() != 0 || !s.asleep.CompareAndSwap(true, false) {
			<-s.wake
			slept = true
		}
	}
	if !slept {
		s.told = time.Now()
	}
	s.brief = s.told.Sub(began) < briefly // but for what waking took
}

// tell wakes who waits, after the number has become zero.
func (s *signal) tell() {
	if s.asleep.Load() && s.asleep.CompareAndSwap(true, false) {
		s.told = time.Now()
		s.wake <- struct{}{}
	}
}
