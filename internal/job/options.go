package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/learn"
)

// The values of Options.Order.
const (
	orderCyclic = "cyclic"
	orderRandom = "random"
)

// Options are the choices of a training. The zero value is what "blockbp train"
// does where nothing is asked for; texts are as on its command line.
type Options struct {
	// Settings are the learner's. Threads are by default as many as the machine has, EvaluateEvery is how often
	// evaluation sets are compared with, and Spill is for features on another scale, too. RandomOrder and Proof
	// follow from the other options, and what observes a run is Train's to set.
	learn.Settings
	// Physics is ising or potts for samples of a physical system, of which fields and
	// couplings are wanted: see Prepared.physics. "": neither.
	Physics string
	// Errors says how standard errors of weights are found: auto, by the curvature of the
	// objective, cheap, where that is quick, bootstrap or bootstrap:B, or none. "": cheap with Physics, else none.
	Errors   string
	Order    string // cyclic or random; "": cyclic
	Counting string // auto, convex, cover, trw, near-bethe or bethe; "": auto
	Step     string // auto, fixed:A or adagrad:A; "": auto
	NoEdges  bool   // node features alone
	// Edges says how the weights of edges come about. together: they are learned with those
	// of nodes. potts:J, balanced:S and moments:S: node weights are learned without edges, and a rule makes
	// those of edges. auto, or "": together; but where a tenth of the labels of one network
	// are hidden, or more, what predicts best the known labels that are held out, in folds.
	Edges string

	// Prior is the standard deviation σ of the normal prior of every weight, of mean 0,
	// beside the sum of all samples' log-likelihoods: l2 = 1/(N σ²). 0: 1, of an alignment less.
	Prior float64
	// L2 is the weight of (l2/2)‖w‖² in the objective, in the place of the prior; 0: not given. NoL2 leaves the term out.
	L2   float64
	NoL2 bool
	// Standardise learns with features of mean 0 and deviation 1, and NoStandardise with
	// features as they are. Neither: standardised, unless L2 or NoL2 is given.
	Standardise, NoStandardise bool
	// Scale is what standardised features of nodes have: each, the deviation 1; one:D, one divisor for all, with which
	// the root mean square of their deviations is D; "" or auto, what predicts best labels that are held out.
	Scale string
	// Statistics: means are learned from in place of samples. Then a bound of the likelihood may be minimised, too.
	Statistics bool
	// SelectEdges says how edges are chosen that couplings are of, with Physics: ebic[:γ] or stability[:B]; "": all stay.
	SelectEdges string
	// ClassWeights is balanced or STATE=WEIGHT,…: how much labels of a state count.
	ClassWeights string
	// Loss, hamming or "", is what a wrong label costs in training, beside which entropies count Epsilon times: 1, or 0,
	// the likelihood's share, to 0, where margins are maximised. Weights and objective are those over Epsilon.
	Loss    string
	Epsilon float64

	EarlyStop string // METRIC@NAME[:PATIENCE]

	// WriteProof writes what another program needs to prove the suboptimality: see learn.Settings.ProofFile.
	WriteProof bool

	asked *Options // as they were given; nil: these are not resolved
}

// Resolved returns the choices with defaults in the place of zeros, once for all that use them, or the first that
// cannot be used. Some are left to the data: Prepare makes them.
func (o Options) Resolved() (Options, error) {
	if o.asked != nil {
		return o, nil
	}
	asked := o
	o, err := o.withDefaults()
	if err != nil {
		return o, err
	}
	if err := o.validate(); err != nil {
		return o, err
	}
	o.asked = &asked
	return o, o.settle()
}

// mostSweeps bounds K of truncated:K: all of the states on the way are kept.
const mostSweeps = 10_000

