package exact_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// grid returns a network with random factors on a grid with 4 neighbours.
func grid(rows, columns, states int) *mrf.Network {
	g, err := graph.Grid(rows, columns, graph.GridOptions{})
	if err != nil {
		panic(err)
	}
	card := slices.Repeat([]int32{int32(states)}, rows*columns)
	return oracle.RandomPairwise(rand.New(rand.NewPCG(4, 5)), g, card, 1, 0).Network()
}

func newPlan(t *testing.T, n *mrf.Network) *exact.Plan {
	t.Helper()
	return exact.NewPlan(n, math.Inf(1))
}

func TestTooWide(t *testing.T) {
	for _, c := range []struct {
		name       string
		network    *mrf.Network
		limit      int64
		marginals  bool
		lowerBound bool
		message    string
	}{
		{"small limit", grid(4, 4, 3), 100, true, false, "the limit is 100 B: raise the limit"},
		{"one table", everyPair(slices.Repeat([]int{2}, 33), 1), 0, false, false, "induced width 32 and needs 51.2 GiB of memory, the limit is 2.0 GiB"},
		{"marginals only", everyPair(slices.Repeat([]int{2}, 27), 1), 0, true, false, "needs 2.0 GiB of memory"},
		{"hopeless", grid(100, 100, 2), 1 << 62, false, true, "every elimination order tried passes induced width 42 and needs more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := newPlan(t, c.network)
			plan.Limit = cmp.Or(c.limit, plan.Limit)
			_, err := plan.Run(context.Background(), c.marginals)
			var wide *exact.TooWideError
			if !errors.As(err, &wide) {
				t.Fatalf("error is %v, want *TooWideError", err)
			}
			if wide.LowerBound != c.lowerBound || wide.Width != plan.Width {
				t.Errorf("error is %+v", wide)
			}
			oracle.WantError(t, err, c.message)
		})
	}
}

func TestLimitIsInclusive(t *testing.T) {
	plan := newPlan(t, grid(4, 4, 3))
	plan.Limit = plan.Bytes
	oracle.Must(plan.Run(context.Background(), true))(t)
	plan.Limit--
	oracle.Fails(plan.Run(context.Background(), true))(t, "raise the limit")
	if plan.Limit = plan.Bytes; plan.Bytes <= plan.PartitionBytes {
		t.Errorf("%d bytes with marginals, %d without", plan.Bytes, plan.PartitionBytes)
	}
}

func TestZeroPartition(t *testing.T) {
	zero := math.Inf(-1)
	for name, n := range map[string]*mrf.Network{
		"one factor": {Card: []int{2}, Factors: []mrf.Factor{{Scope: []int{0}, LogTable: []float64{zero, zero}}}},
		"constant":   {Card: []int{2}, Factors: []mrf.Factor{{LogTable: []float64{zero}}}},
		"contradiction": {Card: []int{2, 2}, Factors: []mrf.Factor{
			{Scope: []int{0, 1}, LogTable: []float64{0, zero, zero, 0}},
			{Scope: []int{0, 1}, LogTable: []float64{zero, 0, 0, zero}}}},
		"other component": {Card: []int{2, 3, 2}, Factors: []mrf.Factor{
			{Scope: []int{0}, LogTable: []float64{0, 1}},
			{Scope: []int{1, 2}, LogTable: []float64{zero, zero, zero, zero, zero, zero}}}},
		// The contradiction of a cycle: three variables that differ pairwise.
		"messages": {Card: []int{2, 2, 2}, Factors: []mrf.Factor{
			{Scope: []int{0, 1}, LogTable: []float64{zero, 1, 2, zero}},
			{Scope: []int{1, 2}, LogTable: []float64{zero, 1000, -1000, zero}},
			{Scope: []int{2, 0}, LogTable: []float64{zero, 1, 2, zero}}}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := newPlan(t, n)
			for _, marginals := range []bool{false, true} {
				if answer, err := plan.Run(context.Background(), marginals); !errors.Is(err, exact.ErrZero) {
					t.Errorf("marginals %v: answer is %v, %v, want ErrZero", marginals, answer, err)
				}
			}
		})
	}
}

func TestWithoutFactors(t *testing.T) {
	for _, card := range [][]int{nil, {1}, {3, 1, 4}} {
		answer := solve(t, &mrf.Network{Card: card})
		want := 0.0
		for v, states := range card {
			want += math.Log(float64(states))
			for _, p := range answer.Marginals[v] {
				oracle.Near(t, p, 1/float64(states), 1e-15, "marginal of %d", v)
			}
		}
		compareLogZ(t, answer.LogZ, want, 1e-14)
	}
}

// A hub multiplies thousands of messages, which leaves float64's range although every one of them is near 1.
func TestStar(t *testing.T) {
	const leaves = 3000
	n := &mrf.Network{Card: slices.Repeat([]int{2}, leaves+1)}
	for leaf := range leaves {
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{0, leaf + 1}, LogTable: []float64{0, 0, 0, math.Inf(-1)}})
	}
	answer := solve(t, n)
	// The hub is 0 and the leaves are free, or it is 1 and they are all 0.
	compareLogZ(t, answer.LogZ, leaves*math.Ln2, 1e-13)
	oracle.Near(t, answer.Marginals[leaves][1], 0.5, 1e-12, "P(leaf = 1)")
}

func TestLongChain(t *testing.T) {
	const length = 20000
	n := &mrf.Network{Card: slices.Repeat([]int{2}, length)}
	for v := range length - 1 {
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{v, v + 1}, LogTable: []float64{500, -500, -500, 500}})
	}
	answer := solve(t, n)
	compareLogZ(t, answer.LogZ, 500*(length-1)+math.Ln2, 1e-13)
	oracle.Near(t, answer.Marginals[length/2][1], 0.5, 1e-9, "P(middle = 1)")
}

func TestRunsAgreeToTheLastBit(t *testing.T) {
	n := grid(9, 9, 3)
	n.Factors[0].LogTable[0] = -5000 // some buckets in logarithms
	first := solve(t, n)
	second := solve(t, n)
	if first.LogZ != second.LogZ || !slices.EqualFunc(first.Marginals, second.Marginals, slices.Equal) {
		t.Error("two runs differ")
	}
}

func TestCancel(t *testing.T) {
	plan := newPlan(t, everyPair(slices.Repeat([]int{2}, 25), 1))
	for _, marginals := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		if _, err := plan.Run(ctx, marginals); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v, want a deadline exceeded", err)
		}
		cancel()
	}
}

// A state of probability e^−741, which no float64 holds in full precision, brings
// others with it along a chain: their marginals are of that size, too.
func TestDenormalProbabilities(t *testing.T) {
	const rare = -741
	zero := math.Inf(-1)
	n := &mrf.Network{Card: []int{2, 2, 2, 2, 2}, Factors: []mrf.Factor{{Scope: []int{2}, LogTable: []float64{0, rare}}}}
	for v := range 4 {
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{v, v + 1}, LogTable: []float64{0, zero, zero, 0}})
	}
	want := math.Exp(rare)
	for v, row := range solve(t, n).Marginals {
		if got := row[1]; !(got > 0.9*want && got < 1.1*want) {
			t.Errorf("variable %d: probability %v, want %v", v, got, want)
		}
	}
}
