package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
)

// dataFlags say how data are read.
type dataFlags struct {
	kind, features, list, observed string
	states                         []string
	bins, neighbours               int
	noBias, untied                 bool
}

func (d *dataFlags) register(f *pflag.FlagSet) {
	f.StringVar(&d.kind, "kind", "", "kind of data: npz, images or graph (default: found out from the paths)")
	f.StringVar(&d.features, "features", "", "images: folder with <id>.npy unary features [h,w,d] (default: DATA/features)")
	f.StringVar(&d.list, "list", "", "images: file with one image id per line, a path or a name inside DATA (default: all images)")
	f.StringSliceVar(&d.states, "states", nil, "names of the states, separated by commas")
	f.IntVar(&d.bins, "bins", 0, "images: bins of the distance between neighbouring pixels' features (default 10)")
	f.IntVar(&d.neighbours, "neighbours", 0, "images: 4 or 8 neighbours per pixel (default 4)")
	f.StringVar(&d.observed, "observed", "", "graph tables: keep only the labels of this split, such as train")
	f.BoolVar(&d.noBias, "no-bias", false, "images and graph tables: do not add the constant feature")
	f.BoolVar(&d.untied, "untied", false, "npz: weights of their own for every node and edge (the paper's non-templated MRF)")
	refuseZero(f, "bins", "neighbours")
}

// options returns the reader's options. m is the trained model to read for, or
// nil.
func (d *dataFlags) options(m *loadedModel) dataset.Options {
	o := dataset.Options{
		Kind: d.kind, FeatureDir: d.features, List: d.list, Observed: d.observed,
		States: d.states, Bins: d.bins, Neighbours: d.neighbours, NoBias: d.noBias, Untied: d.untied,
	}
	if m != nil {
		o.Schema, o.Recipe = &m.model.Schema, m.recipe
	}
	return o
}

// optionFlags names the flag of an option of package dataset in messages.
var optionFlags = map[string]string{
	"Kind": "--kind", "FeatureDir": "--features", "List": "--list", "Observed": "--observed", "States": "--states",
	"Bins": "--bins", "Neighbours": "--neighbours", "NoBias": "--no-bias", "Untied": "--untied", "paths": "DATA",
}

// validate refuses a number of states where their names are wanted: it would be
// the name of the only one.
func (d *dataFlags) validate() error {
	if len(d.states) != 1 {
		return nil
	}
	if n, err := strconv.Atoi(d.states[0]); err == nil {
		return usagef("--states %d: want the names of the states, separated by commas, such as --states %s", n, strings.Join(crf.NumberedStates(min(max(n, 2), 4)), ","))
	}
	return nil
}

// openData reads a data set, until the command is interrupted.
func (a *app) openData(paths []string, o dataset.Options) (*dataset.Set, error) {
	set, err := dataset.Open(a.ctx, paths, o)
	if err != nil {
		return nil, nameOption(err)
	}
	for _, w := range set.Warnings {
		a.note("%s", nameFlags(w))
	}
	return set, nil
}

// nameOption replaces what a library calls an option, or a remedy, by what the
// command calls it.
func nameOption(err error) error {
	var option *dataset.Error
	if errors.As(err, &option) && option.Option != "" {
		name := option.Option
		if name == "Recipe" {
			return usagef("%s", option.Problem)
		}
		if flag, ok := optionFlags[name]; ok {
			name = flag
		}
		return usagef("%s: %s", name, option.Problem)
	}
	before := err.Error()
	after := strings.ReplaceAll(before, "problem: check the data to list both", "problem: blockbp check lists both")
	after = nameFlags(strings.ReplaceAll(after, "problems: check the data to list them all", "problems: blockbp check lists them all"))
	if after == before {
		return err
	}
	return &exitError{codeOf(err), errors.New(after)}
}

// nameFlags writes flags for the options that a text names.
func nameFlags(text string) string {
	for _, name := range slices.Sorted(maps.Keys(optionFlags)) {
		text = strings.ReplaceAll(text, "the option "+name, optionFlags[name])
	}
	return text
}

// loadedModel is a model file with what it says of itself.
type loadedModel struct {
	path   string
	model  *crf.Model
	recipe *dataset.Recipe
	meta   map[string]string
}

// Keys of a model file's metadata that the command writes.
const (
	metaCounting = "counting"
	metaSeed     = "seed"
	metaEdges    = "edges"
	edgesNone    = "none"
	metaTraining = "training"
)

func loadModel(path string) (*loadedModel, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if err := checkRunFolder(path, modelFile); err != nil {
			return nil, err
		}
		path = filepath.Join(path, modelFile)
	}
	model, meta, err := crf.Load(path)
	if err != nil {
		if _, statErr := os.Stat(path); statErr != nil {
			return nil, statErr
		}
		if filepath.Ext(path) != filepath.Ext(modelFile) {
			return nil, dataf("%s; want a %s, or the folder of a run", withPath(path, err), modelFile)
		}
		return nil, dataf("%s", withPath(path, err))
	}
	m := &loadedModel{path: path, model: model, meta: meta}
	if err := recipeProblem(path, meta); err != nil {
		return nil, err
	}
	m.recipe, err = dataset.ParseRecipe(meta[dataset.RecipeKey])
	return m, err
}

// withPath puts the path in front of an error that does not name it yet.
func withPath(path string, err error) string {
	if message := err.Error(); strings.Contains(message, path) {
		return message
	}
	return fmt.Sprintf("%s: %v", path, err)
}

// instances returns the instances of a set as the model wants them: without
// edges if it was trained without.
func (m *loadedModel) instances(set *dataset.Set) []*crf.Instance {
	if m.meta[metaEdges] != edgesNone {
		return set.Instances
	}
	return withoutEdges(set.Instances)
}

func withoutEdges(instances []*crf.Instance) []*crf.Instance {
	alone := make([]*crf.Instance, len(instances))
	for i, in := range instances {
		alone[i] = in.WithoutEdges()
	}
	return alone
}
