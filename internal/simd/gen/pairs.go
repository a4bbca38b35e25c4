package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where every node has two states, messages and beliefs are pairs of numbers and tables four. Kernels of pairs have as
// many messages, or edges, in a vector as it has entries, one in each.

func (v vectors) pairs() {
	v.pairMessages()
	if v.lanes == 8 {
		v.pairBeliefs()
	}
}

// lists are where arrays and lists begin that a kernel of pairs reads, by the names of its parameters.
type lists map[string]reg.Register

func (v vectors) lists(names ...string) lists {
	l := lists{}
	for _, name := range names {
		l[name] = v.base(name)
	}
	return l
}

// eachVector emits body for the places 0, a vector's entries, and so on of n, at least so many. The last begins where
// it ends at n: what it shares with the one before is made twice.
func (v vectors) eachVector(n reg.Register, body func(i reg.Register)) {
	i, again, last, done := v.zero(), v.label("vector"), v.GP64(), v.label("done")
	v.MOVQ(n, last)
	v.SUBQ(operand.U8(v.lanes), last)
	v.Label(again)
	body(i)
	v.CMPQ(i, last)
	v.JE(label(done))
	v.ADDQ(operand.U8(v.lanes), i)
	v.CMPQ(i, last)
	v.CMOVQGT(last, i)
	v.JMP(label(again))
	v.Label(done)
}

// listed returns the number at i and lane of a list of four bytes each.
func (v vectors) listed(list, i reg.Register, lane int) reg.Register {
	p := v.GP64()
	v.MOVLQSX(operand.Mem{Base: list, Index: i, Scale: 4, Disp: 4 * lane}, p)
	return p
}

// gatherPairs returns the first and the second numbers of those pairs of an array that are listed from i on, or of
// those of the other directions of the edges.
func (v vectors) gatherPairs(array, list, i reg.Register, turned bool) [2]reg.VecVirtual {
	var halves [2]reg.VecVirtual // even entries, and odd ones
	for parity := range halves {
		halves[parity] = v.vector()
		for lane := parity; lane < v.lanes; lane += 2 {
			p := v.listed(list, i, lane)
			if turned {
				v.XORQ(operand.U8(1), p)
			}
			v.SHLQ(operand.U8(4), p)
			v.insertPair(bytes(array, p, 0), lane/2, halves[parity])
		}
	}
	return v.unpack(halves)
}

// insertPair puts two numbers into a place of x, and those of the first anywhere else, too.
func (v vectors) insertPair(m operand.Mem, place int, x reg.VecVirtual) {
	switch {
	case v.lanes == 8 && place == 0:
		v.VBROADCASTF64X2(m, x)
	case v.lanes == 8:
		v.VINSERTF64X2(operand.U8(place), m, x, x)
	case place == 0:
		v.VBROADCASTF128(m, x)
	default:
		v.VINSERTF128(operand.U8(place), m, x, x)
	}
}

// unpack returns the lower and the upper numbers of the pairs of two vectors, in turn from each of them.
func (v vectors) unpack(x [2]reg.VecVirtual) [2]reg.VecVirtual {
	low, high := v.vector(), v.vector()
	v.VUNPCKLPD(x[1], x[0], low)
	v.VUNPCKHPD(x[1], x[0], high)
	return [2]reg.VecVirtual{low, high}
}

// storePairs stores pairs of numbers, each so many bytes behind the one before.
func (v vectors) storePairs(x [2]reg.VecVirtual, to reg.Register, offset, step int) {
	for parity, pairs := range v.unpack(x) {
		for lane := parity; lane < v.lanes; lane += 2 {
			m := operand.Mem{Base: to, Disp: offset + step*lane}
			switch {
			case lane < 2:
				v.VMOVUPD(pairs.AsX(), m)
			case v.lanes == 8:
				v.VEXTRACTF64X2(operand.U8(lane/2), pairs, m)
			default:
				v.VEXTRACTF128(operand.U8(1), pairs, m)
			}
		}
	}
}

// gatherTables returns the four numbers of the tables of listed edges.
func (v vectors) gatherTables(l lists, i reg.Register) (t [4]reg.VecVirtual) {
	rows := v.several(4)
	for r, row := range rows {
		lane := r
		if v.lanes == 8 {
			lane = r%2 + r/2*4 // and beside it the table two further on, so that pairLanes puts them in order
		}
		m := func(lane int) operand.Mem {
			p := v.listed(l["e"], i, lane)
			v.MOVQ(at64(l["p"], p, 0), p)
			return at64(l["t"], p, 0)
		}
		if v.lanes == 4 {
			v.VMOVUPD(m(lane), row)
			continue
		}
		v.VBROADCASTF64X4(m(lane), row)
		v.VINSERTF64X4(operand.U8(1), m(lane+2), row, row)
	}
	first, second := v.unpack([2]reg.VecVirtual{rows[0], rows[1]}), v.unpack([2]reg.VecVirtual{rows[2], rows[3]})
	for parity := range first {
		t[parity], t[parity+2] = v.pairLanes(first[parity], second[parity])
	}
	return t
}

// pairCavities returns belief − message, −Inf where either is. It changes beliefs.
func (v vectors) pairCavities(belief, message [2]reg.VecVirtual) [2]reg.VecVirtual {
	for x, b := range belief {
		forbidden := v.compare(cmpEqual, v.wide("negativeInfinity"), message[x])
		v.VSUBPD(message[x], b, b)
		v.choose(forbidden, v.wide("negativeInfinity"), b)
	}
	return belief
}

