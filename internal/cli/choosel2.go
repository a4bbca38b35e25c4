package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// l2Auto is the value of --l2 that has it chosen.
const l2Auto = "auto"

// l2Value makes --l2 a number or l2Auto.
type l2Value struct {
	value *float64
	auto  *bool
}

// String implements pflag.Value.
func (v l2Value) String() string {
	if v.auto != nil && *v.auto {
		return l2Auto
	}
	if v.value == nil {
		return ""
	}
	return strconv.FormatFloat(*v.value, 'g', -1, 64)
}

// Set implements pflag.Value.
func (v l2Value) Set(text string) error {
	if *v.auto = text == l2Auto; *v.auto {
		return nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("want a number or %s", l2Auto)
	}
	*v.value = x
	return nil
}

// Type implements pflag.Value: a number in messages and files.
func (v l2Value) Type() string { return "float64" }

// l2Path is what --l2 auto tried, in the run folder and in result.json.
type l2Path struct {
	Chosen float64   `json:"chosen"`
	Metric string    `json:"metric"`
	Points []l2Point `json:"points"`
}

// l2Point is one value of l2.
type l2Point struct {
	L2        float64         `json:"l2"`
	Objective runfolder.Float `json:"objective"`
	LogLoss   runfolder.Float `json:"log_loss"`
	Passes    float64         `json:"passes"`
	Converged bool            `json:"converged"`
}

// l2PathFile keeps the path in the run folder.
const l2PathFile = "l2.json"

// mostFolds bounds the folds of cross-validation.
const mostFolds = 5

// chooseL2 tries values of l2 and goes on with the one whose log loss on data that
// were held out is smallest.
func (t *training) chooseL2() error {
	if !t.flags.l2Auto || t.resuming {
		return nil
	}
	path := &l2Path{Metric: "log_loss"}
	folds, err := t.folds(path)
	if err != nil {
		return err
	}
	points, best, err := learn.ChooseL2(t.app.ctx, t.problem, t.settings, folds, t.showL2)
	if t.app.ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted while l2 was chosen; nothing was written: start again")}
	}
	if err != nil {
		return err
	}
	for _, p := range points {
		path.Points = append(path.Points, l2Point{p.L2, runfolder.Float(p.Objective), runfolder.Float(p.Loss), p.Passes, p.Converged})
	}
	path.Chosen = points[best].L2
	t.l2Path, t.flags.l2, t.problem.L2 = path, path.Chosen, path.Chosen
	t.put("l2", path.Chosen)
	switch best {
	case 0:
		t.remark([]string{fmt.Sprintf("--l2 auto chose %g, the largest value that it tries: features tell little of the labels", path.Chosen)})
	case len(points) - 1:
		t.remark([]string{fmt.Sprintf("--l2 auto chose %g, the smallest value that it came to: smaller ones may be as good", path.Chosen)})
	}
	return nil
}

// showL2 tells of a value that was tried.
func (t *training) showL2(p learn.PathPoint) {
	if !t.flags.quiet {
		cut := ""
		if !p.Converged {
			cut = ", cut short"
		}
		fmt.Fprintf(t.app.stderr, "l2 %g: objective %.8g, log loss %.6g, %.0f passes%s\n", p.L2, p.Objective, p.Loss, p.Passes, cut)
	}
}

// folds are the first evaluation set against all data, or else parts of the
// instances against the others.
func (t *training) folds(path *l2Path) ([]learn.Fold, error) {
	if len(t.evals) > 0 {
		path.Metric += "@" + t.evals[0].name
		return []learn.Fold{t.fold(t.data, t.evals[0])}, nil
	}
	n := min(mostFolds, len(t.data))
	if n < 2 {
		return nil, usagef("--l2 auto: with one instance there is nothing to hold out; give labelled data with --eval NAME=PATH")
	}
	path.Metric += fmt.Sprintf(" by cross-validation, %d folds", n)
	var folds []learn.Fold
	for k := range n {
		var learnt, held []*crf.Instance
		for i, in := range t.data {
			if i%n == k {
				held = append(held, in)
			} else {
				learnt = append(learnt, in)
			}
		}
		e, err := newEvaluation("fold", t.set, held)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return nil, fmt.Errorf("--l2 auto, fold %d: %w", k+1, err)
		}
		folds = append(folds, t.fold(learnt, e))
	}
	return folds, nil
}

// fold measures the log loss on an evaluation set.
func (t *training) fold(data []*crf.Instance, e *evaluation) learn.Fold {
	return learn.Fold{Data: data, Loss: func(m *crf.Model) (float64, error) {
		score, err := e.score(context.Background(), inference{
			threads: t.flags.threads, predictor: func() *infer.Predictor { return predictor(m, t.problem.Counting, predictLimits) },
		}, nil)
		if err != nil {
			return math.NaN(), err
		}
		return score.MeanLogLoss(), nil
	}}
}

// saveL2Path writes the path, and reads that of a run that is resumed.
func (t *training) saveL2Path() error {
	if t.l2Path != nil {
		return t.run.WriteJSON(l2PathFile, t.l2Path)
	}
	text, err := os.ReadFile(t.run.Path(l2PathFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &t.l2Path); err != nil {
		return dataf("%s: %v", t.run.Path(l2PathFile), err)
	}
	return nil
}

// table lists the path for a reader.
func (p *l2Path) table() report.Table {
	t := report.Table{Headers: []string{"l2", "objective", p.Metric, "passes", ""}}
	for _, x := range p.Points {
		mark := ""
		if x.L2 == p.Chosen {
			mark = "chosen"
		}
		if !x.Converged {
			mark += " (not converged)"
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%g", x.L2), orUnknown("%.8g", x.Objective), orUnknown("%.6g", x.LogLoss), fmt.Sprintf("%.0f", x.Passes), mark})
	}
	return t
}
