package oracle

import "github.com/blockbp/blockbp/mrf"

// LogZ returns the log-partition function of p by enumeration, natural logarithm. See NetworkLogZ.
func LogZ(p *mrf.Pairwise) float64 { return NetworkLogZ(p.Network()) }

// Marginals returns the node marginals, [node][state], and the edge marginals, [edge][i*Card[v]+j] in the orientation
// of p's tables, by enumeration. See NetworkMarginals.
func Marginals(p *mrf.Pairwise) (nodes, edges [][]float64) {
	n := p.Network()
	nodes, factors := NetworkMarginals(n)
	return nodes, factors[len(factors)-p.Graph.NumEdges():] // Network puts the edges last
}