// withDefaults puts defaults in the place of zeros.
func (o Options) withDefaults() (Options, error) {
	if method, sweeps, _ := strings.Cut(string(o.Method), ":"); method == string(learn.Truncated) {
		if o.InnerSweeps != 0 {
			return o, usagef("{inner-sweeps} does not go with {method=%s}: truncated:K makes K sweeps", o.Method)
		}
		var err error
		if o.InnerSweeps, err = strconv.Atoi(sweeps); err != nil || o.InnerSweeps < 1 || o.InnerSweeps > mostSweeps {
			return o, usagef("{method=%s}: want from 1 to %d sweeps, such as truncated:10", o.Method, mostSweeps)
		}
		o.Method = learn.Truncated
	}
	o.Method, o.Order, o.Counting = cmp.Or(o.Method, learn.Auto), cmp.Or(o.Order, orderCyclic),
		cmp.Or(o.Counting, autoCounting)
	o.Edges, o.Scale = cmp.Or(o.Edges, edgesAuto), cmp.Or(o.Scale, scaleAuto)
	o.Step, o.Threads = cmp.Or(o.Step, autoStep), cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	if o.Standardise = !o.NoStandardise && (o.Standardise || !o.givesL2()); o.leavesPrior() {
		o.Prior = 1
	}
	var err error
	if o.Spill != "" {
		if o.Spill, err = filepath.Abs(o.Spill); err != nil { // a resumed run may start elsewhere
			return o, err
		}
	}
	if o.Errors == "" {
		o.Errors = errorsNone
		if o.Physics != "" && !o.Statistics {
			o.Errors = errorsCheap
		}
	}
	return o, err
}

// givesL2 reports whether l2 is given in the place of a prior.
func (o *Options) givesL2() bool { return o.L2 != 0 || o.NoL2 }

// leavesPrior reports whether neither is given.
func (o *Options) leavesPrior() bool { return o.Prior == 0 && !o.givesL2() }

// l2 is that of the objective of data.
func (o *Options) l2(data []*crf.Instance) float64 {
	if o.Prior == 0 {
		return o.epsilon() * o.L2
	}
	return o.epsilon() / (instances.TotalWeight(data) * o.Prior * o.Prior)
}

// lossHamming costs 1 for each wrong label.
const lossHamming = "hamming"

// epsilon is how often entropies count.
func (o *Options) epsilon() float64 { return cmp.Or(o.Epsilon, 1) }

// validateLoss refuses what has no margins.
func (o *Options) validateLoss() error {
	switch {
	case o.Loss == "" && o.Epsilon != 0 || o.Epsilon > 1:
		return usagef("{epsilon} is at most 1, with {loss=hamming}; without a loss {prior} is the scale of the weights")
	case o.Loss != "" && (o.Method.Local() || o.ClassWeights != "" || o.Physics != ""):
		return usagef("{loss} goes with a {method} of messages: auto, bbpl, inner-dual or full; and with neither " +
			"{class-weights} nor {model}")
	}
	return oneOf("loss", cmp.Or(o.Loss, lossHamming), []string{lossHamming})
}

// field is an option with its name, which is that of the command, and where its value is.
type field struct {
	name string
	at   any
}

// fields are the options that config.json tells, but for l2 and how networks are cut.
func (o *Options) fields() []field {
	return []field{
		{"method", (*string)(&o.Method)}, {"model", &o.Physics}, {"errors", &o.Errors}, {"step", &o.Step},
		{"order", &o.Order}, {"seed", &o.Seed}, {"no-edges", &o.NoEdges}, {"edges", &o.Edges},
		{"select-edges", &o.SelectEdges}, {"class-weights", &o.ClassWeights}, {"counting", &o.Counting}, {"prior", &o.Prior},
		{"loss", &o.Loss}, {"epsilon", &o.Epsilon},
		{"standardise", &o.Standardise}, {"scale", &o.Scale}, {"inner-sweeps", &o.InnerSweeps},
		{"inner-tol", &o.InnerTolerance}, {"tol", &o.GradientTolerance}, {"rtol", &o.RelativeTolerance}, {"gap", &o.Gap},
		{"max-iter", &o.MaxIterations}, {"together", &o.Together},
		{"max-passes", &o.MaxPasses}, {"max-time", &o.MaxTime}, {"checkpoint-every", &o.CheckpointEvery},
		{"eval-every", &o.EvaluateEvery}, {"early-stop", &o.EarlyStop},
	}
}

// value is that of an option in config.json: nil for the zero that stands for "off".
func (f field) value() any {
	v := reflect.ValueOf(f.at).Elem()
	switch x := v.Interface().(type) {
	case bool, uint64:
		return x
	case time.Duration:
		if x != 0 {
			return x.String()
		}
		return nil
	}
	if v.IsZero() {
		return nil
	}
	return v.Interface()
}

