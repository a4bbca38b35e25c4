package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// regularCase is a Regular and the same as a batch, which plain Go can do.
type regularCase struct {
	u     *Regular
	list  []Message
	nodes []Node
	check func(what string)
}

// newRegular makes a network of random directed edges into some of its nodes.
func newRegular(t testing.TB, r *rand.Rand, k, visited, degree int, damping float64) *regularCase {
	numNodes := visited + 3
	c := &regularCase{u: &Regular{States: k, Damping: damping, InStart: []int32{0}, Far: r.IntN(2)}}
	u := c.u
	for _, s := range r.Perm(numNodes)[:visited] {
		u.Nodes = append(u.Nodes, int32(s))
	}
	var edges int
	for _, p := range r.Perm(visited) {
		u.Order = append(u.Order, int32(p))
		for range r.IntN(degree + 1) {
			u.In, u.InEdge = append(u.In, int32(2*edges+r.IntN(2))), append(u.InEdge, int32(edges))
			u.InSource = append(u.InSource, int32(r.IntN(numNodes)))
			edges++
		}
		u.InStart = append(u.InStart, int32(len(u.In)))
	}
	tables := make([]int, edges)
	for i := range tables {
		tables[i] = k * k
	}
	at, numTables := scatter(r, tables)
	u.At = at
	var checks []func(string)
	for _, s := range []struct {
		x *[]float64
		n int
	}{
		{&u.Beliefs, numNodes * k}, {&u.Messages, 2 * edges * k}, {&u.Tables, numTables}, {&u.Potentials, visited * k},
		{&u.Rows, 8 * (edges + RegularPadding)}, {&u.Sums, 8 * (visited + RegularPadding)}, {&u.Totals, visited + RegularPadding},
	} {
		x, check := guarded(t, s.n, r.IntN(8))
		fill(x, r, 3)
		*s.x, checks = x, append(checks, check)
	}
	fillUniform(u.Tables, r)
	if u.Rho = []float64{0.3 + r.Float64()}; r.IntN(2) == 0 {
		u.PerEdge, u.Rho = -1, nil
		for range edges {
			u.Rho = append(u.Rho, 0.3+r.Float64())
		}
	}
	for range numNodes {
		u.RhoNode = append(u.RhoNode, 0.3+r.Float64())
	}
	c.listAll()
	c.check = func(what string) {
		t.Helper()
		for _, check := range checks {
			check(what)
		}
	}
	return c
}

// listAll lists nodes and messages for the kernels of a batch.
func (c *regularCase) listAll() {
	u, k := c.u, c.u.States
	for i, p := range u.Order {
		s := u.Nodes[p]
		c.nodes = append(c.nodes, Node{Belief: int(s) * k, Inverse: 1 / u.RhoNode[s], Sum: int32(i * k), States: int32(k)})
		for m := u.InStart[i]; m < u.InStart[i+1]; m++ {
			d := u.In[m]
			c.list = append(c.list, Message{
				Belief: int(u.InSource[m]) * k, Reverse: int(d^1) * k, Old: int(d) * k, Table: u.At[u.InEdge[m]],
				Rho: u.Rho[int(d>>1)&u.PerEdge], Weight: m * int32(k), Out: m * int32(k), Sum: int32(i * k),
				Source: int32(k), Target: int32(k), Backward: d & 1,
			})
		}
	}
}

// rows returns the first k entries of each of n rows of eight.
func rows(x []float64, n, k int) (list []float64) {
	for i := range n {
		list = append(list, x[8*i:][:k]...)
	}
	return list
}

// eachRegular runs a test on networks with every number of states that there are
// kernels for.
func eachRegular(t *testing.T, seed uint64, test func(t *testing.T, what string, with regular, r *rand.Rand, c *regularCase)) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(seed, 1))
		for k := 1; k <= with.regular.states; k++ {
			for i := range 60 {
				damping := []float64{0, 0.4}[i%2]
				c := newRegular(t, r, k, 1+r.IntN(12), 6, damping)
				if len(c.list) > 0 {
					test(t, fmt.Sprintf("k=%d case %d damping %v", k, i, damping), with.regular, r, c)
				}
			}
		}
	})
}

// TestRegularProducts has hard zeros, and numbers that can't be trusted: then nothing
// but their being found out is promised.
func TestRegularProducts(t *testing.T) {
	safe, unsafe := 0, 0
	eachRegular(t, 71, func(t *testing.T, what string, with regular, r *rand.Rand, c *regularCase) {
		u := c.u
		if r.IntN(2) == 0 {
			spoil(u.Beliefs, r, -infinity, -1000)
			spoil(u.Messages, r, -infinity)
			spoil(u.Tables, r, 0)
		}
		if r.IntN(8) == 0 {
			list := [][]float64{u.Beliefs, u.Messages, u.Tables}[r.IntN(3)]
			list[r.IntN(len(list))] = []float64{nan, infinity, -1e4, 1e4, 0}[r.IntN(5)]
		}
		k, n := u.States, len(c.list)
		weights, out := make([]float64, n*k), make([]float64, n*k)
		plainCavities(weights, u.Beliefs, u.Messages, c.list)
		moderate := slices.IndexFunc(weights, func(x float64) bool { return !(x <= 708) }) < 0
		plainExp(weights, weights)
		plainProducts(out, weights, u.Tables, c.list)
		want := moderate && plainAllSafe(out)
		beliefs, messages := slices.Clone(u.Beliefs), slices.Clone(u.Messages)
		got := with.products(u, 0, n)
		c.check(what)
		if got != want {
			t.Fatalf("%s: safe is %v, want %v", what, got, want)
		}
		if got {
			safe++
			compare(t, what, rows(u.Rows, n, k), out, 1e-14, 0)
			// From some message on, the first row is that message's.
			lo, hi := r.IntN(n), n
			with.products(u, lo, hi)
			c.check(what)
			compare(t, what+", part", rows(u.Rows, hi-lo, k), out[lo*k:], 1e-14, 0)
		} else {
			unsafe++
		}
		compare(t, what+", beliefs", u.Beliefs, beliefs, 0, 0)
		compare(t, what+", messages", u.Messages, messages, 0, 0)
	})
	if RegularStates() > 0 && (safe < 50 || unsafe < 20) {
		t.Errorf("%d cases are safe and %d are not: too few of either to tell", safe, unsafe)
	}
}

