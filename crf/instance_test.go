package crf

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestFeatureErrors name the row and the column.
func TestFeatureErrors(t *testing.T) {
	first := func(_ Features, err error) error { return err }
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		err         error
		row, column int // of the Error; −2: none, −1: the row alone
		want        string
	}{
		{first(Dense([]float64{1, 2, 3}, 2)), -2, 0, "3 values do not divide into rows of 2"},
		{first(Dense[float64](nil, 0)), -2, 0, "rows of 0"},
		{first(Dense([]float64{1, 2, 3, nan}, 2)), 1, 1, "[1,1]: feature is NaN"},
		{first(Dense([]float64{1, 2, -inf, 0}, 2)), 1, 0, "[1,0]: feature is -Inf"},
		{first(Dense([]float32{1, float32(inf)}, 2)), 0, 1, "[0,1]: feature is +Inf"},
		{first(Dense([]float32{1}, 2)), -2, 0, "1 values do not divide"},
		{first(Bins([]int32{0, 2, 1}, 2)), 1, -1, "[1]: bin is 2, want 0 to 1"},
		{first(Bins([]int32{0, -1}, 2)), 1, -1, "[1]: bin is -1"},
		{first(Sparse(nil, nil, nil, 2)), -2, 0, "inconsistent"},
		{first(Sparse([]int{0, 1}, []int32{0, 1}, nil, 2)), -2, 0, "inconsistent"},
		{first(Sparse([]int{0, 1}, []int32{0}, []float64{1, 2}, 2)), -2, 0, "inconsistent"},
		{first(Sparse([]int{0, 2, 1, 2}, []int32{0, 1}, nil, 2)), -2, 0, "sparse row 1 ends before it begins"},
		{first(Sparse([]int{0, 0, 1}, []int32{2}, nil, 2)), 1, -1, "[1]: feature index is 2, want 0 to 1"},
		{first(Sparse([]int{0, 0, 1}, []int32{-1}, nil, 2)), 1, -1, "[1]: feature index is -1"},
		{first(Sparse([]int{0, 1}, []int32{1}, []float64{nan}, 2)), 0, 1, "[0,1]: feature is NaN"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("error %v, want %q", test.err, test.want)
			continue
		}
		var value *Error
		index := []int{test.row, test.column}
		if test.column < 0 {
			index = index[:1]
		}
		if located := errors.As(test.err, &value); located != (test.row > -2) || located && (value.Array != "" || !slices.Equal(value.Index, index)) {
			t.Errorf("error %#v, want row %d and column %d", test.err, test.row, test.column)
		}
	}
}

