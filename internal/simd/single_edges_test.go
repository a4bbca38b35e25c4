package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// edgesCase32 is edgesCase in single precision.
type edgesCase32 struct {
	dst, tables                      []float32
	logZ, product, beliefs, messages []float64
	edges                            []Edge
	ku, kv                           int
	check                            func(what string)
}

func newEdgesCase32(t testing.TB, r *rand.Rand, n, ku, kv int) *edgesCase32 {
	c := &edgesCase32{ku: ku, kv: kv}
	beliefs, messages, tables := 1, 2, 3
	for range n {
		c.edges = append(c.edges, Edge{beliefs, messages, beliefs + ku, messages + ku + 1, tables})
		beliefs, messages, tables = beliefs+ku+kv, messages+ku+1+kv, tables+ku*kv
	}
	var checks []func(string)
	for _, s := range []struct {
		x *[]float64
		n int
	}{{&c.logZ, n}, {&c.product, n}, {&c.beliefs, beliefs}, {&c.messages, messages}} {
		x, check := guarded(t, s.n, r.IntN(8))
		fill(x, r, 3)
		*s.x, checks = x, append(checks, check)
	}
	for _, s := range []struct {
		x *[]float32
		n int
	}{{&c.dst, n * ku * kv}, {&c.tables, tables}} {
		x, check := guarded32(t, s.n, r.IntN(16))
		fillUniform32(x, r)
		*s.x, checks = x, append(checks, check)
	}
	c.check = func(what string) {
		for _, check := range checks {
			check(what)
		}
	}
	return c
}

func (c *edgesCase32) compute(with implementation) (done int) {
	return with.single.edgeBeliefs(c.dst, c.logZ, c.product, c.beliefs, c.messages, c.tables, c.edges, c.ku, c.kv)
}

// spoil puts something special into the q-th edge.
func (c *edgesCase32) spoil(r *rand.Rand, q, trial int) {
	e := &c.edges[q]
	beliefU, messageU := c.beliefs[e.BeliefU:][:c.ku], c.messages[e.MessageU:][:c.ku]
	beliefV, messageV := c.beliefs[e.BeliefV:][:c.kv], c.messages[e.MessageV:][:c.kv]
	table := c.tables[e.Table:][:c.ku*c.kv]
	i, j := r.IntN(c.ku), r.IntN(c.kv)
	infinity := math.Inf(1)
	switch trial {
	case 1:
		beliefU[i], beliefV[j] = -infinity, -infinity
	case 2:
		messageU[i], messageV[j] = -infinity, -infinity
	case 3:
		beliefU[i], messageU[i] = -infinity, -infinity
	case 4:
		for i := range beliefU {
			beliefU[i] = -infinity
		}
	case 5:
		beliefU[i] = math.NaN()
	case 6:
		messageV[j] = math.NaN()
	case 7:
		beliefV[j] = infinity
	case 8:
		table[r.IntN(len(table))] = float32(math.NaN())
	case 9:
		table[r.IntN(len(table))] = float32(infinity)
	case 10:
		clear(table)
	case 11:
		for i := range table {
			table[i] *= 1e-31
		}
	case 12:
		for i := range table {
			table[i] *= 1e36
		}
	case 13:
		for i := range beliefU {
			beliefU[i] += 1000
		}
	case 14:
		for i := range beliefU {
			beliefU[i] *= 100
		}
	case 15:
		for i := range table {
			if r.IntN(2) == 0 {
				table[i] = 0
			}
		}
	}
}

const edgeTrials32 = 16

// TestEdgeBeliefs32 holds beliefs against those of float64.
func TestEdgeBeliefs32(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(71, 72))
		worst := [3]float64{}
		try := func(n, ku, kv, trial int) {
			c := newEdgesCase32(t, r, n, ku, kv)
			for range min(n, 1+r.IntN(2)) {
				c.spoil(r, r.IntN(n), trial)
			}
			compareEdges32(t, fmt.Sprintf("%d edges of %d×%d, trial %d", n, ku, kv, trial), with, c, &worst)
		}
		for trial := range edgeTrials32 {
			for _, n := range []int{0, 1, 2, 7, 8, 9, 15, 16, 17, 25, 73, 140} {
				try(n, 8, 8, trial) // eight at a time, and in chunks of 64
			}
			for _, k := range statesTested32() {
				try(1, k, 1+r.IntN(70), trial)
				try(3, k, k, trial)
				try(9, 1+r.IntN(20), k, trial)
			}
			// As many as one chunk has of vectors of weights, and more.
			for _, shape := range [][2]int{{1, 1}, {3, 8}, {8, 3}, {9, 16}, {21, 21}} {
				try(73, shape[0], shape[1], trial)
			}
		}
		t.Logf("largest errors: beliefs %.2g (relative), log Z %.2g, product %.2g", worst[0], worst[1], worst[2])
	})
}

