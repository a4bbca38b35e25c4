package bp

import (
	"context"
	"sync"

	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
)

// Sweeps one after another need not wait for each other's end: a sweep may update a stretch of nodes
// as soon as the one before is through with all of their neighbours. So several run over a large
// network like waves behind each other, on threads of their own where there are some, and on one
// thread while the caches still have what the wave before has left. Each node is updated from the
// same numbers as without: results are the same bytes.

const (
	// waves is how many sweeps are under way at once. More would use more threads; but all of them
	// are made before anybody looks whether the first was enough, and pictures take about ten.
	waves = 4
	// leastStretches is from how many stretches on that is done: in a picture a wave follows the one
	// before three stretches behind, so that fewer leave nothing to do at once.
	leastStretches = 4 * waves
)

// wavefront is some sweeps that are made at once.
type wavefront struct {
	net   *Net
	block *partition.Block
	ends  []int32 // [stretches] where they end, in block.Runs
	reach []int32 // [stretches] how many stretches have all neighbours of their nodes, at least
	waves [waves]wave

	mutex sync.Mutex
	moved sync.Cond
}

// wave is one of the sweeps.
type wave struct {
	space    *Workspace // scratch
	momentum float64
	residual float64
	moved    int32 // stretches whose messages momentum has moved on
	done     int32 // stretches that are updated
	stopped  bool  // by an error here, or in a wave before
	err      error
}

// planWavefront finds the stretches of a block, and how far they reach. It reports false where there
// are too few.
func (w *Workspace) planWavefront(net *Net, block *partition.Block) bool {
	f := &w.wavefront
	const size = partition.WindowNodes // of a stretch: runs are formed within windows
	if len(block.Nodes) < leastStretches*size {
		return false
	}
	if f.net == net && f.block == block {
		return true
	}
	f.net, f.block, f.ends, f.reach, f.moved.L = net, block, f.ends[:0], f.reach[:0], &f.mutex
	stretch := make([]int32, net.Graph.NumNodes()) // of nodes of the block; 0 of others, which no sweep changes
	for p, s := range block.Nodes {
		stretch[s] = int32(p / size)
	}
	n, last := int32(len(block.Nodes)), int32(0)
	for i, end := range block.Runs {
		if lo := int32(len(f.ends)) * size; i > 0 && end == min(lo+size, n) {
			last = max(last, int32(len(f.ends)))
			for _, source := range block.InSource[block.InStart[lo]:block.InStart[end]] {
				last = max(last, stretch[source])
			}
			f.ends, f.reach = append(f.ends, int32(i)), append(f.reach, last+1)
		}
	}
	return true
}

// sweepTogether makes n sweeps, at most waves of them, so many after momentum began, and returns the
// residuals of the first and the last.
func (w *Workspace) sweepTogether(
	net *Net, st *State, after, n int, damping float64,
) (first, last float64, err error) {
	f := &w.wavefront
	for i := range n {
		v := &f.waves[i]
		*v = wave{space: v.space, momentum: Momentum(after + i)}
		if v.space == nil {
			v.space = &Workspace{}
		}
		s := v.space
		s.Potentials, s.arena, s.at, s.forms = w.Potentials, w.arena, w.at, w.forms
		s.wide, s.logarithms, s.noProx, s.swept = w.wide, w.logarithms, w.noProx, w.swept
		s.fit(net.maxCard, net.maxPair)
		s.beginSweep(net, st, f.block, damping)
	}
	w.swept = true
	threads := min(max(1, w.Threads), n)
	_ = parallel.Each(context.Background(), threads, threads, func(t int) {
		defer f.stop(t, threads, n)
		for i := f.next(t, threads, n); i >= 0; i = f.next(t, threads, n) {
			f.finish(i, w.advance(net, st, i, damping))
		}
	})
	for i := range n {
		if err := f.waves[i].err; err != nil {
			return 0, 0, err
		}
	}
	return f.waves[0].residual, f.waves[n-1].residual, nil
}

// advance takes the i-th wave over its next stretch.
func (w *Workspace) advance(net *Net, st *State, i int, damping float64) error {
	f := &w.wavefront
	v, k := &f.waves[i], f.waves[i].done
	for ; v.moved < f.reach[k]; v.moved++ {
		first, last := f.runs(v.moved)
		w.extrapolateNodes(net, st, f.block.Nodes[f.block.Runs[first]:f.block.Runs[last]], v.momentum)
	}
	for r, last := f.runs(k); r < last; r++ {
		change, err := v.space.sweepRun(net, st, f.block, int(r), damping)
		v.residual = larger(v.residual, change)
		if err != nil {
			return err
		}
	}
	return nil
}

// runs returns the first run of a stretch, and the first behind it.
func (f *wavefront) runs(stretch int32) (first, last int32) {
	if stretch > 0 {
		first = f.ends[stretch-1]
	}
	return first, f.ends[stretch]
}

// next returns which of n waves the t-th of so many goroutines takes farther, as soon as there is one;
// −1 when all are done. A wave may take a stretch when the one before has updated all that momentum
// moves for it, and all of the neighbours of that. The last wave that can comes first, while the caches
// have what those before it have left.
func (f *wavefront) next(t, threads, n int) int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for {
		left := false
		for i := n - 1; i >= 0; i-- {
			if v := &f.waves[i]; i%threads == t && !v.stopped && int(v.done) < len(f.ends) {
				if i == 0 || f.waves[i-1].done >= f.reach[f.reach[v.done]-1] {
					return i
				}
				left = true
			}
		}
		if !left {
			return -1
		}
		f.moved.Wait()
	}
}

// finish notes that a wave has updated another stretch, or why it could not: then it stops, and all
// behind it.
func (f *wavefront) finish(i int, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	v := &f.waves[i]
	v.err = err
	if v.done++; err != nil {
		f.stopFrom(i)
	}
	f.moved.Broadcast()
}

func (f *wavefront) stopFrom(i int) {
	for ; i < waves; i++ {
		f.waves[i].stopped = true
	}
}

// stop lets no goroutine wait for what the t-th would have done, if that has panicked.
func (f *wavefront) stop(t, threads, n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for i := t; i < n; i += threads {
		if int(f.waves[i].done) < len(f.ends) {
			f.stopFrom(i)
			break
		}
	}
	f.moved.Broadcast()
}
