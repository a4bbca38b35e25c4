package oracle

import "testing"

// OK ends a test at an error.
func OK(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Must is the value of a call that may not fail in a test, as in m := oracle.Must(crf.Load(path))(t).
func Must[T any](value T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		OK(tb, err)
		return value
	}
}
