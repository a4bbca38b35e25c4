package study

import (
	"context"
	"errors"
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/learn"
)

// Names of the contestants, besides those of the paper's study.
const (
	nameAuto      = "auto (BBPL)"
	nameAutoInner = "auto (inner-dual)"
	nameAutoFull  = "auto (full BP)"
)

const (
	// stepsWork bounds every run, in message passes plus those that gradients are worth.
	stepsWork = 30000
	// stepsDistance is the smallest distance that is asked for.
	stepsDistance = 1e-6
	// claimTolerance is the gradient norm, relative to the first, that automatic steps have to reach and to prove.
	claimTolerance = 1e-6
	// blockSweeps is learn's default number of sweeps per visit of a block.
	blockSweeps = 2
)

// lbfgsTolerances are the residuals of the inference behind L-BFGS that are tried: a rough one costs less per
// evaluation, but the line search compares objectives. At each distance the fastest counts.
var lbfgsTolerances = []float64{1e-4, lbfgsTolerance, 1e-10}

// contestants are the methods of the suite. Fixed steps are tuned to each problem.
func contestants(blocks int) []Method {
	auto := Method{
		Name: nameAuto, Method: learn.BBPL, Blocks: blocks, Sweeps: blockSweeps, Tolerance: innerTolerance, Auto: true,
	}
	inner, full, fixed := innerDual(), fullBP(), auto
	inner.Name, inner.Auto = nameAutoInner, true
	full.Name, full.Auto = nameAutoFull, true
	fixed.Name, fixed.Auto = nameBBPL, false
	all := []Method{auto, inner, full, fixed, innerDual(), fullBP()}
	for _, tolerance := range lbfgsTolerances {
		m := lbfgs()
		m.Tolerance = tolerance
		all = append(all, m)
	}
	return all
}

// Contest is how the contestants did on one problem of the suite.
type Contest struct {
	Case         stepsCase `json:"case"`
	Variables    int       `json:"variables"`
	Weights      int       `json:"weights"`
	GradientNorm float64   `json:"grad_norm"` // at θ*
	Searches     []Search  `json:"searches"`
	Traces       []Trace   `json:"traces"`
	Proofs       []Proof   `json:"proofs"`
}

// Proof is a run with automatic steps as a user makes it, from cold start to a claim of convergence.
type Proof struct {
	Name        string  `json:"name"`
	Status      string  `json:"status"`
	Passes      float64 `json:"passes"`
	CheckPasses float64 `json:"check_passes"`
	Gradients   float64 `json:"gradient_passes"`
	Seconds     float64 `json:"seconds"`
	// GradientNorm and ExactNorm are that of the claim, and of the same weights by
	// inference from scratch, over the first one.
	GradientNorm float64 `json:"grad_norm"`
	ExactNorm    float64 `json:"exact_grad_norm"`
	Distance     float64 `json:"distance"`
	Reason       string  `json:"reason"`
}

// contest runs all contestants on a case.
func (c stepsCase) contest(ctx context.Context, threads int) (*Contest, error) {
	b, err := c.Problem.build(threads)
	if err != nil {
		return nil, err
	}
	best, err := solve(ctx, b.problem)
	if err != nil {
		return nil, err
	}
	star, methods := best.Model.Weights, contestants(c.Blocks)
	out := &Contest{Case: c, Variables: b.nodes, Weights: len(star), GradientNorm: best.GradientNorm}
	searches, traces := make([]*Search, len(methods)), make([]*Trace, len(methods))
	if err := b.inParallel(len(methods), func(i int) (err error) {
		searches[i], traces[i], err = b.course(ctx, methods[i], star)
		return err
	}); err != nil {
		return nil, err
	}
	for i, t := range traces {
		if searches[i] != nil {
			out.Searches = append(out.Searches, *searches[i])
		}
		out.Traces = append(out.Traces, *t)
	}
	proofs := make([]Proof, 2)
	err = b.inParallel(len(proofs), func(i int) (err error) {
		proofs[i], err = b.prove(ctx, methods[i], star)
		return err
	})
	out.Proofs = proofs
	return out, err
}

// course runs one contestant until it is within the smallest distance; one with a
// fixed step at the best of the steps that get to the study's tolerance.
func (b *bench) course(ctx context.Context, m Method, star []float64) (found *Search, t *Trace, err error) {
	step := 0.0
	if !m.LBFGS && !m.Auto {
		if found, err = b.bestStep(ctx, m, startStep(m, b.nodes), star, tolerance); err != nil {
			return nil, nil, err
		}
		if step = found.Step; step == 0 {
			return found, &Trace{Name: m.Name, Diverged: "no step on the grid gets there"}, nil
		}
	}
	t, err = b.run(ctx, m, step, star, limits{distance: stepsDistance, work: stepsWork}, false)
	return found, t, err
}

// prove runs a method with automatic steps as a user does.
func (b *bench) prove(ctx context.Context, m Method, star []float64) (Proof, error) {
	p := Proof{Name: m.Name}
	settings := learn.Settings{Method: m.Method, RelativeTolerance: claimTolerance, MaxPasses: stepsWork}
	if _, err := b.cut(m, &settings); err != nil {
		return p, err
	}
	r, err := fit(ctx, b.problem, settings)
	var diverged *learn.DivergedError
	if errors.As(err, &diverged) {
		p.Status, p.Reason = "diverged", diverged.Error()
		p.Distance, p.GradientNorm, p.ExactNorm = math.MaxFloat64, math.MaxFloat64, math.MaxFloat64
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.Status, p.Reason = string(r.Status), r.Reason
	p.Passes, p.CheckPasses, p.Gradients, p.Seconds = r.Passes, r.CheckPasses, r.GradientPasses, r.Seconds
	p.Distance = numeric.RelativeDistance(r.Model.Weights, star)
	p.GradientNorm = r.GradientNorm / r.FirstGradientNorm
	exact, err := b.exactNorm(r.Model.Weights)
	p.ExactNorm = exact / r.FirstGradientNorm
	return p, err
}

// exactCalls bounds how often an exact evaluation is gone on with: each time it makes up to a thousand sweeps.
const exactCalls = 20

// exactNorm returns the norm of the gradient by inference that knows nothing of a run.
func (b *bench) exactNorm(weights []float64) (float64, error) {
	e, err := learn.NewEvaluator(b.problem, 1)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	for range exactCalls {
		x, err := e.At(weights)
		if err != nil {
			return 0, err
		}
		if x.InferenceConverged {
			return x.GradientNorm, nil
		}
	}
	return math.MaxFloat64, nil
}
