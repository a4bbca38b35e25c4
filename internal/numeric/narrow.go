//go:build 386 || arm || mips || mipsle || mips64 || ppc64 || s390x

package numeric

// Sizes of networks and of what they take are counted in int, which would overflow in 32 bits, and numbers in memory
// have the order of bytes that files have. Another build ends here, with a name that nothing has.
var _ = blockbpNeedsA64BitLittleEndianProcessor
