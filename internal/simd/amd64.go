//go:build amd64 && !purego

package simd

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// vectorKernels are the kernels of one width, for which the generator writes the same code twice. It knows lists
// by the address of their first item.
type vectorKernels struct {
	implementation
	cavities     func(weights, beliefs, messages []float64, list *int, count int)
	products     func(out, weights, tables []float64, list *int, count int)
	absorbAll    func(messages, sums, out []float64, list *int, count int, damping float64) (residual float64)
	shift        func(sums []float64, list *int, count int) (left int)
	totals       func(totals, weights []float64, list *int, count int)
	settle       func(beliefs, sums, logTotals []float64, list *int, count int) (residual float64)
	exponentials func(tables []float64, size int, inverse []float64) (left int)
	edgeBeliefs  func(dst, logZ, product, beliefs, messages, tables []float64, edges *int, count, ku, kv int) (done int)
}

// Where memory is the limit, or rows are written that are read soon, AVX-512 takes kernels of AVX2.
var kernels512 = vectorKernels{
	implementation: implementation{
		name: "avx512", exp: exp512, log: log512, dot: dot512, addScaled: addScaled256, extrapolate: extrapolate256,
		multiplyMatrix: multiplyMatrix512, scatterMatrix: scatterMatrix512, allSafe: allSafe512, feasible: feasible256,
		panels: &panelKernels{8, interleave512, separate512, consistent512},
	},
	cavities: cavities512, products: products512, absorbAll: absorbAll512, shift: shiftAll512, totals: totals512,
	settle: settle512, exponentials: exponentials512, edgeBeliefs: edgeBeliefs512,
}

var kernels256 = vectorKernels{
	implementation: implementation{
		name: "avx2", exp: exp256, log: log256, dot: dot256, addScaled: addScaled256, extrapolate: extrapolate256,
		multiplyMatrix: multiplyMatrix256, scatterMatrix: scatterMatrix256, allSafe: allSafe256, feasible: feasible256,
		panels: &panelKernels{4, interleave256, separate256, consistent256},
	},
	cavities: cavities256, products: products256, absorbAll: absorbAll256, shift: shiftAll256, totals: totals256,
	settle: settle256, exponentials: exponentials256, edgeBeliefs: edgeBeliefs256,
}

// supported returns the implementations this machine can run, the best first.
// golang.org/x/sys/cpu has read GODEBUG by now: cpu.avx512f=off and the like
// take implementations away.
func supported() []implementation {
	var list []implementation
	x86 := &cpu.X86
	if x86.HasAVX512F && x86.HasAVX512DQ && x86.HasAVX512VL && x86.HasAVX512BW && x86.HasBMI2 {
		list = append(list, kernels512.onLists().unlessNarrow(kernels256.onLists()))
	}
	if x86.HasAVX2 && x86.HasFMA {
		list = append(list, kernels256.onLists())
	}
	return append(list, plain)
}

// pointer is the address of the first item of a list.
func pointer[T any](list []T) *int { return (*int)(unsafe.Pointer(unsafe.SliceData(list))) }

// onLists returns the kernels as functions of lists.
func (k vectorKernels) onLists() implementation {
	with := k.implementation
	with.cavities = func(weights, beliefs, messages []float64, list []Message) {
		k.cavities(weights, beliefs, messages, pointer(list), len(list))
	}
	with.products = func(out, weights, tables []float64, list []Message) {
		k.products(out, weights, tables, pointer(list), len(list))
	}
	with.absorbAll = func(messages, sums, out []float64, list []Message, damping float64) float64 {
		return k.absorbAll(messages, sums, out, pointer(list), len(list), damping)
	}
	with.shift = func(sums []float64, list []Node) int { return len(list) - k.shift(sums, pointer(list), len(list)) }
	with.totals = func(totals, weights []float64, list []Node) { k.totals(totals, weights, pointer(list), len(list)) }
	with.settle = func(beliefs, sums, logTotals []float64, list []Node) float64 {
		return k.settle(beliefs, sums, logTotals, pointer(list), len(list))
	}
	with.exponentials = func(tables []float64, size int, inverse []float64) int {
		return len(inverse) - k.exponentials(tables, size, inverse)
	}
	with.edgeBeliefs = func(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
		switch {
		case uint(ku-1) >= kernelStates || uint(kv-1) >= kernelStates:
			return plainEdgeBeliefs(dst, logZ, product, beliefs, messages, tables, edges, ku, kv)
		case ku < few && kv < few: // many edges with half as long vectors are quicker
			done = kernels256.edgeBeliefs(dst, logZ, product, beliefs, messages, tables, pointer(edges), len(edges), ku, kv)
		default:
			done = k.edgeBeliefs(dst, logZ, product, beliefs, messages, tables, pointer(edges), len(edges), ku, kv)
		}
		if done < len(edges) {
			edges[done].slices(beliefs, messages, tables, ku, kv) // must be inside
		}
		return done
	}
	return with
}

// unlessNarrow leaves rows of few entries to other kernels.
func (k implementation) unlessNarrow(narrow implementation) implementation {
	with := k
	with.narrow = &narrow
	with.multiplyMatrix = func(dst, f, w []float64, rows, d, n int) {
		k.forRows(n, &narrow).multiplyMatrix(dst, f, w, rows, d, n)
	}
	with.scatterMatrix = func(w, f, t []float64, rows, d, n int) {
		k.forRows(n, &narrow).scatterMatrix(w, f, t, rows, d, n)
	}
	return with
}

// few states are less than this.
const few = 8

// kernelStates is the largest number of states that edgeBeliefs takes.
const kernelStates = 64
