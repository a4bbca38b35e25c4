// Package crf holds what is learned and what it is learned from: the schema of
// a pairwise model (node types and edge types with their states and features),
// its weights, the instances of a data set, and the two linear maps between
// weights and potentials:
//
//	grounding   θ = θ̃ᵀM    weights to potentials of a block   (Ground)
//	its adjoint M τ         beliefs of a block to a gradient   (ScatterNode, ScatterEdge)
//
// Tied types share their weights between all nodes (or edges) of the type: the
// templated and conditional models of the paper. Untied types give every node
// (or edge) its own weights: the paper's non-templated MRF, with one parameter
// per entry of the marginals.
package crf
