package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/bench"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// benchFlags are the options of bench.
type benchFlags struct {
	quick, json, scale, ranks bool
	out, against              string
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench [--scale [-o DIR] | --ranks | --against BINARY] [--quick] [--json]",
		Short: "Measure the speed of learning on this machine, beside what the machine can do",
		Long: `Measures, on this machine and in one run, its ceilings (multiply-adds, exp and
log, reading from each level of memory), the phases of a learning iteration and the
whole of it, with the share of the roofline that each reaches, what the vector
kernels bring over plain Go, threads, growing networks, and the time that the three
methods take to the optimum.
docs/explanation/performance.md explains every number.

With --scale it measures instead how cost grows with the network: building,
partitioning and learning on grids of up to 4 million nodes and on random graphs of
up to a million, in blocks of about 1000 nodes, and their peak memory.

With --ranks, as mpirun -np 2 blockbp bench --ranks, it measures instead what each
process of a job computes in a pass of learning, and exchanges with others.

With --against it compares the phases with those of another build, in turns.

Leave the machine alone meanwhile: what else runs on it is measured too.`,
		Example: "  blockbp bench --quick\n  blockbp bench --json > bench.json\n  blockbp bench --scale -o scale\n  blockbp bench --against ./blockbp-before",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch named := cmd.Flags().Changed("out"); {
			case named && f.out == "":
				return usagef("--out: want a folder")
			case named && !f.scale:
				return usagef("--out %s: it goes with --scale, which is not given", f.out)
			case f.ranks && (f.scale || cmd.Flags().Changed("against")):
				return usagef("--ranks measures the processes of a job: leave out --scale and --against")
			case f.ranks:
				return a.benchRanks(&f)
			case cmd.Flags().Changed("against"):
				return a.benchAgainst(&f)
			case f.scale:
				return a.benchScale(&f)
			}
			return a.bench(&f)
		},
	}
	cmd.Flags().BoolVar(&f.quick, "quick", false, "fewer sizes and repetitions: 40 seconds, not minutes")
	cmd.Flags().BoolVar(&f.scale, "scale", false, "measure how cost grows with the network instead")
	cmd.Flags().BoolVar(&f.ranks, "ranks", false, "measure what processes of a job compute and exchange instead")
	cmd.Flags().StringVar(&f.against, "against", "", "compare with another build of blockbp")
	reads(cmd.Flags(), "another build of blockbp", "against")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "with --scale: folder to make for numbers and a figure")
	a.writes(cmd, "out", always(outputFolder))
	forceable(cmd, forceHelp)
	cmd.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// benchPlan and scalePlan say what is measured; tests measure less.
var (
	benchPlan = func(quick bool) bench.SpeedPlan {
		if quick {
			return bench.QuickSpeedPlan()
		}
		return bench.FullSpeedPlan()
	}
	scalePlan = func(quick bool) bench.ScalePlan {
		if quick {
			return bench.QuickScalePlan()
		}
		return bench.FullScalePlan()
	}
)

// benchResult and scaleResult are what --json prints.
type (
	benchResult struct {
		Quick       bool           `json:"quick"`
		Environment map[string]any `json:"environment"`
		*bench.Speed
		Seconds float64 `json:"seconds"` // that all of it took
	}
	scaleResult struct {
		Quick       bool           `json:"quick"`
		Environment map[string]any `json:"environment"`
		*bench.Scale
		Seconds float64 `json:"seconds"`
	}
)

func (a *app) bench(f *benchFlags) error {
	started := time.Now()
	speed, err := bench.MeasureSpeed(a.ctx, benchPlan(f.quick), a.stages(started))
	if err != nil {
		return err
	}
	seconds := time.Since(started).Seconds()
	return a.printMeasured(f.json, benchResult{f.quick, runfolder.Environment(), speed, seconds}, speed, seconds)
}

