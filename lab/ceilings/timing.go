package ceilings

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// Timing sums up repeated measurements of one thing. The minimum is what it takes
// where nothing disturbs it; the median says how much was disturbed; the mean is
// for measurements that are not of the same thing, such as one block after another.
type Timing struct {
	Minimum, Median, Mean float64 // seconds
	Repeats               int
}

// Summarise returns the Timing of measured seconds; all zero if there are none.
// It sorts them.
func Summarise(seconds []float64) Timing {
	if len(seconds) == 0 {
		return Timing{}
	}
	slices.Sort(seconds)
	n, sum := len(seconds), 0.0
	for _, s := range seconds {
		sum += s
	}
	return Timing{Minimum: seconds[0], Median: (seconds[(n-1)/2] + seconds[n/2]) / 2, Mean: sum / float64(n), Repeats: n}
}

// Task is something to be measured: one call of Run is one measurement, and
// returns the seconds it took.
type Task interface {
	Run() (seconds float64, err error)
}

// TaskFunc makes a function a Task that is timed from outside.
type TaskFunc func()

// Run calls f and times it.
func (f TaskFunc) Run() (seconds float64, err error) {
	started := time.Now()
	f()
	return time.Since(started).Seconds(), nil
}

// Rounds bounds how often tasks are repeated.
type Rounds struct {
	// Least is the number of rounds that are always made; 0 means 1.
	Least int
	// Budget is the time after which no further round is begun.
	Budget time.Duration
}

// Interleave runs every task once to warm it up, and then all of them in turn,
// round after round, so that what disturbs the machine for a while disturbs all
// alike. No garbage is collected meanwhile. It ends early, with its error, when
// ctx ends or a task fails.
func Interleave(ctx context.Context, rounds Rounds, tasks ...Task) ([]Timing, error) {
	defer Quiet()()
	seconds := make([][]float64, len(tasks))
	begun := time.Now()
	for round := 0; round <= max(1, rounds.Least) || time.Since(begun) < rounds.Budget; round++ {
		for i, task := range tasks {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			took, err := task.Run()
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first is the warm-up
				seconds[i] = append(seconds[i], took)
			}
		}
		if round == 0 {
			begun = time.Now()
		}
	}
	timings := make([]Timing, len(tasks))
	for i, s := range seconds {
		timings[i] = Summarise(s)
	}
	return timings, nil
}

// Quiet collects the garbage there is and turns the collector off, until the
// function that it returns is called: a collection in the middle of a measurement
// would be measured too.
func Quiet() (restore func()) {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(percent) }
}
