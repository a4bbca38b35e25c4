package dataset

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Names of the arrays of an instance file.
const (
	edgesArray        = npy.Edges
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

var edgesRule = npy.Rule{Name: edgesArray, Shape: "[m, 2]", Turned: "turn it round, by edges.T",
	Missing: "those of a matrix A are numpy.argwhere(numpy.triu(A + A.T, 1)), all pairs those of numpy.ones((n, n)), " +
		"and those of a chain numpy.c_[:n - 1, 1:n]; or give grid_shape, which joins neighbours"}

// instanceArrays are the arrays of an instance: n nodes and m edges.
var instanceArrays = npy.Rules{
	edgesRule,
	features(nodeFeaturesArray, "[n, features]"),
	features(edgeFeaturesArray, "[m, features]"),
	{Name: edgeBinsArray, Shape: "[m]", Range: fmt.Sprintf("0 to %d", mostFeatures-1)},
	{Name: labelsArray, Shape: "[n] or [samples, n]", Several: "[n]",
		Turned: "a label is the number of a state, of one-hot rows labels.argmax(1); of samples in columns want labels.T"},
	{Name: nodeTypesArray, Shape: "[n]", Range: ofTypes},
	{Name: edgeTypesArray, Shape: "[m]", Range: ofTypes},
	{Name: gridShapeArray, Shape: "[2]", Several: "[instances, 2]"},
	{Name: statesArray, Shape: "[] or [1] or [n]", Range: fmt.Sprintf("1 to %d", mostStates)},
	{Name: weightArray, Float: true, Shape: "[] or [1]", Several: "[instances]", Range: numeric.Range,
		Beyond: "leave the file out if it is not to count"},
	{Name: sampleWeights, Float: true, Shape: "[samples]", Range: "0 to 1e150"},
	directedRule,
}

var ofTypes = fmt.Sprintf("0 to %d", mostTypes-1)

var directedRule = npy.Rule{Name: directedArray, Shape: "[]", Range: "0 to 1",
	Beyond: "1 says that edges lead from their first end to the second"}

// severalArrays are those of an array folder of several instances, row after row. Numbers are looked at in each.
var severalArrays = append(npy.Rules{{Name: sizesArray, Shape: "[instances, 2]",
	Remedy: "a row has the numbers of nodes and edges of an instance"}},
	numeric.Map(instanceArrays, func(r npy.Rule) npy.Rule {
		if r.Range = ""; r.Several != "" {
			r.Shape, r.Remedy = r.Several, "of several instances each has one sample, weight and grid"
		}
		return r
	})...)

func features(name, shape string) npy.Rule {
	return npy.Rule{Name: name, Float: true, Shape: shape, Is: "feature ",
		Remedy: "a single feature is x.reshape(-1, 1), and those of a grid are x.reshape(-1, x.shape[-1])",
		Range:  "-1e150 to 1e150",
		Beyond: "leave no NaN, and rescale what is larger, for example to a standard deviation of 1"}
}

// openNPZ reads a file of arrays.
func (l *npzLoader) openNPZ(path string) []*npzInstance {
	in, hash := arraysAt(path), sha256.New()
	if l.o.Statistics {
		in.Rules = statisticsArrays
	}
	file, size, err := fileio.Open(path, "arrays in npz format")
	if err == nil {
		defer file.Close()
		size, err = io.Copy(hash, file)
	}
	if in.Keep(err); err != nil {
		in.Partial = true
	} else {
		l.set.Sources = []Source{{Path: path, SHA256: fmt.Sprintf("%x", hash.Sum(nil)), Bytes: size}}
		in.ReadArchive(file, size, l.budget)
	}
	return []*npzInstance{in}
}

// arraysAt are those of an instance, of which there are none yet.
func arraysAt(path string) *npzInstance {
	return &npzInstance{Set: npy.Set{Problems: option.Problems{File: path}, Rules: instanceArrays}}
}

// openArrayFolder reads the arrays of a folder, and cuts them into those of its instances, which lie in files that are
// mapped; the set closes all of them.
func (l *npzLoader) openArrayFolder(folder string) (parts []*npzInstance) {
	all := arraysAt(folder)
	all.Rules = severalArrays
	for _, f := range all.ReadFolder(l.budget) {
		l.set.files, l.set.Sources = append(l.set.files, f.Mapping), append(l.set.Sources, sourceOf(f.Path, f.Bytes()))
	}
	if len(all.List) == 0 && all.Has(sizesArray) {
		parts = all.cut()
	}
	if all.Partial = len(all.List) > 0; parts == nil {
		all.Rules, parts = instanceArrays, []*npzInstance{all}
	}
	return parts
}

// cut cuts arrays into those of the instances, as sizes says, unless something is wrong with them.
func (in *npzInstance) cut() (list []*npzInstance) {
	sizes := in.Arrays[sizesArray]
	total := map[string]int{"instances": len(sizes.Ints) / 2}
	for i, n := range sizes.Ints {
		if least := 1 - i%2; int(n) < least {
			in.Add(0, sizesArray+npy.IndexText(sizes.Shape, i), "", "is %d, want at least "+[]string{"0 edges",
				"1 node"}[least], n)
			return nil
		}
		total[[2]string{"n", "m"}[i%2]] += int(n)
	}
	if len(sizes.Ints) == 0 {
		in.Add(0, sizesArray, "", "has no instances, want a row for each")
	}
	known := map[string]npy.Count{}
	for word, n := range total {
		known[word] = npy.Count{Of: n, Told: sizesArray}
	}
	if in.Check(known); len(in.List) > 0 {
		return nil
	}
	delete(in.Arrays, sizesArray)
	at := map[string]int{}
	for i := range total["instances"] {
		n := int(sizes.Ints[2*i])
		next := map[string]int{"n": at["n"] + n, "m": at["m"] + int(sizes.Ints[2*i+1]), "instances": i + 1}
		part := arraysAt(fmt.Sprintf("%s[%d]", in.File, i))
		part.Arrays, part.spec.Name, part.ofFolder = in.Cut(at, next), strconv.Itoa(i), n
		list, at = append(list, part), next
	}
	return list
}
