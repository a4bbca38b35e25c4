package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
	"github.com/blockbp/blockbp/learn"
)

// Evaluation is a named set of labelled instances that predictions are compared with: with every sample of each.
type Evaluation struct {
	Name      string
	Set       *dataset.Set
	Instances []*crf.Instance
	Held      [][]int32 // labels to hold in each instance, −1: none; nil: none in any
	Count     [][]bool  // which nodes of each instance to compare; nil: all
}

// NewEvaluation compares with the labels that instances of a set carry, which may be without the edges of its own. Of
// graph tables it compares on the nodes of one split, and holds the labels of another; "": all not held, and none.
func NewEvaluation(name string, set *dataset.Set, instances []*crf.Instance, split, observed string) (*Evaluation,
	error) {
	for i, in := range instances {
		if len(in.Samples()) == 0 {
			return nil, dataf("%s has no labels to compare with", option.Instance(i, in.Name))
		}
	}
	e := &Evaluation{Name: name, Set: set, Instances: instances}
	if err := e.restrict(split, observed); err != nil {
		return nil, err
	}
	if e.labelled() == 0 {
		return nil, dataf("no node that is to be compared has a label: all are hidden, or left out; blockbp predict needs " +
			"none")
	}
	return e, nil
}

// restrict takes note of the splits.
func (e *Evaluation) restrict(split, observed string) error {
	if split == "" && observed == "" {
		return nil
	}
	if len(e.Set.Splits) == 0 {
		return usagef("{split} and {observed} apply to graph tables only")
	}
	for _, of := range [][2]string{{"split", split}, {"observed", observed}} {
		if problem := UnknownSplit(e.Set, of[1]); of[1] != "" && problem != "" {
			return usagef("{%s}: %s", of[0], option.Text(problem))
		}
	}
	if split == observed {
		return usagef("the labels of the split %q are held, because of {observed=%s}, so that all of them would count as "+
			"right: compare on another split, or leave {observed} out", split, observed)
	}
	for i, in := range e.Set.Instances {
		labels := in.Samples()[0] // tables have one sample
		count, held := make([]bool, len(labels)), make([]int32, len(labels))
		for s, of := range e.Set.Splits[i] {
			held[s] = crf.Unobserved
			if observed != "" && of == observed {
				held[s] = labels[s]
			}
			count[s] = of == split || (split == "" && held[s] == crf.Unobserved)
		}
		e.Count = append(e.Count, count)
		if observed != "" {
			e.Held = append(e.Held, held)
		}
	}
	return nil
}

// UnknownSplit says that no node of graph tables is in a split, "" if one is.
func UnknownSplit(set *dataset.Set, split string) string {
	known := numeric.SetOf(slices.Concat(set.Splits...))
	delete(known, "")
	switch {
	case known[split]:
		return ""
	case len(known) == 0:
		return fmt.Sprintf("there is no split %q: the table of nodes has no column of splits, or it is empty; give it a "+
			"column split, or name one by {columns=split=NAME}", option.Literal(split))
	}
	return fmt.Sprintf("no node is in a split %q; %s", option.Literal(split),
		option.Suggestion(split, slices.Sorted(maps.Keys(known)), ""))
}

// OpenEvaluation reads the evaluation set that path names beside the training set that was read from data: other files,
// a list of ids in the same image folder, or a split of the same graph tables. Errors of reading are those of dataset.
func (t *Task) OpenEvaluation(ctx context.Context, data []string, o dataset.Options, name, path string,
	noEdges bool) (*Evaluation, error) {
	paths := []string{path}
	o.Schema, o.Recipe, o.Learning = &t.Set.Schema, &t.Set.Recipe, false
	// they are in the recipe already
	o.Edges, o.Bins, o.Neighbours, o.Hops, o.NoBias = "", 0, 0, 0, false
	_, missing := os.Stat(path)
	split := t.Set.Recipe.Kind == "graph" && (missing != nil || UnknownSplit(t.Set, path) == "")
	observed := o.Observed
	switch t.Set.Recipe.Kind {
	case "graph":
		if o.Observed = ""; split {
			paths = data
		}
	case "images":
		info, err := os.Stat(path)
		if err != nil {
			// The list may be given by its name inside the data folder, as --list may.
			if _, inside := os.Stat(filepath.Join(data[0], path)); inside != nil {
				return nil, option.Errorf("%s: no such file or directory, here or in %s; want a list of ids, or a folder of "+
					"pictures and labels", path, data[0])
			}
		}
		o.List = ""
		if info == nil || !info.IsDir() {
			paths, o.List = data, path
		}
	}
	set, err := dataset.Open(ctx, paths, o)
	if lost := (*fs.PathError)(nil); errors.As(err, &lost) && lost.Path == path && errors.Is(err, fs.ErrNotExist) {
		return nil, option.Errorf("%s: no such file or directory; want labelled data, such as those learned from", path)
	}
	if err != nil {
		return nil, err
	}
	if !split {
		path, observed = "", ""
	} else if problem := UnknownSplit(set, path); problem != "" {
		return nil, usagef("there is no file %q, and %s", path, option.Text(problem))
	}
	return NewEvaluation(name, set, Instances(set, noEdges), path, observed)
}