// ranksPlan says what processes of a job learn; tests learn less.
var ranksPlan = func(quick bool) bench.RanksPlan {
	if quick {
		return bench.QuickRanksPlan()
	}
	return bench.FullRanksPlan()
}

func (a *app) benchRanks(f *benchFlags) error {
	if _, found := distributed.Detect(); !found {
		return usagef("--ranks: no launcher has started this process; start it by mpirun -np 2 blockbp bench --ranks, mpiexec or srun")
	}
	t, err := a.join(&trainFlags{mpi: teamOn})
	if err != nil {
		return err
	}
	started := time.Now()
	ranks, err := bench.MeasureRanks(a.ctx, ranksPlan(f.quick), t.learners(), a.stages(started))
	if err == nil {
		seconds := time.Since(started).Seconds()
		err = a.printMeasured(f.json, struct {
			Quick       bool           `json:"quick"`
			Environment map[string]any `json:"environment"`
			*bench.Ranks
			Seconds float64 `json:"seconds"`
		}{f.quick, runfolder.Environment(), ranks, seconds}, ranks, seconds)
	}
	return t.end(err)
}

// benchBinary is the build at hand.
var benchBinary = os.Executable

// turnsAgainst and quickTurnsAgainst are how often two builds are measured: half a minute each.
const turnsAgainst, quickTurnsAgainst = 5, 2

func (a *app) benchAgainst(f *benchFlags) error {
	if f.scale {
		return usagef("--against compares the phases of an iteration: leave out --scale")
	}
	if info, err := os.Stat(f.against); err != nil || info.IsDir() {
		return usagef("--against %q: want the path of another build of blockbp", f.against)
	}
	other, err := filepath.Abs(f.against) // a bare name is looked for here, not along PATH
	if err != nil {
		return err
	}
	this, err := benchBinary()
	if err != nil {
		return err
	}
	turns := turnsAgainst
	if f.quick {
		turns = quickTurnsAgainst
	}
	started := time.Now()
	c, err := bench.Against(a.ctx, this, other, turns, a.stages(started))
	if err != nil {
		return err
	}
	seconds := time.Since(started).Seconds()
	return a.printMeasured(f.json, struct {
		*bench.Comparison
		Seconds float64 `json:"seconds"`
	}{c, seconds}, c, seconds)
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
		if run, err = a.newFolder("out"); err != nil {
			return err
		}
	}
	started := time.Now()
	scale, err := bench.MeasureScale(a.ctx, scalePlan(f.quick), a.stages(started))
	if err != nil {
		return err
	}
	if len(scale.Networks) == 0 {
		a.noteAll(scale.Notes())
		return errors.New("bench: there is not enough memory for any of the networks; free some and try again")
	}
	seconds := time.Since(started).Seconds()
	result := scaleResult{f.quick, runfolder.Environment(), scale, seconds}
	if run != nil {
		if err := run.WriteJSON(scaleFile, result); err != nil {
			return err
		}
		if err := run.WriteFigure(scaleFigure, scale.Curves()); err != nil {
			return err
		}
	}
	return a.printMeasured(f.json, result, scale, seconds)
}

// stages tells of each stage of a measurement as it begins.
func (a *app) stages(started time.Time) func(string) {
	return func(stage string) { a.tell(0, 0, "%4.0f s  %s", time.Since(started).Seconds(), stage) }
}

// measured is a measurement that describes itself.
type measured interface {
	Notes() []string
	Tables() []bench.TitledTable
	Summary(seconds float64) string
}

// printMeasured prints a measurement: the result that wraps it as JSON, or tables.
func (a *app) printMeasured(asJSON bool, result any, m measured, seconds float64) error {
	a.noteAll(m.Notes())
	text := ""
	for _, t := range m.Tables() {
		text += fmt.Sprintf("%s\n\n%s\n\n", t.Title, t.Text())
	}
	return a.print(asJSON, result, "%s%s\n", lines(text), lines(m.Summary(seconds)))
}
