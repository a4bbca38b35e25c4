package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/learn"
)

// howToGetData says what studies on images need.
const howToGetData = "it needs the Stanford Background data set (Gould, Fulton and Koller, ICCV 2009): give its folder, with images/ and labels/, with --data, and unary features of any network, one .npy per image, with --features (default: features/ in it); docs/study.md says more"

// imagePlan says what is measured on images.
type imagePlan struct {
	Data     string `json:"data"`
	Features string `json:"features"`
	List     string `json:"list"`
	// Images is how many of the list are used, from its beginning.
	Images int     `json:"images"`
	L2     float64 `json:"l2"` // of L, the mean over images
	// MostWork is that of each run in the search for steps, and that of BBPL if it
	// does not converge before.
	MostWork float64 `json:"most_work"`
}

// Lists of images, and l2: about the mean objective of a pixel for each image.
const (
	trainList = "train50.txt"
	testList  = "test20.txt"
	imageL2   = 1
)

func (s Settings) imagePlan() imagePlan {
	x := s.sizes()
	return imagePlan{Data: s.Data, Features: s.Features, List: trainList, Images: x.images, L2: imageL2, MostWork: x.imageWork}
}

// ImageComparison is the three methods on images, for the same wall time.
type ImageComparison struct {
	Images    int        `json:"images"`
	Variables int        `json:"variables"`
	Seconds   float64    `json:"seconds"` // that BBPL took, and the others were given
	Converged bool       `json:"converged"`
	Runs      []ImageRun `json:"runs"`
}

// ImageRun is one method on images.
type ImageRun struct {
	Name       string       `json:"name"`
	Step       float64      `json:"step"`
	Iterations int          `json:"iterations"`
	Passes     float64      `json:"passes"`
	Gradients  float64      `json:"gradient_passes"`
	Seconds    float64      `json:"seconds"`
	Points     []ImagePoint `json:"points"`
	Diverged   string       `json:"diverged,omitempty"`

	converged bool
}

// ImagePoint is an iteration whose weights were kept.
type ImagePoint struct {
	Iteration int     `json:"iteration"`
	Passes    float64 `json:"passes"`
	Gradients float64 `json:"gradient_passes"`
	Seconds   float64 `json:"seconds"`
	Objective float64 `json:"objective"` // exact

	theta []float64
}

// openImages reads images of a list, the first ones if there are more.
func openImages(data, features, list string, images int, recipe *dataset.Set) (*dataset.Set, error) {
	o := dataset.Options{Kind: dataset.KindImages, List: list, FeatureDir: features}
	if recipe != nil {
		o.Schema, o.Recipe = &recipe.Schema, &recipe.Recipe
	}
	set, err := dataset.Open([]string{filepath.Clean(data)}, o)
	if err != nil {
		return nil, err
	}
	if images < len(set.Instances) {
		set.Instances, set.Images = set.Instances[:images], set.Images[:images]
	}
	return set, nil
}

// album is a set of images to learn from.
type album struct {
	problem learn.Problem
	blocks  map[*crf.Instance]*partition.Partition
	shares  []float64 // of a gradient pass, by block
	threads int
}

func newAlbum(set *dataset.Set, l2 float64, threads int) (*album, error) {
	model, err := crf.NewModel(set.Schema)
	if err != nil {
		return nil, err
	}
	a := &album{problem: learn.Problem{Model: model, Data: set.Instances, L2: l2}, blocks: map[*crf.Instance]*partition.Partition{}, threads: threads}
	a.shares = make([]float64, paperBlocks)
	for _, in := range set.Instances {
		rows, cols := tileShape(paperBlocks)
		of, blocks, err := partition.Tiles(in.Rows, in.Cols, rows, cols)
		if err != nil {
			return nil, err
		}
		part, err := partition.FromAssignment(in.Graph, of, blocks)
		if err != nil {
			return nil, err
		}
		a.blocks[in] = part
		for i, share := range gradientShares(part) {
			a.shares[i] += share / float64(len(set.Instances))
		}
	}
	return a, nil
}

func (a *album) variables() int {
	n := 0
	for _, in := range a.problem.Data {
		n += in.Graph.NumNodes()
	}
	return n
}

const (
	// settledChange is the relative change of the running objective over a pass at which BBPL
	// counts as converged on images, whose θ* nobody knows.
	settledChange = 1e-5
	// pointGrowth is the growth of the iteration number from one kept point to the
	// next.
	pointGrowth = 1.8
)

