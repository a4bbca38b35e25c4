package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/npy"
)

// Names of the arrays of a file of statistics, beside edges.
const (
	nodeMeansArray        = "node_means"
	edgeMeansArray        = "edge_means"
	nodeObservationsArray = "node_observations"
	edgeObservationsArray = "edge_observations"
)

// statisticsArrays are means of nodes and edges in place of samples: probabilities, or counts, which say of how many
// observations they are. NaN are not known: a table with some is not matched.
var statisticsArrays = arrayRules{
	{name: edgesArray, of: ofEdges, shape: "[m, 2]"},
	{name: nodeMeansArray, float: true, shape: "[n, states]"},
	{name: edgeMeansArray, of: ofEdges, float: true, shape: "[m, states, states]"},
	{name: nodeObservationsArray, float: true, shape: "[n]"},
	{name: edgeObservationsArray, of: ofEdges, float: true, shape: "[m]"},
	{name: directedArray, of: ofAll, shape: "[]"},
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
	nodes, edges means
	counted      bool    // numbers of observations are known
	apart        float64 // the largest contradiction
}

// means are tables of one size, which sum to 1.
type means struct {
	array        string
	tables       [][]float64 // nil: not known
	observations []float64   // as many as the median where it is not said
}

// readMeans takes the means of nodes and edges. The label of each node is the state that it has most often, which
// weighs as much as there are observations, in the median.
func (b *npzBuilder) readMeans() {
	in, a := b.in, b.c.arrays[edgeMeansArray]
	if a.Shape == nil {
		return
	}
	k := a.Shape[1]
	s := &statistics{nodes: b.means(nodeMeansArray, nodeObservationsArray, in.nodes.count, k),
		edges: b.means(edgeMeansArray, edgeObservationsArray, in.edges.count, k*k)}
	if len(b.list) > 0 {
		return
	}
	said := slices.DeleteFunc(slices.Concat(s.nodes.observations, s.edges.observations),
		func(n float64) bool { return n == 0 })
	in.statistics, in.states, in.weight = s, []int32{int32(k)}, 1
	if s.counted = len(said) > 0; s.counted {
		slices.Sort(said)
		in.weight = said[len(said)/2]
	}
	for _, observations := range [][]float64{s.nodes.observations, s.edges.observations} {
		for i, n := range observations {
			if n == 0 {
				observations[i] = in.weight
			}
		}
	}
	b.reconcile(s, k)
	labels := make([]int32, in.nodes.count)
	for n, table := range s.nodes.tables {
		if table != nil {
			labels[n] = int32(slices.Index(table, slices.Max(table)))
		}
	}
	in.labels = [][]int32{labels}
}

// means takes tables of an array, as probabilities.
func (b *npzBuilder) means(array, observations string, count, size int) means {
	m := means{array, make([][]float64, count), make([]float64, count)} // 0 observations: not said
	a, given := b.c.arrays[array]
	of, told := b.c.arrays[observations]
	if given && a.Len() != count*size {
		b.add(0, array, "", "shape is %s, want %s: the numbers of states differ", npy.ShapeText(a.Shape),
			statisticsArrays.rule(array).shape)
	}
	if !given || len(b.list) > 0 {
		return m
	}
	sums, counts := make([]float64, count), false
	for i := range m.tables {
		row, table := i, make([]float64, size)
		if array == edgeMeansArray {
			row = b.in.row(i)
		}
		for j := range table {
			table[j] = a.At(row*size + j)
			sums[i] += table[j]
		}
		least, most := slices.Min(table), slices.Max(table) // NaN if one is
		switch {
		case least < 0 || math.IsInf(most, 1) || most == 0:
			b.add(0, fmt.Sprintf("%s[%d]", array, row), "write nan where nothing is known",
				"has entries from %v to %v, want probabilities or counts", least, most)
		case told && !(of.At(row) > 0) && !math.IsNaN(most):
			b.add(0, fmt.Sprintf("%s[%d]", observations, row), "", "is %v, want a positive number", of.At(row))
		case told && !math.IsNaN(most):
			m.observations[i] = of.At(row)
		}
		if counts = counts || math.Abs(sums[i]-1) > roundedMeans; !math.IsNaN(most) {
			m.tables[i] = table
		}
	}
	for i, table := range m.tables {
		if counts && !told && table != nil {
			m.observations[i] = sums[i]
		}
		for j := range table {
			table[j] /= sums[i]
		}
	}
	return m
}

