package dataset

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
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
	directedArray     = "directed"
)

// side is what the first index of an array counts.
type side int

const (
	ofNodes side = iota
	ofEdges
	ofInstances // in an array folder of several; an instance file has one
	ofAll       // none: the array is one number for all instances
)

// arrayRule is what an array of a kind of file holds.
type arrayRule struct {
	name   string
	of     side
	float  bool   // floating-point numbers; else integers
	typed  bool   // the rows of one type may be an array NAME.TYPE
	shape  string // or several, as people read them
	remedy string // of another shape
}

// arrayRules are the arrays that belong into a kind of file.
type arrayRules []arrayRule

var instanceArrays = arrayRules{
	{name: edgesArray, of: ofEdges, shape: "[m, 2]"},
	{name: nodeFeaturesArray, float: true, typed: true, shape: "[rows, features]", remedy: oneFeature},
	{name: edgeFeaturesArray, of: ofEdges, float: true, typed: true, shape: "[rows, features]", remedy: oneFeature},
	{name: edgeBinsArray, of: ofEdges, shape: "[m]"},
	{name: labelsArray, shape: "[n] or [samples, n]"},
	{name: nodeTypesArray, shape: "[n]"},
	{name: edgeTypesArray, of: ofEdges, shape: "[m]"},
	{name: gridShapeArray, of: ofInstances, shape: "[2]"},
	{name: statesArray, shape: "[] or [n]"},
	{name: weightArray, of: ofInstances, float: true, shape: "[] or [1]"},
	{name: directedArray, of: ofAll, shape: "[]"},
}

const oneFeature = "a single feature is x.reshape(-1, 1)"

// rule returns that of an array; nil: the array does not belong into such a file.
func (rules arrayRules) rule(array string) *arrayRule {
	base, kind, typed := strings.Cut(array, ".")
	for i := range rules {
		if r := &rules[i]; r.name == base && (!typed || kind != "" && r.typed) {
			return r
		}
	}
	return nil
}

// unknown reports an array that does not belong into a file.
func (rules arrayRules) unknown(p *problems, array string) {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	p.add(0, array, suggestion(array, names), "unknown array")
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

const (
	// A constant array compresses nearly as well as deflate allows, so a large ratio is no crime; but where the
	// arrays of a file, as they are kept, take more than freeExpansion, they must be at most mostExpansionRate times
	// the file: real data with so many numbers have some that differ.
	freeExpansion     = 1 << 28
	mostExpansionRate = 128
)

// npzContents are the arrays of one instance file as they were read.
type npzContents struct {
	arrays map[string]array
	// partial says that an array which belongs into the file could not be read: what
	// the others look like without it is no problem of theirs.
	partial bool
	nodes   int               // of an instance that was cut out of an array folder; else 0
	files   []*infile.Mapping // of an array folder, that arrays lie in

	kept   float64 // bytes of all arrays
	most   float64 // that the file is believed to hold
	budget *memory.Budget
}

// openNPZ reads the instance file at path and its hash.
func openNPZ(ctx context.Context, path string, budget *memory.Budget) (*npzContents, Source, []error) {
	file, _, err := infile.Open(path, "arrays in npz format")
	if err != nil {
		return nil, Source{}, []error{err}
	}
	defer file.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, endingReader{ctx, file})
	if err != nil {
		return nil, Source{}, []error{err}
	}
	contents, list := readNPZ(path, endingReaderAt{ctx, file}, size, budget)
	return contents, Source{Path: path, SHA256: fmt.Sprintf("%x", hash.Sum(nil)), Bytes: size}, list
}

// readNPZ reads all arrays of an instance file. See readArchive.
func readNPZ(path string, r io.ReaderAt, size int64, budget *memory.Budget) (*npzContents, []error) {
	return readArchive(path, r, size, instanceArrays, budget)
}

// readArchive reads all arrays, and reports everything that keeps one from being
// read. Memory is bounded by what the size of the file allows for, and by the budget.
func readArchive(
	path string, r io.ReaderAt, size int64, rules arrayRules, budget *memory.Budget,
) (*npzContents, []error) {
	p := &problems{file: path}
	archive, err := zip.NewReader(r, size)
	if err != nil {
		p.keep(&Error{File: path, Problem: notArchive(r, size, err),
			Remedy: "write it with numpy.savez or numpy.savez_compressed", Cause: err})
		return nil, p.errors()
	}
	c := &npzContents{arrays: map[string]array{}, budget: budget}
	c.most = max(freeExpansion, mostExpansionRate*float64(size))
	seen := map[string]bool{}
	for _, entry := range archive.File {
		name := strings.TrimSuffix(entry.Name, ".npy")
		rule := rules.rule(name)
		switch {
		case seen[name]:
			c.partial = true
			p.add(0, name, "", "the array is there twice")
		case rule == nil:
			rules.unknown(p, name)
		case entry.CompressedSize64 > uint64(size):
			c.partial = true
			p.add(0, name, "write the file again", "the compressed arrays take more than the file's %d bytes", size)
		default:
			if err := c.readEntry(entry, name, rule.float); err != nil {
				c.partial = true
				p.keep(arrayError(path, name, err))
			}
		}
		seen[name] = true
	}
	return c, p.errors()
}

