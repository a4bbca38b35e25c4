package numeric

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// FuzzParseDecimal compares with a pattern, and values with strconv.
func FuzzParseDecimal(f *testing.F) {
	for _, text := range []string{"1", "-0.5e+3", ".5", "5.", "1e400", "1e-400", "", ".", "e5", "+-1", "1.2.3", "1_0", "0x10", "0x1p-2", "0X_1P4", "inf", "Infinity", "nan", "1e", "0b1", " 1", "1\n", "１"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDecimal(text)
		if !decimal.MatchString(text) {
			if err == nil {
				t.Errorf("%q is read as %v", text, got)
			}
			return
		}
		if want, wantErr := strconv.ParseFloat(text, 64); got != want || (err == nil) != (wantErr == nil) || math.IsInf(got, 0) != (err != nil) {
			t.Errorf("%q is read as %v, %v, want %v, %v", text, got, err, want, wantErr)
		}
	})
}
