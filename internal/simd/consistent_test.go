package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
)

// consistentCase is some edges of one shape.
type consistentCase struct {
	beliefs, entropy, rows, columns []float64
	ku, kv                          int
	check                           func(what string)
}

// newConsistentCase draws beliefs and the sums that they should have, which may miss each other by up to so many nats.
// A share of the entries is 0, but none of those on the diagonal and its continuation: no row and no column is empty.
func newConsistentCase(t testing.TB, r *rand.Rand, n, ku, kv int, nats, zeros float64) consistentCase {
	c := consistentCase{ku: ku, kv: kv}
	var checks []func(string)
	for _, s := range []struct {
		x *[]float64
		n int
	}{{&c.beliefs, n * ku * kv}, {&c.entropy, n}, {&c.rows, n * ku}, {&c.columns, n * kv}} {
		x, check := guarded(t, s.n, r.IntN(8))
		*s.x, checks = x, append(checks, check)
	}
	for i := range n {
		normalised(c.rows[i*ku:][:ku], r, 8)
		normalised(c.columns[i*kv:][:kv], r, 8)
		table := c.beliefs[i*ku*kv:][:ku*kv]
		for x := range table {
			table[x] = c.rows[i*ku+x/kv] * c.columns[i*kv+x%kv] * math.Exp(-nats*r.Float64())
			if i, j := x/kv, x%kv; r.Float64() < zeros && (zeros == 1 || i%kv != j && j%ku != i) {
				table[x] = 0
			}
		}
	}
	c.check = func(what string) {
		for _, check := range checks {
			check(what)
		}
	}
	return c
}

func normalised(x []float64, r *rand.Rand, nats float64) {
	total := 0.0
	for i := range x {
		x[i] = math.Exp(-nats * r.Float64())
		total += x[i]
	}
	for i := range x {
		x[i] /= total
	}
}

// longhandConsistent is Consistent of one edge, entry by entry: what is left after scaling is
// corrected on the table itself.
func longhandConsistent(table, row, column []float64, scalings int) (entropy float64) {
	ku, kv := len(row), len(column)
	sums := func() (rows, columns []float64) {
		rows, columns = make([]float64, ku), make([]float64, kv)
		for x, b := range table {
			rows[x/kv] += b
			columns[x%kv] += b
		}
		return rows, columns
	}
	left, right := make([]float64, ku), slices.Repeat([]float64{1}, kv)
	for scaling := range scalings + 1 {
		weighted, scaled := make([]float64, ku), make([]float64, kv)
		for x, b := range table {
			weighted[x/kv] += b * right[x%kv]
		}
		for i, want := range row {
			left[i] = ratio(want, weighted[i])
		}
		for x, b := range table {
			scaled[x%kv] += left[x/kv] * b
		}
		distance := 0.0
		for j, want := range column {
			distance += math.Abs(want - right[j]*scaled[j])
		}
		if distance <= negligibleMass/10 || scaling == scalings {
			break
		}
		if steps := longhandNewton(table, row, column, left, right, scaled); steps != nil && scaling >= firstNewton && scaling < MaxNewton {
			longest := 1.0
			for _, x := range steps {
				longest = max(longest, math.Abs(x))
			}
			for j, x := range steps {
				right[j] *= (2*longest + x) / (2*longest - x)
			}
			continue
		}
		for j, want := range column {
			right[j] = ratio(want, scaled[j])
		}
	}
	for x := range table {
		table[x] *= left[x/kv] * right[x%kv]
	}
	_, columns := sums()
	for x := range table {
		table[x] *= min(1, ratio(column[x%kv], columns[x%kv]))
	}
	rows, columns := sums()
	missing := 0.0
	for i, want := range row {
		missing += max(0, want-rows[i])
	}
	for x := range table {
		if missing > negligibleMass {
			table[x] += max(0, row[x/kv]-rows[x/kv]) * max(0, column[x%kv]-columns[x%kv]) / missing
		}
		if table[x] > 0 {
			entropy -= table[x] * math.Log(table[x])
		}
	}
	return entropy
}

// longhandNewton solves the system of Newton's method by elimination, whose pivots are the
// squares of Cholesky's; nil where one is small, or the table large.
func longhandNewton(table, row, column, left, right, scaled []float64) []float64 {
	kv := len(column)
	if kv > newtonStates || len(table) > newtonEntries {
		return nil
	}
	sum := func(j int) float64 { return right[j] * scaled[j] }
	a, x := make([][]float64, kv), make([]float64, kv)
	for j := range a {
		a[j], x[j] = make([]float64, kv), column[j]-sum(j)
		for m := range kv {
			a[j][m] = sum(j) * sum(m)
			for i := range row {
				if row[i] > 0 {
					a[j][m] -= left[i] * table[i*kv+j] * right[j] * left[i] * table[i*kv+m] * right[m] / row[i]
				}
			}
		}
		a[j][j] += sum(j)
	}
	for c := range a {
		if !(a[c][c] > leastPivot*sum(c)) {
			return nil
		}
		for j := c + 1; j < kv; j++ {
			factor := a[j][c] / a[c][c]
			for m := range kv {
				a[j][m] -= factor * a[c][m]
			}
			x[j] -= factor * x[c]
		}
	}
	for j := kv - 1; j >= 0; j-- {
		for m := j + 1; m < kv; m++ {
			x[j] -= a[j][m] * x[m]
		}
		x[j] /= a[j][j]
	}
	return x
}

