package simd

// Edge is an edge whose belief is wanted, by where its parts are: offsets of their
// first entries.
type Edge struct {
	BeliefU  int // of U's log-belief, in beliefs
	MessageU int // of the log-message from V to U, in messages
	BeliefV  int // of V's log-belief, in beliefs
	MessageV int // of the log-message from U to V, in messages
	Table    int // of the edge's exponentiated table, in tables
}

// EdgeBeliefs is EdgeBelief for many edges with ku states at U and kv at V: the
// belief of edges[q] goes to dst[q*ku*kv:], its log Z and product to logZ[q] and
// product[q]. It returns how many are done. If done < len(edges), edges[done] is
// not safe: the caller must compute its belief with logarithms, and call again
// with the rest, edges[done+1:]. What belongs to edges that are not done is
// rubbish. len(dst) ≥ len(edges)·ku·kv, len(logZ) and len(product) ≥ len(edges);
// they are distinct from each other and from the rest. ku, kv > 0.
func EdgeBeliefs(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
	n := len(edges)
	return active.edgeBeliefs(dst[:n*ku*kv], logZ[:n], product[:n], beliefs, messages, tables, edges, ku, kv)
}

// slices returns the slices of an edge, in the order of EdgeBelief.
func (e *Edge) slices(beliefs, messages, tables []float64, ku, kv int) (beliefU, messageU, beliefV, messageV, values []float64) {
	return beliefs[e.BeliefU:][:ku], messages[e.MessageU:][:ku], beliefs[e.BeliefV:][:kv], messages[e.MessageV:][:kv], tables[e.Table:][:ku*kv]
}

func plainEdgeBeliefs(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
	for q := range edges {
		beliefU, messageU, beliefV, messageV, values := edges[q].slices(beliefs, messages, tables, ku, kv)
		z, p, safe := plainEdgeBelief(dst[q*ku*kv:][:ku*kv], beliefU, messageU, beliefV, messageV, values)
		if !safe {
			return q
		}
		logZ[q], product[q] = z, p
	}
	return len(edges)
}
