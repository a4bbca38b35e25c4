package dataset

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
)

// npzLoader turns instance files into a set.
type npzLoader struct {
	loader
	instances []*npzInstance
	pairs     string              // a table of the edges of samples; "": there is none
	labels    map[int]labelCounts // of each node type
	areSpins  bool                // labels were -1 and 1, and are numbered
	fewer     graphCache          // with the edges that a model keeps
	budget    *memory.Budget      // of reading
}

// at records a problem at a place in an instance's file.
func (l *npzLoader) at(in *npzInstance, place, remedy, format string, arguments ...any) {
	l.failAt(in.File, place, remedy, format, arguments...)
}

// loadNPZ reads a set of instance files.
func loadNPZ(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l := &npzLoader{loader: newLoader(ctx, o)}
	files := l.expand(paths)
	if len(files) == 0 && len(l.problems) == 0 {
		l.failAt(paths[0], "", "", "there are no instance files")
	}
	l.readFiles(files)
	if !o.Statistics {
		return l.finish()
	}
	if len(l.problems) == 0 && (len(l.instances) != 1 || l.instances[0].statistics == nil) {
		l.failAt(paths[0], edgeMeansArray, "", "the array is missing: want one npz file of means, with shape %s",
			statisticsArrays.Rule(edgeMeansArray).Shape)
		return nil, l.problems
	}
	return l.takeMeans(l.finish())
}

// finish makes schema, recipe and instances of what was read.
func (l *npzLoader) finish() (*Set, []error) {
	if len(l.instances) == 0 {
		return nil, l.problems
	}
	schema := l.learnSchema
	if l.o.Schema != nil {
		schema = l.adoptSchema
	}
	l.run(l.readLabels, l.untie, schema, l.checkStructure, l.typeEdges, l.build, l.askWhatHides)
	return l.result()
}

// npzFile is a file or an array folder, and what reads it.
type npzFile struct {
	path string
	read func(l *npzLoader, path string) []*npzInstance
}

// expand lists the instance files behind the paths and reads the manifests of their folders.
func (l *npzLoader) expand(paths []string) (files []npzFile) {
	var folders []string
	if l.o.readsSamples() {
		if i := slices.IndexFunc(paths, formats.IsPairs); i >= 0 && len(paths) > 1 {
			l.pairs, paths = paths[i], slices.Delete(slices.Clone(paths), i, i+1)
		}
	}
	if len(paths) == 1 && l.o.readsSamples() && formats.IsSamples(paths[0]) && l.pairs+l.o.Lattice == "" {
		if l.pairs = formats.EdgesBeside(paths[0]); l.pairs != "" {
			l.warn("edges are those of %s, which lies beside the samples", l.pairs)
		}
	}
	for _, path := range paths {
		folder, found, read := filepath.Dir(path), []string{path}, (*npzLoader).openNPZ
		_, noArrays := os.Stat(filepath.Join(path, edgesArray+".npy"))
		switch {
		case l.o.readsSamples() && formats.IsSamples(path):
			l.hiddenBy, read = missingCells, (*npzLoader).openSamples
		case l.o.Recipe == nil && l.o.ofSamples() != "":
			l.fail(l.o.notOfArrays(path))
		case noArrays == nil: // it is a folder with a file for each
			folder, read = path, (*npzLoader).openArrayFolder
		case strings.HasSuffix(path, ".npz"):
		default:
			var err error
			folder = path
			found, err = filesIn(path, func(name string) bool { return strings.HasSuffix(name, ".npz") })
			l.fail(err)
		}
		folders = append(folders, folder)
		files = append(files, numeric.Map(found, func(file string) npzFile { return npzFile{file, read} })...)
	}
	for _, folder := range folders {
		l.readManifest(folder, false)
	}
	return files
}

// readFiles reads and checks every file, and array folder, by itself.
func (l *npzLoader) readFiles(files []npzFile) {
	var graphs graphCache
	l.budget = memory.NewBudget(l.o.Memory)
	results := make([]*npzLoader, len(files)) // one for each, as they are read at the same time
	if !l.each(len(files), func(i int) {
		r := &npzLoader{loader: l.loader, pairs: l.pairs, budget: l.budget}
		r.set, r.problems, results[i] = &Set{}, nil, r
		r.open(files[i], &graphs)
	}) {
		return
	}
	for _, r := range results {
		l.set.files, l.set.Sources = append(l.set.files, r.set.files...), append(l.set.Sources, r.set.Sources...)
		l.problems, l.instances = append(l.problems, r.problems...), append(l.instances, r.instances...)
		l.set.Warnings = append(l.set.Warnings, r.set.Warnings...)
	}
}

