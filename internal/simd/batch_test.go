package simd

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// batchStates are the numbers of states that batches are tested with.
var batchStates = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 21, 64, 65}

// batchMessage is where the parts of a message are.
type batchMessage struct {
	Belief, Reverse, Old, Table              int
	Rho                                      float64
	Weight, Out, Sum, Source, Target, Turned int
}

// batchCase is a batch: what belongs to the state of inference lies in any order
// and with gaps, what belongs to the scratch one behind the other.
type batchCase struct {
	list                                  []batchMessage
	source, directed, edge                []int32 // of the messages
	beliefAt, messageAt, at               []int
	rho                                   []float64
	nodes                                 []Node
	beliefs, messages, tables, potentials []float64
	weights, out, sums, totals            []float64
	weightsUsed, outUsed, sumsUsed        int
	ends                                  Sizes
	check                                 func(what string)
}

// sizes are those of the messages: a list, unless all are the same.
func (c *batchCase) sizes() (n Sizes) {
	same := true
	for _, m := range c.list {
		same = same && m.Source == c.list[0].Source && m.Target == c.list[0].Target
		n.Sources, n.Targets = append(n.Sources, int32(m.Source)), append(n.Targets, int32(m.Target))
	}
	if same && len(c.list) > 0 {
		return Sizes{Source: c.list[0].Source, Target: c.list[0].Target}
	}
	return n
}

func (c *batchCase) cavities(with implementation) {
	if len(c.list) == 0 {
		return
	}
	weights := c.weights[c.list[0].Weight:]
	(*Lists)(&with).Cavities(weights, c.beliefs, c.messages, c.source, c.directed, c.beliefAt, c.messageAt, c.ends)
}

func (c *batchCase) products(with implementation) {
	if len(c.list) == 0 {
		return
	}
	first := c.list[0]
	(*Lists)(&with).Products(c.out[first.Out:], c.weights[first.Weight:], c.tables, c.directed, c.edge, c.at, c.ends)
}

func (c *batchCase) absorb(with implementation, out []float64, damping float64) float64 {
	return with.absorb(c.messages, c.sums, c.potentials, out, c.directed, c.messageAt, c.rho, 1, c.nodes, damping)
}

// scatter finds places for parts of these sizes, in any order and with gaps.
func scatter(r *rand.Rand, sizes []int) (at []int, total int) {
	at, total = make([]int, len(sizes)), r.IntN(3)
	for _, i := range r.Perm(len(sizes)) {
		at[i] = total
		total += sizes[i] + r.IntN(3)
	}
	return at, total
}

// newBatch makes a batch of nodes with so many states, each with messages from nodes of so many.
func newBatch(t testing.TB, r *rand.Rand, states []int, sources [][]int) *batchCase {
	c := &batchCase{}
	var beliefs, messages, tables []int // sizes
	for i, k := range states {
		c.nodes = append(c.nodes, Node{Inverse: 0.2 + r.Float64(), Sum: int32(c.sumsUsed), States: int32(k), Messages: int32(len(sources[i]))})
		beliefs = append(beliefs, k)
		for _, s := range sources[i] {
			c.list = append(c.list, batchMessage{
				Rho: 0.2 + r.Float64(), Weight: c.weightsUsed, Out: c.outUsed, Sum: c.sumsUsed, Source: s, Target: k, Turned: r.IntN(2),
			})
			c.weightsUsed, c.outUsed = c.weightsUsed+s, c.outUsed+k
		}
		c.sumsUsed += k
	}
	c.ends = c.sizes()
	potentialAt, numPotentials := scatter(r, beliefs)
	for _, m := range c.list {
		beliefs = append(beliefs, m.Source)
		messages = append(messages, m.Source, m.Target)
		tables = append(tables, m.Source*m.Target)
	}
	beliefAt, numBeliefs := scatter(r, beliefs)
	messageAt, numMessages := scatter(r, messages)
	tableAt, numTables := scatter(r, tables)
	for i := range c.nodes {
		c.nodes[i].Belief, c.nodes[i].Potential = beliefAt[i], potentialAt[i]
	}
	c.beliefAt, c.at = beliefAt, tableAt
	c.messageAt, c.rho = make([]int, 2*len(c.list)), make([]float64, len(c.list))
	for i, e := range r.Perm(len(c.list)) {
		m := &c.list[i]
		m.Belief, m.Reverse, m.Old, m.Table = beliefAt[len(states)+i], messageAt[2*i], messageAt[2*i+1], tableAt[i]
		d := 2*e + m.Turned
		c.messageAt[d], c.messageAt[d^1], c.rho[e] = m.Old, m.Reverse, m.Rho
		c.source, c.directed, c.edge = append(c.source, int32(len(states)+i)), append(c.directed, int32(d)), append(c.edge, int32(i))
	}
	var checks []func(string)
	for _, s := range []struct {
		x *[]float64
		n int
	}{
		{&c.beliefs, numBeliefs}, {&c.messages, numMessages}, {&c.tables, numTables}, {&c.totals, len(states)}, {&c.potentials, numPotentials},
		{&c.weights, c.weightsUsed + Padding}, {&c.out, c.outUsed + Padding}, {&c.sums, c.sumsUsed + Padding},
	} {
		x, check := guarded(t, s.n, r.IntN(8))
		fill(x, r, 3)
		*s.x, checks = x, append(checks, check)
	}
	fillUniform(c.tables, r)
	c.check = func(what string) {
		t.Helper()
		for _, check := range checks {
			check(what)
		}
	}
	return c
}