// validate reports the first choice that cannot be used.
func (o *Options) validate() error {
	for _, f := range append(o.fields(), field{"l2", &o.L2}, field{"threads", &o.Threads}) {
		v, x := reflect.ValueOf(f.at).Elem(), 0.0
		if v.CanFloat() {
			x = v.Float()
		} else if v.CanInt() {
			x = float64(v.Int())
		}
		if !(x >= 0) || math.IsInf(x, 0) {
			return usagef("{%s} %v: want a finite number that is not negative", f.name, v)
		}
	}
	switch {
	case o.WriteProof && (o.Standardise || o.Method.Local() || o.NoEdges || o.ClassWeights+o.Physics != "" || o.NoL2):
		return usagef("{proof} is of edges, messages, and features as they are: give {standardise!--standardise=false}, a " +
			"{method} such as bbpl, and none of {model}, {no-edges}, {class-weights} and {l2=0}")
	case o.Prior != 0 && o.givesL2():
		return usagef("{prior} and {l2} are two ways to say one thing: l2 = 1/(N prior²), N being the number of samples; " +
			"give one of them")
	case o.Prior != 0 && !(1/(o.Prior*o.Prior) > 0 && !math.IsInf(1/(o.Prior*o.Prior), 0)):
		return usagef("{prior} %v: want a standard deviation, such as 1; for weights without a prior give {l2=0}", o.Prior)
	}
	if problem := memory.ThreadsProblem(o.Threads); problem != "" {
		return usagef("{threads} %d: %s", o.Threads, problem)
	}
	var methods []string
	_, sweeps, _ := strings.Cut(string(o.Method), ":")
	for _, m := range learn.Methods {
		if methods = append(methods, string(m)); m == learn.Truncated && o.Method != m {
			methods[len(methods)-1] += ":" + cmp.Or(sweeps, "K")
		}
	}
	_, _, errErrors := o.bootstrap()
	_, _, errSelect := o.selectsEdges()
	_, errScale := onScale(nil, o.Scale)
	if err := cmp.Or(oneOf("method", string(o.Method), methods),
		oneOf("order", o.Order, []string{orderCyclic, orderRandom}), o.validatePhysics(), o.validateLoss(), errErrors,
		errSelect, o.validateEdges(), errScale); err != nil {
		return err
	}
	if o.Counting == autoCounting || o.Counting == countingOwn { // of the model that the training begins with
		return nil
	}
	_, err := Counting(context.Background(), o.Counting, o.Seed)
	return err
}

// oneOf refuses any other value of an option.
func oneOf(name, value string, valid []string) error {
	if slices.Contains(valid, value) {
		return nil
	}
	return usagef("{%s} %q: want one of %s%s", name, value, strings.Join(valid, ", "), option.Hint(value, valid))
}

// autoStep is the automatic rule of steps.
const autoStep = "auto"

// autoCounting leaves counting numbers to the data.
const autoCounting = "auto"

// countingFor returns the counting numbers that are taken for data: trw, which are exact on graphs without cycles and
// predict best where there are some. Pixels of photographs are another case: features of neighbours are wrong
// together, which tight numbers take for evidence. With the default l2 they are surer than right, and convex is not.
// A training that begins with a model goes on with the numbers of the model. For a number of sweeps convex ones are too
// loose: weights would have to be large, which the prior forbids.
func (o *Options) countingFor(set *dataset.Set, initial *Model) string {
	switch {
	case o.Counting != autoCounting:
		return o.Counting
	case o.Method == learn.Truncated && (initial == nil || initial.Meta[MetaCounting] == "convex"):
	case initial != nil && !initial.exact() && initial.Meta[MetaCounting] != "":
		return initial.Meta[MetaCounting]
	case set.Recipe.Kind == "images":
		return "convex"
	}
	return "trw"
}

// proofForPredictions ends trainings of weights for predictions: what is left changes none of them (results/README.md).
const proofForPredictions = 1e-3

// errorsOfCouplings ends trainings whose weights are read as couplings: what is left, even if it is ten times as much
// as is estimated, changes no digit that samples tell.
const errorsOfCouplings = 0.001

