//go:build !purego

package simd

import "unsafe"

// groupStates is the number of states, at both ends, for which edges are done in
// groups, and groupEdges how many edges a group has.
const (
	groupStates = 8
	groupEdges  = 4
)

// anyEdgeBeliefs512 does single edges where there is no whole group left, or an
// edge of the group is not safe or not inside the slices: it finds out which.
func anyEdgeBeliefs512(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
	grouped := ku == groupStates && kv == groupStates
	for done < len(edges) {
		if rest := edges[done:]; grouped && len(rest) >= groupEdges {
			done += edgeBeliefs512(dst[done*ku*kv:], logZ[done:], product[done:], beliefs, messages, tables, (*int)(unsafe.Pointer(unsafe.SliceData(rest))), len(rest))
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

func edgeBeliefs256(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
	for q := range edges {
		beliefU, messageU, beliefV, messageV, values := edges[q].slices(beliefs, messages, tables, ku, kv)
		z, p, safe := anyEdgeBelief256(dst[q*ku*kv:][:ku*kv], beliefU, messageU, beliefV, messageV, values)
		if !safe {
			return q
		}
		logZ[q], product[q] = z, p
	}
	return len(edges)
}
