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
// observations they are. A table with NaN is not known.
var statisticsArrays = npy.Rules{
	edgesRule,
	{Name: nodeMeansArray, Float: true, Shape: "[n, states]"},
	{Name: edgeMeansArray, Float: true, Shape: "[m, states, states]"},
	directedRule,
}

const (
	// roundedMeans is by how much means may contradict each other where how many observations they are of is not known:
	// as those do that are written with four digits.
	roundedMeans = 1e-3
	// surprising is by how many standard deviations they may where it is known.
	surprising = 4
	// apartTold is above what rounding leaves between means of the same samples.
	apartTold = 1e-6
	// mostRaking bounds the passes that fit a table to the means of its ends, and raked is where they are.
	mostRaking, raked = 1000, 1e-15
)

// statistics are means in place of the samples of an instance.
type statistics struct {
	states       int
	nodes, edges []means
	apart        float64 // the largest contradiction
}

// means are probabilities of the states of a node, or of the pairs of states of an edge, row by row.
type means struct {
	table        []float64 // nil: not known
	observations float64   // that they are of; 1 of probabilities
}

// marginal is what those of an edge say of its first end, 0, or the second.
func (m *means) marginal(k, end int) means {
	sums := means{make([]float64, k), m.observations}
	for i, p := range m.table {
		sums.table[stateOf(i, k, end)] += p
	}
	return sums
}

// stateOf is the state of an end in an entry of a table.
func stateOf(entry, k, end int) int { return [2]int{entry / k, entry % k}[end] }

// readMeans takes the means of nodes and edges. The label of each node is the state that it has most often, which
// weighs as much as there are observations of edges, in the median.
func (in *npzInstance) readMeans() {
	tables := in.arrays[edgeMeansArray]
	if tables.Shape == nil {
		return
	}
	k := tables.Shape[1]
	s := &statistics{states: k, nodes: in.means(nodeMeansArray, in.nodes.count, k),
		edges: in.means(edgeMeansArray, in.edges.count, k*k)}
	if len(in.list) > 0 {
		return
	}
	var observations []float64
	for _, m := range s.edges {
		if m.table != nil {
			observations = append(observations, m.observations)
		}
	}
	if len(observations) == 0 {
		in.add(0, edgeMeansArray, "", "has no table without nan: nothing can be learned")
		return
	}
	slices.Sort(observations)
	in.statistics, in.states.Ints, in.spec.Weight = s, []int32{int32(k)}, observations[len(observations)/2]
	in.reconcile(s)
	in.spec.Labels = [][]int32{make([]int32, in.nodes.count)}
	for n, m := range s.nodes {
		if m.table != nil {
			in.spec.Labels[0][n] = int32(slices.Index(m.table, slices.Max(m.table)))
		}
	}
}

// means takes tables of an array, as probabilities.
func (in *npzInstance) means(array string, count, size int) []means {
	all := make([]means, count)
	a, given := in.arrays[array]
	for i := range all {
		sum, table := 0.0, make([]float64, size)
		for j := range table {
			table[j] = math.NaN()
			if given {
				table[j] = a.At(i*size + j)
			}
			sum += table[j]
		}
		least, most := slices.Min(table), slices.Max(table) // NaN if one is
		if least < 0 || math.IsInf(sum, 1) || sum == 0 {
			in.add(0, fmt.Sprintf("%s[%d]", array, i), "write nan where nothing is known",
				"has entries from %v to %v, want probabilities or counts", least, most)
		}
		if math.IsNaN(sum) {
			continue
		}
		for j := range table {
			table[j] /= sum
		}
		if all[i] = (means{table, sum}); math.Abs(sum-1) <= roundedMeans {
			all[i].observations = 1
		}
	}
	return all
}