// TestInstanceErrors name the array and the index at fault.
func TestInstanceErrors(t *testing.T) {
	schema := Schema{
		NodeTypes: []NodeType{
			{Name: "word", States: NumberedStates(3), Features: 2},
			{Name: "place", States: NumberedStates(2), Features: 1, Copies: 1},
		},
		EdgeTypes: []EdgeType{{Name: "at", U: 0, V: 1, Features: 1}, {Name: "next", U: 0, V: 0}},
	}
	fresh := func() InstanceSpec { // words 0 and 1, place 2
		g := oracle.Must(graph.FromEdges(3, []int32{0, 0}, []int32{2, 1}))(t)
		words := oracle.Must(Dense([]float64{1, 2, 3, 4}, 2))(t)
		return InstanceSpec{
			Graph: g, NodeType: []int32{0, 0, 1}, EdgeType: []int32{0, 1},
			NodeFeat: []Features{words, Constant(1, 1)}, EdgeFeat: []Features{Constant(1, 1), {}},
			Labels: [][]int32{{0, -1, 1}},
		}
	}
	oracle.Must(NewInstance(&schema, fresh()))(t)
	for _, test := range []struct {
		want  string
		spoil func(s *InstanceSpec)
	}{
		{"the network has no nodes", func(s *InstanceSpec) { s.Graph = &graph.Graph{} }},
		{"grid of 2×2 for 3 nodes", func(s *InstanceSpec) { s.Rows, s.Cols = 2, 2 }},
		{"node_types has 2 entries, want 3", func(s *InstanceSpec) { s.NodeType = s.NodeType[:2] }},
		{"node_types[1] is 2, want 0 to 1", func(s *InstanceSpec) { s.NodeType = []int32{0, 2, 1} }},
		{"node_types[0] is -1", func(s *InstanceSpec) { s.NodeType = []int32{-1, 0, 1} }},
		{"edge_types has 1 entries, want 2", func(s *InstanceSpec) { s.EdgeType = s.EdgeType[:1] }},
		{"edge_types[1] is 7", func(s *InstanceSpec) { s.EdgeType = []int32{0, 7} }},
		{`edges[1] = (0, 1) is of type "at", which joins node type "word" to "place", but its ends are of types "word" and "word"`, func(s *InstanceSpec) { s.EdgeType = []int32{0, 0} }},
		{"the network has no nodes", func(s *InstanceSpec) { s.Graph = nil }},
		{`edges[0] = (0, 2) is of type "next"`, func(s *InstanceSpec) { s.EdgeType = []int32{1, 1} }},
		{"features for 1 node types and 2 edge types, the model has 2 and 2", func(s *InstanceSpec) { s.NodeFeat = s.NodeFeat[:1] }},
		{"features for 2 node types and 1 edge types", func(s *InstanceSpec) { s.EdgeFeat = s.EdgeFeat[:1] }},
		{`node_features: type "word" has 3 rows, want 2`, func(s *InstanceSpec) { s.NodeFeat[0] = Constant(3, 2) }},
		{`node_features: type "word" has 3 columns, the model has 2`, func(s *InstanceSpec) { s.NodeFeat[0] = Constant(2, 3) }},
		{`edge_features: type "at" has 2 rows, want 1`, func(s *InstanceSpec) { s.EdgeFeat[0] = Constant(2, 1) }},
		{`untied node type "place" has weights for 1, the instance has 2 of them`, func(s *InstanceSpec) {
			s.Graph, _ = graph.FromEdges(3, []int32{0}, []int32{2})
			s.NodeType, s.EdgeType = []int32{0, 1, 1}, []int32{0}
			s.NodeFeat = []Features{Constant(1, 2), Constant(2, 1)}
		}},
		{"labels[1]: has 2 entries, want one for each of 3 nodes", func(s *InstanceSpec) {
			s.Labels = append(s.Labels, []int32{0, 0})
		}},
		{"labels[1,2]: is 2, want -1 (unobserved) or 0 to 1", func(s *InstanceSpec) {
			s.Labels = append(s.Labels, []int32{0, 2, 2})
		}},
		{"labels[0,0]: is -2", func(s *InstanceSpec) { s.Labels[0][0] = -2 }},
	} {
		spec := fresh()
		test.spoil(&spec)
		oracle.Fails(NewInstance(&schema, spec))(t, test.want)
	}
	var array *Error
	spec := fresh()
	spec.EdgeFeat[0] = Constant(1, 2)
	if _, err := NewInstance(&schema, spec); !errors.As(err, &array) || array.Array != "edge_features" {
		t.Errorf("error %v, want an Error of edge_features", err)
	}
	noEdges := Schema{NodeTypes: schema.NodeTypes[:1]}
	g, _ := graph.FromEdges(2, []int32{0}, []int32{1})
	oracle.Fails(NewInstance(&noEdges, InstanceSpec{Graph: g, NodeFeat: []Features{Constant(2, 2)}}))(t,
		"1 edges, but the model has no edge type")
}

