package ceilings

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"time"
)

// Ceilings are what one core of this machine can do at most: every rate is that of the best
// repetition.
type Ceilings struct {
	Compute Compute
	// Curve is the rate of reading by the size of what is read, ascending. The last is that of the main
	// memory.
	Curve []Point
}

// Compute are the rates of arithmetic, with the data in registers or in the first-level cache.
type Compute struct {
	// FMA is the peak of multiply-adds, in 10⁹ operations a second, of which each counts as two.
	FMA float64
	// Exp and Log are nanoseconds per element of the fastest vector kernels in use.
	Exp, Log float64
}

// Point is the rate at which an array of one size is read, again and again.
type Point struct {
	Bytes int
	Rate  float64 // 10⁹ bytes per second
}

// RateAt returns at how many GB/s one core reads what is read again and again and
// takes so many bytes in all: between two points of the curve the time per byte is
// interpolated over the logarithm of the size. The stated sizes of caches play no
// part in it: a virtual machine may own but a share of a cache.
func (c *Ceilings) RateAt(bytes float64) float64 {
	last := len(c.Curve) - 1
	i := sort.Search(last, func(i int) bool { return float64(c.Curve[i].Bytes) >= bytes })
	high := c.rateFrom(i)
	if i == 0 || float64(c.Curve[i].Bytes) <= bytes {
		return high
	}
	from, to := float64(c.Curve[i-1].Bytes), float64(c.Curve[i].Bytes)
	share := math.Log(bytes/from) / math.Log(to/from)
	return 1 / ((1-share)/c.rateFrom(i-1) + share/high)
}

// rateFrom returns the best rate of point i and all larger ones: a smaller array
// can be read as fast at least, whatever disturbed its measurement.
func (c *Ceilings) rateFrom(i int) float64 {
	return slices.MaxFunc(c.Curve[i:], func(a, b Point) int { return cmp.Compare(a.Rate, b.Rate) }).Rate
}

const (
	// cacheShare of a cache is what is read to measure it: half, so that nothing else
	// that lives there pushes a part of it out.
	cacheShare = 2
	// memoryFactor is how many times the largest cache is read to measure the main
	// memory: of an array four times as large next to nothing is left in the cache
	// when its reading begins anew.
	memoryFactor = 4
	// leastMemory and largestMemory bound that array: caches beyond a quarter of a
	// gigabyte belong to many cores, and one core does not fill them.
	leastMemory, largestMemory = 64 << 20, 1 << 30
	// portionBytes is read in one measurement of an array that is larger.
	portionBytes = 32 << 20
	// callBytes is read in one call: a call of assembly cannot be interrupted, and
	// must not hold the program up.
	callBytes = 1 << 20
	// callTime is about how long a measurement of something small is made to take, so
	// that the clock's resolution does not matter.
	callTime = 500 * time.Microsecond
)

// MemoryBytes returns how large an array is that, by the rule for the ceiling of
// the main memory, does not live in any cache, but at most so many bytes.
func MemoryBytes(most int64) int {
	caches, _ := dataCaches()
	want := min(largestMemory, max(leastMemory, memoryFactor*int64(caches[len(caches)-1].Bytes)))
	return int(min(want, most))
}

// Measure measures the ceilings, with no more than about mostMemory bytes.
func Measure(ctx context.Context, rounds Rounds, mostMemory int64) (*Ceilings, error) {
	caches, _ := dataCaches()
	tasks, perRun := computeTasks()
	memory := newBuffer(MemoryBytes(mostMemory))
	var readers []*reader
	for _, size := range sizes(caches, 8*len(memory)) {
		r := newReader(memory[:size/8])
		readers, tasks = append(readers, r), append(tasks, r)
	}
	whole := newWheel(memory)
	timings, err := Interleave(ctx, rounds, append(tasks, whole)...)
	if err != nil {
		return nil, err
	}
	c := &Ceilings{Compute: computeRates(timings, perRun)}
	point := func(data []float64, bytesPerRun float64, t Timing) {
		c.Curve = append(c.Curve, Point{8 * len(data), bytesPerRun / t.Minimum / giga})
	}
	for i, r := range readers {
		point(r.data, r.bytesPerRun, timings[len(perRun)+i])
	}
	point(whole.data, whole.bytesPerRun, timings[len(timings)-1])
	return c, nil
}

// giga is 10⁹: of bytes or operations per second, or nanoseconds in a second.
const giga = 1e9

// sizes returns the sizes of arrays to read below that of the whole memory,
// ascending: half of every cache, and steps of about two between and above them.
func sizes(caches []cache, memory int) []int {
	var list []int
	for _, cache := range caches {
		if half := cache.Bytes / cacheShare; half < memory {
			list = append(list, half)
		}
	}
	for between := caches[0].Bytes; between < memory; between *= 2 {
		near := func(x int) bool { return tooNear(x, between) }
		if !slices.ContainsFunc(list, near) && !near(memory) {
			list = append(list, between)
		}
	}
	slices.Sort(list)
	return list
}

// tooNear reports sizes so near each other that one will do.
func tooNear(a, b int) bool { return max(a, b) < min(a, b)+min(a, b)/3 }

// newBuffer returns about so many bytes of numbers, a whole number of steps. They
// are written to: memory that never was is one page of zeros, which the first
// level holds.
func newBuffer(bytes int) []float64 {
	data := make([]float64, max(bytes/8/readStep, 1)*readStep)
	for i := range data {
		data[i] = float64(i)
	}
	return data
}
