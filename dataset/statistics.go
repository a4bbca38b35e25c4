package dataset

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/npy"
)

// Names of the arrays of a file of statistics, beside edges.
const (
	nodeMeansArray        = "node_means"
	edgeMeansArray        = "edge_means"
	nodeObservationsArray = "node_observations"
	edgeObservationsArray = "edge_observations"
)

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
	// mostRaking bounds the passes that fit a table to the means of its ends.
	mostRaking = 1000
)

// statistics are tables of means on their way into a set.
type statistics struct {
	problems
	nodes, edges, states      int
	us, vs                    []int32
	node, edge                []float64 // [nodes][states] and [edges][states][states], of sum 1; NaN: not known
	nodeWeight, edgeWeight    []float64 // observations
	known                     bool      // their numbers are
	apart                     float64   // the largest contradiction
	unmatchedNodes, unmatched int
}

// OpenStatistics reads means of nodes and edges in place of samples, from an npz file with the arrays edges [m, 2],
// edge_means [m, states, states] and node_means [n, states]: probabilities, or counts, which say of how many
// observations they are. NaN are not known: a table with some is not matched. Set.Means has them; the sample of its
// instance is not one that was observed, and weighs as much as there are observations, in the median.
func OpenStatistics(ctx context.Context, path string, o Options) (*Set, error) {
	contents, source, list := openNPZ(ctx, path, statisticsArrays, memory.NewBudget(o.Memory))
	if err := firstOf(list); err != nil {
		return nil, err
	}
	s := &statistics{problems: problems{file: path}}
	for _, step := range []func(){func() { s.take(contents) }, s.checkEdges, s.normalise, s.reconcile} {
		if step(); len(s.list) > 0 {
			_, list := told(nil, s.errors())
			return nil, firstOf(list)
		}
	}
	if a, ok := contents.arrays[directedArray]; ok {
		o.Directed = o.Directed || a.Ints[0] == 1
	}
	set, err := s.set(&o)
	if err != nil {
		return nil, err
	}
	set.Sources = []Source{source}
	s.warn(set)
	set, _ = told(set, nil)
	return set, nil
}

// take checks the shapes, and copies the numbers.
func (s *statistics) take(c *npzContents) {
	edges, table, node := c.arrays[edgesArray], c.arrays[edgeMeansArray], c.arrays[nodeMeansArray]
	for name, a := range c.arrays {
		if rule := statisticsArrays.rule(name); !rule.fits(a.Shape) {
			s.add(0, name, "", "shape is %s, want %s", npy.ShapeText(a.Shape), rule.shape)
		}
	}
	for _, name := range []string{edgesArray, edgeMeansArray} {
		if _, ok := c.arrays[name]; !ok {
			s.add(0, name, "", "the array is missing, want shape %s", statisticsArrays.rule(name).shape)
		}
	}
	if len(s.list) > 0 {
		return
	}
	s.edges, s.states = edges.Rows(), table.Shape[1]
	for i, x := range edges.Ints {
		s.nodes = max(s.nodes, int(x)+1)
		if i%2 == 0 {
			s.us = append(s.us, x)
		} else {
			s.vs = append(s.vs, x)
		}
	}
	if node.Shape != nil {
		s.nodes = node.Rows()
	}
	numbers := func(name string, n int, otherwise float64) []float64 {
		a, ok := c.arrays[name]
		x := slices.Repeat([]float64{otherwise}, n)
		if ok && a.Len() != n {
			s.add(0, name, "", "shape is %s: there are %d nodes, %d edges and %d states", npy.ShapeText(a.Shape), s.nodes,
				s.edges, s.states)
			return x
		}
		for i := range x {
			if ok {
				x[i] = a.At(i)
			}
		}
		return x
	}
	s.node, s.edge = numbers(nodeMeansArray, s.nodes*s.states, math.NaN()),
		numbers(edgeMeansArray, s.edges*s.states*s.states, math.NaN())
	s.nodeWeight, s.edgeWeight = numbers(nodeObservationsArray, s.nodes, 0), numbers(edgeObservationsArray, s.edges, 0)
}

