package dataset

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/npy"
)

// Names of the arrays of an instance file.
const (
	edgesArray        = "edges"
	nodeFeaturesArray = "node_features"
	edgeFeaturesArray = "edge_features"
	edgeBinsArray     = "edge_bins"
	labelsArray       = "labels"
	nodeTypesArray    = "node_types"
	edgeTypesArray    = "edge_types"
	gridShapeArray    = "grid_shape"
	statesArray       = "states"
	weightArray       = "weight"
	sampleWeights     = "sample_weights"
	directedArray     = "directed"
	sizesArray        = "sizes" // of an array folder: the numbers of nodes and edges of every instance
)

// side is what the first index of an array counts.
type side int

const (
	ofNodes side = iota
	ofEdges
	ofInstances // in an array folder of several; an instance file has one
	ofAll       // none: the array is for all instances
)

// arrayRule is what an array of a kind of file holds.
type arrayRule struct {
	name   string
	of     side
	float  bool   // floating-point numbers; else integers
	shape  string // or several, as people read them
	remedy string // of another shape
}

// arrayRules are the arrays that belong into a kind of file.
type arrayRules []arrayRule

var instanceArrays = arrayRules{
	{name: edgesArray, of: ofEdges, shape: "[m, 2]"},
	{name: nodeFeaturesArray, float: true, shape: "[n, features]", remedy: oneFeature},
	{name: edgeFeaturesArray, of: ofEdges, float: true, shape: "[m, features]", remedy: oneFeature},
	{name: edgeBinsArray, of: ofEdges, shape: "[m]"},
	{name: labelsArray, shape: "[n] or [samples, n]"},
	{name: nodeTypesArray, shape: "[n]"},
	{name: edgeTypesArray, of: ofEdges, shape: "[m]"},
	{name: gridShapeArray, of: ofInstances, shape: "[2]"},
	{name: statesArray, shape: "[] or [n]"},
	{name: weightArray, of: ofInstances, float: true, shape: "[] or [1]"},
	{name: sampleWeights, of: ofAll, float: true, shape: "[samples]"},
	{name: directedArray, of: ofAll, shape: "[]"},
}

// folderArrays are the arrays of an array folder.
var folderArrays = append(arrayRules{{name: sizesArray, of: ofInstances, shape: "[instances, 2]"}}, instanceArrays...)

// knownArrays are all that any of these files have.
var knownArrays = slices.Concat(folderArrays, statisticsArrays)

const oneFeature = "a single feature is x.reshape(-1, 1)"

// rule returns that of an array; nil: the array does not belong into such a file.
func (rules arrayRules) rule(array string) *arrayRule {
	if i := slices.IndexFunc(rules, func(r arrayRule) bool { return r.name == array }); i >= 0 {
		return &rules[i]
	}
	return nil
}

// fits reports whether an array has one of the shapes of its rule, in which numbers are lengths and words any length.
func (r *arrayRule) fits(shape []int) bool {
	return slices.ContainsFunc(strings.Split(r.shape, " or "), func(text string) bool {
		lengths := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("[, ]", c) })
		return slices.EqualFunc(shape, lengths, func(n int, length string) bool {
			want, err := strconv.Atoi(length)
			return err != nil || n == want
		})
	})
}

// npzContents are the arrays of one instance file as they were read.
type npzContents struct {
	arrays map[string]npy.Values
	// partial says that an array which belongs into the file could not be read: what the others look like without it is
	// no problem of theirs.
	partial bool
	nodes   int      // of an instance that was cut out of an array folder; else 0
	samples *samples // of a table or an alignment; nil: of arrays
}

// openNPZ reads a file with arrays of such rules, and its hash.
func openNPZ(path string, rules arrayRules, budget *memory.Budget) (*npzContents, Source, []error) {
	file, _, err := fileio.Open(path, "arrays in npz format")
	if err != nil {
		return nil, Source{}, []error{err}
	}
	defer file.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	if err != nil {
		return nil, Source{}, []error{err}
	}
	contents, list := readArchive(path, file, size, rules, budget)
	return contents, Source{Path: path, SHA256: fmt.Sprintf("%x", hash.Sum(nil)), Bytes: size}, list
}

