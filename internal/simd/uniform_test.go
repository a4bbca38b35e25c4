package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// uniformCase is a Uniform and the same as a batch, which plain Go can do.
type uniformCase struct {
	u     *Uniform
	list  []Message
	nodes []Node
	check func(what string)
}

// newUniform makes a network of random directed edges into some of its nodes.
func newUniform(t testing.TB, r *rand.Rand, k, visited, degree int, damping float64) *uniformCase {
	numNodes := visited + 3
	c := &uniformCase{u: &Uniform{States: k, Damping: damping, InStart: []int32{0}, Far: r.IntN(2), Cold: r.IntN(2)}}
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
		{&u.Rows, UniformRow(k) * (edges + UniformPadding)}, {&u.Sums, UniformRow(k) * (visited + UniformPadding)}, {&u.Totals, visited + UniformPadding},
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
		u.Count = append(u.Count, r.NormFloat64())
	}
	for e := range edges {
		u.Edges = append(u.Edges, int32(e))
		u.U, u.V = append(u.U, int32(r.IntN(numNodes))), append(u.V, int32(r.IntN(numNodes)))
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
func (c *uniformCase) listAll() {
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

// rows returns the first k entries of each of n rows of scratch.
func rows(x []float64, n, k int) (list []float64) {
	for i := range n {
		list = append(list, x[UniformRow(k)*i:][:k]...)
	}
	return list
}

// eachUniform runs a test on networks with every number of states that there are
// kernels for.
func eachUniform(t *testing.T, seed uint64, test func(t *testing.T, what string, with uniform, r *rand.Rand, c *uniformCase)) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(seed, 1))
		for k := 1; k <= with.uniform.states; k++ {
			for i := range 60 {
				damping := []float64{0, 0.4, -0.5}[i%3]
				c := newUniform(t, r, k, 1+r.IntN(12), 6, damping)
				if len(c.list) > 0 {
					test(t, fmt.Sprintf("k=%d case %d damping %v", k, i, damping), with.uniform, r, c)
				}
			}
		}
	})
}

