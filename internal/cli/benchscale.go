package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/blockbp/blockbp/internal/bench"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// scalePlan says what bench --scale measures; tests measure less.
var scalePlan = func(quick bool) bench.ScalePlan {
	if quick {
		return bench.QuickScalePlan()
	}
	return bench.FullScalePlan()
}

// scaleResult is what bench --scale prints with --json, and writes as scaleFile.
type scaleResult struct {
	Quick       bool           `json:"quick"`
	Environment map[string]any `json:"environment"`
	*bench.Scale
	Seconds float64 `json:"seconds"` // that all of it took
}

// Names of what bench --scale writes.
const (
	scaleFile   = "scale.json"
	scaleFigure = "iteration-by-size"
)

func (a *app) benchScale(f *benchFlags) error {
	var run *runfolder.Run
	if f.out != "" {
		var err error
		if run, err = createOutput(f.out); err != nil {
			return err
		}
	}
	started := time.Now()
	scale, err := bench.MeasureScale(a.ctx, scalePlan(f.quick), a.stages(started))
	if err != nil {
		return err
	}
	result := scaleResult{f.quick, runfolder.Environment(), scale, time.Since(started).Seconds()}
	a.noteDisturbance(scale.Disturbance)
	for _, what := range scale.Left {
		a.note("left out %s", what)
	}
	if len(scale.Networks) == 0 {
		return errors.New("bench: there is not enough memory for any of the networks; free some and try again")
	}
	if run != nil {
		if err := run.WriteJSON(scaleFile, result); err != nil {
			return err
		}
		if err := writeFigure(run, scaleFigure, scale.Curves()); err != nil {
			return err
		}
	}
	if f.json {
		return a.printJSON(result)
	}
	return a.printScale(&result)
}

func (a *app) printScale(r *scaleResult) error {
	for _, t := range r.Tables() {
		if _, err := fmt.Fprintf(a.stdout, "%s\n\n%s\n\n", t.Title, t.Text()); err != nil {
			return err
		}
	}
	for _, g := range r.Growth {
		if _, err := fmt.Fprintf(a.stdout, "%s, %d to %d nodes: ns per edge largest/smallest %.2f, time per iteration largest/smallest %.2f\n",
			g.KindText(), g.FromNodes, g.ToNodes, g.NsRatio, g.IterationRatio); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "%.0f s in all\nWhat the numbers mean: docs/explanation/performance.md\n", r.Seconds)
	return err
}
