package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 emits kernels for vectors of 256 bits of one format of numbers: four float64
// or eight float32. The names of what it emits carry a mark, "" or "32x", and those of
// its constants a prefix.
type avx2 struct {
	*generator
	number, mark, prefix string
	entry                int // bytes of a number
	mantissa             int // bits of it, without the leading one

	move, moveOne, broadcast          func(...operand.Op)
	moveMasked                        func(m, mask, y operand.Op)
	add, sub, mul, div, max, min      func(...operand.Op)
	and, or, compare                  func(...operand.Op)
	blend                             func(mask, y, x, dst operand.Op)
	signs                             func(y, which operand.Op)
	fma231, fma213, fnma231, fmsub132 func(...operand.Op)
	// Numbers as integers.
	addBits, shiftLeft, shiftRight func(...operand.Op)
	round                          func(mode, y, dst operand.Op)
	unpackLow, unpackHigh          func(...operand.Op)
}

func (g *generator) doubles256() avx2 {
	return avx2{
		generator: g, number: "float64", entry: 8, mantissa: 52,
		move: g.VMOVUPD, moveMasked: g.VMASKMOVPD, moveOne: g.VMOVSD, broadcast: g.VBROADCASTSD,
		add: g.VADDPD, sub: g.VSUBPD, mul: g.VMULPD, div: g.VDIVPD, max: g.VMAXPD, min: g.VMINPD,
		and: g.VANDPD, or: g.VORPD, blend: g.VBLENDVPD, compare: g.VCMPPD, signs: g.VMOVMSKPD,
		fma231: g.VFMADD231PD, fma213: g.VFMADD213PD, fnma231: g.VFNMADD231PD, fmsub132: g.VFMSUB132PD,
		addBits: g.VPADDQ, round: g.VROUNDPD, shiftLeft: g.VPSLLQ, shiftRight: g.VPSRLQ,
		unpackLow: g.VUNPCKLPD, unpackHigh: g.VUNPCKHPD,
	}
}

func (g *generator) singles256() avx2 {
	return avx2{
		generator: g, number: "float32", mark: "32x", prefix: "single.", entry: 4, mantissa: 23,
		move: g.VMOVUPS, moveMasked: g.VMASKMOVPS, moveOne: g.VMOVSS, broadcast: g.VBROADCASTSS,
		add: g.VADDPS, sub: g.VSUBPS, mul: g.VMULPS, div: g.VDIVPS, max: g.VMAXPS, min: g.VMINPS,
		and: g.VANDPS, or: g.VORPS, blend: g.VBLENDVPS, compare: g.VCMPPS, signs: g.VMOVMSKPS,
		fma231: g.VFMADD231PS, fma213: g.VFMADD213PS, fnma231: g.VFNMADD231PS, fmsub132: g.VFMSUB132PS,
		addBits: g.VPADDD, round: g.VROUNDPS, shiftLeft: g.VPSLLD, shiftRight: g.VPSRLD,
		unpackLow: g.VUNPCKLPS, unpackHigh: g.VUNPCKHPS,
	}
}

// lanes is how many numbers a vector holds.
func (g avx2) lanes() int { return 32 / g.entry }

// single reports whether numbers are float32.
func (g avx2) single() bool { return g.entry == 4 }

// kernel begins a kernel that exists for both formats, NAME256 or NAME32x256: NUMBER
// in its signature stands for theirs.
func (g avx2) kernel(name, signature, exported string, limits ...string) {
	of := strings.NewReplacer("NUMBER", g.number)
	doc := "is " + exported + strings.TrimSuffix(g.mark, "x") + strings.Join(limits, "") + "."
	g.function(name+g.mark+"256", of.Replace(signature), doc)
}

// at is base[index], plus an offset in bytes.
func (g avx2) at(base, index reg.Register, offset int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: uint8(g.entry), Disp: offset}
}

// wide is a vector of copies of a constant: a register if it was hoisted, or else
// memory.
func (g avx2) wide(name string) operand.Op {
	name = g.prefix + name
	if y, ok := g.hoisted[name]; ok {
		return y
	}
	return g.constant("wide " + name)
}

// hoist keeps constants in registers until the kernel ends, as many as a loop can
// spare: it is bound by loads.
func (g avx2) hoist(names ...string) {
	g.generator.hoisted = map[string]reg.VecVirtual{}
	for _, name := range names {
		y := g.YMM()
		g.move(g.wide(name), y)
		g.hoisted[g.prefix+name] = y
	}
}

func (g avx2) copyWide(name string) reg.VecVirtual {
	y := g.YMM()
	g.move(g.wide(name), y)
	return y
}

// anySign jumps to a label where the sign of any number of y is set.
func (g avx2) anySign(y reg.VecVirtual, to string) {
	which := g.GP32()
	g.signs(y, which)
	g.TESTL(which, which)
	g.JNZ(label(to))
}

// polynomial returns Σ name.i x^i, 1 ≤ n terms, by few steps one after the other; x² and x⁴ are given.
func (g avx2) polynomial(name string, n int, x, square, fourth reg.VecVirtual) reg.VecVirtual {
	// Sums of two terms, then of four, then by Horner's rule.
	sums := make([]reg.VecVirtual, 0, n)
	for i := 0; i < n; i += 2 {
		sum := g.copyWide(fmt.Sprintf("%s.%d", name, i))
		if i+1 < n {
			g.fma231(g.wide(fmt.Sprintf("%s.%d", name, i+1)), x, sum)
		}
		sums = append(sums, sum)
	}
	last := (len(sums) - 1) / 2 * 2
	for i := 0; i <= last; i += 2 {
		if i+1 < len(sums) {
			g.fma231(sums[i+1], square, sums[i])
		}
	}
	for i := last; i > 0; i -= 2 {
		g.fma231(sums[i], fourth, sums[i-2])
	}
	return sums[0]
}
