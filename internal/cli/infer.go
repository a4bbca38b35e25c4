package cli

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// inferFlags are the options of infer.
type inferFlags struct {
	task, counting, method, out string
	evidence, intervals         []string
	infer.Options               // but for the method, counting numbers and evidence
	json, requireConvergence    bool
	changed                     func(option string) bool
}

func (a *app) inferCommand() *cobra.Command {
	var f inferFlags
	cmd := &cobra.Command{
		Use:   "infer MODEL.uai --task PR|MAR|MPE [flags]",
		Short: "Partition function, marginals and most probable state of a UAI network",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.resolve(cmd); err != nil {
				return err
			}
			return a.infer(&f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.task, "task", "PR", "PR: partition function, MAR: marginals, or MPE (or MAP): most probable joint "+
		"state")
	fl.StringVar(&f.counting, "counting", "trw", countingHelp)
	fl.StringVar(&f.method, "method", methodAuto, "auto: exact where it takes about ten seconds at most, else another; "+
		"or PR, MAR: bp, exact; MPE: exact, trws; intervals: exact, walks")
	fl.StringArrayVar(&f.evidence, "evidence", nil, evidenceHelp)
	fl.StringSliceVar(&f.intervals, "intervals", nil, "MAR: proved bounds of the probabilities of variables `VAR,...`")
	fl.StringVarP(&f.out, "out", "o", "", "file for the answer in UAI format, instead of standard output")
	readsArguments(cmd, "a network (.uai, .bif, .npz of log potentials, or /dev/stdin)")
	reads(fl, "an evidence file (.uai.evid), or VAR=STATE,…", "evidence")
	a.writes(cmd, byExtension(true))
	forceable(cmd, forceHelp)
	fl.Float64Var(&f.Limits.Tolerance, "tol", 0, "change of a log-message that counts as converged (default 1e-10); MPE: "+
		"relative rise of the bound in 20 sweeps to go on (default 1e-9)")
	fl.IntVar(&f.Limits.MaxSweeps, "max-sweeps", 0, "most sweeps over the network (default 10000; MPE: 4000)")
	refuseZero(fl, "tol", "max-sweeps")
	fl.Var(sizeValue(&f.Memory), "memory", "most memory to take, in bytes or such as 40GiB (default: four fifths of "+
		"what is available; 2GiB for the tables of exact)")
	fl.Uint64Var(&f.Seed, "seed", 1, "seed of trw's spanning trees")
	fl.BoolVar(&f.Lift, "lift", false, "bp: one message for all variables that symmetries of the network make alike")
	threadsVar(fl, &f.Threads, "bp: number of threads; results do not depend on it")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVar(&f.requireConvergence, "require-convergence", false, "exit with code 5 unless converged")
	return cmd
}

// methodAuto is the best method that fits.
const methodAuto = "auto"

// methodsOf are the methods of each task.
var methodsOf = map[string][]string{
	describe.TaskPartition: {methodAuto, "bp", "exact"},
	describe.TaskMarginals: {methodAuto, "bp", "exact"},
	describe.TaskStates:    {methodAuto, string(infer.Exact), string(infer.TRWS)},
}

// resolve fills in what depends on the task. Options that the method does not use may stand beside it, so that a
// command line can be compared with the exact answer by adding --method exact alone; a note says so.
func (f *inferFlags) resolve(cmd *cobra.Command) error {
	if f.task = strings.ToUpper(f.task); f.task == "MAP" {
		f.task = "MPE"
	}
	methods, ok := methodsOf[f.task]
	if !ok {
		return usagef("{task} %q: want PR, MAR or MPE", f.task)
	}
	changed := cmd.Flags().Changed
	if changed("intervals") {
		if changed("task") && f.task != describe.TaskMarginals || len(f.intervals) == 0 {
			return usagef("{intervals}: want variables, such as {intervals=3,7}, and {task=MAR} or none")
		}
		f.task, methods = describe.TaskMarginals, []string{methodAuto, string(infer.Exact), "walks"}
	}
	if f.method == methodAuto && f.task != describe.TaskStates && f.intervals == nil && (changed("counting") || f.Lift) {
		f.method = "bp"
	}
	if !slices.Contains(methods, f.method) {
		return usagef("{method} %q:{! with --task %s} want %s%s", f.method, f.task, strings.Join(methods, ", "),
			option.Hint(f.method, methods))
	}
	f.changed = changed
	if changed("seed") && f.method == "bp" && f.counting != "trw" {
		return usagef("{seed} is used by {counting=trw} only: with %s nothing is random", f.counting)
	}
	return nil
}

// ofBP are the options that belief propagation uses, of which TRW-S uses some, too, and exact methods none.
var ofBP = map[string][]infer.Method{
	"threads": {infer.Propagation}, "counting": {infer.Propagation}, "seed": {infer.Propagation},
	"lift": {infer.Propagation}, "tol": {infer.Propagation, infer.TRWS}, "max-sweeps": {infer.Propagation, infer.TRWS},
}

func (a *app) infer(f *inferFlags, args []string) error {
	if len(args) != 1 {
		return usagef("infer: want one network: blockbp infer MODEL.uai --task PR")
	}
	network, evidence, err := a.readNetwork(args[0], f.Memory, f.evidence)
	if err != nil {
		return err
	}
	answer, err := a.inferNetwork(f, network, evidence)
	switch {
	case a.ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted; nothing was written")}
	case err != nil:
		return option.Errorf("%s: %w", option.Place(args[0], 0, ""), err)
	}
	if err := a.printAnswer(f, answer, network.Names != nil); err != nil {
		return err
	}
	if answer.about != "" && !f.json {
		a.note("%s", answer.about)
	}
	for _, name := range slices.Sorted(maps.Keys(ofBP)) {
		if f.changed(name) && !slices.Contains(ofBP[name], answer.method) {
			a.note("{%s} is not used by {method=%s}", name, answer.method)
		}
	}
	switch {
	case answer.zIsZero:
		a.note("%s: every joint state has probability zero, so log Z is -inf (null in JSON); if that is unexpected, look "+
			"for contradictory evidence or constraints", args[0])
	case answer.shortfall == "":
	case f.requireConvergence && !answer.converged:
		return &exitError{exitNotConverged, errors.New(answer.shortfall)}
	default:
		a.note("%s", answer.shortfall)
	}
	return nil
}

const evidenceHelp = "observed states `VAR=STATE,...`, or a file of them (.uai.evid); may be repeated"

// readNetwork reads a network and the states of observed variables, of which each has one. A note tells of potentials
// that look like probabilities; rows of 0 and 1 are ordinary potentials.
func (a *app) readNetwork(path string, memory int64, evidence []string) (*mrf.Network, map[int]int, error) {
	n, err := dataset.ReadNetwork(path, memory)
	if err == nil && filepath.Ext(path) == ".npz" && !slices.ContainsFunc(n.Factors, func(f mrf.Factor) bool {
		return len(f.Scope) == 1 && (slices.Min(f.LogTable) <= 0 || math.Abs(numeric.Sum(f.LogTable)-1) > 1e-6)
	}) {
		a.note("%s: each row of theta adds up to 1, as of probabilities: if they are some, write their logarithms", path)
	}
	all := map[int]int{}
	for i := 0; i < len(evidence) && err == nil; i++ {
		var observed map[int]int
		if source := evidence[i]; strings.Contains(strings.Trim(source, "=,"), "=") && !exists(source) {
			observed, err = uai.ParseEvidence(source, n)
		} else {
			observed, err = dataset.ReadEvidence(source, n)
		}
		for v, state := range observed {
			if before, known := all[v]; known && before != state {
				return nil, nil, usagef("{evidence} %s: variable %s is in state %s, and in state %s by another {evidence}",
					evidence[i], uai.Named(n.Names, v), uai.Named(uai.StatesOf(n, v), state),
					uai.Named(uai.StatesOf(n, v), before))
			}
			all[v] = state
		}
	}
	return n, all, err
}

// inferred is an answer with what is said of it.
type inferred struct {
	answer interface {
		Write(w io.Writer) error
		Table() *report.Table
	}
	// about says what an answer is and what it is by, and shortfall why it did not converge, or is not proved optimal.
	about, shortfall   string
	zIsZero, converged bool
	method             infer.Method
}

// inferNetwork carries out the task on a network, given evidence.
func (a *app) inferNetwork(f *inferFlags, n *mrf.Network, evidence map[int]int) (*inferred, error) {
	options := f.Options
	options.Evidence = evidence
	if f.method != methodAuto {
		options.Method = infer.Method(f.method)
	}
	if f.task == describe.TaskStates {
		began := time.Now()
		r, err := infer.MostProbable(a.ctx, n, options)
		if err != nil {
			return nil, err
		}
		states := describe.NewStates(r, time.Since(began).Seconds())
		states.Names = describe.Names{Variables: n.Names, StateNames: n.States}
		return &inferred{answer: states, about: states.About(), shortfall: states.Shortfall(), converged: r.Converged,
			method: r.Method}, nil
	}
	if f.method == "bp" {
		var err error
		if options.Counting, err = job.Counting(a.ctx, f.counting, f.Seed); err != nil {
			return nil, err
		}
	}
	for _, name := range f.intervals {
		v, err := strconv.Atoi(name)
		if named := slices.Index(n.Names, name); named >= 0 {
			v = named
		} else if err != nil {
			return nil, usagef("{intervals} %q: want variables, 0 to %d%s", name, len(n.Card)-1, option.Hint(name, n.Names))
		}
		options.Query = append(options.Query, v)
	}
	compute := infer.LogPartition
	if f.task == describe.TaskMarginals {
		compute = infer.Marginals
	}
	began := time.Now()
	r, err := compute(a.ctx, n, options)
	seconds := time.Since(began).Seconds()
	if err != nil {
		return nil, networkError(err, f.method, map[string]string{"Query": "intervals"})
	}
	if r.Auxiliary > 0 {
		a.note("%s of more than two variables became auxiliary variables of belief propagation",
			describe.Counted(r.Auxiliary, "factor"))
	}
	answer := describe.NewAnswer(f.task, r, seconds)
	if f.Lift && r.Classes == 0 && r.Method == infer.Propagation && !answer.ZIsZero {
		a.note("{lift} found more than half as many classes as variables, and made no use of them")
	}
	answer.Queried, answer.Names = options.Query, describe.Names{Variables: n.Names, StateNames: n.States}
	return &inferred{
		answer, answer.About(), answer.Shortfall(&options), answer.ZIsZero, answer.Converged, r.Method,
	}, nil
}

// networkError gives errors of questions about a network their exit code, and names options, of which some have
// other names than the fields of package infer.
func networkError(err error, method string, names map[string]string) error {
	var (
		wrong *infer.OptionError
		large *memory.Error
		path  *fs.PathError
	)
	switch {
	case errors.As(err, &large):
		return err
	case errors.As(err, &wrong):
		return usagef("{%s}: %s", cmp.Or(names[wrong.Option], strings.ToLower(wrong.Option)), option.Text(wrong.Reason))
	case errors.Is(err, infer.ErrUnsuited) && method != "exact":
		return dataf("%v: leave {%s} out, which takes the best that fits", err, cmp.Or(names["Method"], "method"))
	case codeOf(err) == exitIO && !errors.As(err, &path):
		return dataf("%v", err)
	}
	return err
}

// printAnswer writes an answer in UAI format to the file that is asked for, and to
// standard output as JSON, or in UAI format where there is no file; by names, if there are some.
func (a *app) printAnswer(f *inferFlags, r *inferred, named bool) error {
	toFile := f.out != "" && f.out != "-" // - is standard output, where the answer goes anyway
	if toFile {
		if err := a.target().Write(r.answer.Write); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		return a.printJSON(r.answer)
	case toFile:
		return nil
	case named && f.task != describe.TaskPartition:
		return a.print(false, nil, "%s\n", lines(r.answer.Table().Text()))
	}
	return r.answer.Write(a.stdout)
}
