package job

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Files of a run folder.
const (
	configFile    = "config.json"
	envFile       = "env.json"
	dataFile      = "data.json"
	choiceFile    = "choice.json"
	ResultFile    = "result.json"
	ModelFile     = "model.safetensors"
	ErrorsFile    = "errors.safetensors" // laid out like the model
	CouplingsFile = "couplings.tsv"
	proofFile     = "proof.safetensors" // with Options.WriteProof

	checkpointFile = "checkpoint/state.safetensors"
)

// Folder is where a training leaves its files.
type Folder struct {
	Dir    string // "": the first of run-DATE-TIME that is free
	Config Config
	// Resume goes on from the checkpoint in Dir, which must be a run with the same
	// data and the same options as far as they decide the course of it.
	Resume bool
	// Anew removes the training that Dir has, and nothing else, before this one starts.
	Anew         bool
	NoCheckpoint bool   // nothing to resume the training from, which takes time and room
	NoReport     bool   // no plots and no report.html
	NoPlots      bool   // no plots beside report.html
	Version      string // of the program, for the report

	files *runfolder.Run // nil until Open
	over  bool           // Dir has a training that Anew removes
}

// Open makes the folder, or opens the one to resume, and keeps other processes out of it until Close: before any data
// are read, if the caller has to read some. A second call does nothing.
func (f *Folder) Open() (err error) {
	switch {
	case f.files != nil:
		return nil
	case f.Resume:
		f.files, err = runfolder.Open(f.Dir)
	case f.Dir != "":
		var taken *runfolder.NotEmptyError
		if f.files, err = runfolder.Create(f.Dir); f.Anew && errors.As(err, &taken) {
			f.files, err = runfolder.Open(f.Dir)
			f.over = true
		}
	default:
		f.files, err = runfolder.CreateFree(time.Now().Format("run-20060102-150405"))
	}
	return err
}

// Close lets other processes into the folder, and removes it if nothing was written.
func (f *Folder) Close() error {
	if f.files == nil {
		return nil
	}
	return f.files.Close()
}

// Config is what config.json holds: what a run was asked for, and what it uses.
type Config struct {
	Command string            `json:"command"`
	Data    []string          `json:"data"` // absolute paths; none of data in memory
	Folder  string            `json:"folder"`
	Options map[string]Option `json:"options"`
}

// Option is the value of one option of the command line: a number, a truth value, a
// text or a list of texts, and null for what is off or was left out.
type Option struct {
	Value  any    `json:"value"`
	Source string `json:"source"` // where the value came from
}

// trainCommand is what all these configurations are of.
const trainCommand = "train"

// SourceDefault is the source of what was left to the program.
const SourceDefault = "default"

// LearningOptions decide how a run learns; a resumed one must keep them.
var LearningOptions = []string{"method", "step", "order", "blocks", "partition", "together", "prior", "l2",
	"standardise", "scale", "counting", "loss", "epsilon", "inner-sweeps", "inner-tol", "seed", "no-edges", "edges",
	"class-weights"}

// keptOptions are all that a resumed run must keep: these too say what data and model are.
var keptOptions = slices.Concat(LearningOptions, []string{"init", "kind", "states", "untied", "features",
	"list", "edge-features", "bins", "neighbours", "superpixels", "observed", "hops",
	"no-bias", "sample-weights", "lattice", "statistics", "select-edges", "eval"})

// IsRunFolder reports whether a path is the folder of a training.
func IsRunFolder(path string) bool {
	_, err := os.Stat(filepath.Join(path, configFile))
	return err == nil
}

// ReadConfig reads the configuration of the training in a folder.
func ReadConfig(dir string) (*Config, error) {
	path := filepath.Join(dir, configFile)
	var config Config
	found, err := readRecord(path, &config)
	switch _, statErr := os.Stat(dir); {
	case err != nil:
		return nil, err
	case !found && statErr == nil:
		return nil, dataf("%s has no %s: it is no run folder", dir, configFile)
	case !found:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case config.Command != trainCommand:
		return nil, dataf("%s: not the configuration of a training run", path)
	}
	return &config, nil
}

