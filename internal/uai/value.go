package uai

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/numeric"
)

// MaxLogValue is the largest absolute value of a logarithm that is read or written.
const MaxLogValue = 1e15

// smallestNormal is the smallest positive float64 of full precision.
const smallestNormal = 0x1p-1022

var (
	errNumber = errors.New("want a finite decimal number of at least 0")
	errRange  = errors.New("want 0 or a number whose logarithm is from -1e15 to 1e15")
)

// parseLog returns the natural logarithm of a number in text, -Inf for 0: that of the nearest float64, or beyond
// float64's normal range that of mantissa and exponent. A negative number and whatever is not decimal is an error.
func parseLog(text string) (float64, error) {
	value, err := numeric.ParseDecimal(text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), value < 0:
		return 0, errNumber
	case value >= smallestNormal && err == nil:
		return math.Log(value), nil
	}
	digits, exponent, scaled := strings.Cut(strings.ToLower(text), "e")
	mantissa, _, err := big.ParseFloat(digits, 10, 64, big.ToNearestEven)
	switch {
	case err != nil || mantissa.Sign() < 0:
		return 0, errNumber
	case mantissa.Sign() == 0:
		return math.Inf(-1), nil
	}
	tens := 0.0
	if scaled {
		tens, _ = strconv.ParseFloat(exponent, 64) // digits, of which too many make an infinity
	}
	fraction := new(big.Float)
	twos := mantissa.MantExp(fraction)
	part, _ := fraction.Float64()
	log := math.Log(part) + float64(twos)*math.Ln2 + tens*math.Ln10
	if math.Abs(log) > MaxLogValue {
		return 0, errRange
	}
	return log, nil
}

// appendValue appends exp(logValue) in at most 17 digits: where float64 have that very logarithm, the shortest of
// their decimals, so that log 3 is written as 3. Beyond float64's normal range it is a mantissa and a decimal
// exponent. The logarithm must be -Inf or within MaxLogValue.
func appendValue(dst []byte, logValue float64) []byte {
	if math.IsInf(logValue, -1) {
		return append(dst, '0')
	}
	value := numeric.Exp(logValue)
	if value < smallestNormal || math.IsInf(value, 1) {
		tens := math.Round(logValue / math.Ln10)
		dst = strconv.AppendFloat(dst, math.Exp(logValue-tens*math.Ln10), 'f', -1, 64)
		return strconv.AppendInt(append(dst, 'e'), int64(tens), 10)
	}
	start, exact := len(dst), false
	dst = strconv.AppendFloat(dst, value, 'g', -1, 64)
	for _, near := range [...]float64{value, math.Nextafter(value, 0), math.Nextafter(value, math.Inf(1))} {
		text := strconv.AppendFloat(nil, near, 'g', -1, 64)
		if math.Log(near) == logValue && (!exact || len(text) < len(dst)-start) {
			dst, exact = append(dst[:start], text...), true
		}
	}
	return dst
}
