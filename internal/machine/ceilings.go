package machine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"time"
)

// Ceilings are what one core of this machine can do at most. Every rate is that of
// the best repetition; the Median beside it tells how disturbed the machine was.
type Ceilings struct {
	// Kernels names the implementation that measured: avx512, avx2 or plain.
	Kernels string  `json:"kernels"`
	Compute Compute `json:"compute"`
	// Memory are the levels of memory, the nearest first. The last is the main
	// memory.
	Memory []Memory `json:"memory"`
	// Curve is the rate of reading by the size of what is read, ascending.
	Curve []Point `json:"curve"`
	// CachesKnown is false where the system does not tell the sizes of its caches and
	// usual ones are assumed.
	CachesKnown bool `json:"caches_known"`
}

// Compute are the rates of arithmetic, with the data in registers or in the first-level
// cache.
type Compute struct {
	// FMA is the peak of multiply-adds, each of which counts as two operations.
	FMA       float64 `json:"fma_gflops"`
	FMAMedian float64 `json:"fma_gflops_median"`
	// Exp and Log are nanoseconds per element of the fastest vector kernels in use.
	Exp       float64 `json:"exp_ns"`
	ExpMedian float64 `json:"exp_ns_median"`
	Log       float64 `json:"log_ns"`
	LogMedian float64 `json:"log_ns_median"`
}

// Memory is how fast one core reads from a level of memory.
type Memory struct {
	Level string `json:"level"` // L1, L2, … and DRAM
	// CacheBytes is the size of the cache, 0 for DRAM.
	CacheBytes int `json:"cache_bytes,omitempty"`
	Point
	// AllCores is the rate of all cores together, each with a part of the array; only
	// for DRAM, which they share.
	AllCores float64 `json:"gb_per_s_all_cores,omitempty"`
}

// Point is the rate at which an array of one size is read, again and again.
type Point struct {
	Bytes      int     `json:"buffer_bytes"`
	Rate       float64 `json:"gb_per_s"` // 10⁹ bytes per second
	RateMedian float64 `json:"gb_per_s_median"`
}

// DRAM is the last level of Ceilings.Memory.
const DRAM = "DRAM"

// Level names the level in which so many bytes stay from one use to the next: the
// nearest cache that holds them, else DRAM.
func (c *Ceilings) Level(bytes float64) string {
	for _, m := range c.Memory {
		if m.CacheBytes > 0 && bytes <= float64(m.CacheBytes) {
			return m.Level
		}
	}
	return DRAM
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
	caches, _ := Caches()
	want := min(largestMemory, max(leastMemory, memoryFactor*int64(caches[len(caches)-1].Bytes)))
	return int(min(want, most))
}

// Measure measures the ceilings, with no more than about mostMemory bytes.
func Measure(ctx context.Context, rounds Rounds, mostMemory int64) (*Ceilings, error) {
	caches, known := Caches()
	c := &Ceilings{Kernels: active.name, CachesKnown: known}
	tasks, perRun := computeTasks()
	memory := newBuffer(MemoryBytes(mostMemory))
	var readers []*reader
	for _, size := range sizes(caches, 8*len(memory)) {
		r := newReader(memory[:size/8])
		readers, tasks = append(readers, r), append(tasks, r)
	}
	one, all := newWheel(memory), newTeam(memory, runtime.GOMAXPROCS(0))
	timings, err := Interleave(ctx, rounds, append(tasks, one, all)...)
	if err != nil {
		return nil, err
	}
	c.Compute = computeRates(timings, perRun)
	for i, r := range readers {
		c.Curve = append(c.Curve, point(8*len(r.data), r.bytesPerRun, timings[len(perRun)+i]))
	}
	last := len(timings) - 1
	c.Curve = append(c.Curve, point(8*len(one.data), one.bytesPerRun, timings[last-1]))
	c.pickLevels(caches)
	c.Memory[len(c.Memory)-1].AllCores = all.bytesPerRun / timings[last].Minimum / giga
	return c, nil
}

// point makes a point of the curve of a timing.
func point(bytes int, bytesPerRun float64, t Timing) Point {
	return Point{bytes, bytesPerRun / t.Minimum / giga, bytesPerRun / t.Median / giga}
}

// giga is 10⁹: of bytes or operations per second, or nanoseconds in a second.
const giga = 1e9

// sizes returns the sizes of arrays to read below that of the whole memory,
// ascending: half of every cache, and steps of about two between and above them.
func sizes(caches []Cache, memory int) []int {
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

// pickLevels takes the levels' rates from the curve: at half of each cache, and at
// the largest array.
func (c *Ceilings) pickLevels(caches []Cache) {
	for _, cache := range caches {
		nearest := c.Curve[0]
		for _, p := range c.Curve {
			if p.Bytes <= cache.Bytes/cacheShare {
				nearest = p
			}
		}
		c.Memory = append(c.Memory, Memory{Level: fmt.Sprintf("L%d", cache.Level), CacheBytes: cache.Bytes, Point: nearest})
	}
	c.Memory = append(c.Memory, Memory{Level: DRAM, Point: c.Curve[len(c.Curve)-1]})
}

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
