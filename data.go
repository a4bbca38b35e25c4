package blockbp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
)

// Data are networks with features and, for training and evaluation, labels. They may be used from several goroutines.
type Data struct {
	paths   []string
	options dataset.Options
	graphs  []Graph // where there are no paths
}

// Open names data in files: .npz instances, folders or lists of them, an image folder,
// or graph tables, as package dataset describes them. Files are read when they are used:
// how they are read for a prediction is a matter of the model.
func Open(paths ...string) (*Data, error) { return OpenWith(dataset.Options{}, paths...) }

// OpenWith is Open with choices of how files are read, such as a list of images, or
// the split of graph tables whose labels are known.
func OpenWith(o dataset.Options, paths ...string) (*Data, error) {
	if len(paths) == 0 {
		return nil, errors.New("blockbp: Open wants at least one path")
	}
	for _, path := range paths {
		_, err := os.Stat(path)
		if tables, _ := filepath.Glob(path + ".nodes.*"); err != nil && len(tables) == 0 {
			return nil, err
		}
	}
	return &Data{paths: paths, options: o}, nil
}

// Graph is one network in memory. Nodes are 0, 1, ….
type Graph struct {
	Name string // for messages; "": graph and its number
	// Edges [edges] are the two ends of every edge: no loops, no edge twice. Directed says
	// that an edge leads from the first to the second, such as from word to word; otherwise
	// the order of the ends means nothing. All graphs are the same in that.
	Edges    [][2]int
	Directed bool
	// Nodes [nodes][features] are the features of every node. EdgeFeatures
	// [edges][features] are those of every edge; nil stands for the constant one.
	Nodes, EdgeFeatures [][]float64
	// Labels [nodes] are names of states, "" for one that is hidden; nil: all are.
	Labels []string
	// Rows and Cols are the size of the grid that the nodes lie on row by row; 0: none.
	Rows, Cols int
}

// GridEdges returns the edges of rows × cols pixels, row by row, with their neighbours to the right and below.
func GridEdges(rows, cols int) [][2]int {
	var edges [][2]int
	for p := range rows * cols {
		if p%cols+1 < cols {
			edges = append(edges, [2]int{p, p + 1})
		}
		if p+cols < rows*cols {
			edges = append(edges, [2]int{p, p + cols})
		}
	}
	return edges
}

// NewData makes data of networks in memory, with as many features each. Slices are read
// when the data are used. The states of a model are the names that occur among the
// labels it is trained on, in the order of numbers or of the alphabet.
func NewData(graphs ...Graph) (*Data, error) {
	if len(graphs) == 0 {
		return nil, errors.New("blockbp: NewData wants at least one graph")
	}
	d := &Data{graphs: slices.Clone(graphs)}
	for i := range d.graphs {
		g := &d.graphs[i]
		g.Name = cmp.Or(g.Name, "graph "+strconv.Itoa(i))
		if err := g.check(&d.graphs[0]); err != nil {
			return nil, fmt.Errorf("blockbp: %s: %w", g.Name, err)
		}
	}
	return d, nil
}

// check reports the first array that does not fit the others, or the first graph's.
func (g *Graph) check(first *Graph) error {
	switch {
	case len(g.Nodes) == 0:
		return errors.New("no Nodes: want a row of features for every node, [][]float64{{1}, …} where there is nothing to " +
			"tell")
	case g.Labels != nil && len(g.Labels) != len(g.Nodes):
		return fmt.Errorf("%d Labels for %d Nodes: want one each, \"\" where it is hidden", len(g.Labels), len(g.Nodes))
	case g.EdgeFeatures != nil && len(g.EdgeFeatures) != len(g.Edges):
		return fmt.Errorf("%d EdgeFeatures for %d Edges: want a row for each", len(g.EdgeFeatures), len(g.Edges))
	case (g.EdgeFeatures == nil) != (first.EdgeFeatures == nil):
		return errors.New("only some graphs have EdgeFeatures: want them for all, or for none")
	}
	if err := sameColumns("Nodes", g.Nodes, first.Nodes); err != nil {
		return err
	}
	return sameColumns("EdgeFeatures", g.EdgeFeatures, first.EdgeFeatures)
}

