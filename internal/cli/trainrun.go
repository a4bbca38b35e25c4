package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/learn"
	"github.com/blockbp/blockbp/record"
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
	Options map[string]option `json:"options"` // resolved values and where each came from
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
	for name, value := range map[string]any{envFile: record.Environment(), dataFile: t.sources()} {
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
	for _, path := range t.args {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		config.Data = append(config.Data, absolute)
	}
	if config.Folder, err = os.Getwd(); err != nil {
		return err
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

// reopenRun opens the run to resume and reads the state to go on from.
func (t *training) reopenRun() (err error) {
	if t.run, err = record.Open(t.flags.out); err != nil {
		return err
	}
	if err := t.sameData(); err != nil {
		return err
	}
	state, ok, err := loadCheckpoint(t.run.Dir())
	if err != nil {
		return err
	}
	t.last = -1
	if ok {
		t.settings.Resume = state
		if t.last, err = state.Iteration(); err != nil {
			return dataf("%s: %v", filepath.Join(t.run.Dir(), checkpointFile), err)
		}
	} else {
		fmt.Fprintf(t.app.stderr, "blockbp: note: %s has no checkpoint yet; the run starts from the beginning\n", t.run.Dir())
	}
	return nil
}

// begin is called when the learner has accepted the state to go on from: only now
// the folder of a resumed run changes.
func (t *training) begin() (err error) {
	if t.metrics != nil {
		return nil
	}
	if err := t.writeConfig(); err != nil {
		return err
	}
	if t.metrics, err = t.run.Metrics(); err != nil {
		return err
	}
	return t.metrics.TruncateAfter(t.last)
}

// sameData refuses to resume on data that changed since the run began.
func (t *training) sameData() error {
	text, err := os.ReadFile(t.run.Path(dataFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var before []dataset.Source
	if err := json.Unmarshal(text, &before); err != nil {
		return dataf("%s: %v", t.run.Path(dataFile), err)
	}
	now := t.sources()
	for i := range max(len(before), len(now)) {
		switch {
		case i >= len(now):
			return dataf("%s was part of the run in %s and is missing now: resume with the same data, or start a new run", before[i].Path, t.run.Dir())
		case i >= len(before) || now[i].SHA256 != before[i].SHA256:
			return dataf("%s changed since the run in %s began, or was not part of it: resume with the same data, or start a new run", now[i].Path, t.run.Dir())
		}
	}
	return nil
}

// recallOptions sets the data and every option that the command line leaves open
// to what the run to be resumed was started with.
func (t *training) recallOptions(cmd *cobra.Command) error {
	path := filepath.Join(t.flags.out, configFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var config runConfig
	if err := json.Unmarshal(text, &config); err != nil {
		return dataf("%s: %v", path, err)
	}
	if config.Command != "train" || len(config.Data) == 0 {
		return dataf("%s: not the configuration of a training run", path)
	}
	t.args = config.Data
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		o, ok := config.Options[f.Name]
		if !ok || f.Changed || o.Source == sourceDefault || f.Name == "out" || f.Name == "resume" || f.Name == "config" {
			return
		}
		value := rebase(f.Name, o.Value, config.Folder)
		if setErr := setRecalled(f, value); setErr != nil && err == nil {
			err = dataf("%s: option %q: %v", path, f.Name, setErr)
		}
		f.Changed = true // what was asked for once holds when the run is resumed again
	})
	return err
}

// pathOptions are the options whose values are paths, or NAME=PATH.
var pathOptions = map[string]bool{"model": true, "init": true, "reference": true, "features": true, "list": true, "counting": true, "eval": true}

// rebase makes a relative path of a recalled option right again: it was given in
// the folder where the run was started.
func rebase(name, value, folder string) string {
	if !pathOptions[name] || value == "" {
		return value
	}
	here := func(path string) string {
		if moved := filepath.Join(folder, path); !filepath.IsAbs(path) && exists(moved) {
			return moved
		}
		return path
	}
	if name == "model" && !filepath.IsAbs(value) {
		return filepath.Join(folder, value) // to be written: it need not exist
	}
	if name != "eval" {
		return here(value)
	}
	sets, err := readList(value)
	if err != nil {
		return value
	}
	for i, spec := range sets {
		if set, path, ok := strings.Cut(spec, "="); ok {
			sets[i] = set + "=" + here(path)
		}
	}
	return "[" + strings.Join(sets, ",") + "]"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// setRecalled sets a flag to the text that its String method once gave.
func setRecalled(f *pflag.Flag, value string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		fields, err := readList(value)
		if err != nil {
			return err
		}
		return list.Replace(fields)
	}
	return f.Value.Set(value)
}

// numbersOfResult are the values of result.json and --json. NaN becomes null.
type numbersOfResult struct {
	Status             learn.Status            `json:"status"`
	Reason             string                  `json:"reason"`
	Converged          bool                    `json:"converged"`
	Objective          record.Float            `json:"objective"`
	GradNorm           record.Float            `json:"grad_norm"`
	FirstGradNorm      record.Float            `json:"first_grad_norm"`
	Iterations         int                     `json:"iterations"`
	Passes             float64                 `json:"passes"`
	CheckPasses        float64                 `json:"check_passes"`
	GradientPasses     float64                 `json:"gradient_passes"`
	Seconds            float64                 `json:"seconds"`
	CheckSeconds       float64                 `json:"check_seconds"`
	SecondsPerIter     record.Float            `json:"seconds_per_iteration"`
	Checked            bool                    `json:"checked"`
	Residual           record.Float            `json:"bp_residual"`
	InferenceConverged bool                    `json:"bp_converged"`
	Gap                record.Float            `json:"gap"`
	Convex             bool                    `json:"convex"`
	StateBytes         int64                   `json:"state_bytes"`
	PeakBytes          int64                   `json:"peak_bytes"`
	ThetaNorm          float64                 `json:"theta_norm"`
	ThetaSHA256        string                  `json:"theta_sha256"`
	Model              string                  `json:"model"`
	Run                string                  `json:"run"`
	Eval               map[string]record.Float `json:"eval,omitempty"`
}

func (t *training) numbers(r *learn.Result) numbersOfResult {
	n := numbersOfResult{
		Status: r.Status, Reason: r.Reason, Converged: r.Status == learn.Converged,
		Objective: record.Float(r.Objective), GradNorm: record.Float(r.GradientNorm), FirstGradNorm: record.Float(r.FirstGradientNorm),
		Iterations: r.Iterations, Passes: r.Passes, CheckPasses: r.CheckPasses, GradientPasses: r.GradientPasses,
		Seconds: r.Seconds, CheckSeconds: r.CheckSeconds, SecondsPerIter: record.Float((r.Seconds - r.CheckSeconds) / float64(r.Iterations)),
		Checked: r.Checked, Residual: record.Float(r.Residual), InferenceConverged: r.InferenceConverged, Gap: record.Float(r.Gap), Convex: r.Convex,
		StateBytes: r.StateBytes, PeakBytes: peakBytes(), ThetaSHA256: hashOf(r.Model.Weights),
		Model: t.run.Path(modelFile), Run: t.run.Dir(),
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
	summary, err := json.Marshal(struct {
		Method     string       `json:"method"`
		L2         float64      `json:"l2"`
		Step       string       `json:"step"`
		Status     learn.Status `json:"status"`
		Reason     string       `json:"reason"`
		Objective  record.Float `json:"objective"`
		GradNorm   record.Float `json:"grad_norm"`
		Iterations int          `json:"iterations"`
		Passes     float64      `json:"passes"`
		Convex     bool         `json:"convex"`
	}{f.method, f.l2, f.step, r.Status, r.Reason, record.Float(r.Objective), record.Float(r.GradientNorm), r.Iterations, r.Passes, r.Convex})
	if err != nil {
		panic("cli: " + err.Error()) // numbers and strings always marshal
	}
	meta := map[string]string{
		dataset.RecipeKey: t.set.Recipe.String(),
		metaCounting:      f.counting,
		metaSeed:          strconv.FormatUint(f.seed, 10),
		metaTraining:      string(summary),
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
	numbers := t.numbers(r)
	final, err := t.finalEvaluation(r)
	if err != nil {
		return err
	}
	numbers.Eval = final.values
	if err := t.run.WriteJSON(resultFile, numbers); err != nil {
		return err
	}
	if err := t.run.WriteMetricsCSV(); err != nil {
		return err
	}
	if err := writeTrainingReport(t.run, t.set, r, numbers, final); err != nil {
		return err
	}
	if t.flags.json {
		return t.app.printJSON(numbers)
	}
	return t.printResult(numbers)
}

func (t *training) printResult(n numbersOfResult) error {
	rows := [][]string{
		{"status", string(n.Status)},
		{"reason", n.Reason},
		{"objective", fmt.Sprintf("%.10g", float64(n.Objective))},
		{"gradient norm", fmt.Sprintf("%.3g", float64(n.GradNorm))},
		{"iterations", strconv.Itoa(n.Iterations)},
		{"passes", fmt.Sprintf("%.1f, of which checks %.1f", n.Passes, n.CheckPasses)},
		{"seconds", fmt.Sprintf("%.2f, of which checks %.2f", n.Seconds, n.CheckSeconds)},
		{"peak memory", mebibytes(n.PeakBytes)},
		{"model", n.Model},
		{"report", t.run.Path(record.ReportFile)},
	}
	for _, e := range t.evals {
		for _, metric := range []string{"accuracy", "class_accuracy", "iou", "log_loss"} {
			if value, ok := n.Eval[metric+"@"+e.name]; ok {
				rows = append(rows, []string{metric + "@" + e.name, fmt.Sprintf("%.4f", float64(value))})
			}
		}
	}
	if !n.Convex {
		rows = append(rows, []string{"note", "the objective is not known to be convex: this optimum may be one of several"})
	}
	_, err := fmt.Fprintln(t.app.stdout, record.Table{Headers: []string{"result", "value"}, Rows: rows}.Text())
	return err
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
