package cli_test

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	numpy "github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestRunFolder looks at every file that a run leaves behind.
func TestRunFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	dir := filepath.Join(folder, "new", "run")
	data := gridData(t)
	r := train(t, data, "-o", dir, "--l2", "0.5", "--eval", "same="+data, "--threads", "1",
		"--eval-every", "5", "--report")

	want := []string{"checkpoint", "config.json", "data.json", "env.json", "metrics.jsonl", "model.safetensors", "plots", "report.html", "result.json"}
	oracle.Equal(t, namesIn(dir), want, "the run folder holds")
	t.Run("config", func(t *testing.T) { checkConfig(t, dir, data) })
	t.Run("data", func(t *testing.T) { checkSources(t, dir, data) })
	t.Run("metrics", func(t *testing.T) { checkMetrics(t, dir, r) })
	t.Run("result", func(t *testing.T) { checkResult(t, dir, r) })
	t.Run("figures", func(t *testing.T) {
		checkFigures(t, dir, "convergence-passes", "gradient-passes", "accuracy-passes", "log_loss-passes", "reliability-same")
	})
	// The evaluation of a run is that of eval: every sample counts.
	if results := evaluate(t, data, "-m", dir, "--threads", "1"); !closeTo(results[0].Accuracy, r.Eval["accuracy@same"], 1e-12) || !closeTo(results[0].LogLoss, r.Eval["log_loss@same"], 1e-9) {
		t.Errorf("eval says %+v, the run %v", results[0], r.Eval)
	}
	t.Run("report", func(t *testing.T) {
		checkReport(t, filepath.Join(dir, "report.html"), "Training report", r.ThetaSHA256, "converged", "Settings", data,
			filepath.Base(data)+": ", "auto → bbpl: whole networks", "same="+data)
	})
}

func checkConfig(t *testing.T, dir, data string) {
	var config struct {
		Command string
		Data    []string
		Folder  string
		Options map[string]savedOption
	}
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, dir, "config.json")), &config))
	if config.Command != "train" || !slices.Equal(config.Data, []string{data}) || !filepath.IsAbs(config.Folder) {
		t.Errorf("command %q, data %q, folder %q", config.Command, config.Data, config.Folder)
	}
	wantOptions(t, config.Options, map[string]savedOption{
		"l2": {0.5, "flag"}, "seed": {1.0, "default"}, "counting": {"trw", "default"}, "out": {dir, "flag"},
		// What the run used in the place of options that were left to it.
		"blocks": {1.0, "default"}, "partition": {nil, "default"}, "inner-sweeps": {2.0, "default"}, "inner-tol": {1e-3, "default"},
		"rtol": {1e-5, "default"}, "tol": {nil, "default"}, "max-passes": {10000.0, "default"}, "max-iter": {nil, "default"},
		"eval-every": {5.0, "flag"}, "eval": {[]any{"same=" + data}, "flag"}, "kind": {"npz", "default"},
		"states": {nil, "default"}, "list": {nil, "default"}, "no-edges": {false, "default"}, "threads": {1.0, "flag"},
	})
	if m := config.Options["method"]; m.Value != "bbpl" || !strings.HasPrefix(m.Source, "auto: whole networks") {
		t.Errorf("method %v", m)
	}
	var environment map[string]any
	if err := json.Unmarshal([]byte(readFile(t, dir, "env.json")), &environment); err != nil || len(environment) == 0 {
		t.Errorf("env.json holds %v (%v)", environment, err)
	}
}

// savedOption is an option in config.json.
type savedOption struct {
	Value  any
	Source string
}

func wantOptions(t *testing.T, got, want map[string]savedOption) {
	t.Helper()
	for name, w := range want {
		if g, ok := got[name]; !ok || !reflect.DeepEqual(g, w) {
			t.Errorf("option %s is %v, want %v", name, g, w)
		}
	}
}

