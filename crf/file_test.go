package crf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// fileModel has tied and untied types, mixed cardinalities and a type without features; weight i is i + ½.
func fileModel(t testing.TB) *Model {
	t.Helper()
	m := oracle.Must(NewModel(Schema{
		NodeTypes: []NodeType{
			{Name: "pixel", States: []string{"sky", "tree", "road"}, Features: 2, FeatureNames: []string{"height", "bias"}},
			{Name: "region", States: NumberedStates(2), Features: 1, Copies: 4},
			{Name: "silent", States: NumberedStates(5)},
		},
		EdgeTypes: []EdgeType{
			{Name: "part of", U: 0, V: 1, Features: 3},
			{Name: "beside", U: 1, V: 1, Features: 1, Copies: 2},
		},
	}))(t)
	for i := range m.Weights {
		m.Weights[i] = float64(i) + 0.5
	}
	return m
}

func saved(t testing.TB, m *Model, meta map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	oracle.OK(t, Save(path, m, meta))
	return path
}

func TestModelFileRoundTrip(t *testing.T) {
	m := fileModel(t)
	meta := map[string]string{"recipe": `{"kind":"npz"}`, "note": "ü"}
	path := saved(t, m, meta)
	got, gotMeta, err := Load(path)
	oracle.OK(t, err)
	oracle.Equal(t, got.Schema, m.Schema, "schema")
	oracle.Equal(t, got.Weights, m.Weights, "weights")
	oracle.Equal(t, gotMeta, meta, "metadata")
	first, _ := os.ReadFile(path)
	second, _ := os.ReadFile(saved(t, got, gotMeta))
	if len(first) == 0 || string(first) != string(second) {
		t.Error("the same model gives other bytes")
	}
}

// A NumPy user reads [state, feature] from the bytes; this does the same without the reader.
func TestModelFileLayout(t *testing.T) {
	m := fileModel(t)
	raw := oracle.Must(os.ReadFile(saved(t, m, nil)))(t)
	n := binary.LittleEndian.Uint64(raw)
	var header map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	text := raw[8 : 8+n]
	// __metadata__ has another form than the tensors.
	text = append([]byte("{"), text[strings.Index(string(text), `"},"`)+3:]...)
	oracle.OK(t, json.Unmarshal(text, &header))
	at := func(tensor string, index ...int) float64 {
		h := header[tensor]
		if len(h.Shape) != len(index) || h.DType != "F64" {
			t.Fatalf("%s: dtype %s, shape %v", tensor, h.DType, h.Shape)
		}
		flat := 0
		for d, i := range index {
			flat = flat*h.Shape[d] + i
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(raw[8+int(n)+h.Offsets[0]+8*flat:]))
	}
	weight := func(name string) float64 {
		for i := range m.Weights {
			if m.WeightName(i) == name {
				return m.Weights[i]
			}
		}
		t.Fatalf("no weight is named %s", name)
		return 0
	}
	for _, c := range []struct {
		got  float64
		name string
	}{
		{at("node.pixel", 2, 0), "node.pixel[state road, feature height]"},
		{at("node.pixel", 0, 1), "node.pixel[state sky, feature bias]"},
		{at("node.region", 3, 1, 0), "node.region 3[state 1, feature 0]"},
		{at("edge.part of", 2, 1, 0), "edge.part of[states road, 1, feature 0]"},
		{at("edge.part of", 1, 0, 2), "edge.part of[states tree, 0, feature 2]"},
		{at("edge.beside", 1, 0, 1, 0), "edge.beside 1[states 0, 1, feature 0]"},
	} {
		oracle.Equal(t, c.got, weight(c.name), "%s", c.name)
	}
	oracle.Equal(t, header["node.silent"].Shape, []int{5, 0}, "node.silent has shape")
}

func TestModelFileRefusesNonFinite(t *testing.T) {
	m := fileModel(t)
	m.Weights[3] = math.NaN()
	err := Save(filepath.Join(t.TempDir(), "x"), m, nil)
	if want := m.WeightName(3); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Save: error is %v, want one that names %s", err, want)
	}
	m = fileModel(t)
	m.NodeCounts = []float64{1, math.Inf(1)}
	oracle.WantError(t, Save(filepath.Join(t.TempDir(), "x"), m, nil), "counting.node: number 1 is +Inf")
	oracle.WantError(t, Save(filepath.Join(t.TempDir(), "x"), fileModel(t), map[string]string{"schema": ""}),
		`metadata key "schema" is reserved`)
}

