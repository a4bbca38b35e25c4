package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const exponentiateSignature = "func(dst, theta []float64, inverse, lowest float64) (largest float64, safe bool)"

// tablePair names the registers that hold the two halves of a table of 16.
func tablePair(table string) [2]string { return [2]string{table + " low", table + " high"} }

// keepTable loads a table of 16 into two registers, for lookupKept.
func (v values512) keepTable(table string) {
	for half, name := range tablePair(table) {
		z := v.g.ZMM()
		v.g.VMOVUPD(v.g.constant(table).Offset(64*half), z)
		v.registers[name] = z
	}
}

// lookupKept is lookup with the table in registers, where it is kept there.
func (v values512) lookupKept(table string, index reg.VecVirtual) {
	pair := tablePair(table)
	if low, ok := v.registers[pair[0]]; ok {
		v.g.VPERMI2PD(v.registers[pair[1]], low, index)
		return
	}
	v.g.lookup(table, index)
}

// shortExpNames are the constants of shortExp512.
func shortExpNames() []string {
	return append([]string{"minusExpNormal", "log2e", "round16", "expLn2High", "expLn2Low", "one"}, names("exp16", 6)...)
}

// shortExp512 is shortExps512 of one vector, where many follow each other.
func (v values512) shortExp512(x reg.VecVirtual) reg.VecVirtual {
	return v.shortExps512([]reg.VecVirtual{x}, byCount)[0]
}

// economy is what a polynomial saves: instructions, in one long chain, which is
// right where enough else can be done meanwhile; or time, where others wait for
// its result.
type economy bool

const (
	byCount   economy = false
	byLatency economy = true
)

// shortExps512 returns e^x for vectors of x ≤ 708, and 0 below −708; it changes
// them. It is exp512 with fewer instructions: without the low part of the
// roots (1.1 ulp instead of 0.55). The vectors take each step together: the
// processor looks ahead by some hundred instructions only, and a chain that waits
// would keep it from seeing the next.
func (v values512) shortExps512(x []reg.VecVirtual, save economy) []reg.VecVirtual {
	normal := make([]reg.OpmaskVirtual, len(x))
	for i := range x {
		normal[i] = v.g.K()
		v.compare(cmpNotLess, "minusExpNormal", x[i], normal[i])
	}
	root, p := v.rootsAndRests512(x, save)
	for i := range x {
		v.g.VFMADD213PD_Z(root[i], root[i], normal[i], p[i])
	}
	return p
}

// moderateExps512 is shortExps512 for −708 ≤ x ≤ 708.
func (v values512) moderateExps512(x []reg.VecVirtual, save economy) []reg.VecVirtual {
	root, p := v.rootsAndRests512(x, save)
	for i := range x {
		v.g.VFMADD213PD(root[i], root[i], p[i])
	}
	return p
}

// rootsAndRests512 returns powers of two and p such that e^x = root·(1 + p).
func (v values512) rootsAndRests512(x []reg.VecVirtual, save economy) (z, p []reg.VecVirtual) {
	g := v.g
	z, p = make([]reg.VecVirtual, len(x)), make([]reg.VecVirtual, len(x))
	n := make([]reg.VecVirtual, len(x))
	for i := range x {
		z[i] = v.copyOf("round16")
		v.fma231("log2e", x[i], z[i])
	}
	for i := range x {
		n[i] = g.ZMM()
		v.binary(g.VSUBPD, g.VSUBPD_BCST, "round16", z[i], n[i])
	}
	for _, part := range []string{"expLn2High", "expLn2Low"} {
		for i := range x {
			v.binary(g.VFNMADD231PD, g.VFNMADD231PD_BCST, part, n[i], x[i])
		}
	}
	if save == byLatency {
		p = v.expPolynomials512(x)
	} else {
		for i := range x {
			p[i] = v.copyOf("exp16.5")
		}
		for _, name := range []string{"exp16.4", "exp16.3", "exp16.2", "exp16.1", "exp16.0", "one"} {
			for i := range x {
				v.fma213(name, x[i], p[i])
			}
		}
		for i := range x {
			g.VMULPD(x[i], p[i], p[i])
		}
	}
	for i := range x {
		g.VPSLLQ(operand.U8(48), z[i], n[i])
		v.lookupKept("rootBits", z[i])
	}
	for i := range x {
		g.VPADDQ(n[i], z[i], z[i])
	}
	return z, p
}

// expPolynomials512 returns e^r − 1 for reduced r, with few steps one after the
// other.
func (v values512) expPolynomials512(r []reg.VecVirtual) []reg.VecVirtual {
	g := v.g
	square, p, q := g.several(len(r)), make([]reg.VecVirtual, len(r)), make([]reg.VecVirtual, len(r))
	for i := range r {
		g.VMULPD(r[i], r[i], square[i])
		q[i] = v.linear("exp16", 4, r[i])
	}
	for i := range r {
		middle := v.linear("exp16", 2, r[i])
		g.VFMADD213PD(middle, square[i], q[i])
		p[i] = v.linear("exp16", 0, r[i])
	}
	for i := range r {
		g.VFMADD231PD(q[i], square[i], p[i])
	}
	for i := range r {
		g.VFMADD213PD(r[i], square[i], p[i])
	}
	return p
}

// returnLargest ends exponentiate: largest, a NaN where there was one, and safe.
func (g *generator) returnLargest(largest reg.Register, safe bool) {
	g.Store(largest, g.ReturnIndex(0))
	g.returnFlag(safe, 1)
}

