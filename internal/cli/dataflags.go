package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
)

// dataFlags say how data are read.
type dataFlags struct {
	dataset.Options
	given func(flag string) bool // nil: no flags were registered
}

func (d *dataFlags) register(f *pflag.FlagSet) {
	f.StringVar(&d.Kind, "kind", "", "kind of data: npz, images, graph or text (default: found out from the paths)")
	f.StringVar(&d.FeatureDir, "features", "", "images: folder with <id>.npy, features [h,w,d] (default: DATA/features)")
	f.StringVar(&d.LabelDir, "labels", "", "images: folder with labels, a path or a name inside DATA (default: "+
		"DATA/labels)")
	f.StringVar(&d.List, "list", "", "images: file with one image id per line, a path or a name inside DATA (default: "+
		"all images)")
	f.StringSliceVar(&d.States, "states", nil, "names of the states, separated by commas")
	f.StringVar(&d.Edges, "edge-features", "", "images: contrast of colours, or bins of the distance of features "+
		"(default contrast)")
	f.IntVar(&d.Bins, "bins", 0, "images: number of bins, with --edge-features bins (default 10)")
	f.IntVar(&d.Neighbours, "neighbours", 0, "images: 4 or 8 neighbours per pixel (default 4)")
	f.StringSliceVar(&d.Columns, "columns", nil, "tables with a header: ROLE=NAME,...; roles are id, label, split, "+
		"source, target, weight, text and ignore")
	f.IntVar(&d.Hops, "hops", 0, "graph tables: replace features by means over a node and its neighbours, so many times")
	f.StringVar(&d.Observed, "observed", "", "graph tables: keep only the labels of this split, such as train")
	f.BoolVar(&d.NoBias, "no-bias", false, "images, tables and text: do not add the constant feature")
	f.IntVar(&d.MinCount, "min-count", 0, "tagged text: leave out attributes that occur less often")
	f.BoolVar(&d.Untied, "untied", false, "npz: every node and edge has its own weights (the paper's non-templated MRF)")
	f.StringVar(&d.SampleWeights, "sample-weights", "", "samples: a column of weights; of alignments the "+
		"identity that counts as alike (default 0.8), or none")
	f.StringVar(&d.Lattice, "lattice", "", "samples: a grid, ROWSxCOLS, whose nodes are row by row, and neighbours alone "+
		"coupled; ROWSxCOLS:periodic joins its borders")
	d.given = f.Changed
	f.BoolVar(&d.Directed, "directed", false, "edges lead from first to second end, as between words (default: where "+
		"the data say so)")
	reads(f, "a folder of features, one ID.npy for each picture", "features")
	reads(f, "a folder of labels, one picture or map for each picture", "labels")
	reads(f, "a list of image ids", "list")
	f.StringVar(&d.Superpixels, "superpixels", "", "images: folder with <id>.png, .npy or .regions.txt, maps of "+
		"regions, which are the nodes (default: pixels are; DATA/superpixels if the model has them)")
	reads(f, "a folder of maps of regions, one ID.png or ID.npy for each picture", "superpixels")
	refuseZero(f, "bins", "neighbours")
}

// memoryHelp is what --memory says where it is about all that a verb does.
const memoryHelp = "most memory to take, in bytes or such as 40GiB (default: four fifths of what is available)"

// registerMemory is for verbs that have no such option of their own.
func (d *dataFlags) registerMemory(f *pflag.FlagSet) {
	f.Var(sizeValue(&d.Memory), "memory", memoryHelp)
}

// options returns the reader's options. m is the trained model to read for, or nil.
func (d *dataFlags) options(m *job.Model) dataset.Options {
	o := d.Options
	o.Tied = d.given != nil && d.given("directed") && !d.Directed
	if m != nil {
		o.Schema, o.Recipe = &m.Model.Schema, m.Recipe
	}
	return o
}

// validate refuses a number of states where their names are wanted: it would be the name of the only one.
func (d *dataFlags) validate() error {
	if len(d.States) != 1 {
		return nil
	}
	if n, err := strconv.Atoi(d.States[0]); err == nil {
		return usagef("{states} %d: want the names of the states, separated by commas, such as {states} %s", n,
			strings.Join(crf.NumberedStates(min(max(n, 2), 4)), ","))
	}
	return nil
}

// openData reads a data set, until the command is interrupted.
func (a *app) openData(paths []string, o dataset.Options) (*dataset.Set, error) {
	set, err := dataset.Open(a.ctx, paths, o)
	if err != nil {
		return nil, notTraining(err)
	}
	a.sets = append(a.sets, set)
	a.noteAll(set.Notes())
	return set, a.readsAlso(set.Sources)
}

// loadModel reads a model, and tells what its file wants said.
func (a *app) loadModel(path string) (*job.Model, error) {
	m, err := job.LoadModel(path)
	if err == nil {
		a.noteAll(m.Notes)
	}
	return m, err
}

// notTraining says what to do with the folder of a training that was given for data, and could not be read as such.
func notTraining(err error) error {
	at := (*dataset.Error)(nil)
	if !errors.As(err, &at) || at.Option != "" || at.File == "" || !job.IsRunFolder(at.File) {
		return err
	}
	return dataf("%s: this is the folder of a training, where data are wanted; %s goes on with it, -m %[3]s uses its "+
		"model, and blockbp info %[3]s shows it", at.File, job.Resumes(at.File), printable.Word(at.File))
}

// given are instances that a model is to be used on.
type given struct {
	set       *dataset.Set
	instances []*crf.Instance
	held      [][]int32 // labels to hold in each; nil: none in any
}

// given reads data for a model. clamp asks to hold the labels that they have.
func (a *app) given(d *dataFlags, model *job.Model, paths []string, clamp bool) (g given, err error) {
	if d.LabelDir != "" && !clamp {
		return g, usagef("{labels} goes with {clamp}, which holds them: they are not read without")
	}
	o := d.options(model)
	// where -1 is a label, and counts as known
	o.NoLabels = !clamp && d.Observed == "" && (o.Recipe == nil || !o.Recipe.Spins)
	if g.set, err = a.openData(paths, o); err != nil {
		return g, err
	}
	if g.instances = model.Instances(g.set); !clamp {
		if text := model.Unheld(g.set, g.instances); text != "" {
			a.note("%s", option.Text(text))
		}
		return g, nil
	}
	g.set, g.instances, g.held, err = job.HeldLabels(g.set, g.instances)
	return g, err
}
