package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/parallel"
)

// npzLoader turns instance files into a set.
type npzLoader struct {
	loader
	instances []*npzInstance
	labels    map[int]*labelSurvey // of each node type
	areSpins  bool                 // labels were -1 and 1, and are numbered
	names     map[int][]int32      // labels that are names of states, and are numbered, of node types
}

// at records a problem at a place in an instance's file.
func (l *npzLoader) at(in *npzInstance, place, remedy, format string, arguments ...any) {
	l.failAt(in.path, place, remedy, format, arguments...)
}

// loadNPZ reads a set of instance files.
func loadNPZ(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l := &npzLoader{loader: newLoader(ctx, o)}
	files := l.expand(paths)
	if len(files) == 0 && len(l.problems) == 0 {
		l.failAt(paths[0], "", "", "there are no instance files")
	}
	files = slices.DeleteFunc(files, func(file string) bool { return o.aside[file] })
	l.readFiles(files)
	return l.finish()
}

// finish makes schema, recipe and instances of what was read.
func (l *npzLoader) finish() (*Set, []error) {
	if len(l.instances) == 0 {
		return nil, l.problems
	}
	l.run(l.makeSet)
	return l.result()
}

func (l *npzLoader) makeSet() {
	if l.o.NoLabels {
		for _, in := range l.instances {
			for _, sample := range in.labels {
				l.skip(sample)
			}
			in.labels = nil
		}
	}
	if l.readLabels(); len(l.problems) > 0 {
		return
	}
	switch {
	case l.o.Untied || l.o.Recipe != nil && l.o.Recipe.Untied:
		l.loadUntied()
	case l.o.Schema != nil:
		l.adoptSchema()
		l.run(l.build)
	default:
		l.learnSchema()
		l.run(l.build)
	}
	l.run(func() { l.askWhatHides("") })
}

// expand lists the instance files behind the paths and reads the manifests of their folders.
func (l *npzLoader) expand(paths []string) []string {
	var files, folders []string
	addFolder := func(folder string) { folders = append(folders, folder) }
	for _, path := range paths {
		switch {
		case strings.HasSuffix(path, ".txt"), strings.HasSuffix(path, ".list"):
			addFolder(filepath.Dir(path))
			listed := l.expandList(path)
			files = append(files, listed...)
			for _, file := range listed {
				addFolder(filepath.Dir(file))
			}
		case strings.HasSuffix(path, ".npz"):
			addFolder(filepath.Dir(path))
			files = append(files, path)
		case isArrayFolder(path):
			addFolder(path)
			files = append(files, path)
		default:
			addFolder(path)
			found, err := filesIn(path, func(name string) bool { return strings.HasSuffix(name, ".npz") })
			if err != nil {
				l.fail(err)
			}
			files = append(files, found...)
		}
	}
	for _, folder := range folders {
		l.readManifest(folder, false)
	}
	return files
}

func (l *npzLoader) expandList(path string) []string {
	entries, source, list := readList(path, l.o.Memory)
	l.problems = append(l.problems, list...)
	l.set.Sources = append(l.set.Sources, source)
	var files []string
	for _, e := range entries {
		file := filepath.FromSlash(e.text)
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		_, err := os.Stat(file)
		switch {
		case !strings.HasSuffix(file, ".npz"):
			l.fail(&Error{File: path, Line: e.line, Problem: fmt.Sprintf("%q does not end in .npz", abbreviate(e.text)),
				Remedy: "a list of image ids goes with an image folder, with {list}"})
		case errors.Is(err, fs.ErrNotExist):
			l.fail(&Error{File: path, Line: e.line, Problem: "there is no file " + file,
				Remedy: "paths are relative to the list", Cause: err})
		default:
			files = append(files, file)
		}
	}
	return files
}

// opened is what an instance file or an array folder has.
type opened struct {
	instances []*npzInstance
	files     []*infile.Mapping // that arrays lie in
	sources   []Source
	list      []error
}

