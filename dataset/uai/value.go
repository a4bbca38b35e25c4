package uai

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// ln 10 as the sum of two float64, so that k·ln 10 is good to the last bit for
// every exponent k that a file can hold.
var ln10High, ln10Low = splitLn10()

func splitLn10() (high, low float64) {
	exact, _, err := big.ParseFloat("2.30258509299404568401799145468436420760110148862877", 10, 200, big.ToNearestEven)
	if err != nil {
		panic(err) // the literal above is wrong
	}
	high, _ = exact.Float64()
	low, _ = new(big.Float).Sub(exact, new(big.Float).SetFloat64(high)).Float64()
	return high, low
}

// smallestNormal is the smallest positive float64 of full precision.
const smallestNormal = 0x1p-1022

var errNumber = errors.New("not a finite number that is not negative")

// parseLog returns the natural logarithm of a number in text, -Inf for 0. Text
// beyond float64's normal range is taken apart into digits and exponent. A
// negative number, NaN, Inf and anything else is an error.
func parseLog(text string) (float64, error) {
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, errNumber
	case math.IsNaN(value) || math.IsInf(value, 0) && err == nil || value < 0:
		return 0, errNumber
	case value >= smallestNormal && err == nil:
		return math.Log(value), nil
	}
	return parseLogDigits(text)
}

// parseLogDigits is parseLog for a plain decimal of any magnitude: the text is
// brought to the form d.ddd·10^k and its logarithm is log d.ddd + k ln 10.
func parseLogDigits(text string) (float64, error) {
	mantissa, exponentText, hasExponent := strings.Cut(strings.ToLower(strings.TrimLeft(text, "+-")), "e")
	exponent := 0
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	significant := strings.TrimLeft(digits, "0")
	if significant == "" {
		return math.Inf(-1), nil
	}
	if text[0] == '-' { // a negative number that ParseFloat rounded to -0
		return 0, errNumber
	}
	if hasExponent {
		parsed, err := strconv.ParseInt(exponentText, 10, 32)
		if err != nil {
			return 0, errNumber
		}
		exponent = int(parsed)
	}
	exponent += len(whole) - 1 - (len(digits) - len(significant))
	scaled, err := strconv.ParseFloat(significant[:1]+"."+significant[1:], 64)
	if err != nil {
		return 0, errNumber
	}
	k := float64(exponent)
	return math.FMA(k, ln10High, math.Log(scaled)+k*ln10Low), nil
}

// appendValue appends exp(logValue) in decimal so that parseLog gives logValue
// back. Beyond exp's range the text has an exponent that float64 has not.
//
// Inside the range the text is the shortest decimal of the float64 nearest to
// exp(logValue), or of one of its two neighbours if only that has the very same
// logarithm. That is exact for nearly all |logValue| ≥ 1; nearer to 0 the numbers
// exp(x) are too coarse, and the logarithm returns with an absolute error below
// 2e-16, float64's resolution around 1.
func appendValue(dst []byte, logValue float64) []byte {
	if math.IsInf(logValue, -1) {
		return append(dst, '0')
	}
	value := math.Exp(logValue)
	if value < smallestNormal || math.IsInf(value, 1) {
		return appendBeyondRange(dst, logValue)
	}
	for _, candidate := range [...]float64{value, math.Nextafter(value, 0), math.Nextafter(value, math.Inf(1))} {
		if math.Log(candidate) == logValue {
			value = candidate
			break
		}
	}
	return strconv.AppendFloat(dst, value, 'g', -1, 64)
}

// appendBeyondRange appends exp(logValue) as mantissa and exponent.
func appendBeyondRange(dst []byte, logValue float64) []byte {
	k := math.Floor(logValue / ln10High)
	mantissa := math.Exp(math.FMA(-k, ln10High, logValue) - k*ln10Low)
	dst = strconv.AppendFloat(dst, mantissa, 'f', -1, 64)
	return strconv.AppendInt(append(dst, 'e'), int64(k), 10)
}
