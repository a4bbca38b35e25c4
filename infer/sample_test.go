package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// pearson compares how often each joint state was drawn with its probability, by enumeration. States expected less than
// 5 times are taken together. It returns the statistic less its mean, in standard deviations of a χ² distribution.
func pearson(t *testing.T, name string, p *mrf.Pairwise, s *Samples) (deviation float64) {
	t.Helper()
	seen, x := map[string]float64{}, make([]int32, len(p.Card))
	for i := range s.Len() {
		s.Draw(x, i)
		seen[fmt.Sprint(x)]++
	}
	n, logZ := float64(s.Len()), oracle.LogZ(p)
	statistic, cells, drawn, rareSeen, rareExpected := 0.0, 0, 0.0, 0.0, 0.0
	for _, state := range possibleJointStates(p) {
		expected, got := n*math.Exp(p.Network().LogScore(state)-logZ), seen[fmt.Sprint(state)]
		drawn += got
		if expected < 5 {
			rareSeen, rareExpected = rareSeen+got, rareExpected+expected
			continue
		}
		statistic += (got - expected) * (got - expected) / expected
		cells++
	}
	oracle.Equal(t, drawn, n, "%s: draws that are possible", name)
	if rareExpected > 1 {
		statistic += (rareSeen - rareExpected) * (rareSeen - rareExpected) / rareExpected
		cells++
	}
	if cells < 3 {
		t.Fatalf("%s: too few joint states to compare", name)
	}
	freedom := float64(cells - 1)
	return (statistic - freedom) / math.Sqrt(2*freedom)
}

// limitOfPearson is far out in the tail of χ² with some degrees of freedom, and at
// the near end of what a wrong sampler would give.
const limitOfPearson = 4.5

// TestExactSampling: frequencies on a random forest with hard zeros and different numbers of states, and log Z.
func TestExactSampling(t *testing.T) {
	for seed := range uint64(5) {
		rng := source(seed)
		// Two trees and a lone node, with edges in both directions.
		g := must(graph.FromEdges(6, []int32{1, 1, 5}, []int32{0, 2, 4}))
		p := oracle.RandomPairwise(rng, g, randomCards(rng, 6), 1, 0.2)
		p.Constant = 0.7
		s := must(Sample(context.Background(), p.Network(), SampleOptions{Draws: 20000, Seed: seed}))
		if z := oracle.LogZ(p); s.Method != Exact || !(math.Abs(s.LogZ-z) < 1e-12*(1+math.Abs(z))) || s.Diagnosis != nil || !s.Converged {
			t.Errorf("seed %d: %s sampling, log Z %v, want %v", seed, s.Method, s.LogZ, z)
		}
		if len(possibleJointStates(p)) < 4 {
			continue
		}
		if d := pearson(t, "exact", p, s); d > limitOfPearson {
			t.Errorf("seed %d: frequencies are %.1f standard deviations off", seed, d)
		}
	}
}

// TestExactSamplingOfLargerFactors: three variables of which an odd number is 1, one of them observed.
func TestExactSamplingOfLargerFactors(t *testing.T) {
	no := math.Inf(-1)
	n := &mrf.Network{Card: []int{2, 2, 2, 1}, Factors: []mrf.Factor{{Scope: []int{0, 1, 2}, LogTable: []float64{no, 0, 0, no, 0, no, no, 0}}, {Scope: []int{1}, LogTable: []float64{0, math.Log(3)}}}}
	s := must(Sample(context.Background(), n, SampleOptions{Evidence: map[int]int{0: 1}, Draws: 4000}))
	ones, x := 0, make([]int32, 4)
	for i := range s.Len() {
		if s.Draw(x, i); x[0] != 1 || x[1] != x[2] || x[3] != 0 {
			t.Fatalf("drew %v", x)
		}
		ones += int(x[1])
	}
	if ones < 2890 || ones > 3110 { // 3000 expected, standard deviation 27
		t.Errorf("state 1 has %d of 4000 draws, want about 3000", ones)
	}
	if _, err := Sample(context.Background(), n, SampleOptions{Method: Gibbs}); !errors.Is(err, ErrUnsuited) {
		t.Errorf("Gibbs sampling of a factor of three: %v", err)
	}
}

