package study

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/lab/ceilings"
	"github.com/blockbp/blockbp/learn"
)

// howToGetData says what studies on images need.
const howToGetData = "it needs the Stanford Background data set (Gould, Fulton and Koller, ICCV 2009): give its " +
	"folder, with images/ and labels/, with --data, and unary features of any network, one .npy per image, with " +
	"--features (default: features/ in it); lab/README.md says more"

// imagePlan says what is measured on images.
type imagePlan struct {
	// Key tells the data from others; where they lie makes no difference.
	Key      string `json:"key"`
	Data     string `json:"-"`
	Features string `json:"-"`
	// Images is how many of the list are used, from its beginning.
	Images int `json:"images"`
	// MostWork is that of each run in the search for steps, and that of BBPL if it does not converge before.
	MostWork float64 `json:"most_work"`
}

const (
	// Lists of images.
	trainList = "train50.txt"
	testList  = "test20.txt"
	// imageL2, of L, the mean over images, is about the mean objective of a pixel for each image.
	imageL2 = 1
	// searchImages: steps are per variable and the objective is a mean over images, so that what is
	// found on a few of them serves for all.
	searchImages = 2
)

func (s Settings) imagePlan() imagePlan {
	x := s.sizes()
	return imagePlan{Key: s.imageKey, Data: s.Data, Features: s.Features, Images: x.images, MostWork: x.imageWork}
}

// ImageComparison is the three methods on images, for the same time.
type ImageComparison struct {
	Images    int `json:"images"`
	Variables int `json:"variables"`
	Threads   int `json:"threads"`
	// Seconds are those that BBPL took, and the others were given.
	Seconds   float64    `json:"seconds"`
	Converged bool       `json:"converged"`
	Runs      []ImageRun `json:"runs"`
}

// ImageRun is one method on images.
type ImageRun struct {
	Name string  `json:"name"`
	Step float64 `json:"step"`
	Effort
	Points   []ImagePoint `json:"points"`
	Diverged string       `json:"diverged,omitempty"`

	converged bool
}

// ImagePoint is an iteration whose weights were kept.
type ImagePoint struct {
	Effort
	Objective float64 `json:"objective"` // exact

	theta []float64
}

// openImages reads images of a list, the first ones if there are more, with these features of edges.
func openImages(
	ctx context.Context, data, features, list, edges string, images int, recipe *dataset.Set,
) (*dataset.Set, error) {
	// As in the paper: what is right or below has a weight of its own.
	o := dataset.Options{
		Kind: "images", List: list, FeatureDir: features,
		Edges: edges, Directed: edges == "bins",
	}
	if recipe != nil {
		o.Schema, o.Recipe, o.Edges, o.Directed = &recipe.Schema, &recipe.Recipe, "", false
	}
	set, err := dataset.Open(ctx, []string{filepath.Clean(data)}, o)
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
	// evaluator computes exact objectives; its messages are those of the weights before, which are near most often.
	evaluator *learn.Evaluator
}

// close ends the evaluator.
func (a *album) close() {
	if a.evaluator != nil {
		a.evaluator.Close()
	}
}

func newAlbum(images []*crf.Instance, schema crf.Schema, threads int) (*album, error) {
	model, err := crf.NewModel(schema)
	if err != nil {
		return nil, err
	}
	a := &album{
		problem: learn.Problem{Model: model, Data: images, L2: imageL2},
		blocks:  map[*crf.Instance]*partition.Partition{}, threads: threads,
	}
	var parts []*partition.Partition
	for _, in := range images {
		rows, cols := tileShape(paperBlocks)
		part, err := tiles(in, rows, cols)
		if err != nil {
			return nil, err
		}
		a.blocks[in], parts = part, append(parts, part)
	}
	a.shares = gradientShares(parts...)
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
	// pointGrowth is the growth of the iteration number from one point whose weights are kept to the next, and drawnGrowth
	// that of those whose exact objective is computed for the figures.
	pointGrowth = 1.05
	drawnGrowth = 1.8
	// earlyShare of BBPL's time is when the methods are compared early.
	earlyShare = 0.25
	// lateShare of the iterations of a run is from where a step is judged: one that is a little too long goes up and down.
	lateShare = 0.8
)

