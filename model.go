package blockbp

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/learn"
)

// Model is a conditional random field with learned weights. It may be used from several goroutines.
type Model struct {
	inner    *job.Model
	threads  int
	training *Training
}

// Training is what a training ended with. Objective, GradientNorm and Gap are those of
// its last weights, also where an earlier model was better on Options.Validation.
type Training struct {
	Status    learn.Status // why it ended
	Reason    string       // the inequality that fired
	Converged bool         // the gradient of the whole network was checked to be small
	// Stationary says that it converged, with an objective that is not known to be convex:
	// with missing labels, or counting numbers such as bethe on graphs with loops. The
	// weights are then at a stationary point, which need not be the best of several.
	Stationary bool
	// Method is what was used, and how it was chosen where the data decided.
	Method string
	// Objective is the value of the objective at the final weights, GradientNorm the
	// norm of its gradient, FirstGradientNorm that at the start.
	Objective, GradientNorm, FirstGradientNorm float64
	// Gap is the gap between dual and primal of the inference at the final weights, in
	// the unit of the objective; NaN where it is not known.
	Gap     float64
	Passes  float64 // the work, in message sweeps over all data
	Seconds float64
	// Validation has the scores of the model on Options.Validation, by the names of metrics.jsonl.
	Validation map[string]float64
	Notes      []string // what is wrong with data or settings, in words
	// Couplings are, after Options.Physics, the fields and couplings of the system.
	Couplings []Coupling
}

// Coupling is a field of a node or a coupling of two, in the zero-sum gauge: of ising the factor of x_U, or of x_U
// x_V, in log p(x) for spins of −1, the first state, and 1; of potts the term of States.
type Coupling struct {
	U, V   int       // nodes; V is −1 for a field
	States [2]string // of U and V, for potts; "" otherwise
	Value  float64
	Error  float64 // standard error; NaN where it is not known
}

// couplings lists those of a result.
func couplings(c *job.Couplings) (list []Coupling) {
	if c == nil {
		return nil
	}
	for i, t := range c.Terms {
		next := Coupling{U: int(t.U), V: int(t.V), Value: c.Values[i], Error: math.NaN()}
		if c.Physics == job.Potts {
			next.States = c.States[i]
		}
		if c.Errors != nil {
			next.Error = c.Errors[i]
		}
		list = append(list, next)
	}
	return list
}

func newTraining(r *job.Result) *Training {
	s := r.Summary
	t := &Training{
		Method: s.Method, Status: s.Status, Reason: s.Reason, Converged: s.Converged, Stationary: s.Converged && !s.Convex,
		Objective: float64(s.Objective), GradientNorm: float64(s.GradNorm), FirstGradientNorm: float64(s.FirstGradNorm),
		Gap: float64(s.Gap), Passes: s.Passes, Seconds: s.TotalSeconds, Couplings: couplings(r.Couplings),
	}
	for name, value := range s.Eval {
		if t.Validation == nil {
			t.Validation = map[string]float64{}
		}
		t.Validation[strings.TrimSuffix(name, "@"+validationName)] = float64(value)
	}
	return t
}

// evaluation reads the validation data as those of the model to be trained.
func (o *Options) evaluation(ctx context.Context, training *dataset.Set, n *notes) (*job.Evaluation, error) {
	set, err := o.Validation.load(ctx, &job.Model{Model: &crf.Model{Schema: training.Schema},
		Recipe: &training.Recipe}, true)
	if err != nil {
		return nil, err
	}
	n.add(set.Notes()...)
	return job.NewEvaluation(validationName, set, job.Instances(set, o.NoEdges), "", "")
}

// folder is where the training leaves its files, or nil.
func (o *Options) folder(d *Data) *job.Folder {
	if o.Folder == "" {
		return nil
	}
	f := &job.Folder{Dir: o.Folder, Resume: o.Resume,
		Config: job.Config{Command: "train", Folder: absolute("."), Options: map[string]job.Option{}}}
	f.Config.Data = numeric.Map(d.paths, absolute)
	for name, value := range map[string]string{"observed": d.options.Observed, "list": d.options.List,
		"features": d.options.FeatureDir, "labels": d.options.LabelDir} {
		if value != "" {
			f.Config.Options[name] = job.Option{Value: value, Source: "caller"}
		}
	}
	return f
}

// absolute returns a path as one that holds in any folder, where that can be told.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// Training returns what the training of this model ended with, nil for a model that was loaded.
func (m *Model) Training() *Training { return m.training }

// States returns the names of the states of nodes; of the first type where there are several.
func (m *Model) States() []string { return m.inner.Model.Schema.NodeTypes[0].States }

// CRF returns the model with its schema and weights, for the packages below.
func (m *Model) CRF() *crf.Model { return m.inner.Model }

// Save writes the model into a file, whole or not at all: weights as safetensors, with
// the names of states and features and how data are read for it.
func (m *Model) Save(path string) error { return m.inner.Save(path) }

// Prediction is what a model says of one network.
type Prediction struct {
	Name string
	// Labels [nodes] are the most likely states. Beliefs [nodes][states] are the probabilities of all states under the
	// model, by convex belief propagation. Nodes of graph tables are in the order of their rows.
	Labels  []string
	Beliefs [][]float64
	// Converged: messages settled; with counting numbers that are not convex, at one of perhaps several fixed points.
	Converged bool
}

