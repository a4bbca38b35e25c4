package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// guarded32 is guarded for single precision.
func guarded32(t testing.TB, n, offset int) (x []float32, check func(what string)) {
	const before, after = 16, 40
	array := make([]float32, before+offset+n+after)
	for i := range array {
		array[i] = guard
	}
	x = array[before+offset:][:n:n]
	return x, func(what string) {
		t.Helper()
		for i, v := range array {
			if (i < before+offset || i >= before+offset+n) && v != guard {
				t.Fatalf("%s: wrote entry %d of a slice of %d", what, i-before-offset, n)
			}
		}
	}
}

func fill32(x []float32, r *rand.Rand, scale float64) {
	for i := range x {
		x[i] = float32(scale * r.NormFloat64())
	}
}

func fillUniform32(x []float32, r *rand.Rand) {
	for i := range x {
		x[i] = r.Float32()
	}
}

func double(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// ulps32 is the distance from an exact result in units in the last place.
func ulps32(got float32, exact float64) float64 {
	want := float32(exact)
	if got == want || got != got && want != want {
		return 0
	}
	unit := float64(math.Nextafter32(float32(math.Abs(exact)), math.MaxFloat32)) - float64(float32(math.Abs(exact)))
	if math.Abs(exact) < smallestNormal32 {
		unit = 0x1p-149
	}
	return math.Abs(float64(got)-exact) / unit
}

var specials32 = []float32{
	0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	1, -1, 0x1p-149, -0x1p-149, 0x1p-127, smallestNormal32, math.MaxFloat32, -math.MaxFloat32,
	flushed32, math.Nextafter32(flushed32, -1000), 88.72283, 88.72284, 89, 90, 1e6, -1e6, 1e9, -1e9, 1e30, -1e30, 0.75, 1.5, math.Nextafter32(1.5, 0), math.Nextafter32(0.75, 0), math.Nextafter32(1, 0), math.Nextafter32(1, 2),
}

// bound32 is the largest error of an exponential or logarithm, in units in the last
// place.
const bound32 = 1.1

func TestElementwise32(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(61, 62))
		for name, kernel := range map[string]struct {
			compute   func(dst, x []float32)
			exact     func(x float64) float64
			arguments func() float32
		}{
			"exp": {with.single.exp, func(x float64) float64 {
				if x < flushed32 {
					return 0
				}
				return math.Exp(x)
			}, func() float32 { return float32(r.NormFloat64() * math.Exp(4*r.Float64())) }},
			"log": {with.single.log, math.Log, func() float32 {
				if r.IntN(2) == 0 {
					return float32(1 + 0.3*r.NormFloat64())
				}
				return math.Float32frombits(r.Uint32N(math.Float32bits(math.MaxFloat32)))
			}},
		} {
			worst, at := 0.0, float32(0)
			for n := range 140 {
				x, check := guarded32(t, n, r.IntN(16))
				dst, checkDst := guarded32(t, n, r.IntN(16))
				for i := range x {
					if x[i] = kernel.arguments(); r.IntN(8) == 0 {
						x[i] = specials32[r.IntN(len(specials32))]
					}
				}
				before := append([]float32{}, x...)
				kernel.compute(dst, x)
				check(name)
				checkDst(name)
				kernel.compute(x, x)
				for i, v := range before {
					if math.Float32bits(x[i]) != math.Float32bits(dst[i]) {
						t.Fatalf("%s %v: %v in place, %v elsewhere", name, v, x[i], dst[i])
					}
					exact := kernel.exact(float64(v))
					if u := ulps32(dst[i], exact); !(u <= worst) {
						worst, at = u, v
					}
				}
			}
			if !(worst <= bound32) {
				t.Errorf("%s: error of %v units in the last place at %v", name, worst, at)
			}
			t.Logf("%s: %.3f units in the last place at %v", name, worst, at)
		}
	})
}

// TestAccuracy32 takes many more arguments; all of them in a long test.
func TestAccuracy32(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		step := uint64(40009)
		x, y := make([]float32, 4096), make([]float32, 4096)
		worst := map[string]float64{}
		for bits := uint64(0); bits < 1<<32; {
			for i := range x {
				x[i] = math.Float32frombits(uint32(bits))
				bits += step
			}
			with.single.exp(y, x)
			for i, v := range x {
				exact := math.Exp(float64(v))
				if v < flushed32 {
					exact = 0
				}
				worst["exp"] = max(worst["exp"], ulps32(y[i], exact))
			}
			with.single.log(y, x)
			for i, v := range x {
				worst["log"] = max(worst["log"], ulps32(y[i], math.Log(float64(v))))
			}
		}
		for name, u := range worst {
			if t.Logf("%s: %.3f units in the last place", name, u); !(u <= bound32) {
				t.Errorf("%s: error of %v units in the last place", name, u)
			}
		}
	})
}

