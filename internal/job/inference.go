package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/report"
)

// PredictLimits bound the inference of predictions, which mostly ends where beliefs are settled.
var PredictLimits = infer.Limits{MaxSweeps: 300}.Resolved()

// PredictTolerance is what a belief may still change by where predictions are settled: less
// than anybody acts on. Means over many, such as a log loss, are off by far less.
const PredictTolerance = 1e-3

// jointTolerance is the share of itself by which the bound on a joint state must rise in 20 sweeps to go on. States
// hardly change any more then, and on pictures, which have many nodes, sweeps take long.
const jointTolerance = 1e-5

// Inference says how instances are predicted.
type Inference struct {
	Model    *crf.Model
	Counting counting.Func
	Limits   infer.Limits // zero: PredictLimits, and PredictTolerance where Settled is 0
	// Settled is that of infer.Predictor.
	Settled float64
	// Truncated is that of infer.Predictor.
	Truncated int
	// Joint asks for a most probable joint state as labels, instead of the most likely state of every node.
	Joint bool
	// Temperature of beliefs, as infer.Predictor.Temperature.
	Temperature float64
	// Costs decide on labels, instead of the largest belief; nil: that does.
	Costs *Costs
	// Exact asks for elimination of variables where that is cheap, as infer.Predictor.Exact.
	Exact   bool
	Threads int // 0: 1; predictions do not depend on it
	// Memory is how many bytes they may take; 0: four fifths of what is available.
	Memory int64
	// Progress is told how many instances are done, from 0; nil: nobody is.
	Progress func(done, total int)
}

func (w *Inference) predictor() *infer.Predictor {
	limits, settled := w.Limits, w.Settled
	if limits == (infer.Limits{}) {
		limits, settled = PredictLimits, cmp.Or(settled, PredictTolerance)
	}
	p := &infer.Predictor{Model: w.Model, Limits: limits, Settled: settled, Counting: w.Counting, Exact: w.Exact,
		Temperature: w.Temperature, Truncated: w.Truncated}
	if w.Joint {
		p.Joint = &infer.Limits{Tolerance: jointTolerance, MaxSweeps: limits.MaxSweeps}
	}
	return p
}

// Check makes the counting numbers of every network, and looks whether the model forbids labels that are to be held,
// so that what is wrong is known before anything is written. held may be nil.
func (w *Inference) Check(ctx context.Context, instances []*crf.Instance, held [][]int32) error {
	for i, labels := range held {
		if err := instances[i].CheckHeld(&w.Model.Schema, labels); err != nil {
			return option.Errorf("%s: %w", option.Instance(i, instances[i].Name), err)
		}
	}
	if err := checkCounting(ctx, instances, w.Counting); err != nil {
		return err
	}
	return w.checkMemory(instances)
}

// largest returns which of the instances takes most memory to predict, and how much.
func (w *Inference) largest(instances []*crf.Instance) (largest int, most float64, err error) {
	p := w.predictor()
	for i, in := range instances {
		bytes, err := p.Bytes(in)
		if err != nil {
			return 0, 0, err
		}
		if bytes > most {
			largest, most = i, bytes
		}
	}
	return largest, most, nil
}

// checkMemory refuses predictions that would take more memory than they may: those of as
// many instances at a time as there are threads.
func (w *Inference) checkMemory(instances []*crf.Instance) error {
	largest, most, err := w.largest(instances)
	if err != nil {
		return err
	}
	together := max(1, min(w.Threads, len(instances)))
	err = memory.Check(fmt.Sprintf("predicting %d instances at a time", together), float64(together)*most, w.Memory)
	if large := (*memory.Error)(nil); errors.As(err, &large) {
		in := instances[largest]
		large.Reason = fmt.Sprintf("%s takes %s, with %d nodes of up to %d states and %d edges",
			option.Instance(largest, in.Name), memory.Text(most), in.Graph.NumNodes(), slices.Max(in.Cards()),
			in.Graph.NumEdges())
		if together > 1 {
			large.Reason += "; fewer {threads} take less"
		}
		return &Error{Data, err}
	}
	return nil
}

