// Package spanning computes and checks edge appearance numbers μ, the counting
// numbers of tree-reweighted belief propagation (docs/explanation/equations.md, section 2).
//
// μ_e is the probability that edge e is in a random spanning forest. Numbers
// averaged over forests, as Cover makes them, are right by construction.
// CheckForestPolytope tells whether numbers from elsewhere can be such
// probabilities, so that the tree-reweighted free energy is certain to bound the
// log-partition function from above. Shift is the corresponding test for the
// concavity of free energies with other counting numbers.
package spanning
