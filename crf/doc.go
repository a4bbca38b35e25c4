// Package crf holds what is learned and what it is learned from: the schema of a pairwise model (node types and edge
// types with their states and features), its weights, and the instances of a data set. Weights times features are the
// potentials of a network.
//
// Tied types share their weights between all nodes (or edges) of the type: the templated and conditional models of
// the paper. Untied types give every node (or edge) its own weights: the paper's non-templated MRF, with one
// parameter per entry of the marginals. Symmetric edge types have one weight for the states of both ends either way
// round: which end comes first means nothing.
package crf
