package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// Edge is where the parts of an edge are.
type Edge struct{ BeliefU, MessageU, BeliefV, MessageV, Table int }

// edgesCase is some edges, laid out with gaps.
type edgesCase struct {
	dst, logZ, product, beliefs, messages, tables []float64
	edges                                         []Edge
	ku, kv                                        int
	check                                         func(what string)
}

func newEdgesCase(t testing.TB, r *rand.Rand, n, ku, kv int) edgesCase {
	c := edgesCase{ku: ku, kv: kv}
	beliefs, messages, tables := 1, 2, 3
	for range n {
		c.edges = append(c.edges, Edge{beliefs, messages, beliefs + ku, messages + ku + 1, tables})
		beliefs, messages, tables = beliefs+ku+kv, messages+ku+1+kv, tables+ku*kv
	}
	var checks []func(string)
	for _, s := range []struct {
		x *[]float64
		n int
	}{{&c.dst, n * ku * kv}, {&c.logZ, n}, {&c.product, n}, {&c.beliefs, beliefs}, {&c.messages, messages}, {&c.tables, tables}} {
		x, check := guarded(t, s.n, r.IntN(8))
		fill(x, r, 3)
		*s.x, checks = x, append(checks, check)
	}
	fillUniform(c.tables, r)
	c.check = func(what string) {
		for _, check := range checks {
			check(what)
		}
	}
	return c
}

// edge returns the q-th edge as a case of its own.
func (c edgesCase) edge(q int) edgeCase {
	e := c.edges[q]
	return edgeCase{slices: [5][]float64{c.beliefs[e.BeliefU:][:c.ku], c.messages[e.MessageU:][:c.ku],
		c.beliefs[e.BeliefV:][:c.kv], c.messages[e.MessageV:][:c.kv], c.tables[e.Table:][:c.ku*c.kv]}}
}

func (c edgesCase) compute(with implementation) (done int) {
	before := active
	active = with
	defer func() { active = before }()
	return c.write(&Edges{})
}

func (c edgesCase) write(to *Edges) (done int) {
	put(to, c.edges, c.ku, c.kv)
	at := make([]int, len(c.edges))
	for q, e := range c.edges {
		at[q] = e.Table
	}
	return to.WriteBeliefs(c.dst, c.logZ, c.product, c.beliefs, c.messages, c.tables, at)
}

// put puts edges on the list of to.
func put(to *Edges, edges []Edge, ku, kv int) {
	var beliefAt, messageAt []int
	for _, e := range edges {
		beliefAt, messageAt = append(beliefAt, e.BeliefU, e.BeliefV), append(messageAt, e.MessageV, e.MessageU)
	}
	to.Begin(len(edges), ku, kv, beliefAt, messageAt)
	for q := range int32(len(edges)) {
		to.Add(q, 2*q, 2*q+1)
	}
}

func TestEdgeBeliefs(t *testing.T) {
	oracle.Long(t)
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(51, 52))
		try := func(n, ku, kv, trial int) {
			c := newEdgesCase(t, r, n, ku, kv)
			for range min(n, 1+r.IntN(2)) {
				c.edge(r.IntN(n)).spoil(r, trial%edgeTrials)
			}
			compareEdges(t, fmt.Sprintf("%d edges of %d×%d, trial %d", n, ku, kv, trial), with, c)
		}
		for trial := range 2 * edgeTrials {
			for _, shape := range [][2]int{{1, 1}, {2, 2}, {3, 8}, {8, 3}, {8, 8}, {9, 8}, {21, 16}} {
				for n := range 14 {
					try(n, shape[0], shape[1], trial)
				}
			}
			// More than one chunk has.
			for _, shape := range [][2]int{{2, 2}, {8, 8}, {5, 12}} {
				try(70, shape[0], shape[1], trial)
			}
			for k := range 66 {
				try(2, k+1, 1+r.IntN(20), trial)
				try(4+r.IntN(6), 1+r.IntN(24), k+1, trial) // in groups, if they are small
			}
		}
	})
}

