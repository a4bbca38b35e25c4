package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The single-precision polynomials are minimax fits, as those in double precision:
//
//	(e^r − 1 − r)/r²           |r| ≤ log(2)/32,      relative error of e^r 1.6e-9
//	(e^r − 1 − r)/r²           |r| ≤ log(2)/2,       relative error of e^r 3.8e-9
//	(log(1+r) − r)/r²          −1/32 ≤ r ≤ 1/16,     relative error of log(1+r) 2.8e-9
//	(2 artanh(s) − 2s)/s³      in s², s of a number from √½ to √2, relative error of the logarithm 8.3e-10
var (
	singleExp1  = []float32{0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.008368716575205326, 0.001381459878757596}
	singleAtanh = []float32{0.6666677594184875, 0.39977574348449707, 0.2987093925476074}
	singleExp16 = []float32{0.5000162124633789, 0.16667038202285767}
	singleLog16 = []float32{-0.5, 0.3333444595336914, -0.25006669759750366, 0.18855230510234833}
)

// singleInverse and singleMinusLog are c and −log c for 1/c about the middle of the
// numbers m from 3/4 to 3/2 that have the same first four bits after the leading
// one, in the order of these bits. c is chosen such that −log c is a float32 but for
// 0.0003 of its last place; about m = 1 it is 1, so that log 1 is approached exactly.
var (
	singleInverse = []float32{
		1, 0.914179265499115, 0.864982545375824, 0.8206610679626465, 0.7804491519927979, 0.7440316081047058, 0.7110862731933594, 0.6810204982757568,
		1.3061445951461792, 1.2551628351211548, 1.2075895071029663, 1.1636261940002441, 1.123076319694519, 1.084391474723816, 1.0495269298553467, 1,
	}
	singleMinusLog = []float32{
		0, 0.08972859382629395, 0.1450459510087967, 0.19764508306980133, 0.24788568913936615, 0.2956717610359192, 0.3409615159034729, 0.38416287302970886,
		-0.26707974076271057, -0.22726531326770782, -0.188626229763031, -0.15154115855693817, -0.11607163399457932, -0.08101897686719894, -0.048339519649744034, 0,
	}
)