// eachBatch runs a test on batches without nodes, without messages, with messages
// of one shape and of all, for every implementation.
func eachBatch(t *testing.T, seed uint64, test func(t *testing.T, what string, with implementation, r *rand.Rand, c *batchCase)) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(seed, 1))
		test(t, "empty", with, r, newBatch(t, r, nil, nil))
		test(t, "no message", with, r, newBatch(t, r, []int{3, 8}, make([][]int, 2)))
		for _, source := range batchStates {
			for _, target := range batchStates {
				what := fmt.Sprintf("%d→%d", source, target)
				test(t, what, with, r, newBatch(t, r, []int{target, target, target}, [][]int{{source}, {}, {source, source, source, source}}))
			}
		}
		for i := range 60 {
			var states []int
			var sources [][]int
			for range 1 + r.IntN(12) {
				states = append(states, batchStates[r.IntN(len(batchStates))])
				sources = append(sources, nil)
				for range r.IntN(5) {
					sources[len(sources)-1] = append(sources[len(sources)-1], batchStates[r.IntN(len(batchStates))])
				}
			}
			test(t, fmt.Sprintf("mixture %d", i), with, r, newBatch(t, r, states, sources))
		}
	})
}

// spoil puts a value into some entries of x, each for one of 20 or so.
func spoil(x []float64, r *rand.Rand, values ...float64) {
	for i := range x {
		if r.IntN(20) == 0 {
			x[i] = values[r.IntN(len(values))]
		}
	}
}

var infinity, nan = math.Inf(1), math.NaN()

func TestCavities(t *testing.T) {
	eachBatch(t, 61, func(t *testing.T, what string, with implementation, r *rand.Rand, c *batchCase) {
		spoil(c.beliefs, r, -infinity, -infinity, -math.MaxFloat64, infinity, nan)
		spoil(c.messages, r, -infinity, -infinity, math.MaxFloat64)
		want := make([]float64, c.weightsUsed)
		for _, m := range c.list {
			for x := range m.Source {
				belief, message := c.beliefs[m.Belief+x], c.messages[m.Reverse+x]
				want[m.Weight+x] = belief - message
				if math.IsInf(belief, -1) || math.IsInf(message, -1) {
					want[m.Weight+x] = -infinity
				}
			}
		}
		beliefs, messages := slices.Clone(c.beliefs), slices.Clone(c.messages)
		c.cavities(with)
		c.check(what)
		compare(t, what, c.weights, want, 0, 0)
		compare(t, what+", beliefs", c.beliefs, beliefs, 0, 0)
		compare(t, what+", messages", c.messages, messages, 0, 0)
	})
}

// TestGather copies as cavities with messages that are 0 would.
func TestGather(t *testing.T) {
	eachBatch(t, 60, func(t *testing.T, what string, with implementation, r *rand.Rand, c *batchCase) {
		for i, m := range c.list {
			with.cavities(c.weights[m.Weight:], c.beliefs, nil, c.source[i:i+1], c.source[i:i+1], c.beliefAt, nil, m.Source, nil)
		}
		c.check(what)
		for _, m := range c.list {
			compare(t, what, c.weights[m.Weight:], c.beliefs[m.Belief:][:m.Source], 0, 0)
		}
	})
}

