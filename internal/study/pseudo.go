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

// maximisePseudo maximises the pseudo-likelihood, alone on the machine.
func maximisePseudo(ctx context.Context, p learn.Problem, threads int) (r *learn.Result, seconds float64, err error) {
	defer machine.Quiet()()
	watch := stopwatch{alone: true}
	watch.goOn()
	r, err = fit(ctx, p, learn.Settings{Method: learn.Pseudo, RelativeTolerance: pseudoTolerance, Threads: threads})
	if err != nil {
		err = fmt.Errorf("pseudo-likelihood: %w", err)
	}
	return r, watch.pause(), err
}

// pseudo maximises the pseudo-likelihood and judges the result by the objective
// that the other methods minimise.
func (b *bench) pseudo(ctx context.Context, star []float64) (*Pseudo, error) {
	r, seconds, err := maximisePseudo(ctx, b.problem, 1)
	if err != nil {
		return nil, err
	}
	if r.Status != learn.Converged {
		return nil, fmt.Errorf("pseudo-likelihood was not maximised: %s", r.Reason)
	}
	theta := r.Model.Weights
	evaluator, err := learn.NewEvaluator(b.problem, 1)
	if err != nil {
		return nil, err
	}
	defer evaluator.Close()
	exact, err := evaluator.At(theta)
	return &Pseudo{Objective: exact.Objective, Distance: numeric.RelativeDistance(theta, star), Evaluations: int(r.Passes), Seconds: seconds}, err
}
