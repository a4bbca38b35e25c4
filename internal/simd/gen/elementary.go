package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Exponentials and logarithms of both widths. Those of AVX-512 permute tables of 16 in registers, and scale by
// powers of two without a branch; AVX2 has longer polynomials, and other ways for rare arguments.

// elementary says which function a kernel has in its loop.
type elementary int

const (
	anyExp elementary = iota
	moderateExp
	anyLog
	normalLog
)

// keep holds the constants of a function in registers until the kernel ends, as many as a loop can spare.
func (v vectors) keep(function elementary) {
	if v.lanes == 8 {
		v.hoist(map[elementary][]string{
			anyExp:    {"expLow", "expHigh", "round16", "log2e", "rootTail", "root"},
			anyLog:    {"logSpecial", "one", "logLn2High", "logLn2Low", "log16.8", "log16.7", "reciprocal", "minusLog"},
			normalLog: {"one", "logLn2High", "logLn2Low", "reciprocal", "minusLog"},
		}[function]...)
		return
	}
	v.hoist(map[elementary][]string{
		anyExp:    {"round1", "log2e", "expLn2High", "expLn2Low", "one", "magnitude"},
		anyLog:    {"oneLessSqrtHalf", "integer", "one", "half"},
		normalLog: {},
	}[function]...)
}

// functions returns a function of some vectors, which it may change.
func (v vectors) functions(function elementary, x []reg.VecVirtual) []reg.VecVirtual {
	if v.lanes == 8 {
		switch function {
		case anyExp, moderateExp:
			return v.exps512(x, function == moderateExp)
		}
		logs := v.logs512(x)
		for i := range x {
			if function == anyLog {
				v.VFIXUPIMMPD(operand.U8(0), v.hoisted["logSpecial"], x[i], logs[i])
			}
		}
		return logs
	}
	one := map[elementary]func(x reg.VecVirtual) reg.VecVirtual{
		anyExp: v.exp256, moderateExp: v.moderateExp256, anyLog: v.log256, normalLog: v.normalLog256,
	}[function]
	y := make([]reg.VecVirtual, len(x))
	for i := range x {
		y[i] = one(x[i])
	}
	return y
}

// of is functions of one vector.
func (v vectors) of(function elementary, x reg.VecVirtual) reg.VecVirtual {
	return v.functions(function, []reg.VecVirtual{x})[0]
}

// maps emits a function of each of n numbers of x to dst. What follows the end of a row counts as 1.
func (v vectors) maps(n, x, dst reg.Register, function elementary, before func(x reg.VecVirtual)) {
	v.together(n, map[int]int{4: 2, 8: 3}[v.lanes], func(index reg.Register, count int, r *rest) {
		z := make([]reg.VecVirtual, count)
		for c := range z {
			z[c] = v.orElse("one", v.load(at64(x, index, v.bytes()*c), r), r)
			before(z[c])
		}
		for c, y := range v.functions(function, z) {
			v.store(y, at64(dst, index, v.bytes()*c), r)
		}
	})
}