// TestPlaces: without lists of places parts of n numbers follow each other.
func TestPlaces(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for _, n := range batchStates {
			source, directed, nodes := []int32{2, 0, 1}, []int32{5, 0, 3}, []Node{{States: int32(n), Messages: 3}}
			at := make([]int, 6)
			for i := range at {
				at[i] = i * n
			}
			var want []float64
			for _, places := range [][]int{at, nil} {
				r := rand.New(rand.NewPCG(74, 1))
				beliefs, messages, out, got := make([]float64, 3*n), make([]float64, 6*n), make([]float64, 3*n), make([]float64, 7*n+Padding)
				for _, x := range [][]float64{beliefs, messages, out} {
					fill(x, r, 3)
				}
				with.cavities(got, beliefs, nil, source, source, places, nil, n, nil)
				with.cavities(got[3*n:], beliefs, messages, source, directed, places, places, n, nil)
				with.absorb(messages, got[6*n:], beliefs, out, directed, places, nil, 0.5, nodes, 0)
				if got = append(got[:7*n], messages...); want == nil {
					want = got
				}
				compare(t, fmt.Sprint(n), got, want, 0, 0)
			}
		}
	})
}

func TestProducts(t *testing.T) {
	eachBatch(t, 62, func(t *testing.T, what string, with implementation, r *rand.Rand, c *batchCase) {
		fillUniform(c.weights, r)
		spoil(c.weights, r, 0)
		if r.IntN(2) == 0 {
			spoil(c.tables, r, 0, 0, 1e-320, infinity, nan)
			spoil(c.weights, r, infinity, nan, 1e-300)
		}
		weights := slices.Clone(c.weights)
		want := make([]float64, c.outUsed)
		for _, m := range c.list {
			source, target := m.Source, m.Target
			for x := range target {
				for y := range source {
					entry := c.tables[m.Table+y*target+x]
					if m.Turned != 0 {
						entry = c.tables[m.Table+x*source+y]
					}
					want[m.Out+x] += c.weights[m.Weight+y] * entry
				}
			}
		}
		c.products(with)
		c.check(what)
		compare(t, what, c.out, want, 1e-14, 1e-310)
		compare(t, what+", weights", c.weights, weights, 0, 0)
	})
}

func TestLogIsSafe(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for _, n := range append(batchStates, 0, 31, 32, 33, 100) {
			x, _ := guarded(t, n, n%8)
			out := make([]float64, n)
			for i := range x {
				x[i] = 1
			}
			if !with.log(out, x) {
				t.Fatalf("n=%d: ones are not safe", n)
			}
			for i := range x {
				for _, good := range []float64{TooSmall, math.MaxFloat64, 1e-100} {
					if x[i] = good; !with.log(out, x) {
						t.Fatalf("n=%d: %v at %d is not safe", n, good, i)
					}
				}
				for _, bad := range []float64{0, math.Copysign(0, -1), math.Nextafter(TooSmall, 0), 5e-324, -1, -TooSmall, -math.MaxFloat64, infinity, -infinity, nan, math.Copysign(nan, -1)} {
					if x[i] = bad; with.log(out, x) {
						t.Fatalf("n=%d: %v at %d is safe", n, bad, i)
					}
				}
				x[i] = 1
			}
		}
	})
}

