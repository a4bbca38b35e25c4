//go:build amd64 && !purego

package simd

import "golang.org/x/sys/cpu"

var avx512 = implementation{
	name:           "avx512",
	exp:            exp512,
	log:            log512,
	expShift:       expShift512,
	max:            max512,
	vectorTable:    vectorTable512,
	tableVector:    tableVector512,
	dot:            dot512,
	entropy:        entropy512,
	addScaled:      addScaled512,
	extrapolate:    extrapolate512,
	scatterRows:    scatterRows512,
	pairProduct:    pairProduct512,
	exponentiate:   exponentiate512,
	absorb:         absorb512,
	edgeBelief:     anyEdgeBelief512,
	multiplyMatrix: multiplyMatrix512,
	scatterMatrix:  scatterMatrix512,
	edgeBeliefs:    anyEdgeBeliefs512,
	feasibleEdges:  anyFeasibleEdges256,
	leastFeasible:  feasibleEntries512,
	cavities:       anyCavities512,
	products:       anyProducts512,
	allSafe:        allSafe512,
	absorbAll:      anyAbsorbAll512,
	shift:          anyShift512,
	totals:         anyTotals512,
	settle:         anySettle512,
	exponentials:   anyExponentials512,
	panels:         &panels512,
	uniform:        uniform512,
}

var avx2 = implementation{
	name:           "avx2",
	exp:            exp256,
	log:            log256,
	expShift:       expShift256,
	max:            max256,
	vectorTable:    vectorTable256,
	tableVector:    tableVector256,
	dot:            dot256,
	entropy:        entropy256,
	addScaled:      addScaled256,
	extrapolate:    extrapolate256,
	scatterRows:    scatterRows256,
	pairProduct:    pairProduct256,
	exponentiate:   exponentiate256,
	absorb:         absorb256,
	edgeBelief:     anyEdgeBelief256,
	multiplyMatrix: multiplyMatrix256,
	scatterMatrix:  scatterMatrix256,
	edgeBeliefs:    anyEdgeBeliefs256,
	feasibleEdges:  anyFeasibleEdges256,
	cavities:       anyCavities256,
	products:       anyProducts256,
	allSafe:        allSafe256,
	absorbAll:      anyAbsorbAll256,
	shift:          anyShift256,
	totals:         anyTotals256,
	settle:         anySettle256,
	exponentials:   anyExponentials256,
	panels:         &panels256,
}

// supported returns the implementations this machine can run, the best first.
// golang.org/x/sys/cpu has read GODEBUG by now: cpu.avx512f=off and the like
// take implementations away.
func supported() []implementation {
	var list []implementation
	x86 := &cpu.X86
	if x86.HasAVX512F && x86.HasAVX512DQ && x86.HasAVX512VL && x86.HasAVX512BW && x86.HasBMI2 {
		list = append(list, avx512)
	}
	if x86.HasAVX2 && x86.HasFMA {
		list = append(list, avx2)
	}
	return append(list, plain)
}

// anyEdgeBelief512 leaves edges with very many states to plain Go: their table is
// large enough for the processor's memory to be the limit.
func anyEdgeBelief512(dst, beliefU, messageU, beliefV, messageV, values []float64) (logZ, product float64, safe bool) {
	if fused(len(beliefU), len(beliefV)) {
		return edgeBelief512(dst, beliefU, messageU, beliefV, messageV, values)
	}
	return plainEdgeBelief(dst, beliefU, messageU, beliefV, messageV, values)
}

// anyEdgeBelief256 is anyEdgeBelief512 for AVX2.
func anyEdgeBelief256(dst, beliefU, messageU, beliefV, messageV, values []float64) (logZ, product float64, safe bool) {
	if fused(len(beliefU), len(beliefV)) {
		return edgeBelief256(dst, beliefU, messageU, beliefV, messageV, values)
	}
	return plainEdgeBelief(dst, beliefU, messageU, beliefV, messageV, values)
}
