package dataset

import (
	"math"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/mrf"
)

// Names of the arrays of a file of potentials, beside edges and states.
const (
	thetaArray     = "theta"
	edgeThetaArray = "theta_uv"
	constantArray  = "constant"
)

// writePotentials writes the arrays that ReadNetwork reads, with −Inf in the places
// beyond a node's states.
func writePotentials(path string, p *mrf.Pairwise) error {
	n, m, k := len(p.Card), p.Graph.NumEdges(), 0
	for _, card := range p.Card {
		k = max(k, int(card))
	}
	nodeTable := func(row []float64, s int) { fillRow(row, p.Node[p.NodeAt[s]:p.NodeAt[s+1]]) }
	edgeTable := func(table []float64, e int) {
		fillRow(table, nil)
		columns := int(p.Card[p.Graph.V(int32(e))])
		for i := range int(p.Card[p.Graph.U(int32(e))]) {
			copy(table[i*k:], p.Edge[p.EdgeAt[e]+i*columns:][:columns])
		}
	}
	return writeArchive(path, rowsOf(edgesArray, edgeOf(p.Graph), m, 2), arrayOf(statesArray, p.Card, n),
		rowsOf(thetaArray, nodeTable, n, k), rowsOf(edgeThetaArray, edgeTable, m, k, k), arrayOf(constantArray, []float64{p.Constant}))
}

func edgeOf(g *graph.Graph) func(ends []int32, e int) {
	return func(ends []int32, e int) { ends[0], ends[1] = g.U(int32(e)), g.V(int32(e)) }
}

// fillRow copies values and fills the rest with −Inf.
func fillRow(row, values []float64) {
	for i := copy(row, values); i < len(row); i++ {
		row[i] = math.Inf(-1)
	}
}
