// Package simd holds the vector kernels of message passing and grounding, all of float64: exponentials and logarithms,
// the product and scatter of rows of features, and the kernels of which an iteration of learning is made. These are
// MultiplyMatrix for potentials, MultiplyExp for tables, the steps of a batch from Cavities to Settle for
// messages and beliefs of nodes, those of Edges and ScatterMatrix for the gradient, and Consistent for bounds.
//
// # Implementations
//
// There are three: AVX-512 (F, DQ, VL, BW), AVX2 with FMA, and plain Go, which is complete, is the reference and
// serves every other architecture. Both vector sets come from one source, the generator in internal/simd/gen, in which
// a kernel is written once over vectors of eight float64 or of four; AVX-512 takes the kernels of AVX2 for rows of up
// to 4 entries. Where every node has two states, kernels of pairs have a message, or an edge, in each entry of a
// vector. One is chosen when the program starts, from golang.org/x/sys/cpu, so that GODEBUG=cpu.avx512f=off gives AVX2
// and GODEBUG=cpu.all=off plain Go; the build tag purego leaves the assembly out. Name tells which is in use.
//
// Each is deterministic: the same input gives the same bits, wherever it lies in memory. Two implementations agree to
// rounding only, because they sum in a different order and have exponentials and logarithms of their own.
//
// The generator is a module of its own so that its dependencies are not those of users; a test checks that the
// committed files are what it gives. The rest of a row is read with a mask and never touches memory outside its slice.
//
// # Accuracy
//
// Largest errors seen against 240-bit arithmetic, in units in the last place, of Exp with AVX2 and plain among 10
// million arguments where they are largest:
//
//	                 AVX-512  AVX2  plain
//	Exp                 0.53  1.07  1.88 (math.Exp on amd64)
//	Exp, denormal       0.73  0.68  0.82
//	Log                 0.99  0.74  0.74
//
// All three are right for ±0, ±Inf, NaN, denormal arguments and denormal results. Where math.Exp and math.Log
// themselves are wrong on amd64, for the largest finite results and for denormal arguments, plain Go takes those of
// package numeric.
//
//   - AVX-512: e^x = 2^n e^r with n a multiple of 1/16, a table of 16 roots of two with a low part, and a polynomial
//     of degree 7; log by a table of 16 reciprocals whose logarithms are multiples of 2^−42 to 60 bits, and a
//     polynomial of degree 10. Nothing branches, so that hard zeros cost nothing.
//   - AVX2: e^x = 2^n e^r with a polynomial of degree 11; log by FreeBSD's e_log.c.
//
// Those of MultiplyExp, for exponents up to 300, are within 1.1 units in the last place of that of the rounded
// exponent (0.99 seen with AVX-512, 1.02 with AVX2; plain Go is math.Exp). Tests hold the results of every step
// against loops written out by hand: those that only add, subtract and compare bit by bit, products to 1e-14 and
// beliefs of edges to 1e-12.
//
// # Speed
//
// BenchmarkKernels of lab/bench measures every kernel with every implementation. Two findings shaped them. The rest of
// a row is stored in pieces of 4, 2 and 1 and not with a mask, where it is read again soon: the processor holds a load
// that overlaps the window of an earlier masked store. What was stored in pieces must not be read back at once either,
// as a whole, so that Absorb keeps the sum of a node in a register, or in whole vectors of scratch. And a message or
// belief of up to 8 states is one chain of some 200 cycles that leaves most of the processor idle, and the processor
// does not look far enough ahead to begin the next: so messages are made step by step for a whole batch, beliefs of
// edges in the same way, and Consistent takes as many edges together as a vector has entries, one in each. With AVX-512
// exponentials and logarithms are then at what two ports for vectors can do (results/README.md).
//
// # How many there are
//
// There are 18 kernels for AVX2 and 16 for AVX-512, beside prefetches. Two of each only bring tables into the panels of
// Consistent and out again, and two of AVX2 are for sums and momentum, which wait for memory with any width. None
// flushes denormal results, as logarithms hardly ever make one, nor has Consistent the closed form for two states.
package simd

//go:generate go run -C gen . -dir ..