// run is a training under way, in a folder or in none.
type run struct {
	p     *Prepared
	watch Watch
	began time.Time

	before time.Duration // the training began, reading and choosing
	took   times

	folder  *Folder                  // nil: memory alone, and then the rest is not used
	files   *runfolder.Run           // the folder
	metrics *runfolder.MetricsWriter // nil until the run changes its folder
	last    int                      // iteration of the checkpoint to resume, −1 without one
	weights []float64                // scratch, where there is a reference to compare with

	checkpointed bool // there is a checkpoint
	hurried      bool // there was no time to train a model to compare with
}

// openRun writes what is known before training into a new folder, or reads what the run to resume has come to.
func openRun(folder *Folder, p *Prepared, watch Watch) (*run, error) {
	r := &run{p: p, watch: watch, began: p.Began}
	if p.Reference != nil {
		r.weights = make([]float64, p.Problem.Model.Layout.Size)
	}
	if folder == nil {
		return r, nil
	}
	own := *folder
	r.folder, r.files = &own, folder.files
	r.folder.Config.Command, r.folder.Config.Options = trainCommand, p.resolved(folder.Config.Options)
	if own.Resume { // with the method that was chosen at its start
		p.Choice = cmp.Or(p.Choice, r.folder.Config.Options["method"].choiceOf())
		return r, r.reopen()
	}
	if own.over {
		if err := errors.Join(removeRun(r.files.Dir()), r.files.RemoveLeftovers()); err != nil {
			return nil, err
		}
	}
	if err := r.writeConfig(); err != nil {
		return nil, err
	}
	if err := r.files.WriteJSON(dataFile, dataRecord{r.sources(), len(p.Set.Sources)}); err != nil {
		return nil, err
	}
	if err := r.files.WriteJSON(envFile, runfolder.Environment()); err != nil {
		return nil, err
	}
	var err error
	r.metrics, err = r.files.Metrics(-1)
	return r, err
}