// TestAbsorb also has a NaN in some message: only that it makes the residual a
// NaN is promised, and that it stays with its node.
func TestAbsorb(t *testing.T) {
	eachBatch(t, 63, func(t *testing.T, what string, with implementation, r *rand.Rand, c *batchCase) {
		damping := []float64{0, 0.4, -0.5}[r.IntN(3)]
		spoil(c.messages, r, -infinity, infinity, math.MaxFloat64)
		spoil(c.out, r, -infinity)
		spoil(c.potentials, r, -infinity, -math.MaxFloat64, 1e300)
		if r.IntN(4) == 0 && len(c.nodes) > 0 {
			c.potentials[r.IntN(len(c.potentials))] = []float64{nan, infinity}[r.IntN(2)]
		}
		if r.IntN(4) == 0 && len(c.nodes) > 0 { // no state is possible
			n := &c.nodes[r.IntN(len(c.nodes))]
			copy(c.potentials[n.Potential:][:n.States], slices.Repeat([]float64{-infinity}, int(n.States)))
		}
		for i := range c.nodes {
			if r.IntN(3) == 0 { // more messages follow
				c.nodes[i].Inverse = 0
			}
		}
		for _, m := range c.list {
			if r.IntN(10) == 0 { // nothing changes
				row := c.out[m.Out:][:m.Target]
				row[r.IntN(len(row))] = 0
				subtract(row, Max(row))
				copy(c.messages[m.Old:], row)
			}
		}
		if r.IntN(4) == 0 && len(c.list) > 0 {
			c.out[r.IntN(c.outUsed)] = nan
		}
		messages, sums, bad := slices.Clone(c.messages), make([]float64, c.sumsUsed), map[int]bool{}
		for _, n := range c.nodes {
			copy(sums[n.Sum:][:n.States], c.potentials[n.Potential:])
		}
		if r.IntN(2) == 0 { // one for all
			for i := range c.list {
				c.list[i].Rho = 1
			}
			c.rho = nil
		}
		residual := 0.0
		for _, m := range c.list {
			row := c.out[m.Out:][:m.Target]
			largest := slices.Max(row)
			for x, y := range row {
				old := &messages[m.Old+x]
				after := y - largest
				if damping != 0 && after != *old {
					after = (1-damping)*after + damping**old
				}
				if change := math.Abs(after - *old); after != *old && !(change <= residual) {
					residual = largerOrNaN(residual, change)
				}
				*old = after
				sums[m.Sum+x] += m.Rho * after
				if largest != largest {
					bad[m.Old+x], bad[-1-m.Sum-x] = true, true
				}
			}
		}
		magnitude := make([]float64, len(sums)) // of what an entry is the difference of
		for _, n := range c.nodes {
			row := sums[n.Sum:][:n.States]
			if n.Inverse == 0 {
				continue
			}
			largest := slices.Max(row) // or NaN
			for x, y := range row {
				if magnitude[int(n.Sum)+x] = math.Abs(largest) * n.Inverse; !math.IsInf(largest, -1) {
					row[x] = (y - largest) * n.Inverse
				}
				if math.IsNaN(largest) && y == y { // any number
					bad[-1-int(n.Sum)-x] = true
				}
			}
		}
		got := c.absorb(with, c.out, damping)
		c.check(what)
		if !same(got, residual, 0, 0) {
			t.Fatalf("%s: residual %v, want %v", what, got, residual)
		}
		for i, want := range messages {
			if !bad[i] && !same(c.messages[i], want, 0, 0) {
				t.Fatalf("%s, damping %v: message entry %d is %v, want %v", what, damping, i, c.messages[i], want)
			}
		}
		for i, want := range sums {
			if !bad[-1-i] && !same(c.sums[i], want, 1e-14, 1e-14*(1+magnitude[i])) {
				t.Fatalf("%s, damping %v: sum %d is %v, want %v", what, damping, i, c.sums[i], want)
			}
		}
	})
}

func TestTotals(t *testing.T) {
	eachBatch(t, 65, func(t *testing.T, what string, with implementation, r *rand.Rand, c *batchCase) {
		fillUniform(c.sums, r)
		if r.IntN(3) == 0 {
			spoil(c.sums, r, 0, nan, infinity)
		}
		want := make([]float64, len(c.nodes))
		for i, n := range c.nodes {
			for x := range int(n.States) {
				want[i] += c.sums[int(n.Sum)+x]
			}
		}
		sums := slices.Clone(c.sums)
		with.totals(c.totals, c.sums, c.nodes)
		c.check(what)
		compare(t, what, c.totals, want, 1e-14, 0)
		compare(t, what+", weights", c.sums, sums, 0, 0)
	})
}

