//go:build amd64 && !purego

package machine

import "golang.org/x/sys/cpu"

// The entries are those of the generator's accumulators, vectors times width; with
// single precision twice as many fit a vector. The
// last words are those of the vectors that a step reads.
var (
	avx512 = kernels{"avx512", multiplyAdd512, 24 * 8, multiplyAdd32x512, 24 * 16, readAll512, 8 * 8}
	avx2   = kernels{"avx2", multiplyAdd256, 12 * 4, multiplyAdd32x256, 12 * 8, readAll256, 8 * 4}
)

// supported returns the kernels this machine can run, the best first, on the same
// conditions as internal/simd.
func supported() []kernels {
	var list []kernels
	x86 := &cpu.X86
	if x86.HasAVX512F && x86.HasAVX512DQ && x86.HasAVX512VL && x86.HasAVX512BW && x86.HasBMI2 {
		list = append(list, avx512)
	}
	if x86.HasAVX2 && x86.HasFMA {
		list = append(list, avx2)
	}
	return append(list, plain)
}
