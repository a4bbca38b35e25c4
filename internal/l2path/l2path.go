// Package l2path chooses a regulariser by the loss on data that were held out.
package l2path

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Fold is a part of the data to learn from and a measure of loss on another part.
type Fold struct {
	Data []*crf.Instance
	// Loss is smaller for better models.
	Loss func(context.Context, *crf.Model) (float64, error)
}

// Point is one regulariser that was tried.
type Point struct {
	L2 float64 `json:"l2"`
	// Objective and Loss are means over the folds.
	Objective runfolder.Float `json:"objective"`
	Loss      runfolder.Float `json:"log_loss"`
	Passes    float64         `json:"passes"`    // over all folds, with checks
	Converged bool            `json:"converged"` // in every fold
}

const (
	// The path begins at largestL2 per variable, goes down in factors of √10 to
	// smallestL2, and ends earlier where the loss has not improved for pathPatience
	// steps.
	largestL2, smallestL2 = 1.0, 1e-6
	pathStep              = 0.31622776601683794 // 1/√10
	pathPatience          = 3
	// pathTolerance is the gradient norm, relative to that at the weights that the path
	// begins with, that its fits stop at, unless the settings name a larger one: the
	// loss does not change any more.
	pathTolerance = 1e-4
	// pathPasses bounds the passes of a fit: one that is not there by then begins near where
	// the next larger regulariser has led, and has about the loss that it would have.
	pathPasses = 600
	// pathDigits of a value: what is shown is what is used.
	pathDigits = 3
)

// State is how far a path has come: enough to go on, to the last bit.
type State struct {
	Points    []Point     `json:"points"`
	Tolerance []float64   `json:"tolerance"` // [folds] norms of the gradient at which fits end
	Weights   [][]float64 `json:"-"`         // [folds] that the last point led to
	Seconds   float64     `json:"seconds"`   // that the path has taken
}

// Path is a path to choose.
type Path struct {
	Problem  learn.Problem // of Data the number of variables alone, and not L2
	Settings learn.Settings
	Folds    []Fold
	From     *State // to go on from; nil: the beginning
	// Time bounds the path; 0: it is not bounded. One value is tried all the same.
	Time time.Duration
	// Tried is told of every point, and Save of the state after it, which it must not
	// keep. Both may be nil.
	Tried func(Point)
	Save  func(*State) error
}

// Choose tries regularisers from large to small on every fold, each from the
// weights of the one before, and returns what it tried with the place of the
// smallest loss. Where ctx ends, the error is that of ctx. A fit that diverges ends the
// path, and so does the time.
func (x *Path) Choose(ctx context.Context) (state *State, best int, err error) {
	p, s, folds := x.Problem, x.Settings, x.Folds
	s.Recorder, s.Checking, s.Checkpoint, s.Evaluate, s.EarlyStop, s.Resume = nil, nil, nil, nil, nil, nil
	s.RelativeTolerance, s.GradientTolerance = max(s.RelativeTolerance, pathTolerance), 0
	if s.MaxPasses == 0 || s.MaxPasses > pathPasses {
		s.MaxPasses = pathPasses
	}
	started := time.Now()
	state = x.From
	if state == nil {
		state = &State{Tolerance: make([]float64, len(folds)), Weights: make([][]float64, len(folds))}
	}
	earlier := state.Seconds
	spent := func() float64 { return earlier + time.Since(started).Seconds() }
	runs := make([]learn.Problem, len(folds))
	for i, f := range folds {
		runs[i] = p
		runs[i].Data = f.Data
		if w := state.Weights[i]; w != nil {
			runs[i].Model = p.Model.Clone()
			runs[i].Model.Weights = w
		}
	}
	variables, value := meanVariables(p.Data), largestL2
	for range state.Points {
		value *= pathStep
	}
	for best = bestOf(state.Points); !ended(state.Points, best) && value >= smallestL2*(1-1e-9); value *= pathStep {
		late := x.Time > 0 && spent() >= x.Time.Seconds()
		if late && best >= 0 {
			break
		}
		point := Point{L2: rounded(value * variables), Converged: true}
		for i, f := range folds {
			if x.Time > 0 { // an equal part of what is left, and a first point in any case
				s.MaxTime = max(time.Millisecond, time.Duration((x.Time.Seconds()-spent())/float64(len(folds)-i)*1e9))
			}
			r, err := fitFold(ctx, &runs[i], s, point.L2, &state.Tolerance[i])
			var diverged *learn.DivergedError
			if errors.As(err, &diverged) && best >= 0 {
				return state, best, nil
			}
			if err != nil {
				return state, best, err
			}
			loss, err := f.Loss(ctx, r.Model)
			if err != nil {
				return state, best, err
			}
			share := 1 / float64(len(folds))
			point.Objective += runfolder.Float(share * r.Objective)
			point.Loss += runfolder.Float(share * loss)
			point.Passes += r.Passes
			point.Converged = point.Converged && r.Status.Stationary()
		}
		state.Points, state.Seconds = append(state.Points, point), spent()
		best = bestOf(state.Points)
		if x.Tried != nil {
			x.Tried(point)
		}
		if x.Save == nil {
			continue
		}
		for i := range runs {
			state.Weights[i] = runs[i].Model.Weights
		}
		if err := x.Save(state); err != nil {
			return state, best, err
		}
	}
	if best < 0 {
		return state, best, fmt.Errorf("no value of l2 gives a loss that is a number")
	}
	return state, best, nil
}

// bestOf returns the first point of the smallest loss, −1 where none has a number.
func bestOf(path []Point) int {
	best := -1
	for i, point := range path {
		if !math.IsNaN(float64(point.Loss)) && (best < 0 || point.Loss < path[best].Loss) {
			best = i
		}
	}
	return best
}

// ended reports that a path has not improved for long enough.
func ended(path []Point, best int) bool { return best >= 0 && len(path)-1-best >= pathPatience }

// fitFold learns with a regulariser from the weights of the last one, which it
// replaces. All fits of a fold end at the same norm of the gradient.
func fitFold(ctx context.Context, p *learn.Problem, s learn.Settings, l2 float64, tolerance *float64) (*learn.Result, error) {
	p.L2 = l2
	if *tolerance > 0 {
		s.GradientTolerance, s.RelativeTolerance = *tolerance, 0
	}
	r, err := learn.Fit(ctx, *p, s)
	if err != nil {
		return nil, err
	}
	if r.Status == learn.Interrupted {
		return nil, context.Cause(ctx)
	}
	if *tolerance == 0 {
		*tolerance = s.RelativeTolerance * r.FirstGradientNorm
	}
	p.Model = r.Model
	return r, nil
}

// meanVariables is the mean number of variables per sample.
func meanVariables(data []*crf.Instance) float64 {
	nodes, samples := 0, 0
	for _, in := range data {
		nodes += in.Graph.NumNodes() * len(in.Samples())
		samples += len(in.Samples())
	}
	return float64(nodes) / float64(samples)
}

// rounded returns x with pathDigits digits.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', pathDigits, 64), 64)
	if err != nil {
		panic("l2path: " + err.Error()) // what was formatted can be read
	}
	return y
}
