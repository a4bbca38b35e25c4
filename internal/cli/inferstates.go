package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// statesAnswer is what --task MPE --json prints.
type statesAnswer struct {
	Task       string          `json:"task"`
	Method     infer.Method    `json:"method"`
	Energy     runfolder.Float `json:"energy"` // −log of the product of all factors
	LowerBound runfolder.Float `json:"lower_bound"`
	Gap        runfolder.Float `json:"gap"`
	Optimal    bool            `json:"optimal"`
	Converged  bool            `json:"converged"`
	Sweeps     int             `json:"sweeps"`
	States     []int           `json:"states"`
}

// inferStates finds a most probable joint state, given evidence.
func (a *app) inferStates(f *inferFlags, path string, n *mrf.Network, evidence map[int]int) error {
	options := infer.Options{
		Method: infer.Method(f.method), Evidence: evidence, Memory: f.memory, Limits: infer.Limits{Tolerance: f.tolerance, MaxSweeps: f.maxSweeps}, Forecast: a.noteCost,
	}
	if f.method == methodAuto {
		options.Method = ""
	}
	r, err := infer.MostProbable(a.ctx, n, options)
	if err := a.inferenceError(path, err); err != nil {
		return err
	}
	answer := &statesAnswer{
		Task: f.task, Method: r.Method, Energy: runfolder.Float(r.Energy), LowerBound: runfolder.Float(r.LowerBound), Gap: runfolder.Float(r.Gap),
		Optimal: r.Optimal, Converged: r.Converged, Sweeps: r.Sweeps, States: r.States,
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
	message := fmt.Sprintf("not proved optimal: energy %.10g, no state has less than %.10g, gap %.3g after %d sweeps; %s", r.Energy, r.LowerBound, r.Gap, r.Sweeps, advice)
	if !r.Converged && f.requireConvergence {
		return &exitError{exitNotConverged, errors.New(message)}
	}
	a.note("%s", message)
	return nil
}
