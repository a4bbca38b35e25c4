package learn

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/local"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/partition"
)

// Problem is what is to be minimised:
//
//	(8)  L(θ̃) = (1/N) Σ_n [B(θ_n) − ⟨θ_n, w_n⟩] + (l2/2)‖θ̃‖²
//
// over the weights of Model, N being the number of samples in Data. Those of symmetric edge
// types have one value for the states a, b and b, a, which counts twice in ‖θ̃‖².
type Problem struct {
	// Model gives the schema and the weights to start from. Fit changes a copy.
	Model *crf.Model
	// Data are instances of Model's schema, or of one with the same types, with at least one sample of labels each.
	Data []*crf.Instance
	// Counting gives the counting numbers of each distinct graph; nil: counting.Convex.
	Counting counting.Func
	// L2 is the weight of the regulariser, not negative.
	L2 float64
	// ClassWeights, [node type][state], are how much labels of each state count, all positive and finite; nil: ones.
	// Without edges, and with Pseudo, they multiply the term of the label. Where labels depend on each other, those of
	// larger weight count once more, given the others: see docs/explanation/equations.md, section 5.
	ClassWeights [][]float64
	// Statistics, laid out as the weights, are M w̄ in place of those of the labels, with BBPL, InnerDual, Full and Exact;
	// nil: those. Labels then are any that are allowed.
	Statistics []float64
	// Loss is what a wrong label costs, not negative: B of (8) is then that of θ_s(x) + Loss 1[x ≠ y_s]. With Loss 1/ε and
	// ε l2 weights are 1/ε of those at which entropies count ε times, and margins what they come to as ε → 0 (Taskar et
	// al. 2005, Hazan and Urtasun 2010). With BBPL, InnerDual and Full, of one sample an instance without hidden labels.
	Loss float64

	apart *Problem // the problem of which this one joins small networks; nil: it joins none (joined)
}

// Method names one of the three settings of the loop, or an objective that L-BFGS minimises: see Method.Local.
type Method string

// The methods. See the package documentation.
const (
	// Auto is BBPL with a number of blocks that the sizes of the networks decide: see Settings.Choose.
	Auto Method = "auto"

	Full      Method = "full"
	InnerDual Method = "inner-dual"
	BBPL      Method = "bbpl"

	Pseudo    Method = "pseudo"    // maximum pseudo-likelihood (Besag 1975)
	Piecewise Method = "piecewise" // piecewise training (Sutton and McCallum 2005)

	// Exact is maximum likelihood, with log Z by elimination of variables, where the
	// networks' widths allow it: B of (8) is log Z itself.
	Exact Method = "exact"

	// Composite is the likelihood of each block given the labels outside it (Samdani and Roth 2012): Exact of one block,
	// Pseudo of blocks of one node. They are the fewest, a power of two, grown breadth-first, of which elimination
	// computes about a thousand entries a node. Edges to hidden labels outside are left out.
	Composite Method = "composite"

	// Truncated is for what predictions compute that make Settings.InnerSweeps sweeps from constant messages, and no more
	// (Stoyanov et al. 2011, Domke 2013): the mean of Σ_s −log τ_s(x_s) over the labelled nodes, which is not convex. So
	// does infer.Predictor.Truncated.
	Truncated Method = "truncated"
)

// Methods lists all methods, the default first.
var Methods = []Method{Auto, BBPL, InnerDual, Full, Exact, Composite, Pseudo, Piecewise, Truncated}

// Local reports whether L-BFGS minimises the method's objective, which is known exactly: a sum of local terms, the
// likelihood, or the loss of Truncated. There are no blocks, no checks, and no messages that are kept.
func (m Method) Local() bool { return m.sums() || m == Pseudo || m == Piecewise || m == Truncated }

// sums reports Exact and Composite, which compute log Z, of networks or of blocks, and so sum over hidden labels.
func (m Method) sums() bool {
	return local.Kind(m).Sums()
}

