// Package parted keeps a network that was cut into parts: the features of each part lie in a file of their
// own, so that a process that works on some parts needs theirs alone.
//
// Such a folder has the arrays of a network as others have, but for its dense features. The file of a part has
// those of its nodes, and of all edges that these have, in ascending order: an edge between two parts is in
// both. Every file is there as it was written, or is refused.
package parted

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
)

// Sums is how many parts a training adds up sums in, and how many processes it has at most.
const Sums = 64

// Cut is how a network was cut before it is learned from, and dealt over parts of which each belongs to one
// process, whatever their number.
type Cut struct {
	Of       []int32 // [nodes] the block of each
	Blocks   int
	Part     []int32 // [blocks] the part of each, below Sums
	Together int     // how many blocks a visit has, where nobody says
	// Features tells the features from others, in place of their numbers.
	Features string
	// Hold is asked, before the first look at a feature, for those of the parts from ≤ p < to: of their
	// nodes, and of all edges that these have. nil: all are here.
	Hold func(from, to int) error
}

// Matrix are dense features: in one of two precisions, or none.
type Matrix struct {
	Columns int
	Double  []float64
	Single  []float32
	Owner   *infile.Mapping // of the memory that they lie in; nil: it is Go's
}

func (m *Matrix) rowBytes() int {
	switch {
	case m.Single != nil:
		return 4 * m.Columns
	case m.Double != nil:
		return 8 * m.Columns
	}
	return 0
}

// Names in the folder.
const (
	Description  = "parts.json" // says what the folder is
	BlocksArray  = "blocks"     // [n] the block of each node
	EdgesArray   = "edges"
	NodeFeatures = "node_features"
	EdgeFeatures = "edge_features"
)

// partName is the file of a part.
func partName(f int) string { return fmt.Sprintf("parts/%02d.npz", f) }

// format is that of Description. A reader knows one.
const format = 1

// description is what Description says.
type description struct {
	Format       int             `json:"format"`
	Nodes        int             `json:"nodes"`
	Edges        int             `json:"edges"`
	Blocks       int             `json:"blocks"`
	Sums         int             `json:"sums"`
	BlockParts   []int32         `json:"block_parts"` // of sums
	NodeFeatures *features       `json:"node_features,omitempty"`
	EdgeFeatures *features       `json:"edge_features,omitempty"`
	Arrays       []File          `json:"arrays"`
	Parts        []File          `json:"parts"`
	Found        json.RawMessage `json:"found,omitempty"`
	SHA256       string          `json:"sha256"` // of this, without
}