// readArchive reads all arrays that belong into a kind of file, and reports everything that keeps one from being read.
func readArchive(
	path string, r io.ReaderAt, size int64, rules arrayRules, budget *memory.Budget,
) (*npzContents, []error) {
	p, c := &problems{file: path}, &npzContents{arrays: map[string]npy.Values{}}
	known := func(name string) (floats, ok bool) {
		rule := rules.rule(name)
		return rule != nil && rule.float, rule != nil
	}
	err := npy.ReadArchive(r, size, budget, known, func(name string, a npy.Values, err error) {
		c.take(p, rules, name, a, err)
	})
	if err != nil {
		p.add(0, "", "write it with numpy.savez or numpy.savez_compressed", "%v", err)
		return nil, p.errors()
	}
	return c, p.errors()
}

// take keeps an array that could be read.
func (c *npzContents) take(p *problems, rules arrayRules, name string, a npy.Values, err error) {
	switch {
	case errors.Is(err, npy.ErrUnknown):
		var names []string
		for _, r := range rules {
			names = append(names, r.name)
		}
		remedy := suggestion(name, names)
		if i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, "_"+name) }); i >= 0 {
			remedy = "did you mean " + strconv.Quote(names[i]) + "?"
		}
		if base, _, typed := strings.Cut(name, "."); typed && slices.Contains(names, base) {
			remedy = "give one array " + base + " for elements of all types, with zeros where a type lacks a feature"
		}
		p.add(0, name, remedy, "unknown array")
	case err != nil:
		c.partial = true
		p.keep(arrayError(p.file, name, err))
	default:
		if name == edgesArray && a.Len() == 0 {
			a.Shape = []int{0, 2}
		}
		c.arrays[name] = a
	}
}

func arrayError(path, array string, err error) *Error {
	var at *npy.ElementError
	if errors.As(err, &at) {
		return &Error{File: path, Place: array + at.Index, Problem: at.Problem}
	}
	problem, remedy, _ := strings.Cut(err.Error(), "; ")
	if array == labelsArray && errors.As(err, new(*npy.TypeError)) {
		problem += ": the number of each node's state, from 0; the names of the states go into " + ManifestName
	}
	return &Error{File: path, Place: array, Problem: problem, Remedy: remedy, Cause: err}
}

// isArrayFolder reports whether a folder has the arrays of instances, a file each.
func isArrayFolder(path string) bool {
	_, err := os.Stat(filepath.Join(path, edgesArray+".npy"))
	return err == nil
}

// openArrayFolder reads the arrays of a folder, and cuts them into those of its instances, which lie in files that are
// mapped.
func (r *opened) openArrayFolder(folder string, budget *memory.Budget) (parts []*npzContents) {
	p, all := &problems{file: folder}, &npzContents{arrays: map[string]npy.Values{}}
	limits := &npy.Limits{Budget: budget}
	entries, err := os.ReadDir(folder)
	p.keep(err)
	for _, e := range entries {
		name, isArray := strings.CutSuffix(e.Name(), ".npy")
		switch {
		case strings.HasPrefix(e.Name(), "."): // what systems keep beside files
		case strings.HasSuffix(e.Name(), ".npz"):
			p.add(0, e.Name(), "keep them in folders of their own", "instance files lie beside arrays of %s", edgesArray+".npy")
		case isArray && folderArrays.rule(name) == nil:
			all.take(p, folderArrays, name, npy.Values{}, npy.ErrUnknown)
		case isArray:
			a, err := r.readFile(filepath.Join(folder, e.Name()), name, limits)
			all.take(p, folderArrays, name, a, err)
		}
	}
	if len(p.list) == 0 {
		parts = all.cut(p)
	}
	r.list = p.errors()
	return parts
}

