package main

import "github.com/mmcloughlin/avo/reg"

// elementwise emits exponentials, logarithms and dot products.
func (v vectors) elementwise() {
	v.function(v.name("exp"), "func(dst, x []float64)", "is Exp.")
	v.keep(anyExp)
	v.maps(v.length("dst"), v.base("x"), v.base("dst"), anyExp, func(reg.VecVirtual) {})
	v.end()
	v.function(v.name("log"), "func(dst, x []float64) bool", "is Log.")
	v.keep(anyLog)
	bad := v.nowhere()
	v.maps(v.length("dst"), v.base("x"), v.base("dst"), anyLog, func(x reg.VecVirtual) {
		v.or(v.compare(cmpNotAtLeast, v.wide("tooSmall"), x), bad)
		v.or(v.compare(cmpGreater, v.wide("largest"), x), bad)
	})
	v.returnNone(bad)
	v.dot()
}

func (v vectors) addScaled() {
	v.function(v.name("addScaled"), "func(dst, x []float64, a float64)", "is AddScaled.")
	dst, x, a := v.base("dst"), v.base("x"), v.parameter("a")
	v.loop(v.length("dst"), 4, func(i reg.Register, offset int, r *rest) {
		y := v.load(at64(dst, i, offset), r)
		v.VFMADD231PD(v.load(at64(x, i, offset), r), a, y)
		v.store(y, at64(dst, i, offset), r)
	})
	v.end()
}

func (v vectors) extrapolate() {
	v.function(v.name("extrapolate"), "func(x, old []float64, a float64)", "is Extrapolate.")
	x, old, a := v.base("x"), v.base("old"), v.parameter("a")
	v.loop(v.length("x"), 2, func(i reg.Register, offset int, r *rest) {
		y, d, finite := v.load(at64(x, i, offset), r), v.vector(), v.vector()
		v.VSUBPD(v.load(at64(old, i, offset), r), y, d)
		v.VSUBPD(d, d, finite)
		v.clear(v.compare(cmpOrdered, finite, finite), d)
		v.store(y, at64(old, i, offset), r)
		v.VFMADD231PD(d, a, y)
		v.store(y, at64(x, i, offset), r)
	})
	v.end()
}

// dot keeps four sums, so that no addition waits for the one before.
func (v vectors) dot() {
	v.function(v.name("dot"), "func(x, y []float64) float64", "is Dot.")
	x, y, sums := v.base("x"), v.base("y"), v.zeros(4)
	v.loop(v.length("x"), 4, func(i reg.Register, offset int, r *rest) {
		v.VFMADD231PD(v.load(at64(y, i, offset), r), v.load(at64(x, i, offset), r), sums[offset/v.bytes()])
	})
	v.VADDPD(sums[1], sums[0], sums[0])
	v.VADDPD(sums[3], sums[2], sums[2])
	v.VADDPD(sums[2], sums[0], sums[0])
	v.spread(v.VADDPD, sums[0])
	v.Store(sums[0].AsX(), v.ReturnIndex(0))
	v.end()
}