// Predict labels networks. Labels in files are not looked at, except those of dataset.Options.Observed, which are
// held. Where a network of NewData has some labels and others are hidden, the known ones are held and the others are
// filled in given them; a network whose labels are all known is predicted as if none were.
func (m *Model) Predict(ctx context.Context, d *Data) ([]Prediction, error) {
	work, err := m.inference(ctx)
	if err != nil {
		return nil, err
	}
	set, err := d.load(ctx, m.inner, false)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	instances := m.inner.Instances(set)
	held := partlyKnown(instances)
	if err := work.Check(ctx, instances, held); err != nil {
		return nil, err
	}
	all := make([]Prediction, len(instances))
	err = work.Each(ctx, instances, held, func(i int, b *infer.Beliefs) error {
		rows := len(b.Labels)
		if i < len(set.Rows) && set.Rows[i] != nil { // of superpixels there are fewer than pixels
			rows = len(set.Rows[i])
		}
		all[i] = prediction(instances[i], b, rows, func(row int) int { return job.NodeOfRow(set, i, row) })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// inference is how the model predicts.
func (m *Model) inference(ctx context.Context) (*job.Inference, error) {
	if m == nil || m.inner == nil {
		return nil, errors.New("blockbp: the model is nil: look at the error of Train or Load")
	}
	w, err := m.inner.Inference(ctx, "")
	w.Threads = cmp.Or(m.threads, runtime.GOMAXPROCS(0))
	return &w, err
}

// partlyKnown returns the labels to hold: the first sample of each instance that has some labels, but not all.
func partlyKnown(instances []*crf.Instance) [][]int32 {
	held := make([][]int32, len(instances))
	for i, in := range instances {
		if len(in.Samples()) == 0 {
			continue
		}
		if labels := in.Samples()[0]; slices.Contains(labels, crf.Unobserved) {
			held[i] = labels
		}
	}
	return held
}

func prediction(in *crf.Instance, b *infer.Beliefs, rows int, node func(row int) int) Prediction {
	p := Prediction{Name: in.Name, Converged: b.Outcome.Converged, Labels: make([]string, rows),
		Beliefs: make([][]float64, rows)}
	for r := range rows {
		s := node(r)
		p.Labels[r] = in.Schema().NodeTypes[in.NodeType(int32(s))].States[b.Labels[s]]
		p.Beliefs[r] = append([]float64(nil), b.Of(s)...)
	}
	return p
}

// Report says how predictions compare with labels.
type Report struct {
	Nodes int64 // that were compared
	// Accuracy is the share of nodes predicted right; ClassAccuracy, F1 and IoU are means over the states that occur.
	// LogLoss is the mean of −log belief of the true state, in nats. CalibrationError is the mean difference of
	// confidence and accuracy. ROCAUC and AveragePrecision, of each state against the others, are means over the states
	// that some of the nodes have, but not all.
	Accuracy, ClassAccuracy, F1, IoU, ROCAUC, AveragePrecision, LogLoss, CalibrationError float64
	// Confusion [truth][predicted] counts nodes, in the order of States.
	States    []string
	Confusion [][]int64

	measures report.Table
}

// String lists the measures as a table for a terminal.
func (r *Report) String() string { return r.measures.Text() }

// Evaluate compares the predictions for labelled networks with their labels. Nothing is
// held. Nodes whose labels are hidden do not count.
func (m *Model) Evaluate(ctx context.Context, d *Data) (*Report, error) {
	return m.EvaluateSplit(ctx, d, "", "")
}

// EvaluateSplit is Evaluate for graph tables with splits: the labels of one split, such
// as train, are held, and predictions are compared on the nodes of another, such as test.
// "" holds none, or compares on all nodes that are not held.
func (m *Model) EvaluateSplit(ctx context.Context, d *Data, observed, split string) (*Report, error) {
	if d != nil && observed+split != "" { // all labels are needed
		all := *d
		all.options.Observed = ""
		d = &all
	}
	work, err := m.inference(ctx)
	if err != nil {
		return nil, err
	}
	set, err := d.load(ctx, m.inner, true)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	e, err := job.NewEvaluation("", set, m.inner.Instances(set), split, observed)
	if err != nil {
		return nil, err
	}
	if err := work.Check(ctx, e.Instances, e.Held); err != nil {
		return nil, err
	}
	scored, err := work.Score(ctx, e, false)
	if err != nil {
		return nil, err
	}
	s := scored.Of("", "marginals")
	return &Report{
		Nodes: s.Nodes, Accuracy: float64(s.Accuracy), ClassAccuracy: float64(s.ClassAccuracy), F1: float64(s.F1),
		IoU:    float64(s.IoU),
		ROCAUC: float64(s.ROCAUC), AveragePrecision: float64(s.AveragePrecision), LogLoss: float64(s.LogLoss),
		CalibrationError: float64(s.CalibrationError),
		States:           scored.Classes, Confusion: s.Confusion,
		measures: report.Table{Headers: []string{"measure", "value"}, Rows: scored.Measures()},
	}, nil
}
