package simd

import (
	"math"
	"testing"
)

func TestName(t *testing.T) {
	list := supported()
	if Name() != list[0].name {
		t.Errorf("active kernels are %q, want the best supported, %q", Name(), list[0].name)
	}
	if last := list[len(list)-1].name; last != "plain" {
		t.Errorf("last resort is %q, want plain", last)
	}
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
	if total := ExpShift(out, []float64{3, 4, 99}, 3); !same(total, 1+math.E, 1e-15, 0) {
		t.Errorf("ExpShift: total %v", total)
	}
	approx("ExpShift", out, 1, math.E)
	if got := Max([]float64{1, 3, 2}); got != 3 {
		t.Errorf("Max: %v", got)
	}
	if got := Max(nil); !math.IsInf(got, -1) {
		t.Errorf("Max of nothing: %v", got)
	}
	values := []float64{1, 2, 3, 4, 5, 6}
	VectorTable(out, []float64{1, 10, 100}, values)
	approx("VectorTable", out, 531, 642)
	MultiplyRows(out, []float64{1, 10, 100}, values)
	approx("MultiplyRows", out, 531, 642)
	TableVector(out, []float64{1, 10, 100}, values)
	approx("TableVector", out, 321, 654)
	AddScaled(out, []float64{1, 2, 99}, 2)
	approx("AddScaled", out, 323, 658)
	w := []float64{1, 1, 1, 1}
	ScatterRows(w, []float64{1, 10}, []float64{2, 3})
	approx("ScatterRows", w, 3, 4, 21, 31)
	if total := PairProduct(w, []float64{1, 2}, []float64{3, 4}, []float64{1, 1, 1, 1}); total != 21 {
		t.Errorf("PairProduct: total %v", total)
	}
	approx("PairProduct", w, 3, 4, 6, 8)
	zero := []float64{0, 0}
	if !MessageForward(out, zero, zero, []float64{1, 2, 3, 6}) {
		t.Error("MessageForward: not safe")
	}
	approx("MessageForward", out, -math.Ln2, 0)
	if !MessageBackward(out, zero, zero, []float64{1, 3, 2, 6}) {
		t.Error("MessageBackward: not safe")
	}
	approx("MessageBackward", out, -math.Ln2, 0)
	if !NormaliseLog(out, zero, 1) {
		t.Error("NormaliseLog: not possible")
	}
	approx("NormaliseLog", out, -math.Ln2, -math.Ln2)
}

// TestShortSlices checks that a programmer's mistake panics instead of touching
// memory that is not the slice's.
func TestShortSlices(t *testing.T) {
	one, two, three := make([]float64, 1), make([]float64, 2), make([]float64, 3)
	for name, call := range map[string]func(){
		"Exp":             func() { Exp(two, one) },
		"Log":             func() { Log(two, one) },
		"ExpShift":        func() { ExpShift(two, one, 0) },
		"VectorTable":     func() { VectorTable(two, two, three) },
		"TableVector":     func() { TableVector(two, two, three) },
		"AddScaled":       func() { AddScaled(two, one, 1) },
		"MultiplyRows":    func() { MultiplyRows(two, two, three) },
		"ScatterRows":     func() { ScatterRows(three, two, two) },
		"MessageForward":  func() { MessageForward(two, two, two, three) },
		"MessageBackward": func() { MessageBackward(two, two, one, make([]float64, 4)) },
		"NormaliseLog":    func() { NormaliseLog(two, one, 1) },
		"PairProduct":     func() { PairProduct(three, two, two, make([]float64, 4)) },
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
			x := uniform(n * n)
			left := uniform(n)
			type result struct{ total, other, third float64 }
			var first result
			for offset := range 9 {
				values, _ := guarded(t, n*n, offset)
				copy(values, x)
				dst, _ := guarded(t, n*n, 8-offset)
				var r result
				r.total = with.expShift(dst, values, 0.5)
				r.other = with.pairProduct(dst, left, left, values)
				out, _ := guarded(t, n, offset)
				with.tableVector(out, left, values)
				for _, y := range out {
					r.third += y
				}
				if offset == 0 {
					first = r
				}
				if r != first {
					t.Fatalf("n=%d offset=%d: %v, first %v", n, offset, r, first)
				}
			}
		}
	})
}
