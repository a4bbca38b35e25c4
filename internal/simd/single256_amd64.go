//go:build !purego

package simd

// In single precision, AVX2 is composed of its float64 kernels, plain Go around
// them.
var single256 = implementation32{
	cavities:       plainCavities32,
	exp:            exp32x256,
	log:            log32x256,
	vectorTable:    plainVectorTable32,
	tableVector:    plainTableVector32,
	products:       plainProducts32,
	allSafe:        plainAllSafe32,
	absorbAll:      plainAbsorbAll32,
	exponentials:   exponentials32x256,
	multiplyMatrix: plainMultiplyMatrix32,
	scatterMatrix:  plainScatterMatrix32,
	edgeBeliefs:    plainEdgeBeliefs32,
}

func exp32x256(dst, x []float32) {
	var scratch [cavityScratch]float64
	for len(x) > 0 {
		part := widen(scratch[:], x, 0)
		exp256(part, part)
		for i, y := range part {
			if dst[i] = float32(y); y < smallestNormal32 {
				dst[i] = 0
			}
		}
		dst, x = dst[len(part):], x[len(part):]
	}
}

func log32x256(dst, x []float32) {
	var scratch [cavityScratch]float64
	for len(x) > 0 {
		part := widen(scratch[:], x, 0)
		log256(part, part)
		for i, y := range part {
			dst[i] = float32(y)
		}
		dst, x = dst[len(part):], x[len(part):]
	}
}

func exponentials32x256(tables []float32, size int, inverse []float64) (done int) {
	for i, a := range inverse {
		table, a := tables[i*size:][:size], float32(a)
		if !allModerate32(table, a) {
			return i
		}
		for x := range table {
			table[x] *= a
		}
		exp32x256(table, table)
	}
	return len(inverse)
}
