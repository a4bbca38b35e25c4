package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/formats"
)

// Where a model's features come from, in Recipe.NodeForm and Recipe.EdgeForm.
const (
	formNone     = "none"     // no features: potentials of zero
	formConstant = "constant" // the number one
	formDense    = "dense"    // node_features, edge_features
	formBins     = "bins"     // edge_bins
)

// Recipe is everything, beside the schema, that turns new data of the kind a model was trained on into instances for
// that model. It is saved with the model, as JSON, under "recipe" in the metadata.
type Recipe struct {
	Kind string `json:"kind"` // as in Options

	// FeatureDim is the length of the raw feature vectors, before the bias, of images, graph tables and text.
	FeatureDim int  `json:"feature_dim,omitempty"`
	Bias       bool `json:"bias,omitempty"` // the constant feature follows as the last column
	// Sorted says that nodes of graph tables are numbered in the order of their identifiers, and edges in that of
	// their ends, as in all models of today.
	Sorted bool         `json:"sorted,omitempty"`
	Hops   int          `json:"hops,omitempty"`   // over how many of them the features of graph tables are means
	Sheets *sheetRecipe `json:"sheets,omitempty"` // how tables are read; nil for other data
	Text   *textRecipe  `json:"text,omitempty"`   // how tagged text is read; nil for other data
	States []string     `json:"states,omitempty"` // of images, graph tables and text

	Colours    bool `json:"colours,omitempty"`    // the features of pixels are red, green and blue, of 0 to 255
	Neighbours int  `json:"neighbours,omitempty"` // 4 or 8, of images
	// Bins is the number of bins of the distance between neighbouring pixels'
	// features: len(BinEdges)+1. It is smaller than asked for where distances tie.
	Bins     int       `json:"bins,omitempty"`
	BinEdges []float64 `json:"bin_edges,omitempty"` // they rise; x falls into the bin numbered by how many are ≤ x
	// Palette has the colours of States, red, green and blue, in the label pictures of images, as many as these gave.
	Palette [][3]uint8 `json:"palette,omitempty"`
	// LabelColours says that the pixels of label pictures are colours of Palette, and not numbers of states.
	LabelColours  bool        `json:"label_colours,omitempty"`
	HiddenColours [][3]uint8  `json:"hidden_colours,omitempty"` // they hide labels
	Edges         *edgeRecipe `json:"edges,omitempty"`          // contrasts of edges of images; nil: bins of distances

	// Superpixels says how regions of images are made, which are the nodes in the place of pixels; nil: pixels are.
	Superpixels *superpixelRecipe `json:"superpixels,omitempty"`

	// NodeForm ("none", "constant" or "dense") and EdgeForm ("constant", "dense" or "bins") are those of npz.
	NodeForm string `json:"node_form,omitempty"`
	EdgeForm string `json:"edge_form,omitempty"`
	Untied   bool   `json:"untied,omitempty"` // every node and edge has weights of its own, of npz
	// Structure is the SHA-256 of nodes, cardinalities and edges of an untied
	// model: its weights mean nothing on any other graph.
	Structure string `json:"structure,omitempty"`
	// KeptEdges are the edges that an untied model has weights of, of those that Structure is of; nil: all.
	KeptEdges []int32 `json:"kept_edges,omitempty"`
	// Spins says that labels which are -1 and 1 alone are spins, for npz: see Options.
	Spins      bool           `json:"spins,omitempty"`
	Columns    []sampleColumn `json:"columns,omitempty"`     // the nodes of samples of a table or an alignment
	Pairs      []int32        `json:"pairs,omitempty"`       // ends of their edges, before any is left out; nil: all
	LabelNames []int          `json:"label_names,omitempty"` // node types whose labels are numbers that name states
	About      string         `json:"about,omitempty"`       // what the data said for those who read the model
	// Scales are the largest magnitudes of every feature of nodes in training, of each node type, and Least and Most the
	// smallest and the largest numbers, empty where nodes are few.
	Scales [][]float64 `json:"scales,omitempty"`
	Least  [][]float64 `json:"least,omitempty"`
	Most   [][]float64 `json:"most,omitempty"`
}

