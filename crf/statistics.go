package crf

// AddStatistics adds weight · M w to dst [weights], w being the one-hot
// statistics of the labels: of every node that has one, and of every edge both
// of whose ends have one. one is scratch as long as the largest (joint) table.
func AddStatistics(dst []float64, m *Model, a *Adjoint, in *Instance, labels []int32, weight float64, one []float64) {
	for s, y := range labels {
		if y == Unobserved {
			continue
		}
		span := &m.Layout.Node[in.NodeType(int32(s))]
		indicator := one[:span.States]
		clear(indicator)
		indicator[y] = weight
		a.ScatterNode(span.of(dst, in.NodeRow(int32(s))), in, int32(s), indicator)
	}
	u, v := in.Graph.Ends()
	for e := range u {
		yu, yv := labels[u[e]], labels[v[e]]
		if yu == Unobserved || yv == Unobserved {
			continue
		}
		span := &m.Layout.Edge[in.EdgeType(int32(e))]
		indicator := one[:span.States]
		clear(indicator)
		indicator[int(yu)*in.States(v[e])+int(yv)] = weight
		a.ScatterEdge(span.of(dst, in.EdgeRow(int32(e))), in, int32(e), indicator)
	}
}

// of returns the part of x, laid out like the weights, that belongs to row r of
// the type: its own copy, or the type's.
func (s *Span) of(x []float64, r int) []float64 {
	if s.Untied {
		return x[s.At+r*s.Copy():][:s.Copy()]
	}
	return x[s.At:][:s.Len]
}
