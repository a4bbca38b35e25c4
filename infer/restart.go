package infer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/mrf"
)

const (
	// startSpread is the standard deviation of the log-messages and log-beliefs that
	// a run starts from: states then differ by factors of about 20.
	startSpread = 3
	// sameValue is the difference of two values of log Z, as a share of 1 + their
	// size, up to which they belong to the same fixed point.
	sameValue = 1e-6
)

// restart runs belief propagation from constant messages and then the given number
// of times from random ones, and returns the run to believe: a converged one before
// others, and of these the one of largest log Z, which has the lowest free energy.
// Free energies that are not convex, such as Bethe's, can have several minima, of
// which the constant start may miss the best. The same source gives the same answer.
//
// A run from random messages that meets a numerical error counts as one that did
// not converge. p, limits and other errors are as in propagate.
func restart(ctx context.Context, p *mrf.Pairwise, counting *counting.Numbers, limits Limits, restarts int, rng *rand.Rand) (*fixedPoint, error) {
	first, err := propagate(ctx, p, counting, limits, nil)
	if err != nil {
		return nil, err
	}
	best, runs := first, 0
	values := addValue(nil, first)
	for ; runs < restarts && ctx.Err() == nil; runs++ {
		next, err := propagate(ctx, p, counting, limits, func(st *bp.State) { randomStart(st, first.net, rng) })
		if numerical := (*bp.NumericalError)(nil); errors.As(err, &numerical) {
			continue
		}
		if err != nil {
			return nil, err
		}
		values = addValue(values, next)
		if better(next, best) {
			best = next
		}
	}
	slices.Sort(values)
	slices.Reverse(values)
	best.Restarts, best.FixedPoints = runs, values
	return best, nil
}

// better reports whether a is rather to be believed than b.
func better(a, b *fixedPoint) bool {
	if a.Outcome.Converged != b.Outcome.Converged {
		return a.Outcome.Converged
	}
	if !a.Outcome.Converged {
		return a.Outcome.Residual < b.Outcome.Residual
	}
	return a.LogZ > b.LogZ+sameValue*(1+math.Abs(b.LogZ))
}

// addValue adds the log Z of a run that converged to the different ones that are
// known.
func addValue(values []float64, run *fixedPoint) []float64 {
	same := func(value float64) bool { return math.Abs(value-run.LogZ) <= sameValue*(1+math.Abs(value)) }
	if !run.Converged || slices.ContainsFunc(values, same) {
		return values
	}
	return append(values, run.LogZ)
}

// randomStart fills a state with random log-messages, the largest 0, and random
// log-beliefs.
func randomStart(st *bp.State, net *bp.Net, rng *rand.Rand) {
	at := 0
	for d := range int32(2 * net.Graph.NumEdges()) {
		message := st.LogMessage[at:][:net.Card[net.Graph.Target(d)]]
		at += len(message)
		fill(message, rng)
		shift(message, slices.Max(message))
	}
	at = 0
	for _, k := range net.Card {
		belief := st.LogBelief[at:][:k]
		at += len(belief)
		fill(belief, rng)
		most, sum := slices.Max(belief), 0.0
		for _, x := range belief {
			sum += math.Exp(x - most)
		}
		shift(belief, most+math.Log(sum))
	}
}

func fill(values []float64, rng *rand.Rand) {
	for i := range values {
		values[i] = startSpread * rng.NormFloat64()
	}
}

func shift(values []float64, by float64) {
	for i := range values {
		values[i] -= by
	}
}