// Settings are the choices of a run. The zero value works: what Choose makes of method Auto, with automatic steps.
type Settings struct {
	// Method is Auto by default.
	Method Method
	// Cut says how networks are cut into blocks, for BBPL and Auto.
	Cut Cut
	// Assign, unless it is nil, cuts them instead: of [nodes] is the block of each
	// node, from 0 to blocks−1. Every instance must get as many blocks.
	Assign func(*crf.Instance) (of []int32, blocks int, err error)
	// InnerSweeps bounds the sweeps of one iteration for full and bbpl, as the paper's future work plans; inner-dual makes
	// one. 0 means 300, in effect to convergence, for full, and 2 for bbpl: messages persist from visit to visit, so that
	// more sweeps per visit cost more than they gain (results/README.md). Automatic steps make three in each visit where
	// weights move after whole passes. Truncated makes exactly so many, 0: 10.
	InnerSweeps int
	// InnerTolerance is the residual, the largest change of a log-message or log-belief in a sweep, at which a block
	// counts as converged. Every iteration makes at least one sweep and messages persist, so the optimum does not depend
	// on it. 0 means 1e-3.
	InnerTolerance float64
	// RandomOrder picks blocks uniformly, from Seed, for visits with a step; else they are picked 0, 1, …, D−1,
	// 0, … in turn, as the paper found faster.
	RandomOrder bool
	// Together is how many blocks, of which no two share an edge, are visited together before a step, as far as there are
	// so many; 0 means what Fit decides, or 1 with Assign. Several threads can then work on one instance. To the paper's
	// algorithm these blocks are one.
	Together int
	// Seed is that of RandomOrder, and of the first weights of states that no label tells apart: see Result.Seeded.
	Seed       uint64
	unlabelled instances.Unlabelled
	gapAlone   bool // Gap was given and no tolerance
	// Step moves the weights; nil means the automatic rule, "auto" of ParseStep.
	Step StepRule
	// Threads is the number of goroutines that work on instances, and on samples
	// with missing labels; 0 means 1. The result does not depend on it.
	Threads int

	// Group is several processes that make the run together; nil: this one alone. Blocks of
	// BBPL, and instances, are dealt over them. Methods that are Local have one process.
	Group Group
	team  *distributed.Team

	// Memory bounds, in bytes, what a run takes beside its data and its model; more, by what Forecast says, is a
	// *MemoryError. 0: four fifths of what the system has available. Negative: no bound.
	Memory int64

	// Spill is a folder. Messages, beliefs, contributions and lists of blocks lie in a file there, that has no name and is
	// gone with the run, and the system has in memory what is in use. "": all lies in memory. Results do not depend on it.
	Spill string

	// GradientTolerance stops at ‖∇L‖₂ ≤ GradientTolerance, absolute. 0: not used.
	GradientTolerance float64
	// RelativeTolerance stops at ‖∇L‖₂ ≤ RelativeTolerance · ‖∇L(θ₀)‖₂. 0: 1e-5
	// where GradientTolerance is 0 too, else not used.
	RelativeTolerance float64
	// Gap is the largest Result.Suboptimality, relatively to 1 + |L|, with which a run has
	// converged, or Result.Gap, where no suboptimality is known. Where consistent beliefs take a forbidden state neither
	// is looked at: the gradient alone decides, and Result.Reason says so. 0: 1e-3. Where neither tolerance is given a
	// suboptimality of at most Gap ends the run by itself, as one of Proof does.
	Gap float64
	// Proof, above 0, also ends a run, unless Gap stands alone, where Result.Suboptimality is proved to be at most this
	// share of what was gained, Objective at the start less Objective now, whatever gradient and messages lack: with 1e-3
	// no prediction feels what is left. Where nothing bounds the objective from below, as with hidden labels, three
	// steps in a row that promise less end it. Weights that are read as numbers deserve more. 0: not used.
	Proof float64
	// ErrorShare, above 0, also ends a run of a method without blocks and with a regulariser where the objective is
	// convex, and weights are within this share of their standard errors, as Event.OfErrors estimates it. 0: not used.
	ErrorShare float64
	// MaxIterations, MaxPasses and MaxTime bound the run. 0: no bound; MaxPasses defaults to 10,000.
	MaxIterations int
	MaxPasses     float64
	MaxTime       time.Duration
	// Reserve, if not nil, is what of MaxTime is for others after the run, up to half. It may change during the run.
	Reserve func() time.Duration

	// Checking is told of every pass of a check that goes on: how many it has made, and the
	// largest change of a log-message in the last; nil: nobody is.
	Checking func(passes int, residual float64)
	// Recorder is called after every iteration and at the end of every check; an error ends the run. nil: nobody looks.
	Recorder func(Event) error
	// Evaluate is called after the first iteration and then every EvaluateEvery passes (0: 20) with the model of the
	// moment, which it must neither change nor keep; its values, named metric@set, go to the recorder. nil puts it off.
	Evaluate      func(*crf.Model) (map[string]float64, error)
	EvaluateEvery float64
	// EarlyStop ends the run where a value of Evaluate stopped improving.
	EarlyStop *EarlyStop

	// Checkpoint is called when the state should be saved: at the start, at pass ends CheckpointEvery apart (0: so often
	// that saving takes about 1 % of the time, and at least every 10 minutes) unless the objective got worse, when the run
	// is interrupted, and when it ends. nil: never, and an interrupted run ends at once.
	Checkpoint      func(*State) error
	CheckpointEvery time.Duration
	// ProofFile, not empty, is where a run of one process writes what bounds the objective by its last pass: of
	// each instance, named x, log-messages x.messages and log-beliefs x.beliefs, and counting numbers x.node, x.edge and
	// x.split, none where all x.node ≥ 0. With these, model and data python/examples/verify.py finds both bounds anew.
	ProofFile string
	// Resume is a state to go on from, of the same problem and of settings that agree in what decides the course of a run;
	// else the error is ErrState. nil: start afresh.
	Resume *State
}

