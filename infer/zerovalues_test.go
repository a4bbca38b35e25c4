package infer

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/mrf"
)

// TestZeroPredictor: without counting numbers and limits it is that by convex belief propagation to the default limits,
// and with ordinary counting numbers on a tree the truth; no sweep is made only where that is asked for.
func TestZeroPredictor(t *testing.T) {
	model, all := instances(t)
	for i := range model.Weights {
		model.Weights[i] = source(uint64(i)).NormFloat64()
	}
	for i, in := range all {
		want, _ := oracle.Marginals(ground.Condition(model, in))
		exact := must((&Predictor{Model: model, Counting: bethe}).Predict(context.Background(), in, nil))
		convex := func(g *Predictor) *Beliefs { return must(g.Predict(context.Background(), in, nil)) }
		zero := convex(&Predictor{Model: model})
		named := convex(&Predictor{Model: model, Counting: must(counting.Parse(t.Context(), "convex", 1))})
		if !exact.Converged || !zero.Converged || zero.Sweeps < 2 || !slices.Equal(zero.Node, named.Node) {
			t.Errorf("instance %d: %+v, with defaults named %+v", i, zero.Outcome, named.Outcome)
		}
		var got [][]float64
		for s := range want {
			got = append(got, exact.Of(s))
		}
		compare(t, "node", got, want, 1e-8)
		none := must((&Predictor{Model: model, Limits: Limits{MaxSweeps: -1}}).Predict(context.Background(), in, nil))
		if none.Sweeps != 0 || none.Converged || none.Of(0)[0] != 1/float64(len(none.Of(0))) {
			t.Errorf("instance %d: %+v, belief %v, though no sweep was wanted", i, none.Outcome, none.Of(0))
		}
		_, likelihood, err := (&Predictor{Model: model, Counting: bethe}).Assess(context.Background(), in, nil, [][]int32{make([]int32, in.Graph.NumNodes())}, nil)
		oracle.OK(t, err)
		p := ground.Condition(model, in)
		truth := oracle.LogZ(p) - p.Network().LogScore(make([]int, in.Graph.NumNodes()))
		if math.Abs(likelihood.NegativeLog-truth) > 1e-8 || likelihood.Bound != counting.Exact {
			t.Errorf("instance %d: negative log-likelihood %v (%s), want %v", i, likelihood.NegativeLog, likelihood.Bound, truth)
		}
		joint := must((&Predictor{Model: model, Joint: &Limits{}}).Predict(context.Background(), in, nil))
		if _, score := oracle.NetworkMax(p.Network()); !joint.Joint.Optimal || math.Abs(joint.Joint.Energy+score) > 1e-9 {
			t.Errorf("instance %d: %+v, want energy %v", i, joint.Joint, -score)
		}
	}
}

// TestZeroOptions: every method of LogPartition, Marginals, MostProbable and Sample gives with zero options what
// enumeration says, or a bound on it, given evidence or not.
func TestZeroOptions(t *testing.T) {
	for seed := range uint64(8) {
		rng := source(seed)
		g := must(gen.Complete(4))
		n := oracle.RandomPairwise(rng, g, []int32{2, 3, 2, 3}, 0.4, 0).Network()
		evidence := map[int]int{}
		if seed%2 == 1 {
			evidence[1] = 2
		}
		c := must(n.Condition(evidence))
		z := oracle.NetworkLogZ(c.Network)
		left, _ := oracle.NetworkMarginals(c.Network)
		truth := c.Marginals(left)
		named := must(Marginals(context.Background(), n, Options{
			Method: Propagation, Evidence: evidence, Counting: must(counting.Parse(t.Context(), "trw", 0)),
		}))
		for method, tolerance := range map[Method]float64{"": 1e-12, Propagation: 1e-15, Exact: 1e-12} {
			o := Options{Method: method, Evidence: evidence}
			r, want := must(Marginals(context.Background(), n, o)), truth
			if method == "" && (r.Method != Exact || r.NotExact != "") {
				t.Errorf("seed %d: the best method that fits is %s (%s)", seed, r.Method, r.NotExact)
			}
			if r.Method == Propagation {
				want = named.Marginals // an approximation, whose log Z is compared below
			}
			compare(t, string(r.Method), r.Marginals, want, tolerance)
			if !r.Converged {
				t.Errorf("seed %d: %s has not converged: %+v", seed, r.Method, r.Outcome)
			}
			p := must(LogPartition(context.Background(), n, o))
			if p.LogZ != r.LogZ || p.Marginals != nil || p.Bound != r.Bound {
				t.Errorf("seed %d: %s: log Z %v (%s), beside marginals %v (%s)", seed, r.Method, p.LogZ, p.Bound, r.LogZ, r.Bound)
			}
			switch {
			case p.Bound == counting.Exact && math.Abs(p.LogZ-z) <= 1e-9, p.Bound == counting.Upper && p.LogZ >= z-1e-9:
			default:
				t.Errorf("seed %d: %s: %s %v, log Z is %v", seed, r.Method, p.Bound, p.LogZ, z)
			}
		}
		best, score := oracle.NetworkMax(c.Network)
		for _, method := range []Method{"", Exact, TRWS} {
			s := must(MostProbable(context.Background(), n, Options{Method: method, Evidence: evidence}))
			if !slices.Equal(s.States, c.States(best)) || math.Abs(s.Energy+score) > 1e-9 || !s.Converged {
				t.Errorf("seed %d: %q finds %+v, want %v with energy %v", seed, method, s, c.States(best), -score)
			}
		}
		samples := must(Sample(context.Background(), n, SampleOptions{Evidence: evidence}))
		count, x := 0, make([]int32, 4)
		for i := range samples.Len() {
			samples.Draw(x, i)
			if state, ok := evidence[1]; ok && int(x[1]) != state {
				t.Fatalf("seed %d: draw %d is %v, which is not the evidence", seed, i, x)
			}
			count += int(x[0])
		}
		if got := float64(count) / 1000; samples.Len() != 1000 || math.Abs(got-truth[0][1]) > 0.08 {
			t.Errorf("seed %d: of %d draws %v are in state 1, want %v", seed, samples.Len(), got, truth[0][1])
		}
	}
}

