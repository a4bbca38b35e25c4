package dataset

import (
	"cmp"
	"strings"
)

// naturalCompare orders names as people number files: digits compare as numbers,
// so that "2.npz" comes before "10.npz".
func naturalCompare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			var m, n string
			m, x = leadingNumber(x)
			n, y = leadingNumber(y)
			if order := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); order != 0 {
				return order
			}
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	// Names that differ only in leading zeros still need a fixed order.
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// leadingNumber splits off the digits that s begins with, without leading zeros.
func leadingNumber(s string) (number, rest string) {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return strings.TrimLeft(s[:n], "0"), s[n:]
}
