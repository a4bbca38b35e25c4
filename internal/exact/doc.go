// Package exact computes log Z, marginals and a most probable joint state of a discrete network without
// approximation, in time and memory exponential in its induced width.
//
// # Method
//
// Variables are eliminated one after another in an order chosen by greedy heuristics (NewPlan). Eliminating variable
// i multiplies all tables that mention it, its bucket, and sums i out; the result, the bucket's message, goes to the
// bucket of its earliest variable, the parent. Messages are written m_i(S_i), S_i the separator: its scope without i.
//
//	m_i(S_i) = Σ_{x_i} ψ_i(x_i, S_i) Π_{children c} m_c        log Z = Σ_roots log m
//
// For marginals the tree is walked back from the roots: with P_i(S_i) the marginal of the separator, 1 at a root,
//
//	P(x_i, S_i) = ψ_i Π_c m_c · P_i(S_i) / m_i(S_i)     and     P_c = its sums.
//
// Only probabilities flow backwards, so nothing can overflow there, and what underflows is a probability below 1e-300.
//
// # Range
//
// A table is kept linear, divided by a power of two near its largest value, as long as the ratio of its largest to
// its smallest positive value allows it. A bucket is computed linearly if the product of these ratios over its tables
// stays within float64, so that no positive product can become zero; otherwise in logarithms, entry by entry.
// Potentials of ±10⁴ and hard zeros are exact either way.
//
// Results are the same to the last bit in every run: orders come from a fixed seed and sums run in a fixed order.
//
// # Most probable states
//
// To find a most probable joint state of a network (MAP, or MPE: most probable explanation) is also to say
// how far from the best it can be at most. The energy of a joint state x is
//
//	E(x) = −Σ_f LogTable_f(x),    p(x) ∝ exp(−E(x)),
//
// so a most probable state has the smallest energy. Every answer has a lower bound on the energy of all states; where
// the gap between the two is no more than rounding the answer is proved optimal.
//
// The methods:
//
//   - Exact: variable elimination, which on forests is dynamic
//     programming. Memory is exponential in the induced width, and forecast first.
//   - TRWS: sequential tree-reweighted max-product for everything else, with
//     decoding and local search: of single variables (ICM) all along, of regions at
//     the end, if the gap has not closed. Its bound is the value of a relaxation, so a
//     gap may remain although the state is optimal; of binary submodular networks none does.
package exact
