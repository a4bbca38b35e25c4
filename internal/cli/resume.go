package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// findResume sees whether the command line asks to go on with a run, and if it
// names no data takes data and options from that run.
func (t *training) findResume(cmd *cobra.Command) error {
	f := t.flags
	if f.resume == "" {
		return nil
	}
	t.resuming = true
	if f.resume != resumeHere {
		if f.out != "" && filepath.Clean(f.out) != filepath.Clean(f.resume) {
			return usagef("--resume %s and --out %s name different folders", f.resume, f.out)
		}
		f.out = f.resume
	}
	if len(t.args) == 1 && isRunFolder(t.args[0]) {
		if f.out != "" && filepath.Clean(f.out) != filepath.Clean(t.args[0]) {
			return usagef("%s and %s are both run folders: which one is to be resumed?", f.out, t.args[0])
		}
		f.out, t.args = t.args[0], nil
	}
	switch {
	case f.out == "" && len(t.args) == 1 && !exists(t.args[0]):
		_, err := os.Stat(t.args[0])
		return err
	case f.out == "" && len(t.args) > 0:
		return usagef("--resume: %s is no run folder (it has no %s); name the one to go on with: blockbp train RUN --resume", t.args[0], configFile)
	case f.out == "":
		return usagef("--resume: name the run folder: blockbp train RUN --resume")
	}
	if len(t.args) > 0 {
		return nil
	}
	return t.recallOptions(cmd)
}

func isRunFolder(path string) bool {
	_, err := os.Stat(filepath.Join(path, configFile))
	return err == nil
}

// reopenRun opens the run to resume and reads the state to go on from.
func (t *training) reopenRun() (err error) {
	if t.run, err = runfolder.Open(t.flags.out); err != nil {
		return err
	}
	if err := t.sameOptions(); err != nil {
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
		t.app.note("%s has no checkpoint yet; the run starts from the beginning", t.run.Dir())
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readRunConfig reads the configuration of the run in a folder.
func readRunConfig(dir string) (*runConfig, error) {
	path := filepath.Join(dir, configFile)
	text, err := os.ReadFile(path)
	if exists(dir) && errors.Is(err, fs.ErrNotExist) {
		return nil, dataf("%s has no %s: it is no run folder", dir, configFile)
	} else if err != nil {
		return nil, err
	}
	var config runConfig
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // seeds may have more digits than a float64
	if err := decoder.Decode(&config); err != nil {
		return nil, dataf("%s: %v; it cannot be resumed, start a new run", path, err)
	}
	if config.Command != "train" || len(config.Data) == 0 {
		return nil, dataf("%s: not the configuration of a training run", path)
	}
	return &config, nil
}

// recallOptions sets the data, and every option that the command line leaves open,
// to what the run to be resumed was started with: what was asked for then, and
// the defaults that decide its course.
func (t *training) recallOptions(cmd *cobra.Command) error {
	config, err := readRunConfig(t.flags.out)
	if err != nil {
		return err
	}
	t.args = config.Data
	t.recalled = map[string]string{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		o, ok := config.Options[f.Name]
		switch {
		case !ok || f.Changed || o.Value == nil:
			return
		case f.Name == "out" || f.Name == "resume" || f.Name == "config":
			return
		case o.Source == sourceDefault && !slices.Contains(courseOptions, f.Name):
			return
		}
		if setErr := setRecalled(f, o.Value); setErr != nil && err == nil {
			err = dataf("%s: option %q: %v", filepath.Join(t.flags.out, configFile), f.Name, setErr)
		}
		t.recalled[f.Name] = o.Source
		f.Changed = true // a configuration file must not replace it
	})
	return err
}

// courseOptions decide what course a run takes; a resumed one must keep them.
var courseOptions = []string{"method", "step", "order", "blocks", "partition", "together", "precision", "pairs", "l2", "counting", "inner-sweeps", "inner-tol", "seed", "no-edges", "class-weights"}

// keptOptions are all that a resumed run must keep: these too say what data and
// model are.
var keptOptions = slices.Concat(courseOptions, []string{"init", "kind", "states", "untied", "features", "list", "bins", "neighbours", "observed", "no-bias", "eval"})

// sameOptions refuses to go on with a run under other options than it began with:
// it could not end as one that never stopped.
func (t *training) sameOptions() error {
	config, err := readRunConfig(t.run.Dir())
	if err != nil {
		return err
	}
	for _, name := range keptOptions {
		was, ok := config.Options[name]
		is := t.options[name]
		if !ok || jsonText(was.Value) == jsonText(is.Value) {
			continue
		}
		note := ""
		if is.Source == sourceDefault {
			note = " (the default)"
		}
		return usagef("%s%s: the run in %s began with %s, and a resumed run keeps it; give the same value, or start a new run",
			optionText(name, is.Value), note, t.run.Dir(), optionText(name, was.Value))
	}
	if t.flags.config == "" {
		t.options["config"] = config.Options["config"] // whose values were recalled
	}
	return t.sameMetric(config.Options["early-stop"])
}

// sameMetric refuses to wait for another metric than before: the best value so far
// is of the old one.
func (t *training) sameMetric(was option) error {
	before, _ := was.Value.(string)
	now, _ := t.options["early-stop"].Value.(string)
	metric := func(spec string) string { name, _, _ := strings.Cut(spec, ":"); return name }
	if before == "" || now == "" || metric(before) == metric(now) {
		return nil
	}
	return usagef("--early-stop %s: the run in %s began with --early-stop %s; a resumed run may change the patience, not the metric", now, t.run.Dir(), before)
}

// optionText writes an option as on a command line.
func optionText(name string, value any) string {
	switch value := value.(type) {
	case nil:
		return "no --" + name
	case bool:
		return fmt.Sprintf("--%s=%v", name, value)
	case string:
		return "--" + name + " " + value
	case []any, []string:
		return fmt.Sprintf("--%s %s", name, strings.Trim(fmt.Sprint(value), "[]"))
	}
	return "--" + name + " " + jsonText(value)
}
