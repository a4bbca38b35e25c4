package linear

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestCoupling: every function of the states of an edge is the sum of its answers and a rest,
// which has no covariance with functions of one end; S is the identity along √τ.
func TestCoupling(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 31))
	for _, sizes := range [][2]int{{1, 1}, {2, 2}, {3, 5}, {8, 8}} {
		var c Coupling
		c.Resize(sizes[0], sizes[1])
		for i := range c.Belief {
			c.Belief[i] = math.Exp(2 * rng.NormFloat64())
		}
		total := numeric.Sum(c.Belief)
		for i := range c.Belief {
			c.Belief[i] /= total
		}
		c.Sum()
		for x, p := range c.Sums {
			c.Root[x] = math.Sqrt(p)
		}
		if !c.Invert(0) {
			t.Fatalf("%v: no inverse", sizes)
		}
		c.Divide()
		k := c.KU + c.KV
		for n := range c.Belief {
			sums := make([]float64, k)
			for m, x := range c.Rest(n) {
				sums[m/c.KV] += x
				sums[c.KU+m%c.KV] += x
			}
			for x, sum := range sums {
				if math.Abs(sum) > 1e-8 {
					t.Fatalf("%v: the rest of joint state %d has the covariance %v with state %d", sizes, n, sum, x)
				}
			}
			one, answer := make([]float64, len(c.Belief)), make([]float64, k)
			one[n] = 1
			c.Project(answer, one)
			for x, a := range c.Parts[n*k:][:k] {
				oracle.MustNear(t, a, answer[x], 1e-8, "%v: answer to state %d", sizes, n)
			}
		}
		s := make([]float64, k*k)
		c.Respond(s)
		for i := range k {
			if sum := dotShort(s[i*k:][:c.KU], c.Root); i < c.KU && math.Abs(sum-c.Root[i]) > 1e-12 {
				t.Fatalf("%v: S √τ is %v, want %v", sizes, sum, c.Root[i])
			}
		}
	}
}
