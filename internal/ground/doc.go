// Package ground holds the two linear maps between weights and potentials, and the objectives that need nothing else:
//
//	grounding   θ = θ̃ᵀM    weights to potentials of a block   (Potentials)
//	its adjoint M τ         beliefs of a block to a gradient   (Adjoint)
//
// Nodes and edges of one type go through it in batches, so that a weight is used more than once per load. Scratch is
// reused: after the first block nothing is allocated.
package ground