// reconcile takes for the means of a node the mean of what is said of it, and fits tables to those, where what they say
// differs by no more than chance explains.
func (in *npzInstance) reconcile(s *statistics) {
	us, vs := in.spec.Graph.Ends()
	said, ends := make([][]means, len(s.nodes)), func(e, end int) int32 { return [2][]int32{us, vs}[end][e] }
	for n, m := range s.nodes {
		said[n] = []means{m}
	}
	for e, m := range s.edges {
		for end := range 2 {
			if n := ends(e, end); m.table != nil {
				said[n] = append(said[n], m.marginal(s.states, end))
			}
		}
	}
	for n := range s.nodes {
		mean := means{table: make([]float64, s.states)}
		for _, m := range said[n] {
			if m.table != nil {
				mean.observations += m.observations
			}
			for x, p := range m.table {
				mean.table[x] += m.observations * p
			}
		}
		for x := range mean.table {
			mean.table[x] /= mean.observations
		}
		if s.nodes[n] = mean; mean.observations == 0 {
			s.nodes[n].table = nil
		}
	}
	for e, m := range s.edges {
		if m.table == nil {
			continue
		}
		want := [2][]float64{s.nodes[us[e]].table, s.nodes[vs[e]].table}
		for end := range want {
			in.compare(e, ends(e, end), m.marginal(s.states, end), want[end])
		}
		m.rake(s.states, want)
	}
}

// compare refuses what an edge says of a node where it differs from the mean of all by more than chance explains.
func (in *npzInstance) compare(e int, n int32, said means, mean []float64) {
	for x, p := range said.table {
		want, allowed, of := mean[x], roundedMeans, said.observations
		if of != 1 {
			allowed += surprising * math.Sqrt(max(want*(1-want), 1/of)/of)
		}
		if in.statistics.apart = max(in.statistics.apart, math.Abs(p-want)); !(math.Abs(p-want) <= allowed) {
			in.add(0, fmt.Sprintf("%s[%d]", edgeMeansArray, e), "correct one of them; counts in place of "+
				"probabilities allow for chance", "state %d of node %d has the mean %.6g in it, and %.6g in all that is said "+
				"of the node", x, n, p, want)
			return
		}
	}
}

// rake gives a table the marginals of its ends, and keeps its odds ratios (iterative proportional fitting).
func (m *means) rake(k int, want [2][]float64) {
	for apart, pass := 1.0, 0; apart > raked && pass < mostRaking; pass++ {
		apart = 0
		for end := range want {
			sums := m.marginal(k, end).table
			for i := range m.table {
				if x := stateOf(i, k, end); sums[x] > 0 {
					m.table[i] *= want[end][x] / sums[x]
					apart = max(apart, math.Abs(want[end][x]-sums[x]))
				}
			}
		}
	}
}

// takeMeans gives the set its means. Edges without a table are left out: they have no weights.
func (l *npzLoader) takeMeans(set *Set, list []error) (*Set, []error) {
	if len(list) > 0 {
		return nil, list
	}
	s, unmatched, kept := l.instances[0].statistics, 0, []int32(nil)
	for _, m := range s.nodes {
		if m.table == nil { // what weights of zero have: they stay
			unmatched, m.table = unmatched+1, slices.Repeat([]float64{1 / float64(s.states)}, s.states)
		}
		set.Means = append(set.Means, m.table...)
	}
	for e, m := range s.edges {
		if set.Means = append(set.Means, m.table...); m.table != nil {
			kept = append(kept, int32(e))
		}
	}
	if unmatched += len(s.edges) - len(kept); unmatched > 0 {
		l.warn("%d nodes and edges have no means: nothing is matched there, and their weights are 0", unmatched)
	}
	if s.apart > apartTold {
		l.warn("means of edges contradict those of nodes by %.2g at most: nodes have the mean of what is said of them, and "+
			"tables are fitted to it", s.apart)
	}
	if l.instances[0].spec.Weight == 1 {
		l.warn("of how many observations means are is not said: the prior counts as much as one; give counts, or {prior}")
	}
	if len(kept) < len(s.edges) {
		var err error
		if set, err = set.KeepEdges(kept); err != nil {
			return nil, []error{err}
		}
	}
	layout := set.Schema.Layout()
	given, apart := slices.Clone(set.Means), 0.0
	layout.Symmetrise(set.Means)
	for i, p := range set.Means {
		apart = max(apart, math.Abs(p-given[i]))
	}
	if apart > apartTold && s.states > 2 { // of two states, nodes tell the rest
		l.warn("edge means [a, b] and [b, a] differ by %.2g at most, and are averaged, as J(a, b) and J(b, a) are one; "+
			"{directed} learns both", 2*apart)
	}
	return set, nil
}
