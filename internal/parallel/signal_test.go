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