// returnFlag ends the kernel with a constant as its i-th result.
func (g *generator) returnFlag(result bool, i int) {
	r := g.GP8()
	g.MOVB(operand.U8(map[bool]int{false: 0, true: 1}[result]), r)
	g.Store(r, g.ReturnIndex(i))
	g.end()
}

// exponentiate512 looks for the largest entry, the smallest finite one and NaNs
// first, so that dst is left alone where it is not safe.
func (g *generator) exponentiate512() {
	g.function("exponentiate512", exponentiateSignature, "is Exponentiate.")
	dst, theta, n := g.base("dst"), g.base("theta"), g.length("theta")
	inverse := g.ZMM()
	g.broadcastParam("inverse", inverse)
	low, unordered := g.broadcast512("negativeInfinity"), g.K()
	g.KXORB(unordered, unordered, unordered)
	var largest, smallest [2]reg.VecVirtual
	for i := range largest {
		largest[i], smallest[i] = g.broadcast512("negativeInfinity"), g.broadcast512("infinity")
	}
	g.loop512(n, 2, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		chain, finite := offset/64, g.K()
		z := g.load512(at64(theta, i, offset), mask)
		masked4(g.VCMPPD, cmpNotEqual, low, z, mask, finite)
		g.VMAXPD(z, largest[chain], finite, largest[chain])
		g.VMINPD(z, smallest[chain], finite, smallest[chain])
		g.noteNaN(z, unordered)
	})
	g.VMAXPD(largest[1], largest[0], largest[0])
	g.VMINPD(smallest[1], smallest[0], smallest[0])
	top, bottom := largest[0], smallest[0]
	g.spread(g.VMAXPD, top)
	g.spread(g.VMINPD, bottom)

	unsafe, numbers, nan := g.label("unsafe"), g.label("numbers"), g.label("nan")
	g.KTESTB(unordered, unordered)
	g.JNZ(label(nan))
	g.Label(numbers)
	magnitude, bad, deep := g.ZMM(), g.K(), g.K()
	g.VPANDQ_BCST(g.constant("magnitude"), top, magnitude)
	g.VCMPPD_BCST(cmpGreater, g.constant("largest"), magnitude, bad)
	g.VSUBPD(top, bottom, bottom)
	g.VMULPD(inverse, bottom, bottom)
	limit := g.ZMM()
	g.broadcastParam("lowest", limit)
	g.VCMPPD(cmpNotAtLeast, limit, bottom, deep)
	g.KORTESTB(bad, deep)
	g.JNZ(label(unsafe))

	v := g.fromRegisters(shortExpNames()...)
	v.keepTable("rootBits")
	g.loop512(n, 2, func(i reg.Register, offset int, mask *reg.OpmaskVirtual) {
		x := g.load512(at64(theta, i, offset), mask)
		g.VSUBPD(top, x, x)
		g.VMULPD(inverse, x, x)
		g.store512(v.shortExp512(x), at64(dst, i, offset), mask)
	})
	g.returnLargest(top.AsX(), true)
	g.Label(nan)
	g.VBROADCASTSD(g.constant("notANumber"), top)
	g.Label(unsafe)
	g.returnLargest(top.AsX(), false)
}

func (g avx2) exponentiate256() {
	g.function("exponentiate256", exponentiateSignature, "is Exponentiate.")
	dst, theta, n := g.base("dst"), g.base("theta"), g.length("theta")
	top, bottom, unordered := g.copyWide("negativeInfinity"), g.copyWide("infinity"), g.zero256()
	low, high := g.copyWide("negativeInfinity"), g.copyWide("infinity")
	g.loop256(n, 1, func(i reg.Register, offset int, rest *rest256) {
		z, infinite := g.load256(at64(theta, i, offset), rest), g.YMM()
		if rest != nil {
			g.VBLENDVPD(rest.mask, z, low, z)
		}
		g.VCMPPD(operand.U8(0), low, z, infinite)
		g.VMAXPD(z, top, top)
		numbers := g.YMM()
		g.VCMPPD(cmpUnordered, z, z, numbers)
		g.VORPD(numbers, unordered, unordered)
		g.VBLENDVPD(infinite, high, z, z)
		g.VMINPD(z, bottom, bottom)
	})
	g.spread256(g.VMAXPD, top)
	g.spread256(g.VMINPD, bottom)

	unsafe, nan := g.label("unsafe"), g.label("nan")
	which := g.GP32()
	g.VMOVMSKPD(unordered, which)
	g.TESTL(which, which)
	g.JNZ(label(nan))
	inverse, bad, deep := g.broadcastParam256("inverse"), g.YMM(), g.YMM()
	g.VANDPD(g.wide("magnitude"), top, bad)
	g.VCMPPD(cmpGreater, g.wide("largest"), bad, bad)
	g.VSUBPD(top, bottom, bottom)
	g.VMULPD(inverse, bottom, bottom)
	g.VCMPPD(cmpNotAtLeast, g.broadcastParam256("lowest"), bottom, deep)
	g.VORPD(bad, deep, deep)
	g.VMOVMSKPD(deep, which)
	g.TESTL(which, which)
	g.JNZ(label(unsafe))

	g.hoist("round1", "one")
	g.loop256(n, 2, func(i reg.Register, offset int, rest *rest256) {
		x := g.load256(at64(theta, i, offset), rest)
		g.VSUBPD(top, x, x)
		g.VMULPD(inverse, x, x)
		g.store256(g.shortExp256(x), at64(dst, i, offset), rest)
	})
	g.returnLargest(top.AsX(), true)
	g.Label(nan)
	g.VMOVUPD(g.wide("notANumber"), top)
	g.Label(unsafe)
	g.returnLargest(top.AsX(), false)
}
