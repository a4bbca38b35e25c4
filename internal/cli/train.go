package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// trainFlags are the options of train.
type trainFlags struct {
	data      dataFlags
	partition partitionFlags
	together  int
	precision string

	out, model, init, resume, config string
	reference                        string
	method, counting, step, order    string
	classWeights                     string
	l2, innerTolerance               float64
	l2Auto                           bool
	innerSweeps                      int
	pairs, noEdges                   bool
	seed                             uint64
	threads                          int

	tolerance, relativeTolerance, objectiveTolerance float64
	maxIterations                                    int
	maxPasses                                        float64
	maxTime, checkpointEvery                         time.Duration

	eval      []string
	evalEvery float64
	earlyStop string

	json, dryRun, requireConvergence, quiet, report bool
}

func (a *app) trainCommand() *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "train DATA... [flags]",
		Short: "Learn the weights of a model from labelled data",
		Long: `Learns the weights of a model and writes a run folder with the model, the
metrics of every iteration, plots and a report.

DATA are .npz instances (files, folders or lists of them), an image folder, or
graph tables; see docs/reference/formats.md. The objective is
  L(w) = (1/N) sum_n [B(theta_n) - <theta_n, labels_n>] + (l2/2) |w|^2,
or, with --method pseudo or piecewise, a sum of local terms without inference.`,
		Example: `  blockbp train data/ -o run --l2 1
  blockbp train images/ --features features/ --list train.txt --blocks 4x5 -o run
  blockbp train run --resume --max-passes 500`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.train(cmd, &f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "run folder to make (default: run-DATE-TIME)")
	fl.StringVarP(&f.model, "model", "m", "", "also write the model to this file")
	fl.StringVar(&f.init, "init", "", "start from the weights of this model")
	fl.StringVar(&f.reference, "reference", "", "record the relative distance of the weights to this model's, as theta_dist")
	fl.Var(resumeValue{&f.resume}, "resume", "go on with the run in this folder; if none is named here, with the run that is given in the place of DATA, or in --out")
	fl.Lookup("resume").NoOptDefVal = resumeHere
	fl.StringVar(&f.config, "config", "", "TOML file of options; the command line wins over it")
	fl.StringVar(&f.method, "method", "bbpl", "bbpl, inner-dual or full; or the baselines pseudo (pseudo-likelihood) and piecewise, by L-BFGS")
	f.partition.register(fl)
	fl.IntVar(&f.together, "together", 0, "blocks per iteration, as far as no two share an edge: they are visited in parallel (default 1, or as many as make up a 20th of the network where --blocks is left out)")
	fl.StringVar(&f.counting, "counting", "convex", countingHelp)
	f.l2 = 1
	fl.Var(l2Value{&f.l2, &f.l2Auto}, "l2", "weight of (l2/2)|w|^2 in the objective, which is a sum over all variables; auto: the best on the first --eval set, or by cross-validation")
	fl.StringVar(&f.classWeights, "class-weights", "", "with --method pseudo: balanced, or STATE=WEIGHT,...: weights of the labels' terms")
	fl.StringVar(&f.step, "step", "auto", "auto, fixed:A, invt:A or adagrad:A")
	fl.StringVar(&f.precision, "precision", "f64", "of edge tables and messages: f64, or f32, which is faster and stops short of the last digits; weights, gradients and checks are f64")
	fl.StringVar(&f.order, "order", "cyclic", "order of the blocks: cyclic or random")
	fl.BoolVar(&f.pairs, "pairs", false, "update one (instance, block) pair per iteration, not the same block in every instance")
	fl.IntVar(&f.innerSweeps, "inner-sweeps", 0, "at most this many sweeps per block and iteration (default 2 for bbpl, 300 for full; 300 is the paper's BBPL)")
	fl.Float64Var(&f.innerTolerance, "inner-tol", 0, "change of a log-message at which a block counts as converged (default 0.001)")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of everything random: block order, spanning trees")
	fl.IntVar(&f.threads, "threads", runtime.GOMAXPROCS(0), "number of threads; results do not depend on it")
	fl.BoolVar(&f.noEdges, "no-edges", false, "leave out all edges: node features alone, as a baseline")
	fl.Float64Var(&f.tolerance, "tol", 0, "stop at this norm of the gradient (default: --rtol decides)")
	fl.Float64Var(&f.relativeTolerance, "rtol", 0, "stop at this norm of the gradient, relative to the first (default 1e-5 unless --tol is given)")
	fl.Float64Var(&f.objectiveTolerance, "obj-tol", 0, "stop when the objective changes by less than this, relatively, over a pass")
	fl.IntVar(&f.maxIterations, "max-iter", 0, "stop after this many iterations")
	fl.Float64Var(&f.maxPasses, "max-passes", 0, "stop after this many passes, in whole-network sweeps (default 10000)")
	fl.DurationVar(&f.maxTime, "max-time", 0, "stop after this time, such as 10m")
	fl.DurationVar(&f.checkpointEvery, "checkpoint-every", 0, "time between checkpoints (default: often enough that saving takes about 1 % of the time)")
	fl.StringArrayVar(&f.eval, "eval", nil, "NAME=PATH of labelled data to evaluate on; for images a list of ids in the same folder; may be repeated")
	fl.Float64Var(&f.evalEvery, "eval-every", 0, "passes between evaluations (default 20)")
	fl.StringVar(&f.earlyStop, "early-stop", "", "METRIC@NAME[:PATIENCE], such as accuracy@dev:3: stop when it no longer improves")
	refuseZero(fl, "together", "inner-sweeps", "inner-tol", "tol", "rtol", "max-iter", "max-passes", "max-time", "checkpoint-every", "eval-every")
	f.data.register(fl)
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print sizes and memory, and stop before training")
	fl.BoolVar(&f.report, "report", true, "write plots and report.html; --report=false saves their time")
	fl.BoolVar(&f.requireConvergence, "require-convergence", false, "exit with code 5 if the run did not converge")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// resumeHere is the value of --resume without a folder. Help shows it, as
