//go:build amd64 && !purego

package simd

import (
	"math"

	"golang.org/x/sys/cpu"
)

var avx512 = implementation{
	name:            "avx512",
	exp:             exp512,
	log:             log512,
	expShift:        expShift512,
	max:             max512,
	vectorTable:     vectorTable512,
	tableVector:     tableVector512,
	addScaled:       addScaled512,
	scatterRows:     scatterRows512,
	messageForward:  anyMessageForward512,
	messageBackward: anyMessageBackward512,
	normaliseLog:    normaliseLog512,
	pairProduct:     pairProduct512,
	exponentiate:    exponentiate512,
	absorb:          absorb512,
	edgeBelief:      anyEdgeBelief512,
	multiplyMatrix:  multiplyMatrix512,
	scatterMatrix:   scatterMatrix512,
	edgeBeliefs:     anyEdgeBeliefs512,
	nodeUpdate:      anyNodeUpdate512,
}

var avx2 = implementation{
	name:            "avx2",
	exp:             exp256,
	log:             log256,
	expShift:        expShift256,
	max:             max256,
	vectorTable:     vectorTable256,
	tableVector:     tableVector256,
	addScaled:       addScaled256,
	scatterRows:     scatterRows256,
	messageForward:  messageForward256,
	messageBackward: messageBackward256,
	normaliseLog:    normaliseLog256,
	pairProduct:     pairProduct256,
	exponentiate:    exponentiate256,
	absorb:          absorb256,
	edgeBelief:      anyEdgeBelief256,
	multiplyMatrix:  multiplyMatrix256,
	scatterMatrix:   scatterMatrix256,
	edgeBeliefs:     edgeBeliefs256,
	nodeUpdate:      nodeUpdate256,
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

// fusedStates is the largest number of states that the fused messages take.
const fusedStates = 64

// fused reports whether a message between so many states can be fused.
func fused(source, target int) bool {
	return uint(source-1) < fusedStates && uint(target-1) < fusedStates
}

func anyMessageForward512(out, belief, message, values []float64) (safe bool) {
	if fused(len(belief), len(out)) {
		return messageForward512(out, belief, message, values)
	}
	var scratch [cavityScratch]float64
	weight := plainCavity(scratch[:], belief, message)
	expShift512(weight, weight, max512(weight))
	vectorTable512(out, weight, values)
	return finish512(out)
}

func anyMessageBackward512(out, belief, message, values []float64) (safe bool) {
	if fused(len(belief), len(out)) {
		return messageBackward512(out, belief, message, values)
	}
	var scratch [cavityScratch]float64
	weight := plainCavity(scratch[:], belief, message)
	expShift512(weight, weight, max512(weight))
	tableVector512(out, weight, values)
	return finish512(out)
}

func finish512(out []float64) (safe bool) {
	if !allSafe(out) {
		return false
	}
	log512(out, out)
	subtract(out, max512(out))
	return true
}

func messageForward256(out, belief, message, values []float64) (safe bool) {
	var scratch [cavityScratch]float64
	weight := plainCavity(scratch[:], belief, message)
	expShift256(weight, weight, max256(weight))
	vectorTable256(out, weight, values)
	return finish256(out)
}

func messageBackward256(out, belief, message, values []float64) (safe bool) {
	var scratch [cavityScratch]float64
	weight := plainCavity(scratch[:], belief, message)
	expShift256(weight, weight, max256(weight))
	tableVector256(out, weight, values)
	return finish256(out)
}

func finish256(out []float64) (safe bool) {
	if !allSafe(out) {
		return false
	}
	log256(out, out)
	subtract(out, max256(out))
	return true
}

// fewStates is the number of states up to which the plain normaliseLog is as
// quick as one made of four calls.
const fewStates = 4

func normaliseLog256(belief, sum []float64, rho float64) (possible bool) {
	if len(sum) <= fewStates {
		return plainNormaliseLog(belief, sum, rho)
	}
	largest := max256(sum)
	if !(math.Abs(largest) <= math.MaxFloat64) {
		return false
	}
	for i, x := range sum {
		belief[i] = (x - largest) / rho
	}
	var scratch [cavityScratch]float64
	total := 0.0
	for rest := belief; len(rest) > 0; {
		n := min(len(rest), len(scratch))
		total += expShift256(scratch[:n], rest[:n], 0)
		rest = rest[n:]
	}
	subtract(belief, math.Log(total))
	return true
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
