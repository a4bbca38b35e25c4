package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/option"
)

// The kinds of data.
const (
	kindNPZ    = "npz"    // instance files, and folders of them
	kindImages = "images" // an image folder
	kindGraph  = "graph"  // a pair of tables of nodes and edges
	kindText   = "text"   // tagged sentences, a line for each token
)

// Defaults of Options.
const (
	defaultBins       = 10 // as in the paper
	defaultNeighbours = 4
)

// Options says how data are read. The zero value detects the kind, and learns schema and recipe from the data.
type Options struct {
	Kind string // "npz", "images", "graph" or "text"; "" finds out from the paths

	// Recipe and Schema are those of a trained model: the data are checked against them, and bin edges, neighbourhood,
	// bias and the like are taken from the recipe instead of from these options. Both are nil for training.
	Recipe *Recipe
	Schema *crf.Schema
	// Learning says that this model is to go on learning, from these data: they must
	// not forbid anything else than it does, and their labels must be possible.
	Learning bool

	// NoLabels leaves labels unread, for data to predict; a warning tells where some nodes have labels, and others not.
	NoLabels bool
	// States names the states; nil takes them from dataset.json, or else numbers as many as the largest label asks for.
	States []string
	// NoBias leaves out the constant feature that is otherwise the last of nodes of images and graph tables.
	NoBias bool

	// FeatureDir is the folder with one .npy of unary features per image; "" means features in the data folder, or,
	// where there is no such folder, the colours of the pixels.
	FeatureDir string
	// LabelDir is the folder with the labels of images; "" means labels in the data folder, or PASCAL VOC's.
	LabelDir string
	// List is a file of image ids, one per line: a path as it stands, or else within the data folder. "" takes all images.
	List string
	// Edges says what the features of edges of images are: "contrast", contrasts of colours, or "bins" of
	// the distance of the two pixels' features; "" means contrasts, unless Bins is given.
	Edges      string
	Bins       int // of the distance of neighbouring pixels' features; 0 means 10
	Neighbours int // 4 or 8, for images; 0 means 4
	// Superpixels is a folder with a map of regions for each image, such as superpixels: ID.png, grey, or ID.npy [h, w],
	// in which pixels of one value are a region. Regions are the nodes in the place of pixels, with the means of their
	// features, and those that touch are joined. "": pixels are nodes, or regions of the maps in superpixels in the data
	// folder, of a model that was trained with them.
	Superpixels string

	// Observed is, for graph tables, the split whose labels are kept; all others become unobserved. "" keeps every label.
	Observed string

	// Hops replaces, for graph tables, the features of a node by means over its neighbourhood: by that over itself and its
	// neighbours, as many times. Nodes whose features are not known have no share in a mean. 0: features as they are.
	Hops int

	// Columns gives, for tables with a header, columns their roles, each as ROLE=NAME: id, label and split of nodes,
	// source, target and weight (what one counts) of edges, and, of any number, text (numbers that name) and ignore.
	Columns []string

	// Directed gives the states a, b of the ends of an edge other weights than b, a,
	// whatever the data say. Without it, and without "directed" in the data, an edge that
	// joins nodes of one type has no direction, unless all edges, and enough, lead from a row to the next.
	Directed bool
	Tied     bool // they do not, whatever the order of rows looks like

	// MinCount leaves out, in text, attributes that occur less often in what is learned from; 0: none unless too many.
	MinCount int

	// Untied gives, for npz, every node and edge weights of its own, with the constant feature alone.
	Untied bool

	// Spins says that labels of -1 and 1 alone are those of spins, which is an error otherwise; -1 hides nothing then.
	Spins bool

	// Statistics says, with Untied, that the data are one npz file with means in place of samples: see Set.Means.
	Statistics bool

	// SampleWeights says, of tables of samples and alignments, which are npz data with Untied, what each sample counts: a
	// column, or of alignments the identity from which sequences are alike, by default 0.8; "none": they count as one.
	SampleWeights string
	// Lattice is, of the same, the grid whose neighbours are joined: ROWSxCOLS, or ROWSxCOLS:periodic, whose borders meet.
	Lattice string

	// Memory is how many bytes reading, and the weights of a model of the data, may take;
	// 0: four fifths of what the machine has available.
	Memory int64
}

