package cli

import (
	"context"
	"fmt"
	"sync"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
)

// inference is the work of predicting every instance of a set.
type inference struct {
	instances []*crf.Instance
	clamp     [][]int32 // labels to hold in each instance; nil: none in any
	threads   int
	// predictor makes what one thread predicts with.
	predictor func() *infer.Predictor
	// assess, if set, also asks how probable labels are.
	assess   *assessment
	progress *counter
}

// assessment is what the likelihood of labels is asked of: the samples of each
// instance, and which nodes count (nil: all).
type assessment struct {
	labels [][][]int32
	count  [][]bool
	total  infer.Likelihood
}

// predictor returns what makes predictions with a model.
func predictor(model *crf.Model, numbers counting.Func, limits infer.Limits) *infer.Predictor {
	return &infer.Predictor{Model: model, Counting: numbers, Limits: limits}
}

// predicted is the prediction of one instance, or why there is none.
type predicted struct {
	beliefs    *infer.Beliefs
	likelihood *infer.Likelihood // nil where it was not asked for
	err        error
}

// run predicts on several threads and hands the results to use in the order of
// the instances. A panic in one of the threads is returned as a *bug.
func (w *inference) run(ctx context.Context, use func(i int, b *infer.Beliefs) error) error {
	results := newQueue[predicted](len(w.instances))
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer w.progress.done()
	defer group.Wait()
	defer cancel()
	jobs := newQueueOfIndices(ctx, len(w.instances))
	for range max(1, min(w.threads, len(w.instances))) {
		p := w.predictor()
		group.Go(func() {
			for i := range jobs {
				results.put(i, w.predict(ctx, p, i))
			}
		})
	}
	for i := range w.instances {
		got, ok := results.take(ctx, i)
		if !ok || ctx.Err() != nil {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %d instances", i, len(w.instances))}
		}
		if got.err != nil {
			return fmt.Errorf("instance %d (%s): %w", i, w.instances[i].Name, got.err)
		}
		if got.likelihood != nil {
			w.assess.total.Merge(got.likelihood)
		}
		if err := use(i, got.beliefs); err != nil {
			return err
		}
		w.progress.show(i+1, len(w.instances))
	}
	return nil
}

func (w *inference) predict(ctx context.Context, p *infer.Predictor, i int) (result predicted) {
	var hold []int32
	if w.clamp != nil {
		hold = w.clamp[i]
	}
	result.err = guard(func() (err error) {
		if w.assess != nil {
			var count []bool
			if w.assess.count != nil {
				count = w.assess.count[i]
			}
			result.beliefs, result.likelihood, err = p.Assess(ctx, w.instances[i], hold, w.assess.labels[i], count)
			return err
		}
		result.beliefs, err = p.Predict(ctx, w.instances[i], hold)
		return err
	})
	return result
}
