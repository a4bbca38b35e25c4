// Package partition cuts the nodes of a graph into disjoint blocks and derives
// from each block of nodes V_i the sub-network F_i = (V_i, E_i) that block
// belief propagation works on (paper, Algorithm 2; docs/explanation/equations.md, section 6).
//
// Ways to choose the blocks: Tiles for grids, Ranges of consecutive nodes, BreadthFirst growth with a refinement for
// any graph, or an assignment of the user's own. FromAssignment makes the blocks.
package partition