// run learns from the images until the limits. Where stopFlat is set it ends when
// the running objective has settled.
func (a *album) run(ctx context.Context, m Method, step float64, lim limits, stopFlat bool) (*ImageRun, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &ImageRun{Name: m.Name, Step: step, Gradients: 1}
	shares := []float64{1}
	if m.Method == learn.BBPL {
		shares = a.shares
	}
	last, next := math.Inf(1), 1.0
	keep := func(e learn.Event) {
		r.Points = append(r.Points, ImagePoint{Iteration: e.Iteration, Passes: e.Pass, Gradients: r.Gradients, Seconds: e.Elapsed.Seconds(), theta: append([]float64(nil), e.Theta...)})
	}
	record := func(e learn.Event) error {
		if e.Check {
			return nil
		}
		r.Iterations, r.Passes, r.Seconds = e.Iteration, e.Pass, e.Elapsed.Seconds()
		r.Gradients += shares[e.Block]
		done := work(r.Passes, r.Gradients) > lim.work || lim.seconds > 0 && r.Seconds >= lim.seconds
		if e.Iteration%len(shares) == 0 {
			if stopFlat && math.Abs(e.Objective-last) <= settledChange*math.Abs(e.Objective) {
				done, r.converged = true, true
			}
			last = e.Objective
		}
		if done || float64(e.Iteration) >= next {
			keep(e)
			next = pointGrowth * float64(e.Iteration)
		}
		if done {
			cancel()
		}
		return nil
	}
	settings := learn.Settings{
		Method: m.Method, InnerSweeps: m.Sweeps, InnerTolerance: m.Tolerance, Order: m.Order, Step: &learn.Fixed{Alpha: step}, Threads: a.threads,
		GradientTolerance: math.SmallestNonzeroFloat64, MaxPasses: math.MaxFloat64, Recorder: learn.RecorderFunc(record),
		Partition: func(in *crf.Instance) (*partition.Partition, error) { return a.blocks[in], nil },
	}
	if m.Method == learn.InnerDual {
		settings.InnerSweeps = 0
	}
	result, err := learn.Fit(inner, a.problem, settings)
	if err == nil && (len(r.Points) == 0 || r.Points[len(r.Points)-1].Iteration != r.Iterations) {
		// The run came to where rounding lets no gradient be smaller: it ended by itself.
		r.Points = append(r.Points, ImagePoint{Iteration: r.Iterations, Passes: r.Passes, Gradients: r.Gradients, Seconds: r.Seconds, theta: result.Model.Weights})
	}
	var diverged *learn.DivergedError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &diverged):
		r.Diverged = diverged.Error()
	case err != nil:
		return nil, fmt.Errorf("%s on images: %w", m.Name, err)
	}
	return r, nil
}

// exact computes the objective at the kept points of a run.
func (a *album) exact(points []ImagePoint) error {
	evaluator, err := learn.NewEvaluator(a.problem, a.threads)
	if err != nil {
		return err
	}
	defer evaluator.Close()
	for i := range points {
		x, err := evaluator.At(points[i].theta)
		if err != nil {
			return err
		}
		points[i].Objective, points[i].theta = x.Objective, nil
	}
	return nil
}

// bestImageStep looks for the fixed step that gets to the lowest exact objective with
// a given work, in the same way for every method: on powers of two, up from a start as
// long as it gets better, and down where the first step up does not. The work is
// that of the whole run: a step that is best early may oscillate later.
func (a *album) bestImageStep(ctx context.Context, m Method, most float64) (float64, error) {
	best, least := 0.0, math.Inf(1)
	try := func(step float64) (better bool, err error) {
		r, err := a.run(ctx, m, step, limits{work: most}, false)
		if err != nil || r.Diverged != "" || len(r.Points) == 0 {
			return false, err
		}
		last := r.Points[len(r.Points)-1:]
		if err := a.exact(last); err != nil || !(last[0].Objective < least) {
			return false, err
		}
		best, least = step, last[0].Objective
		return true, nil
	}
	start := imageStart
	if m.Method == learn.BBPL {
		start = imageStart / 8
	}
	if _, err := try(start); err != nil {
		return 0, err
	}
	for _, factor := range []float64{2, 0.5} {
		if best > start {
			break // up was the way
		}
		for step := start * factor; ; step *= factor {
			better, err := try(step)
			if err != nil {
				return 0, err
			}
			if !better && (best > 0 || factor > 1 || step < smallestImageStep) {
				break
			}
		}
	}
	return best, nil
}

const (
	// imageStart is where the search begins: features of networks are larger than
	// those of the synthetic problems, and allow shorter steps only.
	imageStart        = 1.0
	smallestImageStep = 1e-6
)

// imagePart measures the three methods: BBPL until it converges, then the others
// for the same time.
func imagePart(s Settings) part {
	plan := s.imagePlan()
	const secondsPerWork = 0.008 // of an image
	const runs = 15              // about, with the search
	return part{
		name: "images", plan: plan, seconds: secondsPerWork * float64(plan.Images) * plan.MostWork * runs,
		measure: func(ctx context.Context, lab *lab) (any, error) { return plan.measure(ctx, lab.threads) },
	}
}

func (p imagePlan) measure(ctx context.Context, threads int) (*ImageComparison, error) {
	set, err := openImages(p.Data, p.Features, p.List, p.Images, nil)
	if err != nil {
		return nil, err
	}
	a, err := newAlbum(set, p.L2, threads)
	if err != nil {
		return nil, err
	}
	c := &ImageComparison{Images: len(set.Instances), Variables: a.variables()}
	lim := limits{work: p.MostWork}
	for _, m := range []Method{bbpl(paperBlocks), innerDual(), fullBP()} {
		step, err := a.bestImageStep(ctx, m, p.MostWork)
		if err != nil {
			return nil, err
		}
		if step == 0 {
			return nil, fmt.Errorf("%s on images: no step of the search lowers the objective", m.Name)
		}
		r, err := a.run(ctx, m, step, lim, m.Method == learn.BBPL)
		if err != nil {
			return nil, err
		}
		if m.Method == learn.BBPL {
			c.Seconds, c.Converged = r.Seconds, r.converged
			lim = limits{work: math.Inf(1), seconds: max(r.Seconds, time.Millisecond.Seconds())}
		}
		if err := a.exact(r.Points); err != nil {
			return nil, err
		}
		c.Runs = append(c.Runs, *r)
	}
	return c, nil
}