// readFile reads one array of a folder. Features that lie there as they are used stay in the file: instances share its
// memory, and keep it. Those who own the instances may change them, and not the file.
func (r *opened) readFile(path, name string, limits *npy.Limits) (a npy.Values, err error) {
	floats := folderArrays.rule(name).float
	file, err := fileio.Map(path, "an array of "+name, func(size int64) error {
		return limits.Budget.Take("reading "+path, float64(size))
	})
	if err != nil {
		return a, err
	}
	kept := false
	defer func() {
		if !kept {
			file.Close()
		}
	}()
	defer runtime.KeepAlive(file)
	r.sources = append(r.sources, sourceOf(path, file.Bytes()))
	h, raw, err := npy.Open(file.Bytes())
	if err != nil {
		return a, err
	}
	if kept = floats && h.InPlace(raw); kept {
		a = h.Floats(raw)
		a.Owner, r.files = file, append(r.files, file)
		return a, nil
	}
	if err := limits.Allow(h, floats, 0); err != nil {
		return a, err
	}
	return h.Values(raw, floats)
}

// cut cuts the arrays into those of the instances, as sizes says.
func (c *npzContents) cut(p *problems) []*npzContents {
	sizes, several := c.arrays[sizesArray]
	delete(c.arrays, sizesArray)
	if !several {
		return []*npzContents{c}
	}
	if rule := folderArrays.rule(sizesArray); !rule.fits(sizes.Shape) {
		p.add(0, sizesArray, "", "shape is %s, want %s, the numbers of nodes and edges of each", npy.ShapeText(sizes.Shape),
			rule.shape)
		return nil
	}
	if sizes.Rows() == 0 {
		p.add(0, sizesArray, "", "has no instances, want a row for each")
		return nil
	}
	var total, at [2]int
	for i, n := range sizes.Ints {
		if least := 1 - i%2; int(n) < least {
			p.add(0, sizesArray+npy.IndexText(sizes.Shape, i), "", "is %d, want at least "+[]string{"0 edges",
				"1 node"}[least], n)
			return nil
		}
		total[i%2] += int(n)
	}
	known := [3]string{sizesArray, sizesArray, sizesArray}
	if c.checkRows(p, [3]int{total[ofNodes], total[ofEdges], sizes.Rows()}, known, true); len(p.list) > 0 {
		return nil
	}
	list := make([]*npzContents, sizes.Rows())
	for i := range list {
		next := [2]int{at[0] + int(sizes.Ints[2*i]), at[1] + int(sizes.Ints[2*i+1])}
		list[i] = &npzContents{arrays: map[string]npy.Values{}, nodes: next[ofNodes] - at[ofNodes]}
		for name, a := range c.arrays {
			switch of := sideOf(name, &a); of {
			case ofNodes, ofEdges:
				a = a.Cut(at[of], next[of])
			case ofInstances:
				a = a.Cut(i, i+1)
				a.Shape = a.Shape[1:]
			}
			list[i].arrays[name] = a
		}
		at = next
	}
	return list
}

// sideOf is the side of an array: the number of states may be one for all nodes.
func sideOf(name string, a *npy.Values) side {
	if name == statesArray && (len(a.Shape) == 0 || a.Rows() == 1) {
		return ofAll
	}
	return knownArrays.rule(name).of
}

// checkRows checks that arrays have as many rows as there are nodes, edges or instances, as the arrays known have it;
// several says that they are those of several instances.
func (c *npzContents) checkRows(p *problems, counts [3]int, known [3]string, several bool) {
	for _, name := range slices.Sorted(maps.Keys(c.arrays)) {
		a, rows := c.arrays[name], math.MaxInt
		of, axis, remedy := sideOf(name, &a), "rows", ""
		if len(a.Shape) > 0 {
			rows = a.Rows()
		}
		if !several && name == labelsArray && len(a.Shape) == 2 { // of samples
			if rows == counts[of] {
				remedy = "a label is the number of a state, of one-hot rows labels.argmax(1); of samples in columns want labels.T"
			}
			rows, axis = a.Columns(), "columns"
		}
		switch {
		case several && name == labelsArray && len(a.Shape) == 2:
			p.add(0, name, "", "shape is %s, want [nodes]: of several instances each has one sample", npy.ShapeText(a.Shape))
		case of == ofAll, of == ofInstances && !several, rows == counts[of]:
		default:
			p.add(0, name, remedy, "shape is %s, want %d %s: %s has %d %s", npy.ShapeText(a.Shape), counts[of], axis, known[of],
				counts[of], [...]string{"nodes", "edges", "instances"}[of])
		}
	}
}
