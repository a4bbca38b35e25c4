package study

import (
	"context"
	"fmt"
	"path"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// optimumTolerance is the norm of ∇L that θ* is solved to. Rounding leaves about
// 1e-13 of the norm of the data's statistics, which is more than this on networks
// of tens of thousands of nodes; learn.Fit then stops at that, and GradientNorm
// says so.
const optimumTolerance = 1e-10

// Optimum is θ* of a problem.
type Optimum struct {
	Objective    float64   `json:"objective"`
	GradientNorm float64   `json:"grad_norm"`
	Passes       float64   `json:"passes"`
	Weights      []float64 `json:"weights"`
}

// optimumFolder is where optima are kept in the output folder, by the hash of
// their problem.
const optimumFolder = "optima"

// optimum returns θ*, from the folder where it was solved before.
func (b *bench) optimum(ctx context.Context, run *runfolder.Run) (*Optimum, error) {
	name := path.Join(optimumFolder, b.key+".json")
	kept, err := readKept[Optimum](run, name)
	if err != nil || kept != nil && len(kept.Weights) == len(b.problem.Model.Weights) {
		return kept, err
	}
	r, err := solve(ctx, b.problem)
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", b.spec.Name(), b.spec.Seed, err)
	}
	o := &Optimum{Objective: r.Objective, GradientNorm: r.GradientNorm, Passes: r.Passes, Weights: r.Model.Weights}
	return o, run.WriteJSON(name, o)
}

// solve finds θ* of a problem.
func solve(ctx context.Context, p learn.Problem) (*learn.Result, error) {
	r, err := fit(ctx, p, learn.Settings{Method: learn.InnerDual, GradientTolerance: optimumTolerance})
	if err != nil {
		return nil, fmt.Errorf("solving for θ*: %w", err)
	}
	if r.Status != learn.Converged {
		return nil, fmt.Errorf("θ* was not reached: %s", r.Reason)
	}
	return r, nil
}

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
