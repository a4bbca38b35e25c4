package synthetic

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/learn"
)

// Comparison runs several methods on one problem and measures how each comes
// near the optimum, as in figures 2 and 3 of the paper.
type Comparison struct {
	Problem learn.Problem
	// Cut cuts the graphs for BBPL: see learn.Settings.
	Cut learn.Cut
	// Tolerance is the gradient norm, relative to the first, that each method
	// runs to; 0 means the default of learn.Settings.
	Tolerance float64
	// Threads of each run and each evaluation; 0 means 1.
	Threads int
	// Watch sees the iterations and checks of each method; may be nil.
	Watch func(learn.Method, learn.Event)
}

// MethodNames are how people call the methods.
var MethodNames = map[learn.Method]string{learn.BBPL: "BBPL", learn.InnerDual: "inner-dual", learn.Full: "full BP"}

// Path is how one method went.
type Path struct {
	Method learn.Method
	Result *learn.Result
	// Points are iterations on the way, fewer and fewer of them; there are none if
	// the run was interrupted before its first.
	Points []Point
	// Distance is ‖θ−θ*‖/‖θ*‖ at the end.
	Distance float64
}

// Point is one recorded iteration; the fields are those of its learn.Event.
type Point struct {
	Iteration     int
	Pass, Seconds float64
	GradientNorm  float64
	Distance      float64 // ‖θ_t−θ*‖/‖θ*‖, after the step
	// Objective is the exact L(θ_t), computed afterwards at a choice of points;
	// NaN at the others.
	Objective float64
	theta     []float64
}

const (
	// referenceTolerance is what θ* is solved to, relative to the first gradient.
	referenceTolerance = 1e-10
	// objectivesPerPath is at how many points the exact objective is computed.
	objectivesPerPath = 20
	// recordGrowth is the growth of the iteration number from one recorded point to
	// the next, once it is 50: it keeps memory small on long runs.
	recordGrowth = 1.02
)

// Optimum solves the problem far more accurately than the methods are asked to. It
// is an error if that does not succeed, or if ctx ends first.
func (c *Comparison) Optimum(ctx context.Context) (*learn.Result, error) {
	r, err := learn.Fit(ctx, c.Problem, learn.Settings{Method: learn.InnerDual, RelativeTolerance: referenceTolerance,
		Threads: c.Threads})
	if err == nil && r.Status != learn.Converged {
		err = fmt.Errorf("the reference optimum was not reached: %s", r.Reason)
	}
	return r, err
}

// Run runs one method, from the weights of Problem.Model, and measures its distance
// to the optimum's weights on the way. A run that ctx or a limit ended is no error:
// see Path.Result.
func (c *Comparison) Run(ctx context.Context, method learn.Method, optimum []float64) (*Path, error) {
	p := &Path{Method: method}
	next := 0.0
	recorder := func(e learn.Event) error {
		if c.Watch != nil {
			c.Watch(method, e)
		}
		if e.Check || float64(e.Iteration) < next {
			return nil
		}
		next = math.Max(float64(e.Iteration+1), recordGrowth*float64(e.Iteration))
		p.Points = append(p.Points, Point{
			Iteration: e.Iteration, Pass: e.Pass, Seconds: e.Elapsed.Seconds(), GradientNorm: e.GradientNorm,
			Distance: numeric.RelativeDistance(e.Theta, optimum), Objective: math.NaN(),
			theta: append([]float64(nil), e.Theta...),
		})
		return nil
	}
	var err error
	p.Result, err = learn.Fit(ctx, c.Problem, learn.Settings{
		Method: method, Cut: c.Cut, RelativeTolerance: c.Tolerance, Threads: c.Threads, Recorder: recorder,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	p.Distance = numeric.RelativeDistance(p.Result.Model.Weights, optimum)
	if n := len(p.Points); n > 0 && p.Points[n-1].Iteration < p.Result.Iterations {
		p.Points = append(p.Points, Point{
			Iteration: p.Result.Iterations, Pass: p.Result.Passes, Seconds: p.Result.Seconds,
			GradientNorm: p.Result.GradientNorm,
			Distance:     p.Distance, Objective: math.NaN(), theta: p.Result.Model.Weights,
		})
	}
	return p, nil
}

// Objectives computes the exact objective at points of a path, more of them early
// than late and the last one among them, as the paper does: the weights are stored
// while learning and plugged into the objective afterwards. The path must be one
// that Run returned.
func (c *Comparison) Objectives(p *Path) error {
	if len(p.Points) == 0 {
		return nil
	}
	evaluator, err := learn.NewEvaluator(c.Problem, c.Threads)
	if err != nil {
		return err
	}
	defer evaluator.Close()
	last := -1
	for i := range objectivesPerPath {
		place := float64(i) / (objectivesPerPath - 1)
		next := int(place * place * float64(len(p.Points)-1))
		if next == last {
			continue
		}
		last = next
		exact, err := evaluator.At(p.Points[next].theta)
		if err != nil {
			return err
		}
		p.Points[next].Objective = exact.Objective
	}
	return nil
}

// AllObjectives calls Objectives for every path, all at the same time.
func (c *Comparison) AllObjectives(paths []*Path) error {
	failures := make([]error, len(paths))
	_ = parallel.Each(context.Background(), len(paths), len(paths), func(i int) { failures[i] = c.Objectives(paths[i]) })
	return errors.Join(failures...)
}

// SecondsTo returns the time of the first recorded iteration within a relative
// distance of the optimum; NaN if there is none.
func (p *Path) SecondsTo(distance float64) float64 {
	for _, point := range p.Points {
		if point.Distance <= distance {
			return point.Seconds
		}
	}
	return math.NaN()
}
