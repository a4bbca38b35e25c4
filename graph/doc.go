// Package graph holds the topology of a pairwise network: undirected edges in a
// frozen compressed-sparse-row form, without any numbers on it.
//
// A graph is built once, in bulk, by FromEdges, which checks everything; after that it never changes and may be
// shared by any number of instances and goroutines.
//
// # Directed edges
//
// Message passing needs the two directions of an edge. Edge e, which joins
// U(e) and V(e) in the order given by the user, has the directed edges
//
//	2e     from U(e) to V(e)
//	2e+1   from V(e) to U(e)
//
// so d>>1 is the edge of a directed edge d, and d^1 its opposite direction.
package graph