func TestModelFileDamaged(t *testing.T) {
	small := oracle.Must(NewModel(Homogeneous([]string{"a", "b"}, 1, 1)))(t)
	schema, _ := json.Marshal(small.Schema)
	node := safetensors.New("node.node", []int{2, 1}, []float64{0, 1})
	edge := safetensors.New("edge.edge", []int{2, 2, 1}, make([]float64, 4))
	counts := safetensors.New("counting.node", []int{1}, []float64{1})
	infinite := safetensors.New("edge.edge", []int{2, 2, 1}, []float64{0, math.Inf(1), 0, 0})
	for name, c := range map[string]struct {
		change  map[string]string
		tensors []safetensors.Tensor
		want    string
	}{
		"sound":          {nil, []safetensors.Tensor{node, edge}, ""},
		"other format":   {map[string]string{"format": "pt"}, []safetensors.Tensor{node, edge}, "not a model file"},
		"newer":          {map[string]string{"format_version": "4"}, []safetensors.Tensor{node, edge}, "install a newer blockbp"},
		"version of old": {map[string]string{"format_version": "2"}, []safetensors.Tensor{node, edge}, "format version 2, of a build before v0.1.0"},
		"no version":     {map[string]string{"format_version": ""}, []safetensors.Tensor{node, edge}, "positive number"},
		"no schema":      {map[string]string{"schema": ""}, []safetensors.Tensor{node, edge}, `"schema"`},
		"schema field":   {map[string]string{"schema": `{"node_typos":[]}`}, []safetensors.Tensor{node, edge}, "node_typos"},
		"empty schema":   {map[string]string{"schema": `{}`}, []safetensors.Tensor{node, edge}, "no node type"},
		"huge schema":    {map[string]string{"schema": strings.Replace(string(schema), `"features":1`, `"features":1000000000000`, 1)}, []safetensors.Tensor{node, edge}, "shape"},
		"missing tensor": {nil, []safetensors.Tensor{node}, `"edge.edge" is missing`},
		"old and masked": {map[string]string{"schema": strings.Replace(string(schema), `"features":1`, `"features":1,"forbidden":[7]`, 1)}, []safetensors.Tensor{node, edge}, "forbidden[0] is state 7"},
		"extra tensor": {nil, []safetensors.Tensor{node, edge, safetensors.New("x", nil, []float64{1})},
			`"x" belongs to no type`},
		"wrong shape":    {nil, []safetensors.Tensor{safetensors.New("node.node", []int{1, 2}, []float64{0, 1}), edge}, "[1 2], the schema wants [2 1]"},
		"counts":         {nil, []safetensors.Tensor{node, edge, counts, safetensors.New("counting.edge", []int{0}, []float64{})}, ""},
		"half of counts": {nil, []safetensors.Tensor{node, edge, counts}, `"counting.edge" is missing`},
		"square counts":  {nil, []safetensors.Tensor{node, edge, counts, safetensors.New("counting.edge", []int{1, 1}, []float64{1})}, "one dimension"},
		"infinite count": {nil, []safetensors.Tensor{node, edge, counts, safetensors.New("counting.edge", []int{1}, []float64{math.Inf(1)})}, "counting.edge: number 0 is +Inf"},
		"infinite":       {nil, []safetensors.Tensor{node, infinite}, "edge.edge[states a, b, feature 0] is +Inf"},
		"checksum":       {map[string]string{"checksum": "crc32c:00000000"}, []safetensors.Tensor{node, edge}, "damaged"},
		"other checksum": {map[string]string{"checksum": "sha256:0"}, []safetensors.Tensor{node, edge}, "a newer blockbp wrote it"},
	} {
		t.Run(name, func(t *testing.T) {
			meta := map[string]string{"format": fileFormat, "format_version": "3", "schema": string(schema), "checksum": ""}
			maps.Copy(meta, c.change)
			path := filepath.Join(t.TempDir(), "m")
			oracle.OK(t, safetensors.WriteFile(path, meta, c.tensors))
			_, _, err := Load(path)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)):
				t.Errorf("error is %v, want one with the path and %q", err, c.want)
			}
		})
	}
}

// TestModelFileOfOtherType: weights are in double precision.
func TestModelFileOfOtherType(t *testing.T) {
	var text bytes.Buffer
	oracle.OK(t, safetensors.Write(&text, nil, []safetensors.Tensor{safetensors.New("node.node", []int{1, 1},
		[]float64{1})}))
	raw := bytes.Replace(text.Bytes(), []byte("F64"), []byte("I64"), 1)
	f := oracle.Must(safetensors.NewFile(bytes.NewReader(raw), int64(len(raw))))(t)
	_, err := readWeights(f, &Schema{NodeTypes: []NodeType{{Name: "node", States: []string{"a"}, Features: 1}}})
	oracle.WantError(t, err, "astype")
}

