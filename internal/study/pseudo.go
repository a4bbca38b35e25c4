package study

import (
	"context"
	"fmt"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/learn"
)

// Pseudo is where maximum pseudo-likelihood (Besag 1975) ends. It is another
// estimator, so its weights differ from θ*: Objective and Distance say by how much.
type Pseudo struct {
	Objective   float64 `json:"objective"` // L of (8) at its weights
	Distance    float64 `json:"distance"`  // ‖θ−θ*‖/‖θ*‖
	Evaluations int     `json:"evaluations"`
	Seconds     float64 `json:"seconds"`
}

// effort is what it took by a measure; it passes no messages.
func (p *Pseudo) effort(x axis) float64 {
	return map[string]float64{secondsAxis.file: p.Seconds, gradientsAxis.file: float64(p.Evaluations)}[x.file]
}

// pseudoTolerance is the norm of the gradient, relative to that at the start, that
// pseudo-likelihood is solved to.
const pseudoTolerance = 1e-6

// pseudo maximises the pseudo-likelihood and judges the result by the objective
// that the other methods minimise.
func (b *bench) pseudo(ctx context.Context, star []float64) (*Pseudo, error) {
	restore := machine.Quiet()
	watch := stopwatch{alone: true}
	watch.goOn()
	r, err := learn.Fit(ctx, b.problem, learn.Settings{Method: learn.Pseudo, RelativeTolerance: pseudoTolerance})
	seconds := watch.pause()
	restore()
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", b.spec.Name(), b.spec.Seed, err)
	}
	if r.Status == learn.Interrupted {
		return nil, context.Cause(ctx)
	}
	if r.Status != learn.Converged {
		return nil, fmt.Errorf("study: %s, seed %d: pseudo-likelihood was not maximised: %s", b.spec.Name(), b.spec.Seed, r.Reason)
	}
	theta := r.Model.Weights
	p := &Pseudo{Distance: numeric.RelativeDistance(theta, star), Evaluations: int(r.Passes), Seconds: seconds}
	evaluator, err := learn.NewEvaluator(b.problem, 1)
	if err != nil {
		return nil, err
	}
	defer evaluator.Close()
	exact, err := evaluator.At(theta)
	p.Objective = exact.Objective
	return p, err
}