// --resume[=<run folder>].
const resumeHere = "<run folder>"

// training is a train command on its way.
type training struct {
	app     *app
	flags   *trainFlags
	args    []string
	started time.Time
	earlier float64 // seconds of training before this start
	// Time taken by evaluations: during training, and of the final model.
	evaluating, evaluated time.Duration
	unevaluated           bool // the evaluation of the final model was interrupted
	options               map[string]option
	recalled              map[string]string // options that a resumed run was started with: their sources
	set                   *dataset.Set
	data                  []*crf.Instance
	run                   *runfolder.Run
	problem               learn.Problem
	cuts                  []learn.Cut // of each network, for BBPL
	settings              learn.Settings
	evals                 []*evaluation
	resuming              bool
	metrics               *runfolder.MetricsWriter // nil until the run changes its folder
	last                  int                      // iteration of the checkpoint to resume, −1 without one
	optimum               []float64                // weights of --reference, or nil
	progress              *progress
	remarks               []string // what is wrong with data or settings, in words
	l2Path                *l2Path  // what --l2 auto tried, or nil
}

func (a *app) train(cmd *cobra.Command, f *trainFlags, args []string) error {
	t := &training{app: a, flags: f, args: args, started: time.Now()}
	if cmd.Flags().Changed("class-weights") && f.classWeights == "" {
		return usagef("--class-weights \"\": want balanced, or STATE=WEIGHT,…; leave the option out for equal weights")
	}
	if err := t.findResume(cmd); err != nil {
		return err
	}
	var err error
	if t.options, err = applyConfig(cmd, f.config, t.recalled); err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	if f.dryRun {
		return t.describe()
	}
	if err := t.chooseL2(); err != nil {
		return err
	}
	if err := t.openRun(); err != nil {
		return err
	}
	if err := t.saveL2Path(); err != nil {
		return err
	}
	return t.fit()
}

