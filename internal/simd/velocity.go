package simd

import "math"

// MostVelocity is the largest change of an entry that Measure takes for a velocity.
const MostVelocity = 100

// Remember writes messages[d*k+x] − share·velocity[d*k+x] of the messages d in list in,
// of k entries each, one behind the other to before, which has room for Padding more.
func Remember(before, messages []float64, velocity []float32, in []int32, k int, share float64) {
	active.remember(before[:len(in)*k+Padding], messages, velocity, in, k, share)
}

// Measure replaces the velocities of the messages by their changes since before, or by
// 0 where a change is not below MostVelocity, and returns Σ new·old and Σ new².
func Measure(before, messages []float64, velocity []float32, in []int32, k int) (product, square float64) {
	return active.measure(before[:len(in)*k], messages, velocity, in, k)
}

// Carry moves the messages d in list in, of k entries each and all into one node, on by
// share times their velocities, and the belief [k] of the node by toBelief times as much.
func Carry(belief, messages []float64, velocity []float32, in []int32, k int, share, toBelief float64) {
	active.carry(belief[:k], messages, velocity, in, k, share, toBelief)
}

func plainCarry(belief, messages []float64, velocity []float32, in []int32, k int, share, toBelief float64) {
	for _, d := range in {
		m, v, b := messages[int(d)*k:][:k], velocity[int(d)*k:][:k], belief[:k]
		for x := range b {
			change := share * float64(v[x])
			m[x] += change
			b[x] += toBelief * change
		}
	}
}

func plainRemember(before, messages []float64, velocity []float32, in []int32, k int, share float64) {
	for i, d := range in {
		m, v, b := messages[int(d)*k:][:k], velocity[int(d)*k:][:k], before[i*k:][:k]
		for x := range b {
			b[x] = m[x] - share*float64(v[x])
		}
	}
}

func plainMeasure(before, messages []float64, velocity []float32, in []int32, k int) (product, square float64) {
	for i, d := range in {
		m, v, b := messages[int(d)*k:][:k], velocity[int(d)*k:][:k], before[i*k:][:k]
		for x, old := range b {
			change := m[x] - old
			if !(math.Abs(change) < MostVelocity) {
				change = 0
			}
			product += change * float64(v[x])
			square += change * change
			v[x] = float32(change)
		}
	}
	return product, square
}