// ParseRecipe reads a recipe from JSON; unknown fields, which a newer program may have written, are refused.
func ParseRecipe(text string) (*Recipe, error) {
	var r Recipe
	if err := fileio.JSON([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("recipe: %w; %s", err, byAnother)
	}
	if r.Kind == kindGraph && r.Sheets == nil { // of tables without a header, which have one since
		r.Sheets = &sheetRecipe{ID: formats.RoleID, Label: formats.RoleLabel, Split: formats.RoleSplit,
			Source: formats.RoleSource, Target: formats.RoleTarget}
		if r.FeatureDim > 0 {
			r.Sheets.Nodes = []column{{Name: formats.ListColumn, Indices: r.FeatureDim}}
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
	case r.Text != nil && r.Text.Form != formats.TextAttributes:
		return "token", formats.RoleLabel
	case r.Text != nil:
		return "position", formats.RoleLabel
	case r.Sheets == nil:
		return formats.RoleID, formats.RoleLabel
	}
	return cmp.Or(r.Sheets.ID, formats.RoleID), cmp.Or(r.Sheets.Label, formats.RoleLabel)
}

// validate reports the first field that is not as this version writes it.
func (r *Recipe) validate() error {
	images, graph, npz := r.Kind == kindImages, r.Kind == kindGraph, r.Kind == kindNPZ
	binned := r.Bins != 0 || len(r.BinEdges) > 0
	for _, field := range []struct {
		name  string
		sound bool
	}{
		{"kind", slices.Contains(formats.Kinds, r.Kind)},
		{"feature_dim", r.FeatureDim >= 0},
		{"hops", r.Hops == 0 || graph && r.Hops > 0 && r.Hops <= mostHops},
		{"sheets", (r.Sheets != nil) == graph && (!graph || r.Sheets.sound() &&
			sizeOfColumns(r.Sheets.Nodes) == r.FeatureDim)},
		{"text", (r.Text != nil) == (r.Kind == kindText) && (r.Text == nil || r.Text.sound())},
		{"neighbours", !images || r.Neighbours == 4 || r.Neighbours == 8},
		{"edges", r.Edges == nil || images && !binned && r.Edges.sound()},
		{"superpixels", r.Superpixels == nil || images && !binned && r.Edges == nil && areDistances(r.Superpixels.Scales)},
		{"bins", !images || r.Superpixels != nil || r.Edges != nil || r.Bins == len(r.BinEdges)+1},
		{"bin_edges", rise(r.BinEdges)},
		{"palette", len(r.Palette) == 0 || images && len(r.Palette) <= len(r.States)},
		{"colours", !r.Colours || images && r.FeatureDim == 3},
		{"label_colours", !r.LabelColours || len(r.Palette) > 0 && len(r.Palette) == len(r.States)},
		{"columns", len(r.Columns) == 0 || r.Untied},
		{"pairs", len(r.Pairs)%2 == 0 && !slices.ContainsFunc(r.Pairs, func(s int32) bool {
			return s < 0 || int(s) >= len(r.Columns)
		})},
		{"node_form", !npz || slices.Contains([]string{formNone, formConstant, formDense}, r.NodeForm)},
		{"edge_form", !npz || slices.Contains([]string{formConstant, formDense, formBins}, r.EdgeForm)},
		{"kept_edges", rise(r.KeptEdges) && (len(r.KeptEdges) == 0 || r.KeptEdges[0] >= 0)},
	} {
		if !field.sound {
			return fmt.Errorf("recipe: %s is not as this version writes it; %s", field.name, byAnother)
		}
	}
	return nil
}

// byAnother is what to do with the model of another version.
const byAnother = "use the model with the version that trained it, or train it again"

// rise reports whether numbers are finite, and each is larger than the one before.
func rise[T int32 | float64](list []T) bool {
	for i, x := range list {
		if x-x != 0 || i > 0 && x <= list[i-1] {
			return false
		}
	}
	return true
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
	if r.Sheets != nil {
		return sizeOfColumns(r.Sheets.Edges) + 1
	}
	return len(r.imageEdges())
}

// fits checks that the recipe makes the features that the schema has weights for.
func (r *Recipe) fits(s *crf.Schema) error {
	if err := s.Validate(); err != nil {
		return err
	}
	sound := !slices.ContainsFunc(r.Columns, func(c sampleColumn) bool { return c.Type < 0 || c.Type >= len(s.NodeTypes) })
	if n, edges, t := r.nodeDim(), s.EdgeTypes, &s.NodeTypes[0]; r.Kind != kindNPZ {
		sound = len(s.NodeTypes) == 1 && t.Features == n && (r.Text == nil || len(t.FeatureNames) == n) &&
			(len(edges) == 1 && (r.Text != nil || edges[0].Features == r.edgeDim()) || len(edges) == 0 && r.Kind == kindGraph)
	}
	if !sound {
		return fmt.Errorf("recipe: it makes other features than the model has weights for; %s", byAnother)
	}
	return nil
}
