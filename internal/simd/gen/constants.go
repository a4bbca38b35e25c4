package main

import (
	"fmt"
	"math"
	"math/big"
	"sync"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// precision is that of the tables, in bits.
const precision = 200

// number is a high-precision constant from its decimal digits.
func number(digits string) *big.Float {
	x, _, err := big.ParseFloat(digits, 10, precision, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return x
}

var ln2 = number("0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687")

// split returns x as hi + lo with hi a multiple of 2^−bits.
func split(x *big.Float, bits int) (hi, lo float64) {
	scaled, _ := new(big.Float).SetMantExp(x, bits).Float64()
	return splitAt(x, math.Ldexp(math.RoundToEven(scaled), -bits))
}

// splitAt returns hi and x − hi.
func splitAt(x *big.Float, hi float64) (same, lo float64) {
	lo, _ = new(big.Float).Sub(x, new(big.Float).SetPrec(precision).SetFloat64(hi)).Float64()
	return hi, lo
}

// The polynomials are minimax fits (Remez, 400 bits) of
//
//	(e^r − 1 − r)/r²      |r| ≤ log(2)/32, relative error of e^r 2^−65.5
//	(e^r − 1 − r)/r²      |r| ≤ log(2)/2,  relative error of e^r 2^−56.9
//	(log(1+r) − r)/r²     −1/32 ≤ r ≤ 1/16, relative error of log(1+r) 2^−56.5,
//	                      with a first coefficient of −1/2
//
// and atanh coefficients of FreeBSD's e_log.c, which math.Log uses too.
var (
	exp16 = []float64{0.5000000000000004, 0.1666666666666667, 0.041666666660183, 0.008333333332612927, 0.0013889121625362628, 0.0001984152843700708}
	exp1  = []float64{0.500000000000001, 0.16666666666666674, 0.041666666666522106, 0.008333333333322215, 0.001388888894778586, 0.00019841269886564062, 2.4801487365644137e-05, 2.7557242367156263e-06, 2.7632640819274376e-07, 2.511003840733968e-08}
	log16 = []float64{-0.5, 0.3333333333334629, -0.2499999999993653, 0.19999999931600565, -0.1666666611480068, 0.14285816528554907, -0.12501856123025343, 0.11072139449757605, -0.08751717882144523}
	atanh = []float64{6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01}
)

// constants are the words of what kernels may ask for: numbers that they broadcast,
// and tables of 16 that they permute.
type constants map[string][]uint64

// known are all constants. They take a while to compute.
var known = sync.OnceValue(func() constants {
	g := constants{}
	g.doubles()
	return g
})

func (g constants) doubles() {
	roots, rootTail := make([]float64, 16), make([]float64, 16)
	reciprocal, minusLog := make([]float64, 16), make([]float64, 16)
	for j := range 16 {
		x := exponential(new(big.Float).SetPrec(precision).Mul(ln2, big.NewFloat(float64(j)/16)))
		roots[j], _ = x.Float64()
		exact := new(big.Float).SetPrec(precision).SetFloat64(roots[j])
		rootTail[j], _ = exact.Quo(new(big.Float).Sub(x, exact), exact).Float64()
		reciprocal[j], minusLog[j] = logEntry(j)
	}
	g.table("root", roots)
	g.table("rootTail", rootTail)
	g.table("reciprocal", reciprocal)
	g.table("minusLog", minusLog)
	// The masks of the first 0 to 4 entries are windows of this one.
	g.words("window", math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64, 0, 0, 0, 0)

	g.number("negativeInfinity", math.Inf(-1))
	g.number("infinity", math.Inf(1))
	g.number("notANumber", math.NaN())
	g.number("tooSmall", 1e-290)
	g.number("tooLarge", 1e290)
	g.number("largest", math.MaxFloat64)
	g.number("minusLargest", -math.MaxFloat64)
	g.words("magnitude", math.MaxInt64)
	g.number("one", 1)
	g.number("two", 2)
	g.number("half", 0.5)

	// Exponential: |x| above 800 gives 0 or +Inf; round to a multiple of 1/16, or
	// of 1, by adding a number whose last bit that is.
	g.number("expNormal", 708)
	g.number("moderate", 300)
	g.number("expLow", -800)
	g.number("expHigh", 800)
	g.number("log2e", math.Log2E)
	g.number("round16", 1.5*(1<<48))
	g.number("round1", 1.5*(1<<52))
	hi, lo := split(ln2, 36)
	g.number("expLn2High", hi)
	g.number("expLn2Low", lo)
	g.numbers("exp16", exp16)
	g.numbers("exp1", exp1)

	// Logarithm.
	hi, lo = split(ln2, logBits)
	g.number("logLn2High", hi)
	g.number("logLn2Low", lo)
	g.numbers("log16", log16)
	// Responses of VFIXUPIMMPD: 0 → −Inf; −Inf and below 0 → NaN; +Inf → +Inf.
	g.words("logSpecial", 4<<8|3<<16|5<<20|3<<24)
	g.numbers("atanh", atanh)
	g.number("smallestNormal", 0x1p-1022)
	// Those of simd.Consistent.
	g.number("largestScale", 1e150)
	g.number("negligible", 1e-13)
	g.number("leastPivot", 1e-9)
	// Denormal numbers are multiplied by a power of two first.
	g.number("upscale", 1<<54)
	g.number("upscaled", -54)
	g.number("sqrtHalf", math.Sqrt2/2)
	g.words("oneLessSqrtHalf", math.Float64bits(1)-math.Float64bits(math.Sqrt2/2))
	g.words("fraction", 1<<52-1)
	// An integer put into the mantissa of 2^52 is that number plus 2^52.
	g.words("integer", math.Float64bits(1<<52))
	g.number("integerBias", 1<<52+1023)

	// AVX2 has no operand that is broadcast from memory: four copies of each.
	g.wideCopies(append(append(names("exp1", len(exp1)), names("atanh", len(atanh))...),
		"negativeInfinity", "infinity", "notANumber", "tooSmall", "tooLarge", "moderate", "largest", "minusLargest", "magnitude", "one", "two", "half",
		"expNormal", "expLow", "expHigh", "log2e", "round1", "expLn2High", "expLn2Low",
		"logLn2High", "logLn2Low", "smallestNormal", "upscale", "upscaled", "sqrtHalf", "oneLessSqrtHalf",
		"fraction", "integer", "integerBias", "largestScale", "negligible", "leastPivot")...)
}

// wideCopies adds vectors of 256 bits of constants.
func (g constants) wideCopies(names ...string) {
	for _, name := range names {
		x := g[name][0]
		g.words("wide "+name, x, x, x, x)
	}
}

// logBits is the last bit of the high part of log 2 and of the logarithms in the
// table: e·log 2 − log c is then exact for every exponent e.
const logBits = 42

func (g constants) number(name string, x float64) { g.words(name, math.Float64bits(x)) }

func (g constants) numbers(name string, x []float64) {
	for i, v := range x {
		g.number(fmt.Sprintf("%s.%d", name, i), v)
	}
}

func (g constants) table(name string, x []float64) {
	words := make([]uint64, len(x))
	for i, v := range x {
		words[i] = math.Float64bits(v)
	}
	g.words(name, words...)
}

func (g constants) words(name string, w ...uint64) { g[name] = w }

// constant is the address of a constant, which the file has from now on.
func (g *generator) constant(name string) operand.Mem {
	w, ok := known()[name]
	if !ok {
		panic("no constant " + name)
	}
	if _, ok := g.at[name]; !ok {
		// None but a table that is longer lies across two lines of a cache.
		size := 8 * len(w)
		align := min(size, 64)
		g.size = (g.size + align - 1) / align * align
		g.at[name] = g.size
		g.used, g.size = append(g.used, name), g.size+size
	}
	return operand.NewDataAddr(operand.NewStaticSymbol(pool), g.at[name])
}

// pool is the name of the constants of a file.
const pool = "constants"

// writePool writes the constants that were asked for.
func (g *generator) writePool() {
	if len(g.used) == 0 {
		return
	}
	g.StaticGlobal(pool)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for _, name := range g.used {
		for i, x := range known()[name] {
			g.AddDatum(g.at[name]+8*i, operand.U64(x))
		}
	}
}

// exponential returns e^x for 0 ≤ x < 1 by its series.
func exponential(x *big.Float) *big.Float {
	sum, term := big.NewFloat(1).SetPrec(precision), big.NewFloat(1).SetPrec(precision)
	for n := 1; n < 80; n++ {
		term.Mul(term, x)
		term.Quo(term, new(big.Float).SetPrec(precision).SetInt64(int64(n)))
		sum.Add(sum, term)
	}
	return sum
}

// logEntry returns c and −log c for the numbers whose mantissa begins with these
// four bits: from 1 + j/16 on, or, from 3/4 to 1, half of that. Around 1 c is 1; else
// it is close to the middle's reciprocal, and −log c as good as a multiple of
// 2^−logBits: of a thousand such c, the one that misses it least.
func logEntry(j int) (c, minusLog float64) {
	from, to := 1+float64(j)/16, 1+float64(j+1)/16
	if j >= 8 {
		from, to = from/2, to/2
	}
	if from == 1 || to == 1 {
		return 1, 0
	}
	least := math.Inf(1)
	for i := range 1000 {
		x := 2 / (from + to) * (1 + float64(i)*0x1p-30)
		multiple, rest := split(logarithm(x), logBits)
		x += x * rest
		if _, miss := splitAt(logarithm(x), multiple); math.Abs(miss) < least {
			c, minusLog, least = x, multiple, math.Abs(miss)
		}
	}
	return c, minusLog
}

// logarithm returns −log x, 1/2 ≤ x < 2, as −2 artanh((x−1)/(x+1)).
func logarithm(x float64) *big.Float {
	exact, one := new(big.Float).SetPrec(precision).SetFloat64(x), big.NewFloat(1)
	top := new(big.Float).SetPrec(precision).Sub(exact, one)
	s := new(big.Float).SetPrec(precision).Quo(top, exact.Add(exact, one))
	square := new(big.Float).SetPrec(precision).Mul(s, s)
	sum, power := new(big.Float).SetPrec(precision), s
	for n := 1; n < 200; n += 2 {
		sum.Add(sum, new(big.Float).SetPrec(precision).Quo(power, new(big.Float).SetPrec(precision).SetInt64(int64(n))))
		power = new(big.Float).SetPrec(precision).Mul(power, square)
	}
	return sum.Mul(sum, new(big.Float).SetPrec(precision).SetInt64(-2))
}
