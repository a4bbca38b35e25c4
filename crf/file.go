package crf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// What a model file says of itself, in its metadata.
const (
	fileFormat = "blockbp-model"
	// fileVersion is raised when an older program could misread the file, or trust it less than it could. Files of 1
	// and 2, from before v0.1.0, have no checksum of all their bytes.
	fileVersion = 3

	formatKey  = "format"
	versionKey = "format_version"
	schemaKey  = "schema"

	// The tensors of counting numbers. No type's have such names.
	nodeCounts = "counting.node"
	edgeCounts = "counting.edge"
)

// Save writes the model to path in the safetensors format, whole or not at all:
// one float64 tensor per type, named after it,
//
//	node.<type>  [states, features]              untied: [copies, states, features]
//	edge.<type>  [states_u, states_v, features]  untied: [copies, states_u, states_v, features]
//
// NodeCounts and EdgeCounts, if the model has any, as counting.node [nodes] and counting.edge [edges], and as metadata
// the format, its version, the schema as JSON, a checksum of the whole file, and the given keys. The same model gives
// the same bytes. A weight that is not finite is refused by name, and so is a key that the format uses itself.
func Save(path string, m *Model, meta map[string]string) error {
	if err := m.checkWeights(); err != nil {
		return fmt.Errorf("model is not saved: %w", err)
	}
	schema, err := json.Marshal(m.Schema)
	if err != nil {
		return fmt.Errorf("model is not saved: schema: %w", err)
	}
	metadata := map[string]string{
		formatKey:               fileFormat,
		versionKey:              strconv.Itoa(fileVersion),
		schemaKey:               string(schema),
		safetensors.ChecksumKey: "",
	}
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if _, used := metadata[key]; used {
			return fmt.Errorf("model is not saved: metadata key %q is reserved", key)
		}
		metadata[key] = meta[key]
	}
	var tensors []safetensors.Tensor
	spans := slices.Concat(m.Layout.Node, m.Layout.Edge)
	for i, t := range fileTensors(&m.Schema) {
		tensors = append(tensors, safetensors.NewChunks(t.name, t.shape, spans[i].fileOrder(m.Weights)))
	}
	if m.NodeCounts != nil {
		if err := cmp.Or(checkCounts(nodeCounts, m.NodeCounts), checkCounts(edgeCounts, m.EdgeCounts)); err != nil {
			return fmt.Errorf("model is not saved: %w", err)
		}
		tensors = append(tensors, safetensors.New(nodeCounts, []int{len(m.NodeCounts)}, m.NodeCounts),
			safetensors.New(edgeCounts, []int{len(m.EdgeCounts)}, m.EdgeCounts))
	}
	return safetensors.WriteFile(path, metadata, tensors)
}

// Load reads a model that Save wrote and returns the metadata given to Save. Everything is checked: a damaged file,
// tensors that do not fit the schema, weights that are not finite (named), and files of newer versions are errors
// that begin with path. Memory is bounded by the size of the file.
func Load(path string) (m *Model, meta map[string]string, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	if m, meta, err = readFile(f); err != nil {
		return nil, nil, fmt.Errorf("model: %s: %w", path, err)
	}
	return m, meta, nil
}

// readFile finds a damaged file before anything but its version: whatever else is wrong with it follows from that.
func readFile(f *safetensors.File) (m *Model, meta map[string]string, err error) {
	metadata := f.Metadata()
	if got := metadata[formatKey]; got != fileFormat {
		return nil, nil, fmt.Errorf("metadata %q is %q, want %q: this is not a model file of blockbp", formatKey, got,
			fileFormat)
	}
	if err := cmp.Or(checkVersion(metadata[versionKey]), f.Verify()); err != nil {
		return nil, nil, err
	}
	schema, err := parseFileSchema(metadata[schemaKey])
	if err == nil {
		m, err = readWeights(f, &schema)
	}
	if err != nil {
		return nil, nil, err
	}
	meta = maps.Clone(metadata)
	for _, key := range []string{formatKey, versionKey, schemaKey, safetensors.ChecksumKey} {
		delete(meta, key)
	}
	return m, meta, nil
}

// readWeights reads the weights of a schema. The shapes are compared before anything
// is allocated, so that the schema cannot ask for more memory than the file has data.
func readWeights(f *safetensors.File, schema *Schema) (*Model, error) {
	tensors := fileTensors(schema)
	if err := checkTensors(f, tensors); err != nil {
		return nil, err
	}
	m, err := NewModel(*schema)
	if err != nil {
		return nil, err
	}
	spans := slices.Concat(m.Layout.Node, m.Layout.Edge)
	for i, t := range tensors {
		data, err := safetensors.Read(f, t.name)
		if err != nil {
			return nil, err
		}
		spans[i].fromFileOrder(m.Weights, data)
	}
	if m.NodeCounts, m.EdgeCounts, err = readCounts(f); err != nil {
		return nil, err
	}
	return m, m.checkWeights()
}

