package main

import "github.com/mmcloughlin/avo/reg"

// elementwise emits exponentials, logarithms and dot products.
func (v vectors) elementwise() {
	for _, k := range []struct {
		name, doc string
		function  elementary
	}{{"exp", "is Exp.", anyExp}, {"log", "is Log.", anyLog}} {
		v.function(v.name(k.name), "func(dst, x []float64)", k.doc)
		v.keep(k.function)
		v.maps(v.length("dst"), v.base("x"), v.base("dst"), k.function, func(reg.VecVirtual) {})
		v.end()
	}
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
