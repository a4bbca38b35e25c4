package oracle

import (
	"fmt"
	"math"
	"reflect"

	"github.com/google/go-cmp/cmp"
)

// Equal fails a test unless got equals want: by == where Go has it for the type, and else part by part. What is looked
// at is said by a format and its arguments.
func Equal[T any](tb TB, got, want T, what string, args ...any) {
	tb.Helper()
	if !same(got, want) {
		tb.Errorf("%s: %s", fmt.Sprintf(what, args...), difference(got, want))
	}
}

// MustEqual is Equal, and ends a test that fails.
func MustEqual[T any](tb TB, got, want T, what string, args ...any) {
	tb.Helper()
	if !same(got, want) {
		tb.Fatalf("%s: %s", fmt.Sprintf(what, args...), difference(got, want))
	}
}

// Near fails a test unless got is within tolerance of want; no number is near a NaN.
func Near(tb TB, got, want, tolerance float64, what string, args ...any) {
	tb.Helper()
	if got != want && !(math.Abs(got-want) <= tolerance) {
		tb.Errorf("%s: %v, want %v, to within %.3g", fmt.Sprintf(what, args...), got, want, tolerance)
	}
}

// MustNear is Near, and ends a test that fails.
func MustNear(tb TB, got, want, tolerance float64, what string, args ...any) {
	tb.Helper()
	if got != want && !(math.Abs(got-want) <= tolerance) {
		tb.Fatalf("%s: %v, want %v, to within %.3g", fmt.Sprintf(what, args...), got, want, tolerance)
	}
}

// same takes a nil slice for one without entries, as slices.Equal does.
func same[T any](got, want T) bool {
	g, w := reflect.ValueOf(&got).Elem(), reflect.ValueOf(&want).Elem()
	switch {
	case g.Comparable() && w.Comparable():
		return any(got) == any(want)
	case g.Kind() == reflect.Slice && g.Len() == 0:
		return w.Len() == 0
	}
	return reflect.DeepEqual(got, want)
}

// difference shows both values, and where these are long what differs.
func difference(got, want any) string {
	text := fmt.Sprintf("%+v, want %+v", got, want)
	if _, ok := got.(string); ok {
		text = fmt.Sprintf("%q, want %q", got, want)
	}
	if len(text) > 300 {
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		text = "not what it should be (-want +got):\n" + cmp.Diff(want, got, all)
	}
	return text
}
