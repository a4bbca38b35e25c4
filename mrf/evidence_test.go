package mrf_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestWithEvidenceIsConditioned: log Z is that of the network without the observed
// variables, which have probability 1 at their states.
func TestWithEvidenceIsConditioned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		card := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 5).Draw(t, "card")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := oracle.RandomNetwork(rng, card, rapid.IntRange(0, 6).Draw(t, "factors"), 3, 1, 0.2)
		evidence := map[int]int{}
		for v, k := range card {
			if rapid.Bool().Draw(t, "observed") {
				evidence[v] = rapid.IntRange(0, k-1).Draw(t, "state")
			}
		}
		given, err := n.WithEvidence(evidence)
		if err != nil {
			t.Fatal(err)
		}
		conditioned, err := n.Condition(evidence)
		if err != nil {
			t.Fatal(err)
		}
		got, want := oracle.NetworkLogZ(given), oracle.NetworkLogZ(conditioned.Network)
		if got != want && !(math.Abs(got-want) < 1e-12*(1+math.Abs(want))) {
			t.Errorf("log Z is %v, conditioned %v", got, want)
		}
		if math.IsInf(want, -1) {
			return
		}
		marginals, _ := oracle.NetworkMarginals(given)
		for v, state := range evidence {
			if math.Abs(marginals[v][state]-1) > 1e-12 {
				t.Errorf("observed variable %d: %v", v, marginals[v])
			}
		}
		if len(n.Factors)+len(evidence) != len(given.Factors) || len(n.Card) != len(given.Card) {
			t.Error("variables or factors are lost")
		}
	})
	n := oracle.RandomNetwork(rand.New(rand.NewPCG(1, 1)), []int{2, 2}, 2, 2, 1, 0)
	for _, evidence := range []map[int]int{{2: 0}, {-1: 0}, {0: 2}, {0: -1}} {
		if _, err := n.WithEvidence(evidence); err == nil {
			t.Errorf("evidence %v was accepted", evidence)
		}
	}
}