// prepare reads the data, makes problem and settings, and checks everything that
// can be checked before anything is written.
func (t *training) prepare() error {
	f := t.flags
	if len(t.args) == 0 {
		return usagef("train: name the data to learn from: blockbp train DATA")
	}
	if err := f.validate(); err != nil {
		return err
	}
	if err := checkWritable(f.model); err != nil {
		return err
	}
	step, err := learn.ParseStep(f.step)
	if err != nil {
		return usagef("--%v", err)
	}
	cut, err := f.partition.resolve()
	if err != nil {
		return err
	}
	if !slices.Contains(counting.Names, f.counting) && exists(f.counting) {
		// The model and the checkpoint keep it, and may be used from another folder.
		if f.counting, err = filepath.Abs(f.counting); err != nil {
			return err
		}
	}
	counting, err := countingFor(f.counting, f.seed, false)
	if err != nil {
		return err
	}
	if !t.resuming && f.out != "" {
		if err := checkFreshFolder(f.out); err != nil {
			return err
		}
	}
	model, err := t.readData()
	if err != nil {
		return err
	}
	if t.optimum, err = t.readReference(model); err != nil {
		return err
	}
	t.problem = learn.Problem{Model: model, Data: t.data, Counting: counting, L2: f.l2}
	precision, err := bp.ParsePrecision(f.precision)
	if err != nil {
		return usagef("--%v", err)
	}
	t.settings = learn.Settings{
		Precision: precision,
		Method:    learn.Method(f.method), InnerSweeps: f.innerSweeps, InnerTolerance: f.innerTolerance,
		Order: learn.Order(f.order), Pairs: f.pairs, Seed: f.seed, Step: step, Threads: f.threads,
		GradientTolerance: f.tolerance, RelativeTolerance: f.relativeTolerance, ObjectiveTolerance: f.objectiveTolerance,
		MaxIterations: f.maxIterations, MaxPasses: f.maxPasses, MaxTime: f.maxTime,
		CheckpointEvery: f.checkpointEvery, EvaluateEvery: f.evalEvery,
		Cut: cut, Together: f.together,
	}
	if t.settings.Method == learn.InnerDual {
		t.settings.InnerSweeps = 1 // the learner makes no more
	}
	if err := t.checkShapes(); err != nil {
		return err
	}
	if err := t.prepareClassWeights(); err != nil {
		return err
	}
	if err := t.settings.Validate(&t.problem); err != nil {
		return usagef("%v", err)
	}
	if err := t.prepareEvaluation(counting); err != nil {
		return err
	}
	t.warn()
	t.warnLocal()
	return t.resolve()
}

// checkShapes makes the counting numbers and blocks of every network, so that
// what is wrong with them is known before anything is written.
func (t *training) checkShapes() error {
	observed := false
	if err := checkCounting(t.data, t.problem.Counting); err != nil {
		return err
	}
	if t.settings.Method == learn.BBPL {
		if err := t.cut(); err != nil {
			return usagef("%v", err)
		}
	}
	for i, in := range t.data {
		if err := t.app.interrupted(); err != nil {
			return err
		}
		if len(in.Samples()) == 0 {
			return dataf("instance %d (%s) has no labels to learn from", i, in.Name)
		}
		observed = observed || hasLabel(in)
	}
	if !observed {
		return dataf("every label of every instance is unobserved (−1): there is nothing to learn from")
	}
	return nil
}

// cut decides how the networks are cut.
func (t *training) cut() error {
	var together int
	var err error
	if t.cuts, together, err = t.settings.Cut.Resolve(t.problem.Model, t.data); err != nil {
		return err
	}
	if t.settings.Together == 0 {
		t.settings.Together = together
	}
	if t.cuts[0].Kind == learn.CutMETIS { // it may be missing
		_, _, err = t.cuts[0].Assign(t.data[0], t.settings.Seed)
	}
	return err
}

func hasLabel(in *crf.Instance) bool {
	for _, labels := range in.Samples() {
		for _, y := range labels {
			if y != crf.Unobserved {
				return true
			}
		}
	}
	return false
}