// reopen opens the run to resume and reads the state to go on from.
func (r *run) reopen() (err error) {
	before, err := ReadConfig(r.files.Dir())
	if err != nil {
		return err
	}
	if err := r.folder.Config.goesOnFrom(before, r.files.Dir()); err != nil {
		return err
	}
	if err := r.sameData(); err != nil {
		return err
	}
	// Whatever is wrong with this record, the run can go on without.
	var was map[string]any
	now := runfolder.Environment()["kernels"]
	_, _ = readRecord(r.files.Path(envFile), &was)
	if then := was["kernels"]; then != nil && then != now {
		r.watch.note("the run in %s began with the vector kernels %q and goes on with %q, which round differently: its "+
			"weights will differ in their last digits from those of a run that never stopped", r.files.Dir(), then, now)
	}
	state, err := learn.ReadState(r.files.Path(checkpointFile))
	switch {
	case err == nil:
		r.p.Settings.Resume, r.last, r.checkpointed = state, state.Iteration, true
	case errors.Is(err, fs.ErrNotExist):
		metrics, err := runfolder.ReadMetrics(r.files.Path(runfolder.MetricsFile))
		if slices.ContainsFunc(metrics, func(m runfolder.Metric) bool { return m.Iter > 0 }) {
			return dataf("%s is missing, although %s tells of iterations: {max-time} left no time to save it, or it was lost; "+
				"bring it back, or start a new run in another folder, to which {init} gives the model of this one",
				r.files.Path(checkpointFile), runfolder.MetricsFile)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.watch.note("%s has no checkpoint yet; the run starts from the beginning", r.files.Dir())
		r.last = -1
	case errors.As(err, new(*fs.PathError)):
		return fmt.Errorf("%w; bring back the checkpoint, a file, or start a new run in another folder", err)
	default:
		return DataError(r.files.Path(checkpointFile), err)
	}
	return nil
}

// begin is called when the learner has accepted the state to go on from: only now the folder of a resumed run changes.
func (r *run) begin() (err error) {
	if r.metrics != nil {
		return nil
	}
	if err := r.files.RemoveLeftovers(); err != nil {
		return err
	}
	if err := r.writeConfig(); err != nil {
		return err
	}
	if r.metrics, err = r.files.Metrics(r.last); err == nil && r.metrics.Lost > 0 {
		r.watch.note("%s: %d lines were damaged, or of an iteration that was there already, and are left out",
			r.files.Path(runfolder.MetricsFile), r.metrics.Lost)
	}
	return err
}

// writeConfig writes what a resumed run takes its data and options from.
func (r *run) writeConfig() error {
	out, err := filepath.Abs(r.files.Dir())
	if err != nil {
		return err
	}
	put(r.folder.Config.Options, "out", out)
	if r.folder.Resume {
		put(r.folder.Config.Options, "resume", out)
	}
	return r.files.WriteJSON(configFile, r.folder.Config)
}

func (r *run) sources() []dataset.Source {
	all := r.p.Set.Sources
	for _, e := range r.p.Evaluations {
		all = append(all[:len(all):len(all)], e.Set.Sources...)
	}
	return all
}

// sameData refuses to resume on data that changed since the run began.
func (r *run) sameData() error {
	dir := r.files.Dir()
	var record dataRecord
	if found, err := readRecord(r.files.Path(dataFile), &record); err != nil {
		return err
	} else if !found {
		return dataf("%s is missing, which tells the data of the run: bring it back, or start a new run",
			r.files.Path(dataFile))
	}
	const remedy = "resume with the same data, or start a new run"
	lacks := func(list []dataset.Source, s dataset.Source) bool {
		return !slices.ContainsFunc(list, func(t dataset.Source) bool { return t.SHA256 == s.SHA256 })
	}
	before, now := record.Files, r.sources()
	for _, s := range now {
		if lacks(before, s) {
			return dataf("%s is not as it was when the run in %s began, or was not there: %s", s.Path, dir, remedy)
		}
	}
	for _, s := range before {
		if lacks(now, s) {
			return dataf("%s was part of the run in %s and is missing now: %s", s.Path, dir, remedy)
		}
	}
	if !slices.EqualFunc(before, now, func(a, b dataset.Source) bool { return a.SHA256 == b.SHA256 }) {
		return dataf("the files of the run in %s are the same in another order: %s", dir, remedy)
	}
	return nil
}

// goesOnFrom refuses to go on with a run under other options than it began with: it could not end as one that never
// stopped. The file that options once came from is kept on the record.
func (c Config) goesOnFrom(before *Config, dir string) error {
	given := func(name string) bool { return c.Options[name].Source != SourceDefault }
	differs := func(name string) bool {
		was, ok := before.Options[name]
		return ok && jsonText(was.Value) != jsonText(c.Options[name].Value)
	}
	// What was asked for is the cause, and a default may follow from it.
	at := slices.IndexFunc(keptOptions, func(name string) bool { return differs(name) && given(name) })
	if at < 0 {
		at = slices.IndexFunc(keptOptions, differs)
	}
	if at >= 0 {
		name, note := keptOptions[at], ""
		was, is := before.Options[name], c.Options[name]
		if !given(name) {
			note = map[bool]string{true: ", as these data are", false: " (the default)"}[name == "kind"]
		}
		return usagef("%s%s: the run in %s began with %s, and a resumed run keeps it; go on with its data and options, or "+
			"start a new run", optionText(name, is.Value), note, dir, optionText(name, was.Value))
	}
	return c.sameMetric(before.Options["early-stop"], dir)
}

// sameMetric refuses to wait for another metric than before: the best value so far is of the old one.
func (c Config) sameMetric(was Option, dir string) error {
	before, _ := was.Value.(string)
	now, _ := c.Options["early-stop"].Value.(string)
	metric := func(spec string) string { name, _, _ := strings.Cut(spec, ":"); return name }
	if before == "" || now == "" || metric(before) == metric(now) {
		return nil
	}
	return usagef("{early-stop} %s: the run in %s began with {early-stop} %s; a resumed run may change the patience, "+
		"not the metric", now, dir, before)
}

// optionText writes an option as on a command line.
func optionText(name string, value any) option.Text {
	switch value := value.(type) {
	case nil:
		return option.Text("no {" + name + "}")
	case bool:
		return option.Text(fmt.Sprintf("{%s!--%[1]s=%v}", name, value))
	case string:
		return option.Text("{" + name + "} " + option.Literal(value))
	}
	return option.Text("{" + name + "} " + option.Literal(strings.Trim(fmt.Sprint(value), "[]")))
}

// Resumes is what goes on with the training in a folder, of which a shell reads the name whatever is in it.
func Resumes(dir string) option.Text {
	return option.Text(fmt.Sprintf("{resume!blockbp train %s --resume}", option.Literal(printable.Word(dir))))
}

// jsonText is v as JSON; v must be such that it always has one.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("job: " + err.Error())
	}
	return string(text)
}

