package numeric

import "math"

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
