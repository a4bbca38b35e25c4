package crf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
)

// Unobserved marks a node whose label is missing.
const Unobserved = -1

// Instance is one frozen network with its features and, for learning, the
// labels of one or more samples that share the features and one inference.
type Instance struct {
	Name  string
	Graph *graph.Graph
	// Rows and Cols are the size of the grid the nodes lie on, or 0: used to cut tiles and to draw, never by inference.
	Rows, Cols int

	schema   *Schema
	nodeType []int32    // [nodes], nil: all of type 0
	edgeType []int32    // [edges], nil: all of type 0
	nodeRow  []int32    // [nodes] row in the features of its type, nil: the node itself
	edgeRow  []int32    // [edges]
	nodeFeat []Features // [node types]
	edgeFeat []Features // [edge types]
	labels   [][]int32  // [samples][nodes]
	weight   float64    // of each of its samples in the objective
	counts   []float64  // [samples] what each counts beside that, nil: 1
}

// InstanceSpec is what NewInstance checks and freezes. Slices are kept without copying.
type InstanceSpec struct {
	Name       string
	Graph      *graph.Graph
	Rows, Cols int
	NodeType   []int32    // [nodes] or nil: all of type 0
	EdgeType   []int32    // [edges] or nil: all of type 0
	NodeFeat   []Features // [node types], rows in the order of the type's nodes
	EdgeFeat   []Features // [edge types], rows in the order of the type's edges
	Labels     [][]int32  // [samples][nodes], −1 unobserved; empty: no labels
	// Weight multiplies the terms of the instance's samples in learning: 2 counts
	// them as if they were there twice. Positive and finite; 0 means 1.
	Weight float64
	// SampleWeights [samples] multiplies Weight for each sample by itself, as where some are much alike; nil: 1.
	// Not negative, and finite.
	SampleWeights []float64
}

// NewInstance checks spec against the schema. Errors name the array and the index at fault.
func NewInstance(schema *Schema, spec InstanceSpec) (*Instance, error) {
	in := &Instance{
		Name: spec.Name, Graph: spec.Graph, Rows: spec.Rows, Cols: spec.Cols, schema: schema,
		nodeType: spec.NodeType, edgeType: spec.EdgeType, nodeFeat: spec.NodeFeat, edgeFeat: spec.EdgeFeat,
		labels: spec.Labels, weight: cmp.Or(spec.Weight, 1), counts: spec.SampleWeights,
	}
	if !(in.weight > 0) || math.IsInf(in.weight, 0) {
		return nil, &Error{"weight", nil, fmt.Sprintf("is %v, want a positive, finite number", spec.Weight)}
	}
	if spec.Graph == nil || spec.Graph.NumNodes() == 0 {
		return nil, fmt.Errorf("the network has no nodes")
	}
	n, m := spec.Graph.NumNodes(), spec.Graph.NumEdges()
	if spec.Rows*spec.Cols != 0 && spec.Rows*spec.Cols != n {
		return nil, fmt.Errorf("grid of %d×%d for %d nodes", spec.Rows, spec.Cols, n)
	}
	nodeCount, nodeRow, err := countTypes("node_types", spec.NodeType, n, len(schema.NodeTypes))
	if err != nil {
		return nil, err
	}
	edgeCount, edgeRow, err := countTypes("edge_types", spec.EdgeType, m, len(schema.EdgeTypes))
	if err != nil {
		return nil, err
	}
	in.nodeRow, in.edgeRow = nodeRow, edgeRow
	if err := in.checkEnds(); err != nil {
		return nil, err
	}
	if err := in.checkFeatures(nodeCount, edgeCount); err != nil {
		return nil, err
	}
	if err := in.checkLabels(); err != nil {
		return nil, err
	}
	return in, nil
}

// Spec returns what NewInstance made the instance of: to make one that differs in some of it. Its slices are those of
// the instance, and must not be changed, but for those of features, by types, which are its own.
func (in *Instance) Spec() InstanceSpec {
	return InstanceSpec{
		Name: in.Name, Graph: in.Graph, Rows: in.Rows, Cols: in.Cols, NodeType: in.nodeType, EdgeType: in.edgeType,
		NodeFeat: slices.Clone(in.nodeFeat), EdgeFeat: slices.Clone(in.edgeFeat), Labels: in.labels, Weight: in.weight,
		SampleWeights: in.counts,
	}
}