// optionUse is an option that belongs to a kind of data, or that a model decides.
type optionUse struct {
	field, kind  string // "": data of all kinds
	used         bool
	asked, model any // nil: models do not decide
}

// uses lists them.
func (o *Options) uses() []optionUse {
	r, edges, directed := cmp.Or(o.Recipe, &Recipe{}), edgesContrast, true
	if r.Edges == nil {
		edges = edgesBins
	}
	if o.Schema != nil {
		directed = !slices.ContainsFunc(o.Schema.EdgeTypes, func(t crf.EdgeType) bool { return t.Symmetric })
	}
	return []optionUse{
		{"FeatureDir", kindImages, o.FeatureDir != "", o.FeatureDir,
			map[bool]string{true: "colours", false: o.FeatureDir}[r.Colours]},
		{"List", kindImages, o.List != "", nil, nil},
		{"LabelDir", kindImages, o.LabelDir != "", nil, nil}, {"Observed", kindGraph, o.Observed != "", nil, nil},
		{"Columns", map[bool]string{true: kindNPZ, false: kindGraph}[o.readsSamples()], len(o.Columns) > 0, nil, nil},
		{"SampleWeights", kindNPZ, o.SampleWeights != "", nil, nil}, {"Lattice", kindNPZ, o.Lattice != "", nil, nil},
		{"MinCount", kindText, o.MinCount != 0, nil, nil}, {"Spins", kindNPZ, o.Spins, nil, nil},
		{"Neighbours", kindImages, o.Neighbours != 0, o.Neighbours, r.Neighbours},
		{"Superpixels", kindImages, o.Superpixels != "", true, r.Superpixels != nil},
		{"Bins", kindImages, o.Bins != 0, o.Bins, r.Bins}, {"Edges", kindImages, o.Edges != "", o.Edges, edges},
		{"Hops", kindGraph, o.Hops != 0, o.Hops, r.Hops},
		{"Directed", "", o.Directed, true, directed}, {"NoBias", "", o.NoBias, true, !r.Bias},
	}
}

// validate reports options that cannot be used, alone or with data of the kind.
func (o *Options) validate(kind string) error {
	for _, x := range []struct {
		wrong bool
		err   error
	}{
		{(o.Recipe == nil) != (o.Schema == nil), option.Wrong("Recipe", "a model gives both its schema and its recipe; the "+
			"other is missing")},
		{o.NoBias && kind == kindNPZ, option.Wrong("NoBias", "npz data have no constant feature added")},
		{o.Statistics && !o.Untied, option.Wrong("Statistics", "it goes with Untied: each mean is that of a weight")},
		{o.Recipe == nil && o.ofSamples() != "" && !o.Untied, option.Wrong(o.ofSamples(),
			"it is for samples: give {model=ising} or "+"{model=potts}, or {untied}")},
		{o.MinCount < 0, option.Wrong("MinCount", "%d: want a number that is not negative", o.MinCount)},
		{o.Hops < 0 || o.Hops > mostHops, option.Wrong("Hops", "it is %d, want 0 to %d", o.Hops, mostHops)},
		{o.Bins < 0 || o.Bins > mostFeatures, option.Wrong("Bins", "it is %d, want 1 to %d", o.Bins, mostFeatures)},
		{!slices.Contains(append(edgesOfImages, ""), o.Edges), option.Wrong("Edges", "it is %q; %s", o.Edges,
			option.DidYouMean(o.Edges, edgesOfImages))},
		{o.Edges == edgesContrast && o.Bins != 0, option.Wrong("Bins", "it goes with {edge-features=%s} only", edgesBins)},
		{o.Superpixels != "" && (o.Bins != 0 || o.Neighbours != 0 || o.Edges != ""), option.Wrong("Superpixels",
			"superpixels are joined where they touch, and their edges have features of their own: leave {bins}, {neighbours} "+
				"and {edge-features} out")},
		{o.Superpixels != "" && o.Directed, option.Wrong("Directed", "superpixels have no direction")},
		{!slices.Contains([]int{0, 4, 8}, o.Neighbours), option.Wrong("Neighbours", "it is %d, want 4 or 8", o.Neighbours)},
	} {
		if x.wrong {
			return x.err
		}
	}
	for _, x := range o.uses() {
		if x.used && x.kind != "" && x.kind != kind {
			return option.Wrong(x.field, "it applies to %s data only, and these are of the kind %s", x.kind, kind)
		}
	}
	if err := o.validateColumns(); err != nil {
		return err
	}
	if problem := namesProblem("States", o.States, mostStates); problem != "" {
		return option.Wrong("States", "%s", problem)
	}
	return o.validateModel(kind)
}

