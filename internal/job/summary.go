package job

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Ending is what a training has come to, in result.json and in the model.
type Ending struct {
	Status        learn.Status    `json:"status"`
	Reason        string          `json:"reason"`
	Objective     runfolder.Float `json:"objective"`
	GradNorm      runfolder.Float `json:"grad_norm"`
	Suboptimality runfolder.Float `json:"suboptimality"`
	Iterations    int             `json:"iterations"`
	Passes        float64         `json:"passes"`
	Convex        bool            `json:"convex"`
	L2            float64         `json:"l2"`
	// Standardised: features had mean 0 and deviation 1 in the objective; the weights of the
	// model are those for features as they are.
	Standardised bool `json:"standardised"`
	// Edges is the rule that made the weights of edges, "" where they were learned.
	Edges string `json:"edges,omitempty"`
}

func (p *Prepared) ending(f *learn.Result) Ending {
	return Ending{f.Status, f.Reason, runfolder.Float(f.Objective), runfolder.Float(f.GradientNorm),
		runfolder.Float(f.Suboptimality), f.Iterations, f.Passes, f.Convex, p.Problem.L2,
		p.scale != nil && p.Options.Physics == "", p.rule.String()}
}

// Summary holds the values of result.json. NaN becomes null.
type Summary struct {
	Ending
	Method            string          `json:"method"` // and why, where the data decided
	Converged         bool            `json:"converged"`
	Optimum           string          `json:"optimum"` // that it converged to: see Optimum
	ObjectiveKind     string          `json:"objective_kind"`
	FirstGradNorm     runfolder.Float `json:"first_grad_norm"`
	CheckPasses       float64         `json:"check_passes"`
	GradientPasses    float64         `json:"gradient_passes"`
	Seconds           float64         `json:"seconds"`
	TrainingSeconds   float64         `json:"training_seconds"`
	CheckSeconds      float64         `json:"check_seconds"`
	EvaluationSeconds float64         `json:"evaluation_seconds"`
	// TotalSeconds are since the work began, with choice and training of earlier starts.
	TotalSeconds       float64         `json:"total_seconds"`
	Checked            bool            `json:"checked"`
	Residual           runfolder.Float `json:"bp_residual"`
	InferenceConverged bool            `json:"bp_converged"`
	Gap                runfolder.Float `json:"gap"`
	// WeightsWithin is the radius of a ball around the weights, as they were learned if Standardised, else as they are,
	// that has those of the optimum: L is at least as convex as (l2/2)‖θ̃‖².
	WeightsWithin runfolder.Float            `json:"weights_within"`
	StateBytes    int64                      `json:"state_bytes"`
	PeakBytes     int64                      `json:"peak_bytes"`
	ThetaNorm     runfolder.Float            `json:"theta_norm"`
	ThetaSHA256   string                     `json:"theta_sha256"`
	Model         string                     `json:"model"`
	Run           string                     `json:"run"`
	Eval          map[string]runfolder.Float `json:"eval,omitempty"`
	Notes         option.Notes               `json:"notes"`
	Prior         runfolder.Float            `json:"prior"` // that l2 is made of, null: l2 is given
	// Choice was made by data that were held out.
	Choice *Choice `json:"choice,omitempty"`
	// Selection says which edges couplings were learned of, where not of all.
	Selection *EdgeSelection `json:"edge_selection,omitempty"`
	// Couplings compares those that were learned with those of the reference.
	Couplings *Agreement `json:"couplings,omitempty"`
}

// objectiveKinds say what was minimised, beside (l2/2)‖θ̃‖².
var objectiveKinds = map[learn.Method]string{
	learn.Exact:     "likelihood",
	learn.Composite: "composite_likelihood",
	learn.Pseudo:    "pseudo_likelihood",
	learn.Piecewise: "piecewise",
	learn.Truncated: "truncated",
}

// variational is the objective of the methods that infer.
const variational = "variational"

