package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestVelocity holds the kernels against loops written out, with hard zeros and
// changes that are too large.
func TestVelocity(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(81, 1))
		for _, k := range batchStates {
			for _, n := range []int{0, 1, 2, 7} {
				what := fmt.Sprintf("k=%d, %d messages", k, n)
				messages, checkMessages := guarded(t, 10*k, r.IntN(8))
				before, checkBefore := guarded(t, n*k+Padding, r.IntN(8))
				velocity, checkVelocity := guarded32(t, 10*k, r.IntN(8))
				fill(messages, r, 2)
				spoil(messages, r, -infinity, 1e3, nan)
				fill32(velocity, r, 1)
				in := make([]int32, n)
				for i, d := range r.Perm(10)[:n] {
					in[i] = int32(d)
				}
				factor := r.Float64()
				with.remember(before, messages, velocity, in, k, factor)
				want, wantVelocity := make([]float64, n*k), append([]float32{}, velocity...)
				product, square := 0.0, 0.0
				for i, d := range in {
					for x := range k {
						want[i*k+x] = messages[int(d)*k+x] - factor*float64(velocity[int(d)*k+x])
					}
				}
				compare(t, what+", before", before, want, 1e-15, 1e-15)
				for i := range messages {
					messages[i] += r.NormFloat64()
				}
				spoil(messages, r, -infinity, 99, 101)
				for i, d := range in {
					for x := range k {
						j := int(d)*k + x
						change := messages[j] - before[i*k+x]
						if !(change < 100 && change > -100) {
							change = 0
						}
						product += change * float64(velocity[j])
						square += change * change
						wantVelocity[j] = float32(change)
					}
				}
				gotProduct, gotSquare := with.measure(before, messages, velocity, in, k)
				if !same(gotProduct, product, 1e-12, 1e-9) || !same(gotSquare, square, 1e-12, 1e-12) {
					t.Fatalf("%s: %v and %v, want %v and %v", what, gotProduct, gotSquare, product, square)
				}
				for j, v := range wantVelocity {
					if velocity[j] != v {
						t.Fatalf("%s: velocity %d is %v, want %v", what, j, velocity[j], v)
					}
				}
				checkMessages(what)
				checkBefore(what)
				checkVelocity(what)
			}
		}
	})
}

// carried is a case for Carry: some of the nodes of a block, with messages into them.
type carried struct {
	beliefs, messages, rho      []float64
	velocity                    []float32
	nodes, order, inStart, in   []int32
	k                           int
	factor, count               float64
	checkBeliefs, checkMessages func(what string)
}

// newCarried draws nodes with 0 to 5 messages each.
func newCarried(t *testing.T, r *rand.Rand, k, nodes int) *carried {
	c := &carried{k: k, factor: r.Float64(), count: 0.2 + r.Float64()}
	c.beliefs, c.checkBeliefs = guarded(t, (nodes+3)*k, r.IntN(8))
	c.inStart = []int32{int32(r.IntN(4))}
	for i := range nodes {
		c.inStart = append(c.inStart, c.inStart[i]+int32(r.IntN(6)))
	}
	numIn := int(c.inStart[nodes] - c.inStart[0])
	c.messages, c.checkMessages = guarded(t, (numIn+2)*k, r.IntN(8))
	c.velocity, c.rho = make([]float32, len(c.messages)), make([]float64, nodes+3)
	fill(c.beliefs, r, 2)
	fill(c.messages, r, 2)
	spoil(c.messages, r, -infinity, 1e3, nan)
	fill32(c.velocity, r, 1)
	for i := range c.rho {
		c.rho[i] = 0.5 + r.Float64()
	}
	for _, s := range r.Perm(nodes + 3)[:nodes] {
		c.nodes = append(c.nodes, int32(s))
	}
	for _, p := range r.Perm(nodes) {
		c.order = append(c.order, int32(p))
	}
	for _, d := range r.Perm(numIn + 2)[:numIn] {
		c.in = append(c.in, int32(d))
	}
	return c
}

func (c *carried) carry(with implementation) {
	with.carry(c.beliefs, c.messages, c.velocity, c.nodes, c.order, c.inStart, c.in, c.rho, c.k, c.factor, c.count)
}

// TestCarry holds the kernels against a loop written out over the list of messages.
func TestCarry(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(82, 1))
		for _, k := range batchStates {
			for _, nodes := range []int{0, 1, 2, 9} {
				c := newCarried(t, r, k, nodes)
				what := fmt.Sprintf("k=%d, %d nodes", k, nodes)
				messages, beliefs := append([]float64{}, c.messages...), append([]float64{}, c.beliefs...)
				node := 0
				for i, d := range c.in {
					for int(c.inStart[node+1]-c.inStart[0]) <= i {
						node++
					}
					s := int(c.nodes[c.order[node]])
					for x := range k {
						change := c.factor * float64(c.velocity[int(d)*k+x])
						messages[int(d)*k+x] += change
						beliefs[s*k+x] += c.count / c.rho[s] * change
					}
				}
				c.carry(with)
				compare(t, what+", messages", c.messages, messages, 1e-15, 1e-15)
				compare(t, what+", beliefs", c.beliefs, beliefs, 1e-14, 1e-14)
				c.checkMessages(what)
				c.checkBeliefs(what)
			}
		}
	})
}
