//go:build !purego

package simd

import "unsafe"

// groupStates is the number of states, at both ends, for which edges are done in
// groups, and groupEdges how many edges a group has.
const (
	groupStates = 8
	groupEdges  = 4
)

// groupEntries is how many entries tables have at most for edges of other shapes to be
// done in groups: a table is read twice, and is still in the nearest cache the second
// time.
const groupEntries = 512

// grouped reports whether edges of such a shape are done in groups, but for those of
// groupStates.
func grouped(ku, kv int) bool { return fused(ku, kv) && ku*kv <= groupEntries }

// anyEdgeBeliefs512 does single edges where there is no whole group left, or an
// edge of the group is not safe or not inside the slices: it finds out which. Where rows
// are shorter than a vector, many edges with vectors half as long are quicker.
func anyEdgeBeliefs512(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
	if ku < groupStates && kv < groupStates {
		return anyEdgeBeliefs256(dst, logZ, product, beliefs, messages, tables, edges, ku, kv)
	}
	eights := ku == groupStates && kv == groupStates
	for done < len(edges) {
		switch rest := edges[done:]; {
		case len(rest) < groupEdges:
		case eights:
			done += edgeBeliefs512(dst[done*ku*kv:], logZ[done:], product[done:], beliefs, messages, tables, firstEdge(rest), len(rest))
		case grouped(ku, kv):
			done += edgeGroups512(dst[done*ku*kv:], logZ[done:], product[done:], beliefs, messages, tables, firstEdge(rest), len(rest), ku, kv)
		}
		for range min(groupEdges, len(edges)-done) {
			beliefU, messageU, beliefV, messageV, values := edges[done].slices(beliefs, messages, tables, ku, kv)
			z, p, safe := anyEdgeBelief512(dst[done*ku*kv:][:ku*kv], beliefU, messageU, beliefV, messageV, values)
			if !safe {
				return done
			}
			logZ[done], product[done] = z, p
			done++
		}
	}
	return done
}

// feasibleEntries512 is from how many entries of a table on anyFeasibleEdges256 is quicker than panels
// of eight edges: of 4×4, but not of 3×3 (BenchmarkFeasible).
const feasibleEntries512 = 16

// anyFeasibleEdges256 is of edges that are fused. AVX-512 has no kernel of its own for it.
func anyFeasibleEdges256(dst, logZ, product, off, beliefs, messages, tables []float64, edges []Edge, ku, kv int, enough float64) (done int) {
	done = feasibleEdges256(dst, logZ, product, off, beliefs, messages, tables, firstEdge(edges), len(edges), ku, kv, enough)
	if done < len(edges) {
		edges[done].slices(beliefs, messages, tables, ku, kv) // must be inside
	}
	return done
}

// anyEdgeBeliefs256 leaves edges with very many states to plain Go.
func anyEdgeBeliefs256(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
	if !fused(ku, kv) {
		return plainEdgeBeliefs(dst, logZ, product, beliefs, messages, tables, edges, ku, kv)
	}
	done = edgeBeliefs256(dst, logZ, product, beliefs, messages, tables, firstEdge(edges), len(edges), ku, kv)
	if done < len(edges) {
		edges[done].slices(beliefs, messages, tables, ku, kv) // must be inside
	}
	return done
}

func firstEdge(edges []Edge) *int { return (*int)(unsafe.Pointer(unsafe.SliceData(edges))) }
