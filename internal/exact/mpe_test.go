package exact

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// draw draws a network of up to 7 variables of 1 to 4 states: any arity up to
// maxArity, hard zeros, isolated variables, and ties where integers are drawn.
func draw(t *rapid.T, maxArity int) *mrf.Network {
	card := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 7).Draw(t, "card")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	zeros := rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(t, "zeros")
	n := oracle.RandomNetwork(rng, card, rapid.IntRange(0, 12).Draw(t, "factors"), maxArity, rapid.SampledFrom([]float64{0.5, 3, 1e4}).Draw(t, "scale"), zeros)
	if rapid.Bool().Draw(t, "ties") {
		for f := range n.Factors {
			for i, x := range n.Factors[f].LogTable {
				n.Factors[f].LogTable[i] = math.Round(x)
			}
		}
	}
	return n
}

// The methods by which solve finds a most probable state.
var methods = []string{"exact", "trws"}

func solve(ctx context.Context, n *mrf.Network, method string) (*Result, error) {
	switch method {
	case "exact":
		return NewPlan(n, math.Inf(1)).Maximize(ctx)
	default:
		return Sequential(ctx, n, nil, 0, 0)
	}
}

// check holds what must be true of every answer against enumeration.
func check(t interface{ Fatalf(string, ...any) }, n *mrf.Network, r *Result, err error) {
	_, best := oracle.NetworkMax(n)
	slack := 1e-10 * max(1, math.Abs(best))
	var notFound *NotFoundError
	switch {
	case errors.As(err, &notFound):
		return
	case errors.Is(err, ErrZero):
		if !math.IsInf(best, -1) {
			t.Fatalf("Z is called zero, but there is a state of score %v", best)
		}
		return
	case err != nil:
		t.Fatalf("%v", err)
	case math.IsInf(best, -1):
		t.Fatalf("%+v, but every joint state has probability zero", r)
	}
	if score := n.LogScore(r.States); !(math.Abs(score+r.Energy) <= slack) {
		t.Fatalf("energy %v, but the states have %v", r.Energy, -score)
	}
	if !(r.Energy >= -best-slack) || !(r.LowerBound <= -best+slack) || !(r.Gap() >= 0) {
		t.Fatalf("energy %v, bound %v, the smallest energy is %v", r.Energy, r.LowerBound, -best)
	}
	if r.Optimal && !(math.Abs(r.Energy+best) <= slack) {
		t.Fatalf("energy %v is called optimal, the smallest is %v", r.Energy, -best)
	}
	if r.Sweeps == 0 && !r.Optimal || r.Optimal && !r.Converged {
		t.Fatalf("%+v", r)
	}
}

// TestMethodsAgainstEnumeration: factors of any arity.
func TestMethodsAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := draw(t, 4)
		for _, method := range methods {
			r, err := solve(context.Background(), n, method)
			check(t, n, r, err)
			// So small a network is one region for the search after TRW-S.
			if _, best := oracle.NetworkMax(n); err != nil && !math.IsInf(best, -1) || err == nil && !(r.Energy <= -best+1e-10*max(1, math.Abs(best))) {
				t.Fatalf("%q: %+v, %v, the smallest energy is %v", method, r, err, -best)
			}
			again, errAgain := solve(context.Background(), n, method)
			if (err == nil) != (errAgain == nil) || err == nil && (!slices.Equal(again.States, r.States) || again.LowerBound != r.LowerBound) {
				t.Fatalf("%q: a second run gives %+v, %v, not %+v, %v", method, again, errAgain, r, err)
			}
		}
	})
}

// TestBoundsNeverFall: neither in forward nor in backward sweeps, and each is one.
func TestBoundsNeverFall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := draw(t, 3)
		p, factorOf, err := Pairwise(n)
		oracle.OK(t, err)
		possible, ok := gibbs.Possible(p)
		if !ok || math.IsInf(p.Constant, -1) {
			return
		}
		_, best := oracle.NetworkMax(n)
		s := newSequential(n, p, factorOf, possible)
		last := math.Inf(1)
		for sweep := range 30 {
			bound := s.sweep(sweep%2 == 0)
			slack := 1e-11 * max(1, s.size)
			if !(bound <= last+slack) || !(bound >= best-slack) {
				t.Fatalf("sweep %d: bound %v after %v, the largest score is %v", sweep, bound, last, best)
			}
			last = bound
		}
	})
}

// TestLocalSearch never makes a state worse, and ends where no variable alone can be improved.
func TestLocalSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := draw(t, 4)
		x := make([]int, len(n.Card))
		for v, card := range n.Card {
			x[v] = rapid.IntRange(0, card-1).Draw(t, "state")
		}
		l := newLocalSearch(n)
		before := l.place(x)
		after := l.improve(context.Background(), x)
		if before.above(after, 1e-9) {
			t.Fatalf("%v became %v", before, after)
		}
		if got := n.LogScore(x); (after.zeros == 0) != !math.IsInf(got, -1) || after.zeros == 0 && !(math.Abs(got-after.sum) <= 1e-9*(1+math.Abs(got))) {
			t.Fatalf("score %v of a state of score %v", after, got)
		}
		for v := range x {
			old := x[v]
			for x[v] = range n.Card[v] {
				if l.place(x).above(after, 1e-9*(1+math.Abs(after.sum))) {
					t.Fatalf("variable %d is better in state %d than in %d", v, x[v], old)
				}
			}
			x[v] = old
		}
	})
}

