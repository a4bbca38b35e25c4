// Package instances has what learning asks of instances before it begins: whether labels are hidden
// and which states none of them has, several networks as one, and a small part of one.
package instances

import (
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// AnyHidden reports whether a label is missing.
func AnyHidden(data []*crf.Instance) bool {
	for _, in := range data {
		for _, labels := range in.Samples() {
			if slices.Contains(labels, crf.Unobserved) {
				return true
			}
		}
	}
	return false
}

// Joinable reports an instance of one sample, all of whose labels are known, with features that
// can be put one behind the other.
func Joinable(in *crf.Instance) bool {
	if samples := in.Samples(); len(samples) != 1 || slices.Contains(samples[0], crf.Unobserved) {
		return false
	}
	return !slices.ContainsFunc(Features(in), func(f *crf.Features) bool { return f.Data().Book != nil || f.Data().Computed != nil })
}

// Features returns those of all types, nodes first.
func Features(in *crf.Instance) (all []*crf.Features) {
	for a := range in.Schema().NodeTypes {
		all = append(all, in.NodeFeatures(a))
	}
	for b := range in.Schema().EdgeTypes {
		all = append(all, in.EdgeFeatures(b))
	}
	return all
}

// SameForms reports instances of one weight whose features have the same forms.
func SameForms(a, b *crf.Instance) bool {
	forms := func(f *crf.Features) [4]bool {
		x := f.Data()
		return [4]bool{x.Double == nil, x.Single == nil, x.Bins == nil, x.Start == nil}
	}
	return a.Weight() == b.Weight() && slices.EqualFunc(Features(a), Features(b), func(x, y *crf.Features) bool { return forms(x) == forms(y) })
}

// Join makes one instance of several, nil of less than two or where that cannot be.
func Join(group []*crf.Instance) *crf.Instance {
	if len(group) < 2 {
		return nil
	}
	first, features := group[0], [][]*crf.Features(nil)
	schema := first.Schema()
	spec := crf.InstanceSpec{Name: first.Name + " to " + group[len(group)-1].Name, Weight: first.Weight(), Labels: [][]int32{nil}}
	var us, vs []int32
	for _, in := range group {
		before := int32(len(spec.Labels[0]))
		u, v := in.Graph.Ends()
		for e := range u {
			us, vs = append(us, before+u[e]), append(vs, before+v[e])
			spec.EdgeType = append(spec.EdgeType, int32(in.EdgeType(int32(e))))
		}
		for s := range int32(in.Graph.NumNodes()) {
			spec.NodeType = append(spec.NodeType, int32(in.NodeType(s)))
		}
		spec.Labels[0] = append(spec.Labels[0], in.Samples()[0]...)
		features = append(features, Features(in))
	}
	for t := range features[0] {
		f, err := joinFeatures(features, t)
		if err != nil {
			return nil
		}
		if t < len(schema.NodeTypes) {
			spec.NodeFeat = append(spec.NodeFeat, f)
		} else {
			spec.EdgeFeat = append(spec.EdgeFeat, f)
		}
	}
	if len(schema.NodeTypes) == 1 {
		spec.NodeType = nil // all of type 0
	}
	if len(schema.EdgeTypes) <= 1 {
		spec.EdgeType = nil
	}
	var err error
	if spec.Graph, err = graph.FromEdges(len(spec.Labels[0]), us, vs); err != nil {
		return nil
	}
	in, err := crf.NewInstance(schema, spec)
	if err != nil {
		return nil
	}
	return in
}

// joinFeatures puts the rows of features t one behind the other.
func joinFeatures(group [][]*crf.Features, t int) (crf.Features, error) {
	all := crf.FeatureData{Dim: group[0][t].Dim(), Start: []int{0}}
	valued := slices.ContainsFunc(group, func(f []*crf.Features) bool { return f[t].Data().Value != nil })
	for _, f := range group {
		m := f[t].Data()
		all.Rows += m.Rows
		all.Double, all.Single, all.Bins = append(all.Double, m.Double...), append(all.Single, m.Single...), append(all.Bins, m.Bins...)
		before := len(all.Column)
		all.Column = append(all.Column, m.Column...)
		for r := range max(0, len(m.Start)-1) {
			all.Start = append(all.Start, before+m.Start[r+1])
		}
		switch {
		case m.Value != nil:
			all.Value = append(all.Value, m.Value...)
		case valued:
			all.Value = append(all.Value, slices.Repeat([]float64{1}, len(m.Column))...)
		}
	}
	switch m := group[0][t].Data(); {
	case m.Double != nil:
		return crf.Dense(all.Double, all.Dim)
	case m.Single != nil:
		return crf.Dense(all.Single, all.Dim)
	case m.Bins != nil:
		return crf.Bins(all.Bins, all.Dim)
	case m.Start != nil:
		return crf.Sparse(all.Start, all.Column, all.Value, all.Dim)
	}
	return crf.Constant(all.Rows, all.Dim), nil
}

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
