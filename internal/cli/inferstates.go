package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/mpe"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// statesAnswer is what --task MPE --json prints.
type statesAnswer struct {
	Task       string          `json:"task"`
	Method     mpe.Method      `json:"method"`
	Energy     runfolder.Float `json:"energy"` // −log of the product of all factors
	LowerBound runfolder.Float `json:"lower_bound"`
	Gap        runfolder.Float `json:"gap"`
	Optimal    bool            `json:"optimal"`
	Converged  bool            `json:"converged"`
	Sweeps     int             `json:"sweeps"`
	States     []int           `json:"states"`
}

// inferStates finds a most probable joint state.
func (a *app) inferStates(f *inferFlags, path string, c *mrf.Conditioned) error {
	problem, err := mpe.NewProblem(c.Network)
	if err != nil {
		return dataf("%s: %v", path, err)
	}
	problem.Variable = c.Variable
	r, err := problem.Solve(a.ctx, mpe.Settings{
		Method: mpe.Method(f.method), Memory: f.memory, Limits: mpe.Limits{Tolerance: f.tolerance, MaxSweeps: f.maxSweeps},
		Planned: func(plan *exact.Plan) { a.noteCost(plan, plan.MaximumBytes) },
	})
	if err := a.inferenceError(path, err); err != nil {
		return err
	}
	answer := &statesAnswer{
		Task: f.task, Method: r.Method, Energy: runfolder.Float(r.Energy), LowerBound: runfolder.Float(r.LowerBound), Gap: runfolder.Float(r.Gap()),
		Optimal: r.Optimal, Converged: r.Converged, Sweeps: r.Sweeps, States: c.States(r.States),
	}
	if err := a.printAnswer(f, answer, func(w io.Writer) error { return uai.WriteMPE(w, answer.States) }); err != nil {
		return err
	}
	if r.Optimal {
		return nil
	}
	advice := "--method exact finds an optimal state where memory suffices"
	if !r.Converged {
		advice = "not converged: try a larger --max-sweeps"
	}
	message := fmt.Sprintf("not proved optimal: energy %.10g, no state has less than %.10g, gap %.3g after %d sweeps; %s", r.Energy, r.LowerBound, r.Gap(), r.Sweeps, advice)
	if !r.Converged && f.requireConvergence {
		return &exitError{exitNotConverged, errors.New(message)}
	}
	a.note("%s", message)
	return nil
}