func (r *run) summarise(result *Result) *Summary {
	f, took, unknown := result.Result, r.took, runfolder.Float(math.NaN())
	s := &Summary{
		Ending: r.p.ending(f), Method: r.p.MethodText(), Converged: f.Status.Stationary(), Optimum: r.optimum(f),
		ObjectiveKind: variational, FirstGradNorm: runfolder.Float(f.FirstGradientNorm),
		CheckPasses: f.CheckPasses, GradientPasses: f.GradientPasses,
		Seconds: f.Seconds, TrainingSeconds: f.Seconds - took.evaluating.Seconds(), CheckSeconds: f.CheckSeconds,
		EvaluationSeconds: (took.evaluating + took.evaluated).Seconds(),
		TotalSeconds:      took.earlier + time.Since(r.began).Seconds(),
		Checked:           f.Checked, Residual: runfolder.Float(f.Residual), InferenceConverged: f.InferenceConverged,
		Gap: runfolder.Float(numeric.Gap(f.Gap, f.Objective)), StateBytes: f.StateBytes, PeakBytes: peakBytes(),
		ThetaNorm: runfolder.Float(numeric.Norm(f.Model.Weights)), ThetaSHA256: HashWeights(f.Model.Weights),
		Model: result.Model.Path, Notes: append(option.Notes{}, r.p.Notes...),
		Prior: runfolder.Float(cmp.Or(r.p.Options.Prior, math.NaN())), Choice: r.p.choice, Selection: r.p.Selection,
		WeightsWithin: runfolder.Float(math.Sqrt(2 * f.Suboptimality / r.p.Problem.L2)),
	}
	if counts := r.p.Set.MeansWeights; counts != nil { // θ is at most so much further away: see standardise
		s.WeightsWithin *= runfolder.Float(math.Sqrt(slices.Max(counts)))
	}
	if result.Couplings != nil {
		s.Couplings = r.p.agreement(result.Couplings)
	}
	if kind, ok := objectiveKinds[r.p.Options.Method]; ok {
		s.ObjectiveKind = kind
	}
	if r.folder != nil {
		s.Run = r.files.Dir()
	}
	if !f.Checked && !(f.FirstGradientNorm > 0) {
		// It was interrupted before the first gradient was known.
		s.Objective, s.GradNorm, s.FirstGradNorm = unknown, unknown, unknown
	}
	for _, scored := range result.Scores {
		if s.Eval == nil {
			s.Eval = map[string]runfolder.Float{}
		}
		for _, m := range scored.metrics() {
			s.Eval[m.name+"@"+scored.Name] = runfolder.Float(m.value)
		}
	}
	return s
}

// MethodShort is Method without the numbers of the reason.
func (s *Summary) MethodShort() string {
	parts := strings.SplitN(s.Method, ": ", 3)
	return strings.Join(parts[:min(2, len(parts))], ": ")
}

