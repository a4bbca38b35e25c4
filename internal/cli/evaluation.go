package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/learn"
)

// evaluation is a named set of labelled instances that predictions are compared
// with.
type evaluation struct {
	name      string
	set       *dataset.Set
	instances []*crf.Instance
	// labels holds the truth of each instance; clamp, if not nil, labels to hold
	// fixed; count, if not nil, which nodes to compare.
	labels, clamp [][]int32
	count         [][]bool
}

// predictLimits bound the inference of predictions: a residual in log-messages of
// 1e-4 changes no confidence that anybody prints.
var predictLimits = bp.Limits{Tolerance: 1e-4, MaxSweeps: 300}

// evaluationLimits bound the inference of evaluations during training: labels
// hardly change any more, at a few percent of the cost.
var evaluationLimits = bp.Limits{Tolerance: 1e-2, MaxSweeps: 30}

// newEvaluation compares with the labels that the instances of a set carry.
func newEvaluation(name string, set *dataset.Set, instances []*crf.Instance) (*evaluation, error) {
	e := &evaluation{name: name, set: set, instances: instances}
	for i, in := range instances {
		if len(in.Samples()) == 0 {
			return nil, dataf("%s: instance %d (%s) has no labels to compare with", name, i, in.Name)
		}
		e.labels = append(e.labels, in.Samples()[0])
	}
	return e, nil
}

// predictor returns what makes predictions with a model.
func predictor(model *crf.Model, counting func(*graph.Graph) (*bp.Counting, error), limits bp.Limits) *infer.Predictor {
	return &infer.Predictor{
		Model: model, Limits: limits,
		Counting: func(in *crf.Instance) (*bp.Counting, error) { return counting(in.Graph) },
	}
}

// predictAll predicts every instance on several threads and hands the results to
// use in the order of the instances.
func predictAll(ctx context.Context, instances []*crf.Instance, clamp [][]int32, threads int, make func() *infer.Predictor, use func(i int, b *infer.Beliefs) error) error {
	type answer struct {
		beliefs *infer.Beliefs
		err     error
	}
	answers := newQueue[answer](len(instances))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	defer group.Wait()
	jobs := newQueueOfIndices(ctx, len(instances))
	for range max(1, min(threads, len(instances))) {
		p := make()
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range jobs {
				var hold []int32
				if clamp != nil {
					hold = clamp[i]
				}
				b, err := p.Predict(ctx, instances[i], hold)
				answers.put(i, answer{b, err})
			}
		}()
	}
	for i := range instances {
		got, ok := answers.take(ctx, i)
		if !ok {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %d instances", i, len(instances))}
		}
		if got.err != nil {
			return fmt.Errorf("instance %d (%s): %w", i, instances[i].Name, got.err)
		}
		if ctx.Err() != nil {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d of %d instances", i, len(instances))}
		}
		if err := use(i, got.beliefs); err != nil {
			return err
		}
	}
	return nil
}

// score predicts and compares everything.
func (e *evaluation) score(ctx context.Context, threads int, make func() *infer.Predictor, each func(i int, b *infer.Beliefs) error) (*infer.Score, error) {
	total := infer.NewScore(mostStates(e.set))
	err := predictAll(ctx, e.instances, e.clamp, threads, make, func(i int, b *infer.Beliefs) error {
		var count []bool
		if e.count != nil {
			count = e.count[i]
		}
		total.Add(b, e.labels[i], count)
		if each != nil {
			return each(i, b)
		}
		return nil
	})
	return total, err
}

func mostStates(set *dataset.Set) int {
	most := 0
	for a := range set.Schema.NodeTypes {
		most = max(most, set.Schema.NodeStates(a))
	}
	return most
}

// stateNames names the classes of a score.
func stateNames(set *dataset.Set) []string {
	for a := range set.Schema.NodeTypes {
		if set.Schema.NodeStates(a) == mostStates(set) {
			return set.Schema.NodeTypes[a].States
		}
	}
	return nil
}

// metricsOf names the values of a score, as name@set.
func metricsOf(set string, s *infer.Score) map[string]float64 {
	return map[string]float64{
		"accuracy@" + set:       s.Accuracy(),
		"class_accuracy@" + set: infer.Mean(s.Recall()),
		"iou@" + set:            infer.Mean(s.IoU()),
		"log_loss@" + set:       s.MeanLogLoss(),
	}
}

// lossMetrics are the metrics of which smaller is better.
var lossMetrics = map[string]bool{"log_loss": true}

