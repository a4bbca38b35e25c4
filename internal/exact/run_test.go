package exact_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// pairs returns a network with a random factor for each pair of variables.
func pairs(numVariables, states int, list [][2]int) *mrf.Network {
	rng := rand.New(rand.NewPCG(4, 5))
	n := &mrf.Network{Card: slices.Repeat([]int{states}, numVariables)}
	for _, pair := range list {
		table := make([]float64, states*states)
		for i := range table {
			table[i] = rng.NormFloat64()
		}
		n.Factors = append(n.Factors, mrf.Factor{Scope: pair[:], LogTable: table})
	}
	return n
}

// complete returns a network in which every two variables share a factor.
func complete(numVariables, states int) *mrf.Network {
	var list [][2]int
	for v := range numVariables {
		for w := range v {
			list = append(list, [2]int{w, v})
		}
	}
	return pairs(numVariables, states, list)
}

// grid returns a network on a grid with 4 neighbours.
func grid(rows, columns, states int) *mrf.Network {
	var list [][2]int
	for v := range rows * columns {
		if v%columns+1 < columns {
			list = append(list, [2]int{v, v + 1})
		}
		if v+columns < rows*columns {
			list = append(list, [2]int{v, v + columns})
		}
	}
	return pairs(rows*columns, states, list)
}

func newPlan(t *testing.T, n *mrf.Network) *exact.Plan {
	t.Helper()
	plan := oracle.Must(exact.NewPlan(n))(t)
	return plan
}

func TestPlanRefusesInvalidNetwork(t *testing.T) {
	_, err := exact.NewPlan(&mrf.Network{Card: []int{2}, Factors: []mrf.Factor{{Scope: []int{1}, LogTable: []float64{0, 0}}}})
	if err == nil || !strings.Contains(err.Error(), "factors[0]: variable 1 does not exist") {
		t.Errorf("error is %v", err)
	}
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
		{"one table", complete(33, 2), 0, false, false, "induced width 32 and needs 51.2 GiB of memory, the limit is 2.0 GiB"},
		{"marginals only", complete(27, 2), 0, true, false, "needs 2.0 GiB of memory"},
		{"hopeless", grid(100, 100, 2), 1 << 62, false, true, "every elimination order tried passes induced width 42 and needs more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := newPlan(t, c.network)
			plan.Limit = c.limit
			_, err := plan.Run(context.Background(), c.marginals)
			var wide *exact.TooWideError
			if !errors.As(err, &wide) {
				t.Fatalf("error is %v, want *TooWideError", err)
			}
			if wide.LowerBound != c.lowerBound || wide.Width != plan.Width {
				t.Errorf("error is %+v", wide)
			}
			if !strings.Contains(err.Error(), c.message) {
				t.Errorf("message is %q, want it to say %q", err, c.message)
			}
		})
	}
}

func TestLimitIsInclusive(t *testing.T) {
	plan := newPlan(t, grid(4, 4, 3))
	plan.Limit = plan.Bytes
	if _, err := plan.Run(context.Background(), true); err != nil {
		t.Error(err)
	}
	plan.Limit--
	if _, err := plan.Run(context.Background(), true); err == nil {
		t.Error("one byte less than the forecast was accepted")
	}
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
			answer, err := plan.Run(context.Background(), false)
			if err != nil || !math.IsInf(answer.LogZ, -1) {
				t.Errorf("answer is %v, %v, want log Z = -Inf", answer, err)
			}
			answer, err = plan.Run(context.Background(), true)
			if !errors.Is(err, exact.ErrZeroPartition) || answer == nil || !math.IsInf(answer.LogZ, -1) {
				t.Errorf("answer is %v, %v, want log Z = -Inf with ErrZeroPartition", answer, err)
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
				if math.Abs(p-1/float64(states)) > 1e-15 {
					t.Errorf("marginal of %d is %v", v, answer.Marginals[v])
				}
			}
		}
		compareLogZ(t, answer.LogZ, want, 1e-14)
	}
}

