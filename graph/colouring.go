package graph

// Colouring gives every node a colour such that no edge joins two nodes of one
// colour: colour [nodes], from 0 to count-1. Given the other colours, the nodes of
// one are independent in any pairwise model, so they can be updated together.
//
// A graph without odd cycles, such as a grid with 4 neighbours (a checkerboard) or
// a forest, gets at most two colours: the parity of the distance to the smallest
// node of its component. Any other is coloured greedily in the order of the nodes,
// with at most one colour more than its largest degree. Cost: O(nodes + edges).
func (g *Graph) Colouring() (colour []int32, count int) {
	if colour, count = g.parity(); colour != nil {
		return colour, count
	}
	return g.greedyColouring()
}

// parity is the colouring by two colours, nil if there is none.
func (g *Graph) parity() (colour []int32, count int) {
	colour = make([]int32, g.numNodes)
	for s := range colour {
		colour[s] = -1
	}
	queue := make([]int32, 0, g.numNodes)
	for root := range int32(g.numNodes) {
		if colour[root] >= 0 {
			continue
		}
		colour[root], count = 0, max(count, 1)
		queue = append(queue[:0], root)
		for head := 0; head < len(queue); head++ {
			s := queue[head]
			for _, d := range g.Incoming(s) {
				switch t := g.Source(d); {
				case colour[t] == colour[s]:
					return nil, 0
				case colour[t] < 0:
					colour[t], count = 1-colour[s], 2
					queue = append(queue, t)
				}
			}
		}
	}
	return colour, count
}

// greedyColouring gives each node in turn the smallest colour that no neighbour
// has.
func (g *Graph) greedyColouring() (colour []int32, count int) {
	colour = make([]int32, g.numNodes)
	for s := range colour {
		colour[s] = -1
	}
	var usedBy []int32 // [colours] 1 + the last node with a neighbour of that colour
	for s := range int32(g.numNodes) {
		for _, d := range g.Incoming(s) {
			if c := colour[g.Source(d)]; c >= 0 {
				usedBy[c] = s + 1
			}
		}
		c := 0
		for c < len(usedBy) && usedBy[c] == s+1 {
			c++
		}
		if c == len(usedBy) {
			usedBy = append(usedBy, 0)
		}
		colour[s] = int32(c)
	}
	return colour, len(usedBy)
}
