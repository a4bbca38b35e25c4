//go:build 386 || arm || mips || mipsle

package numeric

// Sizes of networks and of what they take are counted in int. In 32 bits these would overflow, and forecasts of
// memory be wrong, where nothing says so: such a build ends here, with a name that nothing has.
var _ = blockbpNeedsA64BitProcessor
