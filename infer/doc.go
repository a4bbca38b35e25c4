// Package infer answers questions about a given network: node and edge
// marginals and the log-partition function, by convex belief propagation
// (BeliefPropagation) or exactly (package exact). Every answer says what it is:
// exact, an upper bound or an approximation, and whether it converged.
package infer
