package parallel

import (
	"testing"
	"time"
)

// TestPoolIdle: workers that have nothing to do sleep, soon after a run and after many at once, and
// all take part again afterwards.
func TestPoolIdle(t *testing.T) {
	for workers := 2; workers <= 4; workers++ { // where there are as many processors and where not
		p := NewPool(workers, func(all *chan struct{}, _, _ int) {
			*all <- struct{}{}
			for len(*all) < workers { // until each has one
				time.Sleep(time.Microsecond)
			}
		})
		for round := range 10 {
			for range round {
				p.Run(make(chan struct{}, workers), workers)
			}
			for i := range p.asked {
				for began := time.Now(); !p.asked[i].asleep.Load(); time.Sleep(briefly) {
					if time.Since(began) > time.Minute {
						t.Fatalf("after %d runs worker %d of %d does not sleep", round, i+1, workers)
					}
				}
			}
		}
		p.Close()
	}
}

// TestPoolLate: a run that is done waits for nobody who has not begun.
func TestPoolLate(t *testing.T) {
	done := 0
	p := NewPool(2, func(*int, int, int) { done++ })
	p.Close() // so that the worker does not come
	p.asked[0].n.Store(isIdle)
	for range 3 {
		p.Run(0, 2)
	}
	if done != 6 || p.asked[0].n.Load() != isIdle || p.left.n.Load() != 0 {
		t.Errorf("%d jobs of 6 are done, the worker is %d, %d are left", done, p.asked[0].n.Load(), p.left.n.Load())
	}
}

// TestSignal: who waits looks for what came soon the last time, and sleeps where it did not.
func TestSignal(t *testing.T) {
	var s signal
	s.init(true)
	for _, c := range []struct {
		pause          time.Duration
		patient, brief bool
	}{
		{0, true, true},
		{2 * briefly, true, false}, // it looks in vain
		{2 * briefly, true, false},
		{0, true, true},
		{2 * briefly, false, false},
	} {
		s.patient = c.patient
		began := time.Now()
		if c.pause > 0 {
			s.n.Store(1)
			go func() {
				for time.Since(began) < c.pause || !s.asleep.Load() {
					time.Sleep(briefly / 10)
				}
				s.n.Store(0)
				s.tell()
			}()
		}
		s.await()
		if s.n.Load() != 0 || s.brief != c.brief || s.asleep.Load() {
			t.Errorf("%+v: %d, brief: %v, asleep: %v", c, s.n.Load(), s.brief, s.asleep.Load())
		}
	}
}
