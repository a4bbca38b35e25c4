package infer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// countsText is a counting-number file.
func countsText(node, edge []float64) string {
	var text bytes.Buffer
	for i, c := range node {
		fmt.Fprintf(&text, "node %d %v\n", i, c)
	}
	for e, c := range edge {
		fmt.Fprintf(&text, "edge %d %v\n", e, c)
	}
	return text.String()
}

// reduced conditions a network and brings it into pairwise form.
func reduced(t interface{ Fatal(...any) }, n *mrf.Network, evidence map[int]int) *reduction {
	r, err := reduce(n, evidence, func(*mrf.Network) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// solve infers a network with counting numbers given for it.
func solve(t interface{ Fatal(...any) }, r *reduction, node, edge []float64) (*fixedPoint, error) {
	counting, err := r.readCounting(strings.NewReader(countsText(node, edge)), "counts")
	if err != nil {
		t.Fatal(err)
	}
	return beliefPropagation(context.Background(), r.pairwise, counting, Limits{Tolerance: 1e-13, MaxSweeps: 100000})
}

// logSumExp returns c log Σ exp(x/c).
func logSumExp(c float64, x ...float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v / c)
	}
	return c * math.Log(sum)
}

// Two factors on one pair are one edge with the sum of their numbers: with
// c_s = 0 the value is c log Σ exp(θ/c) of the joint table.
func TestCountingOfFactorsOnOnePair(t *testing.T) {
	n := &mrf.Network{Card: []int{2, 2, 2}, Factors: []mrf.Factor{
		{Scope: []int{1, 0}, LogTable: []float64{1, 2, 3, 4}},
		{Scope: []int{2}, LogTable: []float64{0, 1}},
		{Scope: []int{0, 1}, LogTable: []float64{0.5, 0, -1, 0.25}},
	}}
	r := must(solve(t, reduced(t, n, nil), []float64{0, 0, 2}, []float64{0.75, 0.5}))
	want := logSumExp(1.25, 1+0.5, 2-1, 3+0, 4+0.25) + logSumExp(2, 0, 1)
	if math.Abs(r.LogZ-want) > 1e-10 {
		t.Errorf("value %v, want %v", r.LogZ, want)
	}
}

// randomPairwiseNetwork draws a network of factors of up to two variables and
// evidence on some of them. Factors may share their scopes, unless distinct.
func randomPairwiseNetwork(t *rapid.T, sharedScopes bool) (*mrf.Network, map[int]int) {
	card := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 5).Draw(t, "card")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	n := oracle.RandomNetwork(rng, card, rapid.IntRange(0, 9).Draw(t, "factors"), 2, 1.5, 0.2)
	if !sharedScopes {
		var factors []mrf.Factor
		seen := map[[2]int]bool{}
		for _, f := range n.Factors {
			if len(f.Scope) == 2 {
				pair := [2]int{min(f.Scope[0], f.Scope[1]), max(f.Scope[0], f.Scope[1])}
				if seen[pair] {
					continue
				}
				seen[pair] = true
			}
			factors = append(factors, f)
		}
		n.Factors = factors
	}
	evidence := map[int]int{}
	for v, k := range card {
		if rapid.Bool().Draw(t, "observed") {
			evidence[v] = rapid.IntRange(0, k-1).Draw(t, "state")
		}
	}
	return n, evidence
}