// readCounts reads the counting numbers of a file, nil where it has none.
func readCounts(f *safetensors.File) (node, edge []float64, err error) {
	if !hasCounts(f) {
		return nil, nil, nil
	}
	if node, err = readVector(f, nodeCounts); err == nil {
		edge, err = readVector(f, edgeCounts)
	}
	return node, edge, err
}

func hasCounts(f *safetensors.File) bool {
	_, node := f.Find(nodeCounts)
	_, edge := f.Find(edgeCounts)
	return node || edge
}

func readVector(f *safetensors.File, name string) ([]float64, error) {
	data, err := safetensors.Read(f, name)
	if info, _ := f.Find(name); err == nil && len(info.Shape) != 1 {
		err = fmt.Errorf("tensor %q has shape %v, want one dimension", name, info.Shape)
	}
	return data, cmp.Or(err, checkCounts(name, data))
}

func checkCounts(name string, counts []float64) error {
	if i := slices.IndexFunc(counts, isNotFinite); i >= 0 {
		return fmt.Errorf("%s: number %d is %v, want a finite number", name, i, counts[i])
	}
	return nil
}

// checkVersion refuses other versions of the format.
func checkVersion(text string) error {
	switch version, err := strconv.Atoi(text); {
	case err != nil || version < 1:
		return fmt.Errorf("metadata %q is %q, want a positive number: the file is damaged", versionKey, text)
	case version > fileVersion:
		return fmt.Errorf("the file has format version %d, this program reads version %d; install a newer blockbp", version,
			fileVersion)
	case version < fileVersion:
		return fmt.Errorf("the file has format version %d, of a build before v0.1.0, this program reads version %d; train "+
			"again", version, fileVersion)
	}
	return nil
}

func parseFileSchema(text string) (Schema, error) {
	var schema Schema
	if err := fileio.JSON([]byte(text), &schema); err != nil {
		return Schema{}, fmt.Errorf("metadata %q: %w", schemaKey, err)
	}
	return schema, schema.Validate()
}

// checkTensors says what keeps f from having exactly these tensors.
func checkTensors(f *safetensors.File, tensors []fileTensor) error {
	wanted := map[string]bool{}
	for _, t := range tensors {
		wanted[t.name] = true
		info, ok := f.Find(t.name)
		switch {
		case !ok:
			return fmt.Errorf("tensor %q is missing; the schema has that type", t.name)
		case !slices.Equal(info.Shape, t.shape):
			return fmt.Errorf("tensor %q has shape %v, the schema wants %v", t.name, info.Shape, t.shape)
		case info.DType != safetensors.F64:
			return fmt.Errorf("tensor %q has dtype %s, want %s; convert it with astype(numpy.float64)", t.name, info.DType,
				safetensors.F64)
		}
	}
	for _, info := range f.Tensors() {
		if !wanted[info.Name] && !(hasCounts(f) && (info.Name == nodeCounts || info.Name == edgeCounts)) {
			return fmt.Errorf("tensor %q belongs to no type of the schema", info.Name)
		}
	}
	return nil
}

// checkWeights refuses weights that are not finite, or that a symmetric type cannot have.
func (m *Model) checkWeights() error {
	if i := slices.IndexFunc(m.Weights, isNotFinite); i >= 0 {
		return fmt.Errorf("weight %s is %v, want a finite number", m.WeightName(i), m.Weights[i])
	}
	return m.CheckSymmetry()
}

// fileTensor is one type's tensor in a file.
type fileTensor struct {
	name  string
	shape []int // [states…, features], with the copies before it if untied
}

// fileTensors lists the tensors of a schema: node types, then edge types, as in the layout.
func fileTensors(s *Schema) []fileTensor {
	var tensors []fileTensor
	for a, t := range s.NodeTypes {
		tensors = append(tensors, fileTensor{"node." + t.Name, fileShape(t.Copies, s.NodeStates(a), t.Features)})
	}
	for b, t := range s.EdgeTypes {
		u, v := s.EdgeStates(b)
		tensors = append(tensors, fileTensor{"edge." + t.Name, fileShape(t.Copies, u, v, t.Features)})
	}
	return tensors
}

func fileShape(copies int, shape ...int) []int {
	if copies > 0 {
		return append([]int{copies}, shape...)
	}
	return shape
}

// fileOrder yields the weights of one copy after the other as a file has them,
// [state][feature]; in memory they are [feature][state]. The slice is reused.
func (s Span) fileOrder(weights []float64) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		size := s.Copy()
		row := make([]float64, size)
		for at := 0; at < s.Len; at += size {
			transpose(row, weights[s.At+at:][:size], s.Features, s.States)
			if !yield(row) {
				return
			}
		}
	}
}

// fromFileOrder is the inverse of fileOrder.
func (s Span) fromFileOrder(weights, data []float64) {
	size := s.Copy()
	for at := 0; at < s.Len; at += size {
		transpose(weights[s.At+at:][:size], data[at:at+size], s.States, s.Features)
	}
}

// transpose writes src [rows][columns] to dst [columns][rows].
func transpose(dst, src []float64, rows, columns int) {
	for r := range rows {
		for c, v := range src[r*columns : (r+1)*columns] {
			dst[c*rows+r] = v
		}
	}
}
