package job

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/diagnose"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/parted"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

// partedBefore is what was found out of a network when it was partitioned, so that nobody goes through its
// features for that again.
type partedBefore struct {
	Cut      learn.Cut             `json:"cut"`
	Together int                   `json:"together"`
	Rows     float64               `json:"row_weight"` // what a row counted in Measured
	Measured *standardise.Measured `json:"measured"`
	Notes    []string              `json:"notes"` // of features on one scale
}

// partBytes is about what Partition makes for each node and edge: lists of blocks, counting numbers and lists
// of parts.
const partBytes = 80

// Partition cuts a network, and finds out what a training goes through its features for. The cut is that of
// options, or the one of a training.
func Partition(ctx context.Context, set *dataset.Set, o Options, files int) (*parted.Network, error) {
	if err := partable(set); err != nil {
		return nil, err
	}
	in := set.Instances[0]
	if err := memory.Check("lists of blocks and parts", partBytes*float64(in.Graph.NumNodes()+in.Graph.NumEdges()),
		o.Memory); err != nil {
		return nil, err
	}
	o.Method = learn.BBPL
	o, err := o.Resolved()
	if err != nil {
		return nil, err
	}
	o.Counting = o.countingFor(set)
	problem, err := o.problem(ctx, &Task{Set: set}, nil)
	if err != nil {
		return nil, err
	}
	if err := checkLabels(ctx, problem.Data); err != nil {
		return nil, err
	}
	cuts, _, err := o.Cut.Resolve(problem.Model, problem.Data)
	if err != nil {
		return nil, usagef("%w", err)
	}
	before := partedBefore{Cut: cuts[0], Rows: rowWeight(in)}
	if before.Measured, err = standardise.Measure(ctx, &set.Schema, problem.Data, o.Threads); err != nil {
		return nil, err
	}
	cut := &parted.Cut{}
	problem.Parted = cut
	if _, err := learn.Forecast(problem, o.settings); err != nil {
		return nil, usagef("%w", err)
	}
	before.Together = cut.Together
	if scale := before.Measured.Map(); scale != nil {
		scaled, err := scale.View(in)
		if err != nil {
			return nil, err
		}
		problem.Data = []*crf.Instance{scaled}
	}
	before.Notes = diagnose.Features(problem, false)
	if !before.Measured.Finite() { // JSON has no infinity: trainings measure again
		before.Measured = nil
	}
	n := &parted.Network{Cut: *cut, Graph: in.Graph, Node: denseOf(in.NodeFeatures(0)), Arrays: wholeArrays(set),
		Found: before, Files: files}
	if len(set.Schema.EdgeTypes) > 0 {
		n.Edge = denseOf(in.EdgeFeatures(0))
	}
	if n.FeatureBytes() == 0 {
		return nil, dataf("there are no dense features, which could lie in files of parts: train on the data as they are")
	}
	for _, source := range set.Sources {
		if filepath.Base(source.Path) == dataset.ManifestName {
			n.Manifest = dataset.ManifestName
			if n.Text, err = infile.Read(source.Path, "a description of data in JSON", infile.Text); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// CheckFolder refuses a folder to write a network into in which a file would be taken for one of the network.
func CheckFolder(dir string, n *parted.Network) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); (name == dataset.ManifestName || filepath.Ext(name) == ".npy" ||
			filepath.Ext(name) == ".npz") && !slices.Contains(n.Names(), name) {
			return usagef("{out} %s: it holds %s, which would be taken for a part of the network: remove it, or choose "+
				"another folder", dir, name)
		}
	}
	return nil
}

// partable says why a set cannot be partitioned.
func partable(set *dataset.Set) error {
	switch {
	case set.Recipe.Kind != dataset.KindNPZ:
		return dataf("these are %s data, and npz data are partitioned, such as a folder of arrays: train on them as they "+
			"are", set.Recipe.Kind)
	case len(set.Instances) != 1:
		return dataf("there are %d networks, and one is partitioned: train on them as they are; processes share networks "+
			"out", len(set.Instances))
	case len(set.Schema.NodeTypes) > 1 || len(set.Schema.EdgeTypes) > 1:
		return dataf("there are %d types of nodes and %d of edges, and networks with one of each are partitioned: train "+
			"on the data as they are", len(set.Schema.NodeTypes), len(set.Schema.EdgeTypes))
	}
	return nil
}

func denseOf(f *crf.Features) parted.Matrix {
	x := f.Data()
	return parted.Matrix{Columns: f.Dim(), Double: x.Double, Single: x.Single}
}

