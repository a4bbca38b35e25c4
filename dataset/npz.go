package dataset

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/memory"
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
	{Name: labelsArray, Shape: "[n] or [samples, n]",
		Turned: "a label is the number of a state, of one-hot rows labels.argmax(1); of samples in columns want labels.T"},
	{Name: nodeTypesArray, Shape: "[n]", Range: ofTypes},
	{Name: edgeTypesArray, Shape: "[m]", Range: ofTypes},
	{Name: gridShapeArray, Shape: "[2]"},
	{Name: statesArray, Shape: "[] or [1] or [n]", Range: fmt.Sprintf("1 to %d", mostStates)},
	{Name: weightArray, Float: true, Shape: "[] or [1]", Range: numeric.Range,
		Beyond: "leave the file out if it is not to count"},
	{Name: sampleWeights, Float: true, Shape: "[samples]", Range: "0 to 1e150"},
	directedRule,
}

var ofTypes = fmt.Sprintf("0 to %d", mostTypes-1)

var directedRule = npy.Rule{Name: directedArray, Shape: "[]", Range: "0 to 1",
	Beyond: "1 says that edges lead from their first end to the second"}

// severalArrays are those of an array folder of several instances, row after row, of which each has one sample.
var severalArrays = func() npy.Rules {
	rules := append(npy.Rules{{Name: sizesArray, Shape: "[instances, 2]",
		Remedy: "a row has the numbers of nodes and edges of an instance"}}, instanceArrays...)
	for name, shape := range map[string]string{labelsArray: "[n]", gridShapeArray: "[instances, 2]",
		weightArray: "[instances]"} {
		rules.Rule(name).Shape = shape
	}
	rules.Rule(labelsArray).Remedy = "of several instances each has one sample"
	for i := range rules { // numbers are looked at in each
		rules[i].Range = ""
	}
	return rules
}()

func features(name, shape string) npy.Rule {
	return npy.Rule{Name: name, Float: true, Shape: shape, Is: "feature ",
		Remedy: "a single feature is x.reshape(-1, 1), and those of a grid are x.reshape(-1, x.shape[-1])",
		Range:  "-1e150 to 1e150",
		Beyond: "leave no NaN, and rescale what is larger, for example to a standard deviation of 1"}
}

// openNPZ reads a file of arrays.
func (l *npzLoader) openNPZ(r *opened, path string) []*npzInstance {
	rules, hash := instanceArrays, sha256.New()
	if l.o.Statistics {
		rules = statisticsArrays
	}
	file, size, err := fileio.Open(path, "arrays in npz format")
	if err == nil {
		defer file.Close()
		size, err = io.Copy(hash, file)
	}
	if err != nil {
		r.fail(err)
		return nil
	}
	r.set.Sources = []Source{{Path: path, SHA256: fmt.Sprintf("%x", hash.Sum(nil)), Bytes: size}}
	in, list := readArchive(path, file, size, rules, l.budget)
	if r.fail(list...); in == nil {
		return nil
	}
	return []*npzInstance{in}
}

// readArchive reads all arrays that belong into a kind of file, and reports everything that keeps one from being read;
// nil: what the others look like without one that cannot be read is no problem of theirs.
func readArchive(
	path string, r io.ReaderAt, size int64, rules npy.Rules, budget *memory.Budget,
) (*npzInstance, []error) {
	p := &option.Problems{File: path}
	set := &npy.Set{Rules: rules, Arrays: map[string]npy.Values{}, Fail: p.Located}
	if err := set.ReadArchive(r, size, budget); err != nil {
		p.Add(0, "", "write it with numpy.savez or numpy.savez_compressed", "%v", err)
	} else if !set.Partial {
		return &npzInstance{rules: rules, arrays: set.Arrays}, p.Errors()
	}
	return nil, p.Errors()
}

// openArrayFolder reads the arrays of a folder, and cuts them into those of its instances, which lie in files that are
// mapped; the set closes all of them.
func (l *npzLoader) openArrayFolder(r *opened, folder string) (parts []*npzInstance) {
	p := &option.Problems{File: folder}
	set := &npy.Set{Rules: severalArrays, Arrays: map[string]npy.Values{}, Fail: p.Located}
	files, err := set.ReadFolder(folder, l.budget)
	for _, f := range files {
		r.set.files, r.set.Sources = append(r.set.files, f.Mapping), append(r.set.Sources, sourceOf(f.Path, f.Bytes()))
	}
	if p.Keep(err); len(p.List) == 0 {
		parts = cutInstances(set.Arrays, p)
	}
	r.fail(p.Errors()...)
	return parts
}

// cutInstances cuts arrays into those of the instances, as sizes says.
func cutInstances(arrays map[string]npy.Values, p *option.Problems) (list []*npzInstance) {
	sizes, several := arrays[sizesArray]
	if !several {
		return []*npzInstance{{rules: instanceArrays, arrays: arrays}}
	}
	total := map[string]int{"instances": len(sizes.Ints) / 2}
	for i, n := range sizes.Ints {
		if least := 1 - i%2; int(n) < least {
			p.Add(0, sizesArray+npy.IndexText(sizes.Shape, i), "", "is %d, want at least "+[]string{"0 edges",
				"1 node"}[least], n)
			return nil
		}
		total[[2]string{"n", "m"}[i%2]] += int(n)
	}
	if len(sizes.Ints) == 0 {
		p.Add(0, sizesArray, "", "has no instances, want a row for each")
	}
	known := map[string]npy.Count{}
	for word, n := range total {
		known[word] = npy.Count{Of: n, Told: sizesArray}
	}
	if severalArrays.Check(arrays, known, p.Located); len(p.List) > 0 {
		return nil
	}
	delete(arrays, sizesArray)
	at := map[string]int{}
	for i := range total["instances"] {
		n := int(sizes.Ints[2*i])
		next := map[string]int{"n": at["n"] + n, "m": at["m"] + int(sizes.Ints[2*i+1]), "instances": i + 1}
		list = append(list, &npzInstance{spec: crf.InstanceSpec{Name: strconv.Itoa(i)}, rules: instanceArrays,
			arrays: severalArrays.Cut(arrays, at, next), ofFolder: n})
		at = next
	}
	return list
}
