package learn

import (
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
)

// Chains are visited node after node: of one sentence there is nothing to be done at the same
// time. So many small forests become one network, of which the first nodes are visited
// together, then the second ones. The objective (8) is the same, as log Z of a network is the
// sum over its components where counting numbers are exact, and so are objectives of local terms.

// joinedNodes is how many nodes networks are joined up to: as many as are sorted into runs
// together.
const joinedNodes = partition.WindowNodes

// joined returns the problem with small forests joined, or the problem itself where there is
// nothing to join. Small models stay as they are: the exact Hessian takes each network by itself.
func (p *Problem) joined(s *Settings) *Problem {
	whole := s.Method != BBPL || s.Assign == nil && s.Cut.Blocks == 1
	if !whole || s.Pairs || p.ClassWeights != nil || len(p.Data) < 2 || p.Model.Layout.Size <= maxDense || p.Model.Layout.UntiedSize > 0 {
		return p
	}
	exact := map[*graph.Graph]bool{}
	isExact := func(g *graph.Graph) bool {
		if s.Method.Local() {
			return g.IsForest()
		}
		if _, known := exact[g]; !known {
			exact[g] = p.isExact(g)
		}
		return exact[g]
	}
	result := *p
	result.Data, result.apart = nil, p
	var group []*crf.Instance
	nodes := 0
	flush := func() {
		if one := join(group); one != nil && isExact(one.Graph) {
			group = []*crf.Instance{one}
		}
		result.Data = append(result.Data, group...)
		group, nodes = nil, 0
	}
	for _, in := range p.Data {
		n := in.Graph.NumNodes()
		if !(joinable(in) && isExact(in.Graph)) {
			flush()
			result.Data = append(result.Data, in)
			continue
		}
		if nodes+n > joinedNodes || len(group) > 0 && !sameForms(group[0], in) {
			flush()
		}
		group, nodes = append(group, in), nodes+n
	}
	if flush(); len(result.Data) == len(p.Data) {
		return p
	}
	return &result
}

// isExact reports whether the counting numbers of a graph make F the free energy.
func (p *Problem) isExact(g *graph.Graph) bool {
	numbers, err := p.Counting.Of(g)
	return err == nil && numbers.Facts.Bound == counting.Exact
}

// joinable reports an instance of one sample, all of whose labels are known, with features that
// can be put one behind the other.
func joinable(in *crf.Instance) bool {
	if samples := in.Samples(); len(samples) != 1 || slices.Contains(samples[0], crf.Unobserved) {
		return false
	}
	return !slices.ContainsFunc(featuresOf(in), func(f *crf.FeatureData) bool { return f.Book != nil || f.Computed != nil })
}

// featuresOf returns those of all types, nodes first.
func featuresOf(in *crf.Instance) (all []*crf.FeatureData) {
	for a := range in.Schema().NodeTypes {
		all = append(all, in.NodeFeatures(a).Data())
	}
	for b := range in.Schema().EdgeTypes {
		all = append(all, in.EdgeFeatures(b).Data())
	}
	return all
}

// sameForms reports instances of one weight whose features have the same forms.
func sameForms(a, b *crf.Instance) bool {
	return a.Weight() == b.Weight() && slices.EqualFunc(featuresOf(a), featuresOf(b), func(x, y *crf.FeatureData) bool {
		return (x.Double == nil) == (y.Double == nil) && (x.Single == nil) == (y.Single == nil) && (x.Bins == nil) == (y.Bins == nil) && (x.Start == nil) == (y.Start == nil)
	})
}

// join makes one instance of several, nil of less than two or where that cannot be.
func join(group []*crf.Instance) *crf.Instance {
	if len(group) < 2 {
		return nil
	}
	first := group[0]
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
	}
	for a := range schema.NodeTypes {
		f, err := joinFeatures(group, func(in *crf.Instance) *crf.FeatureData { return in.NodeFeatures(a).Data() })
		if err != nil {
			return nil
		}
		spec.NodeFeat = append(spec.NodeFeat, f)
	}
	for b := range schema.EdgeTypes {
		f, err := joinFeatures(group, func(in *crf.Instance) *crf.FeatureData { return in.EdgeFeatures(b).Data() })
		if err != nil {
			return nil
		}
		spec.EdgeFeat = append(spec.EdgeFeat, f)
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

// joinFeatures puts the rows of a type one behind the other.
func joinFeatures(group []*crf.Instance, of func(*crf.Instance) *crf.FeatureData) (crf.Features, error) {
	all := crf.FeatureData{Dim: of(group[0]).Dim, Start: []int{0}}
	valued := slices.ContainsFunc(group, func(in *crf.Instance) bool { return of(in).Value != nil })
	for _, in := range group {
		m := of(in)
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
	switch m := of(group[0]); {
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

// given is the problem as Fit was given it.
func (p *Problem) given() *Problem {
	if p.apart != nil {
		return p.apart
	}
	return p
}

// joinedMemory lists what joining has taken: features, labels and graphs once more.
func (p *Problem) joinedMemory(m *Memory) {
	if p.apart == nil {
		return
	}
	bytes := 0.0
	kept := map[*crf.Instance]bool{}
	for _, in := range p.apart.Data {
		kept[in] = true
	}
	const perNode, perEdge = 2 * indexBytes, 7 * indexBytes // labels and where edges begin; ends, and lists of incoming ones
	for _, in := range p.Data {
		if kept[in] {
			continue
		}
		bytes += perNode*float64(in.Graph.NumNodes()) + perEdge*float64(in.Graph.NumEdges())
		for _, f := range featuresOf(in) {
			bytes += doubleBytes*float64(len(f.Double)+len(f.Start)+len(f.Value)) + singleBytes*float64(len(f.Single)+len(f.Bins)+len(f.Column))
		}
	}
	m.Add("joined networks", bytes, "features and edges of %d networks once more, in %d", len(p.apart.Data), len(p.Data))
}

// inOrder reports that every node has at most one neighbour before it, as in chains, and in trees
// whose nodes come after the one above. Then messages of a sweep back have all that comes from
// below, and those of one forth the rest.
func inOrder(g *graph.Graph) bool {
	us, vs := g.Ends()
	before := make([]bool, g.NumNodes())
	for e := range us {
		later := max(us[e], vs[e])
		if before[later] {
			return false
		}
		before[later] = true
	}
	return true
}