// EarlyStop names a value of Settings.Evaluate and how long to wait for it.
type EarlyStop struct {
	Metric   string // "accuracy@dev"
	Patience int    // evaluations without improvement after which to stop, at least 1
	Minimise bool   // smaller is better (losses)
}

const (
	defaultFullSweeps        = 300
	defaultBlockSweeps       = 2
	defaultTruncatedSweeps   = 10
	defaultInnerTolerance    = 1e-3
	defaultRelativeTolerance = 1e-5
	defaultMaxPasses         = 10000
	defaultGap               = 1e-3
	defaultEvaluateEvery     = 20.0
)

// leastGap is the smallest Gap: rounding leaves somewhat less unknown of two bounds.
const leastGap = 1e-12

// Resolved returns the settings with the default in the place of every zero value that stands for one: what Fit will
// use, except for what Choose and Fit make of the data.
func (s Settings) Resolved() Settings {
	s.Method = cmp.Or(s.Method, Auto)
	blocks, sweeps := s.Method == BBPL || s.Method == Auto, defaultFullSweeps
	if blocks {
		sweeps = defaultBlockSweeps
	} else if s.Method == Truncated {
		sweeps = defaultTruncatedSweeps
	}
	s.InnerSweeps, s.InnerTolerance = cmp.Or(s.InnerSweeps, sweeps), cmp.Or(s.InnerTolerance, defaultInnerTolerance)
	if s.Step == nil {
		s.Step = &auto{}
	}
	s.Threads = max(1, s.Threads)
	s.team = distributed.NewTeam(s.Group)
	if s.Together == 0 && (s.Assign != nil || !blocks) {
		s.Together = 1 // else Cut decides, when the data are known
	}
	if s.GradientTolerance == 0 && s.RelativeTolerance == 0 {
		s.gapAlone = s.Gap > 0
		s.RelativeTolerance = defaultRelativeTolerance
	}
	s.Gap = cmp.Or(s.Gap, defaultGap)
	s.MaxPasses, s.EvaluateEvery = cmp.Or(s.MaxPasses, defaultMaxPasses), cmp.Or(s.EvaluateEvery, defaultEvaluateEvery)
	return s
}

// mostIterations is the limit on iterations, infinite where there is none.
func (s *Settings) mostIterations() float64 {
	if s.MaxIterations == 0 {
		return math.Inf(1)
	}
	return float64(s.MaxIterations)
}

// violated says which constraint a problem or settings violate.
func violated(format string, a ...any) error {
	return fmt.Errorf("learn: violated constraint: "+format, a...)
}

// Validate quotes the first constraint that settings or problem violate.
func (s *Settings) Validate(p *Problem) error {
	resolved := s.Resolved()
	return resolved.validate(p)
}