// compareEdges32 holds a kernel against float64: beliefs to 4e-7·(largest exponent
// among their factors, 1), log Z to 1e-6, the product to 1e-6 of the sum of the
// magnitudes of its terms.
func compareEdges32(t *testing.T, what string, with implementation, c *edgesCase32, worst *[3]float64) {
	t.Helper()
	size, largest := c.ku*c.kv, slices.Max(append(c.tables, 0))
	want, tables := 0, double(c.tables)
	dst, logZ, product := make([]float64, size), make([]float64, len(c.edges)), make([]float64, len(c.edges))
	beliefs := make([]float64, size*len(c.edges))
	for ; want < len(c.edges); want++ {
		e := &c.edges[want]
		if _, _, safe := plainEdgeBelief32(make([]float32, size), c.beliefs, c.messages, c.tables, e, c.ku, c.kv); !safe {
			break
		}
		beliefU, messageU, beliefV, messageV, values := e.slices(c.beliefs, c.messages, tables, c.ku, c.kv)
		z, p, safe := plainEdgeBelief(dst, beliefU, messageU, beliefV, messageV, values)
		if !safe {
			t.Fatalf("%s: edge %d is safe in single precision only", what, want)
		}
		logZ[want], product[want] = z, p
		copy(beliefs[want*size:], dst)
	}
	if done := c.compute(with); done != want {
		t.Fatalf("%s: %d done, want %d", what, done, want)
	}
	c.check(what)
	for q := range want {
		for i, b := range beliefs[q*size:][:size] {
			got := float64(c.dst[q*size+i])
			error := math.Abs(got - b)
			if b > 1e-30 && largest < 1e30 {
				worst[0] = max(worst[0], error/b)
			}
			// Next to a total of 1e36, which a table of Exponentials32 cannot have, small
			// weights become denormal.
			if !(error <= 1e-5*b+1e-36) && !(largest > 1e30 && error <= 1e-9) {
				t.Fatalf("%s, edge %d: entry %d is %v, want %v", what, q, i, got, b)
			}
		}
		scale := max(1, math.Abs(product[q])/10)
		worst[1], worst[2] = max(worst[1], math.Abs(c.logZ[q]-logZ[q])), max(worst[2], math.Abs(c.product[q]-product[q])/scale)
		if !(math.Abs(c.logZ[q]-logZ[q]) <= 1e-6) || !(math.Abs(c.product[q]-product[q]) <= 4e-6*scale) {
			t.Fatalf("%s, edge %d: log Z %v, product %v, want %v, %v", what, q, c.logZ[q], c.product[q], logZ[q], product[q])
		}
	}
}

// TestEdgeBeliefsOutside32: an offset outside of its slice panics.
func TestEdgeBeliefsOutside32(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(73, 74))
		for _, k := range []int{3, 8} {
			for field := range 5 {
				for _, beyond := range []int{-1, 1, math.MaxInt / 2, math.MinInt} {
					c := newEdgesCase32(t, r, 10, k, k)
					e := &c.edges[2]
					offset := []*int{&e.BeliefU, &e.MessageU, &e.BeliefV, &e.MessageV, &e.Table}[field]
					limit := []int{len(c.beliefs) - k, len(c.messages) - k, len(c.beliefs) - k, len(c.messages) - k, len(c.tables) - k*k}[field]
					if *offset = beyond; beyond == 1 {
						*offset = limit + 1
					}
					func() {
						defer func() {
							if recover() == nil {
								t.Errorf("k=%d: field %d may be %d", k, field, *offset)
							}
						}()
						c.compute(with)
					}()
				}
			}
		}
	})
}