func checkSources(t *testing.T, dir, data string) {
	var record struct{ Files []dataset.Source }
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, dir, "data.json")), &record))
	seen := map[string]bool{}
	for _, s := range record.Files {
		text := readFile(t, s.Path)
		sum := sha256.Sum256([]byte(text))
		if s.SHA256 != hex.EncodeToString(sum[:]) || s.Bytes != int64(len(text)) {
			t.Errorf("%s: sha256 %s, %d bytes do not describe the file", s.Path, s.SHA256, s.Bytes)
		}
		seen[filepath.Base(s.Path)] = true
	}
	for _, name := range []string{"0.npz", "1.npz", "dataset.json"} {
		if !seen[name] {
			t.Errorf("data.json does not name %s", filepath.Join(data, name))
		}
	}
}

// metricLine is a line of metrics.jsonl; pointers tell what is missing or null.
type metricLine struct {
	Iter      int      `json:"iter"`
	Pass      *float64 `json:"pass"`
	WallS     *float64 `json:"wall_s"`
	Block     *int     `json:"block"`
	Objective *float64 `json:"objective"`
	GradNorm  *float64 `json:"grad_norm"`
	Step      *float64 `json:"step"`
	Sweeps    *float64 `json:"bp_sweeps"`
	Residual  *float64 `json:"bp_residual"`
}

// metricsOf reads metrics.jsonl and checks that it has iterations 0 … once each.
func metricsOf(t testing.TB, dir string) []metricLine {
	t.Helper()
	var metrics []metricLine
	for line := range strings.Lines(readFile(t, dir, "metrics.jsonl")) {
		var m metricLine
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: line %q: %v", dir, line, err)
		}
		oracle.MustEqual(t, m.Iter, len(metrics), "%s: iteration of line %d of the metrics", dir, len(metrics)+1)
		metrics = append(metrics, m)
	}
	return metrics
}

func checkMetrics(t *testing.T, dir string, r trainResult) {
	metrics := metricsOf(t, dir)
	oracle.Equal(t, len(metrics), r.Iterations+1, "lines of the iterations and of the start")
	evaluations := 0
	for i, m := range metrics {
		switch {
		case m.Pass == nil || m.WallS == nil || m.Objective == nil || m.GradNorm == nil:
			t.Fatalf("line %d lacks a value", i+1)
		case i > 0 && (m.Step == nil || m.Sweeps == nil || m.Residual == nil):
			t.Fatalf("line %d lacks step, bp_sweeps or bp_residual", i+1)
		case i == 1 && m.Block == nil:
			t.Fatal("the first visit is of no block")
		case i > 0 && (*m.Pass < *metrics[i-1].Pass || *m.WallS < *metrics[i-1].WallS):
			t.Fatalf("line %d goes back in passes or seconds", i+1)
		}
	}
	for line := range strings.Lines(readFile(t, dir, "metrics.jsonl")) {
		if strings.Contains(line, "same.accuracy") {
			evaluations++
		}
	}
	if evaluations < 2 {
		t.Errorf("%d evaluations are in the metrics", evaluations)
	}
}

func checkResult(t *testing.T, dir string, r trainResult) {
	var saved trainResult
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, dir, "result.json")), &saved))
	if saved.Objective != r.Objective || saved.ThetaSHA256 != r.ThetaSHA256 || saved.Status != r.Status || saved.Iterations != r.Iterations {
		t.Errorf("result.json has %+v, --json printed %+v", saved, r)
	}
	if parts := saved.TrainingSeconds + saved.EvaluationSeconds; !(saved.TrainingSeconds > 0) ||
		!(saved.EvaluationSeconds > 0) ||
		parts > saved.TotalSeconds || saved.TrainingSeconds > saved.Seconds {
		t.Errorf("seconds %v: training %v, evaluation %v, in all %v",
			saved.Seconds, saved.TrainingSeconds, saved.EvaluationSeconds, saved.TotalSeconds)
	}
	if !strings.Contains(r.Reason, "≤") || r.PeakBytes <= 0 {
		t.Errorf("reason %q does not quote the inequality that fired, or peak memory is %d", r.Reason, r.PeakBytes)
	}
	for _, name := range []string{"accuracy@same", "class_accuracy@same", "f1@same", "iou@same", "roc_auc@same", "average_precision@same", "log_loss@same", "calibration_error@same"} {
		if x, ok := r.Eval[name]; !ok || !(x > 0) {
			t.Errorf("evaluation %s is %v", name, x)
		}
	}
	m, meta, err := crf.Load(filepath.Join(dir, "model.safetensors"))
	oracle.OK(t, err)
	hash, square := sha256.New(), 0.0
	for _, w := range m.Weights {
		square += w * w
		_ = binary.Write(hash, binary.LittleEndian, w) // a hash does not fail
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != r.ThetaSHA256 || !closeTo(math.Sqrt(square), r.ThetaNorm, 1e-12) {
		t.Errorf("theta_sha256 and theta_norm do not describe the weights: %s, %v", got, math.Sqrt(square))
	}
	if meta["counting"] != "trw" || !strings.Contains(meta["training"], `"l2":0.5`) {
		t.Errorf("metadata are %q", meta)
	}
}