// marginal is that of a table of states × states of an edge: of its first end, 0, or the second.
func marginal(table []float64, k, end int) []float64 {
	sums := make([]float64, k)
	for i, p := range table {
		sums[stateOf(i, k, end)] += p
	}
	return sums
}

// stateOf is the state of an end in an entry of a table.
func stateOf(entry, k, end int) int { return [2]int{entry / k, entry % k}[end] }

// reconcile takes for the means of a node the mean of what is said of it, and fits tables to those, where what they say
// differs by no more than chance explains.
func (b *npzBuilder) reconcile(s *statistics, k int) {
	mean, total := make([][]float64, b.in.nodes.count), make([]float64, b.in.nodes.count)
	say := func(n int32, table []float64, weight float64) {
		if mean[n] == nil {
			mean[n] = make([]float64, k)
		}
		total[n] += weight
		for x, p := range table {
			mean[n][x] += weight * p
		}
	}
	for n, table := range s.nodes.tables {
		if table != nil {
			say(int32(n), table, s.nodes.observations[n])
		}
	}
	us, vs := b.in.graph.Ends()
	for e, table := range s.edges.tables {
		if table != nil {
			say(us[e], marginal(table, k, 0), s.edges.observations[e])
			say(vs[e], marginal(table, k, 1), s.edges.observations[e])
		}
	}
	for n := range mean {
		for x := range mean[n] {
			mean[n][x] /= total[n]
		}
	}
	s.nodes.tables = mean
	for e, table := range s.edges.tables {
		if table != nil {
			ends := [2]int32{us[e], vs[e]}
			for end, n := range ends {
				b.compare(s, e, n, marginal(table, k, end))
			}
			rake(table, k, [2][]float64{mean[ends[0]], mean[ends[1]]})
		}
	}
}

// compare refuses what an edge says of a node where it differs from the mean of all by more than chance explains.
func (b *npzBuilder) compare(s *statistics, e int, n int32, said []float64) {
	for x, p := range said {
		want, allowed := s.nodes.tables[n][x], roundedMeans
		if of := s.edges.observations[e]; s.counted {
			allowed += surprising * math.Sqrt(max(want*(1-want), 1/of)/of)
		}
		if s.apart = max(s.apart, math.Abs(p-want)); math.Abs(p-want) > allowed && len(b.list) == 0 {
			b.add(0, fmt.Sprintf("%s[%d]", edgeMeansArray, b.in.row(e)), "correct one of them; numbers of observations, as "+
				"counts or in "+edgeObservationsArray+", allow for chance", "state %d of node %d has the mean %.6g in it, and "+
				"%.6g in all that is said of the node", x, n, p, want)
		}
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

// takeMeans gives the set its means. Edges without a table are left out: they have no weights.
func (l *npzLoader) takeMeans(set *Set, list []error) (*Set, []error) {
	if len(list) > 0 {
		return nil, list
	}
	s, k := l.instances[0].statistics, int(l.instances[0].states[0])
	var kept []int32
	for e, table := range s.edges.tables {
		if table != nil {
			kept = append(kept, int32(e))
		}
	}
	unmatched := len(s.edges.tables) - len(kept)
	if len(kept) == 0 {
		return nil, []error{wrong(l.instances[0].path, 0, edgeMeansArray, "", "every table has nan: nothing can be learned")}
	} else if unmatched > 0 {
		var err error
		if set, err = set.KeepEdges(kept); err != nil {
			return nil, []error{err}
		}
	}
	for _, table := range s.nodes.tables {
		if table == nil { // what weights of zero have: they stay
			unmatched, table = unmatched+1, slices.Repeat([]float64{1 / float64(k)}, k)
		}
		set.Means = append(set.Means, table...)
	}
	for _, e := range kept {
		set.Means = append(set.Means, s.edges.tables[e]...)
	}
	layout := set.Schema.Layout()
	layout.Symmetrise(set.Means)
	say := func(told bool, format string, a ...any) {
		if told {
			set.Warnings = append(set.Warnings, fmt.Sprintf(format, a...))
		}
	}
	say(s.apart > apartTold, "means of edges contradict those of nodes by %.2g at most: nodes have the mean of what is said "+
		"of them, and tables are fitted to it", s.apart)
	say(unmatched > 0, "%d nodes and edges have no means: nothing is matched there, and their weights are 0", unmatched)
	say(!s.counted, "of how many observations means are is not said: the prior counts as much as one; give counts, or "+
		"arrays of observations, or {prior}")
	return set, nil
}