// readFiles reads and checks every file, and array folder, by itself.
func (l *npzLoader) readFiles(paths []string) {
	var graphs graphCache
	budget := memory.NewBudget(l.o.Memory)
	results := make([]opened, len(paths))
	if !l.each(len(paths), func(i int) { l.open(&results[i], paths[i], budget, &graphs) }) {
		return
	}
	for _, r := range results {
		l.set.files, l.set.Sources = append(l.set.files, r.files...), append(l.set.Sources, r.sources...)
		l.problems, l.instances = append(l.problems, r.list...), append(l.instances, r.instances...)
	}
}

// open reads an instance file, or the instances of an array folder, and checks each by itself.
func (l *npzLoader) open(r *opened, path string, budget *memory.Budget, graphs *graphCache) {
	var parts []*npzContents
	if isArrayFolder(path) {
		parts, r.files, r.sources, r.list = openArrayFolder(path, budget)
	} else {
		contents, source, list := openNPZ(l.ctx, path, budget)
		if r.sources, r.list = []Source{source}, list; contents != nil && !contents.partial {
			parts = []*npzContents{contents}
		}
	}
	for i, c := range parts {
		if parallel.Ended(l.ctx) != nil {
			return
		}
		of := path
		if c.nodes > 0 { // it is one of several
			of = fmt.Sprintf("%s[%d]", path, i)
		}
		in, problems := newNPZInstance(of, c, graphs)
		if in != nil && c.nodes > 0 {
			in.name = strconv.Itoa(i)
		}
		r.instances, r.list = append(r.instances, in), append(r.list, problems...)
	}
}

// learnSchema finds types, states and features in training data.
func (l *npzLoader) learnSchema() {
	s := &l.set.Schema
	l.run(
		l.findDirection,
		func() { s.NodeTypes = l.nodeTypesOf() },
		func() { s.EdgeTypes = l.edgeTypesOf(s.NodeTypes) },
		func() {
			for _, in := range l.instances {
				in.edges.types = l.edgeTypesFor(in)
			}
			l.set.Recipe = Recipe{
				Kind: KindNPZ, NodeForm: nodeForm(l.instances[0]), EdgeForm: edgeForm(l.instances[0]),
				LabelNames: slices.Sorted(maps.Keys(l.names)),
			}
			l.checkForms()
			l.direct(s)
		},
		l.noteBothWays, l.checkFeatures, l.learnFeatures, l.completeSchema)
}

// learnFeatures adds the lengths and names of the feature vectors to the schema.
func (l *npzLoader) learnFeatures() {
	s := &l.set.Schema
	nodes, edges := l.sides()
	nodeDims, edgeDims := l.dims(nodes), slices.Repeat([]int{1}, len(s.EdgeTypes))
	for a, dim := range nodeDims {
		t, names := &s.NodeTypes[a], l.manifest.NodeFeatures
		if dim == 0 && slices.Max(nodeDims) > 0 {
			l.warn("node type %q has no features, and so no preference for any of its states; for a prior give it a column of "+
				"ones, %s.%s", t.Name, nodeFeaturesArray, t.Name)
		}
		if a < len(l.manifest.NodeTypes) && l.manifest.NodeTypes[a].Features != nil {
			names = l.manifest.NodeTypes[a].Features
		}
		t.Features, t.FeatureNames = dim, l.namesFor(names, dim, t.Name)
	}
	switch l.set.Recipe.EdgeForm {
	case FormBins:
		edgeDims = l.binCounts()
	case FormDense:
		edgeDims = l.dims(edges)
	}
	for b, dim := range edgeDims {
		t, names := &s.EdgeTypes[b], l.manifest.EdgeFeatures
		if b < len(l.manifest.EdgeTypes) && l.manifest.EdgeTypes[b].Features != nil {
			names = l.manifest.EdgeTypes[b].Features
		}
		if l.set.Recipe.EdgeForm == FormConstant {
			names = []string{FormConstant}
		}
		t.Features, t.FeatureNames = dim, l.namesFor(names, dim, t.Name)
	}
}

// namesFor checks the number of feature names for a type.
func (l *npzLoader) namesFor(names []string, dim int, kind string) []string {
	if len(names) > 0 && dim > 0 && len(names) != dim {
		l.mistold = append(l.mistold, &Error{File: l.manifestPath,
			Problem: fmt.Sprintf("it names %d features for type %q, the data have %d", len(names), kind, dim)})
		return nil
	}
	if dim == 0 {
		return nil
	}
	return names
}