// ofSamples is the option given that tables of samples and alignments alone have, or "".
func (o *Options) ofSamples() string {
	switch {
	case o.Lattice != "":
		return "Lattice"
	case o.SampleWeights != "":
		return "SampleWeights"
	}
	return ""
}

// notOfArrays refuses it where there are arrays.
func (o *Options) notOfArrays(path string) error {
	return option.Wrong(o.ofSamples(), "it is for tables of samples and alignments; among the arrays of %s give edges, "+
		"or grid_shape, and sample_weights", path)
}

// overruled says which options have no say because the model decides.
func (o *Options) overruled() (list []string) {
	for _, x := range o.uses() {
		if o.Recipe != nil && x.used && x.asked != nil && fmt.Sprint(x.asked) != fmt.Sprint(x.model) {
			list = append(list, fmt.Sprintf("{%s} is %v, but the model was trained with %v, which holds",
				option.Of("dataset.Options."+x.field), x.asked, x.model))
		}
	}
	return list
}

// superpixels reports whether the nodes of images are superpixels.
func (o *Options) superpixels() bool {
	return o.Recipe == nil && o.Superpixels != "" || o.Recipe != nil && o.Recipe.Superpixels != nil
}

func (o *Options) validateModel(kind string) error {
	if o.Recipe == nil {
		return nil
	}
	states := o.States
	if o.Recipe.LabelColours {
		states = withoutHidden(states)
	}
	switch err := o.Recipe.validate(); {
	case err != nil:
		return err
	case o.Recipe.Kind != kind:
		return option.Wrong("Recipe", "the model was trained on data of the kind %s, and these are of the kind %s",
			o.Recipe.Kind, kind)
	case o.Untied && !o.Recipe.Untied:
		return option.Wrong("Untied", "the model was trained with tied weights")
	case len(states) > 0 && !slices.ContainsFunc(o.Schema.NodeTypes,
		func(t crf.NodeType) bool { return slices.Equal(t.States, states) }):
		return option.Wrong("States", "they are %q, the model has %q", o.States, o.Schema.NodeTypes[0].States)
	}
	return o.Recipe.fits(o.Schema)
}

// contradiction says how names in a dataset.json contradict those that a model has, "" where they do not. Names that
// are mere numbers, as a count of states gives, name nothing and only have to be as many.
func contradiction(named, model []string) string {
	switch {
	case len(named) == 0 || len(model) == 0 || slices.Equal(named, model):
		return ""
	case len(named) != len(model):
		return fmt.Sprintf("they are %d, the model has %d (%q)", len(named), len(model), model)
	case unnamed(named) || unnamed(model):
		return ""
	}
	return fmt.Sprintf("they are %q, the model has %q", named, model)
}

// unnamed reports whether states, types or features are called by their numbers.
func unnamed(names []string) bool {
	return slices.Equal(names, crf.NumberedStates(len(names)))
}
