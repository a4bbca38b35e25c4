package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Names of the arrays of a file of statistics, beside edges.
const (
	nodeMeansArray   = "node_means"
	edgeMeansArray   = "edge_means"
	nodeWeightsArray = "node_weights"
	edgeWeightsArray = "edge_weights"
)

// statisticsArrays are means of nodes and edges in place of samples: probabilities, or counts, which say of how many
// observations they are if no weights do. A table with NaN, or of weight 0, is not known.
var statisticsArrays = npy.Rules{
	edgesRule,
	{Name: nodeMeansArray, Float: true, Shape: "[n, states]"},
	{Name: edgeMeansArray, Float: true, Shape: "[m, states, states]"},
	{Name: nodeWeightsArray, Float: true, Shape: "[n]", Range: ofObservations},
	{Name: edgeWeightsArray, Float: true, Shape: "[m]", Range: ofObservations},
	directedRule,
}

const ofObservations = "0 to 1e150"

const (
	// roundedMeans is by how much means may contradict each other where how many observations they are of is not known:
	// as those do that are written with four digits.
	roundedMeans = 1e-3
	roundedEntry = 0.00501 // and by how much an entry of two decimals is off
	// surprising is by how many standard deviations they may where it is known.
	surprising = 4
	// apartTold is above what rounding leaves between means of the same samples.
	apartTold = 1e-6
)

// statistics are means in place of the samples of an instance.
type statistics struct {
	states       int
	nodes, edges []numeric.Means
	apart        float64 // the largest contradiction
}

// readMeans takes the means of nodes and edges. A node is of as many observations as its weight says, if it has one.
// Its label is the state that it has most often, which weighs as much as edges have observations, in the median.
func (in *npzInstance) readMeans() {
	tables := in.Arrays[edgeMeansArray]
	if tables.Shape == nil {
		return
	}
	k := tables.Shape[1]
	s := &statistics{states: k, nodes: in.means(nodeMeansArray, nodeWeightsArray, in.nodes.count, k),
		edges: in.means(edgeMeansArray, edgeWeightsArray, in.edges.count, k*k)}
	var observations []float64
	for _, m := range s.edges {
		if m.Table != nil {
			observations = append(observations, m.Of)
		}
	}
	if slices.Sort(observations); len(observations) == 0 {
		in.Add(0, edgeMeansArray, "", "all tables have nan, or a weight of 0: nothing can be learned")
	}
	if len(in.List) > 0 {
		return
	}
	in.statistics, in.spec.Weight = s, observations[len(observations)/2]
	in.Arrays[statesArray] = npy.Values{Ints: []int32{int32(k)}}
	us, vs := in.spec.Graph.Ends()
	numeric.Reconcile(k, us, vs, s.nodes, s.edges, in.compare)
	in.spec.Labels = [][]int32{make([]int32, in.nodes.count)}
	for n, m := range s.nodes {
		if m.Table != nil {
			in.spec.Labels[0][n] = int32(slices.Index(m.Table, slices.Max(m.Table)))
		}
		if of := in.Arrays[nodeWeightsArray]; of.Shape != nil && of.At(n) > 0 {
			s.nodes[n].Of = of.At(n)
		}
	}
}

// means takes tables of an array, as probabilities, with the weights that another may have.
func (in *npzInstance) means(array, weights string, count, size int) []numeric.Means {
	all, a, of := make([]numeric.Means, count), in.Arrays[array], in.Arrays[weights]
	if of.Shape != nil && a.Shape == nil {
		in.Add(0, weights, "", "there are no %s that they weigh", array)
	}
	for i := 0; i < count && a.Shape != nil; i++ {
		sum, table := 0.0, make([]float64, size)
		for j := range table {
			table[j] = a.At(i*size + j)
			sum += table[j]
		}
		least, most := slices.Min(table), slices.Max(table) // NaN if one is
		if least < 0 || math.IsInf(sum, 1) || sum <= max(0, 1-roundedEntry*float64(size)) {
			in.Add(0, fmt.Sprintf("%s[%d]", array, i), "write nan where nothing is known",
				"has entries from %v to %v, %.6g in all, want probabilities, which are 1 in all, or counts", least, most, sum)
		}
		if math.IsNaN(sum) || of.Shape != nil && of.At(i) == 0 {
			continue
		}
		for j := range table {
			table[j] /= sum
		}
		if all[i] = (numeric.Means{Table: table, Of: sum}); of.Shape != nil {
			all[i].Of = of.At(i)
		} else if math.Abs(sum-1) <= roundedMeans {
			all[i].Of = 1
		}
	}
	return all
}