func TestSettle(t *testing.T) {
	eachBatch(t, 66, func(t *testing.T, what string, with implementation, r *rand.Rand, c *batchCase) {
		spoil(c.sums, r, -infinity)
		spoil(c.beliefs, r, -infinity)
		switch r.IntN(8) {
		case 0:
			spoil(c.beliefs, r, nan)
		case 1:
			spoil(c.sums, r, nan)
		case 2:
			spoil(c.totals, r, nan, infinity, -infinity)
		case 3: // nothing changes
			for i, n := range c.nodes {
				for x := range int(n.States) {
					c.beliefs[n.Belief+x] = c.sums[int(n.Sum)+x] - c.totals[i]
				}
			}
		}
		want, residual := slices.Clone(c.beliefs), 0.0
		for i, n := range c.nodes {
			for x := range int(n.States) {
				before, after := want[n.Belief+x], c.sums[int(n.Sum)+x]-c.totals[i]
				if before != after {
					residual = largerOrNaN(residual, math.Abs(after-before))
				}
				want[n.Belief+x] = after
			}
		}
		got := with.settle(c.beliefs, c.sums, c.totals, c.nodes)
		c.check(what)
		if !same(got, residual, 0, 0) {
			t.Fatalf("%s: residual %v, want %v", what, got, residual)
		}
		compare(t, what, c.beliefs, want, 0, 0)
	})
}

func TestExponentials(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(67, 1))
		for _, size := range append(batchStates, 0, 15, 31, 32, 33, 441) {
			for trial := range 12 {
				what := fmt.Sprintf("%d numbers, trial %d", size, trial)
				x, check := guarded(t, size, r.IntN(8))
				fill(x, r, 20)
				a := spoilExponents(x, r, trial)
				want, wantDone := slices.Clone(x), !slices.ContainsFunc(x, func(v float64) bool {
					return !(math.Abs(v*a) <= moderate)
				})
				for i := range want {
					if wantDone {
						want[i] = math.Exp(want[i] * a)
					}
				}
				dst, checkDst := guarded(t, size, r.IntN(8))
				done := with.multiplyMatrix(dst, one[:], x, 1, 1, size, a)
				check(what)
				checkDst(what)
				oracle.MustEqual(t, done, wantDone, "%s: done", what)
				if done {
					compare(t, what, dst, want, 1e-15, 0)
				}
			}
		}
	})
}

// spoilExponents puts an exponent at or above the limit, or none at all, somewhere, and returns the factor of all.
func spoilExponents(x []float64, r *rand.Rand, trial int) (a float64) {
	if len(x) == 0 || trial == 0 {
		return 0.1 + r.Float64()
	}
	values := []float64{0, moderate, -moderate, math.Nextafter(moderate, infinity), -math.Nextafter(moderate, infinity), infinity, -infinity, nan, math.MaxFloat64, 5e-324, 0, -1e-17}
	x[r.IntN(len(x))] = values[trial]
	return []float64{1, infinity, -1}[max(0, trial-9)]
}

// TestExponentialsAccuracy compares with 240-bit arithmetic, at exponents of both signs.
func TestExponentialsAccuracy(t *testing.T) {
	r := rand.New(rand.NewPCG(68, 1))
	theta := make([]float64, accuracyPoints()/2)
	exact := make([]*big.Float, len(theta))
	for i := range theta {
		theta[i] = moderate * (2*r.Float64() - 1)
		if i%2 == 0 {
			theta[i] /= 20
		}
		exact[i] = exactExp(real(theta[i]))
	}
	each(t, func(t *testing.T, with implementation) {
		limit := 1.1 // the exponent is rounded
		if with.name == "plain" {
			limit = bounds["plain"].exp
		}
		table := make([]float64, len(theta))
		if !with.multiplyMatrix(table, one[:], theta, 1, 1, len(theta), 1) {
			t.Fatal("not done")
		}
		var all worst
		for i, x := range theta {
			all.note(ulps(table[i], exact[i]), limit, x)
		}
		all.report(t, "exponentials")
	})
}

// run does every step with the batch, and returns what it computed.
func (c *batchCase) run(with implementation) []float64 {
	c.cavities(with)
	with.exp(c.weights[:c.weightsUsed], c.weights[:c.weightsUsed])
	c.products(with)
	safe := with.log(c.out[:c.outUsed], c.out[:c.outUsed])
	residual := c.absorb(with, c.out, 0.4)
	with.exp(c.weights[:c.sumsUsed], c.sums[:c.sumsUsed])
	with.totals(c.totals, c.weights, c.nodes)
	possible := with.log(c.totals, c.totals)
	change := with.settle(c.beliefs, c.sums, c.totals, c.nodes)
	if !safe || !possible {
		return nil
	}
	return append(append([]float64{residual, change}, c.messages...), c.beliefs...)
}