// sum is SHA256.
func (d description) sum() (string, error) {
	d.SHA256 = ""
	text, err := json.Marshal(d)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// features are those that lie in the files of parts.
type features struct {
	Type    string `json:"type"` // float32 or float64
	Columns int    `json:"columns"`
}

// File is a file of the folder, as it was written. Its name has slashes.
type File struct {
	Name   string `json:"file"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Error is what is wrong with a file of a partitioned network.
type Error = option.Error

// again is the remedy for a folder that is not as it was written.
const again = "partition the data again, or bring back the file as it was"

// Folder is a partitioned network.
type Folder struct {
	Of     []int32 // [nodes]
	Blocks int
	Part   []int32         // [blocks]
	Found  json.RawMessage // what was found out of the data when they were partitioned
	// Node and Edge are the features, zeros before they are held.
	Node, Edge Matrix
	// Graph is that of the network. Read reads the arrays of a file of a part, and its SHA-256. Allowed is
	// how many bytes features may take, as memory.Check has it. Whoever reads the folder says these.
	Graph   *graph.Graph
	Read    func(path string) (arrays map[string]Rows, sum string, err error)
	Allowed int64
	// Filled, unless it is nil, is told by Hold of features of nodes, or of edges, that are there now.
	Filled func(nodes bool, rows []int32)

	dir         string
	description File
	files       []File
	held        []bool // [files]
}

// Rows are a matrix with its number of rows.
type Rows struct {
	Matrix
	Rows int
}

// Files are those of the parts, and the description.
func (d *Folder) Files() []File {
	return append([]File{d.description}, d.files...)
}

// Describe reads what a folder says of its parts; nil: it has none.
func Describe(dir string) (*Folder, *Expected, error) {
	path := filepath.Join(dir, Description)
	text, err := infile.Read(path, "the description of a partitioned network", infile.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var d description
	damaged := func(problem string, arguments ...any) error {
		return &Error{File: path, Problem: fmt.Sprintf(problem, arguments...), Remedy: again}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, nil, damaged("it is no description of a partitioned network: %v", err)
	}
	if d.Format != format || d.Sums != Sums {
		return nil, nil, damaged("it has format %d with %d parts, and this program knows %d with %d",
			d.Format, d.Sums, format, Sums)
	}
	if sum, err := d.sum(); err != nil || d.SHA256 != sum {
		return nil, nil, damaged("it has changed since the network was partitioned")
	}
	const most = 1 << 20
	sound := func(f *features) bool {
		return f == nil || (f.Type == "float32" || f.Type == "float64") && f.Columns > 0 && f.Columns <= most
	}
	if len(d.Parts) == 0 || len(d.Parts) > Sums || d.Nodes < 1 || d.Edges < 0 || d.Blocks < 1 ||
		len(d.BlockParts) != d.Blocks || !sound(d.NodeFeatures) || !sound(d.EdgeFeatures) {
		return nil, nil, damaged("its numbers do not go together")
	}
	for x, part := range d.BlockParts {
		if part < 0 || part >= Sums {
			return nil, nil, damaged("block_parts[%d] is %d, want 0 to %d", x, part, Sums-1)
		}
	}
	folder := &Folder{
		Blocks: d.Blocks, Part: d.BlockParts, Found: d.Found, dir: dir, files: d.Parts, held: make([]bool, len(d.Parts)),
		description: File{Description, fmt.Sprintf("%x", sha256.Sum256(text)), int64(len(text))},
	}
	return folder, &Expected{&d, dir}, nil
}

// Expected is what the arrays of a folder should be.
type Expected struct {
	d   *description
	dir string
}

// Check compares the files that were read with what they were.
func (x *Expected) Check(read []File) error {
	changed := func(name, problem string) error {
		return &Error{File: filepath.Join(x.dir, name), Problem: problem, Remedy: again}
	}
	known := map[string]File{}
	for _, f := range x.d.Arrays {
		known[f.Name] = f
	}
	for _, r := range read {
		switch f, ok := known[r.Name]; {
		case !ok:
			return changed(r.Name, "it was not there when the network was partitioned")
		case f != r:
			return changed(r.Name, "it has changed since the network was partitioned")
		}
		delete(known, r.Name)
	}
	for name, f := range known { // not arrays
		r, err := sumOf(filepath.Join(x.dir, name), name)
		if errors.Is(err, fs.ErrNotExist) {
			return changed(name, "it is not there, and it was when the network was partitioned")
		}
		if err != nil {
			return err
		}
		if f != r {
			return changed(name, "it has changed since the network was partitioned")
		}
	}
	return nil
}

// Take gives the folder the blocks of the nodes, and makes room for features.
func (x *Expected) Take(folder *Folder, of []int32) error {
	refuse := func(format string, arguments ...any) error {
		return &Error{File: filepath.Join(x.dir, BlocksArray+".npy"), Problem: fmt.Sprintf(format, arguments...),
			Remedy: again}
	}
	if len(of) != x.d.Nodes {
		return refuse("it has blocks of %d nodes, want %d", len(of), x.d.Nodes)
	}
	for s, b := range of {
		if b < 0 || int(b) >= x.d.Blocks {
			return refuse("[%d] is %d, want 0 to %d", s, b, x.d.Blocks-1)
		}
	}
	folder.Of = of
	folder.Node, folder.Edge = x.d.NodeFeatures.room(x.d.Nodes), x.d.EdgeFeatures.room(x.d.Edges)
	return nil
}

// room is zeros, of which the system makes pages when they are touched.
func (f *features) room(rows int) (m Matrix) {
	if f == nil {
		return m
	}
	m.Columns = f.Columns
	n, size := rows*f.Columns, 8
	if f.Type == "float32" {
		size = 4
	}
	m.Owner = infile.Blank(n * size)
	switch first := unsafe.Pointer(unsafe.SliceData(m.Owner.Bytes())); {
	case n == 0:
		m.Double = []float64{}
	case size == 4:
		m.Single = unsafe.Slice((*float32)(first), n)
	default:
		m.Double = unsafe.Slice((*float64)(first), n)
	}
	return m
}

// Features tells the features from others.
func (d *Folder) Features() string {
	hash := sha256.New()
	for _, f := range d.files {
		fmt.Fprintln(hash, f.SHA256)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// Here reports whether the features of all parts are here.
func (d *Folder) Here() bool { return !slices.Contains(d.held, false) }

// Hold reads the features of the parts from ≤ p < to, where they are not here yet.
func (d *Folder) Hold(from, to int) error {
	wanted := make([]bool, len(d.files))
	for part := from; part < to; part++ {
		f := part * len(d.files) / Sums
		wanted[f] = !d.held[f]
	}
	lists := listsOf(d.Graph, d.Of, fileOf(d.Part, len(d.files)), wanted)
	bytes := 0.0
	for f := range wanted {
		bytes += float64(len(lists.nodes[f])*d.Node.rowBytes() + len(lists.edges[f])*d.Edge.rowBytes())
	}
	if err := memory.Check("the features of parts of "+d.dir, bytes, d.Allowed); err != nil {
		return err
	}
	for f := range wanted {
		if wanted[f] {
			if err := d.hold(f, &lists); err != nil {
				return err
			}
		}
	}
	return nil
}

// hold reads the file of a part, which must be as it was written.
func (d *Folder) hold(f int, lists *lists) error {
	path := filepath.Join(d.dir, filepath.FromSlash(d.files[f].Name))
	arrays, sum, err := d.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{
			File: path, Problem: fmt.Sprintf("the file of part %d is not there, and this process needs it", f), Cause: err,
			Remedy: "copy it from where the network was partitioned; the files of its own parts are enough for a process " +
				"that trains a large network as it was cut",
		}
	}
	if sum != "" && sum != d.files[f].SHA256 {
		const problem = "the file of part %d has changed since the network was partitioned"
		return &Error{File: path, Problem: fmt.Sprintf(problem, f), Remedy: again}
	}
	if err != nil {
		return err
	}
	u, v := d.Graph.Ends()
	here := func(e int32) bool { return d.held[lists.fileOf[d.Of[u[e]]]] || d.held[lists.fileOf[d.Of[v[e]]]] }
	place := func(to *Matrix, name string, rows []int32, nodes bool) error {
		if to.rowBytes() == 0 {
			return nil
		}
		from := arrays[name]
		if from.Rows != len(rows) || from.Columns != to.Columns ||
			len(rows) > 0 && (from.Single == nil) != (to.Single == nil) {
			problem := fmt.Sprintf("shape is [%d, %d], want [%d, %d] of numbers of %d bytes",
				from.Rows, from.Columns, len(rows), to.Columns, to.rowBytes()/to.Columns)
			return &Error{File: path, Place: name, Problem: problem, Remedy: again}
		}
		filled := make([]int32, 0, len(rows))
		for i, r := range rows {
			if !nodes && here(r) { // another part that is here has it
				continue
			}
			filled = append(filled, r)
			at := int(r) * to.Columns
			if to.Single != nil {
				copy(to.Single[at:at+to.Columns], from.Single[i*to.Columns:])
			} else {
				copy(to.Double[at:at+to.Columns], from.Double[i*to.Columns:])
			}
		}
		if d.Filled != nil {
			d.Filled(nodes, filled)
		}
		return nil
	}
	if err := place(&d.Node, NodeFeatures, lists.nodes[f], true); err != nil {
		return err
	}
	if err := place(&d.Edge, EdgeFeatures, lists.edges[f], false); err != nil {
		return err
	}
	d.held[f] = true
	return nil
}

// lists are the nodes and edges whose features are in files.
type lists struct {
	nodes, edges [][]int32 // [files]
	fileOf       []int32   // [blocks]
}

// fileOf returns the file of each block.
func fileOf(part []int32, files int) []int32 {
	of := make([]int32, len(part))
	for x, p := range part {
		of[x] = int32(int(p) * files / Sums)
	}
	return of
}

// listsOf returns those of the files that are wanted.
func listsOf(g *graph.Graph, of, fileOf []int32, wanted []bool) lists {
	l := lists{nodes: make([][]int32, len(wanted)), edges: make([][]int32, len(wanted)), fileOf: fileOf}
	for s, x := range of {
		if f := fileOf[x]; wanted[f] {
			l.nodes[f] = append(l.nodes[f], int32(s))
		}
	}
	u, v := g.Ends()
	for e := range u {
		a, b := fileOf[of[u[e]]], fileOf[of[v[e]]]
		if wanted[a] {
			l.edges[a] = append(l.edges[a], int32(e))
		}
		if b != a && wanted[b] {
			l.edges[b] = append(l.edges[b], int32(e))
		}
	}
	return l
}
