// Package flow solves maximum-flow problems on the edges of a graph: every node has excess or room, and excess is
// moved along arcs of limited capacity to where there is room (Residual, MinimumCut). The proofs of package counting
// and the exact most probable states of binary submodular networks rest on it.
//
// Arcs are the two directions of an edge, so that residual capacities are two flat
// slices and the graph is the frozen one that everything else uses.
package flow
