package ceilings

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

func TestSummarise(t *testing.T) {
	for _, c := range []struct {
		seconds []float64
		want    Timing
	}{
		{nil, Timing{}},
		{[]float64{3}, Timing{3, 3, 3, 1}},
		{[]float64{4, 1}, Timing{1, 2.5, 2.5, 2}},
		{[]float64{9, 1, 2}, Timing{1, 2, 4, 3}},
	} {
		if got := Summarise(c.seconds); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.seconds, got, c.want)
		}
	}
}

// scripted is a task that takes the times it is told, whatever they really are.
type scripted struct {
	name    string
	log     *[]string
	seconds []float64
	fail    error
}

func (s *scripted) Run() (float64, error) {
	*s.log = append(*s.log, s.name)
	if len(s.seconds) == 0 {
		return 0, s.fail
	}
	took := s.seconds[0]
	s.seconds = s.seconds[1:]
	return took, nil
}

// TestInterleave: tasks take turns, the first round counts for nothing, and there
// are as many rounds as asked for.
func TestInterleave(t *testing.T) {
	var log []string
	a := &scripted{name: "a", log: &log, seconds: []float64{100, 5, 3, 4}}
	b := &scripted{name: "b", log: &log, seconds: []float64{0, 7, 9, 8}}
	got := oracle.Must(Interleave(t.Context(), Rounds{Least: 3}, a, b))(t)
	if want := []Timing{{3, 4, 4, 3}, {7, 8, 8, 3}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if want := []string{"a", "b", "a", "b", "a", "b", "a", "b"}; !slices.Equal(log, want) {
		t.Errorf("order %v, want %v", log, want)
	}

	trouble := errors.New("trouble")
	if _, err := Interleave(t.Context(), Rounds{}, &scripted{log: &log, fail: trouble}); !errors.Is(err, trouble) {
		t.Errorf("error %v, want that of the task", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Interleave(ctx, Rounds{}, a); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}

	slow := TaskFunc(func() { time.Sleep(2 * time.Millisecond) })
	got, err := Interleave(t.Context(), Rounds{Budget: 20 * time.Millisecond}, slow)
	if err != nil || got[0].Repeats < 1 || got[0].Repeats > 10 || got[0].Minimum < 0.002 {
		t.Errorf("in 20 ms a task of 2 ms ran %+v (%v)", got, err)
	}
}

// TestQuiet: the collector is as before afterwards.
func TestQuiet(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	restore := Quiet()
	if now := debug.SetGCPercent(-1); now != -1 {
		t.Errorf("while measuring the collector is set to %d", now)
	}
	restore()
	if now := debug.SetGCPercent(77); now != 77 {
		t.Errorf("afterwards the collector is set to %d, want 77", now)
	}
}

func TestSizes(t *testing.T) {
	caches := []cache{{Level: 1, Bytes: 48}, {Level: 2, Bytes: 2048}, {Level: 3, Bytes: 8192}}
	// Halves are 24, 1024 and 4096; of the steps of two from 48, 1536 and 3072 are
	// just far enough from these.
	want := []int{24, 48, 96, 192, 384, 768, 1024, 1536, 3072, 4096, 6144, 12288, 24576}
	if got := sizes(caches, 32768); !slices.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
	if got := sizes(caches, 30000); !slices.Equal(got, want[:len(want)-1]) {
		t.Errorf("sizes %v: the last is too near to the whole memory", got)
	}
	// Too little memory for the third level.
	if got := sizes(caches, 2000); !slices.Equal(got, []int{24, 48, 96, 192, 384, 768, 1024}) {
		t.Errorf("sizes %v", got)
	}
}

func TestMemoryBytes(t *testing.T) {
	caches, _ := dataCaches()
	last := caches[len(caches)-1].Bytes
	if got := MemoryBytes(1 << 40); got < leastMemory || got > largestMemory || (got < memoryFactor*last && got != largestMemory) {
		t.Errorf("%d bytes for a cache of %d", got, last)
	}
	if got := MemoryBytes(1000); got != 1000 {
		t.Errorf("%d bytes where 1000 are allowed", got)
	}
}

// TestRateAt: at the points the curve itself, between them the mean time per byte,
// and nothing slower than what is larger.
func TestRateAt(t *testing.T) {
	c := &Ceilings{
		Curve: []Point{{Bytes: 100, Rate: 40}, {Bytes: 400, Rate: 10}, {Bytes: 1600, Rate: 4}, {Bytes: 6400, Rate: 5}},
	}
	for bytes, want := range map[float64]float64{
		1: 40, 100: 40, 200: 2 / (1./40 + 1./10), 400: 10,
		1600: 5, 3000: 5, 6400: 5, 1e9: 5,
	} {
		if got := c.RateAt(bytes); math.Abs(got-want) > 1e-12*want {
			t.Errorf("%g bytes: %v GB/s, want %v", bytes, got, want)
		}
	}
}

// TestComputeRates: each rate is that of its own task, but for exponentials, which get the
// faster of two.
func TestComputeRates(t *testing.T) {
	for _, c := range []struct {
		seconds, perRun [4]float64
		want            Compute
	}{
		{[4]float64{1, 2, 3, 4}, [4]float64{10e9, 4e9, 6e9, 7e9}, Compute{10, 0.5, 0.5}},
		{[4]float64{4, 10, 6, 5}, [4]float64{80e9, 50e9, 60e9, 50e9}, Compute{20, 0.1, 0.1}},
	} {
		timings := numeric.Map(c.seconds[:], func(s float64) Timing { return Timing{Minimum: s, Median: 2 * s} })
		if got := computeRates(timings, c.perRun[:]); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// TestMeasure: every ceiling is a number. How large they are is not for a test to say.
func TestMeasure(t *testing.T) {
	c := oracle.Must(Measure(t.Context(), Rounds{Least: 2}, 4<<20))(t)
	positive := func(what string, x float64) {
		t.Helper()
		if !(x > 0) || math.IsInf(x, 0) {
			t.Errorf("%s is %v", what, x)
		}
	}
	positive("multiply-adds", c.Compute.FMA)
	positive("exp", c.Compute.Exp)
	positive("log", c.Compute.Log)
	for i, p := range c.Curve {
		positive("reading", p.Rate)
		if p.Bytes > 4<<20 || (i > 0 && p.Bytes <= c.Curve[i-1].Bytes) {
			t.Errorf("point %d of the curve is at %d bytes", i, p.Bytes)
		}
	}
	if len(c.Curve) < 2 {
		t.Errorf("%+v", c)
	}
}