// open reads an instance file, or the instances of an array folder, and checks each by itself.
func (l *npzLoader) open(file npzFile, graphs *graphCache) {
	for _, in := range file.read(l, file.path) {
		if parallel.Ended(l.ctx) != nil {
			return
		}
		problems := in.check(graphs)
		if l.fail(problems...); len(problems) == 0 {
			l.instances = append(l.instances, in)
		}
	}
}

// learnSchema finds types, states and features in training data.
func (l *npzLoader) learnSchema() {
	s, r, first := &l.set.Schema, &l.set.Recipe, l.instances[0]
	r.Kind, r.Untied, r.Spins, r.LabelNames = kindNPZ, l.o.Untied, l.o.Spins, slices.Sorted(maps.Keys(l.names))
	// An edge without features would have no potential at all.
	if r.NodeForm, r.EdgeForm = first.nodes.form(formNone), first.edges.form(formConstant); r.Untied {
		r.NodeForm, r.EdgeForm = formConstant, formConstant
	}
	for _, in := range l.instances {
		if !reflect.DeepEqual(in.samples, first.samples) {
			l.failAt(in.File, "columns", "write all samples into one table, or give {states}; a table of edges is called "+
				"NAME.edges.csv", "they, or their states, are not those of %s", first.File)
		}
	}
	if first.samples != nil {
		r.Columns, r.Pairs = first.samples.columns, first.samples.pairs
	}
	l.run(l.findDirection, func() { s.NodeTypes = l.nodeTypesOf() }, func() { s.EdgeTypes = l.edgeTypesOf(s.NodeTypes) },
		l.learnFeatures, l.completeSchema)
}

// adoptSchema takes types, states and features from a model and checks that the data go with it.
func (l *npzLoader) adoptSchema() {
	l.adoptModel()
	s := &l.set.Schema
	if !l.set.Recipe.Untied { // whose types are numbers of states
		l.compareNames()
	}
	for _, in := range l.instances {
		l.checkTypes(in, nodeTypesArray, in.nodes.types, len(s.NodeTypes))
		l.checkTypes(in, edgeTypesArray, in.edges.types, len(s.EdgeTypes))
	}
	l.run(func() {
		for a, t := range s.NodeTypes {
			l.givenStates(a, t.Name, len(t.States))
		}
		l.columns(nodeFeaturesArray, l.set.Recipe.NodeForm, formNone, nodesOf)
		l.columns(edgeFeaturesArray, l.set.Recipe.EdgeForm, formConstant, edgesOf)
	})
}

// build freezes the instances.
func (l *npzLoader) build() {
	s, r, edges := &l.set.Schema, &l.set.Recipe, crf.EdgeType{}
	if len(s.EdgeTypes) > 0 {
		edges = s.EdgeTypes[0]
	}
	for _, in := range l.instances {
		if err := parallel.Ended(l.ctx); err != nil {
			l.fail(err)
			return
		}
		before, spec := len(l.problems), &in.spec
		if len(r.Columns) > 0 && r.Columns[0].Name != "" {
			l.set.Names = append(l.set.Names, numeric.Map(r.Columns, func(c sampleColumn) string { return c.Name }))
		}
		if len(spec.SampleWeights) > 0 && numeric.Sum(spec.SampleWeights) == 0 {
			l.failAt(in.File, "", "", "all samples weigh 0: nothing is left to learn from")
			return
		}
		spec.NodeType, spec.EdgeType = in.nodes.types, in.edges.types
		spec.NodeFeat = l.features(in, &in.nodes, r.NodeForm, len(s.NodeTypes), s.NodeTypes[0].Features)
		spec.EdgeFeat = l.features(in, &in.edges, r.EdgeForm, len(s.EdgeTypes), edges.Features)
		for n := range spec.Labels {
			l.checkNumbers(s.NodeStates, in.numbered(n))
		}
		if len(l.problems) == before {
			l.freeze(in.File, *spec, nil)
		}
	}
}