// newBatch32 is a batch of messages between nodes of up to most states, laid out
// with gaps, or of just that many.
type batch32 struct {
	list                     []Message
	weights, out, tables     []float32
	beliefs, messages, sums  []float64
	check                    func(what string)
	outUsed, weightUsed, sum int
}

func newBatch32(t testing.TB, r *rand.Rand, n, most int, exact bool) *batch32 {
	b := &batch32{}
	belief, message, table := r.IntN(8), r.IntN(8), r.IntN(16)
	for range n {
		source, target := 1+r.IntN(most), 1+r.IntN(most)
		if exact {
			source, target = most, most
		}
		b.list = append(b.list, Message{
			Belief: belief, Reverse: message, Old: message + source, Table: table, Rho: 0.5 + r.Float64(),
			Weight: int32(b.weightUsed), Out: int32(b.outUsed), Sum: int32(b.sum), Source: int32(source), Target: int32(target), Backward: int32(r.IntN(2)),
		})
		b.weightUsed, b.outUsed, b.sum = b.weightUsed+source, b.outUsed+target, b.sum+target
		belief, message, table = belief+source+r.IntN(3), message+source+target+r.IntN(3), table+source*target+r.IntN(3)
	}
	var checks []func(string)
	for _, s := range []struct {
		x *[]float64
		n int
	}{{&b.beliefs, belief}, {&b.messages, message}, {&b.sums, b.sum}} {
		x, check := guarded(t, s.n, r.IntN(8))
		fill(x, r, 3)
		*s.x, checks = x, append(checks, check)
	}
	for _, s := range []struct {
		x *[]float32
		n int
	}{{&b.weights, b.weightUsed + Padding32}, {&b.out, b.outUsed + Padding32}, {&b.tables, table}} {
		x, check := guarded32(t, s.n, r.IntN(16))
		fillUniform32(x, r)
		*s.x, checks = x, append(checks, check)
	}
	b.check = func(what string) {
		for _, check := range checks {
			check(what)
		}
	}
	return b
}

// statesTested32 are all numbers of states that differ in how they fill vectors of 8 or
// 16, in panels of up to 4, and some above.
func statesTested32() []int {
	var list []int
	for k := range 40 {
		list = append(list, k+1)
	}
	return append(list, 63, 64, 65, 70)
}

// eachBatch32 calls test with many batches.
func eachBatch32(t *testing.T, test func(t *testing.T, what string, with implementation, r *rand.Rand, b *batch32)) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(63, 64))
		for _, most := range statesTested32() {
			for _, n := range []int{0, 1, 2, 5, 11} {
				for _, exact := range []bool{false, true} {
					test(t, fmt.Sprintf("%d messages of %d states, exact %v", n, most, exact), with, r, newBatch32(t, r, n, most, exact))
				}
			}
		}
	})
}

// sprinkle puts special values into x.
func sprinkle(x []float64, r *rand.Rand, values ...float64) {
	for i := range x {
		if r.IntN(6) == 0 {
			x[i] = values[r.IntN(len(values))]
		}
	}
}

func TestCavities32(t *testing.T) {
	infinity := math.Inf(1)
	eachBatch32(t, func(t *testing.T, what string, with implementation, r *rand.Rand, b *batch32) {
		sprinkle(b.beliefs, r, -infinity, infinity, math.NaN(), -1e300, 0)
		sprinkle(b.messages, r, -infinity, infinity, math.NaN(), -1e300, 0)
		with.single.cavities(b.weights, b.beliefs, b.messages, b.list)
		b.check(what)
		want := make([]float32, len(b.weights))
		plainCavities32(want, b.beliefs, b.messages, b.list)
		for i, w := range want[:b.weightUsed] {
			if got := b.weights[i]; got != w && (got == got || w == w) {
				t.Fatalf("%s: entry %d is %v, want %v", what, i, got, w)
			}
		}
	})
}

