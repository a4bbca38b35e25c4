package ceilings

import "time"

// reader reads an array again and again.
type reader struct {
	data        []float64
	repeat      int // whole readings per measurement
	bytesPerRun float64
	parity      uint64
}

// newReader takes an array, cut to a whole number of steps.
func newReader(data []float64) *reader {
	r := &reader{data: wholeSteps(data)}
	r.repeat = calibrate(1, r.read)
	r.bytesPerRun = float64(8 * len(r.data) * r.repeat)
	return r
}

// Run implements Task. What was measured in between may have pushed the array out
// of the level where it lives, so it is read once more before the clock starts.
func (r *reader) Run() (seconds float64, err error) {
	r.read(1)
	started := time.Now()
	r.read(r.repeat)
	return time.Since(started).Seconds(), nil
}

// read reads the array n times.
func (r *reader) read(n int) {
	for range n {
		r.parity ^= read(r.data)
	}
}

// read reads an array in calls that are short.
func read(data []float64) (parity uint64) {
	for len(data) > 0 {
		n := min(len(data), callBytes/8)
		parity ^= active.readAll(data[:n])
		data = data[n:]
	}
	return parity
}

// wholeSteps cuts an array to a whole number of steps, and to at least one.
func wholeSteps(data []float64) []float64 {
	return data[:max(len(data)/readStep, 1)*readStep]
}

// wheel reads an array too large for any cache from its beginning to its end and
// then anew, a portion per measurement: by the time that a portion's turn comes
// again, all others were read.
type wheel struct {
	data        []float64
	at          int // where the next portion begins
	portion     int // divides len(data)
	bytesPerRun float64
	parity      uint64
}

// newWheel takes an array, cut to a whole number of portions.
func newWheel(data []float64) *wheel {
	portions := max(1, 8*len(data)/portionBytes)
	portion := len(wholeSteps(data[:len(data)/portions]))
	return &wheel{data: data[:portions*portion], portion: portion, bytesPerRun: float64(8 * portion)}
}

// Run implements Task.
func (w *wheel) Run() (seconds float64, err error) {
	started := time.Now()
	w.parity ^= read(w.data[w.at:][:w.portion])
	took := time.Since(started).Seconds()
	w.at = (w.at + w.portion) % len(w.data)
	return took, nil
}
