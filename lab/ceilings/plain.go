package ceilings

import "math"

// plain serves where there is no assembly. The compiler makes no vectors, so these
// rates are what plain Go reaches, not what the processor could.
var plain = kernels{"plain", plainMultiplyAdd, 8, plainReadAll, 0}

// plainMultiplyAdd leaves it to the compiler to fuse a product and a sum.
func plainMultiplyAdd(rounds int, x, y float64) (total float64) {
	var a, b, c, d, e, f, g, h float64
	for range rounds {
		a, b, c, d = a*x+y, b*x+y, c*x+y, d*x+y
		e, f, g, h = e*x+y, f*x+y, g*x+y, h*x+y
	}
	return ((a + b) + (c + d)) + ((e + f) + (g + h))
}

// plainReadAll keeps four chains, so that the exclusive ors do not wait for each
// other.
func plainReadAll(x []float64) (parity uint64) {
	var a, b, c, d uint64
	for ; len(x) >= 8; x = x[8:] {
		a ^= math.Float64bits(x[0]) ^ math.Float64bits(x[4])
		b ^= math.Float64bits(x[1]) ^ math.Float64bits(x[5])
		c ^= math.Float64bits(x[2]) ^ math.Float64bits(x[6])
		d ^= math.Float64bits(x[3]) ^ math.Float64bits(x[7])
	}
	return a ^ b ^ c ^ d
}