// TestProducts32 holds sums against those of float64, to the error of as many
// additions.
func TestProducts32(t *testing.T) {
	eachBatch32(t, func(t *testing.T, what string, with implementation, r *rand.Rand, b *batch32) {
		for i := range b.weights {
			if r.IntN(6) == 0 {
				b.weights[i] = 0
			}
		}
		with.single.products(b.out, b.weights, b.tables, b.list)
		b.check(what)
		for i := range b.list {
			m := &b.list[i]
			got, weight, values := m.slices32(b.out, b.weights, b.tables)
			want := make([]float64, m.Target)
			if m.Backward != 0 {
				plainTableVector(want, double(weight), double(values))
			} else {
				plainVectorTable(want, double(weight), double(values))
			}
			compare(t, what, double(got), want, float64(2+m.Source)*0x1p-24, 0)
		}
	})
}

// TestProductsSpecials32: what is not a number, or infinite, stays in its place.
func TestProductsSpecials32(t *testing.T) {
	special := []float32{float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32}
	eachBatch32(t, func(t *testing.T, what string, with implementation, r *rand.Rand, b *batch32) {
		for range b.list {
			b.weights[r.IntN(b.weightUsed)] = special[r.IntN(len(special))]
			b.tables[r.IntN(len(b.tables))] = special[r.IntN(len(special))]
		}
		with.single.products(b.out, b.weights, b.tables, b.list)
		want := make([]float32, len(b.out))
		plainProducts32(want, b.weights, b.tables, b.list)
		for i, w := range want[:b.outUsed] {
			got := b.out[i]
			if bad := !(w <= math.MaxFloat32); bad != !(got <= math.MaxFloat32) || bad && (got == got) != (w == w) {
				t.Fatalf("%s: entry %d is %v, want %v", what, i, got, w)
			}
		}
	})
}

func TestNarrow(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(79, 80))
		for n := range 140 {
			x, check := guarded(t, n, r.IntN(8))
			dst, checkDst := guarded32(t, n, r.IntN(16))
			fill(x, r, 1)
			sprinkle(x, r, math.Inf(-1), math.Inf(1), math.NaN(), 1e-320, 1e-40, 1e300, -math.MaxFloat32*(1+0x1p-25), 1+0x1p-24, 1+0x3p-24)
			with.single.narrow(dst, x)
			check("narrow")
			checkDst("narrow")
			for i, v := range x {
				if want := float32(v); dst[i] != want && want == want || (dst[i] == dst[i]) != (want == want) {
					t.Fatalf("entry %d of %d: %v became %v", i, n, v, dst[i])
				}
			}
		}
	})
}

func TestAllSafe32(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(65, 66))
		for n := range 140 {
			x, check := guarded32(t, n, r.IntN(16))
			for i := range x {
				x[i] = []float32{TooSmall32, 1, math.MaxFloat32}[r.IntN(3)]
			}
			if !with.single.allSafe(x) {
				t.Fatalf("%d safe entries are not", n)
			}
			for i := range x {
				before := x[i]
				for _, v := range []float32{0, -1, math.Nextafter32(TooSmall32, 0), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), -float32(math.NaN()), float32(math.Copysign(0, -1))} {
					if x[i] = v; with.single.allSafe(x) {
						t.Fatalf("%v as entry %d of %d is safe", v, i, n)
					}
				}
				x[i] = before
			}
			check("allSafe")
		}
	})
}

func TestAbsorbAll32(t *testing.T) {
	eachBatch32(t, func(t *testing.T, what string, with implementation, r *rand.Rand, b *batch32) {
		for _, damping := range []float64{0, 0.3, -0.5} {
			if r.IntN(3) == 0 {
				sprinkle(b.messages, r, math.Inf(-1), 0)
				for i := range b.out {
					if r.IntN(6) == 0 {
						b.out[i] = float32(math.Inf(-1))
					}
				}
			}
			if r.IntN(8) == 0 && b.outUsed > 0 {
				b.out[r.IntN(b.outUsed)] = float32(math.NaN())
			}
			out := append([]float32{}, b.out...)
			wide, messages, sums := double(out), append([]float64{}, b.messages...), append([]float64{}, b.sums...)
			want := plainAbsorbAll(messages, sums, wide, b.list, damping)
			got := with.single.absorbAll(b.messages, b.sums, b.out, b.list, damping)
			b.check(what)
			if !same(got, want, 1e-15, 0) {
				t.Fatalf("%s: residual %v, want %v", what, got, want)
			}
			for i := range out {
				if math.Float32bits(out[i]) != math.Float32bits(b.out[i]) {
					t.Fatalf("%s: out was changed", what)
				}
			}
			if want == want {
				compare(t, what, b.messages, messages, 1e-15, 1e-15)
				compare(t, what, b.sums, sums, 1e-15, 1e-15)
			}
		}
	})
}