// checkFigures checks that figures are there as readable svg, and no others.
func checkFigures(t *testing.T, dir string, names ...string) {
	t.Helper()
	var want []string
	for _, name := range names {
		want = append(want, name+".svg")
		checkXML(t, filepath.Join(dir, "plots", name+".svg"))
	}
	slices.Sort(want)
	oracle.Equal(t, namesIn(filepath.Join(dir, "plots")), want, "plots holds")
}

func checkXML(t *testing.T, path string) {
	t.Helper()
	text := readFile(t, path)
	if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil || !strings.HasSuffix(text, "</svg>\n") {
		t.Errorf("%s: %v", path, err)
	}
}

// loads matches what would make a browser fetch something.
var loads = regexp.MustCompile(`(?i)(src|href|xlink:href|action|poster|data)\s*=\s*["']?\s*(https?:)?//|url\(\s*["']?\s*(https?:)?//|@import|<script[^>]+src|<link`)

// checkReport checks that a report says what it should and loads nothing.
func checkReport(t *testing.T, path string, parts ...string) {
	t.Helper()
	page := readFile(t, path)
	oracle.Contains(t, page, parts...)
	oracle.Equal(t, loads.FindString(page), "", "what %s loads from elsewhere", path)
}

// rawArray returns the header and the data of an array in an npz file.
func rawArray(t testing.TB, path, name string) (*numpy.Header, []byte) {
	t.Helper()
	archive := oracle.Must(zip.OpenReader(path))(t)
	defer archive.Close()
	h, raw, err := numpy.Open(oracle.Must(fs.ReadFile(archive, name+".npy"))(t))
	oracle.OK(t, err)
	return h, raw
}

// npyOf reads one array of int32 or float64 from a .npz.
func npyOf(t testing.TB, path, name string) (shape []int, values []float64) {
	t.Helper()
	h, raw := rawArray(t, path, name)
	if h.Floating() {
		return h.Shape, h.Floats(raw).Double
	}
	for _, i := range oracle.Must(h.Integers(raw))(t).Ints {
		values = append(values, float64(i))
	}
	return h.Shape, values
}

// predictedLabels reads a prediction and checks it: beliefs are distributions, and labels their largest.
func predictedLabels(t testing.TB, path string, nodes, states int) []int32 {
	t.Helper()
	shape, belief := npyOf(t, path, "beliefs")
	oracle.MustEqual(t, shape, []int{nodes, states}, "%s: shape of beliefs", path)
	shape, values := npyOf(t, path, "labels")
	oracle.MustEqual(t, shape, []int{nodes}, "%s: shape of labels", path)
	labels := make([]int32, nodes)
	for s := range labels {
		row := belief[s*states:][:states]
		labels[s] = int32(values[s])
		if math.Abs(numeric.Sum(row)-1) > 1e-9 || row[labels[s]] != slices.Max(row) || slices.Min(row) < 0 {
			t.Fatalf("%s: node %d has label %d and beliefs %v", path, s, labels[s], row)
		}
	}
	return labels
}