// peakBytes returns the largest memory the process has had, where the system tells, else what Go has taken from it.
func peakBytes() int64 {
	if bytes, ok := memory.PeakMemory(); ok {
		return bytes
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// ObjectiveNote stands behind the value of an objective that is not the usual one,
// which runs of older versions do not name.
func (s *Summary) ObjectiveNote() string {
	if s.ObjectiveKind == variational || s.ObjectiveKind == "" {
		return ""
	}
	return " (" + s.ObjectiveKind + ")"
}

// PassesText says what passes were made of.
func (s *Summary) PassesText() string {
	if s.ObjectiveNote() != "" {
		return fmt.Sprintf("%.0f evaluations of objective and gradient", s.Passes)
	}
	return fmt.Sprintf("%.1f, of which checks %.1f", s.Passes, s.CheckPasses)
}

// Optimum says what something converged to, if it did: "global", the best there is, of what is known to be convex, and
// else "stationary", a point that small changes hardly improve, which may be one of several; "none" if it did not.
func Optimum(converged, convex bool) string {
	switch {
	case !converged:
		return "none"
	case convex:
		return "global"
	}
	return "stationary"
}

// optimum is Optimum of what was learned. Without a regulariser a small gradient does not tell how
// far the best there is may be.
func (r *run) optimum(f *learn.Result) string {
	if f.Status.Stationary() && f.Convex && r.p.Problem.L2 == 0 {
		return "unproved"
	}
	return Optimum(f.Status.Stationary(), f.Convex)
}

// StatusText is the status as people are told it: of an objective not known to be convex
// a run cannot find more than a stationary point.
func (s *Summary) StatusText() string {
	if s.Status.Stationary() && !s.Convex { // models of v0.1.0 say that they converged
		return "stationary point"
	}
	return string(s.Status)
}

// Caveat says what follows where the objective may have several optima, "" where it has one.
func (s *Summary) Caveat() string {
	switch {
	case s.Convex:
		return ""
	case s.Status.Stationary():
		return "the objective is not known to be convex: this stationary point may be one of several, and not the best"
	}
	return "the objective is not known to be convex: it may have several optima"
}

// unknown stands for a number that is not known.
const unknown = "not known"

// Known formats a number that may not be known.
func Known(format string, x runfolder.Float) string {
	if math.IsNaN(float64(x)) {
		return unknown
	}
	return fmt.Sprintf(format, float64(x))
}

// result makes models of what was learned.
func (p *Prepared) result(f *learn.Result) *Result {
	meta := p.modelMeta(f)
	f.Model = p.original(f.Model)
	f.Model.NodeCounts, f.Model.EdgeCounts = nil, nil
	if meta[MetaCounting] == countingOwn {
		f.Model.NodeCounts, f.Model.EdgeCounts = p.Initial.Model.NodeCounts, p.Initial.Model.EdgeCounts
	}
	recipe := p.Set.Recipe // a copy, as a model does not keep the data
	untrained := f.AtStart && numeric.Norm(p.Problem.Model.Weights) == 0
	return &Result{Result: f, Untrained: untrained, Model: &Model{Model: f.Model, Recipe: &recipe, Meta: meta}}
}

// modelMeta is what a model file says of how it was trained. It holds nothing
// that differs between two runs with the same result, such as times.
func (p *Prepared) modelMeta(f *learn.Result) map[string]string {
	o := &p.Options
	meta := map[string]string{
		MetaRecipe:   p.Set.Recipe.String(),
		MetaCounting: o.Counting,
		MetaSeed:     strconv.FormatUint(o.Seed, 10),
		MetaTraining: jsonText(struct {
			Method string `json:"method"`
			Ending
			Prior float64 `json:"prior,omitempty"`
			Step  string  `json:"step"`
			Most  float64 `json:"commonest_label,omitempty"`
		}{o.methodName(), p.ending(f), o.Prior, o.Step, commonest(p.Problem.Model.Schema.NodeTypes, p.Problem.Data)}),
	}
	if p.rule.power != 0 {
		meta[MetaTemperature] = strconv.FormatFloat(1/p.rule.power, 'g', -1, 64)
	}
	if o.predictsExactly() {
		meta[MetaCounting] = countingExact
	}
	if o.NoEdges {
		meta[MetaEdges] = edgesNone
	} else if p.rule.name == edgesBalanced {
		meta[MetaEdges] = edgesBalanced
	}
	return meta
}

// saveModel writes the model into the folder.
func (r *run) saveModel(result *Result) error {
	if r.folder == nil {
		return nil
	}
	result.Model.Path = r.files.Path(ModelFile)
	if err := result.Model.Save(result.Model.Path); err != nil {
		return fmt.Errorf("writing %s: %w", result.Model.Path, err)
	}
	return nil
}

// report writes result, plots and report into the folder.
func (r *run) report(result *Result) error {
	if r.folder == nil {
		return nil
	}
	// First the numbers, which are there if the report cannot be written.
	if err := r.files.WriteJSON(ResultFile, result.Summary); err != nil || r.folder.NoReport {
		return err
	}
	return r.writeReport(result)
}
