package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

func TestName(t *testing.T) {
	list := supported()
	oracle.Equal(t, Name(), list[0].name, "active kernels")
	oracle.Equal(t, list[len(list)-1].name, "plain", "last resort")
	t.Logf("kernels in use: %s", Name())
}

// TestExported calls each exported function once, with slices longer than they
// must be where the documentation allows it.
func TestExported(t *testing.T) {
	approx := func(what string, got []float64, want ...float64) {
		t.Helper()
		compare(t, what, got, want, 1e-15, 0)
	}
	out := make([]float64, 2)
	Exp(out, []float64{0, 1, 99})
	approx("Exp", out, 1, math.E)
	Log(out, []float64{1, 2, 99})
	approx("Log", out, 0, math.Ln2)
	oracle.Equal(t, Max([]float64{1, 3, 2}), 3, "Max")
	if got := Max(nil); !math.IsInf(got, -1) {
		t.Errorf("Max of nothing: %v", got)
	}
	values := []float64{1, 2, 3, 4, 5, 6}
	oracle.Equal(t, Dot([]float64{1, 10, 100}, values), 321, "Dot")
	oracle.Equal(t, Dot(nil, values), 0, "Dot of nothing")
	if got := Entropy([]float64{0.125, 0.125, 0.25, 0, 0.25, 0.25}, make([]float64, 6)); !same(got, 2.25*math.Ln2,
		1e-15, 0) {
		t.Errorf("Entropy: %v", got)
	}
	AddScaled(out, []float64{1, 2, 99}, 2)
	approx("AddScaled", out, 2, math.Ln2+4)
	w := make([]float64, 4)
	MultiplyMatrix(w, []float64{1, 10, 100, 2, 20, 200, 9}, values, 2, 3, 2)
	approx("MultiplyMatrix", w, 531, 642, 1062, 1284)
	w = []float64{1, 1, 1, 1, 9}
	ScatterMatrix(w, []float64{1, 10, 100, 1000}, []float64{2, 3, 4, 5}, 2, 2, 2)
	approx("ScatterMatrix", w, 403, 504, 4021, 5031, 9)
	// A column has half of its mass too much, and the other, which nothing can reach, none.
	pair, entropy := []float64{0.25, 0, 0.75, 0, 9}, []float64{0}
	Consistent(pair, entropy, []float64{0.5, 0.5}, []float64{0.5, 0.5}, make([]float64, ConsistentRoom(2, 2)), 2, 2, Scaling{Most: 10, Newton: 2})
	approx("Consistent", pair, 0.25, 0.25, 0.25, 0.25, 9)
	approx("its entropy", entropy, math.Log(4))
}

// TestShortSlices checks that a programmer's mistake panics instead of touching memory that is not the slice's.
func TestShortSlices(t *testing.T) {
	one, two, three := make([]float64, 1), make([]float64, 2), make([]float64, 3)
	for name, call := range map[string]func(){
		"Exp":            func() { Exp(two, one) },
		"Log":            func() { Log(two, one) },
		"AddScaled":      func() { AddScaled(two, one, 1) },
		"MultiplyMatrix": func() { MultiplyMatrix(three, two, three, 2, 1, 2) },
		"rows":           func() { MultiplyMatrix(three, two, three, -1, 1, 2) },
		"ScatterMatrix":  func() { ScatterMatrix(three, two, three, 2, 1, 2) },
		"Totals":         func() { ForRows(2).Totals(one, two, make([]Node, 2)) },
		"Settle":         func() { ForRows(2).Settle(two, two, one, make([]Node, 2)) },
		"Consistent": func() {
			Consistent(make([]float64, 7), two, make([]float64, 4), make([]float64, 4), make([]float64, ConsistentRoom(2, 2)), 2, 2, Finest)
		},
		"its entropy": func() {
			Consistent(make([]float64, 8), one, make([]float64, 4), make([]float64, 4), make([]float64, ConsistentRoom(2, 2)), 2, 2, Finest)
		},
		"its scratch": func() {
			Consistent(make([]float64, 8), two, make([]float64, 4), make([]float64, 4), make([]float64, ConsistentRoom(2, 2)-1), 2, 2, Finest)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			// A slice of a slice reaches to its capacity: these have none to spare.
			call()
		}()
	}
}

// TestRepeatable checks that the same input gives the same bits at any address.
func TestRepeatable(t *testing.T) {
	each(t, func(t *testing.T, with implementation) {
		for n := range longest + 1 {
			x := uniformVector(n * n)
			left := uniformVector(n)
			var first float64
			for offset := range 9 {
				values, _ := guarded(t, n*n, offset)
				copy(values, x)
				out, _ := guarded(t, n, 8-offset)
				with.multiplyMatrix(out, left, values, min(n, 1), n, n, 0)
				with.scatterMatrix(values, left, out, min(n, 1), n, n)
				r := with.dot(values, values)
				with.log(values, values)
				with.exp(values, values)
				for _, y := range append(out, values...) {
					r += y
				}
				if offset == 0 {
					first = r
				}
				oracle.MustEqual(t, r, first, "n=%d offset=%d", n, offset)
			}
		}
	})
}

// TestNarrowRows: rows of few entries have the same bits with the kernels for them as in longer lists.
func TestNarrowRows(t *testing.T) {
	c := newBatch(t, rand.New(rand.NewPCG(73, 1)), []int{2, 4, 1, 3, 4}, [][]int{{2, 3}, {4, 4}, {2}, {1, 4, 3}, {2, 4}})
	var want []float64
	for _, with := range supported() {
		if with.narrow == nil {
			continue
		}
		for _, kernels := range []implementation{with, *with.narrow} {
			x := *c
			for _, s := range []*[]float64{&x.beliefs, &x.messages, &x.weights, &x.out, &x.sums, &x.totals, &x.potentials} {
				*s = slices.Clone(*s)
			}
			kernels.exp, kernels.log = with.exp, with.log
			got := x.run(kernels)
			if want == nil {
				want = got
			}
			compare(t, with.name, got, want, 0, 0)
		}
	}
}