func TestExponentials32(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(67, 68))
		for _, size := range append(statesTested32(), 81, 100, 256, 441) {
			for _, n := range []int{0, 1, 2, 5} {
				for range 6 {
					tables, check := guarded32(t, n*size, r.IntN(16))
					fill32(tables, r, 5)
					inverse := make([]float64, n)
					fillUniform(inverse, r)
					want, at := append([]float32{}, tables...), n
					if n > 0 && r.IntN(2) == 0 {
						at = r.IntN(n)
						inverse[at] = 0.5
						want[at*size+r.IntN(size)] = []float32{80.1, -80.1, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}[r.IntN(5)]
						copy(tables, want)
					}
					what := fmt.Sprintf("%d tables of %d, %d safe", n, size, at)
					if done := with.single.exponentials(tables, size, inverse); done != at {
						t.Fatalf("%s: %d done", what, done)
					}
					check(what)
					for i := range want {
						if q := i / size; q >= at {
							if math.Float32bits(tables[i]) != math.Float32bits(want[i]) {
								t.Fatalf("%s: entry %d was changed", what, i)
							}
						} else if u := ulps32(tables[i], math.Exp(float64(want[i]*float32(inverse[q])))); !(u <= bound32) {
							t.Fatalf("%s: entry %d is %v ulps off", what, i, u)
						}
					}
				}
			}
		}
		limit := []float32{40, -40, 0}
		if done := with.single.exponentials(limit, 3, []float64{1}); done != 1 {
			t.Error("exponents of ±40 were refused")
		}
	})
}

func TestMatrix32(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		r := rand.New(rand.NewPCG(69, 70))
		for _, rows := range []int{0, 1, 2, 3, 7, 12, 13, 29, 64} {
			for _, d := range []int{0, 1, 2, 4, 5, 6, 10, 11} {
				for _, k := range []int{0, 1, 2, 4, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 81, 129, 141} {
					what := fmt.Sprintf("%d rows, %d features, %d outputs", rows, d, k)
					f, checkF := guarded32(t, rows*d, r.IntN(16))
					w, checkW := guarded32(t, d*k, r.IntN(16))
					dst, checkDst := guarded32(t, rows*k, r.IntN(16))
					sums, checkSums := guarded(t, d*k, r.IntN(8))
					fill32(f, r, 1)
					fill32(w, r, 1)
					fill(sums, r, 1)
					want, size := make([]float64, rows*k), make([]float64, rows*k)
					longhandMultiply32(want, size, f, w, rows, d, k)
					with.single.multiplyMatrix(dst, f, w, rows, d, k)
					compareSums32(t, what, double(dst), want, size, d)
					want, size = append([]float64{}, sums...), make([]float64, d*k)
					longhandScatter32(want, size, f, dst, rows, d, k)
					with.single.scatterMatrix(sums, f, dst, rows, d, k)
					compareSums32(t, what, sums, want, size, rows)
					for _, check := range []func(string){checkF, checkW, checkDst, checkSums} {
						check(what)
					}
				}
			}
		}
	})
}