// TestGibbsSampling: frequencies of thinned draws on graphs with loops, and with
// hard zeros that leave everything within reach.
func TestGibbsSampling(t *testing.T) {
	for seed := range uint64(4) {
		rng := source(seed)
		g := must(graph.FromEdges(4, []int32{0, 2, 2, 3, 0}, []int32{1, 1, 0, 2, 3}))
		p := oracle.RandomPairwise(rng, g, []int32{2, 3, 3, 2}, 0.6, 0)
		for e := range g.NumEdges() { // no neighbours both in their last state: state 0 goes with everything
			p.Edge[p.EdgeAt[e+1]-1] = math.Inf(-1)
		}
		s := must(Sample(context.Background(), p.Network(), SampleOptions{Method: Gibbs, Draws: 20000, Thin: 8, BurnIn: 100, MaxRHat: 1.01, MinESS: 10000, Seed: seed}))
		if s.Method != Gibbs || !s.Converged || !math.IsNaN(s.LogZ) {
			t.Errorf("seed %d: %s sampling, irreducible %t, R-hat %v, %v effective draws", seed, s.Method, s.Diagnosis.Irreducible, s.Diagnosis.MaxRHat, s.Diagnosis.MinESS)
		}
		if d := pearson(t, "Gibbs", p, s); d > limitOfPearson {
			t.Errorf("seed %d: frequencies are %.1f standard deviations off", seed, d)
		}
	}
	// The same network by both samplers, where both apply.
	p := oracle.RandomPairwise(source(9), must(gen.Chain(4)), []int32{2, 3, 2, 3}, 0.5, 0)
	for _, sampler := range []Method{Gibbs, Exact} {
		s := must(Sample(context.Background(), p.Network(), SampleOptions{Method: sampler, Draws: 20000, Thin: 6}))
		if d := pearson(t, string(sampler), p, s); s.Method != sampler || d > limitOfPearson {
			t.Errorf("%s: frequencies are %.1f standard deviations off", sampler, d)
		}
	}
}

// TestEveryDrawIsPossible: with hard zeros of any kind, draws have a positive probability, what is
// refused is rightly refused, and chains that are said to reach everything do.
func TestEveryDrawIsPossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := zeroed(t)
		states := possibleJointStates(p)
		method := rapid.SampledFrom([]Method{"", Gibbs}).Draw(t, "method")
		s, err := Sample(context.Background(), p.Network(), SampleOptions{Method: method, Draws: 8, BurnIn: 3, Thin: 1, Chains: rapid.IntRange(1, 5).Draw(t, "chains"), Seed: rapid.Uint64().Draw(t, "draws")})
		switch {
		case errors.Is(err, ErrZero):
			if len(states) > 0 {
				t.Errorf("%v, but %v is possible", err, states[0])
			}
		case errors.Is(err, ErrUnsuited):
			if method == "" {
				t.Errorf("%v, but elimination suits every small network", err)
			}
			if len(states) > 1 && connected(states) == len(states) {
				t.Errorf("%v, but one node at a time reaches everything", err)
			}
		case err != nil:
			t.Error(err)
		default:
			if s.Diagnosis != nil && s.Diagnosis.Irreducible && connected(states) < len(states) {
				t.Errorf("one node at a time reaches %d of %d joint states", connected(states), len(states))
			}
			x := make([]int32, len(p.Card))
			for i := range s.Len() {
				if s.Draw(x, i); math.IsInf(p.Network().LogScore(toInt(x)), -1) {
					t.Errorf("%s sampling drew %v, which is impossible", s.Method, x)
				}
			}
		}
	})
}

// TestSamplesAreReproducible: the same draws for any number of threads, and with another seed others.
func TestSamplesAreReproducible(t *testing.T) {
	equal := func(a, b [][]int32) bool { return slices.EqualFunc(a, b, slices.Equal) }
	g := must(graph.Grid(70, 70, graph.GridOptions{}))
	tree := must(gen.Tree(50, source(2)))
	for name, p := range map[string]*mrf.Pairwise{
		"grid": oracle.RandomPairwise(source(1), g, slices.Repeat([]int32{3}, 4900), 1, 0),
		"tree": oracle.RandomPairwise(source(1), tree, slices.Repeat([]int32{3}, 50), 1, 0),
	} {
		settings := SampleOptions{Draws: 9, Chains: 2, BurnIn: 3, Thin: 2, Seed: 5, Threads: 1}
		one := must(Sample(context.Background(), p.Network(), settings))
		for _, threads := range []int{2, 8} {
			settings.Threads = threads
			if other := must(Sample(context.Background(), p.Network(), settings)); !equal(one.drawn, other.drawn) ||
				!slices.Equal(one.Chain, other.Chain) {
				t.Errorf("%s: other draws with %d threads", name, threads)
			}
		}
		settings.Part = 1
		if equal(one.drawn, must(Sample(context.Background(), p.Network(), settings)).drawn) {
			t.Errorf("%s: the same draws in another part", name)
		}
		settings.Part, settings.Seed = 0, 6
		if equal(one.drawn, must(Sample(context.Background(), p.Network(), settings)).drawn) {
			t.Errorf("%s: the same draws with another seed", name)
		}
		if name == "grid" && (!slices.Equal(one.Chain, []int32{0, 0, 0, 0, 0, 1, 1, 1, 1}) || !slices.Equal(one.Sweep, []int32{5, 7, 9, 11, 13, 5, 7, 9, 11})) {
			t.Errorf("chains %v, sweeps %v", one.Chain, one.Sweep)
		}
	}
}