// validate reports the first option whose value cannot be used.
func (f *trainFlags) validate() error {
	notNegative := []struct {
		name  string
		value float64
	}{
		{"l2", f.l2}, {"inner-tol", f.innerTolerance}, {"inner-sweeps", float64(f.innerSweeps)}, {"tol", f.tolerance},
		{"rtol", f.relativeTolerance}, {"obj-tol", f.objectiveTolerance}, {"max-iter", float64(f.maxIterations)}, {"together", float64(f.together)},
		{"max-passes", f.maxPasses}, {"max-time", f.maxTime.Seconds()}, {"checkpoint-every", f.checkpointEvery.Seconds()}, {"eval-every", f.evalEvery},
	}
	for _, o := range notNegative {
		if !(o.value >= 0) || math.IsInf(o.value, 0) {
			return usagef("--%s %v: want a finite number that is not negative", o.name, o.value)
		}
	}
	if f.threads < 1 {
		return usagef("--threads %d: want at least 1", f.threads)
	}
	choices := []struct {
		name, value string
		valid       []string
	}{
		{"method", f.method, methodChoices()},
		{"order", f.order, []string{string(learn.Cyclic), string(learn.Random)}},
		{"precision", f.precision, []string{bp.Double.String(), bp.Single.String()}},
	}
	for _, o := range choices {
		if !slices.Contains(o.valid, o.value) {
			return usagef("--%s %q: want one of %s%s", o.name, o.value, strings.Join(o.valid, ", "), didYouMean(o.value, o.valid))
		}
	}
	if len(f.eval) == 0 && f.evalEvery > 0 {
		return usagef("--eval-every is not used without --eval NAME=PATH")
	}
	return f.data.validate()
}

func smallest(data []*crf.Instance) int {
	n := data[0].Graph.NumNodes()
	for _, in := range data {
		n = min(n, in.Graph.NumNodes())
	}
	return n
}

// readData reads the training data, for the initial model if one is given.
func (t *training) readData() (*crf.Model, error) {
	f := t.flags
	var initial *loadedModel
	if f.init != "" {
		var err error
		if initial, err = loadModel(f.init); err != nil {
			return nil, err
		}
	}
	o := f.data.options(initial)
	o.Learning = initial != nil
	set, err := t.app.openData(t.args, o)
	if err != nil {
		return nil, err
	}
	t.set, t.data = set, set.Instances
	if f.noEdges {
		t.data = withoutEdges(set.Instances)
	}
	if initial != nil {
		return initial.model, nil
	}
	return crf.NewModel(set.Schema)
}

// readReference reads the weights that the run's distance is measured to.
func (t *training) readReference(model *crf.Model) ([]float64, error) {
	path := t.flags.reference
	if path == "" {
		return nil, nil
	}
	m, err := loadModel(path)
	if err != nil {
		return nil, err
	}
	if len(m.model.Weights) != len(model.Weights) {
		return nil, dataf("%s: the model has %d weights, the one to be learned %d", m.path, len(m.model.Weights), len(model.Weights))
	}
	return m.model.Weights, nil
}

// checkWritable refuses an output file that cannot be written.
func checkWritable(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("%s is a folder, want the name of a file to write", path)
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".blockbp-*")
	if err != nil {
		return &exitError{exitIO, fmt.Errorf("cannot write %s: %w", path, err)}
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// checkFreshFolder refuses a run folder that holds something already, before any
// data are read.
func checkFreshFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return nil // it does not exist yet, or Create will say what is wrong
	}
	return &runfolder.NotEmptyError{Dir: dir, Holds: entries[0].Name()}
}

// createOutput makes the folder for the results of a verb that no run can be
// resumed with.
func createOutput(dir string) (*runfolder.Run, error) {
	if err := checkOutput(dir); err != nil {
		return nil, err
	}
	return runfolder.Create(dir)
}

// checkOutput refuses such a folder that holds something already. An empty path
// stands for none.
func checkOutput(dir string) error {
	var taken *runfolder.NotEmptyError
	if dir == "" || !errors.As(checkFreshFolder(dir), &taken) {
		return nil
	}
	return usagef("the folder %q is not empty (it holds %q): choose another for -o, or remove it", dir, taken.Holds)
}

