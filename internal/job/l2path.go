package job

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/l2path"
	"github.com/blockbp/blockbp/internal/report"
)

// L2Path is what Options.AutoL2 tried, in the run folder and in result.json.
type L2Path struct {
	Chosen float64        `json:"chosen"`
	Metric string         `json:"metric"`
	Points []l2path.Point `json:"points"`

	note string // what the choice tells of the data, or ""
}

// mostFolds bounds the folds of cross-validation.
const mostFolds = 5

// chooseL2 tries values of l2 and returns the path to the one whose log loss on data
// that were held out is smallest; nil where l2 is given, or was chosen when the run to
// be resumed began.
func (p *Prepared) chooseL2(ctx context.Context, folder *Folder, watch Watch) (*L2Path, error) {
	if !p.Options.AutoL2 || (folder != nil && folder.Resume) {
		return nil, nil
	}
	path := &L2Path{Metric: "log_loss"}
	folds, err := p.folds(path)
	if err != nil {
		return nil, err
	}
	var best int
	path.Points, best, err = l2path.Choose(ctx, p.Problem, p.Settings, folds, watch.Tried)
	if ctx.Err() != nil {
		return nil, &Error{Interrupted, errors.New("interrupted while l2 was chosen; nothing was written: start again")}
	}
	if err != nil {
		return nil, err
	}
	path.Chosen = path.Points[best].L2
	switch best {
	case 0:
		path.note = fmt.Sprintf("--l2 auto chose %g, the largest value that it tries: features tell little of the labels", path.Chosen)
	case len(path.Points) - 1:
		path.note = fmt.Sprintf("--l2 auto chose %g, the smallest value that it came to: smaller ones may be as good", path.Chosen)
	}
	if path.note != "" {
		watch.note("%s", path.note)
	}
	return path, nil
}

// withL2 returns the training with the l2 that a path has led to; nil leaves it.
func (p *Prepared) withL2(path *L2Path) *Prepared {
	q := *p
	if path == nil {
		return &q
	}
	q.Options.AutoL2, q.Options.L2, q.Problem.L2 = false, path.Chosen, path.Chosen
	if path.note != "" {
		q.Notes = append(slices.Clone(p.Notes), path.note)
	}
	return &q
}

// folds are the first evaluation set against all data, or else parts of the
// instances against the others.
func (p *Prepared) folds(path *L2Path) ([]l2path.Fold, error) {
	data := p.Problem.Data
	if len(p.Evaluations) > 0 {
		path.Metric += "@" + p.Evaluations[0].Name
		return []l2path.Fold{p.fold(data, p.Evaluations[0], p.original)}, nil
	}
	n := min(mostFolds, len(data))
	if n < 2 {
		return nil, usagef("--l2 auto: with one instance there is nothing to hold out; give labelled data with --eval NAME=PATH")
	}
	path.Metric += fmt.Sprintf(" by cross-validation, %d folds", n)
	var folds []l2path.Fold
	for k := range n {
		var learnt, held []*crf.Instance
		for i, in := range data {
			if i%n == k {
				held = append(held, in)
			} else {
				learnt = append(learnt, in)
			}
		}
		e, err := NewEvaluation("fold", p.Set, held)
		if err == nil {
			err = e.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("--l2 auto, fold %d: %w", k+1, err)
		}
		folds = append(folds, p.fold(learnt, e, func(m *crf.Model) *crf.Model { return m }))
	}
	return folds, nil
}

// fold measures the log loss on an evaluation set, of what becomes of a model that was
// learned: for features as they are, or for those that are learned from.
func (p *Prepared) fold(data []*crf.Instance, e *Evaluation, becomes func(*crf.Model) *crf.Model) l2path.Fold {
	return l2path.Fold{Data: data, Loss: func(m *crf.Model) (float64, error) {
		scored, err := p.inference(becomes(m), infer.Limits{}).score(context.Background(), e, false, 0)
		if err != nil {
			return math.NaN(), err
		}
		return scored.Score.MeanLogLoss(), nil
	}}
}

// readL2Path reads the path of a run that is resumed; nil if its l2 was given.
func readL2Path(file string) (path *L2Path, err error) {
	_, err = readRecord(file, &path)
	return path, err
}

// Table lists the path for a reader.
func (p *L2Path) Table() report.Table {
	t := report.Table{Headers: []string{"l2", "objective", p.Metric, "passes", ""}}
	for _, x := range p.Points {
		mark := ""
		if x.L2 == p.Chosen {
			mark = "chosen"
		}
		if !x.Converged {
			mark += " (not converged)"
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%g", x.L2), Known("%.8g", x.Objective), Known("%.6g", x.Loss), fmt.Sprintf("%.0f", x.Passes), mark})
	}
	return t
}
