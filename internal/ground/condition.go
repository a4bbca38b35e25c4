package ground

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// Condition multiplies the features of an instance into the model: the result is
// a network with explicit tables, about 8 · states² bytes per edge.
func Condition(m *crf.Model, in *crf.Instance) *mrf.Pairwise {
	whole := partition.Whole(in.Graph)
	block := &whole.Blocks[0]
	var pot Potentials
	pot.Ground(m, in, block)
	p := &mrf.Pairwise{Graph: in.Graph, Card: in.Cards(), Node: pot.Node, NodeAt: pot.NodeAt}
	_, pairs := states(in)
	p.Edge, p.EdgeAt = make([]float64, 0, int(pairs)), make([]int, 1, len(block.Edges)+1)
	// A whole graph is one group, so its edges keep their order.
	for q, e := range block.Edges {
		k := m.Layout.Edge[in.EdgeType(e)].States
		p.Edge = append(p.Edge, pot.Table[pot.EdgeAt[q]:][:k]...)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	return p
}

// ConditionBytes returns how much memory Condition takes for an instance, the tables that it copies included.
func ConditionBytes(in *crf.Instance) float64 {
	const double, node, edge = 8, 50, 60
	single, pairs := states(in)
	return double*(single+2*pairs) + node*float64(in.Graph.NumNodes()) + edge*float64(in.Graph.NumEdges())
}

// states counts the states of all nodes, and the pairs of states of all edges.
func states(in *crf.Instance) (single, pairs float64) {
	for s := range int32(in.Graph.NumNodes()) {
		single += float64(in.States(s))
	}
	u, v := in.Graph.Ends()
	for e := range u {
		pairs += float64(in.States(u[e])) * float64(in.States(v[e]))
	}
	return single, pairs
}