// describe prints what a run would need.
func (t *training) describe() error {
	sizes, err := learn.Measure(t.problem, t.settings)
	if err == nil {
		err = t.app.interrupted()
	}
	if err != nil {
		return err
	}
	if t.flags.json {
		return t.app.printJSON(sizes)
	}
	rows := [][]string{
		{"instances", strconv.Itoa(sizes.Instances)},
		{"nodes", strconv.Itoa(sizes.Nodes)},
		{"edges", strconv.Itoa(sizes.Edges)},
		{"weights", strconv.Itoa(sizes.Weights)},
		{"blocks per network", strconv.Itoa(sizes.Blocks)},
		{"edges cut by blocks", fmt.Sprintf("%.1f %%", 100*sizes.CutFraction)},
		{"memory for messages, beliefs, contributions", mebibytes(sizes.StateBytes)},
		{"memory in use for data", mebibytes(heapBytes())},
		{"seconds per pass (one sweep and one gradient)", fmt.Sprintf("%.3g (measured on one block)", sizes.SecondsPerPass)},
	}
	fmt.Fprintln(t.app.stdout, report.Table{Headers: []string{"quantity", "value"}, Rows: rows}.Text())
	return nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func heapBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// fit runs the learner and writes everything a run leaves behind.
func (t *training) fit() error {
	a, f := t.app, t.flags
	t.progress = newProgress(a.stderr, f.quiet, t.settings)
	t.settings.Recorder = t
	t.settings.Checkpoint = func(s *learn.State) error {
		if err := t.begin(); err != nil {
			return err
		}
		if err := t.metrics.Flush(); err != nil {
			return err
		}
		return saveCheckpoint(t.run.Dir(), s)
	}
	fitting := time.Now()
	result, err := learn.Fit(a.ctx, t.problem, t.settings)
	t.progress.done()
	if t.metrics != nil {
		if closeErr := t.metrics.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		var diverged *learn.DivergedError
		if errors.As(err, &diverged) {
			return t.writeFailure(diverged)
		}
		return t.placeStateError(err)
	}
	t.remark(result.Diagnose())
	t.earlier = max(0, result.Seconds-time.Since(fitting).Seconds())
	if err := t.writeResult(result); err != nil {
		return err
	}
	switch {
	case t.unevaluated:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted after the training (%s); the model is in %s, and blockbp train %s --resume makes up for the evaluation", result.Status, t.run.Path(modelFile), t.run.Dir())}
	case result.Status == learn.Interrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted after iteration %d; the state is saved: go on with blockbp train %s --resume", result.Iterations, t.run.Dir())}
	case f.requireConvergence && result.Status != learn.Converged:
		return &exitError{exitNotConverged, fmt.Errorf("not converged: %s", result.Reason)}
	}
	return nil
}

// placeStateError names the checkpoint that does not go with the run.
func (t *training) placeStateError(err error) error {
	var state *learn.StateError
	if errors.As(err, &state) {
		return fmt.Errorf("%s: %w", filepath.Join(t.run.Dir(), checkpointFile), err)
	}
	return err
}

// Record makes training a learn.Recorder.
func (t *training) Record(e learn.Event) error {
	t.progress.show(e)
	if err := t.begin(); err != nil {
		return err
	}
	if e.Check && e.Iteration == 0 {
		return t.metrics.Write(t.metricOf(e))
	}
	if e.Check {
		return nil // exact values are in result.json; metrics have one line per iteration
	}
	return t.metrics.Write(t.metricOf(e))
}

func (t *training) metricOf(e learn.Event) runfolder.Metric {
	m := runfolder.NewMetric(e.Iteration)
	if t.optimum != nil {
		m.ThetaDist = numeric.RelativeDistance(e.Theta, t.optimum)
	}
	m.Pass, m.WallS, m.Block = e.Pass, e.Elapsed.Seconds(), e.Block
	m.Objective, m.GradNorm = e.Objective, e.GradientNorm
	if !e.Check {
		m.Step = e.Step
	}
	if !e.Check && !math.IsNaN(e.Residual) { // methods without inference have none
		m.BPSweeps, m.BPResidual = float64(e.Sweeps), e.Residual
	}
	if e.Eval != nil {
		m.Eval = map[string]float64{}
		for name, value := range e.Eval {
			metric, set, _ := strings.Cut(name, "@")
			m.Eval[set+"."+metric] = value
		}
	}
	return m
}

func heapSystemBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
