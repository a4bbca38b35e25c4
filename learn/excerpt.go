package learn

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// What an excerpt has at most, unless one edge is more: joint states of its edges, states
// of its nodes, and features of both; and samples.
const (
	excerptNumbers = 1 << 20
	excerptSamples = 4
)

// excerpt is a part of a network that is small whatever the network is: for finding out how
// long visits of a block take, without a run.
type excerpt struct {
	in           *crf.Instance
	of           []int32 // [nodes] 0: of the block, 1: next to it
	nodes, edges []int32 // [of the excerpt] which ones of the network they are
	model        *crf.Model
}

// newExcerpt takes nodes of a network, the first ones that there is room for if each of
// some threads has an excerpt, with their edges and the nodes at the other ends. inside reports what is in the same block. Weights
// are zero, and untied ones are those of the excerpt alone.
func newExcerpt(in *crf.Instance, nodes []int32, threads int, inside func(s int32) bool) (*excerpt, error) {
	x := &excerpt{}
	x.choose(in, nodes, excerptNumbers/float64(threads))
	place := map[int32]int32{}
	for i, s := range x.nodes {
		place[s] = int32(i)
		x.of = append(x.of, 1)
		if inside(s) {
			x.of[i] = 0
		}
	}
	u, v := make([]int32, len(x.edges)), make([]int32, len(x.edges))
	for i, e := range x.edges {
		u[i], v[i] = place[in.Graph.U(e)], place[in.Graph.V(e)]
	}
	g, err := graph.FromEdges(len(x.nodes), u, v)
	if err != nil {
		return nil, err
	}
	spec := crf.InstanceSpec{Name: in.Name, Graph: g, Weight: in.Weight()}
	for _, labels := range in.Samples()[:min(excerptSamples, len(in.Samples()))] {
		spec.Labels = append(spec.Labels, at(labels, x.nodes))
	}
	schema := *in.Schema()
	schema.NodeTypes, schema.EdgeTypes = slices.Clone(schema.NodeTypes), slices.Clone(schema.EdgeTypes)
	var rows [][]int32
	spec.NodeType, rows = typesAndRows(x.nodes, len(schema.NodeTypes), in.NodeType, in.NodeRow)
	for a := range schema.NodeTypes {
		spec.NodeFeat = append(spec.NodeFeat, in.NodeFeatures(a).Pick(rows[a]))
		schema.NodeTypes[a].Copies = min(schema.NodeTypes[a].Copies, len(rows[a]))
	}
	spec.EdgeType, rows = typesAndRows(x.edges, len(schema.EdgeTypes), in.EdgeType, in.EdgeRow)
	for b := range schema.EdgeTypes {
		spec.EdgeFeat = append(spec.EdgeFeat, in.EdgeFeatures(b).Pick(rows[b]))
		schema.EdgeTypes[b].Copies = min(schema.EdgeTypes[b].Copies, len(rows[b]))
	}
	x.model = &crf.Model{Schema: schema, Layout: schema.Layout()}
	x.in, err = crf.NewInstance(&x.model.Schema, spec)
	return x, err
}

// choose finds what is in the excerpt.
func (x *excerpt) choose(in *crf.Instance, nodes []int32, most float64) {
	types, numbers := in.Schema().NodeTypes, 0.0
	known, joined := map[int32]bool{}, map[int32]bool{}
	add := func(s int32) {
		if !known[s] {
			known[s] = true
			x.nodes = append(x.nodes, s)
			numbers += float64(in.States(s) + types[in.NodeType(s)].Features)
		}
	}
	for i, s := range nodes {
		if i > 0 && numbers > most {
			break
		}
		add(s)
		for _, d := range in.Graph.Incoming(s) {
			if e := d >> 1; !joined[e] && (numbers <= most || len(x.edges) == 0) {
				joined[e] = true
				x.edges = append(x.edges, e)
				u, v := in.Schema().EdgeStates(in.EdgeType(e))
				numbers += float64(u)*float64(v) + float64(in.Schema().EdgeTypes[in.EdgeType(e)].Features)
				add(in.Graph.Source(d))
			}
		}
	}
	slices.Sort(x.nodes)
	slices.Sort(x.edges)
}

// restrict returns counting numbers of the network as the excerpt has them.
func (x *excerpt) restrict(c *counting.Numbers) *counting.Numbers {
	r := &counting.Numbers{Name: c.Name, Node: at(c.Node, x.nodes), Edge: at(c.Edge, x.edges), Facts: c.Facts, Rho: at(c.Rho, x.nodes)}
	if c.EdgeClass != nil && len(x.edges) > 0 {
		r.EdgeClass, r.Classes = at(c.EdgeClass, x.edges), c.Classes
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

// typesAndRows returns the types of elements, nil where there is one only, and the rows of
// each type that they have.
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

// Work in multiplications per joint state of an edge: of its table and its belief, beside
// two for every feature, and of a message.
const beliefWork, messageWork = 4.0, 4.0

// work returns about how many multiplications one visit of each block takes, with so many
// sweeps.
func (l *learner) work(sweeps int) (work float64) {
	for _, u := range l.units {
		for x := range u.part.Blocks {
			b := &u.part.Blocks[x]
			joint := func(e int32) float64 { return float64(l.model.Layout.Edge[u.in.EdgeType(e)].States) }
			for _, e := range b.Edges {
				work += joint(e) * (beliefWork + 2*float64(l.usedFeatures(e, u.in)))
			}
			for _, q := range b.InEdge {
				work += joint(b.Edges[q]) * messageWork * float64(sweeps)
			}
			for _, s := range b.Nodes {
				work += nodeWork(&l.model.Layout, u.in, s)
			}
		}
	}
	return work
}

func nodeWork(layout *crf.Layout, in *crf.Instance, s int32) float64 {
	span := &layout.Node[in.NodeType(s)]
	return float64(span.States) * (beliefWork + 2*float64(span.Features))
}

// localWork returns about how many multiplications an instance takes in an evaluation of a
// local objective.
func localWork(layout *crf.Layout, in *crf.Instance) (work float64) {
	for s := range int32(in.Graph.NumNodes()) {
		work += nodeWork(layout, in, s)
	}
	for e := range int32(in.Graph.NumEdges()) {
		span := &layout.Edge[in.EdgeType(e)]
		work += float64(span.States) * (beliefWork + 2*float64(max(1, span.Features)))
	}
	return math.Max(1, work)
}
