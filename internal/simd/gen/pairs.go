package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where every node has two states, messages and beliefs are pairs of numbers and tables four. Kernels of pairs have as
// many messages in a vector as it has entries, one in each.

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
