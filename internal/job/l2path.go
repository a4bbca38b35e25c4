package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/l2path"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// L2Path is what Options.AutoL2 tried, in the run folder and in result.json.
type L2Path struct {
	Chosen  float64        `json:"chosen"`
	Metric  string         `json:"metric"`
	Points  []l2path.Point `json:"points"`
	Seconds float64        `json:"seconds"`

	note string // what the choice tells of the data, or ""
}

// mostFolds bounds the folds of cross-validation.
const mostFolds = 5

// pathShare of Options.MaxTime is for the choice of l2: each value is tried on all folds,
// and the last fit starts anew with all data.
const pathShare = 0.5

// chooseL2 tries values of l2 and goes on with the one whose log loss on data that were
// held out is smallest, where that is wanted. What it has tried is kept in the folder.
func (r *run) chooseL2(ctx context.Context) error {
	p := r.p
	if !p.Options.AutoL2 {
		return nil
	}
	path := &L2Path{Metric: "log_loss"}
	folds, err := p.folds(path)
	if err != nil {
		return err
	}
	x := l2path.Path{
		Problem: p.Problem, Settings: p.Settings, Folds: folds, Tried: r.watch.Tried,
		Time: time.Duration(pathShare * float64(p.Options.MaxTime)),
	}
	x.Settings.Resume = nil
	if r.folder != nil {
		x.Save = r.saveL2State
		if x.From, err = r.readL2State(len(folds)); err != nil {
			return err
		}
	}
	state, best, err := x.Choose(ctx)
	if ctx.Err() != nil {
		text := "interrupted while l2 was chosen; nothing was written: start again"
		if r.folder != nil {
			text = fmt.Sprintf("interrupted while l2 was chosen, after %d values; go on with blockbp train %s --resume", len(state.Points), r.files.Dir())
		}
		return &Error{Interrupted, errors.New(text)}
	}
	if err != nil {
		return err
	}
	path.Points, path.Chosen, path.Seconds = state.Points, state.Points[best].L2, state.Seconds
	switch best {
	case 0:
		path.note = fmt.Sprintf("--l2 auto chose %g, the largest value that it tries: features tell little of the labels", path.Chosen)
	case len(path.Points) - 1:
		path.note = fmt.Sprintf("--l2 auto chose %g, the smallest value that it came to: smaller ones may be as good", path.Chosen)
	}
	if path.note != "" {
		r.watch.note("%s", path.note)
		p.Notes = append(slices.Clone(p.Notes), path.note)
	}
	p.Options.AutoL2, p.Options.L2, p.Options.NoL2, p.Problem.L2 = false, path.Chosen, path.Chosen == 0, path.Chosen
	r.l2Path = path
	r.lessTime()
	if r.folder == nil {
		return nil
	}
	put(r.folder.Config.Options, "l2", path.Chosen)
	if err := r.files.WriteSealed(l2PathFile, path); err != nil {
		return err
	}
	if err := r.writeConfig(); err != nil {
		return err
	}
	if err := os.Remove(r.files.Path(l2StateFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lessTime takes the time of the choice of l2 from that of the training.
func (r *run) lessTime() {
	if s := &r.p.Settings; s.MaxTime > 0 && r.l2Path != nil {
		s.MaxTime = max(time.Millisecond, s.MaxTime-time.Duration(r.l2Path.Seconds*float64(time.Second)))
	}
}

// l2StateKey is that of the state among the metadata of its file.
const l2StateKey = "path"

// saveL2State writes how far the choice of l2 has come, whole or not at all.
func (r *run) saveL2State(s *l2path.State) error {
	path := r.files.Path(l2StateFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	var tensors []safetensors.Tensor
	for i, w := range s.Weights {
		tensors = append(tensors, safetensors.New(fmt.Sprint(i), []int{len(w)}, w))
	}
	return safetensors.WriteFile(path, map[string]string{l2StateKey: jsonText(s), safetensors.ChecksumKey: ""}, tensors)
}

// readL2State reads it; nil if there is none.
func (r *run) readL2State(folds int) (*l2path.State, error) {
	path := r.files.Path(l2StateFile)
	f, err := safetensors.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s l2path.State
	err = f.Verify()
	if err == nil {
		err = json.Unmarshal([]byte(f.Metadata()[l2StateKey]), &s)
	}
	if err == nil && len(s.Tolerance) != folds {
		err = fmt.Errorf("it has %d folds, want %d", len(s.Tolerance), folds)
	}
	for i := 0; i < folds && err == nil; i++ {
		var w []float64
		if w, err = safetensors.Read[float64](f, fmt.Sprint(i)); err == nil && len(w) != r.p.Problem.Model.Layout.Size {
			err = fmt.Errorf("it has %d weights, want %d", len(w), r.p.Problem.Model.Layout.Size)
		}
		s.Weights = append(s.Weights, w)
	}
	if err != nil {
		return nil, dataf("%s: %v; remove it to choose l2 anew", path, err)
	}
	return &s, nil
}

// folds are the first evaluation set against all data, or else parts of the data against
// the others: instances, samples of a single one, or labels of a single sample.
func (p *Prepared) folds(path *L2Path) ([]l2path.Fold, error) {
	data := p.Problem.Data
	if len(p.Evaluations) > 0 {
		path.Metric += "@" + p.Evaluations[0].Name
		return []l2path.Fold{p.fold(data, p.Evaluations[0], p.original)}, nil
	}
	what, split := "instances", splitInstances
	if len(data) == 1 {
		what, split = "samples", splitSamples
		if len(data[0].Samples()) == 1 {
			what, split = "labels", splitLabels
		}
	}
	n, part, err := split(data, p.Options.Seed)
	if err != nil {
		return nil, err
	}
	path.Metric += fmt.Sprintf(" by cross-validation, %d folds of %s", n, what)
	var folds []l2path.Fold
	for k := range n {
		learnt, e, err := part(k)
		if err == nil {
			e.Name, e.Set = "fold", p.Set
			err = e.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("--l2 auto, fold %d: %w", k+1, err)
		}
		folds = append(folds, p.fold(learnt, e, func(m *crf.Model) *crf.Model { return m }))
	}
	return folds, nil
}

// A splitter divides data into n parts: part k is what to learn from without it, and the
// comparison with it.
type splitter func(data []*crf.Instance, seed uint64) (n int, part func(k int) ([]*crf.Instance, *Evaluation, error), err error)

var _, _, _ splitter = splitInstances, splitSamples, splitLabels

func splitInstances(data []*crf.Instance, _ uint64) (int, func(int) ([]*crf.Instance, *Evaluation, error), error) {
	n := min(mostFolds, len(data))
	return n, func(k int) (learnt []*crf.Instance, e *Evaluation, err error) {
		var held []*crf.Instance
		for i, in := range data {
			if i%n == k {
				held = append(held, in)
			} else {
				learnt = append(learnt, in)
			}
		}
		e, err = NewEvaluation("", nil, held)
		return learnt, e, err
	}, nil
}

func splitSamples(data []*crf.Instance, _ uint64) (int, func(int) ([]*crf.Instance, *Evaluation, error), error) {
	n := min(mostFolds, len(data[0].Samples()))
	return n, func(k int) ([]*crf.Instance, *Evaluation, error) {
		var learnt, held [][]int32
		for i, labels := range data[0].Samples() {
			if i%n == k {
				held = append(held, labels)
			} else {
				learnt = append(learnt, labels)
			}
		}
		in, err := relabelled(data[0], learnt)
		return []*crf.Instance{in}, &Evaluation{Instances: data, Labels: [][][]int32{held}}, err
	}, nil
}

// splitLabels hides a part of the known labels, drawn from the seed. The others are held
// while those are predicted.
func splitLabels(data []*crf.Instance, seed uint64) (int, func(int) ([]*crf.Instance, *Evaluation, error), error) {
	labels, parts := data[0].Samples()[0], dealLabels(data[0], seed)
	if len(parts) < 2 {
		return 0, nil, usagef("--l2 auto: with one label a state there is nothing to hold out; give labelled data with --eval NAME=PATH")
	}
	return len(parts), func(k int) ([]*crf.Instance, *Evaluation, error) {
		left, count := slices.Clone(labels), make([]bool, len(labels))
		for _, s := range parts[k] {
			left[s], count[s] = crf.Unobserved, true
		}
		in, err := relabelled(data[0], [][]int32{left})
		return []*crf.Instance{in}, &Evaluation{Instances: data, Labels: [][][]int32{{labels}}, Held: [][]int32{left}, Count: [][]bool{count}}, err
	}, nil
}

// dealLabels divides the nodes with labels of a single sample into up to mostFolds parts: shuffled, and
// dealt out anew for each state, so that every part has its share of all states, and what is left of a
// few labels is as balanced as all are.
func dealLabels(in *crf.Instance, seed uint64) [][]int32 {
	labels, known := in.Samples()[0], knownLabels(in)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	parts, dealt := make([][]int32, mostFolds), map[[2]int]int{}
	for _, s := range known {
		state := [2]int{in.NodeType(s), int(labels[s])}
		parts[dealt[state]%mostFolds] = append(parts[dealt[state]%mostFolds], s)
		dealt[state]++
	}
	return slices.DeleteFunc(parts, func(part []int32) bool { return len(part) == 0 })
}

// relabelled is the instance with other labels.
func relabelled(in *crf.Instance, labels [][]int32) (*crf.Instance, error) {
	spec := in.Spec()
	spec.Labels = labels
	return crf.NewInstance(in.Schema(), spec)
}

// fold measures the log loss on an evaluation set, of what becomes of a model that was
// learned: for features as they are, or for those that are learned from.
func (p *Prepared) fold(data []*crf.Instance, e *Evaluation, becomes func(*crf.Model) *crf.Model) l2path.Fold {
	return l2path.Fold{Data: data, Loss: func(ctx context.Context, m *crf.Model) (float64, error) {
		w := p.inference(becomes(m), infer.Limits{})
		scored, err := w.score(ctx, e, false, 0)
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
