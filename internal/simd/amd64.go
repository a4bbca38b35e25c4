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
	absorb func(messages, sums, potentials, out []float64, directed []int32, messageAt []int, rho []float64,
		same float64, list *int, count int, damping float64) (residual float64)
	totals func(totals, weights []float64, list *int, count int)
	settle func(beliefs, sums, logTotals []float64, list *int, count int) (residual float64)
}

// Where memory is the limit AVX-512 takes a kernel of AVX2.
var kernels512 = vectorKernels{
	implementation: implementation{
		name: "avx512", exp: exp512, log: log512, dot: dot512, addScaled: addScaled256, extrapolate: extrapolate256,
		multiplyMatrix: multiplyMatrix512, scatterMatrix: scatterMatrix512,
		cavities: cavities512, products: products512, edgeBeliefs: edgeBeliefs512,
		panels: &panelKernels{8, interleave512, separate512, consistent512},
		pairs:  pairKernels{8, pairMessages512, pairBeliefs512},
	},
	absorb: absorb512, totals: totals512, settle: settle512,
}

var kernels256 = vectorKernels{
	implementation: implementation{
		name: "avx2", exp: exp256, log: log256, dot: dot256, addScaled: addScaled256, extrapolate: extrapolate256,
		multiplyMatrix: multiplyMatrix256, scatterMatrix: scatterMatrix256,
		cavities: cavities256, products: products256, edgeBeliefs: edgeBeliefs256,
		panels: &panelKernels{4, interleave256, separate256, consistent256},
		pairs:  pairKernels{4, pairMessages256, pairBeliefs256},
	},
	absorb: absorb256, totals: totals256, settle: settle256,
}

// supported returns the implementations this machine can run, the best first. golang.org/x/sys/cpu has read GODEBUG by
// now: cpu.avx512f=off and the like take implementations away.
func supported() []implementation {
	var list []implementation
	x86 := &cpu.X86
	if x86.HasAVX512F && x86.HasAVX512DQ && x86.HasAVX512VL && x86.HasAVX512BW && x86.HasBMI2 {
		with, narrow := kernels512.onLists(), kernels256.onLists()
		narrow.pairs = with.pairs
		with.narrow = &narrow
		list = append(list, with)
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
	with.absorb = func(messages, sums, potentials, out []float64, directed []int32, messageAt []int, rho []float64,
		same float64, list []Node, damping float64) float64 {
		return k.absorb(messages, sums, potentials, out, directed, messageAt, rho, same, pointer(list), len(list), damping)
	}
	with.totals = func(totals, weights []float64, list []Node) { k.totals(totals, weights, pointer(list), len(list)) }
	with.settle = func(beliefs, sums, logTotals []float64, list []Node) float64 {
		return k.settle(beliefs, sums, logTotals, pointer(list), len(list))
	}
	return with
}
