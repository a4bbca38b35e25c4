package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/fileio"
)

// Where a model's features come from, in Recipe.NodeForm and Recipe.EdgeForm.
const (
	FormNone     = "none"     // no features: potentials of zero
	FormConstant = "constant" // the number one
	FormDense    = "dense"    // node_features, edge_features
	FormBins     = "bins"     // edge_bins
)

// Recipe is everything, beside the schema, that turns new data of the kind a model was trained on into instances for
// that model. It is saved with the model, as JSON, under RecipeKey in the metadata.
type Recipe struct {
	Kind string `json:"kind"` // one of the Kind constants

	// FeatureDim is the length of the raw feature vectors, before the bias, of images, graph tables and text.
	FeatureDim int `json:"feature_dim,omitempty"`
	// Bias says that the constant feature follows as the last column.
	Bias bool `json:"bias,omitempty"`
	// Sorted says that nodes of graph tables are numbered in the order of their identifiers, and edges in that of
	// their ends, as in all models of today.
	Sorted bool `json:"sorted,omitempty"`
	// Hops says over how many of them the features of graph tables are means.
	Hops int `json:"hops,omitempty"`
	// Sheets is how tables are read; nil for other data.
	Sheets *sheetRecipe `json:"sheets,omitempty"`
	// Text is how tagged text is read; nil for other data.
	Text *textRecipe `json:"text,omitempty"`
	// States names the states of images, graph tables and text.
	States []string `json:"states,omitempty"`

	// Colours says that the features of pixels of images are their colours: grey, or red, green and blue, of 0 to 255.
	Colours bool `json:"colours,omitempty"`
	// Neighbours is 4 or 8, for images.
	Neighbours int `json:"neighbours,omitempty"`
	// Bins is the number of bins of the distance between neighbouring pixels'
	// features: len(BinEdges)+1. It is smaller than asked for where distances tie.
	Bins int `json:"bins,omitempty"`
	// BinEdges rise; distance x falls into the bin numbered by how many are ≤ x.
	BinEdges []float64 `json:"bin_edges,omitempty"`
	// Palette has the colours of States, red, green and blue, in the label pictures of images, as many as these gave.
	Palette [][3]uint8 `json:"palette,omitempty"`
	// LabelColours says that the pixels of label pictures are colours of Palette, and not numbers of states.
	LabelColours bool `json:"label_colours,omitempty"`
	// HiddenColours are colours that hide labels.
	HiddenColours [][3]uint8 `json:"hidden_colours,omitempty"`
	// Edges says how contrasts make features of edges of images, in the place of bins of distances; nil: those.
	Edges *edgeRecipe `json:"edges,omitempty"`

	// Superpixels says how regions of images are made, which are the nodes in the place of pixels; nil: pixels are.
	Superpixels *superpixelRecipe `json:"superpixels,omitempty"`

	// NodeForm and EdgeForm are the Form constants, for npz.
	NodeForm string `json:"node_form,omitempty"`
	EdgeForm string `json:"edge_form,omitempty"`
	// Untied says that every node and edge has weights of its own, for npz.
	Untied bool `json:"untied,omitempty"`
	// Structure is the SHA-256 of nodes, cardinalities and edges of an untied
	// model: its weights mean nothing on any other graph.
	Structure string `json:"structure,omitempty"`
	// KeptEdges are the edges that an untied model has weights of, of those that Structure is of; nil: all.
	KeptEdges []int32 `json:"kept_edges,omitempty"`
	// Spins says that labels which are -1 and 1 alone are spins, for npz: see Options.
	Spins bool `json:"spins,omitempty"`
	// Columns are the nodes, for npz, where samples were read from a table or an alignment.
	Columns []sampleColumn `json:"columns,omitempty"`
	// LabelNames are the node types whose labels that are numbers are the names of states.
	LabelNames []int `json:"label_names,omitempty"`
	// About is what the data said for those who read the model.
	About string `json:"about,omitempty"`
}

// RecipeKey is the key of the recipe in a model file's metadata.
const RecipeKey = "recipe"

