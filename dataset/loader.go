package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
)

// loader is what reading every kind of data has in common: a set in the making, the
// dataset.json beside the data, and what is wrong with them.
type loader struct {
	ctx           context.Context
	o             *Options
	set           *Set
	manifest      Manifest
	manifestPath  string
	manifestSum   string          // its SHA-256
	described     map[string]bool // folders whose dataset.json was looked for
	problems      []error
	mistold       []error                 // what dataset.json says wrongly: no reason to stop
	directed      bool                    // so says an array of the data
	tied          bool                    // an array says that edges are not
	edges, steps  int                     // of all networks, and how many lead on: see chain
	noted         bool                    // that edges are directed for that
	hiddenBy      string                  // how labels are hidden; "": as those of the kind of data are
	known, unread int                     // nodes whose labels are left unread: known ones, and all
	numbers       []numbered              // labels that are numbers
	names         map[int][]int32         // those that are names of states, and are numbered, of node types
	turned        map[*graph.Graph][]bool // [edge] its ends are the other way round in the table
}

func newLoader(ctx context.Context, o *Options) loader {
	return loader{ctx: ctx, o: o, set: &Set{}, described: map[string]bool{}, turned: map[*graph.Graph][]bool{}}
}

// fail records problems; an error that is nil is none.
func (l *loader) fail(errs ...error) {
	l.problems = append(l.problems, slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })...)
}

// failAt records a problem of a file, at a place or "" for all of it.
func (l *loader) failAt(file, place, remedy, format string, arguments ...any) {
	l.fail(option.At(file, 0, place, remedy, format, arguments...))
}

func (l *loader) warn(format string, arguments ...any) {
	l.set.Warnings = append(l.set.Warnings, fmt.Sprintf(format, option.Literals(format, arguments)...))
}

// run takes the steps of reading until one has found something wrong, or the context has ended.
func (l *loader) run(steps ...func()) {
	for _, step := range steps {
		if len(l.problems) > 0 || parallel.Ended(l.ctx) != nil {
			return
		}
		step()
	}
}

// each calls work for every file, on all processors, until the context ends.
func (l *loader) each(n int, work func(i int)) (done bool) {
	err := parallel.Each(l.ctx, n, runtime.GOMAXPROCS(0), work)
	l.fail(err)
	return err == nil
}

// result is what reading ends with.
func (l *loader) result() (*Set, []error) {
	if l.fail(l.mistold...); len(l.problems) > 0 {
		return nil, l.problems
	}
	if l.compareScales(); l.o.Schema == nil || l.o.Learning {
		l.advise()
	}
	read := map[string]bool{}
	for _, s := range l.set.Sources {
		path := filepath.Clean(s.Path)
		if read[path] {
			l.warn("%s is read twice, and counts twice: name it once", path)
			break
		}
		read[path] = true
	}
	if l.known > 0 && l.known < l.unread {
		l.warn("the labels of %d of %d nodes are known, and not used because of {clamp!a missing --clamp}", l.known, l.unread)
	}
	return l.set, nil
}

// readManifest reads the dataset.json of a folder, if there is one; where several folders have one, they must be the
// same. plain data have neither types nor edge features to be described.
func (l *loader) readManifest(folder string, plain bool) {
	if l.described[folder] {
		return
	}
	l.described[folder] = true
	path := filepath.Join(folder, ManifestName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return
	}
	data := l.source(path, "a description of data in JSON", smallText)
	if data == nil {
		return
	}
	m, err := parseManifest(path, data)
	if err != nil {
		l.fail(err)
		return
	}
	sum := l.set.Sources[len(l.set.Sources)-1].SHA256
	if l.manifestSum != "" && l.manifestSum != sum {
		l.failAt(path, "", "read data of one kind at a time, or make the two the same", "it differs from %s", l.manifestPath)
		return
	}
	if field := m.ofTypes(); plain && field != "" {
		l.failAt(path, field, "remove it", "it applies to npz data only")
	}
	l.manifest, l.manifestPath, l.manifestSum = m, path, sum
}

// adoptModel takes schema and recipe from the model and compares what is forbidden with dataset.json.
func (l *loader) adoptModel() {
	l.set.Schema, l.set.Recipe = *l.o.Schema, *l.o.Recipe
	l.mistold = append(l.mistold, l.o.compareMask(&l.manifest, l.manifestPath, l.set)...)
}

