package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// TestWithAuxiliary: the pairwise network has the same log Z, marginals and largest score.
func TestWithAuxiliary(t *testing.T) {
	drawn, enumerated := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		card := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 5).Draw(t, "card")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := oracle.RandomNetwork(rng, card, rapid.IntRange(0, 8).Draw(t, "factors"), 3, 2, 0.2)
		if len(n.Card) == 5 { // auxiliary variables multiply the joint states
			n.Card = n.Card[:4]
			for f := 0; f < len(n.Factors); f++ {
				if anyAtLeast(n.Factors[f].Scope, 4) {
					n.Factors = append(n.Factors[:f], n.Factors[f+1:]...)
					f--
				}
			}
		}
		a, factorOf, err := WithAuxiliary(n)
		oracle.OK(t, err)
		oracle.OK(t, a.Validate())
		oracle.Must(a.Pairwise())(t)
		oracle.MustEqual(t, len(factorOf), len(a.Card)-len(n.Card), "factors of auxiliary variables")
		if size, ok := a.TableSize(all(len(a.Card))); !ok || size > oracle.MaxStates/4 {
			return // too many joint states to enumerate: the structure was looked at
		}
		enumerated++
		want, got := oracle.NetworkLogZ(n), oracle.NetworkLogZ(a)
		if !near(got, want) && !(math.Abs(got-want) < 1e-10) {
			t.Fatalf("log Z is %v, want %v", got, want)
		}
		if math.IsInf(want, -1) {
			return
		}
		marginals, _ := oracle.NetworkMarginals(n)
		extended, _ := oracle.NetworkMarginals(a)
		for v := range marginals {
			for i := range marginals[v] {
				oracle.MustNear(t, marginals[v][i], extended[v][i], 1e-10, "P(x_%d = %d)", v, i)
			}
		}
		_, best := oracle.NetworkMax(n)
		if x, score := oracle.NetworkMax(a); !near(score, best) || !near(n.LogScore(x[:len(n.Card)]), best) {
			t.Fatalf("largest score is %v, want %v", score, best)
		}
	})
	if enumerated < drawn/2 {
		t.Errorf("%d of %d networks were small enough to be enumerated", enumerated, drawn)
	}
}

func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func anyAtLeast(values []int, least int) bool {
	for _, v := range values {
		if v >= least {
			return true
		}
	}
	return false
}

// TestWithAuxiliaryRefuses a table whose ties would not fit into memory.
func TestWithAuxiliaryRefuses(t *testing.T) {
	n := &mrf.Network{Card: []int{128, 128, 128}, Factors: []mrf.Factor{{}, {Scope: []int{0, 1, 2}, LogTable: make([]float64, 1<<21)}}}
	n.Factors[0].LogTable = []float64{0}
	_, _, err := WithAuxiliary(n)
	oracle.WantError(t, err, "factors[1] joins 3 variables")
}

func near(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-12 }