// validate looks at settings and numbers, and then at data.
func (s *Settings) validate(p *Problem) error {
	switch {
	case p.Model == nil:
		return violated("Problem.Model is set")
	case len(p.Data) == 0:
		return violated("Problem.Data has at least one instance")
	case !(p.L2 >= 0) || math.IsInf(p.L2, 0):
		return violated("0 ≤ L2 < ∞, got %v", p.L2)
	case !slices.Contains(Methods, s.Method):
		return violated("Method is one of %q, got %q", Methods, s.Method)
	case (s.team.Size() > 1 || s.ProofFile != "") && s.Method.Local():
		return violated("Group is one process, and ProofFile empty, with Method %q", s.Method)
	case memory.ThreadsProblem(s.Threads) != "":
		return violated("Threads is %d: %s", s.Threads, memory.ThreadsProblem(s.Threads))
	case p.Statistics != nil && s.Method.Local() && s.Method != Exact:
		return violated("Method %q has samples, not Statistics", s.Method)
	case !(p.Loss >= 0) || math.IsInf(p.Loss, 0):
		return violated("0 ≤ Loss < ∞, got %v", p.Loss)
	case p.Loss > 0 && (s.Method.Local() || p.Statistics != nil || p.ClassWeights != nil):
		return violated("Loss goes with BBPL, InnerDual and Full, without Statistics and ClassWeights")
	case s.Together < 0:
		return violated("Together ≥ 0, got %d", s.Together)
	case s.InnerSweeps < 0 || !(s.InnerTolerance >= 0):
		return violated("InnerSweeps ≥ 0 and InnerTolerance ≥ 0, got %d and %v", s.InnerSweeps, s.InnerTolerance)
	case !(s.GradientTolerance >= 0) || !(s.RelativeTolerance >= 0):
		return violated("tolerances ≥ 0")
	case !(s.Gap >= leastGap):
		return violated("Gap ≥ %g, as rounding leaves about as much unknown, got %v", leastGap, s.Gap)
	case !(s.ErrorShare >= 0 && s.ErrorShare < 1):
		return violated("0 ≤ ErrorShare < 1, got %v", s.ErrorShare)
	case !(s.Proof >= 0 && s.Proof < 1):
		return violated("0 ≤ Proof < 1, got %v", s.Proof)
	case s.MaxIterations < 0 || !(s.MaxPasses >= 0) || s.MaxTime < 0:
		return violated("MaxIterations, MaxPasses and MaxTime ≥ 0")
	case !(s.EvaluateEvery >= 0):
		return violated("EvaluateEvery ≥ 0, got %v", s.EvaluateEvery)
	case s.EarlyStop != nil && s.Evaluate == nil:
		return violated("EarlyStop needs Evaluate")
	case s.EarlyStop != nil && s.EarlyStop.Patience < 1:
		return violated("EarlyStop.Patience ≥ 1, got %d", s.EarlyStop.Patience)
	}
	return p.validate()
}

// validate looks at data and weights.
func (p *Problem) validate() error {
	if problem := ground.ClassWeightsProblem(p.Model.Schema.NodeTypes, p.ClassWeights); problem != "" {
		return violated("%s", problem)
	}
	if n := len(p.Statistics); n > 0 && n != p.Model.Layout.Size {
		return violated("Problem.Statistics has %d numbers, one for each weight, got %d", p.Model.Layout.Size, n)
	}
	for i, in := range p.Data {
		if !ground.SameShape(in.Schema(), &p.Model.Schema) {
			return fmt.Errorf("learn: instance %d (%s) was made for another schema than the model's: its types differ in "+
				"number, states, features, copies, symmetry or what they forbid; make it with the model's", i, in.Name)
		}
		if len(in.Samples()) == 0 {
			return fmt.Errorf("learn: instance %d (%s) has no labels to learn from", i, in.Name)
		}
		if err := in.CheckLabels(&p.Model.Schema); err != nil {
			return fmt.Errorf("learn: instance %d (%s): %w", i, in.Name, err)
		}
		if p.Loss > 0 && (len(in.Samples()) > 1 || slices.Contains(in.Samples()[0], crf.Unobserved)) {
			return fmt.Errorf("learn: instance %d (%s) has several samples or hidden labels, and a loss needs one label of "+
				"each node", i, in.Name)
		}
	}
	if err := p.Model.CheckSymmetry(); err != nil {
		return fmt.Errorf("learn: initial %w", err)
	}
	notFinite := func(w float64) bool { return math.IsNaN(w) || math.IsInf(w, 0) }
	if i := slices.IndexFunc(p.Model.Weights, notFinite); i >= 0 {
		return fmt.Errorf("learn: initial weight %s is %v", p.Model.WeightName(i), p.Model.Weights[i])
	}
	return nil
}

// A chain is visited node after node, so that one sentence leaves vector kernels nothing to do at once. So many small
// forests are joined into one network, in which the first nodes of all are updated together, then the second ones. The
// objective (8) is the same: where counting numbers are exact it is a sum over the components of a network, and so are
// objectives of local terms.

// joinedNodes is how many nodes networks are joined up to: as many as are sorted into runs together.
const joinedNodes = partition.WindowNodes

