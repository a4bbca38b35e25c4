package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// inferFlags are the options of infer.
type inferFlags struct {
	task, counting, method, evidence, out string
	tolerance                             float64
	maxSweeps, restarts, appearanceSteps  int
	memory                                int64
	seed                                  uint64
	json, requireConvergence              bool
	other                                 otherMethods
	unused                                []string // options of bp beside --method exact
}

func (a *app) inferCommand() *cobra.Command {
	var f inferFlags
	cmd := &cobra.Command{
		Use:   "infer MODEL.uai --task PR|MAR|MPE [flags]",
		Short: "Partition function, marginals and most probable state of a UAI network",
		Long: `Computes the log-partition function (--task PR) or the marginals (--task MAR) of a
network in UAI format (or .npz of log potentials), by convex belief propagation,
exactly, by Gibbs sampling or by mean field, or a most probable joint state
(--task MPE, or MAP). Without --json the answer is in the format of the UAI
competition: log10 Z, marginals, or states.`,
		Example: `  blockbp infer grid.uai --task PR --counting trw --json
  blockbp infer grid.uai --task MAR --method exact
  blockbp infer grid.uai --task MPE -o grid.uai.MPE`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.resolve(cmd); err != nil {
				return err
			}
			return a.infer(&f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.task, "task", "PR", "PR: partition function, MAR: marginals, or MPE (or MAP): most probable joint state")
	fl.StringVar(&f.counting, "counting", "convex", countingHelp+" (i: variables, e: order of the factors of two variables in MODEL.uai)")
	fl.StringVar(&f.method, "method", "", "PR and MAR: bp, exact (variable elimination), gibbs (marginals by sampling) or mean-field (a lower bound on log Z); MPE: cut, exact or trws (default: bp; MPE: the first that fits)")
	fl.StringVar(&f.evidence, "evidence", "", "evidence file (.uai.evid)")
	fl.StringVarP(&f.out, "out", "o", "", "write the answer in UAI format to this file instead of standard output")
	fl.Float64Var(&f.tolerance, "tol", infer.DefaultLimits.Tolerance, "change of a log-message at which the iteration counts as converged; MPE: share of its size by which the bound must rise in 20 sweeps to go on, 1e-9 if not given")
	fl.IntVar(&f.maxSweeps, "max-sweeps", infer.DefaultLimits.MaxSweeps, "at most this many sweeps over the network (MPE: 4000 if not given)")
	fl.IntVar(&f.appearanceSteps, "appearance-steps", 0, "trw: at most this many steps that tighten the bound by optimising the edge appearances (default none)")
	fl.IntVar(&f.restarts, "restarts", 0, "bp: run again from this many random starts and take the best fixed point, for --counting bethe (default none); mean-field: starts, of which the best result counts (10 if not given)")
	fl.Int64Var(&f.memory, "memory", 0, "exact: bytes of memory it may take (default 2 GiB)")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the spanning trees of --counting trw, of gibbs and mean-field, and of --restarts")
	refuseZero(fl, "memory")
	f.other.register(fl)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVar(&f.requireConvergence, "require-convergence", false, "exit with code 5 if the iteration did not converge")
	return cmd
}

// methodsOf are the methods of each task, the default first.
var methodsOf = map[string][]string{
	"PR":  {"bp", "exact", methodMeanField},
	"MAR": {"bp", "exact", methodGibbs, methodMeanField},
	"MPE": {methodAuto, string(infer.Cut), string(infer.Exact), string(infer.TRWS)},
}

// resolve fills in what depends on the task, and refuses options that it, or the
// chosen method, would not use. The options of belief propagation may stand beside
// --method exact, so that a command line can be compared with the exact answer by
// adding that alone; a note says that they are not used.
func (f *inferFlags) resolve(cmd *cobra.Command) error {
	if f.task == "MAP" {
		f.task = "MPE"
	}
	methods, ok := methodsOf[f.task]
	if !ok {
		return usagef("--task %q: want PR, MAR or MPE", f.task)
	}
	if f.method == "" {
		f.method = methods[0]
	}
	switch {
	case f.method == methodGibbs && f.task == "PR":
		return usagef("--method gibbs estimates marginals, not log Z: give --task MAR, or another method")
	case !slices.Contains(methods, f.method):
		return usagef("--method %q: with --task %s want %s%s", f.method, f.task, strings.Join(methods, ", "), didYouMean(f.method, methods))
	}
	changed := cmd.Flags().Changed
	if f.method != "exact" && f.method != methodAuto && changed("memory") {
		return usagef("--memory is used by --method exact only")
	}
	if f.memory < 0 {
		return usagef("--memory %d: want a number of bytes above 0", f.memory)
	}
	if f.task == "MPE" {
		for _, name := range []string{"counting", "seed", "appearance-steps", "restarts"} {
			if changed(name) {
				return usagef("--%s is not used by --task MPE", name)
			}
		}
		if !changed("tol") {
			f.tolerance = 0 // that of TRW-S
		}
		if !changed("max-sweeps") {
			f.maxSweeps = 0
		}
	}
	var err error
	if f.unused, err = f.other.checkUnused(changed, f.task, f.method); err != nil {
		return err
	}
	if f.method == methodMeanField && !changed("restarts") {
		f.restarts = defaultStarts
	}
	if err := f.checkSearches(changed); err != nil {
		return err
	}
	if changed("tol") && !(f.tolerance > 0) || changed("max-sweeps") && f.maxSweeps < 1 {
		return usagef("--tol %v and --max-sweeps %d: want positive numbers", f.tolerance, f.maxSweeps)
	}
	return nil
}

// inferAnswer is what --json prints.
type inferAnswer struct {
	Task      string          `json:"task"`
	Method    string          `json:"method"`
	LogZ      runfolder.Float `json:"log_z"`
	Log10Z    runfolder.Float `json:"log10_z"`
	ZIsZero   bool            `json:"z_is_zero"` // then LogZ is -Inf, which JSON cannot hold
	Bound     counting.Bound  `json:"bound"`
	Converged bool            `json:"converged"`
	Residual  runfolder.Float `json:"residual"`
	Sweeps    int             `json:"sweeps"`
	Gap       runfolder.Float `json:"gap"`
	Counting  string          `json:"counting,omitempty"`
	Convex    bool            `json:"convex"`
	Damping   float64         `json:"damping"`
	Auxiliary int             `json:"auxiliary_variables"`
	beyondOneRun
	*exactCost
	Marginals [][]float64 `json:"marginals,omitempty"`
	*gibbsAnswer
	*meanFieldAnswer
}

func (a *app) infer(f *inferFlags, args []string) error {
	if len(args) != 1 {
		return usagef("infer: want one network: blockbp infer MODEL.uai --task PR")
	}
	if f.out != "-" {
		if err := checkWritable(f.out); err != nil {
			return err
		}
	}
	network, err := a.readNetwork(args[0])
	if err != nil {
		return err
	}
	evidence, err := readEvidence(network, f.evidence)
	if err != nil {
		return err
	}
	if len(f.unused) > 0 {
		a.note("--method exact makes no use of %s", strings.Join(f.unused, ", "))
	}
	if f.task == "MPE" {
		return a.inferStates(f, args[0], network, evidence)
	}
	answer, err := a.inferNetwork(f, network, evidence)
	if err := a.inferenceError(args[0], err); err != nil {
		return err
	}
	answer.Task = f.task
	if err := a.printAnswer(f, answer, func(w io.Writer) error { return writeUAI(w, answer) }); err != nil {
		return err
	}
	if !f.json {
		a.noteKind(f, answer)
	}
	switch {
	case answer.ZIsZero:
		fmt.Fprintf(a.stderr, "blockbp: note: %s: every joint state has probability zero, so log Z is -inf (null in JSON); if that is unexpected, look for contradictory evidence or constraints\n", args[0])
	case !answer.Converged && f.requireConvergence:
		return &exitError{exitNotConverged, errors.New(notConverged(f, answer))}
	case !answer.Converged:
		fmt.Fprintf(a.stderr, "blockbp: note: %s\n", notConverged(f, answer))
	}
	return nil
}

// inferenceError is the error that ends inference on the network of a file, if one
// does.
func (a *app) inferenceError(path string, err error) error {
	switch {
	case a.ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted; nothing was written")}
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func notConverged(f *inferFlags, answer *inferAnswer) string {
	if answer.gibbsAnswer != nil {
		return "not converged: " + answer.gibbsAnswer.reason(f)
	}
	return fmt.Sprintf("not converged: residual %.3g after %d sweeps, want at most %.3g: try a larger --max-sweeps or --tol", float64(answer.Residual), answer.Sweeps, f.tolerance)
}

// readNetwork reads a network in UAI format, or log potentials as arrays.
func (a *app) readNetwork(path string) (*mrf.Network, error) {
	if path == "-" {
		return uai.Read(a.stdin, "standard input")
	}
	return dataset.ReadNetwork(path)
}

// readEvidence reads the states of observed variables; no path stands for none.
func readEvidence(n *mrf.Network, path string) (map[int]int, error) {
	if path == "" {
		return map[int]int{}, nil
	}
	return dataset.ReadEvidence(path, n)
}

// inferNetwork computes log Z or marginals, given evidence.
func (a *app) inferNetwork(f *inferFlags, n *mrf.Network, evidence map[int]int) (*inferAnswer, error) {
	progress := newTimedCounter(a.stderr, f.method != methodGibbs, "sampling, at most", "sweeps")
	defer progress.done()
	options := infer.Options{
		Method: infer.Method(f.method), Evidence: evidence, Limits: infer.Limits{Tolerance: f.tolerance, MaxSweeps: f.maxSweeps},
		AppearanceSteps: f.appearanceSteps, Restarts: f.restarts, Memory: f.memory, Forecast: a.noteCost,
		Chains: f.other.chains, MaxRHat: f.other.maxRHat, MinESS: f.other.minESS, Progress: progress.show,
		Seed: f.seed, Threads: f.other.threads,
	}
	if f.method == "bp" {
		var err error
		if options.Counting, err = job.Counting(f.counting, f.seed, true); err != nil {
			return nil, err
		}
		if !slices.Contains(counting.Names, f.counting) {
			options.CountingFile = f.counting
		}
	}
	compute := infer.LogPartition
	if f.task == "MAR" {
		compute = infer.Marginals
	}
	r, err := compute(a.ctx, n, options)
	if err != nil {
		return nil, networkError(err, f.method)
	}
	if r.Auxiliary > 0 {
		a.note("%s of more than two variables became auxiliary variables of belief propagation", counted(r.Auxiliary, "factor"))
	}
	return newAnswer(f, r), nil
}

// networkError gives errors of inference on a network their exit code, and names
// options.
func networkError(err error, method string) error {
	var (
		option *infer.OptionError
		path   *fs.PathError
	)
	switch {
	case errors.As(err, &option):
		return usagef("--%s: %s", optionNames[option.Option], option.Reason)
	case errors.Is(err, infer.ErrUnsuited) && method != "exact":
		return dataf("%v: try --method exact", err)
	case codeOf(err) == exitIO && !errors.As(err, &path):
		return dataf("%v", err)
	}
	return err
}

// optionNames are those of the options of package infer.
var optionNames = map[string]string{"Method": "method", "AppearanceSteps": "appearance-steps"}

// newAnswer says in JSON what inference found.
func newAnswer(f *inferFlags, r *infer.Result) *inferAnswer {
	answer := &inferAnswer{
		Method: string(r.Method), LogZ: runfolder.Float(r.LogZ), Log10Z: runfolder.Float(r.LogZ / math.Ln10), ZIsZero: math.IsInf(r.LogZ, -1),
		Bound: r.Bound, Converged: r.Converged, Residual: runfolder.Float(r.Residual), Sweeps: r.Sweeps, Gap: job.Gap(r.Gap, r.LogZ),
		Convex: r.Bound == counting.Exact, Damping: r.Damping, Auxiliary: r.Auxiliary,
		beyondOneRun: beyondOneRun{r.AppearanceSteps, r.Restarts, r.FixedPoints}, Marginals: r.Marginals,
	}
	if r.Counting != nil {
		answer.Counting, answer.Convex = r.Counting.Name, r.Counting.Facts.Convex
	}
	switch {
	case r.Method == infer.Exact:
		answer.exactCost = &exactCost{r.Width, r.Bytes, r.Operations}
	case r.Method == infer.Gibbs:
		answer.gibbsAnswer = &gibbsAnswer{f.other.chains, runfolder.Float(r.StandardError), newChainDiagnosis(r.Diagnosis)}
	case r.Method == infer.MeanField && r.Bound == counting.Lower:
		answer.meanFieldAnswer = &meanFieldAnswer{r.Lower}
	}
	return answer
}

// printAnswer writes an answer in UAI format to the file that is asked for, and to
// standard output as JSON, or in UAI format where there is no file.
func (a *app) printAnswer(f *inferFlags, answer any, write func(io.Writer) error) error {
	toFile := f.out != "" && f.out != "-" // - is standard output, where the answer goes anyway
	if toFile {
		if err := atomicfile.Write(f.out, write); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		return a.printJSON(answer)
	case toFile:
		return nil
	}
	return write(a.stdout)
}

func writeUAI(w io.Writer, answer *inferAnswer) error {
	if answer.Task == "MAR" {
		return uai.WriteMAR(w, answer.Marginals)
	}
	return uai.WritePR(w, float64(answer.LogZ))
}
