package numeric

import "math"

// Means are probabilities of the states of a node, or of the pairs of states of an edge, row by row.
type Means struct {
	Table []float64 // nil: not known
	Of    float64   // the observations that they are of; 1 where these are not known
}

// marginal is what those of an edge say of its first end, 0, or the second.
func (m *Means) marginal(k, end int) []float64 {
	sums := make([]float64, k)
	for i, p := range m.Table {
		sums[stateOf(i, k, end)] += p
	}
	return sums
}

// stateOf is the state of an end in an entry of a table.
func stateOf(entry, k, end int) int { return [2]int{entry / k, entry % k}[end] }

// Reconcile takes for the means of a node of k states the mean of what is said of it, each by its observations, and
// fits the tables of edges from us to vs to those. A node then is of as many observations as what says the most of it,
// as others may be the same. compare is told what an edge says of a node, beside the mean of all.
func Reconcile(k int, us, vs []int32, nodes, edges []Means, compare func(e int, n int32, said, mean []float64)) {
	sums, most := make([]Means, len(nodes)), make([]float64, len(nodes))
	add := func(n int32, table []float64, of float64) {
		if of == 0 {
			return
		}
		if sums[n].Table == nil {
			sums[n].Table = make([]float64, k)
		}
		for x, p := range table {
			sums[n].Table[x] += of * p
		}
		sums[n].Of += of
		most[n] = max(most[n], of)
	}
	for n, m := range nodes {
		add(int32(n), m.Table, m.Of)
	}
	for e, m := range edges {
		add(us[e], m.marginal(k, 0), m.Of)
		add(vs[e], m.marginal(k, 1), m.Of)
	}
	for n, sum := range sums {
		for x := range sum.Table {
			sum.Table[x] /= sum.Of
		}
		nodes[n] = Means{sum.Table, most[n]}
	}
	for e, m := range edges {
		if m.Table != nil {
			for end, n := range []int32{us[e], vs[e]} {
				compare(e, n, m.marginal(k, end), nodes[n].Table)
			}
			m.rake(k, [2][]float64{nodes[us[e]].Table, nodes[vs[e]].Table})
		}
	}
}

// rake gives a table the marginals of its ends, and keeps its odds ratios (iterative proportional fitting).
func (m *Means) rake(k int, want [2][]float64) {
	const mostPasses, close = 1000, 1e-15
	for apart, pass := 1.0, 0; apart > close && pass < mostPasses; pass++ {
		apart = 0
		for end := range want {
			sums := m.marginal(k, end)
			for i := range m.Table {
				if x := stateOf(i, k, end); sums[x] > 0 {
					m.Table[i] *= want[end][x] / sums[x]
					apart = max(apart, math.Abs(want[end][x]-sums[x]))
				}
			}
		}
	}
}
