// Package spanning computes edge appearance numbers μ, the counting
// numbers of tree-reweighted belief propagation (docs/explanation/equations.md, section 2).
//
// μ_e is the probability that edge e is in a random spanning forest. Numbers
// averaged over forests, as Cover makes them, are right by construction: the
// tree-reweighted free energy is certain to bound the log-partition function from above.
// Shift tests whether free energies with other counting numbers are concave.
package spanning