// A hub multiplies thousands of messages, which leaves float64's range although
// every one of them is near 1.
func TestStar(t *testing.T) {
	const leaves = 3000
	n := &mrf.Network{Card: slices.Repeat([]int{2}, leaves+1)}
	for leaf := range leaves {
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{0, leaf + 1}, LogTable: []float64{0, 0, 0, math.Inf(-1)}})
	}
	answer := solve(t, n)
	// The hub is 0 and the leaves are free, or it is 1 and they are all 0.
	compareLogZ(t, answer.LogZ, leaves*math.Ln2, 1e-13)
	if p := answer.Marginals[leaves][1]; math.Abs(p-0.5) > 1e-12 {
		t.Errorf("P(leaf = 1) = %v, want 1/2", p)
	}
}

func TestLongChain(t *testing.T) {
	const length = 20000
	n := &mrf.Network{Card: slices.Repeat([]int{2}, length)}
	for v := range length - 1 {
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{v, v + 1}, LogTable: []float64{500, -500, -500, 500}})
	}
	answer := solve(t, n)
	compareLogZ(t, answer.LogZ, 500*(length-1)+math.Ln2, 1e-13)
	if p := answer.Marginals[length/2][1]; math.Abs(p-0.5) > 1e-9 {
		t.Errorf("P(middle = 1) = %v, want 1/2", p)
	}
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

func TestPlanIsRunAgainWithOtherValues(t *testing.T) {
	n := grid(3, 3, 2)
	plan := newPlan(t, n)
	for _, value := range []float64{2, -700, math.Inf(-1)} {
		n.Factors[3].LogTable[1] = value
		answer := oracle.Must(plan.Run(context.Background(), true))(t)
		compareLogZ(t, answer.LogZ, oracle.NetworkLogZ(n), 1e-12)
		want, _ := oracle.NetworkMarginals(n)
		compareRows(t, "variable", answer.Marginals, want, 1e-11)
	}
}

func TestCancel(t *testing.T) {
	plan := newPlan(t, complete(25, 2))
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

// solve runs a plan and checks what must hold for every
// answer.
func solve(t *testing.T, n *mrf.Network) *exact.Answer {
	t.Helper()
	plan := oracle.Must(exact.NewPlan(n))(t)
	answer := oracle.Must(plan.Run(context.Background(), true))(t)
	for i, row := range answer.Marginals {
		sum := 0.0
		for _, p := range row {
			if p < 0 || math.IsNaN(p) {
				t.Fatalf("marginal %d is %v", i, row)
			}
			sum += p
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("marginal %d sums to %v", i, sum)
		}
	}
	alone, err := plan.Run(context.Background(), false)
	if err != nil || alone.LogZ != answer.LogZ {
		t.Fatalf("log Z alone is %v, %v; with marginals %v", alone.LogZ, err, answer.LogZ)
	}
	return answer
}

// compareRows fails if two sets of marginals differ.
func compareRows(t *testing.T, what string, got, want [][]float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d %s, want %d", len(got), what, len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("%s %d has %d entries, want %d", what, i, len(got[i]), len(want[i]))
		}
		for k := range want[i] {
			if !(math.Abs(got[i][k]-want[i][k]) <= tolerance) {
				t.Errorf("%s %d entry %d: got %v, want %v", what, i, k, got[i][k], want[i][k])
			}
		}
	}
}

func compareLogZ(t *testing.T, got, want, relative float64) {
	t.Helper()
	if !(math.Abs(got-want) <= relative*max(1, math.Abs(want))) {
		t.Errorf("log Z = %.17g, want %.17g", got, want)
	}
}