// countTypes counts the elements of each type and gives each its row within its
// type; rows are nil where all elements are of type 0.
func countTypes(array string, types []int32, n, numTypes int) (count []int, row []int32, err error) {
	count = make([]int, numTypes)
	if types == nil {
		if n > 0 && numTypes == 0 {
			return nil, nil, fmt.Errorf("%d edges, but the model has no edge type", n)
		}
		if numTypes > 0 {
			count[0] = n
		}
		return count, nil, nil
	}
	if len(types) != n {
		return nil, nil, fmt.Errorf("%s has %d entries, want %d", array, len(types), n)
	}
	row = make([]int32, n)
	for i, t := range types {
		if t < 0 || int(t) >= numTypes {
			return nil, nil, fmt.Errorf("%s[%d] is %d, want 0 to %d", array, i, t, numTypes-1)
		}
		row[i] = int32(count[t])
		count[t]++
	}
	return count, row, nil
}

func (in *Instance) checkEnds() error {
	u, v := in.Graph.Ends()
	for e := range u {
		b := in.EdgeType(int32(e))
		t := &in.schema.EdgeTypes[b]
		if a, c := in.NodeType(u[e]), in.NodeType(v[e]); a != t.U || c != t.V {
			return fmt.Errorf("edges[%d] = (%d, %d) is of type %q, which joins node type %q to %q, but its ends are of "+
				"types %q and %q",
				e, u[e], v[e], t.Name, in.schema.NodeTypes[t.U].Name, in.schema.NodeTypes[t.V].Name, in.schema.NodeTypes[a].Name,
				in.schema.NodeTypes[c].Name)
		}
	}
	return nil
}

func (in *Instance) checkFeatures(nodeCount, edgeCount []int) error {
	check := func(what, name string, f *Features, rows, dim, copies int) error {
		if dim == 0 {
			*f = Constant(rows, 0)
		}
		if f.data.Rows != rows {
			return &Error{what + "_features", nil, fmt.Sprintf("type %q has %d rows, want %d", name, f.data.Rows, rows)}
		}
		if f.data.Dim != dim {
			return &Error{what + "_features", nil, fmt.Sprintf("type %q has %d columns, the model has %d",
				name, f.data.Dim, dim)}
		}
		if copies > 0 && copies != rows {
			return fmt.Errorf("untied %s type %q has weights for %d, the instance has %d of them", what, name, copies, rows)
		}
		return nil
	}
	if len(in.nodeFeat) != len(in.schema.NodeTypes) || len(in.edgeFeat) != len(in.schema.EdgeTypes) {
		return fmt.Errorf("features for %d node types and %d edge types, the model has %d and %d",
			len(in.nodeFeat), len(in.edgeFeat), len(in.schema.NodeTypes), len(in.schema.EdgeTypes))
	}
	for a, t := range in.schema.NodeTypes {
		if err := check("node", t.Name, &in.nodeFeat[a], nodeCount[a], t.Features, t.Copies); err != nil {
			return err
		}
	}
	for b, t := range in.schema.EdgeTypes {
		if err := check("edge", t.Name, &in.edgeFeat[b], edgeCount[b], t.Features, t.Copies); err != nil {
			return err
		}
	}
	return nil
}

// CheckSample returns an *Error where labels, those of sample i, are not a state, or Unobserved, for each node.
func (in *Instance) CheckSample(i int, labels []int32) error {
	if found := in.misfit(i, labels); found != nil {
		return found
	}
	return nil
}

// misfit is the error of CheckSample, or nil.
func (in *Instance) misfit(i int, labels []int32) *Error {
	if n := in.Graph.NumNodes(); len(labels) != n {
		return &Error{"labels", []int{i}, fmt.Sprintf("has %d entries, want one for each of %d nodes", len(labels), n)}
	}
	for s, y := range labels {
		if k := in.States(int32(s)); y < Unobserved || int(y) >= k {
			return &Error{"labels", []int{i, s}, fmt.Sprintf("is %d, want %d (unobserved) or 0 to %d", y, Unobserved, k-1)}
		}
	}
	return nil
}

