// Package instances has what learning asks of instances before it begins: whether labels are hidden
// and which states none of them has, and several networks as one.
package instances

import (
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// Must is what was made of parts that were checked when they came in: an error is a mistake in the program.
func Must[T any](made T, err error) T {
	if err != nil {
		panic("instances: " + err.Error())
	}
	return made
}

// AnyHidden reports whether a label is missing.
func AnyHidden(data []*crf.Instance) bool {
	hides := func(labels []int32) bool { return slices.Contains(labels, crf.Unobserved) }
	return slices.ContainsFunc(data, func(in *crf.Instance) bool { return slices.ContainsFunc(in.Samples(), hides) })
}

// joinable reports an instance of one sample, all of whose labels are known, with features that
// can be put one behind the other.
func joinable(in *crf.Instance) bool {
	if samples := in.Samples(); len(samples) != 1 || slices.Contains(samples[0], crf.Unobserved) {
		return false
	}
	return !slices.ContainsFunc(Features(in), func(f *crf.Features) bool {
		return f.Data().Book != nil || f.Data().Computed != nil
	})
}

// Size is how many nodes and edges instances have.
func Size(data []*crf.Instance) (nodes, edges int) {
	for _, in := range data {
		nodes, edges = nodes+in.Graph.NumNodes(), edges+in.Graph.NumEdges()
	}
	return nodes, edges
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

// FewSamples returns the instances with the first of their samples, which weigh as much as all: enough to say how large
// statistics are, which takes longer than an evaluation where edges and samples are many.
func FewSamples(data []*crf.Instance) []*crf.Instance {
	const few = 50
	data = slices.Clone(data)
	for i, in := range data {
		if n := len(in.Samples()); n > few {
			spec := in.Spec()
			spec.Labels, spec.Weight, spec.SampleWeights = spec.Labels[:few], in.TotalWeight()/few, nil
			if less, err := crf.NewInstance(in.Schema(), spec); err == nil {
				data[i] = less
			}
		}
	}
	return data
}

// sameForms reports instances of one weight whose features have the same forms.
func sameForms(a, b *crf.Instance) bool {
	forms := func(f *crf.Features) [4]bool {
		x := f.Data()
		return [4]bool{x.Double == nil, x.Single == nil, x.Bins == nil, x.Start == nil}
	}
	return a.Weight() == b.Weight() && slices.EqualFunc(Features(a), Features(b),
		func(x, y *crf.Features) bool { return forms(x) == forms(y) })
}

// JoinAll joins instances that follow each other, whose graphs serve, into ones of at most so many nodes, as far as
// these serve, too.
func JoinAll(data []*crf.Instance, most int, serves func(*graph.Graph) bool) (all []*crf.Instance) {
	var group []*crf.Instance
	nodes := 0
	flush := func() {
		if one := join(group); one != nil && serves(one.Graph) {
			group = []*crf.Instance{one}
		}
		all = append(all, group...)
		group, nodes = nil, 0
	}
	for _, in := range data {
		n := in.Graph.NumNodes()
		if !(joinable(in) && serves(in.Graph)) {
			flush()
			all = append(all, in)
			continue
		}
		if nodes+n > most || len(group) > 0 && !sameForms(group[0], in) {
			flush()
		}
		group, nodes = append(group, in), nodes+n
	}
	flush()
	return all
}

// join makes one instance of several, nil of less than two or where that cannot be.
func join(group []*crf.Instance) *crf.Instance {
	if len(group) < 2 {
		return nil
	}
	first, features := group[0], [][]*crf.Features(nil)
	schema := first.Schema()
	spec := crf.InstanceSpec{Name: first.Name + " to " + group[len(group)-1].Name, Weight: first.Weight(),
		Labels: [][]int32{nil}}
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
		all.Double, all.Single, all.Bins = append(all.Double, m.Double...), append(all.Single, m.Single...),
			append(all.Bins, m.Bins...)
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
