package infer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// Where inference says that Z = 0 it is, with all counting numbers; and where Z = 0 nothing else is said but an upper
// bound or an approximation. On trees every contradiction is found.
func TestZeroIsProved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		card := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 5).Draw(t, "card")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := oracle.RandomNetwork(rng, card, rapid.IntRange(0, 9).Draw(t, "factors"), 2, 1.5, 0)
		for f := range n.Factors { // unlike those of the oracle, these may contradict each other
			for i := range n.Factors[f].LogTable {
				if rng.Float64() < 0.4 {
					n.Factors[f].LogTable[i] = math.Inf(-1)
				}
			}
		}
		logZ := oracle.NetworkLogZ(n)
		p := must(n.Pairwise())
		for _, counts := range []*counting.Numbers{counting.Convex(p.Graph), counting.Bethe(p.Graph), must(counting.SampledTreeReweighted(p.Graph, 1))} {
			r, err := beliefPropagation(context.Background(), p, counts, Limits{})
			switch {
			case errors.Is(err, ErrZero):
				if !math.IsInf(logZ, -1) {
					t.Errorf("%s: %v, but log Z is %v", counts.Name, err, logZ)
				}
			case err != nil:
				t.Errorf("%s: %v", counts.Name, err)
			case math.IsInf(logZ, -1) && (p.Graph.IsForest() || r.Bound == counting.Exact):
				t.Errorf("%s: %s log Z is %v, want the error that it is -Inf", counts.Name, r.Bound, r.LogZ)
			case r.Bound == counting.Upper && !(r.LogZ >= logZ-1e-9), r.Bound == counting.Exact && !(math.Abs(r.LogZ-logZ) < 1e-8):
				t.Errorf("%s: %s log Z is %v, in truth it is %v", counts.Name, r.Bound, r.LogZ, logZ)
			}
		}
	})
}

// Errors name variables and factors of the network that was given, not of what evidence left.
func TestLocate(t *testing.T) {
	no := math.Inf(-1)
	pair := func(u, v int, table ...float64) mrf.Factor { return mrf.Factor{Scope: []int{u, v}, LogTable: table} }
	for _, c := range []struct {
		name    string
		factors []mrf.Factor
		message string
	}{
		{"variable", []mrf.Factor{pair(3, 2, 0, 0, no, no), {Scope: []int{3}, LogTable: []float64{no, 0}}}, "variable 3: "},
		{"factor", []mrf.Factor{{LogTable: []float64{1}}, pair(0, 1, 0, 0, 0, 0), pair(2, 3, no, no, no, no)}, "variable 2 and variable 3: "},
		{"constant", []mrf.Factor{{LogTable: []float64{no}}}, "a factor without variables is zero"},
	} {
		n := &mrf.Network{Card: []int{2, 2, 2, 2}, Factors: c.factors}
		r := reduced(t, n, map[int]int{0: 1})
		_, err := beliefPropagation(context.Background(), r.pairwise, counting.Convex(r.pairwise.Graph), Limits{})
		located := r.locate(err)
		if !errors.Is(located, ErrZero) || !strings.HasPrefix(located.Error(), c.message) || !strings.Contains(located.Error(), "probability zero") {
			t.Errorf("%s: error is %v, want %q", c.name, located, c.message)
		}
	}
	r := reduced(t, &mrf.Network{Card: []int{1}}, nil)
	other := errors.New("other")
	oracle.Equal(t, r.locate(other), other, "another error")
}

// TestLargeFactors: as auxiliary variables they leave log Z, marginals and bounds what they are, and errors name them.
func TestLargeFactors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := source(rapid.Uint64().Draw(t, "seed"))
		n := oracle.RandomNetwork(rng, []int{2, 3, 1, 2, 2}, rapid.IntRange(1, 5).Draw(t, "factors"), 4, 1, 0.1)
		evidence := map[int]int{}
		if rapid.Bool().Draw(t, "evidence") {
			evidence[1] = 2
		}
		r := reduced(t, n, evidence)
		c := must(n.Condition(evidence))
		z := oracle.NetworkLogZ(c.Network)
		for _, counts := range []*counting.Numbers{counting.Convex(r.pairwise.Graph), counting.Bethe(r.pairwise.Graph), must(counting.SampledTreeReweighted(r.pairwise.Graph, 1))} {
			got, err := beliefPropagation(context.Background(), r.pairwise, counts, Limits{Tolerance: 1e-11, MaxSweeps: 3000})
			if errors.Is(err, ErrZero) && math.IsInf(z, -1) {
				continue
			}
			oracle.OK(t, err)
			switch {
			case got.Bound == counting.Exact && !(math.Abs(got.LogZ-z) <= 1e-8), got.Bound == counting.Upper && !(got.LogZ >= z-1e-8):
				t.Fatalf("%s: %s %v, log Z is %v", counts.Name, got.Bound, got.LogZ, z)
			case counts.Name == "bethe" && r.pairwise.Graph.IsForest() && got.Outcome.Converged:
				want, _ := oracle.NetworkMarginals(c.Network)
				for v := range want {
					for i, p := range want[v] {
						oracle.MustNear(t, got.Marginals[v][i], p, 1e-8, "P(x_%d = %d)", v, i)
					}
				}
			}
		}
	})
	n := &mrf.Network{Card: []int{2, 2, 2, 2}, Factors: []mrf.Factor{
		{LogTable: []float64{0}}, {Scope: []int{3, 0, 1, 2}, LogTable: slices.Repeat([]float64{math.Inf(-1)}, 16)},
	}}
	r := reduced(t, n, map[int]int{0: 1})
	oracle.Equal(t, r.numAuxiliary(), 1, "auxiliary variables")
	_, err := beliefPropagation(context.Background(), r.pairwise, counting.Convex(r.pairwise.Graph), Limits{})
	if located := r.locate(err); located == nil || !strings.HasPrefix(located.Error(), "factor 1 on variables [3 0 1 2]: ") {
		t.Errorf("error is %v", located)
	}
	tie := r.locate(&bp.NumericalError{Node: -1, Edge: 0, Reason: "x"})
	if !strings.HasPrefix(tie.Error(), "factor 1 on variables [3 0 1 2] and variable 3: ") {
		t.Errorf("error is %v", tie)
	}
}
