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

// gatherPairs returns the first and the second numbers of pairs of an array: one for each lane.
func (v vectors) gatherPairs(array reg.Register, pair func(lane int) reg.Register) [2]reg.VecVirtual {
	var halves [2]reg.VecVirtual // even entries, and odd ones
	for parity := range halves {
		halves[parity] = v.vector()
		for lane := parity; lane < v.lanes; lane += 2 {
			p := pair(lane)
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

// gatherFours returns four numbers that follow each other in memory: from an address for each lane.
func (v vectors) gatherFours(address func(lane int) operand.Mem) (t [4]reg.VecVirtual) {
	rows := v.several(4)
	for r, row := range rows {
		if v.lanes == 4 {
			v.VMOVUPD(address(r), row)
			continue
		}
		lane := r%2 + r/2*4 // and beside it what is two further on, so that pairLanes puts them in order
		v.VBROADCASTF64X4(address(lane), row)
		v.VINSERTF64X4(operand.U8(1), address(lane+2), row, row)
	}
	first, second := v.unpack([2]reg.VecVirtual{rows[0], rows[1]}), v.unpack([2]reg.VecVirtual{rows[2], rows[3]})
	for parity := range first {
		t[parity], t[parity+2] = v.pairLanes(first[parity], second[parity])
	}
	return t
}

// oddsOf returns the logarithm of the odds of the second state against the first of cavities, belief − message, and the
// odds. It changes the belief. Odds of 0 may be those of a first state that a message forbids, which are bad.
func (v vectors) oddsOf(belief, message [2]reg.VecVirtual, bad operand.Op) (log, odds reg.VecVirtual) {
	for x, b := range belief {
		v.VSUBPD(message[x], b, b)
	}
	v.or(v.compare(cmpGreater, v.wide("largest"), belief[0]), bad)
	odds, log = belief[1], v.copyOf("minusLargest")
	v.VSUBPD(belief[0], odds, odds)
	v.VMAXPD(odds, log, log)
	return log, v.of(anyExp, odds)
}

// weigh returns x + a y.
func (v vectors) weigh(x, a, y reg.VecVirtual) reg.VecVirtual {
	sum := v.vector()
	v.VMOVAPD(x, sum)
	v.VFMADD231PD(a, y, sum)
	return sum
}

// unlessSafe adds where x is not in [tooSmall, 1/tooSmall].
func (v vectors) unlessSafe(x reg.VecVirtual, bad operand.Op) {
	v.or(v.compare(cmpNotAtLeast, v.wide("tooSmall"), x), bad)
	v.or(v.compare(cmpGreater, v.wide("tooLarge"), x), bad)
}

// pairConstants keeps what both kernels of pairs use, where there are registers.
func (v vectors) pairConstants() {
	if v.lanes == 8 {
		v.keep(anyExp)
		v.hoist("tooSmall", "tooLarge", "reciprocal", "minusLog")
	}
}

// pairMessages makes messages of the odds of cavities. They are 0 for the first state.
func (v vectors) pairMessages() {
	v.function(v.name("pairMessages"), "func(o, b, m, t []float64, s, d, e []int32, p []int) bool",
		"is Cavities to Log for at least a vector of messages; it is false where a sum is not safe.")
	l, bad := v.lists("b", "m", "t", "s", "d", "e", "p"), v.nowhere()
	v.pairConstants()
	v.eachVector(v.length("d"), func(i reg.Register) {
		_, odds := v.oddsOf(
			v.gatherPairs(l["b"], func(lane int) reg.Register { return v.listed(l["s"], i, lane) }),
			v.gatherPairs(l["m"], func(lane int) reg.Register {
				p := v.listed(l["d"], i, lane)
				v.XORQ(operand.U8(1), p)
				return p
			}), bad)
		t, odd := v.gatherFours(func(lane int) operand.Mem {
			p := v.listed(l["e"], i, lane)
			v.MOVQ(at64(l["p"], p, 0), p)
			return at64(l["t"], p, 0)
		}), v.vector()
		v.VPMOVSXDQ(operand.Mem{Base: l["d"], Index: i, Scale: 4}, odd)
		v.VPSLLQ(operand.U8(63), odd, odd)
		back, forth := v.signs(odd), v.vector()
		v.VMOVAPD(t[1], forth)
		v.choose(back, t[2], t[1])
		v.choose(back, forth, t[2])
		first, second := v.weigh(t[0], odds, t[2]), v.weigh(t[1], odds, t[3])
		v.unlessSafe(first, bad)
		v.unlessSafe(second, bad)
		v.VDIVPD(first, second, second)
		v.unlessSafe(second, bad)
		log, to := v.of(normalLog, second), v.GP64()
		v.MOVQ(i, to)
		v.SHLQ(operand.U8(4), to)
		v.ADDQ(v.base("o"), to)
		v.storePairs([2]reg.VecVirtual{v.zeroVector(), log}, to, 0, 16)
	})
	v.returnNone(bad)
}

// pairBeliefs makes beliefs of the odds of cavities at both ends.
func (v vectors) pairBeliefs() {
	v.function(v.name("pairBeliefs"), "func(o, z, l, b, m, t []float64, e, u, v []int32, p []int) bool",
		"is WriteBeliefs of at least a vector of edges; it is false where a sum is not safe.")
	from, bad := v.lists("b", "m", "t", "e", "u", "v", "p"), v.nowhere()
	v.pairConstants()
	v.eachVector(v.length("e"), func(i reg.Register) {
		m := v.gatherFours(func(lane int) operand.Mem {
			p := v.listed(from["e"], i, lane)
			v.SHLQ(operand.U8(5), p)
			return bytes(from["m"], p, 0)
		})
		end := func(end string) [2]reg.VecVirtual {
			return v.gatherPairs(from["b"], func(lane int) reg.Register {
				p := v.listed(from["e"], i, lane)
				v.MOVLQSX(operand.Mem{Base: from[end], Index: p, Scale: 4}, p)
				return p
			})
		}
		u, w := end("u"), end("v")
		logU, rows := v.oddsOf(u, [2]reg.VecVirtual{m[2], m[3]}, bad)
		logV, columns := v.oddsOf(w, [2]reg.VecVirtual{m[0], m[1]}, bad)
		t := v.gatherFours(func(lane int) operand.Mem {
			p := v.GP64()
			v.MOVQ(at64(from["p"], i, 8*lane), p)
			return at64(from["t"], p, 0)
		})
		v.VMULPD(rows, t[2], t[2])
		v.VMULPD(rows, t[3], t[3])
		v.VMULPD(columns, t[1], t[1])
		v.VMULPD(columns, t[3], t[3])
		total, second, scale := v.vector(), v.vector(), v.copyOf("one")
		v.VADDPD(t[1], t[0], total)
		v.VADDPD(t[3], t[2], second)
		v.VADDPD(second, total, total)
		v.unlessSafe(total, bad)
		v.VDIVPD(total, scale, scale)
		for _, x := range t {
			v.VMULPD(scale, x, x)
		}
		to := v.GP64()
		v.MOVQ(i, to)
		v.SHLQ(operand.U8(5), to)
		v.ADDQ(v.base("o"), to)
		v.storePairs([2]reg.VecVirtual{t[0], t[1]}, to, 0, 32)
		v.storePairs([2]reg.VecVirtual{t[2], t[3]}, to, 16, 32)
		first, product := u[0], t[2] // what logarithms of odds lack, and the sum of logarithms
		v.VADDPD(w[0], first, first)
		v.VADDPD(t[3], t[1], t[1])
		v.VADDPD(t[3], product, product)
		v.VMULPD(logU, product, product)
		v.VFMADD231PD(logV, t[1], product)
		v.VADDPD(first, product, product)
		v.VMOVUPD(product, at64(v.base("l"), i, 0))
		log := v.of(normalLog, total)
		v.VADDPD(first, log, log)
		v.VMOVUPD(log, at64(v.base("z"), i, 0))
	})
	v.returnNone(bad)
}
