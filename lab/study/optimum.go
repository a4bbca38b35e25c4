package study

import (
	"context"
	"fmt"
	"path"

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