// nodeForm says where an instance's node features come from.
func nodeForm(in *npzInstance) string {
	if len(in.nodes.features) == 0 {
		return FormNone
	}
	return FormDense
}

// edgeForm says where an instance's edge features come from. An edge without
// features would have no potential at all, so it gets the constant one.
func edgeForm(in *npzInstance) string {
	switch {
	case in.edges.features[""].ints != nil:
		return FormBins
	case len(in.edges.features) > 0:
		return FormDense
	}
	return FormConstant
}

// formArrays name the arrays of a form for a message.
func formArrays(form, array string) string {
	switch form {
	case FormBins:
		return edgeBinsArray
	case FormDense:
		return array
	}
	return "no " + array
}

// checkForms checks that every instance has the arrays that the recipe is for.
func (l *npzLoader) checkForms() {
	other := "the model was trained with"
	if l.o.Recipe == nil && len(l.instances) > 0 {
		other = l.instances[0].path + " has"
	}
	check := func(in *npzInstance, array, got, want string) {
		if got != want {
			l.at(in, "", "every instance needs the same arrays", "it has %s, %s %s", formArrays(got, array), other,
				formArrays(want, array))
		}
	}
	for _, in := range l.instances {
		check(in, nodeFeaturesArray, nodeForm(in), l.set.Recipe.NodeForm)
		check(in, edgeFeaturesArray, edgeForm(in), l.set.Recipe.EdgeForm)
	}
}

// adoptSchema takes types, states and features from a model and checks that the data go with it.
func (l *npzLoader) adoptSchema() {
	l.adoptModel()
	l.compareNames()
	s := &l.set.Schema
	for _, in := range l.instances {
		l.checkTypes(in, nodeTypesArray, in.nodes.types, len(s.NodeTypes))
		l.checkTypes(in, edgeTypesArray, in.edges.types, len(s.EdgeTypes))
		if in.edges.count > 0 && len(s.EdgeTypes) == 0 {
			l.at(in, edgesArray, "", "there are %d edges, but the model has no edge type", in.edges.count)
		}
	}
	if len(l.problems) > 0 {
		return
	}
	for _, in := range l.instances {
		l.checkStates(in)
		in.edges.types = l.edgeTypesFor(in)
	}
	l.checkForms()
	l.run(l.noteBothWays, l.checkFeatures)
}

// checkStates compares the array states with the schema.
func (l *npzLoader) checkStates(in *npzInstance) {
	for s := range in.nodes.count {
		k, want := in.statesAt(s), l.set.Schema.NodeStates(in.nodes.typeOf(s))
		if k != 0 && k != want {
			l.at(in, in.statesPlace(s), "", "is %d, the model has %d states for node type %q", k, want,
				l.set.Schema.NodeTypes[in.nodes.typeOf(s)].Name)
			return
		}
	}
}

// build freezes the instances of a tied schema.
func (l *npzLoader) build() {
	nodes, edges := l.sides()
	for _, in := range l.instances {
		if err := parallel.Ended(l.ctx); err != nil {
			l.fail(err)
			return
		}
		before := len(l.problems)
		l.freezeNPZ(in, crf.InstanceSpec{
			NodeFeat: l.features(nodes, in, l.set.Recipe.NodeForm), EdgeFeat: l.features(edges, in, l.set.Recipe.EdgeForm),
		}, before)
	}
}

// freezeNPZ makes an instance unless there are more problems than before it.
func (l *npzLoader) freezeNPZ(in *npzInstance, spec crf.InstanceSpec, before int) {
	for n := range in.labels {
		l.checkNumbers("", l.set.Schema.NodeStates, in.numbered(n))
	}
	if len(l.problems) > before {
		return
	}
	spec.Name, spec.Graph, spec.Labels, spec.NodeType, spec.EdgeType = in.name, in.graph, in.labels, in.nodes.types,
		in.edges.types
	spec.Rows, spec.Cols, spec.Weight = in.rows, in.cols, in.weight
	l.freeze(in.path, spec, nil)
}
