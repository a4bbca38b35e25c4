package ceilings

import (
	"math"
	"testing"
)

// TestMultiplyAdd: every entry makes every multiply-add. From 0, n steps of
// acc/2 + 1 give 2 − 2^(1−n), and all sums of these are exact.
func TestMultiplyAdd(t *testing.T) {
	for _, k := range supported() {
		for n := range 40 {
			want := float64(k.entries) * (2 - math.Ldexp(1, 1-n))
			if got := k.multiplyAdd(n, 0.5, 1); got != want {
				t.Errorf("%s: %d rounds give %v, want %v", k.name, n, got, want)
			}
		}
		if got := k.multiplyAdd(-1, 0.5, 1); got != 0 {
			t.Errorf("%s: a negative number of rounds gives %v", k.name, got)
		}
	}
}

// TestReadAll: reading goes to the end, and not beyond.
func TestReadAll(t *testing.T) {
	for _, k := range supported() {
		for steps := range 5 {
			n := steps * readStep
			x := make([]float64, n+readStep)
			for i := range x {
				x[i] = math.Float64frombits(uint64(i)*0x9e3779b97f4a7c15 + 1)
			}
			if got, want := k.readAll(x[:n]), k.lastParity(x[:n]); got != want {
				t.Errorf("%s, %d words: %x, want %x", k.name, n, got, want)
			}
		}
	}
}

// lastParity is what readAll returns.
func (k *kernels) lastParity(x []float64) (p uint64) {
	if k.last > 0 {
		x = x[max(0, len(x)-k.last):]
	}
	for _, v := range x {
		p ^= math.Float64bits(v)
	}
	return p
}

// parity is what read returns of an array that is read in one call.
func parity(x []float64) uint64 { return active.lastParity(x) }

// TestReaders: what readers count is what they read.
func TestReaders(t *testing.T) {
	data := newBuffer(8 * 1000) // not a whole number of steps
	r := newReader(data)
	if len(r.data) != 15*readStep || r.bytesPerRun != float64(8*15*readStep*r.repeat) {
		t.Errorf("%d words, %v bytes in %d repeats", len(r.data), r.bytesPerRun, r.repeat)
	}
	r.parity = 0
	if _, err := r.Run(); err != nil {
		t.Fatal(err)
	}
	want := uint64(0)
	for range r.repeat + 1 {
		want ^= parity(r.data)
	}
	if r.parity != want {
		t.Error("a reader does not read all of its array, repeat times and once before")
	}

	large := newBuffer(2*portionBytes + 8*readStep)
	w := newWheel(large)
	if len(w.data) != len(large)/2/readStep*readStep*2 || w.portion != len(w.data)/2 || w.bytesPerRun != float64(8*w.portion) {
		t.Errorf("%d words in portions of %d, %v bytes", len(w.data), w.portion, w.bytesPerRun)
	}
	for range 2 {
		if _, err := w.Run(); err != nil {
			t.Fatal(err)
		}
	}
	if w.parity != inCalls(w.data[:w.portion])^inCalls(w.data[w.portion:]) || w.at != 0 {
		t.Error("a wheel does not read each portion in turn")
	}
	if small := newWheel(large[:3*readStep+1]); len(small.data) != 3*readStep || small.portion != len(small.data) {
		t.Errorf("%d words in portions of %d", len(small.data), small.portion)
	}
}

// inCalls is what read returns of an array that takes several calls.
func inCalls(x []float64) (p uint64) {
	for len(x) > 0 {
		n := min(len(x), callBytes/8)
		p ^= parity(x[:n])
		x = x[n:]
	}
	return p
}
