// Package synthetic builds the problems of the paper's empirical study, synthetic
// grid and Barabási–Albert networks with Gaussian features whose labels are drawn
// from a known model by Gibbs sampling, and compares how fast the methods of
// learning come near the optimum of such a problem, or of any other.
package synthetic
