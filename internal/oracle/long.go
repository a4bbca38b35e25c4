package oracle

import (
	"os"
	"testing"
)

// Long skips a test that takes long, unless the environment has BLOCKBP_TEST=long, which runs all:
// go test ./... takes two minutes on two cores without them.
func Long(tb testing.TB) {
	tb.Helper()
	if os.Getenv("BLOCKBP_TEST") != "long" {
		tb.Skip("skipped: BLOCKBP_TEST=long runs the tests that take long, too")
	}
}
