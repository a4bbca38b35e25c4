package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
)

// folder says where the training is to leave its files and what data it is to learn
// from. Where a run is to go on, what the command line leaves open, options and data, is as in
// the run, however that is named; recalled are the sources of the options.
func (f *trainFlags) folder(cmd *cobra.Command, args []string) (folder *job.Folder, data []string,
	recalled map[string]string, err error) {
	folder = &job.Folder{Dir: f.out, Resume: f.resume, Version: version()}
	if !folder.Resume {
		return folder, args, nil, nil
	}
	if folder.Dir, data, err = f.resumed(args); err != nil {
		return nil, nil, nil, err
	}
	before, recalled, err := recallOptions(cmd, folder.Dir)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case len(data)+len(before) == 0:
		return nil, nil, nil, dataf("%s: it names no data to go on with", filepath.Join(folder.Dir, "config.json"))
	case len(data) == 0:
		data = before
	}
	return folder, data, recalled, nil
}

// resumed finds the run that the command line asks to go on with, and the data that it names, if any.
func (f *trainFlags) resumed(args []string) (dir string, data []string, err error) {
	dir = f.out
	for _, arg := range args {
		switch {
		case !job.IsRunFolder(arg):
			data = append(data, arg)
		case dir != "" && filepath.Clean(dir) != filepath.Clean(arg):
			return "", nil, usagef("%s and %s are both run folders: which one is to be resumed?", dir, arg)
		default:
			dir = arg
		}
	}
	switch {
	case dir != "":
		return dir, data, nil
	case len(args) == 0:
		return "", nil, usagef("--resume: name the run folder: blockbp train RUN --resume")
	}
	if _, err := os.Stat(args[0]); err != nil && len(args) == 1 {
		return "", nil, &exitError{codeOf(err), fmt.Errorf("--resume: %s: no such file or directory; want the folder of a "+
			"run to go on with: blockbp train RUN --resume", args[0])}
	}
	return "", nil, usagef("--resume: %s is no run folder (it has no config.json); name the one to go on with: blockbp "+
		"train RUN --resume", args[0])
}

// recallOptions sets every option that the command line leaves open to what the run
// in a folder was started with: what was asked for then, and the defaults that
// decide its course. It returns the run's data and where the options came from.
func recallOptions(cmd *cobra.Command, dir string) (data []string, sources map[string]string, err error) {
	config, err := job.ReadConfig(dir)
	if err != nil {
		return nil, nil, err
	}
	sources = map[string]string{}
	twoWays := []string{"l2", "prior"} // to say one thing, of which the command line may have chosen one
	chosen := slices.ContainsFunc(twoWays, cmd.Flags().Changed)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		o, ok := config.Options[f.Name]
		switch {
		case !ok || f.Changed || o.Value == nil || chosen && slices.Contains(twoWays, f.Name):
			return
		case f.Name == "out" || slices.Contains(ofOneCommand, f.Name):
			return
		case o.Source == job.SourceDefault && !slices.Contains(job.LearningOptions, f.Name):
			return
		}
		if setErr := setOption(f, o.Value); setErr != nil && err == nil {
			err = dataf("%s: option %q is %v", filepath.Join(dir, "config.json"), f.Name, setErr)
		}
		sources[f.Name] = o.Source // a configuration file does not replace it
	})
	return config.Data, sources, err
}

// record puts absolute paths into the configuration of a run folder, so that the run can be resumed from any folder.
// How data are read is as it was asked for, but for their kind; options of the training are resolved by the job.
func (f *trainFlags) record(folder *job.Folder, data []string, task *job.Task) (err error) {
	absolute := func(path string) string {
		text, absErr := filepath.Abs(path)
		if absErr != nil {
			err = absErr
		}
		return text
	}
	config := &folder.Config
	config.Data = numeric.Map(data, absolute)
	if config.Folder, err = os.Getwd(); err != nil {
		return err
	}
	put := func(name string, value any) {
		config.Options[name] = job.Option{Value: value, Source: config.Options[name].Source}
	}
	for name, path := range map[string]string{"init": f.init, "reference": f.reference, "statistics": f.statistics} {
		if path != "" {
			put(name, absolute(path))
		}
	}
	for name, path := range map[string]string{"list": f.data.List, "features": f.data.FeatureDir,
		"labels": f.data.LabelDir, "superpixels": f.data.Superpixels} {
		if there := formats.ListPath(data[0], path); path != "" && (there == path || name == "list") { // else inside of DATA
			put(name, absolute(there))
		}
	}
	folder.NoCheckpoint, folder.NoReport, folder.NoPlots = !f.checkpoint, !f.report, !f.plots
	put("kind", task.Set.Recipe.Kind)
	sets, wrong := f.recordSets(task.Set, data[0], absolute)
	put("eval", textsOrNil(sets))
	return errors.Join(err, wrong)
}

// recordSets returns what --eval names, with absolute paths.
func (f *trainFlags) recordSets(set *dataset.Set, data string, absolute func(string) string) (sets []string, _ error) {
	for _, spec := range f.eval {
		name, path, err := job.ParseEvaluation(spec)
		if err != nil {
			return nil, err
		}
		switch kind := set.Recipe.Kind; {
		case kind == "images":
			path = absolute(formats.ListPath(data, path))
		case kind != "graph" || job.UnknownSplit(set, path) != "": // no name of a split
			path = absolute(path)
		}
		sets = append(sets, name+"="+path)
	}
	return sets, nil
}