// compare refuses what an edge says of a node where it differs from the mean of all by more than chance explains.
func (in *npzInstance) compare(e int, n int32, said, mean []float64) {
	for x, p := range said {
		want, allowed, of := mean[x], roundedMeans, in.statistics.edges[e].Of
		if of != 1 || in.Arrays[edgeWeightsArray].Shape != nil {
			allowed += surprising * math.Sqrt(max(want*(1-want), 1/of)/of)
		}
		if in.statistics.apart = max(in.statistics.apart, math.Abs(p-want)); !(math.Abs(p-want) <= allowed) {
			in.Add(0, fmt.Sprintf("%s[%d]", edgeMeansArray, e), "correct one of them; counts in place of "+
				"probabilities allow for chance", "state %d of node %d has the mean %.6g in it, and %.6g in all that is said "+
				"of the node", x, n, p, want)
			return
		}
	}
}

// takeMeans gives the set its means. Edges without a table are left out: they have no weights.
func (l *npzLoader) takeMeans(set *Set, list []error) (*Set, []error) {
	if len(list) > 0 {
		return nil, list
	}
	s, unmatched, kept, total := l.instances[0].statistics, 0, []int32(nil), l.instances[0].spec.Weight
	add := func(m numeric.Means) {
		set.Means = append(set.Means, m.Table...)
		set.MeansWeights = append(set.MeansWeights, slices.Repeat([]float64{m.Of / total}, len(m.Table))...)
	}
	for _, m := range s.nodes {
		if m.Table == nil { // what weights of zero have: they stay
			m = numeric.Means{Table: slices.Repeat([]float64{1 / float64(s.states)}, s.states), Of: total}
			unmatched++
		}
		add(m)
	}
	for e, m := range s.edges {
		if add(m); m.Table != nil {
			kept = append(kept, int32(e))
		}
	}
	if slices.Min(set.MeansWeights) == slices.Max(set.MeansWeights) {
		set.MeansWeights = nil
	}
	if unmatched += len(s.edges) - len(kept); unmatched > 0 {
		l.warn("means are missing of %d of %d nodes and edges: nothing is matched there, and their weights are 0", unmatched,
			len(s.nodes)+len(s.edges))
	}
	if s.apart > apartTold {
		l.warn("means of edges contradict those of nodes by %.2g at most: nodes have the mean of what is said of them, and "+
			"tables are fitted to it", s.apart)
	}
	if total == 1 && l.instances[0].Arrays[edgeWeightsArray].Shape == nil {
		l.warn("of how many observations means are is not said: the prior counts as much as one; give counts, " +
			"node_weights and edge_weights, or {prior}")
	}
	if len(kept) < len(s.edges) && l.o.Schema != nil {
		return nil, []error{option.At(l.instances[0].File, 0, edgeMeansArray, "give means of the same edges, or learn "+
			"without an initial model", "there are means of %d edges, and the model has weights of %d", len(kept), len(s.edges))}
	} else if len(kept) < len(s.edges) {
		var err error
		if set, err = set.KeepEdges(kept); err != nil {
			return nil, []error{err}
		}
	}
	layout, given, apart := set.Schema.Layout(), slices.Clone(set.Means), 0.0
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