// joined returns the problem with small forests joined, or the problem itself where there is
// nothing to join. Small models stay as they are: the exact Hessian takes each network by itself.
func (p *Problem) joined(s *Settings) *Problem {
	whole := s.Method != BBPL || s.Assign == nil && s.Cut.Blocks == 1
	if !whole || s.Method == Truncated || p.ClassWeights != nil || len(p.Data) < 2 || s.ProofFile != "" ||
		p.Model.Layout.Size <= linear.MaxDense || p.Model.Layout.UntiedSize > 0 {
		return p
	}
	exact := map[*graph.Graph]bool{}
	isExact := func(g *graph.Graph) bool {
		if s.Method.Local() {
			return g.IsForest()
		}
		if _, known := exact[g]; !known {
			exact[g] = p.isExact(g)
		}
		return exact[g]
	}
	result := *p
	if result.Data, result.apart = instances.JoinAll(p.Data, joinedNodes, isExact), p; len(result.Data) == len(p.Data) {
		return p
	}
	return &result
}

// isExact reports whether with the counting numbers of a graph B of (8) is log Z itself.
func (p *Problem) isExact(g *graph.Graph) bool {
	numbers, err := p.Counting.Of(g)
	return err == nil && numbers.Facts.Bound == counting.Exact
}

// given is the problem as Fit was given it, before small networks were joined.
func (p *Problem) given() *Problem {
	if p.apart != nil {
		return p.apart
	}
	return p
}

// Cut says how networks are cut into blocks, all of them into as many. The zero value leaves everything to Fit: tiles
// for networks on grids, blocks grown breadth-first for others; 20 of them, or more where half of the second-level
// cache asks for more, but no more than the largest network has nodes. A network that is too small for so many has
// empty blocks, which cost nothing.
type Cut struct {
	// Kind is "tiles" (rectangles of a grid), "range" (runs of node numbers), "bfs" (grown
	// breadth-first), or "" for what suits the networks.
	Kind string
	// Blocks per network; 0: Fit decides.
	Blocks int
	// Rows and Cols of tiles, both in place of Blocks; Kind is then "tiles" or "".
	Rows, Cols int
}

// Choose puts BBPL in the place of method Auto, and decides whether networks are cut. Only sizes and edges count, and
// the second-level cache of this machine: no feature, no label and no weight is looked at. reason says in words what
// decided, "" where another method was asked for: those settings are returned as they are.
//
// Networks are cut if a cut was asked for, or if the largest is so large that more than 20 blocks of it are needed
// for the visit of one to stay in the cache, and 20 blocks share few edges. Others stay whole, in one block. Steps that
// look at curvature gain little by moving after every 20th of a network, and both blocks of a cut edge do its work:
// whole networks took 0.2 to 1.1 of the time. Chains are never cut: a sweep back and forth infers them, while what
// passes from block to block is late by visits, and misleads steps.
func (s Settings) Choose(p *Problem) (chosen Settings, reason string, err error) {
	if s.Resolved().Method != Auto {
		return s, "", nil
	}
	if p.Model == nil || len(p.Data) == 0 {
		return s, "", s.Validate(p)
	}
	if err := cut.Cut(s.Cut).Validate(); err != nil {
		return s, "", err
	}
	return s.choose(p, cut.Cache())
}

func (s Settings) choose(p *Problem, cache float64) (Settings, string, error) {
	s.Method = BBPL
	switch {
	case s.Cut == (Cut{Blocks: 1}) && s.Assign == nil && s.Together <= 1:
		return s, "whole networks were asked for", nil
	case s.Assign != nil || s.Cut != (Cut{}) || s.Together > 1:
		return s, "blocks were asked for", nil
	}
	blocks, why := cut.Pays(p.Model, p.Data, cache, p.isExact)
	if blocks {
		return s, "blocks: " + why, nil
	}
	s.Cut.Blocks = 1
	return s, "whole networks: " + why, nil
}

// resolve returns the settings that a run of a problem has, or the first constraint that settings or problem violate.
func (s Settings) resolve(p *Problem) (Settings, error) {
	if err := s.Validate(p); err != nil {
		return s, err
	}
	chosen, _, err := s.Choose(p)
	chosen = chosen.Resolved()
	if err == nil && (!chosen.Method.Local() || chosen.Method.sums()) { // the others leave hidden labels out
		chosen.unlabelled = instances.FindUnlabelled(p.Model, p.Data)
	}
	return chosen, err
}
