package oracle

import "strings"

// TB is what the tests of package testing and of package rapid have in common.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
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

// WantError fails a test unless there is an error, with all parts in its text.
func WantError(tb TB, err error, parts ...string) {
	tb.Helper()
	if err == nil {
		tb.Errorf("there is no error, want one with %q", parts)
		return
	}
	Contains(tb, err.Error(), parts...)
}

// Contains fails a test unless a text has all parts.
func Contains(tb TB, text string, parts ...string) {
	tb.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			tb.Errorf("there is no %q in:\n%s", part, text)
		}
	}
}

// Fails is WantError of a call that returns a value, too, as in oracle.Fails(crf.Load(path))(t, "no schema").
func Fails[T any](_ T, err error) func(tb TB, parts ...string) {
	return func(tb TB, parts ...string) {
		tb.Helper()
		WantError(tb, err, parts...)
	}
}
