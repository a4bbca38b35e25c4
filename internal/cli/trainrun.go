package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Files of a run folder.
const (
	configFile    = "config.json"
	envFile       = "env.json"
	dataFile      = "data.json"
	resultFile    = "result.json"
	modelFile     = "model.safetensors"
	bestModelFile = "model.best.safetensors"
)

// runConfig is what config.json holds.
type runConfig struct {
	Command string            `json:"command"`
	Data    []string          `json:"data"` // absolute paths
	Folder  string            `json:"folder"`
	Options map[string]option `json:"options"` // what the run uses, and where each value came from
}

// openRun makes the run folder, or opens the one to resume, and writes what is
// known before training.
func (t *training) openRun() (err error) {
	f := t.flags
	if t.resuming {
		return t.reopenRun()
	}
	if t.run, err = createFolder(f.out, time.Now().Format("run-20060102-150405")); err != nil {
		return err
	}
	f.out = t.run.Dir()
	if err := t.writeConfig(); err != nil {
		return err
	}
	for name, value := range map[string]any{envFile: runfolder.Environment(), dataFile: t.sources()} {
		if err := t.run.WriteJSON(name, value); err != nil {
			return err
		}
	}
	t.metrics, err = t.run.Metrics()
	return err
}

// writeConfig writes what a resumed run takes its data and options from.
func (t *training) writeConfig() (err error) {
	config := runConfig{Command: "train", Options: t.options}
	if config.Data, err = t.dataPaths(); err != nil {
		return err
	}
	if config.Folder, err = os.Getwd(); err != nil {
		return err
	}
	out, err := filepath.Abs(t.run.Dir())
	if err != nil {
		return err
	}
	t.put("out", out)
	if t.resuming {
		t.put("resume", out)
	}
	return t.run.WriteJSON(configFile, config)
}

func (t *training) sources() []dataset.Source {
	all := t.set.Sources
	for _, e := range t.evals {
		all = append(all[:len(all):len(all)], e.set.Sources...)
	}
	return all
}

// numbersOfResult are the values of result.json and --json. NaN becomes null.
type numbersOfResult struct {
	Status             learn.Status               `json:"status"`
	Reason             string                     `json:"reason"`
	Converged          bool                       `json:"converged"`
	Objective          runfolder.Float            `json:"objective"`
	ObjectiveKind      string                     `json:"objective_kind"`
	GradNorm           runfolder.Float            `json:"grad_norm"`
	FirstGradNorm      runfolder.Float            `json:"first_grad_norm"`
	Iterations         int                        `json:"iterations"`
	Passes             float64                    `json:"passes"`
	CheckPasses        float64                    `json:"check_passes"`
	GradientPasses     float64                    `json:"gradient_passes"`
	Seconds            float64                    `json:"seconds"`
	TrainingSeconds    float64                    `json:"training_seconds"`
	CheckSeconds       float64                    `json:"check_seconds"`
	EvaluationSeconds  float64                    `json:"evaluation_seconds"`
	ReportSeconds      runfolder.Float            `json:"report_seconds"` // null until the report is written
	TotalSeconds       float64                    `json:"total_seconds"`
	SecondsPerIter     runfolder.Float            `json:"seconds_per_iteration"`
	Checked            bool                       `json:"checked"`
	Residual           runfolder.Float            `json:"bp_residual"`
	InferenceConverged bool                       `json:"bp_converged"`
	Gap                runfolder.Float            `json:"gap"`
	Convex             bool                       `json:"convex"`
	StateBytes         int64                      `json:"state_bytes"`
	PeakBytes          int64                      `json:"peak_bytes"`
	ThetaNorm          float64                    `json:"theta_norm"`
	ThetaSHA256        string                     `json:"theta_sha256"`
	Model              string                     `json:"model"`
	Run                string                     `json:"run"`
	Eval               map[string]runfolder.Float `json:"eval,omitempty"`
	Notes              []string                   `json:"notes"`
	L2                 float64                    `json:"l2"`
	L2Path             *l2Path                    `json:"l2_path,omitempty"`
}