// imageLimits end a run on images.
type imageLimits struct {
	work, seconds float64 // spent; seconds 0: no limit
	flat          bool    // the running objective has settled
	alone         bool    // no other run is made meanwhile: see stopwatch
}

// imageRecorder is a run on images on its way.
type imageRecorder struct {
	run    *ImageRun
	limits imageLimits
	shares []float64 // of a gradient pass, by block
	last   float64   // running objective a pass ago
	next   float64   // iteration to keep
}

// record takes an iteration and reports whether the run is done.
func (r *imageRecorder) record(e learn.Event, seconds float64) (done bool) {
	x := r.run
	share := 1.0 // of a step of all blocks together
	if e.Block >= 0 {
		share = r.shares[e.Block]
	}
	x.add(e, seconds, share)
	done = e.Step == 0 || x.work() > r.limits.work || r.limits.seconds > 0 && x.Seconds >= r.limits.seconds
	if e.Iteration%len(r.shares) == 0 {
		if r.limits.flat && math.Abs(e.Objective-r.last) <= settledChange*math.Abs(e.Objective) {
			done, x.converged = true, true
		}
		r.last = e.Objective
	}
	if done || float64(e.Iteration) >= r.next {
		x.keep(e.Theta)
		r.next = pointGrowth * float64(e.Iteration)
	}
	return done
}

// keep adds a point with the weights of the moment.
func (r *ImageRun) keep(theta []float64) {
	r.Points = append(r.Points, ImagePoint{Effort: r.Effort, theta: slices.Clone(theta)})
}

// run learns from the images until the limits.
func (a *album) run(ctx context.Context, m Method, step float64, lim imageLimits) (*ImageRun, error) {
	if lim.alone {
		defer ceilings.Quiet()()
	}
	r := &imageRecorder{
		run: &ImageRun{Name: m.Name, Step: step}, limits: lim, shares: []float64{1}, last: math.Inf(1), next: 1,
	}
	if m.Method == learn.BBPL {
		r.shares = a.shares
	}
	x := r.run
	x.Gradients = floats.Sum(r.shares)
	settings := learn.Settings{Threads: a.threads, Assign: a.assign}
	result, diverged, err := iterate(ctx, a.problem, m, fixed(step), settings, lim.alone, r.record)
	if err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	x.Diverged = diverged
	if n := len(x.Points); diverged == "" && (n == 0 || x.Points[n-1].Iterations != x.Iterations) {
		// The run came to where rounding lets no gradient be smaller: it ended by itself.
		x.keep(result.Model.Weights)
	}
	return x, nil
}

// exact computes the objective at the kept points of a run.
func (a *album) exact(points []ImagePoint) (err error) {
	if a.evaluator == nil {
		if a.evaluator, err = learn.NewEvaluator(a.problem, a.threads); err != nil {
			return err
		}
	}
	for i := range points {
		x, err := a.evaluator.At(points[i].theta)
		if err != nil {
			return err
		}
		points[i].Objective, points[i].theta = x.Objective, nil
	}
	return nil
}

// judged returns the exact objective that a run of the search ends at, the worst of the first, the middle and the last
// of the points late in it: a step that is a little too long goes up and down. It is +Inf where the run diverged.
func (a *album) judged(r *ImageRun, err error) (float64, error) {
	if err != nil || r.Diverged != "" || len(r.Points) == 0 {
		return math.Inf(1), err
	}
	last := len(r.Points) - 1
	first := sort.Search(last, func(i int) bool {
		return float64(r.Points[i].Iterations) >= lateShare*float64(r.Points[last].Iterations)
	})
	var late []ImagePoint
	for _, i := range slices.Compact([]int{first, (first + last) / 2, last}) {
		late = append(late, r.Points[i])
	}
	if err := a.exact(late); err != nil {
		return 0, err
	}
	worst := math.Inf(-1)
	for _, p := range late {
		worst = math.Max(worst, p.Objective)
	}
	return worst, nil
}