// TestRegions: a region gets its best states given the others, so the score never
// falls, and where a region is the whole network it is the largest.
func TestRegions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := draw(t, 3)
		if len(n.Card) == 0 {
			return
		}
		x := make([]int, len(n.Card))
		for v, card := range n.Card {
			x[v] = rapid.IntRange(0, card-1).Draw(t, "state")
		}
		r := newRegionSearch(newLocalSearch(n), x)
		size := rapid.IntRange(1, 4).Draw(t, "size")
		for range 3 * len(x) {
			r.size = size // of a region: the search would adapt it
			before := n.LogScore(x)
			r.move(context.Background())
			after := n.LogScore(x)
			slack := 1e-10 * (1 + math.Abs(before))
			if !math.IsInf(before, -1) && !(after >= before-slack) {
				t.Fatalf("score %v became %v", before, after)
			}
		}
		r.size = len(x)
		for range x {
			r.move(context.Background())
		}
		if _, best := oracle.NetworkMax(n); !math.IsInf(best, -1) && !(n.LogScore(x) >= best-1e-10*(1+math.Abs(best))) {
			t.Fatalf("score %v, the largest is %v", n.LogScore(x), best)
		}
	})
}

// TestSubmodular: on binary networks that are submodular, with states renamed at random, hard zeros and variables of
// one state, the relaxation has no gap, and the bound of the first sweeps comes near the optimum.
func TestSubmodular(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		g := must(gen.ErdosRenyi(rapid.IntRange(1, 9).Draw(t, "nodes"), 0.5, rng))
		card, flipped := make([]int32, g.NumNodes()), make([]bool, g.NumNodes())
		for s := range card {
			card[s] = 2 - rng.Int32N(8)/7
			flipped[s] = rng.IntN(2) == 0
		}
		p := oracle.RandomPairwise(rng, g, card, 2, rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "zeros"))
		makeSubmodular(p, flipped, rng)
		r, err := Sequential(t.Context(), p.Network(), p, 0, 0)
		check(t, p.Network(), r, err)
		if err == nil && r.Gap() > 1e-3*(1+math.Abs(r.Energy)) {
			t.Fatalf("a gap of %v at energy %v after %d sweeps", r.Gap(), r.Energy, r.Sweeps)
		}
	})
}

// makeSubmodular lowers the scores of edges where the ends, after renaming, differ,
// and forbids one or both of these states now and then.
func makeSubmodular(p *mrf.Pairwise, flipped []bool, rng *rand.Rand) {
	for e := range int32(p.Graph.NumEdges()) {
		u, v := p.Graph.U(e), p.Graph.V(e)
		if p.Card[u] < 2 || p.Card[v] < 2 {
			continue
		}
		table := p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]]
		for i := range table {
			if math.IsInf(table[i], -1) {
				table[i] = 0
			}
		}
		same := 0
		if flipped[u] != flipped[v] {
			same = 1
		}
		// Positions (0, same) and (1, 1−same) are of equal states.
		a, d, b, c := &table[same], &table[2+1-same], &table[1-same], &table[2+same]
		if w := *a + *d - *b - *c; w < 0 {
			*b += w - 1e-9 // rounding could leave it below 0
		}
		for _, x := range []*float64{b, c} {
			if rng.IntN(8) == 0 {
				*x = math.Inf(-1)
			}
		}
	}
}

// TestLargePotentialsHideNoGap: a frustrated triangle has a gap of 1, which potentials
// that all but forbid a third state must not make pass for rounding.
func TestLargePotentialsHideNoGap(t *testing.T) {
	n := &mrf.Network{Card: []int{3, 3, 3}}
	for v := range 3 {
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{v}, LogTable: []float64{0, 0, -1e14}},
			mrf.Factor{Scope: []int{v, (v + 1) % 3}, LogTable: []float64{0, 1, 0, 1, 0, 0, 0, 0, 0}})
	}
	r, err := solve(context.Background(), n, "trws")
	check(t, n, r, err)
	if r.Optimal || math.Abs(r.Gap()-1) > 1e-6 || r.Energy != -2 {
		t.Errorf("%+v, want a gap of 1", r)
	}
}

// TestErrors: sums that overflow, contradictions that are not seen at once.
func TestErrors(t *testing.T) {
	const huge = math.MaxFloat64
	overflow := &mrf.Network{Card: []int{2, 2}, Factors: []mrf.Factor{
		{Scope: []int{0}, LogTable: []float64{huge, huge}}, {Scope: []int{1}, LogTable: []float64{huge, huge}}, {Scope: []int{0, 1}, LogTable: []float64{huge, huge, huge, huge}},
	}}
	for _, method := range methods {
		if r, err := solve(context.Background(), overflow, method); err == nil {
			t.Errorf("%s: an overflow gives %+v", method, r)
		}
	}
	// Three nodes of two states on a triangle, all different: arc consistent, but impossible.
	inf := math.Inf(-1)
	different := []float64{inf, 0, 0, inf}
	triangle := &mrf.Network{Card: []int{2, 2, 2}, Factors: []mrf.Factor{
		{Scope: []int{0, 1}, LogTable: different}, {Scope: []int{1, 2}, LogTable: different}, {Scope: []int{0, 2}, LogTable: different},
	}}
	for method, want := range map[string]any{"exact": &ErrZero, "trws": new(*NotFoundError)} {
		_, err := solve(context.Background(), triangle, method)
		if want == any(&ErrZero) && !errors.Is(err, ErrZero) || want != any(&ErrZero) && !errors.As(err, want) {
			t.Errorf("%s: %v", method, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n := oracle.RandomNetwork(rand.New(rand.NewPCG(1, 1)), []int{2, 2, 2}, 8, 2, 1, 0)
	if r, err := solve(ctx, n, "trws"); err != nil || r.Sweeps != 1 {
		t.Errorf("cancelled: %+v, %v", r, err)
	}
	if _, err := solve(ctx, n, "exact"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
