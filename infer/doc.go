// Package infer answers questions about a given network: node and edge
// marginals and the log-partition function, by convex belief propagation
// (BeliefPropagation), exactly (package exact), by Gibbs sampling (GibbsMarginals)
// or by mean field (MeanField); and joint states drawn from it (Sample). Every
// answer says what it is: exact, an upper or a lower bound or an approximation, and
// whether it converged.
package infer