func TestAgreesWithEnumeration(t *testing.T) {
	for _, scale := range []float64{0, 1, 40, 300, 1e4} {
		for _, zeros := range []float64{0, 0.3, 0.8} {
			t.Run(fmt.Sprintf("scale=%g/zeros=%g", scale, zeros), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(scale+10*zeros)))
				for range 40 {
					card := make([]int, 1+rng.IntN(7))
					for v := range card {
						card[v] = 1 + rng.IntN(4)
					}
					n := oracle.RandomNetwork(rng, card, rng.IntN(14), 3, scale, zeros)
					got := solve(t, n)
					compareLogZ(t, got.LogZ, oracle.NetworkLogZ(n), 1e-12)
					variables, factors := oracle.NetworkMarginals(n)
					compareRows(t, "variable", got.Marginals, variables, 1e-10)
					compareRows(t, "factor", factorsOf(t, n), factors, 1e-10)
				}
			})
		}
	}
}

// factorsOf returns the marginals of all factors, by the plan of a network of the same
// shape with other values.
func factorsOf(t *testing.T, n *mrf.Network) [][]float64 {
	t.Helper()
	shape := &mrf.Network{Card: n.Card}
	for _, f := range n.Factors {
		shape.Factors = append(shape.Factors, mrf.Factor{Scope: f.Scope, LogTable: make([]float64, len(f.LogTable))})
	}
	plan := oracle.Must(exact.NewPlan(shape))(t)
	answer := oracle.Must(plan.On(n).RunFactors(context.Background()))(t)
	return answer.Factors
}

// Tables of more than one block need the outer loop.
func TestLargeTablesAgreeWithEnumeration(t *testing.T) {
	for _, card := range [][]int{
		{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
		{3, 4, 2, 5, 3, 4, 2, 3, 2},
		{7, 2, 1500},
		{2, 2, 2, 2, 2, 2, 2000},
	} {
		for _, scale := range []float64{1, 200} {
			rng := rand.New(rand.NewPCG(2, 3))
			n := &mrf.Network{Card: card}
			for v := range card {
				for w := range v {
					table := make([]float64, card[v]*card[w])
					for i := range table {
						table[i] = scale * rng.NormFloat64()
					}
					n.Factors = append(n.Factors, mrf.Factor{Scope: []int{v, w}, LogTable: table})
				}
			}
			got := solve(t, n)
			compareLogZ(t, got.LogZ, oracle.NetworkLogZ(n), 1e-12)
			variables, _ := oracle.NetworkMarginals(n)
			compareRows(t, "variable", got.Marginals, variables, 1e-10)
		}
	}
}

func TestReferenceModels(t *testing.T) {
	for _, name := range []string{"ba20_K3", "chain30_K3", "mixedcard12", "grid4x4_K3_huge"} {
		t.Run(name, func(t *testing.T) {
			reference := oracle.Must(oracle.LoadReference(oracle.SharedData(t, "reference", name)))(t)
			want := reference.Solutions["exact"]
			got := solve(t, reference.Model.Network())
			compareLogZ(t, got.LogZ, want.LogZ, 1e-12)
			compareRows(t, "node", got.Marginals, want.Nodes, 1e-10)
		})
	}
}

// maximize returns the answer for a network that has one.
func maximize(t testing.TB, n *mrf.Network) *exact.Maximum {
	t.Helper()
	plan := oracle.Must(exact.NewPlan(n))(t)
	got := oracle.Must(plan.Maximize(context.Background()))(t)
	if score := n.LogScore(got.States); score != got.LogScore {
		t.Fatalf("score %v, but the states have %v", got.LogScore, score)
	}
	return got
}

// TestMaximizeAgreesWithEnumeration: any arity, mixed numbers of states, hard
// zeros, and ties, which rounding the potentials to integers makes frequent.
func TestMaximizeAgreesWithEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		card := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 7).Draw(t, "card")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := oracle.RandomNetwork(rng, card, rapid.IntRange(0, 12).Draw(t, "factors"), 4, rapid.SampledFrom([]float64{0.5, 3, 1e4}).Draw(t, "scale"), 0.3)
		ties := rapid.Bool().Draw(t, "ties")
		for f := range n.Factors {
			for i, x := range n.Factors[f].LogTable {
				if ties {
					n.Factors[f].LogTable[i] = math.Round(x)
				}
			}
		}
		plan, err := exact.NewPlan(n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan.Maximize(context.Background())
		_, want := oracle.NetworkMax(n)
		if math.IsInf(want, -1) {
			if !errors.Is(err, exact.ErrZeroPartition) {
				t.Fatalf("Z = 0: %+v, %v", got, err)
			}
			return
		}
		if err != nil || !(math.Abs(got.LogScore-want) <= 1e-12*max(1, math.Abs(want))) || n.LogScore(got.States) != got.LogScore {
			t.Fatalf("got %+v, %v, want score %v", got, err, want)
		}
	})
}

