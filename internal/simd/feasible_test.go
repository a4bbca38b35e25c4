package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFeasibleEdges holds the kernel, which scales rows at once, against edge beliefs that are made
// consistent afterwards: near consistent ones and far from them, with forbidden states and
// numbers that are none. It says of every edge whether it is safe as EdgeBeliefs does.
func TestFeasibleEdges(t *testing.T) {
	how := Scaling{Most: 20, Newton: 1, Enough: 0.1}
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(71, 72))
		var f, other Feasible
		near, far := 0, 0
		try := func(n, ku, kv, trial int) {
			what := fmt.Sprintf("%d edges of %d×%d, trial %d", n, ku, kv, trial)
			c := newEdgesCase(t, r, n, ku, kv)
			for q := range n {
				c.settle(q, r, []float64{0, 0.01, 0.3, 3}[r.IntN(4)])
			}
			if trial > 0 {
				c.edge(r.IntN(n)).spoil(r, trial%edgeTrials)
			}
			dst, logZ, product := make([]float64, n*ku*kv), make([]float64, n), make([]float64, n)
			want := other.edges(&plain, dst, logZ, product, c.beliefs, c.messages, c.tables, c.edges, ku, kv, how)
			if done := f.edges(&with, c.dst, c.logZ, c.product, c.beliefs, c.messages, c.tables, c.edges, ku, kv, how); done != want {
				t.Fatalf("%s: %d done, want %d", what, done, want)
			}
			c.check(what)
			for q := range want {
				off := 0.0
				if with.feasibleAtOnce(ku, kv) {
					off = f.off[q]
				}
				if off <= how.Enough {
					near++
				} else {
					far++
				}
				if math.Abs(off-how.Enough) < 1e-9 {
					continue
				}
				compare(t, fmt.Sprintf("%s, edge %d, off by %v", what, q, off), c.dst[q*ku*kv:][:ku*kv], dst[q*ku*kv:][:ku*kv], 3e-9, 1e-12)
				compare(t, fmt.Sprintf("%s, edge %d, log Z and product", what, q), []float64{c.logZ[q], c.product[q]}, []float64{logZ[q], product[q]}, 1e-12, 3e-12)
			}
		}
		for trial := range 2 * edgeTrials {
			for _, shape := range [][2]int{{1, 1}, {2, 2}, {3, 8}, {8, 3}, {8, 8}, {9, 8}, {21, 16}} {
				for n := 1; n < 14; n++ {
					try(n, shape[0], shape[1], trial)
				}
			}
			for _, shape := range [][2]int{{2, 2}, {8, 8}, {5, 12}} {
				try(70, shape[0], shape[1], trial)
			}
			for k := range 66 {
				try(2, k+1, 1+r.IntN(20), trial)
				try(4+r.IntN(6), 1+r.IntN(24), k+1, trial)
			}
		}
		if near == 0 || with.feasibleEdges != nil && far == 0 {
			t.Fatalf("%d edges near, %d far", near, far)
		}
	})
}

// settle makes the beliefs of the ends of an edge distributions, and its messages, but for some
// nats, those with which its belief is consistent with them.
func (c edgesCase) settle(q int, r *rand.Rand, nats float64) {
	s := c.edge(q).slices
	beliefU, messageU, beliefV, messageV, values := s[0], s[1], s[2], s[3], s[4]
	table := make([]float64, len(values))
	for i := range table {
		values[i] += 0.01
		table[i] = values[i] * math.Exp(beliefU[i/c.kv]+beliefV[i%c.kv])
	}
	rows, columns, total := make([]float64, c.ku), make([]float64, c.kv), 0.0
	for i, x := range table {
		rows[i/c.kv] += x
		columns[i%c.kv] += x
		total += x
	}
	// The cavities are as drawn: log τ − m.
	for i, x := range rows {
		rows[i] = math.Log(x / total)
		messageU[i], beliefU[i] = rows[i]-beliefU[i]+nats*r.NormFloat64(), rows[i]
	}
	for j, x := range columns {
		columns[j] = math.Log(x / total)
		messageV[j], beliefV[j] = columns[j]-beliefV[j]+nats*r.NormFloat64(), columns[j]
	}
}

// TestFeasibleMarginals: sums are those of the nodes, whatever messages and tables are.
func TestFeasibleMarginals(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(73, 74))
		var f Feasible
		for ku := 1; ku <= 64; ku++ {
			for _, nats := range []float64{0, 0.1, 2} {
				kv := 1 + r.IntN(64)
				c := newEdgesCase(t, r, 5, ku, kv)
				for q := range c.edges {
					c.settle(q, r, nats)
				}
				if done := f.edges(&with, c.dst, c.logZ, c.product, c.beliefs, c.messages, c.tables, c.edges, ku, kv, Scaling{Most: 20, Newton: 1, Enough: 0.1}); done != len(c.edges) {
					t.Fatalf("%d×%d: %d done", ku, kv, done)
				}
				of := consistentCase{beliefs: c.dst, entropy: make([]float64, len(c.edges)), ku: ku, kv: kv}
				var rows, columns []float64
				for _, e := range c.edges {
					rows, columns = append(rows, c.beliefs[e.BeliefU:][:ku]...), append(columns, c.beliefs[e.BeliefV:][:kv]...)
				}
				plainExp(rows, slices.Clone(rows))
				plainExp(columns, slices.Clone(columns))
				checkMarginals(t, fmt.Sprintf("%d×%d, %v nats", ku, kv, nats), of, rows, columns)
			}
		}
	})
}

// BenchmarkFeasible makes beliefs feasible that are near feasible ones, as at visits.
func BenchmarkFeasible(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		r := rand.New(rand.NewPCG(75, 76))
		c := newEdgesCase(b, r, distinctMessages, k, k)
		for q := range c.edges {
			c.settle(q, r, 0.05)
		}
		var f Feasible
		for b.Loop() {
			f.edges(&with, c.dst, c.logZ, c.product, c.beliefs, c.messages, c.tables, c.edges, k, k, Scaling{Most: 20, Newton: 1, Enough: 0.1})
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/distinctMessages, "ns/edge")
	})
}
