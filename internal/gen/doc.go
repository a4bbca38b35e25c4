// Package gen makes the graphs of tests and of the laboratory: chains, trees, complete graphs and the two classical
// random graphs. What no graph can be is refused as package graph does it, or is a panic.
//
// Every generator states the order of its nodes and edges, so that features and potentials made elsewhere can be
// matched to them. Random generators draw from the source they are given and from nothing else: the same source state
// gives the same graph.
package gen
