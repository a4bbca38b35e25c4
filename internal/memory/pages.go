package memory

import "unsafe"

// largePage is the size of a large page on most systems: pages of 4 KiB in which data
// lie anywhere make the processor look up where nearly every time.
const largePage = 2 << 20

// leastWhole is the size of slices that have a large page of their own wherever they begin.
const leastWhole = 2 * largePage

// Zeros returns a slice of zeros, which the system keeps in large pages where it can: nothing
// has touched them, so that they are made at once, and need no copy.
func Zeros[T int32 | float32 | float64](n int) []T {
	zeros := make([]T, n)
	var one T
	if bytes := n * int(unsafe.Sizeof(one)); bytes >= leastWhole {
		_ = offerLargePages(wholeLargePages(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(zeros))), bytes)))
	}
	return zeros
}

// wholeLargePages returns the part of memory that fills large pages: the others have other data too.
func wholeLargePages(memory []byte) []byte {
	before := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % largePage
	memory = memory[before:]
	return memory[:len(memory)/largePage*largePage]
}
