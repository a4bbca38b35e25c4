package dataset

import (
	"slices"
	"sync"

	"github.com/blockbp/blockbp/graph"
)

// graphCache gives instances with the same edges the same *graph.Graph:
// topology is kept apart from numbers, once.
type graphCache struct {
	mutex  sync.Mutex
	byHash map[uint64][]*graph.Graph
}

// get returns the graph on n nodes whose edge e joins edges[2e] and edges[2e+1].
func (c *graphCache) get(n int, edges []int32) (*graph.Graph, error) {
	u, v := make([]int32, len(edges)/2), make([]int32, len(edges)/2)
	hash := uint64(n)
	for e := range u {
		u[e], v[e] = edges[2*e], edges[2*e+1]
		// Any mixing will do: equal hashes are compared in full.
		hash = (hash ^ (uint64(uint32(u[e]))<<32 | uint64(uint32(v[e])))) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, g := range c.byHash[hash] {
		if gu, gv := g.Ends(); g.NumNodes() == n && slices.Equal(gu, u) && slices.Equal(gv, v) {
			return g, nil
		}
	}
	g, err := graph.FromEdges(n, u, v)
	if err != nil {
		return nil, err
	}
	if c.byHash == nil {
		c.byHash = map[uint64][]*graph.Graph{}
	}
	c.byHash[hash] = append(c.byHash[hash], g)
	return g, nil
}