// notArchive says why a file is no zip archive. The list of what is in one stands
// at its end, so that one cut short has none.
func notArchive(r io.ReaderAt, size int64, err error) string {
	start := make([]byte, 4)
	n, _ := r.ReadAt(start, 0)
	switch {
	case size == 0:
		return "the file is empty"
	case n == len(start) && string(start) == "PK\x03\x04":
		return "the file was cut short or damaged: " + err.Error()
	}
	return "it is not an npz file: " + err.Error()
}

func arrayError(path, array string, err error) *Error {
	var at *indexError
	if errors.As(err, &at) {
		return &Error{File: path, Place: array + at.index, Problem: at.problem}
	}
	problem, remedy, _ := strings.Cut(err.Error(), "; ")
	return &Error{File: path, Place: array, Problem: problem, Remedy: remedy, Cause: err}
}

// readEntry reads one array of an archive.
func (c *npzContents) readEntry(entry *zip.File, name string, float bool) error {
	if err := checkExpansion(entry); err != nil {
		return err
	}
	r, err := entry.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	h, err := readNPYHeader(r)
	if wrong := (*dtypeError)(nil); errors.As(err, &wrong) && !float {
		return fmt.Errorf("dtype is %q, want %s", wrong.descr, wantedIntegers(name))
	}
	if err != nil {
		return err
	}
	if err := cmp.Or(h.checkSize(int64(entry.UncompressedSize64)), c.allow(h, float, h.dataBytes())); err != nil {
		return err
	}
	raw := make([]byte, h.dataBytes())
	if _, err := io.ReadFull(r, raw); err != nil {
		return err
	}
	// Only at the end does the archive's checksum get compared.
	if _, err := r.Read(make([]byte, 1)); err != nil && err != io.EOF {
		return fmt.Errorf("%w: the file is damaged", err)
	}
	return c.take(raw, h, name, float)
}

// take makes an array of its bytes.
func (c *npzContents) take(raw []byte, h *npyHeader, name string, float bool) (err error) {
	a := array{shape: []int{0, 2}}
	switch {
	case float:
		a = h.floats(raw)
	case name == edgesArray && h.count == 0: // numpy.array([]) is an empty array of floats
	default:
		a, err = h.integers(raw)
	}
	if err == nil {
		c.arrays[name] = a
	}
	return err
}

// wantedIntegers says what the elements of an array may be.
func wantedIntegers(array string) string {
	const integers = "int8 to int64, uint8 to uint64 or bool"
	if array != labelsArray {
		return integers
	}
	return integers + ": the number of each node's state, from 0; the names of the states go into " + ManifestName
}

// allow refuses an array that would take too much memory, before it is made: for so many bytes that are read, and for
// elements where these are not used as they lie.
func (c *npzContents) allow(h *npyHeader, float bool, read int64) error {
	width, bytes := 4, float64(read) // float32, or int32 whatever the file has
	if float && h.size == 8 || float && h.size == 4 && !h.floating() {
		width = 8
	}
	if !float || !h.asUsed() {
		bytes += float64(h.count) * float64(width)
	}
	if c.kept += bytes; c.kept > c.most {
		return fmt.Errorf("a small file promises arrays of %s; if they are really that large, write it with numpy.savez",
			memory.Text(c.kept))
	}
	return c.budget.Take("reading the arrays up to this one", bytes)
}

// checkExpansion refuses sizes that the compressed data cannot expand to.
func checkExpansion(entry *zip.File) error {
	size, packed := entry.UncompressedSize64, entry.CompressedSize64
	switch {
	case entry.Method != zip.Store && entry.Method != zip.Deflate:
		return fmt.Errorf("compression method %d is not supported; write the file with numpy.savez_compressed", entry.Method)
	case entry.Method == zip.Store && size != packed:
		return fmt.Errorf("it promises %d bytes and stores %d: the file is damaged", size, packed)
	}
	return nil
}