// checkEdges refuses ends that are no nodes, loops, and edges that are there twice.
func (s *statistics) checkEdges() {
	for e := range s.us {
		if u, v := s.us[e], s.vs[e]; u < 0 || v < 0 || int(max(u, v)) >= s.nodes {
			s.add(0, fmt.Sprintf("%s[%d]", edgesArray, e), "", "is (%d, %d), and there are %d nodes", u, v, s.nodes)
			return
		}
	}
	if _, err := graph.FromEdges(s.nodes, s.us, s.vs); err != nil {
		s.add(0, edgesArray, "", "%v", err)
	}
}

// normalise makes probabilities of counts. Tables that are not known become NaN as a whole.
func (s *statistics) normalise() {
	tables := func(name string, all, weights []float64, size int) {
		counts := false
		for i := range weights {
			sum, table := 0.0, all[i*size:][:size]
			for j, x := range table {
				if sum += x; x < 0 || math.IsInf(x, 0) {
					s.add(0, name+npy.IndexText([]int{len(weights), size}, i*size+j), "", "is %v, want a mean of 0 to 1, or a count",
						x)
				}
			}
			counts = counts || math.Abs(sum-1) > roundedMeans
			if sum == 0 {
				s.add(0, fmt.Sprintf("%s[%d]", name, i), "write nan where nothing is known", "all its means are 0")
			}
		}
		for i := range weights {
			sum, table := 0.0, all[i*size:][:size]
			for _, x := range table {
				sum += x
			}
			for j := range table {
				table[j] /= sum
			}
			if counts && weights[i] == 0 && !math.IsNaN(sum) {
				weights[i] = sum
			}
			s.known = s.known || weights[i] > 0
		}
	}
	tables(nodeMeansArray, s.node, s.nodeWeight, s.states)
	tables(edgeMeansArray, s.edge, s.edgeWeight, s.states*s.states)
	for _, weights := range [][]float64{s.nodeWeight, s.edgeWeight} {
		for i, w := range weights {
			if !(w > 0) {
				weights[i] = 1 // not said
			}
		}
	}
}

// ends calls do for both ends of an edge whose table is known, with its marginals there.
func (s *statistics) ends(do func(e int, node int32, marginal []float64)) {
	k := s.states
	for e := range s.us {
		table := s.edge[e*k*k:][:k*k]
		if math.IsNaN(table[0]) {
			continue
		}
		rows, columns := make([]float64, k), make([]float64, k)
		for i, x := range table {
			rows[i/k] += x
			columns[i%k] += x
		}
		do(e, s.us[e], rows)
		do(e, s.vs[e], columns)
	}
}

// reconcile takes for the means of a node the mean of what is said of it, and fits tables to those, where what they say
// differs by no more than chance explains.
func (s *statistics) reconcile() {
	k := s.states
	mean, total := make([]float64, len(s.node)), make([]float64, s.nodes)
	add := func(n int32, means []float64, weight float64) {
		if math.IsNaN(means[0]) {
			return
		}
		total[n] += weight
		for x, p := range means {
			mean[int(n)*k+x] += weight * p
		}
	}
	for n := range int32(s.nodes) {
		add(n, s.node[int(n)*k:][:k], s.nodeWeight[n])
	}
	s.ends(func(e int, n int32, marginal []float64) { add(n, marginal, s.edgeWeight[e]) })
	for n, t := range total {
		if t == 0 {
			s.unmatchedNodes++
		}
		for x := range k {
			if mean[n*k+x] /= t; t == 0 {
				mean[n*k+x] = math.NaN()
			}
		}
	}
	s.ends(func(e int, n int32, marginal []float64) {
		for x, p := range marginal {
			want := mean[int(n)*k+x]
			apart, allowed := math.Abs(p-want), roundedMeans
			if s.known {
				allowed += surprising * math.Sqrt(max(want*(1-want), 1/s.edgeWeight[e])/s.edgeWeight[e])
			}
			if s.apart = max(s.apart, apart); apart > allowed && len(s.list) == 0 {
				s.add(0, fmt.Sprintf("%s[%d]", edgeMeansArray, e), "correct one of them; numbers of observations, as counts or in "+
					edgeObservationsArray+", allow for chance", "state %d of node %d has the mean %.6g in it, and %.6g in all that "+
					"is said of the node", x, n, p, want)
			}
		}
	})
	s.node = mean
	for e := range s.us {
		s.rake(s.edge[e*k*k:][:k*k], mean[int(s.us[e])*k:][:k], mean[int(s.vs[e])*k:][:k])
	}
}

