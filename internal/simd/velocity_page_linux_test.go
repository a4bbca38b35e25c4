package simd

import (
	"math/rand/v2"
	"testing"
)

// TestVelocityPageEnds runs the kernels for velocities with every slice at an edge of
// what can be touched: another read or write ends the test with a fault.
func TestVelocityPageEnds(t *testing.T) {
	var free []*pages
	for range 10 {
		free = append(free, newPages(t, 10))
	}
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(83, 1))
		for i := range 400 {
			c := newCarried(t, r, 1+r.IntN(20), 1+r.IntN(8))
			atEnd := i%4 > 0
			before := make([]float64, len(c.in)*c.k+Padding)
			for j, s := range []*[]float64{&c.beliefs, &c.messages, &c.rho, &before} {
				moveTo(free[j], s, atEnd)
			}
			for j, s := range []*[]int32{&c.nodes, &c.order, &c.inStart, &c.in} {
				moveTo(free[4+j], s, atEnd)
			}
			moveTo(free[8], &c.velocity, atEnd)
			c.carry(with)
			with.remember(before, c.messages, c.velocity, c.in, c.k, c.factor)
			exact := before[:len(c.in)*c.k]
			moveTo(free[9], &exact, atEnd)
			with.measure(exact, c.messages, c.velocity, c.in, c.k)
		}
	})
}
