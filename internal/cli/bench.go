package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/bench"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// benchFlags are the options of bench.
type benchFlags struct {
	quick, json, scale bool
	out                string
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [--scale [-o DIR]] [--quick] [--json]",
		Short: "Measure the speed of learning on this machine, beside what the machine can do",
		Long: `Measures, on this machine and in one run, its ceilings (multiply-adds, exp and
log, reading from each level of memory), the phases of a learning iteration and the
whole of it in double and in single precision, with the share of the roofline that
each reaches, what the vector kernels bring over plain Go, threads, growing
networks, and the time that the three methods take to the optimum.
docs/explanation/performance.md explains every number.

With --scale it measures instead how cost grows with the network: building,
partitioning and learning on grids of up to 4 million nodes and on random graphs of
up to a million, in blocks of about 1000 nodes, and their peak memory.

Leave the machine alone meanwhile: what else runs on it is measured too.`,
		Example: "  blockbp bench --quick\n  blockbp bench --json > bench.json\n  blockbp bench --scale -o scale",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("bench: takes no arguments, got %q", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch named := cmd.Flags().Changed("out"); {
			case named && f.out == "":
				return usagef("--out: want a folder")
			case named && !f.scale:
				return usagef("--out %s: it goes with --scale, which is not given", f.out)
			case f.scale:
				return a.benchScale(&f)
			}
			return a.bench(&f)
		},
	}
	cmd.Flags().BoolVar(&f.quick, "quick", false, "fewer sizes and repetitions: less than 40 seconds instead of a few minutes")
	cmd.Flags().BoolVar(&f.scale, "scale", false, "measure how cost grows with the network instead")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "with --scale: folder to make for the numbers and a figure (svg, png)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// benchPlan says what is measured; tests measure less.
var benchPlan = func(quick bool) bench.SpeedPlan {
	if quick {
		return bench.QuickSpeedPlan()
	}
	return bench.FullSpeedPlan()
}

// benchResult is what bench prints with --json.
type benchResult struct {
	Quick       bool           `json:"quick"`
	Environment map[string]any `json:"environment"`
	*bench.Speed
	Seconds float64 `json:"seconds"` // that all of it took
}

func (a *app) bench(f *benchFlags) error {
	started := time.Now()
	speed, err := bench.MeasureSpeed(a.ctx, benchPlan(f.quick), a.stages(started))
	if err != nil {
		return err
	}
	result := benchResult{f.quick, runfolder.Environment(), speed, time.Since(started).Seconds()}
	a.benchNotes(speed)
	if f.json {
		return a.printJSON(result)
	}
	for _, t := range speed.Tables() {
		if _, err := fmt.Fprintf(a.stdout, "%s\n\n%s\n\n", t.Title, t.Text()); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.stdout, "%.3g million messages per second; a whole iteration is %.3g times as fast as in plain Go%s; %.0f s in all\nWhat the numbers mean: docs/explanation/performance.md\n",
		speed.MessagesPerS/million, speed.SpeedupVsPlainGo, singleText(speed), result.Seconds)
	return err
}

// singleText adds what holds in single precision, if that was measured.
func singleText(s *bench.Speed) string {
	if s.SpeedupVsPlainGoSingle == 0 {
		return ""
	}
	return fmt.Sprintf(", in single precision %.3g times", s.SpeedupVsPlainGoSingle)
}

const million = 1e6

// stages tells of each stage of a measurement as it begins.
func (a *app) stages(started time.Time) func(string) {
	return func(stage string) { fmt.Fprintf(a.stderr, "%4.0f s  %s\n", time.Since(started).Seconds(), stage) }
}

// muchDisturbed is the disturbance from which on numbers should not be trusted.
const muchDisturbed = 0.1

// benchNotes says what a reader of the numbers should know.
func (a *app) benchNotes(s *bench.Speed) {
	a.noteDisturbance(s.Disturbance)
	a.noteThreads(s)
	if !s.Ceilings.CachesKnown {
		a.note("the system does not tell the sizes of the caches; usual ones are assumed, and the names of levels may be wrong")
	}
	for _, what := range s.Left {
		a.note("left out %s, more than a quarter of the memory that is available", what)
	}
}

// slightSpeedup is the speed-up of several threads below which it is not the program
// that is measured: other work takes the cores, or they are not there.
const slightSpeedup = 1.2

// noteThreads says what speed-ups of threads are worth where the cores were not free.
func (a *app) noteThreads(s *bench.Speed) {
	for _, t := range s.Threads {
		if t.Threads > 1 && (t.Speedup < slightSpeedup || s.Disturbance > muchDisturbed) {
			a.note("the speed-up of %d threads, %.2f times, needs as many idle cores to be one of the program: what else ran took a part of them, or the network is too small to share", t.Threads, t.Speedup)
			return
		}
	}
}

func (a *app) noteDisturbance(disturbance float64) {
	if disturbance > muchDisturbed {
		a.note("the median repetition of a measurement took %.0f %% longer than the best: something else uses this machine, or its clock changes; for numbers to keep, run again when it is idle", 100*disturbance)
	}
}
