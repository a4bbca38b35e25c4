// Package experiment builds the problems of the paper's empirical study:
// synthetic grid and Barabási–Albert networks with Gaussian features, whose
// labels are drawn from a known model by Gibbs sampling.
package experiment
