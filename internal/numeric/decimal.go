package numeric

import (
	"strconv"
	"strings"
)

// ParseDecimal returns the float64 nearest to a decimal number: digits with at most one point, a sign before them and
// an exponent behind them if need be. Errors are those of strconv.ParseFloat, of which this is a part: there 0x10 and
// 1_0 are numbers too, and so are inf and nan, which in a file are slips of the pen.
func ParseDecimal(text string) (float64, error) {
	if !IsDecimal(text) {
		// A copy, so that callers need not keep text in memory of its own.
		return 0, &strconv.NumError{Func: "ParseDecimal", Num: strings.Clone(text), Err: strconv.ErrSyntax}
	}
	return strconv.ParseFloat(text, 64)
}

// IsDecimal reports whether text consists of what decimal numbers are made of, so that
// strconv takes it for nothing else.
func IsDecimal(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return false
		}
	}
	return true
}
