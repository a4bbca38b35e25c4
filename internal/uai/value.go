package uai

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/numeric"
)

// MaxLogValue is the largest absolute value of a logarithm that is read or
// written.
const MaxLogValue = 1e15

// ordinaryDigits is up to how many significant digits a number is taken as the
// float64 nearest to it, as other programs take it: 17 decide a float64, and
// programs that print more than 20 of its digits are hard to find. A number of
// more digits is meant to the last of them, and its logarithm is that of all its
// digits, rounded once.
const ordinaryDigits = 24

// smallestNormal is the smallest positive float64 of full precision.
const smallestNormal = 0x1p-1022

var (
	errNumber = errors.New("want a finite decimal number of at least 0")
	errRange  = errors.New("want 0 or a number whose logarithm is from -1e15 to 1e15")
)

// parseLog returns the natural logarithm of a number in text, -Inf for 0. Text
// beyond float64's normal range or precision is taken apart into digits and
// exponent. A negative number and whatever is not decimal is an error.
func parseLog(text string) (float64, error) {
	value, err := numeric.ParseDecimal(text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, errNumber
	case value < 0:
		return 0, errNumber
	case value >= smallestNormal && err == nil && !isLong(text):
		return math.Log(value), nil
	}
	return parseLogDigits(text)
}

// isLong reports whether a decimal has more than ordinaryDigits significant
// digits as written.
func isLong(text string) bool {
	if len(text) <= ordinaryDigits {
		return false
	}
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		text = text[:e]
	}
	digits := strings.TrimLeft(text, "+-0.")
	return len(digits)-strings.Count(digits, ".") > ordinaryDigits
}

// parseLogDigits is parseLog for a decimal of any magnitude and length: with the
// text brought to the form m·10^k, the logarithm is log m + k ln 10.
func parseLogDigits(text string) (float64, error) {
	mantissa, exponentText, hasExponent := strings.Cut(strings.ToLower(strings.TrimLeft(text, "+-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return math.Inf(-1), nil
	}
	if text[0] == '-' { // a negative number that ParseFloat rounded to -0
		return 0, errNumber
	}
	exponent := int64(0)
	if hasExponent {
		var err error
		exponent, err = strconv.ParseInt(exponentText, 10, 64)
		if err != nil || exponent > MaxLogValue || exponent < -MaxLogValue {
			return 0, errRange
		}
	}
	exponent += int64(len(whole) - (len(digits) - len(significant)))
	u, err := mantissaMinusOne(significant, &exponent)
	if err != nil {
		return 0, errNumber
	}
	log := log1p(u).plus(ln10.times(double{float64(exponent), 0}))
	if math.Abs(log.hi) > MaxLogValue {
		return 0, errRange
	}
	return log.hi, nil
}

// mantissaMinusOne returns m − 1 for 0.ddd·10^exponent = m·10^k with m from 0.3
// to 3, and changes exponent into k. So k = 0 for all numbers near 1, and their
// distance from 1, which is all that their logarithm depends on, is kept to the
// last digit.
func mantissaMinusOne(digits string, exponent *int64) (double, error) {
	text := "." + digits
	if digits[0] < '3' {
		text = digits[:1] + "." + digits[1:]
		*exponent--
	}
	precision := uint(4*len(digits) + 64) // a decimal digit has 3.3 bits
	m, _, err := big.ParseFloat(text, 10, precision, big.ToNearestEven)
	if err != nil {
		return double{}, err
	}
	return doubleOf(m.Sub(m, big.NewFloat(1))), nil
}

// appendValue appends exp(logValue) in decimal so that parseLog gives logValue
// back, to the last bit. The logarithm must be -Inf or within MaxLogValue.
//
// If float64 next to exp(logValue) have the very same logarithm, it is the
// shortest of their decimals: log 3 is written as 3. Elsewhere, nearer to 0 above
// all, where the numbers exp(x) are too coarse, and beyond float64's range, the
// text has more digits.
func appendValue(dst []byte, logValue float64) []byte {
	if math.IsInf(logValue, -1) {
		return append(dst, '0')
	}
	value := numeric.Exp(logValue)
	if value < smallestNormal || math.IsInf(value, 1) {
		return appendLong(dst, logValue)
	}
	start, found := len(dst), false
	for _, candidate := range [...]float64{value, math.Nextafter(value, 0), math.Nextafter(value, math.Inf(1))} {
		if candidate < smallestNormal || math.Log(candidate) != logValue {
			continue
		}
		var buffer [32]byte
		text := strconv.AppendFloat(buffer[:0], candidate, 'g', -1, 64)
		if !found || len(text) < len(dst)-start {
			dst, found = append(dst[:start], text...), true
		}
	}
	if found {
		return dst
	}
	return appendLong(dst, logValue)
}

// appendLong appends exp(logValue) as a mantissa m from 0.3 to 3.2 and a decimal
// exponent, none for 0. It has more than ordinaryDigits digits, and so many that
// their logarithm is nearer to logValue than to any other float64: 18 after the
// point would do for a logarithm of 1, and less for a larger one.
func appendLong(dst []byte, logValue float64) []byte {
	k := math.Round(logValue / ln10.hi)
	u := expm1(double{logValue, 0}.plus(ln10.times(double{-k, 0}))) // m − 1
	decimals := ordinaryDigits + 1
	if k == 0 {
		// Near 1 the digits that count follow zeros, or nines.
		decimals = max(decimals, 19+int(-math.Log10(math.Abs(logValue))))
	}
	dst = onePlus(u).Append(dst, 'f', decimals)
	if k == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), int64(k), 10)
}

// onePlus returns 1 + u without error.
func onePlus(u double) *big.Float {
	low := min(math.Abs(u.hi), 1)
	if u.lo != 0 {
		low = math.Abs(u.lo)
	}
	_, exponent := math.Frexp(low)
	sum := new(big.Float).SetPrec(uint(64 + max(0, -exponent))) // from 2^1 to the last of low's 53 bits
	sum.SetFloat64(1)
	sum.Add(sum, big.NewFloat(u.hi))
	return sum.Add(sum, big.NewFloat(u.lo))
}
