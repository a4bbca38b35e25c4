package simd

import "math"

// MostVelocity is the largest change of an entry that Measure takes for a velocity.
const MostVelocity = 100

// Remember writes messages[d*k+x] − factor·velocity[d*k+x] of the messages d in list in,
// of k entries each, one behind the other to before, which has room for Padding more.
func Remember(before, messages []float64, velocity []float32, in []int32, k int, factor float64) {
	active.remember(before[:len(in)*k+Padding], messages, velocity, in, k, factor)
}

// Measure replaces the velocities of the messages by their changes since before, or by
// 0 where a change is not below MostVelocity, and returns Σ new·old and Σ new².
func Measure(before, messages []float64, velocity []float32, in []int32, k int) (product, square float64) {
	return active.measure(before[:len(in)*k], messages, velocity, in, k)
}

// Carry moves the messages into some nodes of k states each on by factor times their
// velocities, and the beliefs of these nodes by count/ρ times as much. The i-th node is
// nodes[order[i]], with its belief from there times k on in beliefs and its ρ there in
// rho; the messages into it are those from inStart[i] to before inStart[i+1] in in, which
// begins with the first node's. Offsets are not checked.
func Carry(beliefs, messages []float64, velocity []float32, nodes, order, inStart, in []int32, rho []float64, k int, factor, count float64) {
	active.carry(beliefs, messages, velocity, nodes, order, inStart[:len(order)+1], in, rho, k, factor, count)
}

func plainCarry(beliefs, messages []float64, velocity []float32, nodes, order, inStart, in []int32, rho []float64, k int, factor, count float64) {
	for i, p := range order {
		s := int(nodes[p])
		b, toBelief := beliefs[s*k:][:k], count/rho[s]
		for _, d := range in[inStart[i]-inStart[0] : inStart[i+1]-inStart[0]] {
			m, v := messages[int(d)*k:][:k], velocity[int(d)*k:][:k]
			for x := range b {
				change := factor * float64(v[x])
				m[x] += change
				b[x] += toBelief * change
			}
		}
	}
}

func plainRemember(before, messages []float64, velocity []float32, in []int32, k int, factor float64) {
	for i, d := range in {
		m, v, b := messages[int(d)*k:][:k], velocity[int(d)*k:][:k], before[i*k:][:k]
		for x := range b {
			b[x] = m[x] - factor*float64(v[x])
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