// TestPredictAndEval predicts, and compares the accuracy that eval prints with the predictions themselves.
func TestPredictAndEval(t *testing.T) {
	t.Parallel()
	data, model, folder := gridData(t), gridRun(t), t.TempDir()
	out := filepath.Join(folder, "predicted")
	var predicted struct {
		Unsettled int `json:"not_converged"`
		Instances []struct {
			Name, File string
			Nodes      int
			Converged  bool
			Sweeps     int
			Left       float64 `json:"belief_change"`
		}
	}
	mustRun(t, "predict", data, "-m", model, "-o", out, "--threads", "1", "--tol", "1e-9", "--json").json(t, &predicted)
	if len(predicted.Instances) != 2 || predicted.Unsettled != 0 {
		t.Fatalf("predict printed %+v", predicted)
	}
	set := oracle.Must(dataset.Open(t.Context(), []string{data}, dataset.Options{}))(t)
	right, loss := 0, 0.0
	for i, in := range predicted.Instances {
		if !in.Converged || in.Nodes != 36 || in.Sweeps < 1 || in.Left > 1e-9 {
			t.Errorf("instance %d: %+v", i, in)
		}
		labels := predictedLabels(t, in.File, 36, 3)
		_, belief := npyOf(t, in.File, "beliefs")
		for _, sample := range set.Instances[i].Samples() {
			for s, y := range sample {
				loss -= math.Log(belief[s*3+int(y)])
				if y == labels[s] {
					right++
				}
			}
		}
	}
	oracle.Equal(t, namesIn(out), []string{"0.npz", "1.npz", "predict.json"}, "predict made")

	compared := filepath.Join(folder, "compared")
	results := evaluate(t, data, "-m", filepath.Join(model, "model.safetensors"), "-m", filepath.Join(data, "truth.safetensors"), "-o", compared, "--threads", "1")
	oracle.MustEqual(t, len(results), 2, "models that eval printed")
	// Every one of the three samples of an instance counts.
	const compares = 3 * 72
	if want := float64(right) / compares; !closeTo(results[0].Accuracy, want, 1e-12) || results[0].Nodes != compares {
		t.Errorf("accuracy is %v of %d nodes, want %v of %d", results[0].Accuracy, results[0].Nodes, want, compares)
	}
	if want := loss / compares; !closeTo(results[0].LogLoss, want, 1e-4) {
		t.Errorf("log loss is %v, want %v", results[0].LogLoss, want)
	}
	for _, r := range results {
		r.check(t)
	}
	oracle.Equal(t, namesIn(compared), []string{"eval.json", "plots", "report.html"}, "eval made")
	checkReport(t, filepath.Join(compared, "report.html"), "Evaluation", "truth")
	table := mustRun(t, "eval", data, "-m", model, "-m", filepath.Join(data, "truth.safetensors"), "--threads", "1").stdout
	oracle.Contains(t, table, "accuracy", "class, by truth", "an upper bound", "grid-run", "truth")

	// Held labels stay.
	held := filepath.Join(folder, "held")
	mustRun(t, "predict", data, "-m", model, "-o", held, "--clamp", "--threads", "1")
	for k, want := range set.Instances[1].Samples() {
		name := "1-" + strconv.Itoa(k) + ".npz"
		oracle.Equal(t, predictedLabels(t, filepath.Join(held, name), 36, 3), want,
			"labels that predict --clamp holds, of %s", name)
	}

	// Labels of one joint state.
	joint := filepath.Join(folder, "joint")
	mustRun(t, "predict", data, "-m", model, "-o", joint, "--decode", "map", "--threads", "2")
	var said struct {
		Instances []struct {
			MAP struct{ Energy, Gap *float64 }
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, joint, "predict.json")), &said); err != nil || len(said.Instances) != 2 {
		t.Fatalf("%v: %+v", err, said)
	}
	if energy := said.Instances[1].MAP.Energy; energy == nil { // which package infer holds against the labels
		t.Error("predict.json says no energy")
	}
	right = 0
	for i, in := range set.Instances {
		_, labels := npyOf(t, filepath.Join(joint, strconv.Itoa(i)+".npz"), "labels")
		for _, truth := range in.Samples() {
			for s, y := range truth {
				if int32(labels[s]) == y {
					right++
				}
			}
		}
	}
	var byMAP struct{ Models []evaluated }
	mustRun(t, "eval", data, "-m", model, "--decode", "map", "--threads", "1", "--json").json(t, &byMAP)
	if want := float64(right) / compares; !closeTo(byMAP.Models[0].Accuracy, want, 1e-12) || byMAP.Models[0].Accuracy == results[0].Accuracy || byMAP.Models[0].LogLoss != results[0].LogLoss {
		t.Errorf("eval --decode map: %+v, want accuracy %v, other than %v", byMAP.Models[0], want, results[0])
	}
}

