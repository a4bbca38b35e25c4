//go:build !purego

package simd

var single512 = implementation32{
	cavities:       anyCavities32x512,
	exp:            exp32x512,
	log:            log32x512,
	products:       anyProducts32x512,
	allSafe:        allSafe32x512,
	absorbAll:      anyAbsorbAll32x512,
	exponentials:   anyExponentials32x512,
	multiplyMatrix: multiplyMatrix32x512,
	scatterMatrix:  scatterMatrix32x512,
	narrow:         narrow256,
	edgeBeliefs:    anyEdgeBeliefs32x512,
}

func anyCavities32x512(weights []float32, beliefs, messages []float64, list []Message) {
	cavities32x512(weights, beliefs, messages, firstMessage(list), len(list))
}

// anyProducts32x512 leaves rows of 9 to 16 to the AVX2 kernel, which has a way of its own for
// them, and does messages with more states one by one.
func anyProducts32x512(out, weights, tables []float32, list []Message) {
	for len(list) > 0 {
		left := products32x512(out, weights, tables, firstMessage(list), len(list))
		list = list[len(list)-left:]
		if left == 0 {
			return
		}
		m := &list[0]
		sums, weight, values := m.slices32(out, weights, tables)
		switch {
		case m.Backward != 0 && len(weight) > 16:
			tableVector32x512(sums, weight, values)
		case m.Backward == 0 && len(sums) > 16:
			vectorTable32x512(sums, weight, values)
		default:
			left := products32x256(out, weights, tables, firstMessage(list), len(list))
			list = list[len(list)-left:]
			continue
		}
		list = list[1:]
	}
}

func anyAbsorbAll32x512(messages, sums []float64, out []float32, list []Message, damping float64) (residual float64) {
	return absorbAll32x512(messages, sums, out, firstMessage(list), len(list), damping)
}

func anyExponentials32x512(tables []float32, size int, inverse []float64) (done int) {
	return len(inverse) - exponentials32x512(tables, size, inverse)
}

// groupEdges32 is how many edges of groupStates at both ends are done together.
const groupEdges32 = 8

// anyEdgeBeliefs32x512 is anyEdgeBeliefs512.
func anyEdgeBeliefs32x512(dst []float32, logZ, product, beliefs, messages []float64, tables []float32, edges []Edge, ku, kv int) (done int) {
	eights, together := ku == groupStates && kv == groupStates, groupEdges
	if eights {
		together = groupEdges32
	}
	if !eights && ku <= groupStates && kv <= groupStates {
		return anyEdgeBeliefs32x256(dst, logZ, product, beliefs, messages, tables, edges, ku, kv)
	}
	for done < len(edges) {
		switch rest := edges[done:]; {
		case len(rest) < together:
		case eights:
			done += edgeBeliefs32x512(dst[done*ku*kv:], logZ[done:], product[done:], beliefs, messages, tables, firstEdge(rest), len(rest))
		case grouped(ku, kv):
			done += edgeGroups32x512(dst[done*ku*kv:], logZ[done:], product[done:], beliefs, messages, tables, firstEdge(rest), len(rest), ku, kv)
		}
		for range min(together, len(edges)-done) {
			z, p, safe := anyEdgeBelief32x512(dst[done*ku*kv:][:ku*kv], beliefs, messages, tables, &edges[done], ku, kv)
			if !safe {
				return done
			}
			logZ[done], product[done] = z, p
			done++
		}
	}
	return done
}

// anyEdgeBelief32x512 leaves edges with very many states to plain Go.
func anyEdgeBelief32x512(dst []float32, beliefs, messages []float64, tables []float32, e *Edge, ku, kv int) (logZ, product float64, safe bool) {
	if !fused(ku, kv) {
		return plainEdgeBelief32(dst, beliefs, messages, tables, e, ku, kv)
	}
	beliefU, messageU, beliefV, messageV, values := e.slices32(beliefs, messages, tables, ku, kv)
	return edgeBelief32x512(dst, beliefU, messageU, beliefV, messageV, values)
}