// Evidence can also be said by factors that are zero at all states but one. That
// needs no new counting numbers, so the same file gives the same value and
// beliefs.
func TestCountingWithEvidenceIsThatWithZeros(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, evidence := randomPairwiseNetwork(t, true)
		node, edge := make([]float64, len(n.Card)), []float64(nil)
		for i := range node {
			node[i] = rapid.Float64Range(0.1, 2).Draw(t, "c")
		}
		said := &mrf.Network{Card: n.Card, Factors: append([]mrf.Factor(nil), n.Factors...)}
		for f := range n.Factors {
			if len(n.Factors[f].Scope) == 2 {
				edge = append(edge, rapid.Float64Range(0.1, 2).Draw(t, "c"))
			}
		}
		for v, state := range evidence {
			zeros := make([]float64, n.Card[v])
			for i := range zeros {
				zeros[i] = math.Inf(-1)
			}
			zeros[state] = 0
			said.Factors = append(said.Factors, mrf.Factor{Scope: []int{v}, LogTable: zeros})
		}
		given := reduced(t, n, evidence)
		got, errGot := solve(t, given, node, edge)
		want, errWant := solve(t, reduced(t, said, nil), node, edge)
		if (errGot == nil) != (errWant == nil) {
			t.Fatalf("with evidence: %v; with zeros: %v", errGot, errWant)
		}
		if errGot != nil {
			if !errors.Is(errGot, ErrZero) || !errors.Is(errWant, ErrZero) {
				t.Fatal(errGot, errWant)
			}
			return
		}
		if !(math.Abs(got.LogZ-want.LogZ) < 1e-9*(1+math.Abs(want.LogZ))) || got.Bound != counting.Upper && got.Bound != counting.None && got.Bound != counting.Exact {
			t.Errorf("value with evidence %v, with zeros %v", got.LogZ, want.LogZ)
		}
		marginals, expected := given.conditioned.Marginals(got.nodeMarginals()), want.nodeMarginals()
		for v := range expected {
			for i := range expected[v] {
				if !(math.Abs(marginals[v][i]-expected[v][i]) < 1e-6) {
					t.Errorf("variable %d: %v with evidence, %v with zeros", v, marginals[v], expected[v])
				}
			}
		}
	})
}

func TestCountingRefuses(t *testing.T) {
	pair := func(u, v int) mrf.Factor { return mrf.Factor{Scope: []int{u, v}, LogTable: make([]float64, 4)} }
	n := &mrf.Network{Card: []int{2, 2, 2, 2}, Factors: []mrf.Factor{
		{LogTable: []float64{0}}, pair(0, 1), {Scope: []int{2}, LogTable: []float64{0, 0}}, pair(2, 3), pair(3, 2), pair(1, 2)}}
	triple := &mrf.Network{Card: []int{2, 2, 2}, Factors: []mrf.Factor{pair(0, 1), {Scope: []int{0, 1, 2}, LogTable: make([]float64, 8)}}}
	for _, c := range []struct {
		name           string
		network        *mrf.Network
		evidence       map[int]int
		text, messages string
	}{
		{"too few edges", n, nil, countsText([]float64{1, 1, 1, 1}, []float64{1, 1, 1}), "no line for edge 3|4 nodes and 4 edges"},
		{"of the reduced network", n, map[int]int{0: 1}, countsText([]float64{1, 1, 1}, []float64{1, 1}), "no line for node 3"},
		{"edge that is too large", n, nil, countsText([]float64{1, 1, 1, 1}, []float64{1, 1, 1, 1, 1}), `counts:9: |"4", want 0 to 3`},
		{"negative edge to evidence", n, map[int]int{0: 1}, countsText([]float64{1, 1, 9, 9}, []float64{-1, 1, 1, 1}), "counts:5: |edge 0"},
		{"negative node", n, map[int]int{0: 1}, countsText([]float64{1, 1, -9, 1}, []float64{1, 1, 1, 1}), "node 2: |sum to -6"},
		{"sum that is too large", n, nil, countsText([]float64{1, 1, 1, 1}, []float64{1, 1e100, 1e100, 1}), "numbered without observed"},
		{"larger factor", triple, map[int]int{2: 0}, countsText([]float64{1, 1, 1}, []float64{1}), "factor 1 joins 3 variables|use convex"},
	} {
		_, err := reduced(t, c.network, c.evidence).readCounting(strings.NewReader(c.text), "counts")
		if err == nil || !strings.HasPrefix(err.Error(), "counts:") {
			t.Errorf("%s: error is %v", c.name, err)
			continue
		}
		for _, message := range strings.Split(c.messages, "|") {
			if !strings.Contains(err.Error(), message) {
				t.Errorf("%s: error is %q, want %q", c.name, err, message)
			}
		}
	}
	// A larger factor of which evidence leaves one variable needs no number.
	if _, err := solve(t, reduced(t, triple, map[int]int{0: 1, 2: 0}), []float64{1, 1, 1}, []float64{1}); err != nil {
		t.Error(err)
	}
}
