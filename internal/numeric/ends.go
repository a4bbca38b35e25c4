package numeric

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// Ends is a network whose edges lead from U to V, and the labels of its nodes, below 0 where they are unknown.
type Ends struct{ Labels, U, V []int32 }

// A balance is sure at so many standard errors. An order of nodes would show by showsOrder of them on average, of which
// edges that follow none have hidesOrder now and then.
const sureBalance, showsOrder, hidesOrder = 5, 8, 2

// Told reports whether ends of edges surely tell labels a from b, and no order of nodes made them, as of rows, of
// classes or of a crawl, which would say nothing of the next network. Such an order has two edges with a common node
// both leave it, or both enter it, with a correlation of 1/3, if it is by chance: so a balance of edges between a and b
// is less sure than their number says. Edges between equal labels would show it, too; without one they are as coins
// fall, and those at a node as often lead there as away. And edges in an order never lead round in a cycle.
func Told(all []Ends, a, b int32) bool {
	balance, variance, pairs, alike := 0., 0., 0., 0.
	for _, n := range all {
		across, along, out := make([]float64, len(n.Labels)), make([]float64, len(n.Labels)), make([]float64, len(n.Labels))
		for e, u := range n.U {
			v := n.V[e]
			if x, y := n.Labels[u], n.Labels[v]; x == y && x >= 0 {
				along[u], along[v], out[u], out[v] = along[u]+1, along[v]+1, out[u]+1, out[v]-1
			} else if sign := map[[2]int32]float64{{a, b}: 1, {b, a}: -1}[[2]int32{x, y}]; sign != 0 {
				across[u], across[v], balance = across[u]+1, across[v]+1, balance+sign
			}
		}
		for s, d := range across {
			variance += d/2 + d*(d-1)/3
			pairs, alike = pairs+along[s]*(along[s]-1)/2, alike+(out[s]*out[s]-along[s])/2
		}
	}
	err := math.Sqrt(pairs) // of the sum of products of signs, of which coins make all pairs independent
	return balance > sureBalance*math.Sqrt(variance) && pairs/3 > showsOrder*err && math.Abs(alike) < hidesOrder*err &&
		slices.ContainsFunc(all, cyclic)
}

// cyclic reports whether edges lead round, so that no order of nodes has the first end of each before the second.
func cyclic(n Ends) bool {
	g := simple.NewDirectedGraph()
	for e, u := range n.U {
		g.SetEdge(simple.Edge{F: simple.Node(u), T: simple.Node(n.V[e])})
	}
	_, err := topo.Sort(g)
	return err != nil
}