func (t *training) numbers(r *learn.Result) numbersOfResult {
	n := numbersOfResult{
		Status: r.Status, Reason: r.Reason, Converged: r.Status == learn.Converged,
		Objective: runfolder.Float(r.Objective), ObjectiveKind: objectiveKind(t.settings.Method), GradNorm: runfolder.Float(r.GradientNorm), FirstGradNorm: runfolder.Float(r.FirstGradientNorm),
		Iterations: r.Iterations, Passes: r.Passes, CheckPasses: r.CheckPasses, GradientPasses: r.GradientPasses,
		Seconds: r.Seconds, TrainingSeconds: r.Seconds - t.evaluating.Seconds(), CheckSeconds: r.CheckSeconds,
		EvaluationSeconds: (t.evaluating + t.evaluated).Seconds(), ReportSeconds: runfolder.Float(math.NaN()), TotalSeconds: t.totalSeconds(),
		SecondsPerIter: runfolder.Float((r.Seconds - r.CheckSeconds) / float64(r.Iterations)),
		Checked:        r.Checked, Residual: runfolder.Float(r.Residual), InferenceConverged: r.InferenceConverged, Gap: gapShown(r.Gap, r.Objective), Convex: r.Convex,
		StateBytes: r.StateBytes, PeakBytes: peakBytes(), ThetaSHA256: hashOf(r.Model.Weights),
		Model: t.run.Path(modelFile), Run: t.run.Dir(), Notes: append([]string{}, t.remarks...), L2: t.flags.l2, L2Path: t.l2Path,
	}
	if !r.Checked && !(r.FirstGradientNorm > 0) {
		// It was interrupted before the first gradient was known.
		unknown := runfolder.Float(math.NaN())
		n.Objective, n.GradNorm, n.FirstGradNorm = unknown, unknown, unknown
	}
	for _, w := range r.Model.Weights {
		n.ThetaNorm += w * w
	}
	n.ThetaNorm = math.Sqrt(n.ThetaNorm)
	return n
}