// records are the files of a training that programs read.
var records = []string{
	envFile, dataFile, choiceFile, ResultFile, ModelFile, checkpointFile, CouplingsFile, ErrorsFile, proofFile,
	runfolder.MetricsFile,
	configFile, // the last, as by it a folder is known
}

// runFiles are all that a training leaves in its folder, as patterns of path.Match.
var runFiles = append([]string{report.ReportFile, runfolder.PlotFolder + "/*.svg", runfolder.PlotFolder + "/*.png"},
	records...)

// IsRunFile reports whether a training leaves a file of this name, with slashes, in its folder.
func IsRunFile(name string) bool {
	return slices.ContainsFunc(runFiles, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// RecordsOf are the files of the training in a folder, as far as they are there, that programs read.
func RecordsOf(dir string) []string {
	return numeric.Map(records, func(name string) string { return filepath.Join(dir, name) })
}

// removeRun removes what a training has left in a folder, for another to start in it anew.
func removeRun(dir string) error {
	if _, err := ReadConfig(dir); err != nil {
		return usagef("%q is not the folder of a training, so it cannot be started anew: choose another, or remove it", dir)
	}
	for _, pattern := range runFiles {
		if in := path.Dir(pattern); in != "." {
			if info, err := os.Lstat(filepath.Join(dir, in)); err != nil || !info.IsDir() {
				continue // what is behind a link is somebody's own
			}
		}
		files, err := fs.Glob(os.DirFS(dir), pattern)
		for _, file := range files {
			err = errors.Join(err, os.Remove(filepath.Join(dir, file)))
			if in := path.Dir(file); in != "." {
				_ = os.Remove(filepath.Join(dir, in)) // which fails unless it is empty now
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dataRecord is what data.json holds: the files that a run was given.
type dataRecord struct {
	Files []dataset.Source `json:"files"`
	// Learned is how many of the first files are learned from; the others are of evaluation sets. 0: not known.
	Learned int `json:"learned,omitempty"`
}

// readRecord reads a JSON file of a run folder into v, if there is one. What is in it decides what a resumed run does,
// so that a field without meaning is refused.
func readRecord(path string, v any) (found bool, err error) {
	text, err := fileio.Read(path, "a record of a run", fileio.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	err = fileio.JSON(text, v)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, dataf("%s: it is empty or was cut short; bring it back from a copy, or start a new run", path)
	} else if err != nil {
		return false, dataf("%s: %v; the run cannot be resumed, start a new one", path, err)
	}
	return true, nil
}