// TestBatchRepeatable checks that the same batch gives the same bits wherever its
// slices lie, and a node and its messages the same alone as among others.
func TestBatchRepeatable(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for seed := range uint64(30) {
			states, sources := []int{}, [][]int{}
			r := rand.New(rand.NewPCG(69, seed))
			for range 9 {
				states = append(states, batchStates[r.IntN(len(batchStates))])
				sources = append(sources, []int{batchStates[r.IntN(len(batchStates))], states[0]})
			}
			build := func() *batchCase {
				c := newBatch(t, rand.New(rand.NewPCG(70, seed)), states, sources)
				for i := range c.sums { // room for the weights of the nodes
					c.sums[i] = float64(i % 5)
				}
				c.weights = append(c.weights, c.sums...)
				return c
			}
			first := build().run(with)
			if first == nil {
				t.Fatal("not safe")
			}
			for offset := range 8 {
				c := build()
				for _, x := range []*[]float64{&c.beliefs, &c.messages, &c.tables, &c.weights, &c.out, &c.sums, &c.totals, &c.potentials} {
					moved, _ := guarded(t, len(*x), offset)
					copy(moved, *x)
					*x = moved
				}
				compare(t, fmt.Sprint("offset ", offset), c.run(with), first, 0, 0)
			}
			c := build()
			for i := range c.nodes {
				one := *c
				one.nodes = c.nodes[i : i+1]
				one.list = c.list[2*i : 2*i+2]
				one.source, one.directed, one.edge = c.source[2*i:2*i+2], c.directed[2*i:2*i+2], c.edge[2*i:2*i+2]
				one.ends = one.sizes()
				for _, step := range []func(){
					func() { one.cavities(with) },
					func() {
						w := one.weights[one.list[0].Weight:][:one.list[0].Source+one.list[1].Source]
						with.exp(w, w)
					},
					func() { one.products(with) },
					func() {
						o := one.out[one.list[0].Out:][:2*one.nodes[0].States]
						with.log(o, o)
					},
					func() { one.absorb(with, one.out[one.list[0].Out:], 0.4) },
					func() {
						n := one.nodes[0]
						with.exp(one.weights[n.Sum:][:n.States], one.sums[n.Sum:][:n.States])
					},
					func() { with.totals(one.totals[i:i+1], one.weights, one.nodes) },
					func() { with.log(one.totals[i:i+1], one.totals[i:i+1]) },
					func() { with.settle(one.beliefs, one.sums, one.totals[i:i+1], one.nodes) },
				} {
					step()
				}
			}
			compare(t, "one by one", append(slices.Clone(c.messages), c.beliefs...), first[2:], 0, 0)
		}
	})
}

// TestBatchAllocation: no step of a batch allocates.
func TestBatchAllocation(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		before := active
		active = with
		defer func() { active = before }()
		r := rand.New(rand.NewPCG(71, 1))
		c := newBatch(t, r, []int{3, 8, 21}, [][]int{{8, 3}, {8}, {21, 65}})
		c.weights = make([]float64, 1000)
		edges := newConsistentCase(t, r, 9, 3, 3, 1, 0)
		scratch := make([]float64, ConsistentRoom(3, 3))
		lists := ForRows(21)
		if n := testing.AllocsPerRun(10, func() {
			Gather(c.weights, c.beliefs, c.source[:1], 3)
			lists.Cavities(c.weights, c.beliefs, c.messages, c.source, c.directed, c.beliefAt, c.messageAt, c.ends)
			lists.Products(c.out, c.weights, c.tables, c.directed, c.edge, c.at, c.ends)
			Log(c.totals, c.totals)
			lists.Absorb(c.messages, c.sums, c.potentials, c.out, c.directed, c.messageAt, c.rho, 1, c.nodes, 0.1)
			lists.Totals(c.totals, c.weights, c.nodes)
			lists.Settle(c.beliefs, c.sums, c.totals, c.nodes)
			Exponentials(c.out, c.tables[:len(c.out)], 1)
			Consistent(edges.beliefs, edges.entropy, edges.rows, edges.columns, scratch, 3, 3, Scaling{Most: 10, Newton: 2, Enough: 1e-3})
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
