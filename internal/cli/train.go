package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/describe"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/learn"
)

// trainFlags are the options of train.
type trainFlags struct {
	data      dataFlags
	partition partitionFlags
	options   job.Options

	out, init             string
	reference, statistics string
	eval                  []string

	mpi   string
	stall time.Duration

	json, dryRun, requireConvergence, quiet, checkpoint, report, plots, standardise, resume bool
}

func (a *app) trainCommand() *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train DATA... [flags]",
		Short: "Learn the weights of a model from labelled data",
		RunE:  func(cmd *cobra.Command, args []string) error { return a.train(cmd, &f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "run folder to make (default: run-DATE-TIME)")
	fl.StringVar(&f.init, "init", "", "start from the weights of this model")
	fl.StringVar(&f.reference, "reference", "", "record the weights' relative distance to this model's, as theta_dist")
	fl.BoolVar(&f.resume, "resume", false, "go on with the run whose folder is in the place of DATA, or --out, with its "+
		"options")
	readsArguments(cmd, wantsData)
	reads(fl, wantsModel, "init", "reference")
	forceable(cmd, "start anew over the run in --out")
	f.registerModel(fl)
	f.registerLoop(fl)
	f.registerEnds(fl)
	f.data.register(fl)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print sizes and memory, and stop before training")
	fl.BoolVar(&f.report, "report", true, "write plots and report.html")
	fl.BoolVar(&f.plots, "plots", true, "write plots as files, too")
	fl.BoolVar(&f.requireConvergence, "require-convergence", false, "exit with code 5 unless converged")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// registerModel adds the options of what is learned, and by which objective.
func (f *trainFlags) registerModel(fl *pflag.FlagSet) {
	o := &f.options
	fl.Var(wordValue(&o.Physics, strings.Join(job.Physics, "|"), wantedPhysics, job.Physics...), "model",
		"ising (spins) or potts: couplings from samples, by exact likelihood if that is cheap, else pseudo")
	fl.Var(wordValue(&o.Errors, "how", "a text"), "errors",
		"standard errors of weights: auto (exact and pseudo have them), "+
			"cheap (where quick), bootstrap[:B], or none (default none, with --model cheap)")
	fl.Lookup("errors").NoOptDefVal = "auto"
	fl.Var(wordValue(&o.SelectEdges, "rule", "a rule"), "select-edges",
		"with --model, edges that samples tell of alone: ebic[:GAMMA] (extended BIC, 0.25) or stability[:HALVES] (of 20)")
	fl.Lookup("select-edges").NoOptDefVal = "ebic"
	fl.StringVar(&f.statistics, "statistics", "", "with --model, in place of DATA: an .npz of edges, edge_means, "+
		"node_means and weights of these")
	reads(fl, "means of nodes and edges, as .npz", "statistics")
	fl.StringVar((*string)(&o.Method), "method", "auto",
		"auto (by size), bbpl, inner-dual or full; or, by L-BFGS, exact (likelihood, of narrow networks), composite "+
			"(of narrow blocks, given labels outside), truncated:K (log loss after K sweeps) and the baselines pseudo "+
			"(pseudo-likelihood) and piecewise")
	f.partition.register(fl)
	fl.IntVar(&o.Together, "together", 0, "blocks per iteration, of which no two share an edge (default 1; without "+
		"--blocks, as many as make up a 20th)")
	fl.StringVar(&o.Counting, "counting", "auto", "counting numbers: auto (convex for an image folder, else trw), "+
		countingChoices)
	fl.Float64Var(&o.Prior, "prior", 0, "standard deviation of every weight's normal prior: l2 = 1/(N prior^2) for N "+
		"samples (default 1; narrower for alignments and many missing values)")
	fl.Var(l2Value(o), "l2", "weight of (l2/2)|w|^2, instead of --prior")
	fl.BoolVar(&f.standardise, "standardise", true, "features get mean 0 and deviation 1, but for constants and 0/1; "+
		"saved weights are for features as they are (default true without --l2, else false)")
	fl.Lookup("standardise").DefValue = "" // the text tells it
	fl.StringVar(&o.Scale, "scale", "auto", "deviations of standardised node features: each (1), one:D (D in the mean, "+
		"by one divisor), or auto (as held-out labels decide)")
	fl.StringVar(&o.ClassWeights, "class-weights", "",
		"how much labels of a state count: balanced, STATE=WEIGHT,... or JSON; others 1")
	fl.StringVar(&o.Loss, "loss", "", "hamming: learn for labels, a wrong one of which costs 1, not the likelihood")
	fl.Float64Var(&o.Epsilon, "epsilon", 0, "with --loss, weight of entropies, from 1 towards 0, where margins "+
		"are largest (default 1); weights are over it, l2 times it")
}

// l2Value makes --l2 a number, of which 0 is not the same as none.
func l2Value(o *job.Options) optionValue {
	return optionValue{"float64", "a number", func() string {
		if o.L2 == 0 && !o.NoL2 {
			return ""
		}
		return fmt.Sprintf("%g", o.L2)
	}, func(text string) error {
		x, err := numeric.ParseDecimal(text)
		if err != nil {
			return errors.New("want a number; of several, blockbp eval DATA -m RUN -m RUN tells which does best")
		}
		o.L2, o.NoL2 = x, x == 0
		return nil
	}}
}

// registerLoop adds the options of how: steps, blocks, threads and memory.
func (f *trainFlags) registerLoop(fl *pflag.FlagSet) {
	o := &f.options
	fl.StringVar(&o.Step, "step", "auto", "auto; or, with g the gradient over the mean number of variables, "+
		"fixed:A (-A g) or adagrad:A (-A g/sqrt(sum g^2))")
	fl.StringVar((*string)(&o.Order), "order", "cyclic", "order of the blocks: cyclic or random")
	fl.IntVar(&o.InnerSweeps, "inner-sweeps", 0, "most sweeps per block where weights move at each visit (default 2 for "+
		"bbpl, 300 for full; 300 is the paper's BBPL)")
	fl.Float64Var(&o.InnerTolerance, "inner-tol", 0, "largest change of a log-message in a converged block (default "+
		"0.001)")
	fl.Uint64Var(&o.Seed, "seed", 1, "seed of everything random")
	threadsVar(fl, &o.Threads, "number of threads; results do not depend on it")
	fl.StringVar(&f.mpi, "mpi", "auto", "auto: processes that mpirun, mpiexec or srun has started train one model; on: "+
		"they must; off: each trains alone")
	fl.DurationVar(&f.stall, "stall", 0, "end the job where a process waits so long for another (default 30m)")
	fl.Var(sizeValue(&o.Memory), "memory", "most memory to take beside the data, in bytes or such as 40GiB (default: "+
		"four fifths of what is available)")
	fl.StringVar(&o.Spill, "spill", "", "keep messages, beliefs and what else grows with the networks in files in this "+
		"folder, on a disk: for networks larger than memory")
	fl.BoolVar(&o.NoEdges, "no-edges", false, "no edges: node features alone, as a baseline")
	fl.StringVar(&o.Edges, "edges", "auto", "weights of edges: together (learned with those of nodes), "+
		"potts:J, balanced:S or moments:S (by a rule), with ^P behind them beliefs to the power P, or auto (together; with "+
		"hidden labels, as held-out ones decide)")
}

// registerEnds adds the options of when a training ends, and of what is looked at on the way.
func (f *trainFlags) registerEnds(fl *pflag.FlagSet) {
	o := &f.options
	fl.Float64Var(&o.GradientTolerance, "tol", 0, "stop at this norm of the gradient (default: --rtol decides)")
	fl.Float64Var(&o.Gap, "gap", 0, "stop at a suboptimality of at most this times 1 + |objective|, or where steps "+
		"promise no more and nothing is proved; beside --tol or --rtol, ask for it, too (default 1e-3)")
	fl.Float64Var(&o.RelativeTolerance, "rtol", 0, "stop at this norm of the gradient, relative to the first (default "+
		"1e-5; without --tol, --gap and --errors also where 0.001 of what was gained is proved to be left at most)")
	fl.IntVar(&o.MaxIterations, "max-iter", 0, "stop after this many iterations")
	fl.Float64Var(&o.MaxPasses, "max-passes", 0, "stop after this many passes, in whole-network sweeps (default 10000)")
	fl.DurationVar(&o.MaxTime, "max-time", 0, "stop after this time in all, such as 10m")
	fl.DurationVar(&o.CheckpointEvery, "checkpoint-every", 0,
		"time between checkpoints (default: so that saving takes about 1 % of the time, and none at the end that takes "+
			"more than a tenth of --max-time)")
	fl.BoolVar(&f.checkpoint, "checkpoint", true, "write what --resume needs")
	fl.BoolVar(&o.WriteProof, "proof", false, "write proof.safetensors, with which python/examples/verify.py "+
		"proves the suboptimality")
	fl.StringArrayVar(&f.eval, "eval", nil, "`NAME=PATH` of labelled data; for images a list of ids in the same folder; "+
		"may be repeated")
	fl.Float64Var(&o.EvaluateEvery, "eval-every", 0, "passes between evaluations (default 20, but a "+
		"second and a tenth of the time in all at most)")
	fl.StringVar(&o.EarlyStop, "early-stop", "", "METRIC@NAME[:PATIENCE], such as accuracy@dev:3 or entity_f1@dev: "+
		"stop when it no longer improves (5 evaluations if not given)")
	refuseZero(fl, "epsilon", "prior", "together", "inner-sweeps", "inner-tol", "tol", "rtol", "gap", "max-iter",
		"max-passes", "max-time", "checkpoint-every", "eval-every", "stall")
	reads(fl, "NAME=PATH of labelled data", "eval")
}

func (a *app) train(cmd *cobra.Command, f *trainFlags, args []string) error {
	t, err := a.join(f)
	if err != nil {
		return err
	}
	if t != nil {
		a.saves.Lock() // the processes of a team end together
	}
	if !cmd.Flags().Changed("threads") {
		f.options.Threads = t.threads(f.options.Threads)
	}
	return t.end(a.trainAs(t, cmd, f, args))
}

// trainAs trains as a process of a team, or alone.
func (a *app) trainAs(t *team, cmd *cobra.Command, f *trainFlags, args []string) error {
	p, folder, err := a.prepareTraining(t, cmd, f, args)
	if folder != nil {
		defer folder.Close()
	}
	if p != nil {
		defer p.Close()
	}
	if err = t.together(err); t.follows() {
		if err == nil && !f.dryRun {
			err = p.Follow(a.ctx, folder, t.together)
		}
		return err
	}
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.describeTraining(f, p)
	}
	show := &display{progress: a.newProgress(f.quiet, p.Settings), app: a}
	watch := show.watch()
	if t != nil {
		watch.Opened = t.together
		watch.Fitted = func() { t.alone = true } // the others wait to leave
	}
	if iteration := watch.Iteration; t == nil {
		saves := sync.OnceFunc(a.saves.Lock) // from the first step until the command has ended
		watch.Iteration = func(e learn.Event) {
			saves()
			iteration(e)
		}
	}
	result, err := p.Train(a.ctx, folder, watch)
	show.done()
	if err != nil {
		return a.trainingFailed(f, err)
	}
	if err := a.printTraining(f, result); err != nil {
		return err
	}
	return f.outcome(result)
}

