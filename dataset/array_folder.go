package dataset

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
)

// sizesArray of an array folder has the numbers of nodes and edges of every instance.
const sizesArray = "sizes"

// folderArrays are the arrays of an array folder.
var folderArrays = append(arrayRules{
	{name: sizesArray, of: ofInstances, shape: "[instances, 2]"},
}, instanceArrays...)

// isArrayFolder reports whether a folder has the arrays of instances, a file each.
func isArrayFolder(path string) bool {
	_, err := os.Stat(filepath.Join(path, edgesArray+".npy"))
	return err == nil
}

// openArrayFolder reads the arrays of a folder, and cuts them into those of its instances, which lie in files
// that are mapped.
func openArrayFolder(folder string, budget *memory.Budget) (
	instances []*npzContents, files []*infile.Mapping, sources []Source, list []error,
) {
	p := &problems{file: folder}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, nil, []error{err}
	}
	all := &npzContents{arrays: map[string]array{}, budget: budget}
	for _, e := range entries {
		name, isArray := strings.CutSuffix(e.Name(), ".npy")
		switch {
		case strings.HasPrefix(e.Name(), "."): // what systems keep beside files
		case strings.HasSuffix(e.Name(), ".npz"):
			p.add(0, e.Name(), "keep them in folders of their own", "instance files lie beside arrays of %s", edgesArray+".npy")
		case !isArray:
		case folderArrays.rule(name) == nil:
			folderArrays.unknown(p, name)
		default:
			source, err := all.readFile(filepath.Join(folder, e.Name()), name)
			if err != nil {
				p.keep(arrayError(folder, name, err))
			}
			sources = append(sources, source)
		}
	}
	if len(p.list) > 0 {
		return nil, all.files, sources, p.errors()
	}
	instances = all.cut(p)
	return instances, all.files, sources, p.errors()
}

// readFile reads one array of a folder. Features that lie there as they are used stay in the file: instances share
// its memory, and keep it. Those who own the instances may change them, and not the file.
func (c *npzContents) readFile(path, name string) (Source, error) {
	float := folderArrays.rule(name).float
	file, err := infile.MapOwn(path, "an array of "+name, func(size int64) error {
		return c.budget.Take("reading "+path, float64(size))
	})
	if err != nil {
		return Source{}, err
	}
	kept := false
	defer func() {
		if !kept {
			file.Close()
		}
	}()
	defer file.End(file.Begin())
	data := file.Bytes()
	source := sourceOf(path, data)
	h, raw, err := openNPY(data)
	if err != nil {
		return source, err
	}
	if _, ok := h.inPlace(raw); ok && float {
		m := h.floats(raw)
		kept, m.owner = true, file
		c.arrays[name], c.files = m, append(c.files, file)
		return source, nil
	}
	c.most = math.Inf(1) // the file is as large as what it promises
	if err := c.allow(h, float, 0); err != nil {
		return source, err
	}
	return source, c.take(raw, h, name, float)
}

// cut cuts the arrays into those of the instances, as sizes says.
func (c *npzContents) cut(p *problems) []*npzContents {
	sizes, several := c.arrays[sizesArray]
	delete(c.arrays, sizesArray)
	if !several {
		return []*npzContents{c}
	}
	if rule := folderArrays.rule(sizesArray); !rule.fits(sizes.shape) {
		p.add(0, sizesArray, "", "shape is %s, want %s, the numbers of nodes and edges of each", shapeText(sizes.shape),
			rule.shape)
		return nil
	}
	if sizes.shape[0] == 0 {
		p.add(0, sizesArray, "", "has no instances, want a row for each")
		return nil
	}
	var total [2]int
	for i, n := range sizes.ints {
		if least := 1 - i%2; int(n) < least {
			p.add(0, fmt.Sprintf("%s[%d,%d]", sizesArray, i/2, i%2), "", "is %d, want at least %s", n,
				[]string{"0 edges", "1 node"}[least])
			return nil
		}
		total[i%2] += int(n)
	}
	count := sizes.shape[0]
	known := [3]string{sizesArray, sizesArray, sizesArray}
	if c.checkRows(p, [3]int{total[ofNodes], total[ofEdges], count}, known, true); len(p.list) > 0 {
		return nil
	}
	list := make([]*npzContents, count)
	var at [2]int
	for i := range list {
		next := [2]int{at[0] + int(sizes.ints[2*i]), at[1] + int(sizes.ints[2*i+1])}
		list[i] = c.part(i, at, next)
		at = next
	}
	return list
}

// sideOf is the side of an array: the number of states may be one for all nodes.
func sideOf(name string, a *array) side {
	if name == statesArray && (len(a.shape) == 0 || a.rows() == 1) {
		return ofAll
	}
	return folderArrays.rule(name).of
}

// checkRows checks that arrays have as many rows as there are nodes, edges or instances, as the arrays known have it;
// several says that they are those of several instances.
func (c *npzContents) checkRows(p *problems, counts [3]int, known [3]string, several bool) {
	for _, name := range slices.Sorted(maps.Keys(c.arrays)) {
		a, typed, rows := c.arrays[name], strings.Contains(name, "."), -1
		of := sideOf(name, &a)
		if len(a.shape) > 0 {
			rows = a.rows()
		}
		labels, remedy := !several && name == labelsArray && len(a.shape) == 2, "" // of samples
		if labels {
			rows = a.columns()
			if a.rows() == counts[of] {
				remedy = "a label is the number of a state, of one-hot rows labels.argmax(1); of samples in columns want labels.T"
			}
		}
		switch {
		case typed && several:
			p.add(0, name, "give one array, with node_types or edge_types", "rows by type cannot be cut into instances")
		case several && name == labelsArray && len(a.shape) == 2:
			p.add(0, name, "", "shape is %s, want [nodes]: of several instances each has one sample", shapeText(a.shape))
		case of == ofAll, typed, of == ofInstances && !several, rows == counts[of]:
		default:
			what := [...]string{"nodes", "edges", "instances"}[of]
			axis := map[bool]string{true: "columns", false: "rows"}[labels]
			p.add(0, name, remedy, "shape is %s, want %d %s: %s has %d %s", shapeText(a.shape), counts[of], axis, known[of],
				counts[of], what)
		}
	}
}

// part returns the arrays of instance i, whose nodes and edges are those from at to next.
func (c *npzContents) part(i int, at, next [2]int) *npzContents {
	in := &npzContents{arrays: map[string]array{}, budget: c.budget, nodes: next[ofNodes] - at[ofNodes]}
	for name, a := range c.arrays {
		switch of := sideOf(name, &a); of {
		case ofNodes, ofEdges:
			a = a.cut(at[of], next[of])
		case ofInstances:
			a = a.cut(i, i+1)
			a.shape = a.shape[1:]
		}
		in.arrays[name] = a
	}
	return in
}
