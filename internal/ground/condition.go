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
	p.EdgeAt = make([]int, 1, len(block.Edges)+1)
	// A whole graph is one group, so its edges keep their order.
	for q, e := range block.Edges {
		k := m.Layout.Edge[in.EdgeType(e)].States
		p.Edge = append(p.Edge, pot.Table[pot.EdgeAt[q]:][:k]...)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	return p
}
