package cli

import (
	"math/rand/v2"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/mrf"
)

// beyondOneRun is what was done beyond one run, as --json prints it.
type beyondOneRun struct {
	// Steps were made on the edge appearances.
	Steps int `json:"appearance_steps"`
	// Runs were made from random starts; of belief propagation besides the usual one.
	Runs int `json:"restarts"`
	// FixedPoints are the different values of log Z that they converged to,
	// descending.
	FixedPoints []float64 `json:"fixed_points,omitempty"`
}

// restartStream sets random starts apart from other uses of the seed.
const restartStream = 0x72657374617274

// checkSearches refuses searches that the counting numbers have no use for.
func (f *inferFlags) checkSearches(changed func(string) bool) error {
	switch {
	case changed("appearance-steps") && f.appearanceSteps < 1:
		return usagef("--appearance-steps %d: want at least 1, or leave it out", f.appearanceSteps)
	case changed("restarts") && f.restarts < 1:
		return usagef("--restarts %d: want at least 1, or leave it out", f.restarts)
	case f.method == "exact":
		return nil // it uses none of them, which is said
	case f.appearanceSteps > 0 && f.counting != "trw":
		return usagef("--appearance-steps is used by --counting trw only")
	case f.method == methodMeanField:
		return nil // its optima are many whatever --counting says
	case f.restarts > 0 && (f.counting == "trw" || f.counting == "convex"):
		return usagef("--restarts is for --counting bethe or a file: with %s there is one fixed point only", f.counting)
	case changed("seed") && f.counting != "trw" && f.restarts == 0 && f.method == "bp":
		return usagef("--seed is used by --counting trw and --restarts only: with %s nothing is random", f.counting)
	}
	return nil
}

// propagate runs belief propagation as it is asked for.
func (a *app) propagate(f *inferFlags, p *mrf.Pairwise, counting *counting.Numbers) (*infer.Result, beyondOneRun, error) {
	limits := bp.Limits{Tolerance: f.tolerance, MaxSweeps: f.maxSweeps}
	switch {
	case f.appearanceSteps > 0:
		o, err := infer.OptimizeAppearance(a.ctx, p, counting, limits, f.appearanceSteps)
		if err != nil {
			return nil, beyondOneRun{}, err
		}
		return o.Result, beyondOneRun{Steps: o.Steps}, nil
	case f.restarts > 0:
		r, err := infer.Restart(a.ctx, p, counting, limits, f.restarts, rand.New(rand.NewPCG(f.seed, restartStream)))
		if err != nil {
			return nil, beyondOneRun{}, err
		}
		return r.Result, beyondOneRun{Runs: r.Runs - 1, FixedPoints: r.Values}, nil
	}
	r, err := infer.BeliefPropagation(a.ctx, p, counting, limits)
	return r, beyondOneRun{}, err
}
