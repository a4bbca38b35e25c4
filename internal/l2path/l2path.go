// Package l2path chooses a regulariser by the loss on data that were held out.
package l2path

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Fold is a part of the data to learn from and a measure of loss on another part.
type Fold struct {
	Data []*crf.Instance
	// Loss is smaller for better models.
	Loss func(*crf.Model) (float64, error)
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

// Choose tries regularisers from large to small on every fold, each from the
// weights of the one before, and returns what it tried with the place of the
// smallest loss. p.L2 is not used, and of p.Data the number of variables only. watch
// may be nil. Where ctx ends, the error is that of ctx. A fit that diverges ends the path.
func Choose(ctx context.Context, p learn.Problem, s learn.Settings, folds []Fold, watch func(Point)) (path []Point, best int, err error) {
	s.Recorder, s.Checkpoint, s.Evaluate, s.EarlyStop, s.Resume = nil, nil, nil, nil, nil
	s.RelativeTolerance, s.GradientTolerance = max(s.RelativeTolerance, pathTolerance), 0
	if s.MaxPasses == 0 || s.MaxPasses > pathPasses {
		s.MaxPasses = pathPasses
	}
	runs := make([]learn.Problem, len(folds))
	tolerance := make([]float64, len(folds))
	for i, f := range folds {
		runs[i] = p
		runs[i].Data = f.Data
	}
	best = -1
	variables := meanVariables(p.Data)
	for value := largestL2; value >= smallestL2*(1-1e-9); value *= pathStep {
		point := Point{L2: rounded(value * variables), Converged: true}
		for i, f := range folds {
			r, err := fitFold(ctx, &runs[i], s, point.L2, &tolerance[i])
			var diverged *learn.DivergedError
			if errors.As(err, &diverged) && best >= 0 {
				return path, best, nil
			}
			if err != nil {
				return path, best, err
			}
			loss, err := f.Loss(r.Model)
			if err != nil {
				return path, best, err
			}
			share := 1 / float64(len(folds))
			point.Objective += runfolder.Float(share * r.Objective)
			point.Loss += runfolder.Float(share * loss)
			point.Passes += r.Passes
			point.Converged = point.Converged && r.Status.Stationary()
		}
		path = append(path, point)
		if watch != nil {
			watch(point)
		}
		if best < 0 && !math.IsNaN(float64(point.Loss)) || best >= 0 && point.Loss < path[best].Loss {
			best = len(path) - 1
		}
		if best >= 0 && len(path)-1-best >= pathPatience {
			break
		}
	}
	if best < 0 {
		return path, best, fmt.Errorf("no value of l2 gives a loss that is a number")
	}
	return path, best, nil
}

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