// wholeArrays are the arrays of a network that stay whole, but for its edges.
func wholeArrays(set *dataset.Set) []npy.Array {
	in := set.Instances[0]
	var arrays []npy.Array
	if len(set.Recipe.LabelNames) == 0 { // of names there are as many states as labels
		arrays = append(arrays, npy.ArrayOf("states", []int32{int32(set.Schema.NodeStates(0))}))
	}
	if labels := in.Samples(); len(labels) == 1 {
		arrays = append(arrays, npy.ArrayOf("labels", set.Labels(in, labels[0]), len(labels[0])))
	} else if len(labels) > 1 {
		arrays = append(arrays, npy.RowsOf("labels", func(row []int32, i int) { copy(row, set.Labels(in, labels[i])) },
			len(labels), len(labels[0])))
	}
	if in.Rows > 0 {
		arrays = append(arrays, npy.ArrayOf("grid_shape", []int32{int32(in.Rows), int32(in.Cols)}, 2))
	}
	if w := in.Weight(); w != 1 {
		arrays = append(arrays, npy.ArrayOf("weight", []float64{w}))
	}
	if len(set.Schema.EdgeTypes) > 0 {
		if x := in.EdgeFeatures(0).Data(); x.Bins != nil {
			arrays = append(arrays, npy.ArrayOf("edge_bins", x.Bins, len(x.Bins)))
		}
		if !set.Schema.EdgeTypes[0].Symmetric {
			arrays = append(arrays, npy.ArrayOf("directed", []int32{1}))
		}
		arrays = append(arrays, emptyFeatures(parted.EdgeFeatures, set.Recipe.EdgeForm, in.EdgeFeatures(0))...)
	}
	return append(arrays, emptyFeatures(parted.NodeFeatures, set.Recipe.NodeForm, in.NodeFeatures(0))...)
}

// emptyFeatures is an array of features that has no number: no part has any of it, but without it elements would
// be of the type that those have which are given no features.
func emptyFeatures(name, form string, f *crf.Features) []npy.Array {
	if form != dataset.FormDense || f.Rows()*f.Dim() > 0 {
		return nil
	}
	return []npy.Array{npy.ArrayOf(name, []float64{}, f.Rows(), f.Dim())}
}

func rowWeight(in *crf.Instance) float64 { return in.Weight() * float64(len(in.Samples())) }

// parts takes over how a network was partitioned, or has all features here where something else was asked for.
// What follows may look at features, unless later says that they come when the learner knows its part.
func (p *Prepared) parts() error {
	parts, o := PartsOf(p.Set), &p.Options
	rule, err := parseEdges(o.Edges)
	if parts == nil || err != nil {
		return err
	}
	if o.Method != learn.Auto && o.Method != learn.BBPL || o.Cut != (learn.Cut{}) || o.NoEdges || rule.makes() ||
		o.Physics != "" || p.mostHidden() || p.choosesByGraph() {
		return parts.Hold(0, parted.Sums)
	}
	if err := json.Unmarshal(parts.Found, &p.parted); err != nil {
		return dataf("%s does not say what was found when the data were partitioned: %v; partition them again",
			parted.Description, err)
	}
	in := p.Problem.Data[0]
	used := uses(in, parts)
	if !used || p.parted.Rows != rowWeight(in) {
		p.parted.Measured = nil
	}
	features := parts.Features()
	if o.Standardise {
		features += " on one scale"
	}
	cut := &parted.Cut{Of: parts.Of, Blocks: parts.Blocks, Part: parts.Part, Together: p.parted.Together,
		Features: features}
	p.Problem.Parted = cut
	if !used {
		return nil
	}
	if !p.Owned || o.Spill != "" || o.Standardise && p.parted.Measured == nil {
		return parts.Hold(0, parted.Sums)
	}
	if !parts.Here() {
		cut.Hold = func(from, to int) error { return parts.Hold(from, to) }
	}
	return nil
}

// uses reports whether features of a network are those that were partitioned: untied weights have others.
func uses(in *crf.Instance, parts *parted.Folder) bool {
	same := func(f *crf.Features, m *parted.Matrix) bool {
		return len(f.Data().Double) == len(m.Double) && len(f.Data().Single) == len(m.Single)
	}
	return same(in.NodeFeatures(0), &parts.Node) && (len(in.Schema().EdgeTypes) == 0 ||
		same(in.EdgeFeatures(0), &parts.Edge))
}

// later reports whether features come when the learner knows which ones it needs.
func (p *Prepared) later() bool { return p.cutBefore() != nil && p.cutBefore().Hold != nil }

// cutBefore is how the network was cut when it was partitioned; nil: that does not count.
func (p *Prepared) cutBefore() *parted.Cut {
	cut, _ := p.Problem.Parted.(*parted.Cut)
	return cut
}

// PartsOf are those of a set; nil: it has none.
func PartsOf(set *dataset.Set) *parted.Folder {
	if set == nil {
		return nil
	}
	parts, _ := set.Parts.(*parted.Folder)
	return parts
}

// diagnoseFeatures says what is wrong with features.
func (p *Prepared) diagnoseFeatures() []string {
	if p.later() || p.parted.Measured != nil && p.Options.Standardise {
		return slices.Clone(p.parted.Notes)
	}
	return diagnose.Features(p.Problem, p.Set.Recipe.Hops > 0)
}
