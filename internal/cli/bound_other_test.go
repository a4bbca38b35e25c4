//go:build !linux

package cli_test

import "testing"

// runBound runs the command as the user who runs the tests.
func runBound(t *testing.T, args ...string) outcome {
	t.Helper()
	return run(t, args...)
}