// compareNames checks that dataset.json does not name other types, states or features than the model has: what the
// arrays number would mean something else. States of the options replace those of dataset.json, as in training.
func (l *loader) compareNames() {
	m, s, recipe := &l.manifest, &l.set.Schema, &l.set.Recipe
	compare := func(what, of string, named, model []string) {
		if problem := contradiction(named, model); problem != "" {
			l.failAt(l.manifestPath, what, "", "%s%s", problem, of)
		}
	}
	var nodes, edges []string
	for a, t := range s.NodeTypes {
		of, given := fmt.Sprintf(" for node type %q", t.Name), t.FeatureNames
		if nodes = append(nodes, t.Name); len(l.o.States) == 0 {
			compare("states", of, m.node(a).States, t.States)
		}
		if recipe.Kind != kindNPZ && len(given) >= recipe.FeatureDim {
			given = given[:recipe.FeatureDim] // without those that are added
		}
		compare("node_features", of, m.node(a).Features, given)
	}
	for b, t := range s.EdgeTypes {
		if edges = append(edges, t.Name); recipe.EdgeForm == formDense {
			compare("edge_features", fmt.Sprintf(" for edge type %q", t.Name), m.edge(b).Features, t.FeatureNames)
		}
	}
	// A single type may have no name, and of those that do not occur nothing is said.
	names := func(what string, types []ManifestType, model []string) {
		if both := min(len(types), len(model)); len(model) > 1 {
			compare(what, "", namesOf(types[:both]), model[:both])
		}
	}
	names("node_types", m.NodeTypes, nodes)
	names("edge_types", m.EdgeTypes, edges)
}

// bias reports whether a constant feature is last.
func (l *loader) bias() bool {
	return l.o.Recipe == nil && !l.o.NoBias || l.o.Recipe != nil && l.o.Recipe.Bias
}

// namedStates are the states that the options or dataset.json name for a node type, and which of the two does.
func (l *loader) namedStates(a int) (names []string, where string) {
	if len(l.o.States) > 0 {
		return l.o.States, "{states}"
	}
	return l.manifest.node(a).States, option.Literal(l.manifestPath)
}

// completeSchema puts what the manifest forbids into a schema made for training data, and
// says which edges have no direction.
func (l *loader) completeSchema() {
	s := &l.set.Schema
	if l.checkWeights(); len(l.problems) > 0 {
		return
	}
	l.direct(s)
	l.set.Recipe.About = l.manifest.About
	l.mistold = append(l.mistold, l.manifest.forbid(s, l.manifestPath)...)
	l.fail(option.OfFile(l.manifestPath, s.Validate()))
}

// freeze adds an instance made of sound data: what is left to be found wrong is a misfit with the schema, or a label
// that it forbids. lines are those of nodes; nil: nodes have none.
func (l *loader) freeze(file string, spec crf.InstanceSpec, lines []int32) {
	in, err := crf.NewInstance(&l.set.Schema, spec)
	problem := &option.Error{File: file}
	// Data to use a model on may have labels that it forbids; they are impossible then.
	if err == nil && (l.o.Schema == nil || l.o.Learning) {
		err = in.CheckLabels(in.Schema())
		by := map[bool]string{true: ManifestName, false: "the model"}[l.o.Schema == nil]
		problem.Remedy = "correct the labels, or what " + by + " forbids"
	}
	if err == nil {
		l.set.Instances = append(l.set.Instances, in)
		return
	}
	problem.Problem, problem.Cause = err.Error(), err
	if at := (*crf.Error)(nil); errors.As(err, &at) && in == nil {
		problem.Place, problem.Problem = at.Array, at.Reason
	} else if at != nil && lines != nil {
		n := int32(at.Index[len(at.Index)-1]) // a node, or an edge, which its second end stands for
		if len(at.Index) == 1 {
			n = in.Graph.V(n)
		}
		problem.Line, problem.Problem = int(lines[n]), at.Reason
	}
	l.fail(problem)
}

// checkWeights refuses a schema whose weights alone are more than memory is allowed for, before they are made.
func (l *loader) checkWeights() {
	s, weights, states, features := &l.set.Schema, 0.0, 0, 0
	for _, t := range s.NodeTypes {
		states, features = max(states, len(t.States)), max(features, t.Features)
		weights += float64(len(t.States)) * float64(t.Features) * float64(max(1, t.Copies))
	}
	for b, t := range s.EdgeTypes {
		u, v := s.EdgeStates(b)
		features = max(features, t.Features)
		weights += float64(u) * float64(v) * float64(t.Features) * float64(max(1, t.Copies))
	}
	file := l.manifestPath
	if len(l.set.Sources) > 0 {
		file = l.set.Sources[0].Path
	}
	const name = 48 // bytes, of each feature
	l.allow(file, fmt.Sprintf("a model of these data, of %.3g weights,", weights), 8*weights+name*float64(features),
		func() string { return fmt.Sprintf("types have up to %d states and %d features", states, features) })
}

// allow fails where something that a file asks for would take more memory than is allowed; cause, or nil, says why.
func (l *loader) allow(file, what string, bytes float64, cause func() string) {
	if err, ok := memory.Check(what, bytes, l.o.Memory).(*memory.Error); ok {
		if cause != nil {
			err.Reason = cause()
		}
		l.fail(option.OfFile(file, err))
	}
}
