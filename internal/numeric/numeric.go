// Package numeric holds the small functions on slices of numbers that several rooms need.
package numeric

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// Resize returns a slice of n entries in the memory of s, or in new memory where that
// is too short. The first min(len(s), n) entries are those of s, the others have any
// value. Memory grows in proportion, so that a slice may be lengthened step by step.
func Resize[T any](s []T, n int) []T { return slices.Grow(s, max(0, n-len(s)))[:n] }

// OneIf is 1 where x holds, and else 0.
func OneIf(x bool) int {
	if x {
		return 1
	}
	return 0
}

// RelativeDistance returns ‖x − y‖/‖y‖: 0 where the two are equal, zero vectors too,
// +Inf where only y is zero, and NaN where their lengths differ.
func RelativeDistance(x, y []float64) float64 {
	if len(x) != len(y) {
		return math.NaN()
	}
	if distance := floats.Distance(x, y, 2); distance != 0 {
		return distance / floats.Norm(y, 2)
	}
	return 0
}

// Norm returns ‖x‖₂.
func Norm(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v * v
	}
	return math.Sqrt(total)
}

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

// PlainExp is up to where math.Exp is right on every platform. On amd64 (Go 1.26) it is +Inf from 709.437 on, since
// 2^1024, the power of two next to the result, has no float64; e^x is finite up to 709.7827.
const PlainExp = 709

// smallestNormal is the smallest positive number that is not denormal.
const smallestNormal = 0x1p-1022

// Exp returns e^x. It is math.Exp with the largest finite results, too. Where speed
// counts, take math.Exp up to PlainExp.
func Exp(x float64) float64 {
	if x > PlainExp {
		return expLarge(x)
	}
	return math.Exp(x)
}

// expLarge returns e^x = 2^1024 e^(x − 1024 log 2) for x > PlainExp. The difference
// from high is exact for finite results, because both are multiples of 2^−43.
func expLarge(x float64) float64 {
	const (
		high = 0x1.62e42fefap9 // 1024 log 2 to 37 bits
		low  = 1024*math.Ln2 - high
	)
	return math.Exp((x-high)-low) * 0x1p1023 * 2
}

// Log returns log x. It is math.Log with denormals, for which that is wrong on amd64:
// it gives −709.09 for 5e-324, whose logarithm is −744.44 (Go 1.26).
func Log(x float64) float64 {
	if x > 0 && x < smallestNormal {
		return math.Log(x*(1<<54)) - 54*math.Ln2
	}
	return math.Log(x)
}

// Gap returns a primal–dual gap without the sign that rounding alone gives it: a gap
// is not negative, and its two sides are sums as large as value.
func Gap(gap, value float64) float64 {
	const rounding = 1e-12
	if gap < 0 && gap >= -rounding*math.Abs(value) {
		return 0
	}
	return gap
}

// Least and Largest are the range of magnitudes of what learning multiplies: of the largest value of each feature,
// unless it is 0, and of the weights of samples. Products of two are then within 1e±300, and sums of these are numbers.
// Beyond it they would be 0 or infinite, and the end of a run would say nothing of the cause. Range is it in words.
const (
	Least, Largest = 1e-150, 1e150
	Range          = "1e-150 to 1e150"
)