// TestMaximizeLargeTables needs the outer loop, and choices of two bytes.
func TestMaximizeLargeTables(t *testing.T) {
	for _, card := range [][]int{{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, {7, 2, 1500}, {2, 2, 2, 2, 2, 2, 2000}, {70000, 3}} {
		rng := rand.New(rand.NewPCG(2, 3))
		n := &mrf.Network{Card: card}
		for v := range card {
			for w := range v {
				table := make([]float64, card[v]*card[w])
				for i := range table {
					table[i] = rng.NormFloat64()
				}
				n.Factors = append(n.Factors, mrf.Factor{Scope: []int{v, w}, LogTable: table})
			}
		}
		states, want := oracle.NetworkMax(n)
		if got := maximize(t, n); math.Abs(got.LogScore-want) > 1e-12*want || !slices.Equal(got.States, states) {
			t.Errorf("%v: got %+v, want %v with %v", card, got, states, want)
		}
	}
}

// TestMaximizeRefuses: too wide, cancelled, impossible and overflowing.
func TestMaximizeRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	n := oracle.RandomNetwork(rng, []int{2, 2, 2, 2, 2, 2}, 20, 3, 1, 0)
	plan, err := exact.NewPlan(n)
	if err != nil {
		t.Fatal(err)
	}
	plan.Limit = plan.MaximumBytes - 1
	var wide *exact.TooWideError
	if _, err := plan.Maximize(context.Background()); !errors.As(err, &wide) || wide.Bytes != plan.MaximumBytes {
		t.Errorf("one byte too little: %v", err)
	}
	plan.Limit++
	if _, err := plan.Maximize(context.Background()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := plan.Maximize(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	huge := mrf.Factor{Scope: []int{0}, LogTable: []float64{math.MaxFloat64, math.MaxFloat64}}
	if plan, err = exact.NewPlan(&mrf.Network{Card: []int{2}, Factors: []mrf.Factor{huge, huge}}); err != nil {
		t.Fatal(err)
	}
	if got, err := plan.Maximize(context.Background()); err == nil {
		t.Errorf("overflow: %+v", got)
	}
}

// shortOperations is the size up to which networks are run by go test -short.
const shortOperations = 5e7

func TestCompetitionNetworks(t *testing.T) {
	oracle.Long(t)
	text := oracle.Must(os.ReadFile(oracle.SharedData(t, "uai", "exact_logZ.tsv")))(t)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		t.Run(fields[0], func(t *testing.T) {
			want := oracle.Must(strconv.ParseFloat(fields[1], 64))(t)
			n := oracle.Must(uai.ReadFile(oracle.SharedData(t, "uai", fields[0]+".uai")))(t)
			plan := oracle.Must(exact.NewPlan(n))(t)
			if testing.Short() && plan.Operations > shortOperations {
				t.Skipf("skipped by -short: %.2g operations", plan.Operations)
			}
			answer := oracle.Must(plan.Run(context.Background(), false))(t)
			// The file has eight digits after the point.
			if got := answer.LogZ / math.Ln10; math.Abs(got-want) > 1e-8*math.Abs(want)+5e-9 {
				t.Errorf("log10 Z = %.10f, want %.10f", got, want)
			}
		})
	}
}
