package mrf_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

func TestValidate(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	oracle.WantError(t, (*mrf.Network)(nil).Validate(), "the network is nil")
	for _, c := range []struct {
		name    string
		network mrf.Network
		message string // empty: valid
	}{
		{"empty", mrf.Network{}, ""},
		{"zero", mrf.Network{Card: []int{2}, Factors: []mrf.Factor{{Scope: []int{0}, LogTable: []float64{0, -inf}}}}, ""},
		{"constant", mrf.Network{Factors: []mrf.Factor{{LogTable: []float64{3}}}}, ""},
		{"no states", mrf.Network{Card: []int{2, 0}}, "variable 1 has 0 states"},
		{"negative variable", mrf.Network{Card: []int{2}, Factors: []mrf.Factor{{Scope: []int{-1}}}}, "factors[0]: variable -1 does not exist"},
		{"unknown variable", mrf.Network{Card: []int{2}, Factors: []mrf.Factor{{Scope: []int{0}, LogTable: []float64{0, 0}}, {Scope: []int{1}}}}, "factors[1]: variable 1 does not exist: variables are 0 to 0"},
		{"repeated variable", mrf.Network{Card: []int{2, 2}, Factors: []mrf.Factor{{Scope: []int{1, 1}}}}, "factors[0]: variable 1 occurs twice"},
		{"short table", mrf.Network{Card: []int{2, 3}, Factors: []mrf.Factor{{Scope: []int{0, 1}, LogTable: []float64{0}}}}, "factors[0]: 1 values in its table, want 6"},
		{"NaN", mrf.Network{Card: []int{2}, Factors: []mrf.Factor{{Scope: []int{0}, LogTable: []float64{0, nan}}}}, "factors[0]: logTable[1] = NaN"},
		{"+Inf", mrf.Network{Card: []int{2}, Factors: []mrf.Factor{{Scope: []int{0}, LogTable: []float64{inf, 0}}}}, "factors[0]: logTable[0] = +Inf"},
		{"overflow", mrf.Network{Card: []int{1 << 32, 1 << 32}, Factors: []mrf.Factor{{Scope: []int{0, 1}}}}, "factors[0]: a table over its scope of 2 variables would exceed"},
	} {
		err := c.network.Validate()
		if (err == nil) != (c.message == "") || err != nil && !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: error is %v, want %q", c.name, err, c.message)
		}
	}
}

func TestPairwiseMergesFactors(t *testing.T) {
	n := &mrf.Network{
		Card: []int{2, 3, 2},
		Factors: []mrf.Factor{
			{LogTable: []float64{10}},
			{Scope: []int{2, 0}, LogTable: []float64{1, 2, 3, 4}},
			{Scope: []int{1}, LogTable: []float64{1, 2, 3}},
			{Scope: []int{0, 1}, LogTable: []float64{0, 1, 2, 3, 4, 5}},
			{Scope: []int{1, 0}, LogTable: []float64{0, 10, 20, 30, 40, 50}},
			{Scope: []int{1}, LogTable: []float64{1, 1, math.Inf(-1)}},
			{LogTable: []float64{0.5}},
			{Scope: []int{2, 0}, LogTable: []float64{1, 1, 1, 1}},
		},
	}
	p, err := n.Pairwise()
	oracle.OK(t, err)
	u, v := p.Graph.Ends()
	if !slices.Equal(u, []int32{2, 0}) || !slices.Equal(v, []int32{0, 1}) {
		t.Errorf("edges are %v to %v", u, v)
	}
	oracle.Equal(t, p.Constant, 10.5, "constant")
	oracle.Equal(t, p.Node, []float64{0, 0, 2, 3, math.Inf(-1), 0, 0}, "node tables")
	oracle.Equal(t, p.Edge, []float64{2, 3, 4, 5, 0, 21, 42, 13, 34, 55}, "edge tables")
}

func TestPairwiseRefuses(t *testing.T) {
	cube := mrf.Factor{Scope: []int{2, 0, 1}, LogTable: make([]float64, 8)}
	_, err := (&mrf.Network{Card: []int{2, 2, 2}, Factors: []mrf.Factor{{LogTable: []float64{0}}, cube}}).Pairwise()
	if err == nil || !strings.Contains(err.Error(), "factors[1] joins 3 variables [2 0 1]") {
		t.Errorf("error is %v", err)
	}
	oracle.Fails((&mrf.Network{Card: []int{0}}).Pairwise())(t, "variable 0 has 0 states, want at least 1")
	oracle.Fails((&mrf.Network{Card: []int{1 << 40}}).Pairwise())(t,
		"variable 0 has 1099511627776 states, a pairwise network supports at most")
}