// prepareTraining reads and checks everything, and opens the folder, which the caller closes.
func (a *app) prepareTraining(t *team, cmd *cobra.Command, f *trainFlags, args []string) (p *job.Prepared,
	folder *job.Folder, err error) {
	began := time.Now()
	folder, data, recalled, err := f.folder(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	folder.Config.Options = optionsOf(cmd, recalled)
	// Only now all options are known: some came from the run.
	a.declare(cmd, func([]string) *written {
		if t.follows() {
			return nil
		}
		return writtenBy(folder)
	})
	if err := a.openFiles(cmd, data); err != nil {
		return nil, nil, err
	}
	options, err := f.checked(cmd, data)
	if err != nil {
		return nil, nil, err
	}
	if f.statistics != "" {
		if len(data) > 0 && !folder.Resume {
			return nil, nil, usagef("{statistics} %s is in place of DATA, and %s is given, too: give one of them", f.statistics,
				data[0])
		}
		data = []string{f.statistics}
	}
	if folder.Anew = a.files.force && !folder.Resume; !f.dryRun && !t.follows() {
		if err := folder.Open(); err != nil {
			return nil, nil, err
		}
		a.files.held = true
	}
	task, err := a.trainingTask(f, data, cmd.Flags().Changed("hops"))
	if err != nil {
		return nil, folder, err
	}
	if task.Began = began; t != nil {
		task.Group = t.group
	}
	if p, err = job.Prepare(a.ctx, options, task); err != nil {
		return nil, folder, err
	}
	a.noteUnused(folder.Config.Options, recalled, p.Options.Method)
	a.noteAll(p.Notes)
	if f.dryRun || t.follows() {
		folder.NoCheckpoint = !f.checkpoint
		return p, folder, nil
	}
	return p, folder, f.record(folder, data, &task)
}

// checked returns what is asked for, as far as it can be used; what can be checked before any data are read is.
func (f *trainFlags) checked(cmd *cobra.Command, data []string) (o job.Options, err error) {
	o = f.options
	if o.Statistics = f.statistics != ""; !o.Statistics && len(data) == 0 {
		return o, usagef("train: name the data to learn from: blockbp train DATA")
	}
	if o.ClassWeights == "" && cmd.Flags().Changed("class-weights") {
		return o, usagef("{class-weights} \"\": want balanced, or STATE=WEIGHT,…; leave the option out for equal weights")
	}
	for _, name := range []string{"method", "counting", "step", "order", "edges"} {
		if cmd.Flags().Lookup(name).Value.String() == "" {
			return o, usagef("{%s} \"\": want a value{!; leave the option out for the default}", name)
		}
	}
	if asked := cmd.Flags().Changed("standardise"); asked {
		o.Standardise, o.NoStandardise = f.standardise, !f.standardise
	}
	if err := f.data.validate(); err != nil {
		return o, err
	}
	if o.Cut, err = f.partition.resolve(); err != nil {
		return o, err
	}
	return o.Resolved()
}

// writtenBy is what a training writes. A resumed run goes on with its own folder.
func writtenBy(folder *job.Folder) *written {
	switch {
	case folder.Resume:
		return &written{option: "{resume}", path: folder.Dir, kind: outputKept}
	case folder.Dir != "":
		return &written{option: "{out}", path: folder.Dir, kind: outputRun}
	}
	return nil
}

// trainingTask reads what is learned from, and compared with.
func (a *app) trainingTask(f *trainFlags, data []string, hopsGiven bool) (t job.Task, err error) {
	if f.init != "" {
		if t.Initial, err = a.loadModel(f.init); err != nil {
			return t, err
		}
	}
	f.data.Memory = f.options.Memory
	read := func(m *job.Model) dataset.Options {
		o := f.data.options(m)
		if physics := f.options.Physics; physics != "" {
			o.Untied, o.Spins = true, physics == job.Ising
		}
		return o
	}
	o := read(t.Initial)
	o.Learning = t.Initial != nil
	o.Statistics = f.statistics != ""
	if t.Set, err = a.openData(data, o); err != nil {
		return t, f.nameModel(err, data)
	}
	t.Owned, t.HopsOpen = true, !hopsGiven
	if f.reference != "" {
		if t.Reference, err = a.loadModel(f.reference); err != nil {
			return t, err
		}
	}
	for _, spec := range f.eval {
		name, path, err := job.ParseEvaluation(spec)
		if err != nil {
			return t, err
		}
		if slices.ContainsFunc(t.Evaluations, func(e *job.Evaluation) bool { return e.Name == name }) {
			return t, usagef("{eval} %s: the name %q is used twice", spec, name)
		}
		e, err := t.OpenEvaluation(a.ctx, data, read(nil), name, path, f.options.NoEdges)
		if err != nil {
			return t, fmt.Errorf("{eval} %s: %w", name, notTraining(err))
		}
		a.sets = append(a.sets, e.Set)
		a.noteAll(e.Set.Notes())
		if err := a.readsAlso(e.Set.Sources); err != nil {
			return t, err
		}
		t.Evaluations = append(t.Evaluations, e)
	}
	return t, nil
}

// nameModel names --model in errors about what it asks of data, and says how samples are given where they are not.
func (f *trainFlags) nameModel(err error, data []string) error {
	if f.options.Physics == "" {
		return err
	}
	of, named := strings.CutPrefix(option.References(err), "{untied}")
	var at *dataset.Error
	whole := errors.As(err, &at) && at.Option == "" && at.Place == "" && at.Line == 0 && slices.Contains(data, at.File)
	switch {
	case whole && filepath.Ext(at.File) != ".npz": // a file is not what is wanted
		return usagef("{model=%s}: samples are wanted, as a table, an alignment or .npz; %s", f.options.Physics,
			option.Text(option.References(err)))
	case named && !f.data.Untied:
		return usagef("{model=%s}%s", f.options.Physics, option.Text(of))
	}
	return err
}

// noteUnused names the options that were given and that the method has no use for.
func (a *app) noteUnused(options map[string]job.Option, recalled map[string]string, method learn.Method) {
	for _, name := range job.Unused(method) {
		if options[name].Source == sourceFlag && recalled[name] == "" {
			a.note("{%s} is not used by {method=%s}", name, method)
		}
	}
}

// describeTraining prints what a run would need.
func (a *app) describeTraining(f *trainFlags, p *job.Prepared) error {
	forecast := p.Forecast()
	sizes, err := learn.Measure(p.Problem, p.Settings)
	if err == nil {
		err = a.ctx.Err()
	}
	if err != nil {
		return err
	}
	d := describe.Forecast{Method: p.MethodText(), Memory: forecast, Available: memory.AvailableMemory(), Sizes: sizes}
	return a.print(f.json, &d, "%s\n", lines(d.Table().Text()))
}

// trainingFailed prints why a run diverged, where JSON is asked for.
func (a *app) trainingFailed(f *trainFlags, err error) error {
	var diverged *learn.DivergedError
	if f.json && errors.As(err, &diverged) {
		if printErr := a.printJSON(job.NewFailure(diverged)); printErr != nil {
			return printErr
		}
	}
	return err
}

func (a *app) printTraining(f *trainFlags, result *job.Result) error {
	n := result.Summary
	rows := append(n.Rows(), []string{"model", n.Model})
	if f.report {
		rows = append(rows, []string{"report", filepath.Join(n.Run, report.ReportFile)})
	}
	rows = append(rows, couplingRows(n, result)...)
	for _, scored := range result.Scores {
		for _, metric := range scored.Metrics() {
			name := metric + "@" + scored.Name
			rows = append(rows, []string{name, job.Known("%.4f", n.Eval[name])})
		}
	}
	if caveat := n.Caveat(); caveat != "" {
		rows = append(rows, []string{"note", caveat})
	}
	path := ""
	if n.Choice != nil {
		path = n.Choice.Table().Text() + "\n"
	}
	return a.print(f.json, n, "%s%s\n", lines(path), lines(report.Table{Headers: []string{"result", "value"},
		Rows: rows}.Text()))
}

// outcome is the error that a training ends the command with, if it does.
func (f *trainFlags) outcome(result *job.Result) error {
	n, further := result.Summary, "go on with "+string(job.Resumes(result.Summary.Run))
	if !f.checkpoint {
		further = "--checkpoint=false keeps nothing to go on from"
	}
	switch {
	case result.Unevaluated:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted after the training (%s); the model is in %s, without "+
			"an evaluation; %s", n.StatusText(), n.Model, further)}
	case n.Status == learn.Interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted after iteration %d; the model with the weights so far "+
			"is in %s; %s", n.Iterations, n.Model, further)}
	case f.requireConvergence && !n.Converged:
		return &exitError{exitNotConverged, fmt.Errorf("not converged: %s", n.Reason)}
	case result.Untrained:
		return &exitError{exitNumerical, fmt.Errorf("nothing was learned: %s has the weights of the start, which are 0; "+
			"raise the limit (%s): %s", n.Model, n.Reason, job.Resumes(n.Run))}
	}
	return nil
}

// wantedPhysics says what --model can be.
const wantedPhysics = "ising or potts"

// couplingRows say what was learned of a physical system.
func couplingRows(n *job.Summary, result *job.Result) (rows [][]string) {
	if result.Couplings != nil && n.Run != "" {
		rows = append(rows, []string{"couplings", filepath.Join(n.Run, job.CouplingsFile)})
	}
	if result.Couplings != nil && result.Couplings.Physics == job.Ising && n.Prior > 0 {
		rows = append(rows, []string{"prior of couplings", fmt.Sprintf("deviation %.4g: that of --prior is of each of "+
			"the four entries of a table", float64(n.Prior)/2)})
	}
	if n.Selection != nil {
		rows = append(rows, []string{"edges", n.Selection.Text()})
	}
	if c := n.Couplings; c != nil {
		rows = append(rows, []string{"slope on --reference", job.Known("%.3f", c.Slope)},
			[]string{"in 95 % intervals", job.Known("%.3g %%", 100*c.Inside)})
	}
	return rows
}