func TestWeightName(t *testing.T) {
	m := fileModel(t)
	for i, want := range map[int]string{
		0:                       "node.pixel[state sky, feature height]",
		5:                       "node.pixel[state road, feature bias]",
		6:                       "node.region 0[state 0, feature 0]",
		9:                       "node.region 1[state 1, feature 0]",
		14:                      "edge.part of[states sky, 0, feature 0]",
		14 + 2*6 + 5:            "edge.part of[states road, 1, feature 2]",
		len(m.Weights) - 1:      "edge.beside 1[states 1, 1, feature 0]",
		len(m.Weights) - 4 - 3:  "edge.beside 0[states 0, 1, feature 0]",
		len(m.Weights):          "weight 40",
		m.Layout.Edge[0].At + 8: "edge.part of[states tree, 0, feature 1]",
	} {
		oracle.Equal(t, m.WeightName(i), want, "weight %d", i)
	}
}

func TestSchemaErrors(t *testing.T) {
	node := func(name string, states, features, copies int, names ...string) NodeType {
		return NodeType{Name: name, States: NumberedStates(states), Features: features, Copies: copies, FeatureNames: names}
	}
	a := node("a", 2, 1, 0)
	for _, test := range []struct {
		nodes []NodeType
		edges []EdgeType
		want  string
	}{
		{nil, nil, "no node type"},
		{[]NodeType{a, node("", 2, 1, 0)}, nil, "node_types[1] has no name"},
		{[]NodeType{a, a}, nil, `node_types[1] ("a"): name is used twice`},
		{[]NodeType{node("a", 0, 1, 0)}, nil, `node_types[0] ("a"): no states`},
		{[]NodeType{node("a", 1, -1, 0)}, nil, "features -1 and copies 0 must not be negative"},
		{[]NodeType{node("a", 1, 1, -1)}, nil, "features 1 and copies -1 must not be negative"},
		{[]NodeType{node("a", 1, 1, 0, "x", "y")}, nil, "2 feature names for 1 features"},
		{[]NodeType{a}, []EdgeType{{}}, "edge_types[0] has no name"},
		{[]NodeType{a}, []EdgeType{{Name: "e"}, {Name: "e"}}, `edge_types[1] ("e"): name is used twice`},
		{[]NodeType{a}, []EdgeType{{Name: "e", V: 1}}, "ends of node types 0 and 1, want 0 to 0"},
		{[]NodeType{a}, []EdgeType{{Name: "e", U: -1}}, "ends of node types -1 and 0"},
		{[]NodeType{a}, []EdgeType{{Name: "e", Copies: -1}}, "copies -1 must not be negative"},
		{[]NodeType{a}, []EdgeType{{Name: "e", FeatureNames: []string{"x"}}}, "1 feature names for 0 features"},
	} {
		oracle.Fails(NewModel(Schema{NodeTypes: test.nodes, EdgeTypes: test.edges}))(t, test.want)
	}
	// A node type and an edge type may have the same name.
	oracle.Must(NewModel(Schema{NodeTypes: []NodeType{a}, EdgeTypes: []EdgeType{{Name: "a"}}}))(t)
}

// TestCoded: a row reads as that of the book, and only its entries that are not 0 are gone through.
func TestCoded(t *testing.T) {
	f, err := Coded([]int32{1, 0, 1}, []float64{1, 2, 0, 0, 3, 0}, 3)
	if err != nil || f.Rows() != 3 || f.Dim() != 3 {
		t.Fatal(f, err)
	}
	row := make([]float64, 3)
	for r, want := range [][]float64{{0, 3, 0}, {1, 2, 0}, {0, 3, 0}} {
		f.Row(row, r)
		sparse := make([]float64, 3)
		entries := f.Data().Entries(r, nil)
		for i := range entries.N {
			j, x := entries.At(i)
			sparse[j] = x
		}
		if !slices.Equal(row, want) || !slices.Equal(sparse, want) {
			t.Errorf("row %d is %v, its %d entries %v, want %v", r, row, entries.N, sparse, want)
		}
	}
	for _, c := range []struct {
		codes []int32
		book  []float64
		dim   int
		want  string
	}{
		{[]int32{2}, make([]float64, 6), 3, "want 0 to 1"},
		{[]int32{-1}, make([]float64, 6), 3, "want 0 to 1"},
		{[]int32{0}, make([]float64, 5), 3, "does not divide"},
		{[]int32{0}, nil, 0, "does not divide"},
		{[]int32{0}, []float64{1, math.NaN()}, 2, "feature is NaN"},
	} {
		oracle.Fails(Coded(c.codes, c.book, c.dim))(t, c.want)
	}
}