// A product beyond float64's range is not taken for a zero.
func TestPairwiseRefusesOverflow(t *testing.T) {
	const huge = math.MaxFloat64
	for _, scope := range [][]int{{}, {1}, {0, 1}, {1, 0}} {
		for _, value := range []float64{huge, -huge} {
			table := make([]float64, 1<<len(scope))
			table[len(table)-1] = value
			n := &mrf.Network{Card: []int{2, 2}, Factors: []mrf.Factor{{Scope: []int{0, 1}, LogTable: []float64{0, 0, 0, math.Inf(-1)}}}}
			if len(scope) == 2 {
				n.Factors[0].LogTable[3] = value
			}
			n.Factors = append(n.Factors, mrf.Factor{Scope: scope, LogTable: table}, mrf.Factor{Scope: scope, LogTable: table})
			first := 2
			if len(scope) == 2 {
				first = 1
			}
			if _, err := n.Pairwise(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("factors[%d]", first)) || !strings.Contains(err.Error(), "subtract") {
				t.Errorf("scope %v, %g: error is %v", scope, value, err)
			}
		}
	}
	zero := mrf.Factor{Scope: []int{0}, LogTable: []float64{math.Inf(-1), -huge}}
	if _, err := (&mrf.Network{Card: []int{2}, Factors: []mrf.Factor{zero, {Scope: []int{0}, LogTable: []float64{math.Inf(-1), 0}}}}).Pairwise(); err != nil {
		t.Error(err)
	}
}

// randomNetwork draws a network of up to 5 variables.
func randomNetwork(t *rapid.T, maxArity int) *mrf.Network {
	card := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 5).Draw(t, "card")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	return oracle.RandomNetwork(rng, card, rapid.IntRange(0, 8).Draw(t, "factors"), maxArity, 2, 0.2)
}

// eachState calls visit with every joint state.
func eachState(card []int, visit func(x []int)) {
	x := make([]int, len(card))
	for {
		visit(x)
		v := 0
		for ; v < len(x); v++ {
			if x[v]++; x[v] < card[v] {
				break
			}
			x[v] = 0
		}
		if v == len(x) {
			return
		}
	}
}

func same(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-12 }

func TestPairwiseKeepsScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := randomNetwork(t, 2)
		p, err := n.Pairwise()
		oracle.OK(t, err)
		back := p.Network()
		oracle.OK(t, back.Validate())
		eachState(n.Card, func(x []int) {
			want := n.LogScore(x)
			if got := p.Network().LogScore(x); !same(got, want) {
				t.Fatalf("pairwise score of %v is %v, want %v", x, got, want)
			}
			if got := back.LogScore(x); !same(got, want) {
				t.Fatalf("score of %v after the round trip is %v, want %v", x, got, want)
			}
		})
		again, err := back.Pairwise()
		oracle.OK(t, err)
		if difference := cmp.Diff(p, again, cmp.Comparer(func(a, b *graph.Graph) bool {
			au, av := a.Ends()
			bu, bv := b.Ends()
			return a.NumNodes() == b.NumNodes() && slices.Equal(au, bu) && slices.Equal(av, bv)
		})); difference != "" {
			t.Fatalf("Pairwise of Network differs:\n%s", difference)
		}
	})
}

func TestConditionKeepsScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := randomNetwork(t, 3)
		evidence := map[int]int{}
		for v, card := range n.Card {
			if rapid.Bool().Draw(t, "observed") {
				evidence[v] = rapid.IntRange(0, card-1).Draw(t, "state")
			}
		}
		c, err := n.Condition(evidence)
		oracle.OK(t, err)
		oracle.OK(t, c.Network.Validate())
		if len(c.Variable) != len(n.Card)-len(evidence) || len(c.Network.Factors) != len(n.Factors) {
			t.Fatalf("%d of %d variables and %d of %d factors are left", len(c.Variable), len(n.Card), len(c.Network.Factors), len(n.Factors))
		}
		eachState(c.Network.Card, func(x []int) {
			all := c.States(x)
			for v, state := range evidence {
				oracle.MustEqual(t, all[v], state, "state of %d", v)
			}
			if got, want := c.Network.LogScore(x), n.LogScore(all); !same(got, want) {
				t.Fatalf("score of %v is %v, want %v", x, got, want)
			}
		})
	})
}

func TestConditionRefuses(t *testing.T) {
	n := &mrf.Network{Card: []int{2, 3}}
	for message, evidence := range map[string]map[int]int{
		"evidence for variable 2, which does not exist": {2: 0, 3: 0},
		"evidence for variable -1":                      {-1: 0, 0: 9},
		"gives variable 1 state 3, want 0 to 2":         {1: 3},
		"gives variable 0 state -1":                     {0: -1},
	} {
		oracle.Fails(n.Condition(evidence))(t, message)
	}
}

func TestConditionedMarginals(t *testing.T) {
	n := &mrf.Network{Card: []int{2, 3, 2}}
	c := oracle.Must(n.Condition(map[int]int{1: 2}))(t)
	got := c.Marginals([][]float64{{0.25, 0.75}, {0.5, 0.5}})
	want := [][]float64{{0.25, 0.75}, {0, 0, 1}, {0.5, 0.5}}
	oracle.Equal(t, got, want, "marginals")
}
