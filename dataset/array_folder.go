package dataset

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parted"
)

// sizesArray of an array folder has the numbers of nodes and edges of every instance.
const sizesArray = "sizes"

// folderArchive are the arrays of an array folder.
var folderArchive = archiveKind{names: append([]string{sizesArray}, arrayNames...), floats: instanceArchive.floats, typed: instanceArchive.typed}

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
	all := &npzContents{ints: map[string]intArray{}, floats: map[string]matrix{}, budget: budget}
	parts, expected, err := parted.Describe(folder)
	if err != nil {
		return nil, nil, nil, []error{partsError(err)}
	}
	for _, e := range entries {
		name, isArray := strings.CutSuffix(e.Name(), ".npy")
		switch {
		case strings.HasPrefix(e.Name(), "."): // what systems keep beside files
		case strings.HasSuffix(e.Name(), ".npz"):
			p.add(0, e.Name(), "keep them in folders of their own", "instance files lie beside arrays of %s", edgesArray+".npy")
		case !isArray:
		case name == parted.BlocksArray && parts == nil:
			p.add(0, name, "partition the data again, or bring back the file", "it is of a partitioned network, and %s is not there", parted.Description)
		case !folderArchive.holds(name) && name != parted.BlocksArray:
			p.add(0, name, suggestion(name, folderArchive.names), "unknown array")
		default:
			source, err := all.readFile(filepath.Join(folder, e.Name()), name)
			if err != nil {
				all.partial = true
				p.keep(arrayError(folder, name, err))
			}
			sources = append(sources, source)
		}
	}
	if len(p.list) == 0 && parts != nil {
		sources, err = all.addParts(parts, expected, sources)
		if err != nil {
			p.keep(err)
		}
	}
	if len(p.list) > 0 {
		return nil, all.files, sources, p.errors()
	}
	instances = all.cut(p)
	return instances, all.files, sources, p.errors()
}

// readFile reads one array of a folder. Features that lie there as they are used stay in
// the file: instances share its memory, and keep it. Those who own the instances may change
// them, and not the file.
func (c *npzContents) readFile(path, name string) (Source, error) {
	float := folderArchive.float(name)
	file, err := infile.MapOwn(path, "an array of "+name, func(size int64) error { return c.budget.Take("reading "+path, float64(size)) })
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
	source := Source{Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Bytes: int64(len(data))}
	r := bytes.NewReader(data)
	h, err := readNPYHeader(r)
	if err != nil {
		return source, err
	}
	if got, want := int64(len(data)), h.bytes+h.dataBytes(); got != want {
		return source, fmt.Errorf("the file has %d bytes, shape %s of %s wants %d; it was cut short or damaged: write it again", got, shapeText(h.shape), h.descr, want)
	}
	if m, ok := inPlace(data[h.bytes:], h); ok && float {
		kept, m.owner = true, file
		c.floats[name], c.files = m, append(c.files, file)
		return source, nil
	}
	c.most = math.Inf(1) // the file is as large as what it promises
	if err := c.take(h, float); err != nil {
		return source, err
	}
	switch {
	case float:
		c.floats[name], err = readFloats(r, h)
	case name == edgesArray && h.count == 0:
		c.ints[name] = intArray{shape: []int{0, 2}}
	default:
		var values []int32
		values, err = readInts(r, h)
		c.ints[name] = intArray{shape: h.shape, data: values}
	}
	return source, err
}

// inPlace returns the elements where they lie, if they lie there as they are used: in single
// or double precision, in the order of bytes and of rows of this program.
func inPlace(data []byte, h *npyHeader) (m matrix, ok bool) {
	native := h.descr[0] == '<' && numeric.LittleEndian
	if !native || h.fortran && len(h.shape) > 1 || h.count == 0 || uintptr(unsafe.Pointer(&data[0]))%uintptr(h.size) != 0 {
		return m, false
	}
	m.shape = h.shape
	switch h.code() {
	case "f8":
		m.data = unsafe.Slice((*float64)(unsafe.Pointer(&data[0])), h.count)
	case "f4":
		m.data32 = unsafe.Slice((*float32)(unsafe.Pointer(&data[0])), h.count)
	default:
		return m, false
	}
	return m, true
}

// cut cuts the arrays into those of the instances, as sizes says.
func (c *npzContents) cut(p *problems) []*npzContents {
	sizes, several := c.ints[sizesArray]
	delete(c.ints, sizesArray)
	if !several {
		return []*npzContents{c}
	}
	if len(sizes.shape) != 2 || sizes.shape[1] != 2 {
		p.add(0, sizesArray, "", "shape is %s, want [instances, 2], the numbers of nodes and edges of each", shapeText(sizes.shape))
		return nil
	}
	if sizes.shape[0] == 0 {
		p.add(0, sizesArray, "", "has no instances, want a row for each")
		return nil
	}
	var total [2]int
	for i, n := range sizes.data {
		if least := 1 - i%2; int(n) < least {
			p.add(0, fmt.Sprintf("%s[%d,%d]", sizesArray, i/2, i%2), "", "is %d, want at least %s", n, []string{"0 edges", "1 node"}[least])
			return nil
		}
		total[i%2] += int(n)
	}
	count := sizes.shape[0]
	if c.checkRows(p, count, total); len(p.list) > 0 {
		return nil
	}
	list := make([]*npzContents, count)
	var at [2]int
	for i := range list {
		next := [2]int{at[0] + int(sizes.data[2*i]), at[1] + int(sizes.data[2*i+1])}
		list[i] = c.part(i, count, total, at, next)
		at = next
	}
	return list
}