// Row boundaries must be checked before the entries between them are read.
func TestSparseStartTooLarge(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	oracle.Fails(Sparse([]int{0, 5, 3}, []int32{0, 1, 0}, nil, 2))(t,
		"sparse row 0 ends before it begins, or beyond the data")
	oracle.Fails(Sparse([]int{0, 0}, nil, nil, -1))(t, "sparse rows are inconsistent")
}

// TestPickSparse: rows that are picked are those of the whole, in the order that is asked for.
func TestPickSparse(t *testing.T) {
	for _, value := range [][]float64{nil, {3, 4, 5}} {
		whole := oracle.Must(Sparse([]int{0, 2, 2, 3}, []int32{0, 2, 1}, value, 3))(t)
		some := whole.Pick([]int32{2, 0, 1})
		for i, r := range []int{2, 0, 1} {
			x, y := make([]float64, 3), make([]float64, 3)
			some.Row(x, i)
			whole.Row(y, r)
			oracle.Equal(t, x, y, "row")
		}
	}
}

// must returns the value of a call that may not fail here.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// masked returns the schema with a state and a few pairs forbidden.
func masked(s Schema) Schema {
	s.NodeTypes, s.EdgeTypes = slices.Clone(s.NodeTypes), slices.Clone(s.EdgeTypes)
	s.NodeTypes[0].Forbidden = []int{2}
	for b := range s.EdgeTypes {
		if ku, kv := s.EdgeStates(b); ku > 1 && kv > 1 {
			s.EdgeTypes[b].Forbidden = [][2]int{{0, kv - 1}, {ku - 1, 0}}
		}
	}
	return s
}

// TestMaskValidation: what does not exist, or leaves nothing.
func TestMaskValidation(t *testing.T) {
	for want, change := range map[string]func(*Schema){
		"":                           func(s *Schema) { *s = masked(*s) },
		"forbidden[0] is state 3":    func(s *Schema) { s.NodeTypes[0].Forbidden = []int{3} },
		"at most 1024 of each":       func(s *Schema) { s.NodeTypes = slices.Repeat(s.NodeTypes, 1025) },
		"every state is forbidden":   func(s *Schema) { s.NodeTypes[0].Forbidden = []int{0, 1, 2} },
		"states 0 and 3, want below": func(s *Schema) { s.EdgeTypes[0].Forbidden = [][2]int{{0, 3}} },
		"every pair of states is": func(s *Schema) {
			s.NodeTypes[0].Forbidden = []int{1, 2}
			s.EdgeTypes[0].Forbidden = [][2]int{{0, 0}}
		},
	} {
		s := Homogeneous(NumberedStates(3), 1, 1)
		change(&s)
		if err := s.Validate(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestMaskInFiles: a mask is saved.
func TestMaskInFiles(t *testing.T) {
	for _, schema := range []Schema{Homogeneous(NumberedStates(3), 1, 1), masked(Homogeneous(NumberedStates(3), 1, 1))} {
		m, _, err := Load(saved(t, must(NewModel(schema)), nil))
		if err != nil || !slices.Equal(m.Schema.NodeTypes[0].Forbidden, schema.NodeTypes[0].Forbidden) || !slices.Equal(m.Schema.EdgeTypes[0].Forbidden, schema.EdgeTypes[0].Forbidden) {
			t.Errorf("loaded %+v, %v", m.Schema, err)
		}
	}
}