func checkCounting(ctx context.Context, instances []*crf.Instance, numbers counting.Func) error {
	for i, in := range instances {
		_, err := numbers.Of(in.Graph)
		if ended := parallel.Ended(ctx); ended != nil {
			return ended
		}
		if err != nil {
			return dataf("%s: %w", option.Instance(i, in.Name), err)
		}
	}
	return nil
}

// Each predicts instances on several threads and hands the beliefs to use in the order of the instances. held are
// labels to hold in each, −1 where there is none; nil: none in any. A panic goes on in the goroutine of the caller.
func (w Inference) Each(ctx context.Context, instances []*crf.Instance, held [][]int32,
	use func(i int, b *infer.Beliefs) error) error {
	e := &Evaluation{Instances: instances, Held: held}
	return w.each(ctx, e, false, func(i int, p prediction) error { return use(i, p.beliefs) })
}

// prediction is what inference says of one instance.
type prediction struct {
	beliefs    *infer.Beliefs
	likelihood *infer.Likelihood // of its labels; nil where it was not asked for
	err        error
}

// each is Each for an evaluation; assess asks how probable its labels are, too.
func (w *Inference) each(ctx context.Context, e *Evaluation, assess bool, use func(i int, p prediction) error) error {
	n := len(e.Instances)
	if w.Progress != nil {
		w.Progress(0, n)
	}
	threads := max(1, min(w.Threads, n))
	idle := make(chan *infer.Predictor, threads)
	for range threads {
		p := w.predictor()
		p.Threads = w.Threads / threads
		idle <- p
	}
	turns := make([]chan struct{}, n+1) // closed when all instances before are used
	for i := range turns {
		turns[i] = make(chan struct{})
	}
	close(turns[0])
	within, stop := context.WithCancel(ctx)
	defer stop()
	done, failed := 0, error(nil)
	wait := func(i int) (comes bool) { // for the turn of an instance
		select {
		case <-turns[i]:
		case <-within.Done():
		}
		return parallel.Ended(within) == nil
	}
	_ = parallel.Each(within, n, threads, func(i int) { // its error is that of the context
		used := false
		defer func() {
			if wait(i); !used { // an error, or a panic of predict: those before are used, and others not begun
				stop()
			}
		}()
		a := <-idle
		p := e.predict(within, a, i, assess)
		idle <- a
		if w.Costs != nil && p.err == nil {
			w.Costs.decide(e.Instances[i], p.beliefs)
		}
		if !wait(i) {
			return
		}
		if failed = p.err; failed != nil {
			failed = option.Errorf("%s: %w", option.Instance(i, e.Instances[i].Name), failed)
		} else if failed = use(i, p); failed == nil {
			if done, used = i+1, true; w.Progress != nil {
				w.Progress(done, n)
			}
			close(turns[done])
		}
	})
	if failed == nil && done < n {
		return &Error{Interrupted, fmt.Errorf("interrupted after %d of %d instances", done, n)}
	}
	return failed
}

// predict infers one instance.
func (e *Evaluation) predict(ctx context.Context, a *infer.Predictor, i int, assess bool) (p prediction) {
	in, held := e.Instances[i], at(e.Held, i)
	if assess {
		p.beliefs, p.likelihood, p.err = a.Assess(ctx, in, held, in.Samples(), at(e.Count, i))
	} else {
		p.beliefs, p.err = a.Predict(ctx, in, held)
	}
	return p
}

// compared returns what is compared of an instance: true labels, beliefs, and the node that
// each of them is of. Of images with superpixels these are the pixels'.
func (e *Evaluation) compared(i int, b *infer.Beliefs) (truth [][]int32, beliefs *infer.Beliefs, node func(int) int) {
	if i >= len(e.Set.RowLabels) {
		return e.Instances[i].Samples(), b, func(s int) int { return s }
	}
	return e.Set.RowLabels[i : i+1], inRows(e.Set, i, b), func(s int) int { return NodeOfRow(e.Set, i, s) }
}