// singlePrecision adds what the single-precision kernels need. A number is stored
// twice, so that both a broadcast of 32 bits and one of 64 give it.
func (g constants) singlePrecision() {
	root := make([]float32, 16)
	for j := range root {
		root[j] = float32(math.Exp2(float64(j) / 16))
	}
	g.floats("single.root", root...)
	g.floats("single.inverse", singleInverse...)
	g.floats("single.minusLog", singleMinusLog...)
	// Two rows of eight lie in a vector: each half gets the weight of its row.
	for p := range 4 {
		g.indices(fmt.Sprintf("single.pair.%d", p), func(lane int) int { return 2*p + lane/8 })
	}
	// Sums of rows 0 2 4 6 lie in the first two lanes of four, of rows 1 3 5 7 in
	// the others.
	for half := range 2 {
		g.indices(fmt.Sprintf("single.fold.%d", half), func(lane int) int { return lane%2*8 + half*4 + lane/2%4 })
	}
	g.single("single.negativeInfinity", float32(math.Inf(-1)))
	g.single("single.tooSmall", 1e-30)
	g.single("single.one", 1)
	g.single("single.flushed", -0x1.5d589ep6)
	g.single("single.overflow", 89)
	g.single("single.moderate", 40)
	g.single("single.log2e", math.Log2E)
	g.single("single.round16", 1.5*(1<<19))
	high := float32(math.Ln2)
	g.single("single.ln2", high)
	g.single("single.ln2Low", float32(math.Ln2-float64(high)))
	g.singles("single.exp16", singleExp16)
	g.singles("single.log16", singleLog16)
	g.twice("single.magnitude", math.MaxInt32)
	g.twice("single.safeRange", math.Float32bits(math.MaxFloat32)-math.Float32bits(1e-30))
	g.twice("single.logSpecial", 4<<8|3<<16|5<<20|3<<24)

	// What only AVX2 needs, see constants.
	g.single("single.infinity", float32(math.Inf(1)))
	g.single("single.notANumber", float32(math.NaN()))
	g.single("single.largest", math.MaxFloat32)
	g.single("single.smallestNormal", 0x1p-126)
	g.single("single.half", 0.5)
	g.single("single.two", 2)
	g.single("single.expNormal", 87)
	g.single("single.minusExpNormal", -0x1.5d589ep6)
	g.single("single.expLow", -110)
	g.single("single.expHigh", 90)
	g.single("single.round1", 1.5*(1<<23))
	g.single("single.expLn2High", high)
	g.single("single.expLn2Low", float32(math.Ln2-float64(high)))
	g.single("single.logLn2High", high)
	g.single("single.logLn2Low", float32(math.Ln2-float64(high)))
	g.singles("single.exp1", singleExp1)
	g.singles("single.atanh", singleAtanh)
	g.single("single.upscale", 1<<25)
	g.single("single.upscaled", -25)
	g.single("single.sqrtHalf", math.Sqrt2/2)
	g.twice("single.oneLessSqrtHalf", math.Float32bits(1)-math.Float32bits(math.Sqrt2/2))
	g.twice("single.fraction", 1<<23-1)
	g.twice("single.integer", math.Float32bits(1<<23))
	g.single("single.integerBias", 1<<23+127)
	g.wideCopies(append(append(names("single.exp1", len(singleExp1)), names("single.atanh", len(singleAtanh))...),
		"single.negativeInfinity", "single.infinity", "single.notANumber", "single.tooSmall", "single.moderate", "single.largest",
		"single.magnitude", "single.one", "single.two", "single.half", "single.expNormal", "single.minusExpNormal", "single.expLow",
		"single.expHigh", "single.log2e", "single.round1", "single.expLn2High", "single.expLn2Low", "single.logLn2High", "single.logLn2Low",
		"single.smallestNormal", "single.upscale", "single.upscaled", "single.sqrtHalf", "single.oneLessSqrtHalf", "single.fraction",
		"single.integer", "single.integerBias")...)
}

func (g constants) single(name string, x float32) { g.twice(name, math.Float32bits(x)) }

func (g constants) singles(name string, x []float32) {
	for i, v := range x {
		g.single(fmt.Sprintf("%s.%d", name, i), v)
	}
}

func (g constants) twice(name string, bits uint32) { g.words(name, uint64(bits)<<32|uint64(bits)) }

func (g constants) floats(name string, x ...float32) {
	g.indices(name, func(i int) int { return int(math.Float32bits(x[i])) })
}

// indices adds a table of sixteen 32-bit numbers.
func (g constants) indices(name string, entry func(lane int) int) {
	words := make([]uint64, 8)
	for i := range words {
		words[i] = uint64(entry(2*i+1))<<32 | uint64(entry(2*i))
	}
	g.words(name, words...)
}

// at32 is base[index] of 4-byte entries, plus an offset in bytes.
func at32(base, index reg.Register, offset int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 4, Disp: offset}
}

// place32 is place for entries of 4 bytes.
func (g *generator) place32(item reg.Register, field int, base reg.Register) reg.Register {
	p := g.GP64()
	g.MOVQ(operand.Mem{Base: item, Disp: field}, p)
	g.LEAQ(operand.Mem{Base: base, Index: p, Scale: 4}, p)
	return p
}

// shortPlace32 is shortPlace for entries of 4 bytes.
func (g *generator) shortPlace32(item reg.Register, field int, base reg.Register) reg.Register {
	p := g.short(item, field)
	g.LEAQ(operand.Mem{Base: base, Index: p, Scale: 4}, p)
	return p
}

// strides32 is strides for rows of 4-byte entries.
func (g *generator) strides32(columns reg.Register, unroll int) strides {
	return g.stridesOf(columns, unroll, 4)
}

// eightRows32 is eightRows for rows of 4-byte entries.
func (g *generator) eightRows32(columns reg.Register) eightRows { return g.eightRowsOf(columns, 4) }
