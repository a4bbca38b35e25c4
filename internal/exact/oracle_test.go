package exact_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// solve runs a plan and checks what must hold for every answer.
func solve(t *testing.T, n *mrf.Network) *exact.Answer {
	t.Helper()
	plan := exact.NewPlan(n, math.Inf(1))
	answer := oracle.Must(plan.Run(context.Background(), true))(t)
	for i, row := range answer.Marginals {
		sum := 0.0
		for _, p := range row {
			if p < 0 || math.IsNaN(p) {
				t.Fatalf("marginal %d is %v", i, row)
			}
			sum += p
		}
		oracle.MustNear(t, sum, 1, 1e-12, "marginal %d sums to", i)
	}
	alone := oracle.Must(plan.Run(context.Background(), false))(t)
	oracle.MustEqual(t, alone.LogZ, answer.LogZ, "log Z alone, and with marginals")
	return answer
}

// compareRows fails if two sets of marginals differ.
func compareRows(t *testing.T, what string, got, want [][]float64, tolerance float64) {
	t.Helper()
	oracle.MustEqual(t, len(got), len(want), "how many %s", what)
	for i := range want {
		oracle.MustEqual(t, len(got[i]), len(want[i]), "entries of %s %d", what, i)
		for k := range want[i] {
			oracle.Near(t, got[i][k], want[i][k], tolerance, "%s %d entry %d", what, i, k)
		}
	}
}

func compareLogZ(t *testing.T, got, want, relative float64) {
	t.Helper()
	oracle.Near(t, got, want, relative*max(1, math.Abs(want)), "log Z")
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

// factorsOf returns the marginals of all factors, by the plan of a network of the same shape with other values.
func factorsOf(t *testing.T, n *mrf.Network) [][]float64 {
	t.Helper()
	shape := &mrf.Network{Card: n.Card}
	for _, f := range n.Factors {
		shape.Factors = append(shape.Factors, mrf.Factor{Scope: f.Scope, LogTable: make([]float64, len(f.LogTable))})
	}
	plan := exact.NewPlan(shape, math.Inf(1))
	answer := oracle.Must(plan.On(n).RunFactors(context.Background()))(t)
	return answer.Factors
}

// everyPair has random factors of all pairs of variables.
func everyPair(card []int, scale float64) *mrf.Network {
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
	return n
}

// Tables of more than one block need the outer loop.
func TestLargeTablesAgreeWithEnumeration(t *testing.T) {
	for _, card := range [][]int{
		{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, {3, 4, 2, 5, 3, 4, 2, 3, 2}, {7, 2, 1500},
		{2, 2, 2, 2, 2, 2, 2000},
	} {
		for _, scale := range []float64{1, 200} {
			n := everyPair(card, scale)
			got := solve(t, n)
			compareLogZ(t, got.LogZ, oracle.NetworkLogZ(n), 1e-12)
			variables, _ := oracle.NetworkMarginals(n)
			compareRows(t, "variable", got.Marginals, variables, 1e-10)
		}
	}
}
