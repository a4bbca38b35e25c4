package parallel

import (
	"sync/atomic"
	"time"
)

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