// compareSums32 holds sums of n terms against exact ones; size has the sums of the
// magnitudes of the terms.
func compareSums32(t *testing.T, what string, got, want, size []float64, n int) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= float64(n+1)*0x1p-24*size[i]+1e-15) {
			t.Fatalf("%s: entry %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func longhandMultiply32(dst, size []float64, f, w []float32, rows, d, k int) {
	for r := range rows {
		for x := range k {
			for j := range d {
				y := float64(f[r*d+j]) * float64(w[j*k+x])
				dst[r*k+x] += y
				size[r*k+x] += math.Abs(y)
			}
		}
	}
}

func longhandScatter32(w, size []float64, f, t []float32, rows, d, k int) {
	for r := range rows {
		for j := range d {
			for x := range k {
				y := float64(f[r*d+j]) * float64(t[r*k+x])
				w[j*k+x] += y
				size[j*k+x] += math.Abs(y)
			}
		}
	}
}

// TestRepeatable32 checks that the same input gives the same bits at any address.
func TestRepeatable32(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for _, k := range statesTested32() {
			var first []uint64
			for offset := range 4 {
				r := rand.New(rand.NewPCG(81, uint64(k)))
				b, c := newBatch32(t, r, 3, k, true), newEdgesCase32(t, r, 3, k, k)
				x, _ := guarded32(t, 3*k*k, offset)
				fill32(x, rand.New(rand.NewPCG(82, uint64(k))), 1)
				f, _ := guarded32(t, 3*5, 3-offset)
				fill32(f, rand.New(rand.NewPCG(83, uint64(k))), 1)
				w, _ := guarded(t, 5*k*k, offset)
				with.single.exponentials(x, k*k, []float64{1, 0.5, 2})
				with.single.scatterMatrix(w, f, x, 3, 5, k*k)
				with.single.multiplyMatrix(x, f, b.tables, 3, 1, k*k)
				with.single.cavities(b.weights, b.beliefs, b.messages, b.list)
				with.single.exp(b.weights[:b.weightUsed], b.weights[:b.weightUsed])
				with.single.products(b.out, b.weights, b.tables, b.list)
				with.single.log(b.out[:b.outUsed], b.out[:b.outUsed])
				with.single.absorbAll(b.messages, b.sums, b.out, b.list, 0.3)
				c.compute(with)
				var bits []uint64
				for _, values := range [][]float64{w, double(x), double(b.weights[:b.weightUsed]), double(b.out[:b.outUsed]), b.messages, b.sums, double(c.dst), c.logZ, c.product} {
					for _, v := range values {
						bits = append(bits, math.Float64bits(v))
					}
				}
				if offset == 0 {
					first = bits
				}
				if !slices.Equal(bits, first) {
					t.Fatalf("%d states: other bits at another address", k)
				}
			}
		}
	})
}

// TestExported32 calls each exported function, and finds that none allocates.
func TestExported32(t *testing.T) {
	r := rand.New(rand.NewPCG(77, 78))
	for _, k := range []int{3, 8, 21} {
		b, c := newBatch32(t, r, 9, k, true), newEdgesCase32(t, r, 9, k, k)
		x, f := make([]float32, 9*k*k), make([]float32, 9)
		w, inverse := make([]float64, k*k), make([]float64, 9)
		for name, call := range map[string]func(){
			"Cavities32":       func() { Cavities32(b.weights, b.beliefs, b.messages, b.list) },
			"Exp32":            func() { Exp32(b.weights, b.weights) },
			"Log32":            func() { Log32(b.weights, b.weights) },
			"Products32":       func() { Products32(b.out, b.weights, b.tables, b.list) },
			"Narrow":           func() { Narrow(f, inverse) },
			"AllSafe32":        func() { AllSafe32(b.out) },
			"AbsorbAll32":      func() { AbsorbAll32(b.messages, b.sums, b.out, b.list, 0.5) },
			"Exponentials32":   func() { Exponentials32(x, k*k, inverse) },
			"MultiplyMatrix32": func() { MultiplyMatrix32(x, f, c.tables[:k*k], 9, 1, k*k) },
			"ScatterMatrix32":  func() { ScatterMatrix32(w, f, x, 9, 1, k*k) },
			"EdgeBeliefs32": func() {
				EdgeBeliefs32(c.dst, c.logZ, c.product, c.beliefs, c.messages, c.tables, c.edges, k, k)
			},
		} {
			if n := testing.AllocsPerRun(3, call); n != 0 {
				t.Errorf("%s with %d states: %v allocations", name, k, n)
			}
		}
	}
	one, two := make([]float32, 1), make([]float32, 2)
	for name, call := range map[string]func(){
		"Exp32":            func() { Exp32(two, one) },
		"Log32":            func() { Log32(two, one) },
		"Narrow":           func() { Narrow(two, make([]float64, 1)) },
		"Exponentials32":   func() { Exponentials32(one, 2, make([]float64, 1)) },
		"MultiplyMatrix32": func() { MultiplyMatrix32(two, two, two, 2, 1, 2) },
		"ScatterMatrix32":  func() { ScatterMatrix32(make([]float64, 2), two, two, 2, 1, 2) },
		"EdgeBeliefs32":    func() { EdgeBeliefs32(one, nil, nil, nil, nil, nil, make([]Edge, 1), 1, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
