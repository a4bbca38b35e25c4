// Package counting makes entropy counting numbers, which choose a free energy for belief propagation, and proves what
// can be said of it: whether it is convex, and whether its value bounds the log-partition function.
//
// Parse knows the usual choices by name. "convex" has all numbers 1: strongly convex, a loose upper bound. "cover"
// counts every variable once, and each edge as much as its ends allow: convex too, and tighter. "trw" averages random
// spanning forests: convex, and the tightest of these bounds. "near-bethe" has the convex numbers nearest to
// those of "bethe", which is ordinary belief propagation: exact on forests, elsewhere without any
// promise. New takes numbers by hand.
package counting
