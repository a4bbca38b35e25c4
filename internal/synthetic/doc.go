// Package synthetic builds the problems of the paper's empirical study, networks with Gaussian features whose labels
// are drawn from a known model by Gibbs sampling, and shows how fast methods of learning come near the optimum of one.
//
// It also makes small data sets of every kind that blockbp reads, to try it on. All is
// drawn from a seed, the same bytes again for the same seed.
package synthetic