// ParseEvaluation reads NAME=PATH of an evaluation set.
func ParseEvaluation(spec string) (name, path string, err error) {
	name, path, ok := strings.Cut(spec, "=")
	if !ok || name == "" || path == "" || strings.ContainsAny(name, "@.:/\\") || printable.Line(name) != name {
		return "", "", usagef("{eval} %q: want NAME=PATH, such as dev=dev.txt, and a name without . : @, slashes and "+
			"control characters", spec)
	}
	return name, path, nil
}

// Evaluations in training take evaluationGrace or evaluationShare of the time at most, where nobody says how often they
// are wanted, and none outlasts the training. The final one may take evaluationGrowth times as long as the last of
// them, as weights grow, and with them the sweeps that beliefs take to settle.
const evaluationGrace, evaluationShare, evaluationGrowth = time.Second, 0.1, 1.5

// evaluateDuring returns what learn.Settings.Evaluate asks, and says in took what it takes. Values are those that a
// final evaluation of the same weights has. draw gets each with its pictures; nil: nobody wants them. When half of a
// limit of time is over a try, if only of a few instances and sweeps, tells what the final evaluation will take.
func (p *Prepared) evaluateDuring(watch Watch, took *times, limit time.Duration, draw func(*Scored) error) func(
	*crf.Model) (map[string]float64, error) {
	all := p.toScore(0)
	if all == 0 {
		return nil
	}
	bounded, threads := p.Options.EvaluateEvery == 0 && p.Options.EarlyStop == "", max(1, min(p.Options.Threads, all))
	began, tried := time.Now(), limit == 0 || !bounded
	return func(m *crf.Model) (map[string]float64, error) {
		started, seen, most, values := time.Now(), 0, PredictLimits.MaxSweeps, map[string]float64{}
		room := max(evaluationGrace, time.Duration(evaluationShare*float64(started.Sub(began)))) - took.evaluating
		if !tried && started.Sub(began) > limit/2 {
			tried, room = true, time.Duration(evaluationShare*float64(limit))
			most = foldLimits.MaxSweeps
		} else if bounded && took.expected > room {
			return nil, nil
		}
		// An evaluation is finished even when the run was interrupted: its result is part of the record.
		latest := began.Add(cmp.Or(limit, math.MaxInt64/2) - took.reserve(limit))
		ctx, cancel := context.WithDeadline(context.Background(), latest)
		defer func() { cancel(); took.evaluating += time.Since(started) }()
		for _, e := range p.Evaluations {
			w, before, count := p.scoring(p.original(m), most), seen, watch.counter("evaluating "+e.Name)
			w.Progress = func(done, total int) {
				spent := time.Since(started)
				if seen = before + done; seen >= 2*threads && spent > room/4 || seen == all { // the first ones take longer
					took.expected = portion(spent, all, seen)
					if bounded && took.expected > room && seen < all { // there is no time for the rest
						done = total
						cancel()
					}
				}
				count(done, total)
			}
			pictures := 0
			if draw != nil {
				pictures = min(picturesPerSet, len(e.Set.Images))
			}
			scored, err := w.score(ctx, e, false, pictures)
			if scored != nil {
				took.sweeps = scored.sweeps / float64(max(1, scored.Unsettled.Of))
			}
			if ctx.Err() != nil {
				return nil, nil
			} else if err == nil && most < PredictLimits.MaxSweeps && scored.Unsettled.Count > 0 {
				took.sweeps, took.expected = 2*took.sweeps, 2*took.expected // it is not known how many more
				return nil, nil
			}
			if err == nil && draw != nil {
				err = draw(scored)
			}
			if err != nil {
				return nil, fmt.Errorf("evaluation %s: %w", e.Name, err)
			}
			for _, m := range scored.metrics() {
				values[m.name+"@"+e.Name] = m.value
			}
		}
		return values, nil
	}
}

// portion is a/b of a time, which may be centuries.
func portion(t time.Duration, a, b int) time.Duration {
	return time.Duration(min(float64(t)*float64(a)/float64(b), math.MaxInt64/2))
}

// toScore counts the instances of evaluation sets, from one on.
func (p *Prepared) toScore(from int) (n int) {
	for _, e := range p.Evaluations[from:] {
		n += len(e.Instances)
	}
	return n
}

