//go:build !purego

package simd

var single256 = implementation32{
	cavities:       anyCavities32x256,
	exp:            exp32x256,
	log:            log32x256,
	products:       anyProducts32x256,
	allSafe:        allSafe32x256,
	absorbAll:      anyAbsorbAll32x256,
	exponentials:   anyExponentials32x256,
	multiplyMatrix: multiplyMatrix32x256,
	scatterMatrix:  scatterMatrix32x256,
	narrow:         narrow256,
	edgeBeliefs:    anyEdgeBeliefs32x256,
}

func anyCavities32x256(weights []float32, beliefs, messages []float64, list []Message) {
	cavities32x256(weights, beliefs, messages, firstMessage(list), len(list))
}

// anyProducts32x256 is anyProducts32x512 for AVX2.
func anyProducts32x256(out, weights, tables []float32, list []Message) {
	for len(list) > 0 {
		left := products32x256(out, weights, tables, firstMessage(list), len(list))
		list = list[len(list)-left:]
		if left == 0 {
			return
		}
		sums, weight, values := list[0].slices32(out, weights, tables)
		if list[0].Backward != 0 {
			tableVector32x256(sums, weight, values)
		} else {
			vectorTable32x256(sums, weight, values)
		}
		list = list[1:]
	}
}

func anyAbsorbAll32x256(messages, sums []float64, out []float32, list []Message, damping float64) (residual float64) {
	return absorbAll32x256(messages, sums, out, firstMessage(list), len(list), damping)
}

func anyExponentials32x256(tables []float32, size int, inverse []float64) (done int) {
	return len(inverse) - exponentials32x256(tables, size, inverse)
}

// anyEdgeBeliefs32x256 is anyEdgeBeliefs256.
func anyEdgeBeliefs32x256(dst []float32, logZ, product, beliefs, messages []float64, tables []float32, edges []Edge, ku, kv int) (done int) {
	if !fused(ku, kv) {
		return plainEdgeBeliefs32(dst, logZ, product, beliefs, messages, tables, edges, ku, kv)
	}
	done = edgeBeliefs32x256(dst, logZ, product, beliefs, messages, tables, firstEdge(edges), len(edges), ku, kv)
	if done < len(edges) {
		edges[done].slices32(beliefs, messages, tables, ku, kv) // must be inside
	}
	return done
}