// Scored is one evaluation with what its report shows.
type Scored struct {
	Name    string
	Classes []string // the states of the score
	Score   *infer.Score
	// Likelihood of the labels, nil where it was not asked for.
	Likelihood *infer.Likelihood
	Entities   *Entities         // nil of labels that are no tags of entities
	MeanCost   float64           // of a label; NaN without Inference.Costs
	Pictures   []report.PanelRow // of images: the first few
	Alone      *Scored           // of a model trained without edges; nil where there is none
	Unproved   int               // joint states that may not be the most probable
	Unsettled  Unsettled
	Note       string // what its report says of it; or ""

	sweeps float64 // over all networks
}

// picturesPerSet is how many images of a set are drawn.
const picturesPerSet = 6

// Score compares every sample of labels with the prediction of its instance, and
// keeps what to draw of images. likelihood asks how probable the labels are, too.
func (w Inference) Score(ctx context.Context, e *Evaluation, likelihood bool) (*Scored, error) {
	return w.score(ctx, e, likelihood, min(picturesPerSet, len(e.Set.Images)))
}

func (w Inference) score(ctx context.Context, e *Evaluation, likelihood bool, pictures int) (*Scored, error) {
	states := len(stateNames(e.Set))
	bytes := 8*float64(states)*float64(states) + float64(states)*rankingBytes*float64(min(e.labelled(), mostRanked))
	if err := memory.Check(fmt.Sprintf("comparing %d states with as many", states), bytes, w.Memory); err != nil {
		return nil, &Error{Data, err}
	}
	// What the last evaluation, or training, took would lie beside what this one takes,
	// which may be more than the learner has: whole networks are inferred.
	runtime.GC()
	s := &Scored{Name: e.Name, Classes: stateNames(e.Set), Score: infer.NewScore(states), Entities: newEntities(e.Set),
		MeanCost: math.NaN(), Unsettled: w.unsettled()}
	if likelihood {
		s.Likelihood = &infer.Likelihood{}
	}
	cost := 0.0
	err := w.each(ctx, e, likelihood, func(i int, p prediction) error {
		samples, beliefs, node := e.compared(i, p.beliefs)
		for _, truth := range samples {
			s.Score.Add(beliefs, truth, at(e.Count, i))
			if s.Entities != nil {
				s.Entities.add(truth, beliefs.Labels)
			}
			if w.Costs != nil {
				cost += w.Costs.sum(e.Instances[i], node, beliefs.Labels, truth, at(e.Count, i))
			}
		}
		if likelihood {
			s.Likelihood.Merge(p.likelihood)
		}
		if p.beliefs.Joint != nil && !p.beliefs.Joint.Optimal {
			s.Unproved++
		}
		s.Unsettled.add(e.Instances[i].Name, p.beliefs)
		s.sweeps += float64(p.beliefs.Sweeps)
		if i >= pictures {
			return nil
		}
		row, err := panelRow(e.Set.Images[i], samples[0], beliefs)
		s.Pictures = append(s.Pictures, row)
		return err
	})
	if w.Costs != nil {
		s.MeanCost = cost / float64(s.Score.Count())
	}
	return s, err
}

// rankingBytes is what infer.Score keeps of a node for each state, of at most mostRanked nodes,
// with the room that a growing slice has to spare, and the table that follows it.
const rankingBytes, mostRanked = 2.5 * 16, 1 << 17

// labels are those of an instance that predictions are compared with, each with its node or, of superpixels, its pixel.
func (e *Evaluation) labels(i int) iter.Seq2[int, int32] {
	samples := e.Instances[i].Samples()
	if i < len(e.Set.RowLabels) {
		samples = e.Set.RowLabels[i : i+1]
	}
	return func(yield func(int, int32) bool) {
		for _, labels := range samples {
			for s, y := range labels {
				if y != crf.Unobserved && (e.Count == nil || e.Count[i][s]) && !yield(s, y) {
					return
				}
			}
		}
	}
}

// labelled counts them in all instances.
func (e *Evaluation) labelled() (n int) {
	for i := range e.Instances {
		for range e.labels(i) {
			n++
		}
	}
	return n
}

// stateNames names the classes of a score: the states of the nodes that have the most.
func stateNames(set *dataset.Set) (names []string) {
	for a, t := range set.Schema.NodeTypes {
		if set.Schema.NodeStates(a) > len(names) {
			names = t.States
		}
	}
	return names
}
