package instances

import (
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// excerptSamples is how many samples an excerpt has at most.
const excerptSamples = 4

// Excerpt is a part of a network that is small whatever the network is: for finding out how
// long visits of a block take, without a run.
type Excerpt struct {
	Instance     *crf.Instance
	Of           []int32 // [nodes] 0: of the block, 1: next to it
	Nodes, Edges []int32 // [of the excerpt] which ones of the network they are
	Model        *crf.Model
}

// NewExcerpt takes nodes of a network, the first ones that there is room for, with their edges and
// the nodes at the other ends. There is room for so many numbers, unless one edge is more: joint
// states of edges, states of nodes, and features of both. inside reports what is in the same block.
// Weights are zero, and untied ones are those of the excerpt alone.
func NewExcerpt(in *crf.Instance, nodes []int32, numbers float64, inside func(s int32) bool) (*Excerpt, error) {
	x := &Excerpt{}
	x.choose(in, nodes, numbers)
	place := map[int32]int32{}
	for i, s := range x.Nodes {
		place[s] = int32(i)
		x.Of = append(x.Of, 1)
		if inside(s) {
			x.Of[i] = 0
		}
	}
	u, v := make([]int32, len(x.Edges)), make([]int32, len(x.Edges))
	for i, e := range x.Edges {
		u[i], v[i] = place[in.Graph.U(e)], place[in.Graph.V(e)]
	}
	g, err := graph.FromEdges(len(x.Nodes), u, v)
	if err != nil {
		return nil, err
	}
	spec := crf.InstanceSpec{Name: in.Name, Graph: g, Weight: in.Weight()}
	for _, labels := range in.Samples()[:min(excerptSamples, len(in.Samples()))] {
		spec.Labels = append(spec.Labels, at(labels, x.Nodes))
	}
	schema := *in.Schema()
	schema.NodeTypes, schema.EdgeTypes = slices.Clone(schema.NodeTypes), slices.Clone(schema.EdgeTypes)
	var rows [][]int32
	spec.NodeType, rows = typesAndRows(x.Nodes, len(schema.NodeTypes), in.NodeType, in.NodeRow)
	for a := range schema.NodeTypes {
		spec.NodeFeat = append(spec.NodeFeat, in.NodeFeatures(a).Pick(rows[a]))
		schema.NodeTypes[a].Copies = min(schema.NodeTypes[a].Copies, len(rows[a]))
	}
	spec.EdgeType, rows = typesAndRows(x.Edges, len(schema.EdgeTypes), in.EdgeType, in.EdgeRow)
	for b := range schema.EdgeTypes {
		spec.EdgeFeat = append(spec.EdgeFeat, in.EdgeFeatures(b).Pick(rows[b]))
		schema.EdgeTypes[b].Copies = min(schema.EdgeTypes[b].Copies, len(rows[b]))
	}
	x.Model = &crf.Model{Schema: schema, Layout: schema.Layout()}
	x.Instance, err = crf.NewInstance(&x.Model.Schema, spec)
	return x, err
}

// choose finds what is in the excerpt.
func (x *Excerpt) choose(in *crf.Instance, nodes []int32, most float64) {
	types, numbers := in.Schema().NodeTypes, 0.0
	known, joined := map[int32]bool{}, map[int32]bool{}
	add := func(s int32) {
		if !known[s] {
			known[s] = true
			x.Nodes = append(x.Nodes, s)
			numbers += float64(in.States(s) + types[in.NodeType(s)].Features)
		}
	}
	for i, s := range nodes {
		if i > 0 && numbers > most {
			break
		}
		add(s)
		for _, d := range in.Graph.Incoming(s) {
			if e := d >> 1; !joined[e] && (numbers <= most || len(x.Edges) == 0) {
				joined[e] = true
				x.Edges = append(x.Edges, e)
				u, v := in.Schema().EdgeStates(in.EdgeType(e))
				numbers += float64(u)*float64(v) + float64(in.Schema().EdgeTypes[in.EdgeType(e)].Features)
				add(in.Graph.Source(d))
			}
		}
	}
	slices.Sort(x.Nodes)
	slices.Sort(x.Edges)
}

// Restrict returns counting numbers of the network as the excerpt has them.
func (x *Excerpt) Restrict(c *counting.Numbers) *counting.Numbers {
	r := &counting.Numbers{Name: c.Name, Facts: c.Facts, Node: at(c.Node, x.Nodes), Edge: at(c.Edge, x.Edges), Rho: at(c.Rho, x.Nodes)}
	if c.EdgeClass != nil && len(x.Edges) > 0 {
		r.EdgeClass, r.Classes = at(c.EdgeClass, x.Edges), c.Classes
	}
	return r
}

// at returns some of the values.
func at[T any](values []T, places []int32) []T {
	some := make([]T, len(places))
	for i, p := range places {
		some[i] = values[p]
	}
	return some
}

// typesAndRows returns the types of elements, nil where there is one only, and the rows of each type that they have.
func typesAndRows(elements []int32, types int, typeOf, rowOf func(int32) int) (of []int32, rows [][]int32) {
	rows = make([][]int32, types)
	for _, e := range elements {
		t := typeOf(e)
		rows[t] = append(rows[t], int32(rowOf(e)))
		if types > 1 {
			of = append(of, int32(t))
		}
	}
	return of, rows
}
