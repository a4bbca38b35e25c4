package parallel

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestPoolDoesEveryIndexOnce, whatever the numbers of workers and indices.
func TestPoolDoesEveryIndexOnce(t *testing.T) {
	for workers := 1; workers <= 9; workers += 4 {
		var done [20]atomic.Int64
		p := NewPool(workers, func(n *int, worker, index int) {
			if index >= *n {
				t.Errorf("index %d of %d", index, *n)
			}
			if worker < 0 || worker >= workers {
				t.Errorf("worker %d of %d", worker, workers)
			}
			done[index].Add(1)
		})
		for n := range len(done) + 1 {
			p.Run(n, n)
			for i := range done {
				if times := done[i].Swap(0); times != 1 && i < n || times != 0 && i >= n {
					t.Errorf("%d workers, %d indices: index %d was done %d times", workers, n, i, times)
				}
			}
		}
		p.Close()
	}
}

// TestPoolPassesPanicsOn: a panic of any worker reaches the caller of run, when
// nobody works any more, and is forgotten then.
func TestPoolPassesPanicsOn(t *testing.T) {
	const workers = 3
	for bad := range workers {
		var working atomic.Int64
		broken, p := true, NewPool[int](workers, nil)
		p.job = func(_ *int, worker, _ int) {
			working.Add(1)
			defer working.Add(-1)
			time.Sleep(time.Millisecond) // so that every worker gets an index
			if broken && worker == bad {
				panic("broken")
			}
			time.Sleep(time.Millisecond)
		}
		recovered := func() (r any) {
			defer func() { r = recover() }()
			p.Run(0, 60)
			return nil
		}
		oracle.Equal(t, recovered(), "broken", "worker %d: recovered", bad)
		oracle.Equal(t, working.Load(), 0, "worker %d: jobs still under way", bad)
		broken = false
		if r := recovered(); r != nil {
			t.Errorf("worker %d: the next run panics with %v", bad, r)
		}
		p.Close()
	}
}

// TestPoolDoesNotAllocate: a run starts and ends without garbage.
func TestPoolDoesNotAllocate(t *testing.T) {
	for workers := 1; workers <= 4; workers++ {
		p := NewPool(workers, func(*int, int, int) {})
		oracle.Equal(t, testing.AllocsPerRun(100, func() { p.Run(1, 7) }), 0, "%d workers: allocations per run", workers)
		p.Close()
	}
}

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
