package learn

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/partition"
)

// cacheShare is the part of a core's second-level cache that what a visit of a block
// works with may fill: the rest is for features and instructions.
const cacheShare = 0.5

// DefaultCut returns how networks are cut where the user does not say: into
// DefaultBlocks blocks, or into more of them where a visit of a block would not fit
// the second-level cache of this machine's cores; and how many of these blocks an
// iteration visits, so that a pass has about DefaultBlocks iterations again. Where
// breadth-first growth into more blocks would cut more than a quarter of the edges,
// as of graphs with hubs, there are no more: the two blocks of a cut edge both do its
// work. blocks is at most the number of nodes of the smallest network.
func DefaultCut(m *crf.Model, data []*crf.Instance) (blocks, together int) {
	return cutFor(m, data, secondLevel())
}

func cutFor(m *crf.Model, data []*crf.Instance, cache float64) (blocks, together int) {
	most, smallest := 0.0, math.MaxInt
	var largest *crf.Instance
	for _, in := range data {
		if bytes := workingBytes(m, in); bytes >= most {
			most, largest = bytes, in
		}
		smallest = min(smallest, in.Graph.NumNodes())
	}
	blocks = max(1, min(smallest, max(DefaultBlocks, int(math.Ceil(most/(cacheShare*cache))))))
	if blocks > DefaultBlocks && cutsMuch(largest.Graph, blocks) {
		blocks = DefaultBlocks
	}
	together = (blocks + DefaultBlocks/2) / DefaultBlocks
	if together > 1 {
		together += together % 2 // for two threads to have as much to do
	}
	return blocks, max(1, together)
}

// mostCut is the share of edges between blocks above which more blocks do not pay.
const mostCut = 0.25

// cutsMuch reports whether so many blocks would cut more than mostCut of the edges.
func cutsMuch(g *graph.Graph, blocks int) bool {
	of, err := partition.BreadthFirst(g, blocks)
	if err != nil {
		return true // more blocks than nodes
	}
	cut := 0
	u, v := g.Ends()
	for e := range u {
		if of[u[e]] != of[v[e]] {
			cut++
		}
	}
	return float64(cut) > mostCut*float64(len(u))
}

// secondLevel returns the size of the second-level cache in bytes.
func secondLevel() float64 {
	caches, _ := machine.Caches()
	for _, c := range caches {
		if c.Level == 2 {
			return float64(c.Bytes)
		}
	}
	const usual = 512 << 10
	return usual
}

// workingBytes is what visits of all blocks of an instance use more than once:
// tables, messages, beliefs, potentials of nodes and where to find them.
func workingBytes(m *crf.Model, in *crf.Instance) float64 {
	const number, index = 8, 4
	total := 0.0
	for s := range int32(in.Graph.NumNodes()) {
		total += 2*number*float64(in.States(s)) + 2*index
	}
	u, v := in.Graph.Ends()
	for e := range int32(in.Graph.NumEdges()) {
		total += 2*number*float64(in.States(u[e])+in.States(v[e])) + 6*index
		b := in.EdgeType(e)
		if span := &m.Layout.Edge[b]; span.Untied || ground.Tables(in.EdgeFeatures(b)) == 0 {
			total += number * float64(span.States)
		}
	}
	return total
}