// Sides of an array whose rows are cut.
const (
	ofNodes = iota
	ofEdges
	ofInstances
	ofAll // it is that of every instance
)

// sideOf says what the rows of an array stand for.
func sideOf(name string, shape []int) int {
	switch name {
	case edgesArray, edgeFeaturesArray, edgeBinsArray, edgeTypesArray:
		return ofEdges
	case gridShapeArray, weightArray:
		return ofInstances
	case directedArray:
		return ofAll
	case statesArray:
		if len(shape) == 0 {
			return ofAll
		}
	}
	return ofNodes
}

// checkRows checks that every array has the rows that sizes asks for.
func (c *npzContents) checkRows(p *problems, count int, total [2]int) {
	wanted := []struct {
		rows int
		what string
	}{{total[ofNodes], "nodes"}, {total[ofEdges], "edges"}, {count, "instances"}}
	check := func(name string, shape []int) {
		side := sideOf(name, shape)
		switch {
		case strings.Contains(name, "."):
			p.add(0, name, "give one array, with node_types or edge_types", "rows by type cannot be cut into instances")
		case side == ofAll:
		case len(shape) == 0 || shape[0] != wanted[side].rows:
			p.add(0, name, "", "shape is %s, want %d rows: %s has %d %s", shapeText(shape), wanted[side].rows, sizesArray, wanted[side].rows, wanted[side].what)
		case name == labelsArray && len(shape) != 1:
			p.add(0, name, "", "shape is %s, want [nodes]: of several instances each has one sample", shapeText(shape))
		}
	}
	for name, a := range c.ints {
		check(name, a.shape)
	}
	for name, m := range c.floats {
		check(name, m.shape)
	}
	slices.SortFunc(p.list, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
}

// part returns the arrays of instance i, whose nodes and edges are those from at to next.
func (c *npzContents) part(i, count int, total, at, next [2]int) *npzContents {
	in := &npzContents{ints: map[string]intArray{}, floats: map[string]matrix{}, budget: c.budget, nodes: next[ofNodes] - at[ofNodes]}
	bounds := func(name string, shape []int) (low, high int) {
		switch side := sideOf(name, shape); side {
		case ofNodes, ofEdges:
			return at[side], next[side]
		case ofInstances:
			return i, i + 1
		}
		return 0, 0
	}
	for name, a := range c.ints {
		low, high := bounds(name, a.shape)
		switch width := rowLength(a.shape); {
		case sideOf(name, a.shape) == ofAll:
			in.ints[name] = a
		case name == gridShapeArray:
			in.ints[name] = intArray{shape: a.shape[1:], data: a.data[low*width : high*width]}
		default:
			in.ints[name] = intArray{shape: withRows(a.shape, high-low), data: a.data[low*width : high*width : high*width]}
		}
	}
	for name, m := range c.floats {
		low, high := bounds(name, m.shape)
		width := rowLength(m.shape)
		cut := matrix{shape: withRows(m.shape, high-low), owner: m.owner}
		if m.data != nil {
			cut.data = m.data[low*width : high*width : high*width]
		}
		if m.data32 != nil {
			cut.data32 = m.data32[low*width : high*width : high*width]
		}
		in.floats[name] = cut
	}
	return in
}

// rowLength is the number of elements of a row.
func rowLength(shape []int) int {
	width := 1
	for _, n := range shape[min(1, len(shape)):] {
		width *= n
	}
	return width
}

// withRows is a shape with another number of rows.
func withRows(shape []int, rows int) []int { return append([]int{rows}, shape[1:]...) }

// readArrayFolder reads the instances of an array folder, and checks each by itself.
func (l *npzLoader) readArrayFolder(folder string, budget *memory.Budget, graphs *graphCache) {
	parts, files, sources, list := openArrayFolder(folder, budget)
	l.set.files = append(l.set.files, files...)
	l.set.Sources = append(l.set.Sources, sources...)
	l.problems = append(l.problems, list...)
	instances, problems := make([]*npzInstance, len(parts)), make([][]error, len(parts))
	l.each(len(parts), func(i int) {
		path, name := folder, filepath.Base(folder)
		if parts[i].nodes > 0 {
			name = strconv.Itoa(i)
			path = fmt.Sprintf("%s[%d]", folder, i)
		}
		instances[i], problems[i] = newNPZInstance(path, parts[i], graphs)
		if p := parts[i].parts; p != nil && len(problems[i]) == 0 {
			problems[i] = l.openParts(p, instances[i])
		}
		if instances[i] != nil {
			instances[i].name = name
		}
	})
	for i := range parts {
		l.problems = append(l.problems, problems[i]...)
		l.instances = append(l.instances, instances[i])
	}
}