func sameColumns(name string, rows, like [][]float64) error {
	for i, row := range rows {
		if len(like) > 0 && len(row) != len(like[0]) {
			return fmt.Errorf("%s[%d] has %d features, the first of all has %d: want as many", name, i, len(row), len(like[0]))
		}
	}
	return nil
}

// forTraining reads the data as those of a new model.
func (d *Data) forTraining(ctx context.Context, physics string, n *notes) (*dataset.Set, error) {
	own := *d
	if physics != "" {
		own.options.Untied, own.options.Spins = true, physics == job.Ising
	}
	set, err := own.load(ctx, nil, true)
	if err == nil {
		n.add(set.Notes()...)
	}
	return set, err
}

// errNoData is the answer to data that Open or NewData did not make.
var errNoData = errors.New("blockbp: the data are nil: look at the error of Open or NewData")

// load reads the data for a model, which whoever asks closes; nil: for a new one. Labels in files are left unread where
// they do not matter.
func (d *Data) load(ctx context.Context, m *job.Model, labels bool) (*dataset.Set, error) {
	if d == nil {
		return nil, errNoData
	}
	o := d.options
	o.NoLabels = o.NoLabels || !labels && d.paths != nil && o.Observed == ""
	if m != nil {
		o.Schema, o.Recipe = &m.Model.Schema, m.Recipe
	}
	if d.paths != nil {
		return dataset.Open(ctx, d.paths, o)
	}
	if m != nil && len(o.Schema.NodeTypes) != 1 {
		return nil, errors.New("blockbp: the model has several types of nodes: give it data from files, or use packages " +
			"dataset and infer")
	}
	if m != nil {
		o.States = o.Schema.NodeTypes[0].States
	} else if o.States = d.states(); len(o.States) < 2 {
		return nil, fmt.Errorf("blockbp: the labels name %d states, %q: want at least two", len(o.States), o.States)
	}
	arrays := make([]*dataset.Arrays, len(d.graphs))
	for i := range d.graphs {
		var err error
		if arrays[i], err = d.graphs[i].arrays(o.States); err != nil {
			return nil, fmt.Errorf("blockbp: %s: %w", d.graphs[i].Name, err)
		}
	}
	return dataset.FromArrays(dataset.Manifest{HiddenLabels: true}, o, arrays...) // "" hides, and nothing else
}

// states are the names that occur among labels: numbers by their size, before others.
func (d *Data) states() []string {
	var labels []string
	for i := range d.graphs {
		labels = append(labels, d.graphs[i].Labels...)
	}
	seen := numeric.SetOf(labels)
	delete(seen, "")
	return numeric.InOrder(slices.Collect(maps.Keys(seen)))
}

// arrays returns the graph as the arrays of an instance.
func (g *Graph) arrays(states []string) (*dataset.Arrays, error) {
	a := &dataset.Arrays{
		Name: g.Name, Edges: make([][2]int32, len(g.Edges)), Directed: g.Directed, GridShape: [2]int{g.Rows, g.Cols},
		NodeFeatures: &dataset.Matrix{Columns: len(g.Nodes[0]), Data: slices.Concat(g.Nodes...)},
	}
	for e, ends := range g.Edges {
		if min(ends[0], ends[1]) < 0 || max(ends[0], ends[1]) >= len(g.Nodes) {
			return nil, fmt.Errorf("edge %d joins %d and %d: want nodes from 0 to %d", e, ends[0], ends[1], len(g.Nodes)-1)
		}
		a.Edges[e] = [2]int32{int32(ends[0]), int32(ends[1])}
	}
	if len(g.EdgeFeatures) > 0 {
		a.EdgeFeatures = &dataset.Matrix{Columns: len(g.EdgeFeatures[0]), Data: slices.Concat(g.EdgeFeatures...)}
	}
	if g.Labels == nil {
		return a, nil
	}
	labels, err := g.labels(states)
	a.Labels = [][]int32{labels}
	return a, err
}

// labels numbers the names of states.
func (g *Graph) labels(states []string) ([]int32, error) {
	labels := make([]int32, len(g.Labels))
	for s, name := range g.Labels {
		labels[s] = int32(slices.Index(states, name)) // −1, unobserved, for ""
		if labels[s] < 0 && name != "" {
			return nil, fmt.Errorf("label %d is %q, which is no state of the model: want one of %q, or \"\"", s, name, states)
		}
	}
	return labels, nil
}
