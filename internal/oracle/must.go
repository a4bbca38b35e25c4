package oracle

// TB is what the tests of package testing and of package rapid have in common.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// OK ends a test at an error.
func OK(tb TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Must is the value of a call that may not fail in a test, as in m := oracle.Must(crf.Load(path))(t).
func Must[T any](value T, err error) func(TB) T {
	return func(tb TB) T {
		tb.Helper()
		OK(tb, err)
		return value
	}
}