// hashOf returns the SHA-256 of the weights' bits, little-endian.
func hashOf(weights []float64) string {
	h := sha256.New()
	var word [8]byte
	for _, w := range weights {
		binary.LittleEndian.PutUint64(word[:], math.Float64bits(w))
		h.Write(word[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// modelMeta is what a model file says of how it was trained. It holds nothing
// that differs between two runs with the same result, such as times.
func (t *training) modelMeta(r *learn.Result) map[string]string {
	f := t.flags
	summary := jsonText(struct {
		Method     string          `json:"method"`
		L2         float64         `json:"l2"`
		Step       string          `json:"step"`
		Status     learn.Status    `json:"status"`
		Reason     string          `json:"reason"`
		Objective  runfolder.Float `json:"objective"`
		GradNorm   runfolder.Float `json:"grad_norm"`
		Iterations int             `json:"iterations"`
		Passes     float64         `json:"passes"`
		Convex     bool            `json:"convex"`
	}{f.method, f.l2, f.step, r.Status, r.Reason, runfolder.Float(r.Objective), runfolder.Float(r.GradientNorm), r.Iterations, r.Passes, r.Convex})
	meta := map[string]string{
		dataset.RecipeKey: t.set.Recipe.String(),
		metaCounting:      f.counting,
		metaSeed:          strconv.FormatUint(f.seed, 10),
		metaTraining:      summary,
	}
	if f.noEdges {
		meta[metaEdges] = edgesNone
	}
	return meta
}

// writeResult writes the model, the result, plots and the report.
func (t *training) writeResult(r *learn.Result) error {
	meta := t.modelMeta(r)
	save := func(path string, m *crf.Model) error { return crf.Save(path, m, meta) }
	if err := save(t.run.Path(modelFile), r.Model); err != nil {
		return err
	}
	if r.Best != nil {
		if err := save(t.run.Path(bestModelFile), r.Best); err != nil {
			return err
		}
	}
	if t.flags.model != "" && r.Status != learn.Interrupted {
		if err := save(t.flags.model, r.Model); err != nil {
			return err
		}
	}
	final, err := t.finalEvaluation(r)
	if err != nil {
		return err
	}
	numbers := t.numbers(r)
	numbers.Eval = final.values
	// First without the time of the report: if that cannot be written, the numbers
	// are there all the same.
	if err := t.run.WriteJSON(resultFile, numbers); err != nil {
		return err
	}
	if err := t.writeReport(r, &numbers, final); err != nil {
		return err
	}
	if err := t.run.WriteJSON(resultFile, numbers); err != nil {
		return err
	}
	if t.flags.json {
		return t.app.printJSON(numbers)
	}
	return t.printResult(numbers)
}

// writeReport writes what people look at, and takes the time.
func (t *training) writeReport(r *learn.Result, n *numbersOfResult, final *finalScores) error {
	started := time.Now()
	if err := t.run.WriteMetricsCSV(); err != nil {
		return err
	}
	if t.flags.report {
		if err := t.writeTrainingReport(r, *n, final); err != nil {
			return err
		}
	}
	n.ReportSeconds = runfolder.Float(time.Since(started).Seconds())
	n.TotalSeconds = t.totalSeconds()
	return nil
}

// totalSeconds is the time since the command began, with the training of earlier
// starts.
func (t *training) totalSeconds() float64 { return t.earlier + time.Since(t.started).Seconds() }

func (t *training) printResult(n numbersOfResult) error {
	rows := [][]string{
		{"status", string(n.Status)},
		{"reason", n.Reason},
		{"objective", orUnknown("%.10g", n.Objective) + objectiveNote(n.ObjectiveKind)},
		{"gradient norm", orUnknown("%.3g", n.GradNorm)},
		{"iterations", strconv.Itoa(n.Iterations)},
		{"passes", passesText(n)},
		{"seconds", fmt.Sprintf("%.2f, of which training %.2f (checks %.2f), evaluation %.2f, report %.2f", n.TotalSeconds, n.TrainingSeconds, n.CheckSeconds, n.EvaluationSeconds, float64(n.ReportSeconds))},
		{"peak memory", mebibytes(n.PeakBytes)},
		{"model", n.Model},
	}
	if t.flags.report {
		rows = append(rows, []string{"report", t.run.Path(report.ReportFile)})
	}
	for _, e := range t.evals {
		for _, metric := range []string{"accuracy", "class_accuracy", "f1", "iou", "log_loss", "calibration_error"} {
			if value, ok := n.Eval[metric+"@"+e.name]; ok {
				rows = append(rows, []string{metric + "@" + e.name, fmt.Sprintf("%.4f", float64(value))})
			}
		}
	}
	if !n.Convex {
		rows = append(rows, []string{"note", "the objective is not known to be convex: " + severalOptima(n.Status)})
	}
	if n.L2Path != nil {
		fmt.Fprintln(t.app.stdout, n.L2Path.table().Text())
	}
	_, err := fmt.Fprintln(t.app.stdout, report.Table{Headers: []string{"result", "value"}, Rows: rows}.Text())
	return err
}

// gapShown returns a primal–dual gap without the sign that rounding alone gives
// it: a gap is not negative, and its two sides are sums as large as value.
func gapShown(gap, value float64) runfolder.Float {
	const rounding = 1e-12
	if gap < 0 && gap >= -rounding*math.Abs(value) {
		return 0
	}
	return runfolder.Float(gap)
}

// orUnknown formats a number that may not be known.
func orUnknown(format string, x runfolder.Float) string {
	if math.IsNaN(float64(x)) {
		return "not known"
	}
	return fmt.Sprintf(format, float64(x))
}

// writeFailure records a diverged run; the last good checkpoint stays.
func (t *training) writeFailure(d *learn.DivergedError) error {
	failure := struct {
		Status    string `json:"status"`
		Reason    string `json:"reason"`
		Iteration int    `json:"iterations"`
		Block     int    `json:"block"`
	}{"diverged", d.Error(), d.Iteration, d.Block}
	if err := t.run.WriteJSON(resultFile, failure); err != nil {
		return err
	}
	if t.flags.json {
		if err := t.app.printJSON(failure); err != nil {
			return err
		}
	}
	return d
}

// peakBytes returns the largest memory the process has had, where the system
// tells, else what Go has taken from it.
func peakBytes() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for _, line := range bytes.Split(text, []byte("\n")) {
			if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
				if kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64); err == nil {
					return kib << 10
				}
			}
		}
	}
	return heapSystemBytes()
}