func TestRegularAbsorb(t *testing.T) {
	eachRegular(t, 72, func(t *testing.T, what string, with regular, r *rand.Rand, c *regularCase) {
		u, k, n := c.u, c.u.States, len(c.list)
		spoil(u.Messages, r, -infinity, math.MaxFloat64)
		for i := range u.Rows {
			u.Rows[i] = math.Exp(5 * r.NormFloat64())
		}
		spoil(u.Rows, r, TooSmall, math.MaxFloat64)
		if r.IntN(4) == 0 { // nothing changes
			u.Damping = 0
			rest := slices.Clone(u.Rows)
			with.absorb(u, 0, n)
			copy(u.Rows, rest)
		}
		out, messages, sums := rows(u.Rows, n, k), slices.Clone(u.Messages), make([]float64, len(c.nodes)*k)
		active.log(out, out)
		want := plainAbsorbAll(messages, sums, out, c.list, u.Damping)
		got := with.absorb(u, 0, n)
		c.check(what)
		if !same(got, want, 1e-14, 1e-14) {
			t.Fatalf("%s: residual %v, want %v", what, got, want)
		}
		compare(t, what, u.Messages, messages, 1e-14, 1e-14)
		for i, m := range c.list {
			compare(t, fmt.Sprintf("%s, row %d", what, i), u.Rows[8*i:], messages[m.Old:][:k], 1e-14, 1e-14)
		}
	})
}

func TestRegularShift(t *testing.T) {
	refused := 0
	eachRegular(t, 73, func(t *testing.T, what string, with regular, r *rand.Rand, c *regularCase) {
		u, k, n := c.u, c.u.States, len(c.nodes)
		spoil(u.Potentials, r, -infinity, -1e6)
		if r.IntN(4) == 0 {
			u.Potentials[r.IntN(len(u.Potentials))] = []float64{nan, infinity}[r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			s := r.IntN(n)
			for x := range k {
				u.Potentials[s*k+x] = -infinity
			}
		}
		sums := make([]float64, n*k)
		for i, p := range u.Order {
			copy(sums[i*k:], u.Potentials[int(p)*k:][:k])
			for m := u.InStart[i]; m < u.InStart[i+1]; m++ {
				for x := range k {
					sums[i*k+x] = math.FMA(u.Rho[int(u.In[m]>>1)&u.PerEdge], u.Rows[8*int(m)+x], sums[i*k+x])
				}
			}
		}
		raw := slices.Clone(sums)
		wantDone := plainShift(sums, c.nodes)
		done := with.shift(u, 0, n)
		c.check(what)
		if wantDone < n {
			refused++
			if done > wantDone || wantDone-done >= RegularPadding {
				t.Fatalf("%s: %d done, but node %d has no largest sum", what, done, wantDone)
			}
			compare(t, what+", as they were", rows(u.Sums[8*wantDone:], 1, k), raw[wantDone*k:][:k], 1e-14, 1e-14)
		} else if done < n {
			t.Fatalf("%s: %d done, want all of %d", what, done, n)
		}
		done = min(done, n)
		compare(t, what, rows(u.Sums, done, k), sums[:done*k], 1e-13, 1e-13)
		totals, weights := make([]float64, n), make([]float64, n*k)
		plainExp(weights, sums)
		plainTotals(totals, weights, c.nodes)
		compare(t, what+", totals", u.Totals, totals[:done], 1e-12, 0)
	})
	if RegularStates() > 0 && refused < 20 {
		t.Errorf("%d cases with a sum that is not finite: too few to tell", refused)
	}
}

func TestRegularSettle(t *testing.T) {
	eachRegular(t, 74, func(t *testing.T, what string, with regular, r *rand.Rand, c *regularCase) {
		u, k, n := c.u, c.u.States, len(c.nodes)
		spoil(u.Sums, r, -infinity)
		spoil(u.Beliefs, r, -infinity)
		sums, beliefs := rows(u.Sums, n, k), slices.Clone(u.Beliefs)
		want := plainSettle(beliefs, sums, u.Totals, c.nodes)
		got := with.settle(u, 0, n)
		c.check(what)
		if !same(got, want, 0, 0) {
			t.Fatalf("%s: residual %v, want %v", what, got, want)
		}
		compare(t, what, u.Beliefs, beliefs, 0, 0)
	})
}
