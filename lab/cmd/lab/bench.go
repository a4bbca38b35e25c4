package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/lab/bench"
)

func (a *app) benchCommand() *cobra.Command {
	var quick, asJSON bool
	cmd := &cobra.Command{
		Use:   "bench [--quick] [--json]",
		Short: "Measure the speed of learning on this machine, beside what the machine can do",
		Long: `Measures, on this machine and in one run, its ceilings (multiply-adds, exp and
log, reading from each level of memory), the phases of a learning iteration and the
whole of it, with the share of the roofline that each reaches, and what the vector
kernels bring over plain Go. lab/README.md explains every number.

Leave the machine alone meanwhile: what else runs on it is measured too.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.bench(quick, asJSON) },
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "fewer sizes and repetitions: half a minute, not minutes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON object")
	return cmd
}

// benchPlan says what is measured; tests measure less.
var benchPlan = func(quick bool) bench.SpeedPlan {
	if quick {
		return bench.QuickSpeedPlan()
	}
	return bench.FullSpeedPlan()
}

func (a *app) bench(quick, asJSON bool) error {
	started := time.Now()
	speed, err := bench.MeasureSpeed(a.ctx, benchPlan(quick), func(stage string) {
		a.say("%4.0f s  %s", time.Since(started).Seconds(), stage)
	})
	if err != nil {
		return err
	}
	seconds := time.Since(started).Seconds()
	for _, note := range speed.Notes() {
		a.say("lab: note: %s", note)
	}
	var text strings.Builder
	for _, t := range speed.Tables() {
		fmt.Fprintf(&text, "%s\n\n%s\n\n", t.Title, t.Text())
	}
	return a.print(asJSON, struct {
		Quick       bool           `json:"quick"`
		Environment map[string]any `json:"environment"`
		*bench.Speed
		Seconds float64 `json:"seconds"` // that all of it took
	}{quick, runfolder.Environment(), speed, seconds}, text.String()+speed.Summary(seconds))
}