// TestUniformProducts has hard zeros, and numbers that can't be trusted: then nothing
// but their being found out is promised.
func TestUniformProducts(t *testing.T) {
	safe, unsafe := 0, 0
	eachUniform(t, 71, func(t *testing.T, what string, with uniform, r *rand.Rand, c *uniformCase) {
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
		if r.IntN(8) == 0 {
			for i := range u.Tables {
				u.Tables[i] *= 1e-127
			}
		}
		k, n := u.States, len(c.list)
		weights, out := make([]float64, n*k), make([]float64, n*k)
		plainCavities(weights, u.Beliefs, u.Messages, c.list)
		moderate := slices.IndexFunc(weights, func(x float64) bool { return !(x <= 708) }) < 0
		plainExp(weights, weights)
		plainProducts(out, weights, u.Tables, c.list)
		want := moderate && plainAllSafe(out) && slices.Min(out) >= 1e-130
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
	if UniformStates() > 0 && (safe < 50 || unsafe < 20) {
		t.Errorf("%d cases are safe and %d are not: too few of either to tell", safe, unsafe)
	}
}

func TestUniformAbsorb(t *testing.T) {
	eachUniform(t, 72, func(t *testing.T, what string, with uniform, r *rand.Rand, c *uniformCase) {
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
			compare(t, fmt.Sprintf("%s, row %d", what, i), u.Rows[UniformRow(k)*i:], messages[m.Old:][:k], 1e-14, 1e-14)
		}
	})
}

func TestUniformShift(t *testing.T) {
	refused := 0
	eachUniform(t, 73, func(t *testing.T, what string, with uniform, r *rand.Rand, c *uniformCase) {
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
					sums[i*k+x] = math.FMA(u.Rho[int(u.In[m]>>1)&u.PerEdge], u.Rows[UniformRow(k)*int(m)+x], sums[i*k+x])
				}
			}
		}
		raw := slices.Clone(sums)
		wantDone := plainShift(sums, c.nodes)
		done := with.shift(u, 0, n)
		c.check(what)
		if wantDone < n {
			refused++
			if done > wantDone || wantDone-done >= UniformPadding {
				t.Fatalf("%s: %d done, but node %d has no largest sum", what, done, wantDone)
			}
			compare(t, what+", as they were", rows(u.Sums[UniformRow(k)*wantDone:], 1, k), raw[wantDone*k:][:k], 1e-14, 1e-14)
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
	if UniformStates() > 0 && refused < 20 {
		t.Errorf("%d cases with a sum that is not finite: too few to tell", refused)
	}
}

func TestUniformSettle(t *testing.T) {
	eachUniform(t, 74, func(t *testing.T, what string, with uniform, r *rand.Rand, c *uniformCase) {
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

// beliefs makes log-beliefs of nodes, and log-messages with a largest entry of 0.
func (c *uniformCase) beliefs(r *rand.Rand) {
	u, k := c.u, c.u.States
	spoil(u.Beliefs, r, -infinity, -1000)
	for s := range len(u.Beliefs) / k {
		b := u.Beliefs[s*k:][:k]
		b[r.IntN(k)] = 0
		total := 0.0
		for _, x := range b {
			total += math.Exp(x)
		}
		for i := range b {
			b[i] -= math.Log(total)
		}
	}
	spoil(u.Messages, r, -infinity, -20)
	for d := range len(u.Messages) / k {
		m := u.Messages[d*k:][:k]
		m[r.IntN(k)] = 0
		subtract(m, plainMax(m))
	}
}

func TestUniformWriteNodes(t *testing.T) {
	eachUniform(t, 75, func(t *testing.T, what string, with uniform, r *rand.Rand, c *uniformCase) {
		u, k, n := c.u, c.u.States, len(c.nodes)
		c.beliefs(r)
		lo := r.IntN(n)
		want, energy, total := make([]float64, (n-lo)*k), 0.0, make([]float64, k)
		for p, s := range u.Nodes[lo:n] {
			for x, b := range u.Beliefs[int(s)*k:][:k] {
				tau := math.Exp(b)
				want[p*k+x] = tau
				if total[x] += tau; tau > 0 {
					energy += tau * (u.Potentials[(lo+p)*k+x] - u.Count[s]*b)
				} else {
					u.Potentials[(lo+p)*k+x] = -infinity
				}
			}
		}
		dst, check := guarded(t, len(want)+Padding, r.IntN(8))
		sum, checkSum := guarded(t, k, r.IntN(8))
		for x := range sum {
			sum[x] = float64(x)
			total[x] += float64(x)
		}
		got := with.nodes(u, dst, sum, lo, n)
		check(what)
		checkSum(what)
		c.check(what)
		compare(t, what, dst, want, 1e-14, 0)
		compare(t, what+", sum", sum, total, 1e-14, 0)
		if !same(got, energy, 1e-12, 1e-12) {
			t.Fatalf("%s: energy %v, want %v", what, got, energy)
		}
	})
}

func TestUniformWriteEdges(t *testing.T) {
	safe, unsafe := 0, 0
	eachUniform(t, 76, func(t *testing.T, what string, with uniform, r *rand.Rand, c *uniformCase) {
		u, k, n := c.u, c.u.States, len(c.u.Edges)
		if k > with.edgeStates {
			return
		}
		c.beliefs(r)
		if r.IntN(2) == 0 {
			spoil(u.Tables, r, 0)
		}
		switch r.IntN(8) {
		case 0:
			list := [][]float64{u.Beliefs, u.Messages, u.Tables}[r.IntN(3)]
			list[r.IntN(len(list))] = []float64{nan, infinity, 1e4}[r.IntN(3)]
		case 1:
			spoil(u.Messages, r, -100)
		case 2: // small totals
			for i := range u.Tables {
				u.Tables[i] *= 1e-127
			}
		}
		lo := r.IntN(n)
		want, energy, total, trusted := make([]float64, (n-lo)*k*k), 0.0, make([]float64, k*k), true
		for q, e := range u.Edges[lo:n] {
			a, b := int(u.U[e])*k, int(u.V[e])*k
			toU, toV := int(2*e+1)*k, int(2*e)*k
			row := want[q*k*k:][:k*k]
			logZ, product, ok := c.edge(row, a, toU, b, toV, u.At[lo+q])
			trusted = trusted && ok
			energy += u.Rho[int(e)&u.PerEdge] * (logZ - product)
			for i, x := range row {
				total[i] += x
			}
		}
		dst, check := guarded(t, len(want)+Padding, r.IntN(8))
		sum, checkSum := guarded(t, k*k, r.IntN(8))
		for x := range sum {
			sum[x] = float64(x)
			total[x] += float64(x)
		}
		before := slices.Clone(sum)
		got, ok := with.edges(u, dst, sum, lo, n)
		check(what)
		checkSum(what)
		c.check(what)
		if ok != trusted {
			t.Fatalf("%s: safe is %v, want %v", what, ok, trusted)
		}
		if !ok {
			unsafe++
			compare(t, what+", sum", sum, before, 0, 0)
			return
		}
		safe++
		compare(t, what, dst, want, 1e-12, 1e-300)
		compare(t, what+", sum", sum, total, 1e-12, 1e-300)
		if !same(got, energy, 1e-11, 1e-11) {
			t.Fatalf("%s: energy %v, want %v", what, got, energy)
		}
	})
	if UniformStates() > 0 && (safe < 50 || unsafe < 20) {
		t.Errorf("%d cases are safe and %d are not: too few of either to tell", safe, unsafe)
	}
}

// edge computes the belief of an edge with logarithms, and reports whether the kernels
// may do without.
func (c *uniformCase) edge(belief []float64, beliefU, messageU, beliefV, messageV, table int) (logZ, product float64, trusted bool) {
	u, k := c.u, c.u.States
	left, right, largest := make([]float64, k), make([]float64, k), math.Inf(-1)
	plainCavity(left, u.Beliefs[beliefU:][:k], u.Messages[messageU:][:k])
	plainCavity(right, u.Beliefs[beliefV:][:k], u.Messages[messageV:][:k])
	for i := range belief {
		belief[i] = left[i/k] + right[i%k] + math.Log(u.Tables[table+i])
		largest = max(largest, belief[i])
	}
	for i := range belief {
		logZ += math.Exp(belief[i] - largest)
	}
	logZ = largest + math.Log(logZ)
	for i, x := range belief {
		belief[i] = math.Exp(x - logZ)
		if belief[i] > 0 {
			product += belief[i] * (left[i/k] + right[i%k])
		}
	}
	return logZ, product, logZ >= math.Log(1e-130) && logZ < 700 && plainMax(left) <= 60 && plainMax(right) <= 60
}

func TestUniformList(t *testing.T) {
	eachUniform(t, 79, func(t *testing.T, what string, with uniform, r *rand.Rand, c *uniformCase) {
		u, k := c.u, c.u.States
		lo := r.IntN(len(u.Edges))
		got := make([]Edge, len(u.Edges)-lo)
		with.list(u, got, lo, len(u.Edges))
		for i, e := range u.Edges[lo:] {
			want := Edge{int(u.U[e]) * k, int(2*e+1) * k, int(u.V[e]) * k, int(2*e) * k, u.At[lo+i]}
			if got[i] != want {
				t.Fatalf("%s: edge %d is %+v, want %+v", what, i, got[i], want)
			}
		}
	})
}
