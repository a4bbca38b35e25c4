package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/job"
)

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
	for _, path := range data {
		config.Data = append(config.Data, absolute(path))
	}
	if config.Folder, err = os.Getwd(); err != nil {
		return err
	}
	put := func(name string, value any) {
		config.Options[name] = job.Option{Value: value, Source: config.Options[name].Source}
	}
	for name, path := range map[string]string{copyOption: f.copy, "init": f.init, "reference": f.reference,
		"config": f.config, "statistics": f.statistics} {
		if path != "" {
			put(name, absolute(path))
		}
	}
	for name, path := range map[string]string{"list": f.data.List, "features": f.data.FeatureDir,
		"superpixels": f.data.Superpixels} {
		if path != "" {
			put(name, absolute(dataset.ListPath(data[0], path)))
		}
	}
	folder.NoCheckpoint, folder.NoReport, folder.NoPlots = !f.checkpoint, !f.report, !f.plots
	put("kind", task.Set.Recipe.Kind)
	sets, wrong := f.recordSets(task.Set, data[0], absolute)
	put("eval", textsOrNil(sets))
	return errors.Join(err, wrong)
}

// recordSets returns what --eval names, with absolute paths.
func (f *trainFlags) recordSets(set *dataset.Set, data string, absolute func(string) string) ([]string, error) {
	var sets []string
	for _, spec := range f.eval {
		name, path, err := job.ParseEvaluation(spec)
		if err != nil {
			return nil, err
		}
		switch kind := set.Recipe.Kind; {
		case kind == dataset.KindImages:
			path = absolute(dataset.ListPath(data, path))
		case kind != dataset.KindGraph || job.UnknownSplit(set, path) != "": // no name of a split
			path = absolute(path)
		}
		sets = append(sets, name+"="+path)
	}
	return sets, nil
}