func (in *Instance) checkLabels() error {
	for i, sample := range in.labels {
		if err := in.CheckSample(i, sample); err != nil {
			return err
		}
	}
	if in.counts != nil && len(in.counts) != len(in.labels) {
		return &Error{"sample_weights", nil, fmt.Sprintf("has %d entries, want one for each of %d samples", len(in.counts),
			len(in.labels))}
	}
	for i, w := range in.counts {
		if !(w >= 0) || math.IsInf(w, 0) {
			return &Error{"sample_weights", []int{i}, fmt.Sprintf("is %v, want a finite number that is not negative", w)}
		}
	}
	return nil
}

// Schema returns the schema the instance was checked against.
func (in *Instance) Schema() *Schema { return in.schema }

// NodeType returns the type of node s.
func (in *Instance) NodeType(s int32) int { return entry(in.nodeType, s, 0) }

// EdgeType returns the type of edge e.
func (in *Instance) EdgeType(e int32) int { return entry(in.edgeType, e, 0) }

// NodeRow returns the row of node s among the features, and copies, of its type.
func (in *Instance) NodeRow(s int32) int { return entry(in.nodeRow, s, s) }

// EdgeRow returns the row of edge e among the features, and copies, of its type.
func (in *Instance) EdgeRow(e int32) int { return entry(in.edgeRow, e, e) }

// FeatureRows returns those of all nodes and edges; nil where each element is in the row of its own number.
func (in *Instance) FeatureRows() (node, edge []int32) { return in.nodeRow, in.edgeRow }

// entry returns that of an element in a list, which where there is no list is usual.
func entry(list []int32, element, usual int32) int {
	if list == nil {
		return int(usual)
	}
	return int(list[element])
}

// States returns the number of states of node s.
func (in *Instance) States(s int32) int { return in.schema.NodeStates(in.NodeType(s)) }

// Cards returns the number of states of every node.
func (in *Instance) Cards() []int32 {
	return numeric.Map(numeric.To(in.Graph.NumNodes()), func(s int32) int32 { return int32(in.States(s)) })
}

// NodeFeatures returns the features of the nodes of type a.
func (in *Instance) NodeFeatures(a int) *Features { return &in.nodeFeat[a] }

// EdgeFeatures returns the features of the edges of type b.
func (in *Instance) EdgeFeatures(b int) *Features { return &in.edgeFeat[b] }

// Weight returns what the terms of each of the instance's samples are multiplied by in learning.
func (in *Instance) Weight() float64 { return in.weight }

// SampleWeight returns what the terms of a sample are multiplied by beside Weight.
func (in *Instance) SampleWeight(sample int) float64 {
	if in.counts == nil {
		return 1
	}
	return in.counts[sample]
}

// TotalWeight returns what all samples count together.
func (in *Instance) TotalWeight() float64 {
	if in.counts == nil {
		return in.weight * float64(len(in.labels))
	}
	total := 0.0
	for _, w := range in.counts {
		total += in.weight * w
	}
	return total
}

// Samples returns the labels, [samples][nodes]; they must not be changed.
func (in *Instance) Samples() [][]int32 { return in.labels }

// LaidOut returns the instance on Graph.LaidOut, with features, and weights of untied types, where they are.
func (in *Instance) LaidOut() *Instance {
	laid := *in
	laid.Graph = in.Graph.LaidOut()
	_, node, edge := laid.Graph.Given()
	if node == nil || in.Rows > 0 || laid.Graph == in.Graph {
		return in
	}
	laid.nodeType, laid.edgeType = numeric.Pick(in.nodeType, node), numeric.Pick(in.edgeType, edge)
	if laid.nodeRow = numeric.Pick(in.nodeRow, node); in.nodeRow == nil {
		laid.nodeRow = node
	}
	if laid.edgeRow = numeric.Pick(in.edgeRow, edge); in.edgeRow == nil {
		laid.edgeRow = edge
	}
	laid.labels = numeric.Map(in.labels, func(labels []int32) []int32 { return numeric.Pick(labels, node) })
	return &laid
}

// WithoutEdges returns the instance on the same nodes with no edges: what is
// left of a CRF when every node is predicted from its own features.
func (in *Instance) WithoutEdges() *Instance {
	alone := *in
	g, err := graph.FromEdges(in.Graph.NumNodes(), nil, nil)
	if err != nil {
		panic("crf: " + err.Error()) // a graph without edges is always legal
	}
	alone.Graph, alone.edgeType, alone.edgeRow = g, nil, nil
	alone.edgeFeat = numeric.Map(in.edgeFeat, func(f Features) Features { return Constant(0, f.data.Dim) })
	return &alone
}