// predictsExactly reports whether predictions are exact where that is cheap, and by countingBeside elsewhere. Weights
// that belief propagation has learned with are those of its counting numbers, and predict best with these. Those of
// local methods are of the model itself.
func (o *Options) predictsExactly() bool {
	return o.Method == learn.Exact ||
		o.Method.Local() && o.Method != learn.Truncated && o.Counting == countingBeside && !o.NoEdges
}

// sweeps is how many predictions make, as learning did, 0: until beliefs are settled.
func (o *Options) sweeps() int {
	if o.Method != learn.Truncated {
		return 0
	}
	return o.InnerSweeps
}

// methodName is the method as --method has it.
func (o *Options) methodName() string {
	if o.Method != learn.Truncated {
		return string(o.Method)
	}
	return fmt.Sprintf("%s:%d", o.Method, o.InnerSweeps)
}

// settle tells the learner the rest, of options with their defaults.
func (o *Options) settle() error {
	s := &o.Settings
	if s.RandomOrder = o.Order == orderRandom; s.Method == learn.InnerDual {
		s.InnerSweeps = 1 // the learner makes no more
	}
	switch {
	case o.GradientTolerance != 0 || o.RelativeTolerance != 0 || o.Gap != 0:
	case o.Physics != "":
		s.ErrorShare = errorsOfCouplings
	case o.Errors == errorsNone:
		s.Proof = proofForPredictions
	}
	var err error
	if s.Step, err = learn.ParseStep(o.Step); err != nil {
		return usagef("{step}%s", strings.TrimPrefix(err.Error(), "step"))
	}
	return nil
}

// blockOptions are the options that methods without blocks and messages have no use
// for. --counting is used all the same: evaluations and predictions need it.
var blockOptions = []string{"blocks", "partition", "together", "inner-sweeps", "inner-tol", "order", "step"}

// Unused returns the names of the options that a method has no use for.
func Unused(method learn.Method) []string {
	switch {
	case method == learn.InnerDual:
		return []string{"blocks", "partition", "together", "inner-sweeps"}
	case method == learn.Full:
		return []string{"blocks", "partition", "together"}
	case method.Local():
		if method == learn.Exact {
			return append(blockOptions[:len(blockOptions):len(blockOptions)], "counting")
		}
		return blockOptions
	}
	return nil
}

// Counting returns what makes the counting numbers that a user names, as counting.Parse does.
func Counting(ctx context.Context, name string, seed uint64) (counting.Func, error) {
	numbers, err := counting.Parse(ctx, name, seed)
	switch {
	case name == autoCounting:
		return nil, usagef("{counting=auto} is a choice of training; want %s", strings.Join(counting.Names, ", "))
	case err != nil:
		return nil, usagef("{counting} %q: want %s, or auto in training%s", name, strings.Join(counting.Names, ", "),
			option.Hint(strings.ToLower(name), counting.Names))
	}
	return func(g *graph.Graph) (*counting.Numbers, error) {
		c, err := numbers(g)
		if path := (*fs.PathError)(nil); err != nil && parallel.Ended(ctx) == nil && !errors.As(err, &path) {
			err = &Error{Data, err}
		}
		return c, err
	}, nil
}

// earlyStop reads METRIC@NAME[:PATIENCE], for the names of evaluation sets.
func earlyStop(spec string, sets []*Evaluation) (*learn.EarlyStop, error) {
	if spec == "" {
		return nil, nil
	}
	const defaultPatience = 5
	name, patience := spec, defaultPatience
	if m, p, ok := strings.Cut(spec, ":"); ok {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 {
			return nil, usagef("{early-stop} %q: patience is %q, want a positive number of evaluations", spec, p)
		}
		name, patience = m, n
	}
	short, set, named := strings.Cut(name, "@")
	if !named || set == "" || len(sets) == 0 {
		return nil, usagef("{early-stop} %q: want METRIC@NAME[:PATIENCE], such as accuracy@dev:3 with "+
			"{eval!--eval dev=PATH}", spec)
	}
	var known []string
	for _, e := range sets {
		none := &Scored{Score: infer.NewScore(len(stateNames(e.Set))), Entities: newEntities(e.Set)}
		known = append(known, numeric.Map(none.Metrics(), func(m string) string { return m + "@" + e.Name })...)
	}
	if !slices.Contains(known, name) {
		return nil, usagef("{early-stop} %q: no such metric; %s", spec, option.Suggestion(name, known, ""))
	}
	return &learn.EarlyStop{Metric: name, Patience: patience, Minimise: slices.Contains(losses, short)}, nil
}