// prepareEvaluation reads the sets to evaluate on and the early stopping rule.
func (t *training) prepareEvaluation(counting func(*graph.Graph) (*bp.Counting, error)) error {
	for _, spec := range t.flags.eval {
		name, path, ok := strings.Cut(spec, "=")
		if !ok || name == "" || path == "" || strings.ContainsAny(name, "@.") {
			return usagef("--eval %q: want NAME=PATH, such as dev=dev.txt", spec)
		}
		if slices.ContainsFunc(t.evals, func(e *evaluation) bool { return e.name == name }) {
			return usagef("--eval %s: the name %q is used twice", spec, name)
		}
		e, err := t.openEvaluation(name, path)
		if err != nil {
			return err
		}
		t.evals = append(t.evals, e)
	}
	if len(t.evals) > 0 {
		t.settings.Evaluate = func(m *crf.Model) (map[string]float64, error) { return t.evaluateAll(m, counting) }
	}
	return t.parseEarlyStop()
}

func (t *training) evaluateAll(m *crf.Model, counting func(*graph.Graph) (*bp.Counting, error)) (map[string]float64, error) {
	values := map[string]float64{}
	for _, e := range t.evals {
		make := func() *infer.Predictor { return predictor(m, counting, evaluationLimits) }
		// An evaluation is finished even when the run was interrupted: its result is
		// part of the record.
		score, err := e.score(context.Background(), t.flags.threads, make, nil)
		if err != nil {
			return nil, fmt.Errorf("evaluation %s: %w", e.name, err)
		}
		for name, value := range metricsOf(e.name, score) {
			values[name] = value
		}
	}
	return values, nil
}

func (t *training) openEvaluation(name, path string) (*evaluation, error) {
	o := t.flags.data.options(&loadedModel{model: &crf.Model{Schema: t.set.Schema}, recipe: &t.set.Recipe})
	if t.set.Recipe.Kind == dataset.KindGraph {
		return t.splitEvaluation(name, path, o)
	}
	paths := []string{path}
	if t.set.Recipe.Kind == dataset.KindImages {
		info, err := os.Stat(path)
		if err != nil {
			// The list may be given by its name inside the data folder, as --list may.
			if _, inside := os.Stat(filepath.Join(t.args[0], path)); inside != nil {
				return nil, err
			}
		}
		if info == nil || !info.IsDir() {
			paths, o.List = t.args, path
		} else {
			o.List = ""
		}
	}
	set, err := t.app.openData(paths, o)
	if err != nil {
		return nil, fmt.Errorf("--eval %s: %w", name, err)
	}
	instances := set.Instances
	if t.flags.noEdges {
		instances = withoutEdges(instances)
	}
	return newEvaluation(name, set, instances)
}

// splitEvaluation compares on the nodes of one split of graph tables, holding the
// labels that are observed in training.
func (t *training) splitEvaluation(name, split string, o dataset.Options) (*evaluation, error) {
	o.Observed = ""
	set, err := t.app.openData(t.args, o)
	if err != nil {
		return nil, fmt.Errorf("--eval %s: %w", name, err)
	}
	e, err := newEvaluation(name, set, t.data)
	if err != nil {
		return nil, err
	}
	found := false
	for i, in := range set.Instances {
		e.labels[i] = in.Samples()[0]
		count := make([]bool, len(e.labels[i]))
		for s, of := range set.Splits[i] {
			count[s] = of == split
			found = found || count[s]
		}
		e.count = append(e.count, count)
		if t.flags.data.observed != "" {
			e.clamp = append(e.clamp, t.data[i].Samples()[0])
		}
	}
	if !found {
		return nil, usagef("--eval %s=%s: no node is in a split of that name", name, split)
	}
	return e, nil
}

// parseEarlyStop reads METRIC@NAME[:PATIENCE].
func (t *training) parseEarlyStop() error {
	spec := t.flags.earlyStop
	if spec == "" {
		return nil
	}
	const defaultPatience = 5
	metric, patience := spec, defaultPatience
	if m, p, ok := strings.Cut(spec, ":"); ok {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 {
			return usagef("--early-stop %q: patience is %q, want a positive number of evaluations", spec, p)
		}
		metric, patience = m, n
	}
	name, set, _ := strings.Cut(metric, "@")
	var known []string
	for _, e := range t.evals {
		for m := range metricsOf(e.name, infer.NewScore(1)) {
			known = append(known, m)
		}
	}
	if len(known) == 0 {
		return usagef("--early-stop %s: it needs --eval %s=PATH", spec, set)
	}
	for _, m := range known {
		if m == metric {
			t.settings.EarlyStop = &learn.EarlyStop{Metric: metric, Patience: patience, Minimise: lossMetrics[name]}
			return nil
		}
	}
	return usagef("--early-stop %q: no such metric; %s", spec, nearestName(metric, known, ""))
}