// rake gives a table the marginals of its ends, and keeps its odds ratios (iterative proportional fitting).
func (s *statistics) rake(table, u, v []float64) {
	if math.IsNaN(table[0]) {
		s.unmatched++
		return
	}
	k := s.states
	scale := func(at, stride int, want float64) (apart float64) {
		sum := 0.0
		for i := range k {
			sum += table[at+i*stride]
		}
		for i := range k {
			if sum > 0 {
				table[at+i*stride] *= want / sum
			}
		}
		return math.Abs(sum - want)
	}
	const rounding = 1e-15
	for apart, pass := 1.0, 0; apart > rounding && pass < mostRaking; pass++ {
		apart = 0
		for y := range k {
			apart = max(apart, scale(y, k, v[y]))
		}
		for x := range k {
			apart = max(apart, scale(x*k, 1, u[x]))
		}
	}
}

// set makes the set. Edges without a table are left out: an edge whose statistics are not matched has no weights.
func (s *statistics) set(o *Options) (*Set, error) {
	k := s.states
	l := &npzLoader{loader: newLoader(context.Background(), o)}
	in := &npzInstance{path: s.file, name: "statistics", directed: o.Directed}
	in.nodes.count, in.edges.count = s.nodes, s.edges
	var err error
	if in.graph, err = graph.FromEdges(s.nodes, s.us, s.vs); err != nil {
		return nil, err
	}
	labels, cards := make([]int32, s.nodes), make([]int32, s.nodes)
	for n := range labels {
		cards[n] = int32(k)
		if means := s.node[n*k:][:k]; !math.IsNaN(means[0]) {
			labels[n] = int32(slices.Index(means, slices.Max(means)))
		}
	}
	in.labels, in.states = [][]int32{labels}, []int32{int32(k)}
	observed := slices.Sorted(slices.Values(append(slices.Clone(s.nodeWeight), s.edgeWeight...)))
	in.weight = observed[len(observed)/2]
	l.instances, l.areSpins = []*npzInstance{in}, o.Spins && k == len(spinStates)
	if l.loadUntied(); len(l.problems) > 0 {
		_, list := told(nil, l.problems)
		return nil, firstOf(list)
	}
	set := l.set
	var kept []int32
	for e := range s.us {
		if !math.IsNaN(s.edge[e*k*k]) {
			kept = append(kept, int32(e))
		}
	}
	if s.unmatched > 0 {
		if set, err = set.KeepEdges(kept); err != nil {
			return nil, err
		}
	}
	for _, p := range s.node {
		if math.IsNaN(p) {
			p = 1 / float64(k) // what weights of zero have: they stay
		}
		set.Means = append(set.Means, p)
	}
	for _, e := range kept {
		set.Means = append(set.Means, s.edge[int(e)*k*k:][:k*k]...)
	}
	layout := set.Schema.Layout()
	layout.Symmetrise(set.Means)
	return set, nil
}

// warn says what was done to the means.
func (s *statistics) warn(set *Set) {
	say := func(format string, a ...any) { set.Warnings = append(set.Warnings, fmt.Sprintf(format, a...)) }
	if s.apart > apartTold {
		say("means of edges contradict those of nodes by %.2g at most: nodes have the mean of what is said of them, and "+
			"tables are fitted to it", s.apart)
	}
	if s.unmatched+s.unmatchedNodes > 0 {
		say("%d edges and %d nodes have no means: nothing is matched there, and their weights are 0", s.unmatched,
			s.unmatchedNodes)
	}
	if !s.known {
		say("of how many observations means are is not said: the prior counts as much as one; give counts, or arrays of " +
			"observations, or {prior}")
	}
}
