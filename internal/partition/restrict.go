package partition

// Restrict returns the partition with only the nodes for which keep is true, and of the edges those that have such a
// node among their ends. Blocks and groups keep their numbers, and blocks may become empty. It is the shape of
// inference with some variables observed: p.Graph and p.Of stay those of all nodes.
func (p *Partition) Restrict(keep []bool) *Partition {
	r := &Partition{Graph: p.Graph, Of: p.Of, NumGroups: p.NumGroups, Coloured: p.Coloured,
		Blocks: make([]Block, len(p.Blocks))}
	for b := range p.Blocks {
		old, block := &p.Blocks[b], &r.Blocks[b]
		for _, s := range old.Nodes {
			if keep[s] {
				block.Nodes = append(block.Nodes, s)
			}
		}
		for _, group := range old.Groups {
			lo := int32(len(block.Edges))
			for _, e := range old.Edges[group.Lo:group.Hi] {
				if keep[p.Graph.U(e)] || keep[p.Graph.V(e)] {
					block.Edges = append(block.Edges, e)
				}
			}
			block.Groups = append(block.Groups, Group{ID: group.ID, Other: group.Other, Lo: lo, Hi: int32(len(block.Edges))})
		}
	}
	r.orderRuns()
	r.indexMessages(keep)
	return r
}