// drawnPoints returns the points whose objective is of use: fewer and fewer for the figure, the last
// one before a time, and the last.
func drawnPoints(points []ImagePoint, seconds float64) (all []ImagePoint) {
	after := sort.Search(len(points), func(i int) bool { return points[i].Seconds > seconds })
	next := 1.0
	for i, p := range points {
		drawn := float64(p.Iterations) >= next
		if drawn {
			next = drawnGrowth * float64(p.Iterations)
		}
		if drawn || i == after-1 || i == len(points)-1 {
			all = append(all, p)
		}
	}
	return all
}

// imageStart is where the search for a step begins, in half powers of two, and with blocks three powers below: features
// of networks are larger than those of the synthetic problems, and allow shorter steps only.
const imageStart = 0

// bestImageStep looks for the fixed step that gets to the lowest exact objective with a given work.
// The work is that of the whole run: a step that is best early may oscillate later.
func (a *album) bestImageStep(ctx context.Context, m Method, most float64) (float64, error) {
	start := imageStart
	if m.Method == learn.BBPL {
		start -= 3 * coarse
	}
	step, err := leastCost(start, math.Inf(1), func(step, _ float64) (float64, error) {
		return a.judged(a.run(ctx, m, step, imageLimits{work: most}))
	})
	if err == nil && step == 0 {
		err = fmt.Errorf("%s on images: no step of the search lowers the objective", m.Name)
	}
	return step, err
}

// imagePart measures the three methods: BBPL until it converges, then the others for the same time.
func imagePart(s Settings) part {
	plan := s.imagePlan()
	return part{
		name: "images", plan: plan,
		measure: func(ctx context.Context, threads int) (any, error) { return plan.measure(ctx, threads) },
	}
}

func (p imagePlan) measure(ctx context.Context, threads int) (*ImageComparison, error) {
	set, err := openImages(ctx, p.Data, p.Features, trainList, "bins", p.Images, nil)
	if err != nil {
		return nil, err
	}
	a, err := newAlbum(set.Instances, set.Schema, threads)
	if err != nil {
		return nil, err
	}
	defer a.close()
	few, err := newAlbum(set.Instances[:min(searchImages, len(set.Instances))], set.Schema, threads)
	if err != nil {
		return nil, err
	}
	defer few.close()
	c := &ImageComparison{Images: len(set.Instances), Variables: a.variables(), Threads: threads}
	lim := imageLimits{work: p.MostWork, flat: true, alone: true}
	for _, m := range []Method{bbpl(paperBlocks), innerDual(), fullBP()} {
		step, err := few.bestImageStep(ctx, m, p.MostWork)
		if err != nil {
			return nil, err
		}
		r, err := a.compete(ctx, m, step, lim)
		if err != nil {
			return nil, err
		}
		if m.Method == learn.BBPL { // the first
			c.Seconds, c.Converged = r.Seconds, r.converged
			lim = imageLimits{work: math.Inf(1), seconds: max(r.Seconds, time.Millisecond.Seconds()), alone: true}
		}
		r.Points = drawnPoints(r.Points, earlyShare*c.Seconds)
		if err := a.exact(r.Points); err != nil {
			return nil, err
		}
		c.Runs = append(c.Runs, *r)
	}
	return c, nil
}

// compete makes the run of a method. A step that was found on some of the images and is too long for
// all of them is halved.
func (a *album) compete(ctx context.Context, m Method, step float64, lim imageLimits) (*ImageRun, error) {
	for ; ; step /= 2 {
		r, err := a.run(ctx, m, step, lim)
		if err != nil || r.Diverged == "" || step < stepOf(lowest) {
			return r, err
		}
	}
}

// assign cuts a photograph as it was cut when the album was opened.
func (a *album) assign(in *crf.Instance) (of []int32, blocks int, err error) {
	return a.blocks[in].Of, len(a.blocks[in].Blocks), nil
}
