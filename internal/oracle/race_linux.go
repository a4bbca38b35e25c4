//go:build race

package oracle

// racing says that the race detector takes memory of its own, for every address that is ever used.
const racing = true
