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
				share := r.Float64()
				belief, checkBelief := guarded(t, k, r.IntN(8))
				fill(belief, r, 2)
				carried, carriedBelief := append([]float64{}, messages...), append([]float64{}, belief...)
				for _, d := range in {
					for x := range k {
						change := share * float64(velocity[int(d)*k+x])
						carried[int(d)*k+x] += change
						carriedBelief[x] += 0.3 * change
					}
				}
				with.carry(belief, messages, velocity, in, k, share, 0.3)
				compare(t, what+", carried", messages, carried, 1e-15, 1e-15)
				compare(t, what+", belief", belief, carriedBelief, 1e-14, 1e-14)
				checkBelief(what)
				with.remember(before, messages, velocity, in, k, share)
				want, wantVelocity := make([]float64, n*k), append([]float32{}, velocity...)
				product, square := 0.0, 0.0
				for i, d := range in {
					for x := range k {
						want[i*k+x] = messages[int(d)*k+x] - share*float64(velocity[int(d)*k+x])
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