// ParseRecipe reads a recipe from JSON; unknown fields, which a newer program may have written, are refused.
func ParseRecipe(text string) (*Recipe, error) {
	var r Recipe
	if err := fileio.JSON([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("recipe: %w; another version wrote it, by which the model serves, or learn again", err)
	}
	if r.Kind == KindGraph && r.Sheets == nil { // of tables without a header, which have one since
		r.Sheets = &sheetRecipe{ID: roleID, Label: roleLabel, Split: roleSplit, Source: roleSource, Target: roleTarget}
		if r.FeatureDim > 0 {
			r.Sheets.Nodes = []column{{Name: listColumn, Indices: r.FeatureDim}}
		}
	}
	return &r, r.validate()
}

// String returns the recipe as JSON, for the metadata of a model file.
func (r *Recipe) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // only a bin edge that is not finite, which validate refuses
	}
	return string(text)
}

// TableNames returns what tables of predictions call a node and its label: as the tables
// that the model was trained on do.
func (r *Recipe) TableNames() (node, label string) {
	switch {
	case r.Text != nil && r.Text.Form != textAttributes:
		return "token", roleLabel
	case r.Text != nil:
		return "position", roleLabel
	case r.Sheets == nil:
		return roleID, roleLabel
	}
	return cmp.Or(r.Sheets.ID, roleID), cmp.Or(r.Sheets.Label, roleLabel)
}

// validate reports the first thing that makes the recipe unusable.
func (r *Recipe) validate() error {
	switch {
	case !slices.Contains(kinds, r.Kind):
		return fmt.Errorf("recipe: kind is %q, want one of %q", r.Kind, kinds)
	case r.Hops != 0 && r.Kind != KindGraph, r.Hops < 0, r.Hops > mostHops:
		return fmt.Errorf("recipe: hops is %d, want 0 to %d, and with kind %q only", r.Hops, mostHops, KindGraph)
	case (r.Sheets != nil) != (r.Kind == KindGraph):
		return fmt.Errorf("recipe: sheets go with kind %q", KindGraph)
	case r.Sheets != nil && r.Sheets.problem() != "":
		return fmt.Errorf("recipe: %s", r.Sheets.problem())
	case r.Sheets != nil && r.FeatureDim >= 0 && r.FeatureDim != sizeOfColumns(r.Sheets.Nodes):
		return fmt.Errorf("recipe: the columns of sheets make %d features, want %d", sizeOfColumns(r.Sheets.Nodes),
			r.FeatureDim)
	case (r.Text != nil) != (r.Kind == KindText):
		return fmt.Errorf("recipe: text goes with kind %q", KindText)
	case r.Text != nil && r.Text.problem() != "":
		return fmt.Errorf("recipe: %s", r.Text.problem())
	case r.FeatureDim < 0:
		return fmt.Errorf("recipe: feature_dim is %d, want at least 0", r.FeatureDim)
	case r.Kind == KindImages && r.Neighbours != 4 && r.Neighbours != 8:
		return fmt.Errorf("recipe: neighbours is %d, want 4 or 8", r.Neighbours)
	case r.Edges != nil && (r.Kind != KindImages || r.Bins != 0 || len(r.BinEdges) > 0):
		return fmt.Errorf("recipe: edges go with kind %q only, and without bins", KindImages)
	case r.Edges != nil && r.Edges.problem() != "":
		return fmt.Errorf("recipe: %s", r.Edges.problem())
	case len(r.Palette) > 0 && (r.Kind != KindImages || len(r.Palette) > len(r.States)):
		return fmt.Errorf("recipe: palette goes with kind %q only, with at most a colour for each of %d states",
			KindImages, len(r.States))
	case r.Colours && (r.Kind != KindImages || r.FeatureDim != 1 && r.FeatureDim != 3):
		return fmt.Errorf("recipe: colours go with kind %q, and with 1 or 3 features, not %d", KindImages, r.FeatureDim)
	case r.LabelColours && (len(r.Palette) == 0 || len(r.Palette) != len(r.States)):
		return fmt.Errorf("recipe: label_colours want a colour for each of %d states, palette has %d", len(r.States),
			len(r.Palette))
	case r.Superpixels != nil && (r.Kind != KindImages || r.Edges != nil || r.Bins != 0 || len(r.BinEdges) > 0):
		return fmt.Errorf("recipe: superpixels go with kind %q only, and without edges and bins", KindImages)
	case r.Superpixels != nil && r.Superpixels.problem() != "":
		return fmt.Errorf("recipe: %s", r.Superpixels.problem())
	case r.Kind == KindImages && r.Superpixels == nil && r.Edges == nil && r.Bins != len(r.BinEdges)+1:
		return fmt.Errorf("recipe: %d bins with %d bin_edges, want one edge less than bins", r.Bins, len(r.BinEdges))
	case len(r.Columns) > 0 && !r.Untied:
		return fmt.Errorf("recipe: columns go with untied")
	case r.Kind == KindNPZ && !slices.Contains([]string{FormNone, FormConstant, FormDense}, r.NodeForm):
		return fmt.Errorf("recipe: node_form is %q", r.NodeForm)
	case r.Kind == KindNPZ && !slices.Contains([]string{FormConstant, FormDense, FormBins}, r.EdgeForm):
		return fmt.Errorf("recipe: edge_form is %q", r.EdgeForm)
	}
	for i, e := range r.KeptEdges {
		if e < 0 || i > 0 && e <= r.KeptEdges[i-1] {
			return fmt.Errorf("recipe: kept_edges[%d] is %d, want numbers of edges that rise", i, e)
		}
	}
	for i, e := range r.BinEdges {
		if math.IsNaN(e) || math.IsInf(e, 0) || i > 0 && e <= r.BinEdges[i-1] {
			return fmt.Errorf("recipe: bin_edges[%d] is %v, want finite numbers that rise", i, e)
		}
	}
	return nil
}