// resolved puts what the run will use in the place of options that were left to the
// program, so that config.json tells all of it and the run can be resumed.
func (p *Prepared) resolved(asked map[string]Option) map[string]Option {
	options := map[string]Option{}
	maps.Copy(options, asked)
	if p.grid != nil {
		return open(options)
	}
	o, s, l2 := p.Options, p.Settings.Resolved(), any(nil)
	o.InnerSweeps, o.InnerTolerance, o.Together, o.MaxPasses = s.InnerSweeps, s.InnerTolerance, s.Together, s.MaxPasses
	o.RelativeTolerance, o.Gap, o.EvaluateEvery = s.RelativeTolerance, s.Gap, s.EvaluateEvery
	if e := p.earlyStop; e != nil && o.EarlyStop != "" {
		o.EarlyStop = fmt.Sprintf("%s:%d", e.Metric, e.Patience)
	}
	if len(p.Evaluations) == 0 {
		o.EvaluateEvery = 0
	}
	if o.Prior == 0 {
		l2 = p.Problem.L2
	}
	for _, f := range o.fields() {
		put(options, f.name, f.value())
	}
	put(options, "l2", l2)
	put(options, "method", o.methodName())
	if p.Choice != "" {
		options["method"] = Option{Value: string(o.Method), Source: sourceAuto + p.Choice}
	}
	if of := options["edges"]; p.choice == nil && of.Source == SourceDefault && o.Edges != edgesAuto {
		options["edges"] = Option{Value: o.Edges, Source: sourceAuto + "few labels"}
	}
	p.resolveBlocks(options)
	if p.choice != nil {
		put(options, "hops", p.Set.Recipe.Hops)
		for _, name := range []string{"hops", "prior", "edges"} {
			if o, ok := options[name]; ok && o.Source == SourceDefault {
				options[name] = Option{Value: o.Value, Source: sourceAuto + "by folds of labels"}
			}
		}
	}
	return options
}

// open leaves out what is to be chosen yet: a run that is resumed chooses again.
func open(options map[string]Option) map[string]Option {
	for name, o := range options {
		if o.Source == SourceDefault && (slices.Contains(LearningOptions, name) || name == "hops") {
			options[name] = Option{Value: nil, Source: SourceDefault}
		}
	}
	return options
}

// resolveBlocks says how the networks are cut. Where some are cut into tiles and
// others are not, or into turned ones, there is no other answer than "auto".
func (p *Prepared) resolveBlocks(options map[string]Option) {
	set := func(blocks, partition any) { put(options, "blocks", blocks); put(options, "partition", partition) }
	switch {
	case p.Options.Method.Local():
		for _, name := range blockOptions {
			put(options, name, nil)
		}
		return
	case p.Options.Method != learn.BBPL || p.cuts[0].Blocks == 1: // nothing is cut
		set(1, nil)
		return
	}
	first := p.cuts[0]
	var blocks any = first.Blocks
	if first.Rows > 0 {
		blocks = fmt.Sprintf("%dx%d", first.Rows, first.Cols)
	}
	for _, one := range p.cuts {
		switch {
		case one.Kind != first.Kind, one != first && p.Options.Cut == (learn.Cut{}):
			set(nil, "auto")
			return
		case one != first:
			blocks = first.Blocks // tiles of other shapes
		}
	}
	if asked := p.Options.Cut; asked.Rows > 0 { // narrow networks have fewer of them
		blocks = fmt.Sprintf("%dx%d", asked.Rows, asked.Cols)
	}
	set(blocks, first.Kind)
}

// sourceAuto begins the source of a method that the data decided; the reason follows. A
// resumed run keeps the method, as the machine takes part in the decision.
const sourceAuto = "auto: "

// choiceOf returns the reason for a method, "" where it was asked for.
func (o Option) choiceOf() string {
	if reason, found := strings.CutPrefix(o.Source, sourceAuto); found {
		return reason
	}
	return ""
}

// sourceCaller is the source of options that Prepare was given without one.
const sourceCaller = "caller"

func put(options map[string]Option, name string, value any) {
	options[name] = Option{value, cmp.Or(options[name].Source, sourceCaller)}
}
