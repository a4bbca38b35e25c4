package ceilings

import (
	"math/rand/v2"
	"time"

	"github.com/blockbp/blockbp/internal/simd"
)

// elements of the arrays whose exponentials and logarithms are timed: source and
// result fit the first-level cache together.
const elements = 1024

// computeTasks returns the tasks that measure arithmetic, and how many units, such
// as operations or elements, one run of each has: multiply-adds, exponentials,
// logarithms, and exponentials of tables.
func computeTasks() (tasks []Task, perRun []float64) {
	negative, positive, out := make([]float64, elements), make([]float64, elements), make([]float64, elements)
	rng := rand.New(rand.NewPCG(2, 1))
	for i := range negative {
		// As in messages: differences to a largest logarithm, and sums up to the number
		// of states.
		negative[i], positive[i] = -20*rng.Float64(), 1e-3+10*rng.Float64()
	}
	again := func(call func()) func(n int) {
		return func(n int) {
			for range n {
				call()
			}
		}
	}
	for _, unit := range []struct {
		work  float64 // of one call with n = 1
		start int
		call  func(n int)
	}{
		// acc ← acc/2 + 1 goes to 2: no overflow, nothing denormal.
		{2 * float64(active.entries), 1000, func(n int) { active.multiplyAdd(n, 0.5, 1) }},
		{elements, 1, again(func() { simd.Exp(out, negative) })},
		{elements, 1, again(func() { simd.Log(out, positive) })},
		{elements, 1, again(func() { simd.Exponentials(out, negative, 0.3) })},
	} {
		n := calibrate(unit.start, unit.call)
		tasks = append(tasks, TaskFunc(func() { unit.call(n) }))
		perRun = append(perRun, unit.work*float64(n))
	}
	return tasks, perRun
}

// calibrate doubles n until call(n) takes about callTime.
func calibrate(n int, call func(n int)) int {
	for {
		started := time.Now()
		call(n)
		if time.Since(started) >= callTime {
			return n
		}
		n *= 2
	}
}

// computeRates turns the timings of computeTasks into rates, with the faster of the two
// kernels for exponentials: a ceiling that the program beats is none.
func computeRates(t []Timing, perRun []float64) Compute {
	exp, tables := 1, 3
	if t[tables].Minimum*perRun[exp] < t[exp].Minimum*perRun[tables] {
		exp = tables
	}
	return Compute{
		FMA: perRun[0] / t[0].Minimum / giga,
		Exp: giga * t[exp].Minimum / perRun[exp],
		Log: giga * t[2].Minimum / perRun[2],
	}
}
