// Package mpe finds a most probable joint state of a network (MAP, or MPE: most
// probable explanation), and says how far from the best it can be at most.
//
// Scores and energies: the energy of a joint state x is
//
//	E(x) = −Σ_f LogTable_f(x),    p(x) ∝ exp(−E(x)),
//
// so a most probable state has the smallest energy. Every answer has a lower bound
// on the energy of all states; where the gap between the two is no more than
// rounding the answer is proved optimal.
//
// # Methods
//
//   - Exact: variable elimination (package exact), which on forests is dynamic
//     programming. Memory is exponential in the induced width, and forecast first.
//   - Cut: binary submodular networks, by a minimum cut. Exact in polynomial time.
//     States may be renamed to make a network submodular, and hard zeros may leave
//     two states of more.
//   - TRWS: sequential tree-reweighted max-product for everything else, with
//     decoding and local search: of single variables (ICM) all along, of regions at
//     the end, if the gap has not closed. Its bound never falls from sweep to sweep.
//     It is the value of a relaxation, so a gap may remain although the state is
//     optimal.
package mpe