// TestManyStates: more than a byte holds.
func TestManyStates(t *testing.T) {
	g := must(graph.FromEdges(2, nil, nil))
	p := oracle.RandomPairwise(source(1), g, []int32{300, 2}, 0.1, 0)
	for _, sampler := range []Method{Exact, Gibbs} {
		s := must(Sample(context.Background(), p.Network(), SampleOptions{Method: sampler, Draws: 2000, Thin: 1}))
		x, beyond := make([]int32, 2), 0
		for i := range s.Len() {
			s.Draw(x, i)
			if x[0] > 255 {
				beyond++
			}
		}
		if beyond < 200 || beyond > 400 { // 44 of 300 states: 293 expected, standard deviation 16
			t.Errorf("%s: %d of 2000 draws are beyond state 255", sampler, beyond)
		}
	}
}

// TestSamplingErrors: what cannot be drawn from, and why.
func TestSamplingErrors(t *testing.T) {
	no := math.Inf(-1)
	ring := must(graph.FromEdges(3, []int32{0, 1, 2}, []int32{1, 2, 0}))
	network := func(table ...float64) *mrf.Pairwise {
		p := &mrf.Pairwise{Graph: ring, Card: []int32{2, 2, 2}, NodeAt: []int{0, 2, 4, 6}, EdgeAt: []int{0}, Node: make([]float64, 6)}
		for range 3 {
			p.Edge = append(p.Edge, table...)
			p.EdgeAt = append(p.EdgeAt, len(p.Edge))
		}
		return p
	}
	var (
		numerical *bp.NumericalError
		setting   *OptionError
	)
	if _, err := Sample(context.Background(), network(no, 0, 0, no).Network(), SampleOptions{}); !errors.Is(err, ErrZero) {
		t.Errorf("a ring of three, no two equal, of two states: %v", err)
	}
	if _, err := Sample(context.Background(), network(0, no, no, 0).Network(), SampleOptions{Method: Gibbs}); !errors.Is(err, ErrUnsuited) {
		t.Errorf("all equal: %v", err)
	}
	oracle.Fails(Sample(context.Background(), network(0, math.NaN(), 0, 0).Network(), SampleOptions{}))(t, "NaN")
	huge := network(0, math.MaxFloat64, 0, 0)
	if _, err := Sample(context.Background(), huge.Network(), SampleOptions{}); !errors.As(err, &numerical) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("overflow: %v", err)
	}
	fine := network(0, 0, 0, 1)
	for _, c := range []struct {
		settings SampleOptions
		want     string
	}{
		{SampleOptions{Method: "exat"}, "Method"}, {SampleOptions{Draws: -1}, "Draws"},
		{SampleOptions{Draws: 1 << 30}, "Draws"}, {SampleOptions{Chains: -1}, "Chains"}, {SampleOptions{Thin: -1}, "Thin"},
		{SampleOptions{Method: Gibbs, Thin: 1 << 30}, "Thin"}, {SampleOptions{Threads: -1}, "Threads"},
	} {
		if _, err := Sample(t.Context(), fine.Network(), c.settings); !errors.As(err, &setting) || setting.Option != c.want {
			t.Errorf("%+v: error %v, want one of %s", c.settings, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, p := range []*mrf.Pairwise{fine, oracle.RandomPairwise(source(1), must(gen.Chain(3)), []int32{2, 2, 2}, 1, 0)} {
		if _, err := Sample(ctx, p.Network(), SampleOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	}
}

// TestLockedChains: hard zeros that divide the joint states into parts are seen in
// the diagnosis where chains begin in several, and never called converged.
func TestLockedChains(t *testing.T) {
	no := math.Inf(-1)
	// A ring of four: 0 and 1 go together, and so do 2 and 3; the two pairs do not.
	g := must(graph.Grid(2, 2, graph.GridOptions{}))
	p := &mrf.Pairwise{Graph: g, Card: []int32{4, 4, 4, 4}, NodeAt: []int{0, 4, 8, 12, 16}, EdgeAt: []int{0}, Node: make([]float64, 16)}
	for range 4 {
		p.Edge = append(p.Edge, 0, 0, no, no, 0, 0, no, no, no, no, 0, 0, no, no, 0, 0)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	apart := 0
	for seed := range uint64(5) {
		s := must(Sample(context.Background(), p.Network(), SampleOptions{Method: Gibbs, Seed: seed, Chains: 6}))
		if s.Converged || s.Diagnosis.Irreducible {
			t.Errorf("seed %d: locked chains are said to reach everything", seed)
		}
		if s.Diagnosis.MaxRHat > 1.2 {
			apart++
		}
	}
	if apart < 4 {
		t.Errorf("the diagnosis saw chains apart in %d of 5 runs", apart)
	}
}