// scoring is how a model is scored, with at most so many sweeps over each network.
func (p *Prepared) scoring(m *crf.Model, most int) Inference {
	w := p.inference(m, PredictLimits)
	if w.Limits.MaxSweeps, w.Settled = most, PredictTolerance; p.rule.power != 0 {
		w.Temperature = 1 / p.rule.power
	}
	return w
}

// score is the final score on one of the evaluation sets. All instances are compared, however late it is, as a score of
// a part says little of all: instead, sweeps are as many as there is time for, and a note says so where that matters.
func (r *run) score(ctx context.Context, result *Result, set int) (*Scored, error) {
	p, e := r.p, r.p.Evaluations[set]
	left := r.left(0)
	if left > 0 {
		left = max(1, left-r.took.rest(p.Options.MaxTime))
	}
	most := r.took.within(portion(left, p.toScore(0), p.toScore(set)))
	w := p.scoring(result.Model.Model, most)
	w.Progress = r.watch.counter("final evaluation on " + e.Name)
	scored, err := w.Score(ctx, e, false)
	if err != nil {
		return nil, fmt.Errorf("evaluation %s: %w", e.Name, err)
	}
	if u := scored.Unsettled; u.Count > 0 && most < PredictLimits.MaxSweeps {
		scored.Note = fmt.Sprintf("{max-time} leaves time for %d sweeps over each network of %s, after which %d of %d are "+
			"not settled; figures of blockbp eval, which makes up to %d, may differ", most, e.Name, u.Count, u.Of,
			PredictLimits.MaxSweeps)
	}
	return scored, nil
}

// evaluate scores the final model on every evaluation set, of which the first may have its score, and notes on which
// its edges do harm. There are no scores where the training was interrupted, or is now, which interrupted tells apart.
func (r *run) evaluate(ctx context.Context, result *Result, first *Scored) (scores []*Scored, interrupted bool,
	err error) {
	if result.Status == learn.Interrupted {
		return nil, false, nil
	}
	for i, e := range r.p.Evaluations {
		scored := first
		if i > 0 || first == nil {
			scored, err = r.score(ctx, result, i)
		}
		if err == nil {
			err = r.harm(ctx, result, e, scored)
		}
		if ctx.Err() != nil {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		if scores = append(scores, scored); scored.Note != "" {
			r.p.tell(r.watch, scored.Note)
		}
	}
	return scores, false, nil
}

// harm compares a model with one of the same features that was trained without edges, whose score stays in
// Scored.Alone. It notes where the model predicts an evaluation set worse.
func (r *run) harm(ctx context.Context, result *Result, e *Evaluation, scored *Scored) error {
	p, features := r.p, func(t crf.NodeType) bool { return t.Features > 0 }
	joined := func(in *crf.Instance) bool { return in.Graph.NumEdges() > 0 }
	if p.Options.NoEdges || !slices.ContainsFunc(p.Set.Schema.NodeTypes, features) ||
		!slices.ContainsFunc(e.Instances, joined) {
		return nil
	}
	m, err := r.withoutEdges(ctx, result.Passes)
	if err != nil || m == nil {
		return err
	}
	nodes, w := *e, p.inference(p.original(m), infer.Limits{})
	nodes.Instances, w.Counting = Instances(e.Set, true), nil // numbers of a file are those of the edges
	if scored.Alone, err = w.score(ctx, &nodes, false, 0); err != nil {
		return fmt.Errorf("evaluation %s: %w", e.Name, err)
	}
	if have, alone := scored.Score, scored.Alone.Score; isWorse(have, alone) {
		worse := fmt.Sprintf("on %s the model predicts worse than one of node features alone: accuracy %s, log loss %.4f, "+
			"without edges accuracy %s, %.4f: edges may have drawn nodes to one class, the run may be far from its optimum, "+
			"or these data differ from those learned from; compare with {no-edges}, {counting=convex} and a larger {l2}",
			e.Name, percent(have.Accuracy()), have.MeanLogLoss(), percent(alone.Accuracy()), alone.MeanLogLoss())
		scored.Note = strings.TrimPrefix(scored.Note+"; "+worse, "; ")
	}
	return nil
}

// isWorse reports a smaller accuracy together with a larger log loss, or a difference in one of the two that is no
// chance: an accuracy that is smaller by more than three standard errors, or twice the log loss.
func isWorse(have, alone *infer.Score) bool {
	lost, loss, other := alone.Accuracy()-have.Accuracy(), have.MeanLogLoss(), alone.MeanLogLoss()
	return lost > 3*math.Sqrt(0.5/float64(have.Count())) || loss > other && (lost > 0 || loss > 2*other)
}

func (p *Prepared) inference(m *crf.Model, limits infer.Limits) Inference {
	return Inference{Model: m, Counting: p.numbers, Exact: p.Options.predictsExactly(), Limits: limits,
		Threads: p.Options.Threads, Truncated: p.Options.sweeps()}
}