// smallModels are one of each kind, with files of a few hundred bytes.
func smallModels() map[string]*Model {
	schemas := map[string]Schema{"tied": Homogeneous([]string{"a", "ü\"\n"}, 1, 2), "untied": Homogeneous([]string{"a", "b"}, 1, 1)}
	schemas["untied"].NodeTypes[0].Copies, schemas["untied"].EdgeTypes[0].Copies = 3, 2
	schemas["masked"] = masked(Homogeneous(NumberedStates(3), 1, 1))
	models := map[string]*Model{}
	for name, s := range schemas {
		m := must(NewModel(s))
		for i := range m.Weights {
			m.Weights[i] = 1 / (float64(i) - 0.5)
		}
		models[name] = m
	}
	models["with counting numbers"] = models["tied"].Clone()
	models["with counting numbers"].NodeCounts, models["with counting numbers"].EdgeCounts = []float64{1, -0.5, 1e-300},
		[]float64{0.75, 2}
	return models
}

func readBytes(raw []byte) (*Model, map[string]string, error) {
	f, err := safetensors.NewFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, nil, err
	}
	return readFile(f)
}

// FuzzModelFile: what stands behind a wrong checksum is looked at too, so that fuzzing comes to all of the reader.
func FuzzModelFile(f *testing.F) {
	for _, m := range smallModels() {
		f.Add(must(os.ReadFile(saved(f, m, map[string]string{"counting": "trw"}))))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, _, err := readBytes(raw)
		if err == nil && 8*len(m.Weights) > len(raw) {
			t.Errorf("%d weights in a file of %d bytes", len(m.Weights), len(raw))
		}
	})
}

// symmetricModel has a tied symmetric type, an untied one and a directed one; weights of the
// states a, b and b, a of the first two are the same.
func symmetricModel() *Model {
	m := must(NewModel(Schema{
		NodeTypes: []NodeType{{Name: "word", States: []string{"x", "y", "z"}, Features: 1}},
		EdgeTypes: []EdgeType{{Name: "beside", Features: 2, Symmetric: true}, {Name: "bond", Features: 1, Copies: 2, Symmetric: true}, {Name: "next", Features: 1}},
	}))
	for i := range m.Weights {
		m.Weights[i] = float64(i * i % 17)
	}
	m.Layout.Symmetrise(m.Weights)
	return m
}

// TestSymmetrise: tables of symmetric types get the mean of both ways round, and no others change.
func TestSymmetrise(t *testing.T) {
	m := symmetricModel()
	oracle.OK(t, m.CheckSymmetry())
	directed := m.Layout.Edge[2]
	for i := directed.At; i < directed.At+directed.Len; i++ {
		oracle.Equal(t, m.Weights[i], float64(i*i%17), "weight %d of the directed type changed to", i)
	}
	tied := m.Layout.Edge[0]
	x, y := tied.At+9+0*3+2, tied.At+9+2*3+0 // second feature, states 0, 2 and 2, 0
	if want := float64(x*x%17+y*y%17) / 2; m.Weights[x] != want || m.Weights[y] != want {
		t.Errorf("weights %d and %d are %v and %v, want %v", x, y, m.Weights[x], m.Weights[y], want)
	}
	before := slices.Clone(m.Weights)
	if m.Layout.Symmetrise(m.Weights); !slices.Equal(before, m.Weights) {
		t.Error("a second time changes something")
	}
}

// TestSymmetricFile: files keep what is symmetric, and models that are not what they say are refused both ways.
func TestSymmetricFile(t *testing.T) {
	m := symmetricModel()
	path := saved(t, m, nil)
	got, _, err := Load(path)
	oracle.OK(t, err)
	if !slices.Equal(got.Weights, m.Weights) || !got.Schema.EdgeTypes[0].Symmetric || !got.Schema.EdgeTypes[1].Symmetric || got.Schema.EdgeTypes[2].Symmetric {
		t.Errorf("read back as %+v", got.Schema.EdgeTypes)
	}
	m.Weights[m.Layout.Edge[1].At+1]++
	oracle.WantError(t, Save(path, m, nil), `edge.bond 0[states x, y, feature 0] is`, "states y, x")
	m.Schema.EdgeTypes[1].Symmetric = false
	m.Layout = m.Schema.Layout()
	oracle.OK(t, Save(path, m, nil))
}

// TestSymmetricSchema: what cannot be symmetric is refused.
func TestSymmetricSchema(t *testing.T) {
	s := Schema{
		NodeTypes: []NodeType{{Name: "a", States: NumberedStates(2), Features: 1}, {Name: "b", States: NumberedStates(2), Features: 1}},
		EdgeTypes: []EdgeType{{Name: "e", U: 0, V: 1, Features: 1, Symmetric: true}},
	}
	oracle.WantError(t, s.Validate(), `edge_types[0] ("e"): it is symmetric, but joins node type "a" to "b"`)
	s.EdgeTypes[0].V, s.EdgeTypes[0].Forbidden = 0, [][2]int{{0, 1}}
	oracle.WantError(t, s.Validate(), "forbid 1, 0 too")
	s.EdgeTypes[0].Forbidden = [][2]int{{0, 1}, {1, 0}}
	oracle.OK(t, s.Validate())
}