// evaluated is one model in the result of eval.
type evaluated struct {
	Model         string
	Nodes         int
	Accuracy      float64
	ClassAccuracy float64 `json:"class_accuracy"`
	IoU           float64
	LogLoss       float64 `json:"log_loss"`
	F1            float64
	ECE           float64  `json:"calibration_error"`
	NegativeLog   *float64 `json:"negative_log_likelihood"`
	Bound         *string  `json:"negative_log_likelihood_bound"`
	AUC           *float64 `json:"roc_auc"`
	AP            *float64 `json:"average_precision"`
	MeanCost      *float64 `json:"mean_cost"`
	Classes       []struct {
		Name                  string
		Nodes                 int
		Precision, Recall, F1 *float64
		AUC                   *float64 `json:"roc_auc"`
		AP                    *float64 `json:"average_precision"`
	}
	Confusion   [][]int
	Calibration []struct {
		Nodes      int
		Accuracy   float64
		Confidence float64 `json:"mean_confidence"`
	}
}

func evaluate(t testing.TB, args ...string) []evaluated {
	t.Helper()
	var result struct{ Models []evaluated }
	mustRun(t, slices.Concat([]string{"eval"}, args, []string{"--json"})...).json(t, &result)
	return result.Models
}

// check derives the figures from the confusion matrix.
func (e evaluated) check(t testing.TB) {
	t.Helper()
	total, right, recall, iou, f1 := 0, 0, 0.0, 0.0, 0.0
	for c, row := range e.Confusion {
		truth, predicted := 0, 0
		for k := range row {
			truth += row[k]
			predicted += e.Confusion[k][c]
		}
		total += truth
		right += row[c]
		if truth > 0 {
			recall += float64(row[c]) / float64(truth) / float64(len(e.Confusion))
		}
		iou += float64(row[c]) / float64(truth+predicted-row[c]) / float64(len(e.Confusion))
		f1 += 2 * float64(row[c]) / float64(truth+predicted) / float64(len(e.Confusion))
		oracle.Equal(t, e.Classes[c].Nodes, truth, "%s: nodes of class %d, by the confusion matrix", e.Model, c)
	}
	nodes, ece := 0, 0.0
	for _, bin := range e.Calibration {
		nodes += bin.Nodes
		ece += float64(bin.Nodes) / float64(total) * math.Abs(bin.Accuracy-bin.Confidence)
	}
	if nodes != total || !closeTo(e.ECE, ece, 1e-9) || !closeTo(e.F1, f1, 1e-12) {
		t.Errorf("%s: %d nodes, calibration error %v, F1 %v; want %d, %v, %v", e.Model, nodes, e.ECE, e.F1, total, ece, f1)
	}
	if total != e.Nodes || !closeTo(e.Accuracy, float64(right)/float64(total), 1e-12) || !closeTo(e.ClassAccuracy, recall, 1e-12) || !closeTo(e.IoU, iou, 1e-12) {
		t.Errorf("%s: %+v does not follow from its confusion matrix", e.Model, e)
	}
	if !(e.LogLoss > 0) || len(e.Classes) != len(e.Confusion) {
		t.Errorf("%s: log loss %v, %d classes", e.Model, e.LogLoss, len(e.Classes))
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	data, dir := gridData(t), gridRun(t)
	var result trainResult
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, dir, "result.json")), &result))
	object := mustRun(t, "info", dir, "--weights", "3", "--json").object(t, "model", "training", "recipe")
	wantFields(t, "info of a run", object, map[string]any{
		"weights": float64(3*2 + 9*2), "counting": "convex", "seed": 1.0,
		"norm_of_weights": result.ThetaNorm, "sha256_of_weights": result.ThetaSHA256,
		"node_types": []any{map[string]any{"name": "node", "states": []any{"0", "1", "2"}, "features": 2.0}},
		"edge_types": []any{map[string]any{"name": "edge", "u": 0.0, "v": 0.0, "features": 2.0}},
	})
	if training, ok := object["training"].(map[string]any); !ok || training["l2"] != 0.5 || training["status"] != "converged" {
		t.Errorf("info of a run: training is %v", object["training"])
	}
	if largest, ok := object["largest_weights"].([]any); !ok || len(largest) != 3 {
		t.Errorf("info of a run: largest weights are %v, want 3", object["largest_weights"])
	}
	object = mustRun(t, "info", data, "--json").object(t)
	wantFields(t, "info of data", object, map[string]any{
		"kind": "npz", "instances": 2.0, "nodes": 72.0, "edges": 120.0, "samples": 6.0, "unobserved_labels": 0.0, "distinct_graphs": 1.0,
	})
	text := mustRun(t, "info", filepath.Join(dir, "model.safetensors"), "--weights", "3").stdout
	if strings.Count(text, "edge.edge[")+strings.Count(text, "node.node[") != 3 || !strings.Contains(text, "training: method") {
		t.Errorf("info --weights 3 printed\n%s", text)
	}
	network := writeFile(t, filepath.Join(t.TempDir(), "n.uai"), loopUAI)
	object = mustRun(t, "info", network, "--json").object(t)
	wantFields(t, "info of a network", object, map[string]any{
		"variables": 3.0, "most_states": 3.0, "factors": 5.0, "largest_arity": 2.0, "edges": 3.0, "is_a_forest": false, "induced_width": 2.0,
		"exact_inference_bytes_is_lower_bound": false,
	})
	if bytes, ok := object["exact_inference_bytes"].(float64); !ok || bytes <= 0 {
		t.Errorf("info of a network: memory is %v", object["exact_inference_bytes"])
	}
	truth := mustRun(t, "info", filepath.Join(data, "truth.safetensors"), "--json").object(t)
	if recipe, ok := truth["recipe"].(map[string]any); !ok || recipe["kind"] != "npz" {
		t.Errorf("info of a true model: %v", truth)
	}
}

