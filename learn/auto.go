package learn

import (
	"errors"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/linear"
)

// auto is the automatic rule, which needs no tuning: visits with a step at first (incremental), and then descent. Its
// steps are quasi-Newton steps whose initial matrix is an estimate P⁻¹ of the inverse Hessian (internal/linear).
//
// At first P is a Kronecker product A ⊗ C + l2 I for each type of nodes and of edges (linear.Fisher):
//
//	A = Σ f fᵀ/ρ over nodes (edges),   C = diag(π) − ππᵀ,
//
// with f the features, ρ the counting number that divides the potentials in the beliefs, and π the mean belief, or the
// frequency in the labels where that is larger, as beliefs have to go there. A is diagonalised once; P⁻¹ is applied at
// the π of each accepted step. P makes steps independent of the scales and correlations of features, and is the Hessian
// where no node answers to another. Later P may be a Hessian of all weights together at the beliefs of the moment
// (linear.Dense): of large data one in which each node answers while its neighbours hold their beliefs, and of small
// problems the Hessian itself.
//
// What P leaves out, such as the coupling of neighbours and beliefs that differ from the mean, is learned by
// limited-memory BFGS from one pair (s, y) per accepted step, or per pass of visits.
type auto struct {
	autoState
	run         *inference // whose weights it moves; nil: it has not begun, or is over
	fisher      *linear.Fisher
	dense       *linear.Dense
	spans       []crf.Span // of all types: nodes, then edges
	frequencies []float64  // of the (joint) states in the labels
	curvature   *lbfgs.Curvature
	incremental *incremental
	descent     *descent

	plain []float64 // P⁻¹ g
}

// autoState is what a resumed run goes on from, with the states of its parts.
type autoState struct {
	beliefs      []float64 // π of every type
	startWeights []float64 // weights at the start
	startValue   float64   // objective there
}

// descends reports whether weights move after whole passes only, if steps are automatic: see descent.
func (a *auto) descends() bool { return a != nil && a.descent.began }

// passesHere is how many whole passes of descent were made at these weights, none of which has decided.
func (a *auto) passesHere() int {
	if !a.descends() {
		return 0
	}
	return a.descent.passesHere
}

func (a *auto) Guarded() bool { return true }

// automatic returns the rule, also of one in a struct that embeds it, as in tests.
func (a *auto) automatic() *auto { return a }

func (a *auto) String() string { return "auto" }

func (a *auto) Start(p StepProblem) (err error) {
	run := p.messages.inference
	if p.automatic != a {
		return errors.New("learn: automatic steps are a part of another rule, which hides them: give them as Settings.Step")
	}
	*a = auto{run: run, spans: allSpans(&run.model.Layout)}
	states, size := 0, run.model.Layout.Size
	for _, span := range a.spans {
		states += span.States
	}
	data := run.statistics()
	moments := func(kind int) []float64 { return data.Moments(kind, linear.MaxRotated) }
	if a.fisher, err = linear.NewFisher(&run.model.Layout, p.L2, moments); err != nil {
		return err
	}
	a.dense = linear.NewDense(p.messages.denseProblem(a.fisher.Squares))
	a.beliefs, a.frequencies = make([]float64, states), data.Frequencies()
	a.plain, a.startWeights = make([]float64, size), make([]float64, size)
	a.curvature = lbfgs.New(size, a.apply)
	a.incremental = newIncremental(run)
	a.descent = newDescent(p.messages, a.curvature, a.dense)
	return nil
}

// forget lets go of a run that has ended, and of its memory: the caller keeps the rule, and what tells how it went.
func (a *auto) forget() {
	if a.run == nil {
		return
	}
	*a = auto{
		descent: &descent{descentState: descentState{descentProgress: a.descent.descentProgress}},
		dense:   &linear.Dense{DenseState: linear.DenseState{Has: a.dense.Has}},
	}
}

// State is nil after a run.
func (a *auto) State() any {
	if a.run == nil {
		return nil
	}
	return &struct {
		auto        *autoState
		incremental *incrementalState
		pairs       *lbfgs.State
		descent     *descentState
		dense       *linear.DenseState
	}{
		&a.autoState, &a.incremental.incrementalState, &a.curvature.State, &a.descent.descentState, &a.dense.DenseState,
	}
}

// Step is called by iterate in the second of a run's stages: initial check → visits → descent → check of a claim. It
// steps at each visit and, once these lead no more or where F is no bound, begins descent: from then on descends is
// true, and run makes whole passes. Visits may lead to a check, too, and where a claim fails what was at work goes on.
func (a *auto) Step(theta, gradient []float64) float64 {
	e := a.incremental
	if e.visits == 0 {
		a.takeMeanBeliefs()
		copy(a.startWeights, theta)
		a.startValue = a.run.progress.FirstObjective
		if !a.run.holds.bounded { // nothing would tell that visits have led astray
			a.descent.begin(theta, a.startWeights, a.startValue, false)
			return 0
		}
		e.begin(theta)
	}
	e.takeVisit(theta, gradient)
	perPass := a.run.schedule.perPass()
	passEnds := e.visits%perPass == 0
	if passEnds {
		a.descent.takeVisitsPass(e.mean, e.gradient, e.visits == perPass)
	}
	a.curvature.Direction(a.plain, e.gradient)
	for j, d := range a.plain {
		theta[j] = e.mean[j] - d
	}
	if passEnds && !e.leads() {
		a.descent.begin(theta, a.startWeights, a.startValue, true)
	}
	return 1
}

// advance takes the next step from weights that were accepted, and returns its size.
func (a *auto) advance(theta, gradient []float64) (size float64) {
	a.takeMeanBeliefs()
	if a.descent.dampsSteps() {
		return a.descent.advanceDamped(theta)
	}
	damping := 0.0
	if a.descent.lags { // messages could not follow: nodes are bound to neighbours, and move together
		damping = linear.TiedDamping
	}
	if a.dense.Renew(damping) {
		if a.dense.Exact() {
			a.curvature.Reset(1)
		} else {
			a.curvature.Rescale()
		}
	}
	return a.descent.advance(theta, gradient)
}

// takeMeanBeliefs takes π from the beliefs of the moment, or from the labels where these have more of a state: without
// that, a state that beliefs have given up would have no curvature, though it has to come back.
func (a *auto) takeMeanBeliefs() {
	a.run.sums.meanBeliefs(a.beliefs)
	at := 0
	for _, span := range a.spans {
		mean := a.beliefs[at:][:span.States]
		if !span.Untied {
			for i, f := range a.frequencies[at:][:len(mean)] {
				mean[i] = max(mean[i], f)
			}
			instances.Normalise(mean)
		}
		at += len(mean)
	}
}

// apply computes dst = P⁻¹ g; dst may be g.
func (a *auto) apply(dst, g []float64) {
	if a.dense.Has {
		a.dense.Solve(dst, g)
		return
	}
	a.fisher.Solve(dst, g, a.beliefs)
}