// TestOptionsThatCannotBeUsed are named.
func TestOptionsThatCannotBeUsed(t *testing.T) {
	n := oracle.RandomPairwise(source(1), must(gen.Complete(4)), []int32{2, 3, 2, 3}, 0.4, 0).Network()
	ctx := context.Background()
	for name, err := range map[string]error{
		"Method":  second(Marginals(ctx, n, Options{Method: "exat"})),
		"Threads": second(Marginals(ctx, n, Options{Threads: -1})),
		"Memory":  second(MostProbable(ctx, n, Options{Memory: -1})),
	} {
		var option *OptionError
		if !errors.As(err, &option) || option.Option != name {
			t.Errorf("error %v, want one of %s", err, name)
		}
	}
	var option *OptionError
	if _, err := LogPartition(ctx, n, Options{Method: Gibbs}); !errors.As(err, &option) {
		t.Errorf("log Z by Gibbs sampling: %v", err)
	}
	if _, err := MostProbable(ctx, n, Options{Method: Gibbs}); !errors.As(err, &option) {
		t.Errorf("a most probable state by Gibbs sampling: %v", err)
	}
	if _, err := Marginals(ctx, n, Options{Method: Exact, Memory: 8}); !errors.Is(err, ErrUnsuited) {
		t.Errorf("exact inference in 8 bytes: %v", err)
	}
	oracle.Fails(Marginals(ctx, n, Options{Evidence: map[int]int{7: 0}}))(t,
		"evidence for variable 7, which does not exist")
}

func second[T any](_ T, err error) error { return err }

// TestZeroIsAnAnswer: LogPartition knows the log Z of a contradictory network, and nothing else exists there.
func TestZeroIsAnAnswer(t *testing.T) {
	n := oracle.RandomPairwise(source(1), must(gen.Chain(3)), []int32{2, 2, 2}, 0.4, 0).Network()
	n.Factors[0].LogTable = []float64{math.Inf(-1), math.Inf(-1)}
	ctx := context.Background()
	for _, method := range []Method{Propagation, Exact} {
		if r, err := LogPartition(ctx, n, Options{Method: method}); err != nil || !math.IsInf(r.LogZ, -1) || r.Bound != counting.Exact || r.Method != method {
			t.Errorf("%s: %+v, %v", method, r, err)
		}
	}
	for _, method := range []Method{"", Propagation, Exact} {
		if _, err := Marginals(ctx, n, Options{Method: method}); !errors.Is(err, ErrZero) {
			t.Errorf("marginals by %s: %v", method, err)
		}
	}
	for _, method := range []Method{"", Exact, TRWS} {
		if _, err := MostProbable(ctx, n, Options{Method: method}); !errors.Is(err, ErrZero) {
			t.Errorf("state by %q: %v", method, err)
		}
	}
	for _, method := range []Method{"", Gibbs} {
		if _, err := Sample(ctx, n, SampleOptions{Method: method}); !errors.Is(err, ErrZero) {
			t.Errorf("samples by %q: %v", method, err)
		}
	}
}

// TestTooWideForExact: where elimination does not fit, each default says so, and answers by the method that does.
func TestTooWideForExact(t *testing.T) {
	ctx := context.Background()
	complete := func(nodes int) *mrf.Network {
		return oracle.RandomPairwise(source(1), must(gen.Complete(nodes)), slices.Repeat([]int32{3}, nodes), 0.1, 0).Network()
	}
	for _, c := range []struct {
		network *mrf.Network
		memory  int64
		want    string
	}{
		{complete(40), 0, "entries of tables, over an induced width of "},
		{complete(10), 200 << 10, "of memory, over an induced width of 9"},
	} {
		limits := Limits{MaxSweeps: 50}
		o := Options{Memory: c.memory, Limits: limits}
		r := must(LogPartition(ctx, c.network, o))
		if r.Method != Propagation || !strings.Contains(r.NotExact, c.want) || r.Bound != counting.Upper {
			t.Errorf("log Z: %s, %s bound, %q; want %q", r.Method, r.Bound, r.NotExact, c.want)
		}
		if r := must(Marginals(ctx, c.network, o)); r.Method != Propagation || !strings.Contains(r.NotExact, c.want) {
			t.Errorf("marginals: %s, %q; want %q", r.Method, r.NotExact, c.want)
		}
		if s := must(MostProbable(ctx, c.network, o)); s.Method != TRWS || !strings.Contains(s.NotExact, c.want) {
			t.Errorf("states: %s, %q; want %q", s.Method, s.NotExact, c.want)
		}
		s := must(Sample(ctx, c.network, SampleOptions{Memory: c.memory, Draws: 8, BurnIn: 4}))
		if s.Method != Gibbs || !strings.Contains(s.NotExact, c.want) {
			t.Errorf("samples: %s, %q; want %q", s.Method, s.NotExact, c.want)
		}
	}
}
