package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/npy"
)

// Names of the arrays of a file of statistics, beside edges.
const (
	nodeMeansArray = "node_means"
	edgeMeansArray = "edge_means"
)

// statisticsArrays are means of nodes and edges in place of samples: probabilities, or counts, which say of how many
// observations they are.
var statisticsArrays = arrayRules{
	{name: edgesArray, of: ofEdges, shape: "[m, 2]"},
	{name: nodeMeansArray, float: true, shape: "[n, states]"},
	{name: edgeMeansArray, of: ofEdges, float: true, shape: "[m, states, states]"},
	{name: directedArray, of: ofAll, shape: "[]"},
}

const (
	// roundedMeans is by how much means may contradict each other, as those do that are written with four digits.
	roundedMeans = 1e-3
	// mostRaking bounds the passes that fit a table to the means of its ends, and raked is where they are.
	mostRaking, raked = 1000, 1e-15
)

// statistics are means in place of the samples of an instance: probabilities of the states of each node, and of the
// pairs of states of each edge, row by row.
type statistics struct {
	states       int
	nodes, edges [][]float64
}

// marginal is what the table of an edge says of its first end, 0, or the second.
func marginal(table []float64, k, end int) []float64 {
	sums := make([]float64, k)
	for i, p := range table {
		sums[stateOf(i, k, end)] += p
	}
	return sums
}

// stateOf is the state of an end in an entry of a table.
func stateOf(entry, k, end int) int { return [2]int{entry / k, entry % k}[end] }

// readMeans takes the means of nodes and edges. The label of each node is the state that it has most often, which
// weighs as much as there are observations of edges, in the median.
func (b *npzBuilder) readMeans() {
	in, tables := b.in, b.c.arrays[edgeMeansArray]
	if tables.Shape == nil {
		return
	}
	k := tables.Shape[1]
	s := &statistics{states: k}
	var observations []float64
	s.edges, observations = b.means(edgeMeansArray, in.edges.count, k*k)
	if _, given := b.c.arrays[nodeMeansArray]; given {
		s.nodes, _ = b.means(nodeMeansArray, in.nodes.count, k)
	} else {
		s.nodes = make([][]float64, in.nodes.count)
	}
	if len(b.list) > 0 {
		return
	}
	slices.Sort(observations)
	in.statistics, in.states, in.weight = s, []int32{int32(k)}, observations[len(observations)/2]
	b.reconcile(s)
	in.labels = [][]int32{make([]int32, in.nodes.count)}
	for n, mean := range s.nodes {
		if mean == nil {
			b.add(0, nodeMeansArray, "give its mean, or leave the node out", "nothing is known of node %d", n)
			return
		}
		in.labels[0][n] = int32(slices.Index(mean, slices.Max(mean)))
	}
}

// means takes tables of an array, as probabilities, and how many observations each is of: 1 of probabilities.
func (b *npzBuilder) means(array string, count, size int) (all [][]float64, observations []float64) {
	a := b.c.arrays[array]
	if a.Len() != count*size {
		b.add(0, array, "", "shape is %s, want %s: the numbers of states differ", npy.ShapeText(a.Shape),
			statisticsArrays.rule(array).shape)
		return nil, nil
	}
	for i := range count {
		row, sum, table := i, 0.0, make([]float64, size)
		if array == edgeMeansArray {
			row = b.in.row(i)
		}
		for j := range table {
			table[j] = a.At(row*size + j)
			sum += table[j]
		}
		if least := slices.Min(table); !(least >= 0 && sum > 0 && !math.IsInf(sum, 1)) {
			b.add(0, fmt.Sprintf("%s[%d]", array, row), "leave out edges of which nothing is known",
				"has entries from %v to %v, want probabilities or counts", least, slices.Max(table))
		}
		for j := range table {
			table[j] /= sum
		}
		if math.Abs(sum-1) <= roundedMeans {
			sum = 1
		}
		all, observations = append(all, table), append(observations, sum)
	}
	return all, observations
}

// reconcile takes for the mean of a node its own, or that of its first edge. What edges say of it must be the same but
// for rounding, which is taken out of their tables.
func (b *npzBuilder) reconcile(s *statistics) {
	us, vs := b.in.graph.Ends()
	for e, table := range s.edges {
		for end, n := range [2]int32{us[e], vs[e]} {
			said := marginal(table, s.states, end)
			if s.nodes[n] == nil {
				s.nodes[n] = said
			}
			for x, p := range said {
				if want := s.nodes[n][x]; !(math.Abs(p-want) <= roundedMeans) {
					b.add(0, fmt.Sprintf("%s[%d]", edgeMeansArray, b.in.row(e)), "take means of samples that know all nodes",
						"state %d of node %d has the mean %.6g in it, and %.6g elsewhere", x, n, p, want)
					return
				}
			}
		}
		rake(table, s.states, [2][]float64{s.nodes[us[e]], s.nodes[vs[e]]})
	}
}

// rake gives a table the marginals of its ends, and keeps its odds ratios (iterative proportional fitting).
func rake(table []float64, k int, want [2][]float64) {
	for apart, pass := 1.0, 0; apart > raked && pass < mostRaking; pass++ {
		apart = 0
		for end := range want {
			sums := marginal(table, k, end)
			for i := range table {
				if x := stateOf(i, k, end); sums[x] > 0 {
					table[i] *= want[end][x] / sums[x]
					apart = max(apart, math.Abs(want[end][x]-sums[x]))
				}
			}
		}
	}
}

// takeMeans gives the set its means.
func (l *npzLoader) takeMeans(set *Set, list []error) (*Set, []error) {
	if len(list) > 0 {
		return nil, list
	}
	s := l.instances[0].statistics
	set.Means = slices.Concat(slices.Concat(s.nodes...), slices.Concat(s.edges...))
	if l.instances[0].weight == 1 {
		l.warn("of how many observations means are is not said: the prior counts as much as one; give counts, or {prior}")
	}
	layout := set.Schema.Layout()
	layout.Symmetrise(set.Means)
	return set, nil
}
