package simd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// pairsCase are the edges of a chain of two states: the q-th from node q, with its table anywhere.
type pairsCase struct {
	beliefs, messages, tables []float64
	source, mixed, edge, next []int32 // of messages in one of both directions, and of edges
	at                        []int
}

// write does what kernels of pairs do, and says whether they did.
func (c pairsCase) write(with implementation, out, dst, logZ, product []float64) (messages, beliefs bool) {
	before := active
	active = with
	defer func() { active = before }()
	return ForRows(2).Pairs(out, c.beliefs, c.messages, c.tables, c.source, c.mixed, c.edge, c.at),
		PairBeliefs(dst, logZ, product, c.beliefs, c.messages, c.tables, c.edge, c.edge, c.next, c.at)
}

// TestPairs: kernels of pairs give what the steps in plain Go give, also with forbidden states, and touch nothing else.
// They tell where a sum is not safe, or may not be.
func TestPairs(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for n := 1; n < 40; n++ {
			r := rand.New(rand.NewPCG(81, uint64(n)))
			var x [7][]float64
			var checks [7]func(string)
			for i, size := range []int{2 * (n + 1), 4 * n, 4 * n, 2 * n, 4 * n, n, n} {
				x[i], checks[i] = guarded(t, size, r.IntN(8))
				fill(x[i], r, 3)
			}
			c := pairsCase{beliefs: x[0], messages: x[1], tables: x[2], at: r.Perm(n)}
			fillUniform(c.tables, r)
			if n%3 == 0 {
				c.beliefs[1] = -infinity
			}
			edges := make([]Edge, n)
			for q := range n {
				e := int32(q)
				d := 2*e + r.Int32N(2)
				c.mixed, c.edge, c.source, c.next = append(c.mixed, d), append(c.edge, e), append(c.source, e+d%2), append(c.next, e+1)
				c.at[q] *= 4
				edges[q] = Edge{2 * q, 4*q + 2, 2*q + 2, 4 * q, c.at[q]}
			}
			what, can := fmt.Sprintf("%d edges", n), with.name != "plain" && n >= with.pairs.least
			messages, beliefs := c.write(with, x[3], x[4], x[5], x[6])
			if messages != can || beliefs != can {
				t.Fatalf("%s: messages are done: %v, beliefs: %v, want %v", what, messages, beliefs, can)
			}
			for _, check := range checks {
				check(what)
			}
			if !can {
				continue
			}
			weights, want := make([]float64, 2*n), make([]float64, 2*n)
			plainCavities(weights, c.beliefs, c.messages, c.source, c.mixed, nil, nil, 2, nil)
			plainExp(weights, weights)
			plainProducts(want, weights, c.tables, c.mixed, c.edge, c.at, 2, 2, nil, nil)
			plainLog(want, want)
			for q := range n {
				for _, message := range [][]float64{x[3][2*q:][:2], want[2*q:][:2]} {
					subtract(message, Max(message))
				}
			}
			compare(t, what+", messages", x[3], want, 1e-13, 1e-13)
			all := edgesCase{make([]float64, 4*n), make([]float64, n), make([]float64, n), c.beliefs, c.messages, c.tables, edges, 2, 2, nil}
			if done := all.compute(plain); done < n {
				t.Fatalf("%s: %d are safe", what, done)
			}
			for i, want := range [][]float64{all.dst, all.logZ, all.product} {
				compare(t, what+", beliefs", x[4+i], want, 1e-12, 3e-13)
			}
			c.spoil(t, what, with, r, x)
		}
	})
}

// spoil: what is not safe for an edge is not done.
func (c pairsCase) spoil(t *testing.T, what string, with implementation, r *rand.Rand, x [7][]float64) {
	t.Helper()
	q := r.IntN(len(c.edge))
	from := c.mixed[q] ^ 1 // the message that the q-th one is made with
	for name, spoil := range map[string]func(beliefs, messages, table []float64){
		"a forbidden first state":             func(b, _, _ []float64) { b[0] = -infinity },
		"a message that forbids the first":    func(_, m, _ []float64) { m[0] = -infinity },
		"a message that forbids the second":   func(_, m, _ []float64) { m[1] = -infinity },
		"a belief that is no number":          func(b, _, _ []float64) { b[r.IntN(2)] = nan },
		"a message that is no number":         func(_, m, _ []float64) { m[r.IntN(2)] = nan },
		"a table of zeros":                    func(_, _, table []float64) { clear(table) },
		"a table that is almost zero":         func(_, _, table []float64) { copy(table, []float64{1e-310, 1e-310, 1e-310, 1e-310}) },
		"a table with an infinity":            func(_, _, table []float64) { copy(table, []float64{infinity, infinity, infinity, infinity}) },
		"odds beyond those that a number has": func(b, _, _ []float64) { b[0], b[1] = -800, 0 },
	} {
		s := c
		s.beliefs, s.messages, s.tables = slices.Clone(c.beliefs), slices.Clone(c.messages), slices.Clone(c.tables)
		spoil(s.beliefs[2*c.source[q]:][:2], s.messages[2*from:][:2], s.tables[c.at[q]:][:4])
		if messages, beliefs := s.write(with, slices.Clone(x[3]), slices.Clone(x[4]), x[5], x[6]); messages || beliefs {
			t.Fatalf("%s, %s: messages are safe: %v, beliefs: %v", what, name, messages, beliefs)
		}
	}
}