func TestConsistent(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(71, 72))
		for _, shape := range [][2]int{{1, 1}, {1, 5}, {2, 2}, {3, 2}, {2, 9}, {5, 5}, {8, 8}, {7, 13}, {16, 16}, {16, 17}, {21, 21}, {3, 70}} {
			ku, kv := shape[0], shape[1]
			for n := range 20 {
				c := newConsistentCase(t, r, n, ku, kv, []float64{0, 0.1, 3}[n%3], []float64{0, 0.1}[n/10])
				scalings := []int{10, 1, Finest.Most}[n%3]
				want, wantEntropy := slices.Clone(c.beliefs), make([]float64, n)
				for i := range n {
					wantEntropy[i] = longhandConsistent(want[i*ku*kv:][:ku*kv], c.rows[i*ku:][:ku], c.columns[i*kv:][:kv], scalings)
				}
				rows, columns := slices.Clone(c.rows), slices.Clone(c.columns)
				what := fmt.Sprintf("%d of %d×%d", n, ku, kv)
				scratch, check := guarded(t, ConsistentRoom(ku, kv), r.IntN(8))
				with.consistent(c.beliefs, c.entropy, c.rows, c.columns, scratch, ku, kv, how(scalings))
				c.check(what)
				check(what)
				compare(t, what, c.beliefs, want, 1e-10, 1e-14)
				compare(t, what+" entropy", c.entropy, wantEntropy, 1e-12, 1e-12)
				checkMarginals(t, what, c, rows, columns)
			}
		}
	})
}

// checkMarginals: nothing is negative, and sums are what they should be.
func checkMarginals(t *testing.T, what string, c consistentCase, rows, columns []float64) {
	t.Helper()
	checkSums(t, what, c, rows, columns)
	if len(c.entropy) > 0 && slices.Min(c.beliefs) < 0 {
		t.Fatalf("%s: smallest entry %v", what, slices.Min(c.beliefs))
	}
}

func checkSums(t *testing.T, what string, c consistentCase, rows, columns []float64) {
	t.Helper()
	for i := range c.entropy {
		table := c.beliefs[i*c.ku*c.kv:][:c.ku*c.kv]
		off := 0.0
		for x := range c.ku {
			off += math.Abs(numeric.Sum(table[x*c.kv:][:c.kv]) - rows[i*c.ku+x])
		}
		for y := range c.kv {
			sum := 0.0
			for x := range c.ku {
				sum += table[x*c.kv+y]
			}
			off += math.Abs(sum - columns[i*c.kv+y])
		}
		if !(off < 1e-12) {
			t.Fatalf("%s: edge %d: sums off by %v", what, i, off)
		}
	}
}

// TestConsistentAnyMass: whatever the masses, down to denormal ones and none, the sums are
// met, and where scaling alone gets there zeros stay zero.
func TestConsistentAnyMass(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(73, 74))
		for trial := range 600 {
			ku, kv, nats := 1+r.IntN(9), 1+r.IntN(9), []float64{3, 30, 700}[trial%3]
			c := newConsistentCase(t, r, 1+r.IntN(9), ku, kv, nats, []float64{0, 0.05, 0.5, 1}[trial%4])
			rows, columns := slices.Clone(c.rows), slices.Clone(c.columns)
			one := ku > 4 && kv > 4 && nats == 3 && trial%4 == 0 && rows[0]+columns[2] < 0.9
			if one {
				c.beliefs[2] = 0
			}
			with.consistent(c.beliefs, c.entropy, c.rows, c.columns, make([]float64, ConsistentRoom(ku, kv)), ku, kv, Finest)
			what := fmt.Sprintf("trial %d, %d×%d", trial, ku, kv)
			checkMarginals(t, what, c, rows, columns)
			if one && c.beliefs[2] != 0 {
				t.Fatalf("%s: entry 2 was 0 and is %v", what, c.beliefs[2])
			}
		}
	})
}

// TestConsistentAlone: what an edge gets depends neither on others nor on where it lies.
func TestConsistentAlone(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(75, 76))
		for _, shape := range [][2]int{{2, 2}, {5, 5}, {3, 8}, {16, 17}} {
			ku, kv := shape[0], shape[1]
			c := newConsistentCase(t, r, 19, ku, kv, 5, 0.02)
			scratch := uniformVector(ConsistentRoom(ku, kv))
			var alone []float64
			for i := range c.entropy {
				one := slices.Clone(c.beliefs[i*ku*kv:][:ku*kv])
				with.consistent(one, make([]float64, 1), slices.Clone(c.rows[i*ku:][:ku]), slices.Clone(c.columns[i*kv:][:kv]), scratch, ku, kv, how(10))
				alone = append(alone, one...)
			}
			with.consistent(c.beliefs, c.entropy, c.rows, c.columns, scratch, ku, kv, how(10))
			compare(t, fmt.Sprintf("%d×%d", ku, kv), c.beliefs, alone, 0, 0)
		}
	})
}

// TestConsistentBySpreading: where the sums can't be met without forbidden entries they are
// used, and a belief of 1e-310 is no reason to drop the edge.
func TestConsistentBySpreading(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for _, c := range [][]float64{ // the table, sums of its rows, sums of its columns
			{0.5, 0, 0, 0.5, 0.6, 0.4, 0.4, 0.6},
			{1e-310, 1, 0, 0, 1, 0, 1, 0},
		} {
			table := consistentCase{beliefs: slices.Clone(c[:4]), entropy: make([]float64, 1), ku: 2, kv: 2}
			with.consistent(table.beliefs, table.entropy, slices.Clone(c[4:6]), slices.Clone(c[6:]), make([]float64, ConsistentRoom(2, 2)), 2, 2, Finest)
			checkMarginals(t, fmt.Sprint(c), table, c[4:6], c[6:])
		}
	})
}

// how is Finest with so many scalings.
func how(scalings int) Scaling {
	return Scaling{Most: scalings, Newton: MaxNewton, Enough: Finest.Enough}
}