// nodeDim returns the number of features of nodes, but for npz.
func (r *Recipe) nodeDim() int {
	if r.Bias {
		return r.FeatureDim + 1
	}
	return r.FeatureDim
}

// edgeDim returns the number of features of edges of images and of tables with a header.
func (r *Recipe) edgeDim() int {
	switch {
	case r.Sheets != nil:
		return sizeOfColumns(r.Sheets.Edges) + 1
	case r.Superpixels != nil:
		return r.Superpixels.dim()
	case r.Edges == nil:
		return r.Bins
	}
	return r.Edges.dim(r.Neighbours)
}

// fits checks that the recipe makes the features that the schema has weights for.
func (r *Recipe) fits(s *crf.Schema) error {
	if err := s.Validate(); err != nil {
		return err
	}
	check := func(what string, got, want int) error {
		if got != want {
			return fmt.Errorf("recipe: it makes %d %s features, the model has weights for %d", got, what, want)
		}
		return nil
	}
	dim, edges := r.nodeDim(), r.edgeDim()
	switch {
	case slices.ContainsFunc(r.Columns, func(c sampleColumn) bool { return c.Type < 0 || c.Type >= len(s.NodeTypes) }):
		return fmt.Errorf("recipe: a column is of a type that the model does not have")
	case r.Kind != KindNPZ && (len(s.NodeTypes) != 1 || len(s.EdgeTypes) != 1 && (r.Kind != KindGraph ||
		len(s.EdgeTypes) > 0)):
		return fmt.Errorf("recipe: data of the kind %s have one node type and one edge type, the model has %d and %d; "+
			"train it again", r.Kind, len(s.NodeTypes), len(s.EdgeTypes))
	case (r.Kind == KindImages || r.Sheets != nil) && len(s.EdgeTypes) > 0 && s.EdgeTypes[0].Features != edges:
		return check("edge", edges, s.EdgeTypes[0].Features)
	case r.Text != nil && len(s.NodeTypes[0].FeatureNames) != dim:
		return check("named node", dim, len(s.NodeTypes[0].FeatureNames))
	case r.Kind != KindNPZ:
		return check("node", dim, s.NodeTypes[0].Features)
	}
	return nil
}