// weigh returns a x + b y.
func (v vectors) weigh(a, x, b, y reg.VecVirtual) reg.VecVirtual {
	sum := v.vector()
	v.VMULPD(a, x, sum)
	v.VFMADD231PD(b, y, sum)
	return sum
}

// pairMessages makes messages by the steps Cavities to Log.
func (v vectors) pairMessages() {
	v.function(v.name("pairMessages"), "func(o, b, m, t []float64, s, d, e []int32, p []int) bool",
		"is Cavities to Log for at least a vector of messages; it is false where a sum is not safe.")
	l, bad := v.lists("b", "m", "t", "s", "d", "e", "p"), v.nowhere()
	if v.lanes == 8 {
		v.keep(anyExp)
		v.hoist("negativeInfinity", "tooSmall", "largest", "one", "reciprocal", "minusLog")
	}
	v.eachVector(v.length("d"), func(i reg.Register) {
		w := v.pairCavities(v.gatherPairs(l["b"], l["s"], i, false), v.gatherPairs(l["m"], l["d"], i, true))
		copy(w[:], v.functions(anyExp, w[:]))
		t, odd := v.gatherTables(l, i), v.vector()
		v.VPMOVSXDQ(operand.Mem{Base: l["d"], Index: i, Scale: 4}, odd)
		v.VPSLLQ(operand.U8(63), odd, odd)
		back, forth := v.signs(odd), v.vector()
		v.VMOVAPD(t[1], forth)
		v.choose(back, t[2], t[1])
		v.choose(back, forth, t[2])
		sums := []reg.VecVirtual{v.weigh(w[0], t[0], w[1], t[2]), v.weigh(w[0], t[1], w[1], t[3])}
		for _, x := range sums {
			v.or(v.compare(cmpNotAtLeast, v.wide("tooSmall"), x), bad)
			v.or(v.compare(cmpGreater, v.wide("largest"), x), bad)
		}
		logs, to := v.functions(normalLog, sums), v.GP64()
		v.MOVQ(i, to)
		v.SHLQ(operand.U8(4), to)
		v.ADDQ(v.base("o"), to)
		v.storePairs([2]reg.VecVirtual(logs), to, 0, 16)
	})
	unsafe := v.label("unsafe")
	v.ifAny(bad, unsafe)
	v.returnBool(true)
	v.Label(unsafe)
	v.returnBool(false)
}

// pairBeliefs makes feasible beliefs of edges by the formulas of WriteBeliefs, with AVX-512 only: it takes 24 registers.
func (v vectors) pairBeliefs() {
	v.function(v.name("pairBeliefs"), "func(o, z, l, b, m, t []float64, u, v, d, e []int32, p []int)",
		"is Edges.steps of at least a vector of edges with feasible beliefs o, Z and Z times the product l.")
	from := v.lists("b", "m", "t", "u", "v", "d", "e", "p")
	v.eachVector(v.length("u"), func(i reg.Register) {
		t := v.gatherTables(from, i)
		rows, a, left := v.pairEnd(from, "u", i, true)
		columns, c, right := v.pairEnd(from, "v", i, false)
		y := [2]reg.VecVirtual{v.weigh(t[0], c[0], t[1], c[1]), v.weigh(t[2], c[0], t[3], c[1])}
		total, product := v.weigh(a[0], y[0], a[1], y[1]), v.zeroVector()
		for x := range c {
			sum := v.weigh(a[0], t[x], a[1], t[2+x])
			v.VMULPD(c[x], sum, sum)
			v.VFMADD231PD(right[x], sum, product)
		}
		for x, sum := range y {
			v.VMULPD(sum, a[x], a[x])
			v.VFMADD231PD(left[x], a[x], product)
			v.VMAXPD(v.wide("tooSmall"), sum, sum)
			v.VDIVPD(sum, rows[x], sum)
			v.VMULPD(sum, t[2*x], t[2*x])
			v.VMULPD(sum, t[2*x+1], t[2*x+1])
		}
		for x, lack := range columns {
			sum := v.vector()
			v.VADDPD(t[x], t[2+x], sum)
			v.VFNMADD231PD(sum, c[x], lack)
			for i, row := range rows {
				v.VMULPD(c[x], t[2*i+x], t[2*i+x])
				v.VFMADD231PD(lack, row, t[2*i+x])
			}
		}
		v.VMOVUPD(total, at64(v.base("z"), i, 0))
		v.VMOVUPD(product, at64(v.base("l"), i, 0))
		to := v.GP64()
		v.MOVQ(i, to)
		v.SHLQ(operand.U8(5), to)
		v.ADDQ(v.base("o"), to)
		for row := range rows {
			v.storePairs([2]reg.VecVirtual{t[2*row], t[2*row+1]}, to, 16*row, 32)
		}
	})
	v.end()
}

// pairEnd returns the beliefs at one end of edges, and their cavities and the logarithms of these.
func (v vectors) pairEnd(from lists, end string, i reg.Register, turned bool) (beliefs, cavities, logs [2]reg.VecVirtual) {
	belief := v.gatherPairs(from["b"], from[end], i, false)
	for x, b := range belief {
		beliefs[x] = v.vector()
		v.VMOVAPD(b, beliefs[x])
	}
	cavity := v.pairCavities(belief, v.gatherPairs(from["m"], from["d"], i, turned))
	for x, c := range cavity {
		logs[x] = v.copyOf("minusLargest")
		v.VMAXPD(c, logs[x], logs[x])
	}
	copy(beliefs[:], v.functions(anyExp, beliefs[:]))
	copy(cavities[:], v.functions(anyExp, cavity[:]))
	return beliefs, cavities, logs
}