// compareEdges holds a kernel against edges written out by hand.
func compareEdges(t *testing.T, what string, with implementation, c edgesCase) {
	t.Helper()
	want, size := 0, c.ku*c.kv
	for ; want < len(c.edges); want++ {
		s := c.edge(want).slices
		if _, logZ, _ := longhandEdge(s[0], s[1], s[2], s[3], s[4]); !(math.Abs(logZ) <= -math.Log(TooSmall)) {
			break
		}
	}
	oracle.MustEqual(t, c.compute(with), want, "%s: done", what)
	c.check(what)
	for q := range want {
		s := c.edge(q).slices
		dst, logZ, product := longhandEdge(s[0], s[1], s[2], s[3], s[4])
		compare(t, fmt.Sprintf("%s, edge %d", what, q), c.dst[q*size:][:size], dst, 1e-12, 1e-300)
		compare(t, fmt.Sprintf("%s, edge %d, log Z and product", what, q), []float64{c.logZ[q], c.product[q]}, []float64{logZ, product}, 1e-14, 3e-13)
	}
}

// longhandEdge computes what EdgeBeliefs says, by logarithms and entry by entry.
func longhandEdge(beliefU, messageU, beliefV, messageV, values []float64) (dst []float64, logZ, product float64) {
	left, right := make([]float64, len(beliefU)), make([]float64, len(beliefV))
	plainCavity(left, beliefU, messageU)
	plainCavity(right, beliefV, messageV)
	k := len(right)
	dst = make([]float64, len(left)*k)
	// Taken out first: next to a shift of 1e5 the rest would lose its last digits.
	shiftLeft, shiftRight := Max(left), Max(right)
	largest := negativeInfinity
	for i, a := range left {
		for j, c := range right {
			dst[i*k+j] = (a - shiftLeft) + (c - shiftRight) + math.Log(values[i*k+j])
			largest = max(largest, dst[i*k+j])
		}
	}
	total := 0.0
	for i, x := range dst {
		dst[i] = math.Exp(x - largest)
		total += dst[i]
	}
	for i, a := range left {
		for j, c := range right {
			dst[i*k+j] /= total
			if dst[i*k+j] > 0 {
				product += dst[i*k+j] * ((a - shiftLeft) + (c - shiftRight))
			}
		}
	}
	shift := shiftLeft + shiftRight
	return dst, largest + math.Log(total) + shift, product + shift
}

// edgeCase is what an edge is computed from.
type edgeCase struct{ slices [5][]float64 }

// spoil makes the case special in the way of the trial.
func (c edgeCase) spoil(r *rand.Rand, trial int) {
	beliefU, messageU, beliefV, messageV, values := c.slices[0], c.slices[1], c.slices[2], c.slices[3], c.slices[4]
	inf := math.Inf(-1)
	i, j := r.IntN(len(beliefU)), r.IntN(len(beliefV))
	switch trial {
	case 1: // forbidden on one side and on both
		beliefU[i] = inf
		beliefV[j], messageV[j] = inf, inf
		messageU[r.IntN(len(beliefU))] = inf
	case 2: // zeros of the table
		values[r.IntN(len(values))] = 0
		values[r.IntN(len(values))] = 0
	case 3: // next to impossible
		beliefU[i], beliefV[j] = -2000, -1e300
	case 4:
		beliefU[i] = math.NaN()
	case 5:
		messageV[j] = math.NaN()
	case 6:
		values[r.IntN(len(values))] = math.NaN()
	case 7:
		values[r.IntN(len(values))] = -inf
	case 8:
		for i := range beliefU {
			beliefU[i] = inf
		}
	case 9:
		for i := range messageV {
			messageV[i] = inf
		}
	case 10:
		beliefV[j] = -inf
	case 11: // all mass too small
		for i := range values {
			values[i] = 1e-295
		}
	case 12: // large shifts
		for i := range beliefU {
			beliefU[i] -= 1e5
		}
	case 13:
		messageU[i] = -inf
	}
}

const edgeTrials = 14
