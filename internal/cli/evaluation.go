package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/learn"
)

// evaluation is a named set of labelled instances that predictions are compared
// with.
type evaluation struct {
	name      string
	set       *dataset.Set
	instances []*crf.Instance
	// labels holds the truth of each instance: its samples, each of which counts.
	labels [][][]int32
	clamp  [][]int32 // labels to hold fixed in each instance; nil: none
	count  [][]bool  // which nodes of each instance to compare; nil: all
}

// predictLimits bound the inference of predictions: a residual in log-messages of
// 1e-4 changes no confidence that anybody prints.
var predictLimits = infer.Limits{Tolerance: 1e-4, MaxSweeps: 300}

// evaluationLimits bound the inference of evaluations during training: labels
// hardly change any more, at a few percent of the cost.
var evaluationLimits = infer.Limits{Tolerance: 1e-2, MaxSweeps: 30}

// newEvaluation compares with the labels that the instances of a set carry.
func newEvaluation(name string, set *dataset.Set, instances []*crf.Instance) (*evaluation, error) {
	e := &evaluation{name: name, set: set, instances: instances}
	for i, in := range instances {
		if len(in.Samples()) == 0 {
			return nil, dataf("instance %d (%s) has no labels to compare with", i, in.Name)
		}
		e.labels = append(e.labels, in.Samples())
	}
	return e, nil
}

// check refuses to compare nothing.
func (e *evaluation) check() error {
	for i, samples := range e.labels {
		for _, labels := range samples {
			for s, y := range labels {
				if y != crf.Unobserved && (e.count == nil || e.count[i][s]) {
					return nil
				}
			}
		}
	}
	return dataf("no node that is to be compared has a label: all of theirs are -1")
}

// score predicts and compares every sample of labels with the prediction of its
// instance.
func (e *evaluation) score(ctx context.Context, w inference, each func(i int, b *infer.Beliefs) error) (*infer.Score, error) {
	total := infer.NewScore(mostStates(e.set))
	w.instances, w.clamp = e.instances, e.clamp
	err := w.run(ctx, func(i int, b *infer.Beliefs) error {
		var count []bool
		if e.count != nil {
			count = e.count[i]
		}
		for _, truth := range e.labels[i] {
			total.Add(b, truth, count)
		}
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
		"accuracy@" + set:          s.Accuracy(),
		"class_accuracy@" + set:    infer.Mean(s.Recall()),
		"f1@" + set:                infer.Mean(s.F1()),
		"iou@" + set:               infer.Mean(s.IoU()),
		"log_loss@" + set:          s.MeanLogLoss(),
		"calibration_error@" + set: s.CalibrationError(),
	}
}

// lossMetrics are the metrics of which smaller is better.
var lossMetrics = map[string]bool{"log_loss": true, "calibration_error": true}

// prepareEvaluation reads the sets to evaluate on and the early stopping rule.
func (t *training) prepareEvaluation(counting counting.Func) error {
	for _, spec := range t.flags.eval {
		name, path, ok := strings.Cut(spec, "=")
		if !ok || name == "" || path == "" || strings.ContainsAny(name, "@.:/\\") {
			return usagef("--eval %q: want NAME=PATH, such as dev=dev.txt, and a name without . : @ and slashes", spec)
		}
		if slices.ContainsFunc(t.evals, func(e *evaluation) bool { return e.name == name }) {
			return usagef("--eval %s: the name %q is used twice", spec, name)
		}
		e, err := t.openEvaluation(name, path)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return fmt.Errorf("--eval %s: %w", name, err)
		}
		t.evals = append(t.evals, e)
	}
	if len(t.evals) > 0 {
		t.settings.Evaluate = func(m *crf.Model) (map[string]float64, error) { return t.evaluateAll(m, counting) }
	}
	return t.parseEarlyStop()
}

func (t *training) evaluateAll(m *crf.Model, counting counting.Func) (map[string]float64, error) {
	values := map[string]float64{}
	started := time.Now()
	defer func() { t.evaluating += time.Since(started) }()
	for _, e := range t.evals {
		work := inference{
			threads: t.flags.threads, progress: t.progress.counter("evaluating " + e.name),
			predictor: func() *infer.Predictor { return predictor(m, counting, evaluationLimits) },
		}
		// An evaluation is finished even when the run was interrupted: its result is
		// part of the record.
		score, err := e.score(context.Background(), work, nil)
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
	o.Bins, o.Neighbours, o.NoBias = 0, 0, false // they are in the recipe already
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
		return nil, err
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
		return nil, err
	}
	e, err := newEvaluation(name, set, t.data)
	if err != nil {
		return nil, err
	}
	if problem := unknownSplit(set, split); problem != "" {
		return nil, usagef("%s", problem)
	}
	for i, in := range set.Instances {
		e.labels[i] = in.Samples()
		count := make([]bool, in.Graph.NumNodes())
		for s, of := range set.Splits[i] {
			count[s] = of == split
		}
		e.count = append(e.count, count)
		if t.flags.data.observed != "" {
			e.clamp = append(e.clamp, t.data[i].Samples()[0])
		}
	}
	return e, nil
}

// unknownSplit says that no node of graph tables is in a split, "" if one is.
func unknownSplit(set *dataset.Set, split string) string {
	known := map[string]bool{}
	for _, of := range set.Splits {
		for _, name := range of {
			if name != "" {
				known[name] = true
			}
		}
	}
	if known[split] {
		return ""
	}
	return fmt.Sprintf("no node is in a split %q; %s", split, nearestName(split, slices.Sorted(maps.Keys(known)), ""))
}

// earlyStopText writes METRIC@NAME:PATIENCE.
func earlyStopText(e *learn.EarlyStop) string { return fmt.Sprintf("%s:%d", e.Metric, e.Patience) }

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
	name, set, ok := strings.Cut(metric, "@")
	if !ok || name == "" || set == "" {
		return usagef("--early-stop %q: want METRIC@NAME[:PATIENCE], such as accuracy@dev:3 with --eval dev=PATH", spec)
	}
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