func wantFields(t *testing.T, what string, got, want map[string]any) {
	t.Helper()
	for key, w := range want {
		oracle.Equal(t, got[key], w, "%s: %s", what, key)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	var checked struct {
		OK       bool
		Problems []string
	}
	mustRun(t, "check", data, filepath.Join(gridRun(t), "model.safetensors"), "--json").json(t, &checked)
	if !checked.OK || len(checked.Problems) != 0 {
		t.Errorf("check: %+v", checked)
	}
	mustRun(t, "check", data, "-m", gridRun(t))

	dir := copyFolder(t, gridRun(t), filepath.Join(folder, "run"))
	var ended struct{ Suboptimality float64 }
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, dir, "result.json")), &ended))
	var about struct {
		Training struct{ Suboptimality float64 }
	}
	if mustRun(t, "info", dir, "--json").json(t, &about); about.Training.Suboptimality != ended.Suboptimality || ended.Suboptimality == 0 {
		t.Errorf("the model has the suboptimality %v, the result %v", about.Training.Suboptimality, ended.Suboptimality)
	}
}

// TestDemo: what package synthetic finds is printed, and in the report.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	result := mustRun(t, "demo", "--side", "6", "-o", dir, "--json").object(t, "methods", "optimum", "report")
	checkReport(t, result["report"].(string), "BBPL", "inner-dual", "full BP")
	checkFigures(t, dir, "distance-passes", "distance-seconds")
}
