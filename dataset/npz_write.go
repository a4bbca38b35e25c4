package dataset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/blockbp/blockbp/internal/npy"
)

// Arrays are the arrays of an instance, for an instance file or as they are. Only
// Edges is required; what is nil is left out.
type Arrays struct {
	Name         string     // of the instance, not written; "": its number
	Edges        [][2]int32 // [m]
	NodeFeatures *Matrix    // [n, d]
	EdgeFeatures *Matrix    // [m, d]; or else EdgeBins
	EdgeBins     []int32    // [m]
	Labels       [][]int32  // [samples][n]; one sample is written as [n]
	NodeTypes    []int32    // [n]
	EdgeTypes    []int32    // [m]
	GridShape    [2]int     // rows, columns; zero for no grid
	States       []int32    // [n], or one entry for all nodes
	Weight       float64    // of the samples in learning; 0: not written, which means 1
	Directed     bool       // edges lead from their first end to the second; false: not written
}

// Matrix holds features row by row: Data[r*Columns+c].
type Matrix struct {
	Columns int
	Data    []float64
}

// FromArrays makes a data set of instances in memory. They are checked, numbered and named as Open does with instance
// files that hold these arrays beside a dataset.json with the content of m.
func FromArrays(m Manifest, o Options, instances ...*Arrays) (*Set, error) {
	if err := o.validate(kindNPZ); err != nil {
		return nil, public(err)
	}
	if o.ofSamples() != "" {
		return nil, public(o.notOfArrays("instances"))
	}
	if problem := m.validate(); problem != "" {
		return nil, &Error{File: ManifestName, Problem: problem}
	}
	l := &npzLoader{loader: newLoader(context.Background(), &o)}
	l.manifest, l.manifestPath = m, ManifestName
	files := make([]npzFile, len(instances))
	for i, a := range instances {
		read := func(_ *npzLoader, name string) []*npzInstance { return []*npzInstance{a.arrays(name)} }
		files[i] = npzFile{cmp.Or(a.Name, strconv.Itoa(i)), read}
	}
	if l.readFiles(files); len(instances) == 0 {
		return nil, &Error{Option: "instances", Problem: "no data are given"}
	}
	set, list := told(l.finish())
	return set, firstOf(list)
}

// WriteFile writes an instance file that Open and numpy.load read, whole or not at all. The same arrays give the same
// bytes. Arrays that do not fit together are reported as *Error, as reading the file would.
func (a *Arrays) WriteFile(path string) error {
	in := a.arrays(path)
	if _, problems := told(nil, in.check(&graphCache{})); len(problems) > 0 {
		return firstOf(problems)
	}
	return npy.WriteArchive(path, in.written()...)
}

// written are the arrays on their way into a file.
func (in *npzInstance) written() (arrays []npy.Array) {
	for _, rule := range in.Rules {
		if x, ok := in.Arrays[rule.Name]; ok && rule.Float {
			arrays = append(arrays, npy.ArrayOf(rule.Name, x.Double, x.Shape...))
		} else if ok {
			arrays = append(arrays, npy.ArrayOf(rule.Name, x.Ints, x.Shape...))
		}
	}
	return arrays
}

// arrays are as reading the file gives them.
func (a *Arrays) arrays(path string) *npzInstance {
	list := func(x []int32) npy.Values { return npy.Values{Shape: []int{len(x)}, Ints: x} }
	in, ends := arraysAt(path), []int32{}
	for _, e := range a.Edges {
		ends = append(ends, e[:]...)
	}
	in.spec.Name, in.Arrays = path, map[string]npy.Values{
		edgesArray:    {Shape: []int{len(a.Edges), 2}, Ints: ends},
		edgeBinsArray: list(a.EdgeBins), nodeTypesArray: list(a.NodeTypes), edgeTypesArray: list(a.EdgeTypes),
		statesArray: list(a.States), labelsArray: list(slices.Concat(a.Labels...)),
	}
	maps.DeleteFunc(in.Arrays, func(_ string, x npy.Values) bool { return x.Ints == nil })
	if len(a.States) == 1 {
		in.Arrays[statesArray] = npy.Values{Ints: a.States}
	}
	if a.Directed {
		in.Arrays[directedArray] = npy.Values{Ints: []int32{1}}
	}
	if a.GridShape != [2]int{} {
		in.Arrays[gridShapeArray] = list([]int32{int32(a.GridShape[0]), int32(a.GridShape[1])})
	}
	if a.Weight != 0 {
		in.Arrays[weightArray] = npy.Values{Double: []float64{a.Weight}}
	}
	for i, sample := range a.Labels {
		if n := len(a.Labels[0]); len(sample) != n {
			in.Add(0, fmt.Sprintf("%s[%d]", labelsArray, i), "", "it has %d entries, the first sample has %d", len(sample), n)
		}
	}
	if n := len(a.Labels); n > 1 { // one sample alone has one axis
		in.Arrays[labelsArray] = npy.Values{Shape: []int{n, len(a.Labels[0])}, Ints: in.Arrays[labelsArray].Ints}
	}
	for i, m := range []*Matrix{a.NodeFeatures, a.EdgeFeatures} {
		name := []string{nodeFeaturesArray, edgeFeaturesArray}[i]
		if m != nil && (m.Columns < 1 || len(m.Data)%m.Columns != 0) {
			in.Add(0, name, "", "%d values do not divide into rows of %d", len(m.Data), m.Columns)
		} else if m != nil {
			in.Arrays[name] = npy.Values{Shape: []int{len(m.Data) / m.Columns, m.Columns}, Double: m.Data}
		}
	}
	in.Partial = len(in.List) > 0
	return in
}
