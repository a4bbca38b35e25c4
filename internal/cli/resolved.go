package cli

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/job"
)

// record puts into the configuration of a run folder what data were read and how, with absolute paths, so that the
// run can be resumed from any folder. The other options are resolved by the job.
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
		"config": f.config} {
		if path != "" {
			put(name, absolute(path))
		}
	}
	folder.NoCheckpoint, folder.NoReport, folder.NoPlots = !f.checkpoint, !f.report, !f.plots
	recipe := &task.Set.Recipe
	if f.data.List != "" {
		put("list", absolute(dataset.ListPath(data[0], f.data.List)))
	}
	sets, wrong := f.recordSets(task.Set, data[0], absolute)
	if wrong != nil {
		return wrong
	}
	put("eval", textsOrNil(sets))
	put("kind", recipe.Kind)
	put("untied", recipe.Untied)
	if types := task.Set.Schema.NodeTypes; statesAlike(types) {
		put("states", types[0].States)
	}
	put("neighbours", nil)
	for _, name := range []string{"superpixels", "edge-features", "offsets", "bins"} {
		put(name, nil)
	}
	switch recipe.Kind {
	case dataset.KindImages:
		if put("features", nil); !recipe.Colours {
			put("features", absolute(dataset.FeatureFolder(data[0], f.data.FeatureDir)))
		}
		if f.data.Superpixels != "" {
			put("superpixels", absolute(dataset.ListPath(data[0], f.data.Superpixels)))
		}
		put("no-bias", !recipe.Bias)
		f.recordPixels(recipe, put)
	case dataset.KindGraph, dataset.KindText:
		put("no-bias", !recipe.Bias)
		put("hops", recipe.Hops)
	}
	return err
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

// recordPixels puts which pixels are neighbours, and the features of their edges.
func (f *trainFlags) recordPixels(recipe *dataset.Recipe, put func(name string, value any)) {
	if recipe.Superpixels != nil {
		return
	}
	put("neighbours", recipe.Neighbours)
	if recipe.Edges == nil {
		put("edge-features", dataset.EdgesBins)
		put("bins", f.askedBins(recipe))
		return
	}
	put("edge-features", dataset.EdgesContrast)
	put("offsets", recipe.Edges.Offsets)
}

// askedBins returns the number of bins asked for, which can be more than there are
// where distances are equal; those of a model are as they are.
func (f *trainFlags) askedBins(recipe *dataset.Recipe) int {
	switch asked := f.data.Bins; {
	case f.init != "":
		return recipe.Bins
	case asked > 0:
		return asked
	}
	return dataset.DefaultBins
}

// statesAlike reports whether all node types have the same states.
func statesAlike(types []crf.NodeType) bool {
	for _, t := range types {
		if !slices.Equal(t.States, types[0].States) {
			return false
		}
	}
	return len(types) > 0
}
